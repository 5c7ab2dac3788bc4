"""What the commands share: options, their values, and the end of their help."""

import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import Any, TypeVar

import click

import ai
import bvb
import bvb_core
from ai.bots import BOTS
from ai.params import DEFAULT_ITERATIONS

# Between lines of progress, in seconds: on a terminal, and elsewhere.
PROGRESS_INTERVALS_S = (1.0, 10.0)
# How long a server may take to say that it is there.
CONNECT_S = 5.0
# Where a click context keeps the path of its --deck.
DECK_PATH = "bvb.deck_path"

Command = TypeVar("Command", bound=Callable[..., object])


def example(*lines: str) -> str:
    return "\b\nExample:\n" + "\n".join(f"  {line}" for line in lines)


def bots_help(**others: str) -> str:
    """A line for every bot, and for what else a command takes in place of one; then the settings of bots."""
    return (
        "\n\n\b\nBots, as NAME or NAME:key=value:key=value:\n"
        + listed(others | {name: kind.description for name, kind in BOTS.items()})
        + "\n\n\b\nSettings of bots, with ranges and defaults:\n"
        + listed(settings())
    )


def listed(lines: dict[str, str]) -> str:
    """Names and what they stand for, in two columns."""
    width = max(map(len, lines))
    return "\n".join(
        textwrap.fill(text, 78, initial_indent=f"  {name:<{width}}  ", subsequent_indent=" " * (width + 4))
        for name, text in lines.items()
    )


def settings() -> dict[str, str]:
    """What the settings of all bots do, by name; where bots differ, in as many sentences."""
    takers: dict[tuple[str, str], list[str]] = {}
    for bot, kind in BOTS.items():
        for parameter in fields(kind.params) if kind.params else ():
            low, high, doc = (parameter.metadata[key] for key in ("low", "high", "doc"))
            default = "" if parameter.default is None else f", default {parameter.default}"
            takers.setdefault((parameter.name, f"{low} to {high}{default}: {doc}"), []).append(bot)
    texts: dict[str, str] = {}
    for (name, text), bots in takers.items():
        sentence = f"{text} ({', '.join(bots)})."
        texts[name] = f"{texts[name]} {sentence}" if name in texts else sentence
    texts["iterations"] += f" {DEFAULT_ITERATIONS} without any budget."
    return texts


class DeckFile(click.Path):
    """A deck file, loaded."""

    name = "file"

    def __init__(self) -> None:
        super().__init__(exists=True, dir_okay=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = super().convert(value, param, ctx)
        try:
            deck = bvb_core.load_deck(str(path))
        except bvb_core.DeckError as error:
            raise click.ClickException(str(error)) from None
        if ctx is not None:
            ctx.meta[DECK_PATH] = str(path)
        return deck


def check_address(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    if value is not None:
        host, _, port = value.rpartition(":")
        if not host or not port.isdecimal() or not 1 <= int(port) <= 65535:
            raise click.BadParameter(f"{value!r} is not HOST:PORT, as in localhost:50051")
    return value


def all_of(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """One decorator for several options, in the order of the help."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


deck_option = click.option("--deck", type=DeckFile(), help="Deck file, in place of the standard deck.")
variant_options = all_of(
    click.option("--armageddon", is_flag=True, help="Play with Armageddon."),
    click.option("--practice", is_flag=True, help="Play the short practice round."),
    deck_option,
)

def server_option(what: str) -> Callable[[Command], Command]:
    return click.option("--server", metavar="HOST:PORT", callback=check_address, help=what)


def self_play_options(default_bots: str, fewest_games: int) -> Callable[[Command], Command]:
    """Who plays how many games from which seed."""
    return all_of(
        click.option("--players", type=click.IntRange(2, 5), required=True, help="Number of players."),
        click.option(
            "--games", type=click.IntRange(fewest_games), default=1, show_default=True, help="Number of games."
        ),
        click.option(
            "--seed",
            type=click.IntRange(0),
            default=0,
            show_default=True,
            help="Seed of the first game; each further game takes the next number.",
        ),
        click.option(
            "--bots",
            default=default_bots,
            show_default=True,
            help="One bot for all seats, or one for each, with commas.",
        ),
    )


def seat_specs(bots: str, players: int) -> list[str]:
    """The bot of every seat, from the value of --bots."""
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
    return specs


def check_server(client: bvb.Client, address: str) -> None:
    """Find a server that is not there before anything else is done."""
    try:
        client.engine_info(timeout_s=CONNECT_S)
    except bvb.Error as error:
        raise click.ClickException(f"no bvb server answers at {address}: {error.message}") from None


@contextmanager
def connect(address: str) -> Iterator[bvb.Client]:
    """A client of a server that is there."""
    with bvb.Client(address) as client:
        check_server(client, address)
        yield client


def progress(unit: str, total: int) -> Callable[[int], None]:
    """A function that is told how many are done, and says it on stderr now and then, with the time left."""
    interval = PROGRESS_INTERVALS_S[not sys.stderr.isatty()]
    shown = time.monotonic()
    first: tuple[float, int] | None = None

    def report(done: int) -> None:
        nonlocal shown, first
        now = time.monotonic()
        began, before = first = first or (now, done)
        if now - shown > interval and done > before:
            shown = now
            left_s = (now - began) / (done - before) * (total - done)
            click.echo(f"{done}/{total} {unit}, {left_s:.0f} s left", err=True)

    return report
