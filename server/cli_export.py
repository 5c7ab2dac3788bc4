"""`bvb export`: self-play data."""

import os
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from pathlib import Path

import click

import ai.export
import bvb_core


@click.command(
    epilog="\b\nExample:\n"
    "  bvb export --players 3 --games 1000 --bots ismcts:iterations=1000 --workers 2 --out selfplay"
)
@click.option("--players", type=click.IntRange(2, 5), required=True, help="Number of players.")
@click.option("--games", type=click.IntRange(1), default=1, show_default=True, help="Number of games.")
@click.option(
    "--seed",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Seed of the first game; each further game takes the next number.",
)
@click.option(
    "--bots",
    default="ismcts:iterations=1000",
    show_default=True,
    help="One bot for all seats, or one for each, with commas.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    help="Folder, or a FILE.npz for all games in one file (they are held in memory until then).",
)
@click.option(
    "--part-games",
    type=click.IntRange(1),
    default=20,
    show_default=True,
    help="Games in each file of the folder.",
)
@click.option(
    "--workers",
    type=click.IntRange(1, 1024),
    default=1,
    show_default=True,
    help="Processes; each writes whole files.",
)
@click.option("--armageddon", is_flag=True, help="Play with Armageddon.")
@click.option("--practice", is_flag=True, help="Play practice games.")
@click.option(
    "--deck",
    type=click.Path(exists=True, dir_okay=False),
    help="Deck file, in place of the standard deck.",
)
def export(
    players: int,
    games: int,
    seed: int,
    bots: str,
    out: Path,
    part_games: int,
    workers: int,
    armageddon: bool,
    practice: bool,
    deck: str | None,
) -> None:
    """Let bots play, and write records and arrays of observations, search policies and outcomes.

    After an interruption the same command goes on: files that are complete are kept. docs/research.md has the
    format.
    """
    from server.cli import progress  # which needs this module

    specs = bots.split(",")
    if len(specs) == 1:
        specs *= players
    if len(specs) != players:
        raise click.BadParameter(f"{len(specs)} bots for {players} players", param_hint="--bots")
    for spec in specs:
        try:
            ai.make_bot(spec)
        except ValueError as error:
            raise click.BadParameter(str(error), param_hint="--bots") from None
    try:
        cards = bvb_core.load_deck(deck)
        new_game = partial(
            bvb_core.new_game, players, armageddon=armageddon, practice=practice, deck=cards
        )
        new_game(seed)
        work = ai.export.parts(new_game, specs, seed, games, out, part_games)
        there = ai.export.export(work, workers, progress("games", games))
    except OSError as error:
        raise click.ClickException(f"{error.filename or out}: {os.strerror(error.errno or 0)}") from None
    except BrokenProcessPool:
        raise click.ClickException("a worker process died; the same command goes on") from None
    except ValueError as error:
        raise click.ClickException(str(error)) from None
    kept = f", {there} of them were there" if there else ""
    click.echo(f"{out}: {games} games in {len(work)} files with arrays and records{kept}", err=True)
