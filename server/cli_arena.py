"""`bvb arena`: matches between bots."""

import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import click

import bvb_core
from ai import arena
from ai.elo import Sprt
from server.app import cores
from server.cli_options import PROGRESS_INTERVALS_S, bots_help, example, variant_options
from server.text import plural


def read_sprt(ctx: click.Context, param: click.Parameter, value: str | None) -> Sprt | None:
    """The sequential test of elo0,elo1."""
    if value is None:
        return None
    try:
        low, high = map(float, value.split(","))
    except ValueError:
        raise click.BadParameter(f"{value!r} is not two numbers with a comma between them") from None
    if not -2000 <= low < high <= 2000:
        raise click.BadParameter(f"{value!r}: the first number must be the smaller one, both -2000 to 2000")
    return Sprt(low, high)


@click.command(
    name="arena",
    short_help="Let bots play each other, and rate them.",
    epilog=example(
        "bvb arena --bots vanilla,greedy --players 2 --games 200 --iterations 1000",
        "bvb arena --bots greedy,random --players 4 --games 400 --json",
    )
    + bots_help(**arena.OTHER_BOTS),
)
@click.option(
    "--bots",
    required=True,
    metavar="A,B[,…]",
    help="Bots with commas between them, as NAME or NAME:key=value. With fewer bots than seats the last one "
    "takes the seats that are left; with more, every choice of them plays.",
)
@click.option(
    "--games",
    type=click.IntRange(1),
    required=True,
    help="Games to play, rounded up to whole deals: a deal is played once in every rotation of the seats.",
)
@click.option("--players", type=click.IntRange(2, 5), required=True, help="Number of seats.")
@click.option("--iterations", type=click.IntRange(1), help="A move, for searching bots without a budget.")
@click.option("--time-ms", type=click.IntRange(1), help="A move, for searching bots without a budget.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of deals and bots.")
@click.option(
    "--workers",
    type=click.IntRange(1, 1024),
    default=cores(),
    show_default="number of cores",
    help="Processes. The figures do not depend on it, unless bots play by time.",
)
@click.option(
    "--independent",
    is_flag=True,
    help="Own random numbers for every seat of every game. Left out, a seat of a deal has the same ones "
    "whoever sits there, and bots that play alike come out even.",
)
@click.option(
    "--sprt",
    metavar="ELO0,ELO1",
    callback=read_sprt,
    help="Stop as soon as it is clear which of these ratings fits the first of two bots better.",
)
@variant_options
@click.option(
    "--records",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the games there (bvb-record/1, one a line), in order of deals and rotations.",
)
@click.option(
    "--resume",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Keep finished deals in this file, and go on from those that it holds.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
def command(
    bots: str,
    games: int,
    players: int,
    iterations: int | None,
    time_ms: int | None,
    seed: int,
    workers: int,
    independent: bool,
    sprt: Sprt | None,
    armageddon: bool,
    practice: bool,
    deck: bvb_core.Deck | None,
    records: Path | None,
    resume: Path | None,
    as_json: bool,
) -> None:
    """Let bots play each other, and print shares of the victory, scores and Elo with 95 % intervals.

    Every line-up plays the same deals. Elo is the rating above opponents who are equal to each other. Equal
    commands print equal figures, unless bots play by time.
    """
    try:
        setup = arena.Setup(
            tuple(bots.split(",")),
            players,
            seed,
            iterations,
            time_ms,
            independent,
            armageddon,
            practice,
            deck or bvb_core.load_deck(),
        )
    except bvb_core.DeckError as error:
        raise click.ClickException(str(error)) from None
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--bots") from None
    if sprt is not None and len(setup.bots) != 2:
        raise click.BadParameter("compares two bots", param_hint="--sprt")
    if records is not None and resume is None:
        records.unlink(missing_ok=True)
    deals = -(-games // setup.games_per_deal)
    executor = arena.HereExecutor() if workers == 1 else arena.ProcessExecutor(min(workers, deals))
    try:
        with arena.StateFile(resume, setup, records) as state:
            if state.finished:
                click.echo(f"{resume}: {plural(len(state.finished), 'deal')} finished", err=True)
            results = arena.run(
                setup,
                deals,
                executor,
                state=state,
                records=records is not None,
                sprt=sprt,
                progress=progress(setup, deals),
            )
    except (arena.ArenaError, OSError) as error:
        raise click.ClickException(str(error)) from None
    finally:
        executor.close()
    report = arena.report(setup, results, sprt)
    click.echo(json.dumps(report.to_dict()) if as_json else table(report))


def progress(setup: arena.Setup, deals: int) -> Callable[[Sequence[arena.DealResult]], None]:
    """A function that says on stderr now and then how many deals are done, and how it stands."""
    interval = PROGRESS_INTERVALS_S[not sys.stderr.isatty()]
    start = shown = time.monotonic()
    before: int | None = None

    def report(results: Sequence[arena.DealResult]) -> None:
        nonlocal shown, before
        now = time.monotonic()
        if before is None:
            before = len(results) - 1
        if now - shown > interval or len(results) == deals:
            shown = now
            left_s = (now - start) / (len(results) - before) * (deals - len(results))
            shares = ", ".join(f"{row.name} {row.win_share:.1%}" for row in arena.report(setup, results).bots)
            click.echo(f"{len(results)}/{deals} deals, {left_s:.0f} s left: {shares}", err=True)

    return report


def table(report: arena.Report) -> str:
    """The figures for people."""
    width = max(len("bot"), *(len(row.name) for row in report.bots))
    lines = [f"{'bot':<{width}}  {'games':>6}  {'win share, 95 %':<23}  {'score':>6}  elo, 95 %"]
    for row in report.bots:
        low, high = row.win_share_ci95
        elo_low, elo_high = row.elo_ci95
        lines.append(
            f"{row.name:<{width}}  {row.games:>6}  {row.win_share:>6.1%} ({low:>6.1%}, {high:>6.1%})"
            f"  {row.mean_score:>6.2f}  {row.elo:>+z5.0f} ({elo_low:+z.0f}, {elo_high:+z.0f})"
        )
    lines += ["", f"{plural(report.deals, 'deal')}, {report.players} players, par {1 / report.players:.1%}"]
    if report.test is not None:
        lower, upper = report.test["bounds"]
        verdict = {"H0": "elo0 accepted", "H1": "elo1 accepted", None: "undecided"}[report.test["decision"]]
        lines.append(
            f"sprt {report.test['elo0']:g}, {report.test['elo1']:g}: {verdict}, "
            f"llr {report.test['llr']:.2f} in ({lower:.2f}, {upper:.2f})"
        )
    return "\n".join(lines)
