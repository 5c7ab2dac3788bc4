"""`bvb export`: self-play data."""

import os
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from pathlib import Path

import click

import ai.export
import bvb_core
from server.cli_options import bots_help, example, progress, seat_specs, self_play_options, variant_options
from server.text import plural


@click.command(
    short_help="Let bots play, and write data to learn from.",
    epilog=example("bvb export --players 3 --games 1000 --bots ismcts:iterations=1000 --workers 2 --out selfplay")
    + bots_help()
)
@self_play_options(default_bots="ismcts:iterations=1000", fewest_games=1)
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
@variant_options
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
    deck: bvb_core.Deck | None,
) -> None:
    """Let bots play, and write records and arrays of observations, search policies and outcomes.

    After an interruption the same command goes on: files that are complete are kept. docs/research.md has the
    format.
    """
    specs = seat_specs(bots, players)
    try:
        new_game = partial(bvb_core.new_game, players, armageddon=armageddon, practice=practice, deck=deck)
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
    click.echo(f"{out}: {plural(games, 'game')} in {plural(len(work), 'file')} with arrays and records{kept}", err=True)
