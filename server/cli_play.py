"""`bvb play`: the options, checked, and the game that they ask for."""

import json
import secrets
import signal
import time
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import click

import ai.params
import bvb
import bvb_core
from server.cli_options import DECK_PATH, bots_help, check_server, example, server_option, variant_options

if TYPE_CHECKING:
    from server.play import Adviser

BOT_TIME_MS = 500
SERVER_SETTINGS = ("iterations", "time_ms", "threads")
FROM_RECORD = ("players", "first_player", "armageddon", "practice")


@click.command(
    short_help="Play against bots and other people, or watch bots.",
    epilog=example("bvb play --seats human,ismcts:time_ms=500,random", "bvb play --load game.json")
    + bots_help(human="A person at this terminal.", server="The engine of --server.")
)
@click.option(
    "--players", type=click.IntRange(2, 5), help="Number of players; one for each of --seats, at least 2."
)
@click.option(
    "--seats",
    default="human",
    show_default=True,
    help="Who plays, in seat order with commas: human, a bot such as ismcts:time_ms=500, or server, which "
    f"asks --server. Seats left out are ismcts:time_ms={BOT_TIME_MS}, or server with --server.",
)
@click.option("--seed", type=click.IntRange(0), help="Seed of the deal and of bots; random when left out.")
@click.option("--first-player", type=click.IntRange(0), help="Seat that begins; random when left out.")
@variant_options
@server_option("Server that is asked for hints, and by server seats.")
@click.option(
    "--hint-ms", type=click.IntRange(1, 60_000), default=1000, show_default=True, help="Time for a hint."
)
@click.option(
    "--save",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File for the record; that of --load, or a new one in this folder, when left out.",
)
@click.option(
    "--load",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Record of a game to go on with; --seats is to be given again.",
)
@click.pass_context
def play(
    context: click.Context,
    players: int | None,
    seats: str,
    seed: int | None,
    first_player: int | None,
    armageddon: bool,
    practice: bool,
    deck: bvb_core.Deck | None,
    server: str | None,
    hint_ms: int,
    save: Path | None,
    load: Path | None,
) -> None:
    """Play against bots, with other people in turn, or watch bots play.

    Moves are typed; `help` in the game explains them. When input comes from a file or pipe, each line is a
    move or a command. The game is saved when it ends and when it is left, also by Ctrl-C.
    """
    from server import play as game  # brings rich, which no other command needs

    cards = deck or bvb_core.load_deck()
    if save is not None and save != load and save.exists():
        raise click.BadParameter(f"{save} exists already; give another name", param_hint="--save")
    specs = [spec.strip() for spec in seats.split(",")]
    seed = secrets.randbits(32) if seed is None else seed
    if load is not None:
        for option in FROM_RECORD:
            if context.get_parameter_source(option) == click.core.ParameterSource.COMMANDLINE:
                raise click.UsageError(f"--{option.replace('_', '-')} is given by the record of --load")
        record = read_record(load, cards)
        players = int(record["rules"]["players"])
    else:
        players = players or max(2, len(specs))
        try:
            record = bvb_core.new_game(
                players=players,
                seed=seed,
                first_player=first_player,
                armageddon=armageddon,
                practice=practice,
                deck=cards,
            ).to_record()
        except ValueError as error:
            raise click.UsageError(str(error)) from None
    if len(specs) > players:
        raise click.BadParameter(f"{len(specs)} seats for {players} players", param_hint="--seats")
    client = context.with_resource(bvb.Client(server, timeout_s=120)) if server else None
    specs += [f"{'server' if client else 'ismcts'}:time_ms={BOT_TIME_MS}"] * (players - len(specs))
    seeds = Random(f"bots of game {seed}")
    hint = f"{'server' if client else 'ismcts'}:time_ms={hint_ms}"
    advisers = [
        None if spec == game.HUMAN else adviser(spec, seeds.getrandbits(32), client)
        for spec in (*specs, hint)
    ]
    assert advisers[-1] is not None
    if server and client:
        check_server(client, server)
    for number in game.LEAVING:
        signal.signal(number, signal.default_int_handler)
    session = game.Session(
        record,
        cards,
        advisers[:-1],
        specs,
        advisers[-1],
        save or load or Path(time.strftime("bvb-%Y%m%d-%H%M%S.json")),
        game.make_console(),
        context.meta.get(DECK_PATH),
        server,
    )
    if load is not None:
        session.own_files.add(load)
    try:
        session.run()
    except bvb.Error as error:
        raise click.ClickException(error.message) from None
    except OSError as error:
        raise click.ClickException(f"{error.filename or 'terminal'}: {error.strerror}") from None


def adviser(spec: str, seed: int, client: bvb.Client | None) -> "Adviser":
    """The bot of a seat."""
    from server import play as game

    name, *words = spec.split(":")
    try:
        if name != "server":
            return game.local_adviser(spec, seed)
        if client is None:
            raise ValueError("a server seat needs --server")
        budget = ai.params.parse_settings(words)
        for setting in budget:
            if setting not in SERVER_SETTINGS:
                raise ValueError(f"server has the settings {', '.join(SERVER_SETTINGS)}, not {setting}")
        if "iterations" not in budget and "time_ms" not in budget:
            budget["time_ms"] = BOT_TIME_MS
        return game.server_adviser(client, **{key: int(value) for key, value in budget.items()})
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--seats") from None


def read_record(path: Path, deck: bvb_core.Deck) -> dict[str, Any]:
    """The record in a file, checked."""
    try:
        text = path.read_text(encoding="utf-8").lstrip()
        record, end = json.JSONDecoder().raw_decode(text)
        if text[end:].strip():
            raise click.ClickException(f"{path}: holds more than one record; put the one to play into a file of its own")
        bvb_core.State.from_record(record, deck=deck)
    except OSError as error:
        raise click.ClickException(f"{path}: {error.strerror}") from None
    except (RecursionError, ValueError) as error:
        raise click.ClickException(f"{path}: {error}") from None
    assert isinstance(record, dict)
    return record
