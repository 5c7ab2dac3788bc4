"""The `bvb` command. Data goes to stdout, everything else to stderr."""

import asyncio
import json
import logging
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import click

import ai
import ai.export
import bvb
import bvb_core
from bvb.messages import SearchOptions, observation_message, search_request
from bvb.v1 import engine_pb2
from server import app, bench, cli_analyze, cli_arena, convert
from server.cli_export import export
from server.cli_options import (
    DeckFile,
    bots_help,
    connect,
    deck_option,
    example,
    progress,
    seat_specs,
    self_play_options,
    server_option,
    variant_options,
)
from server.cli_play import play
from server.engine import LARGEST, Engine, Limits
from server.errors import ServiceError
from server.text import plural


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(bvb_core.__version__, message="%(version)s")
def main() -> None:
    """Bears vs Babies: games, positions, and the best move in them."""


@main.command(epilog=example("bvb serve --port 50051"))
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=50051, show_default=True, help="Port; 0: any free one."
)
@click.option(
    "--workers",
    type=click.IntRange(1, LARGEST["threads"]),
    default=app.cores(),
    show_default="number of cores",
    help="Search threads in all.",
)
@click.option(
    "--queue",
    type=click.IntRange(0),
    default=32,
    show_default=True,
    help="Searches that may wait for a thread.",
)
@click.option(
    "--max-iterations",
    type=click.IntRange(1, LARGEST["iterations"]),
    default=app.default_limits().iterations,
    show_default=True,
    help="Largest number of iterations in a request.",
)
@click.option(
    "--max-time-ms",
    type=click.IntRange(1, LARGEST["time_ms"]),
    default=app.default_limits().time_ms,
    show_default=True,
    help="Longest search.",
)
@click.option(
    "--deck",
    "decks",
    type=DeckFile(),
    multiple=True,
    help="Deck file to know besides the standard deck; may be given more than once.",
)
def serve(
    host: str,
    port: int,
    workers: int,
    queue: int,
    max_iterations: int,
    max_time_ms: int,
    decks: tuple[bvb_core.Deck, ...],
) -> None:
    """Answer questions over gRPC until stopped (SIGTERM or Ctrl-C).

    Prints `listening on HOST:PORT` when ready.
    """
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    config = app.Config(
        host=host,
        port=port,
        workers=workers,
        queue=queue,
        limits=replace(app.default_limits(), iterations=max_iterations, time_ms=max_time_ms, threads=workers),
        decks=app.standard_decks() | {deck.id: deck for deck in decks},
    )
    try:
        asyncio.run(app.serve(config, lambda address: click.echo(f"listening on {address}")))
    except OSError as error:
        raise click.ClickException(str(error)) from None


@main.command(
    short_help="The best move in a position.",
    epilog=example(
        "bvb position games.jsonl --after 120 > position.json", "bvb suggest position.json --time-ms 2000"
    )
)
@click.argument("position", type=click.File("r", encoding="utf-8"))
@click.option(
    "--iterations", type=click.IntRange(1, LARGEST["iterations"]), help="Simulated games to search."
)
@click.option(
    "--time-ms",
    type=click.IntRange(1, LARGEST["time_ms"]),
    help="Milliseconds to search; 1000 without any limit.",
)
@click.option(
    "--threads",
    type=click.IntRange(1, LARGEST["threads"]),
    default=1,
    show_default=True,
    help="Search threads.",
)
@click.option(
    "--seed", type=click.IntRange(0, 2**32 - 1), help="Seed; equal seeds and iterations, equal answers."
)
@click.option("--multi-pv", type=click.IntRange(1), help="Number of alternatives to show; all when left out.")
@server_option("Ask this server instead of searching here.")
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")
@deck_option
def suggest(
    position: IO[str],
    iterations: int | None,
    time_ms: int | None,
    threads: int,
    seed: int | None,
    multi_pv: int | None,
    server: str | None,
    as_json: bool,
    deck: bvb_core.Deck | None,
) -> None:
    """The best move in POSITION, the JSON of an observation ('-' reads it from stdin)."""
    if server and deck:
        raise click.UsageError("--deck is for searching here; a server has its own decks")
    if iterations is None and time_ms is None:
        time_ms = 1000
    options: SearchOptions = {
        "iterations": iterations or 0,
        "time_ms": time_ms or 0,
        "seed": seed,
        "threads": threads,
        "multi_pv": multi_pv or 0,
    }
    with connect(server) if server else nullcontext() as client:
        try:
            observation = observation_message(position.read())
            if client is None:
                engine = Engine(app.standard_decks() | ({deck.id: deck} if deck else {}), Limits())
                answer = engine.search(engine.check(search_request(observation, **options)), ai.StopToken())
            else:
                answer = client.suggest_move(observation, **options)
        except (ServiceError, bvb.Error) as error:
            raise click.ClickException(error.message) from None
        except ValueError as error:
            raise click.ClickException(f"{position.name}: {error}") from None
    if as_json:
        click.echo(json.dumps(convert.suggestion_to_dict(answer)))
    else:
        click.echo(describe(answer, observation.current_player))
        for warning in answer.warnings:
            click.echo(f"warning: {warning}", err=True)


def describe(answer: engine_pb2.SuggestMoveResponse, mover: int) -> str:
    """An answer for the seat to move as lines for people."""
    lines = [f"best move: {answer.action.notation}", ""]
    for seat, (win, score) in enumerate(zip(answer.win_probability, answer.expected_score, strict=True)):
        lines.append(f"  seat {seat}: wins {win:6.1%}, expects {score:5.2f} points" + (" (to move)" if seat == mover else ""))
    width = max(len(alternative.action.notation) for alternative in answer.alternatives)
    lines += ["", f"  {'alternatives':<{max(width, 12)}}  visits  win probability by seat"]
    for alternative in answer.alternatives:
        wins = " ".join(f"{win:6.1%}" for win in alternative.win_probability)
        same = ", ".join(action.notation for action in alternative.equivalent)
        lines.append(
            f"  {alternative.action.notation:<{max(width, 12)}}  {alternative.visits:>6}  {wins}"
            + (f"  (same as {same})" if same else "")
        )
    lines += ["", f"{plural(answer.iterations, 'iteration')} in {answer.elapsed_ms:.0f} ms, seed {answer.seed}"]
    return "\n".join(lines)


@main.command(
    short_help="Let bots play, and print the records of their games.",
    epilog=example("bvb record --players 3 --games 100 --seed 1 > games.jsonl") + bots_help(),
)
@self_play_options(default_bots="random", fewest_games=0)
@click.option("--legal", is_flag=True, help="Write all legal actions of every moment too.")
@variant_options
def record(
    players: int,
    games: int,
    seed: int,
    bots: str,
    legal: bool,
    armageddon: bool,
    practice: bool,
    deck: bvb_core.Deck | None,
) -> None:
    """Let bots play, and print the records (bvb-record/1), one JSON object a line."""
    specs = seat_specs(bots, players)
    try:
        bvb_core.new_game(players=players, seed=seed, practice=practice, deck=deck)
    except bvb_core.DeckError as error:
        raise click.ClickException(str(error)) from None
    report = progress("games", games)
    for game in range(games):
        state = bvb_core.new_game(
            players=players, seed=seed + game, armageddon=armageddon, practice=practice, deck=deck
        )
        seated = ai.export.seat_bots(specs, seed + game)
        while not state.is_terminal:
            seat = state.current_player
            state.apply(seated[seat].suggest(state.observation(seat)).action)
        click.echo(json.dumps(state.to_record(legal=legal), separators=(",", ":")))
        report(game + 1)


@main.command(short_help="Check records of games.", epilog=example("bvb replay games.jsonl"))
@click.argument("files", type=click.File("r", encoding="utf-8"), nargs=-1, required=True)
@deck_option
def replay(files: tuple[IO[str], ...], deck: bvb_core.Deck | None) -> None:
    """Check the records in FILES: every action, its legal list where given, and the result."""
    failed = False
    for file in files:
        games = actions = wrong = 0
        for number, game in enumerate(read_records(file)):
            try:
                state = bvb_core.State.from_record(game, deck=deck)
            except bvb_core.RecordError as error:
                wrong += 1
                click.echo(f"{file.name}: game {number}: {error}", err=True)
            else:
                games += 1
                actions += len(state.to_record()["actions"])
        if games or not wrong:
            click.echo(f"{file.name}: {plural(games, 'game')} with {plural(actions, 'action')} correct")
        failed |= wrong > 0
    if failed:
        sys.exit(1)


@main.command(
    short_help="What one seat knows at one moment of a recorded game.",
    epilog=example("bvb position games.jsonl --game 2 --after 120"),
)
@click.argument("record", type=click.File("r", encoding="utf-8"))
@click.option(
    "--game", type=click.IntRange(0), default=0, show_default=True, help="Which game of the file, from 0."
)
@click.option("--after", type=click.IntRange(0), required=True, help="Number of actions that were taken.")
@click.option("--seat", type=click.IntRange(0), help="Observer; the seat to move when left out.")
@deck_option
def position(record: IO[str], game: int, after: int, seat: int | None, deck: bvb_core.Deck | None) -> None:
    """What one seat knows at one moment of the game in RECORD, as JSON."""
    try:
        state = bvb_core.State.from_record(pick(record, game), after=after, deck=deck)
    except bvb_core.RecordError as error:
        raise click.ClickException(f"{record.name}: game {game}: {error}") from None
    if seat is None:
        if state.is_terminal:
            raise click.ClickException(f"the game is over after {plural(after, 'action')}: choose a --seat")
        seat = state.current_player
    if seat >= state.rules["players"]:
        raise click.ClickException(f"there is no seat {seat} in a game of {state.rules['players']} players")
    click.echo(state.observation(seat).to_json())


def svg_name(context: click.Context, option: click.Parameter, name: str | None) -> str | None:
    """The name of a file whose ending says what is written into it."""
    if name is not None and not name.lower().endswith(".svg"):
        raise click.BadParameter(f"{name} does not end in .svg, which is what is written")
    return name


@main.command(
    short_help="Go through a recorded game: what each move was worth.",
    epilog=example(
        "bvb analyze game.jsonl --iterations 2000 --plot game.svg", "bvb analyze game.jsonl --seat 0 --time-ms 100"
    )
)
@click.argument("record", type=click.File("r", encoding="utf-8"))
@click.option(
    "--game", type=click.IntRange(0), default=0, show_default=True, help="Which game of the file, from 0."
)
@click.option("--iterations", type=click.IntRange(1, LARGEST["iterations"]), help="Simulated games a move.")
@click.option(
    "--time-ms", type=click.IntRange(1, LARGEST["time_ms"]), help="Milliseconds a move; 200 without any limit."
)
@click.option(
    "--threads", type=click.IntRange(1, LARGEST["threads"]), default=1, show_default=True, help="Search threads."
)
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), help="Seed; equal seeds and iterations, equal reviews.")
@click.option("--seat", "seats", type=click.IntRange(0), multiple=True, help="Whose moves; may be given more than once.")
@click.option("--first", type=click.IntRange(0), default=0, help="First action to review, from 0.")
@click.option("--count", type=click.IntRange(1), help="Number of actions to review; to the end when left out.")
@click.option("--marks", type=click.IntRange(1), default=5, show_default=True, help="Number of moves to mark.")
@click.option(
    "--plot", "plot_file", type=click.Path(dir_okay=False), callback=svg_name, help="Write the win probabilities as SVG."
)
@server_option("Ask this server instead of searching here.")
@click.option("--json", "as_json", is_flag=True, help="Print the reviews as JSON.")
@deck_option
def analyze(
    record: IO[str],
    game: int,
    iterations: int | None,
    time_ms: int | None,
    threads: int,
    seed: int | None,
    seats: tuple[int, ...],
    first: int,
    count: int | None,
    marks: int,
    plot_file: str | None,
    server: str | None,
    as_json: bool,
    deck: bvb_core.Deck | None,
) -> None:
    """Go through the game in RECORD: what each move was worth, and which lost most.

    Every move is judged by what its seat knew. A whole game has 250 to 450 moves, each of which is searched, and once
    more where the search prefers another one: at 200 ms it takes one to three minutes.
    """
    if server and deck:
        raise click.UsageError("--deck is for searching here; a server has its own decks")
    if iterations is None and time_ms is None:
        time_ms = 200
    options = {
        "iterations": iterations or 0,
        "time_ms": time_ms or 0,
        "seed": seed,
        "threads": threads,
        "seats": seats,
        "first": first,
        "count": count or 0,
        "marks": marks,
    }
    with connect(server) if server else nullcontext() as client:
        text = json.dumps({key: value for key, value in pick(record, game).items() if key != "legal"})
        try:
            reviews, summary = cli_analyze.reviews(text, client, deck, options)
        except (ServiceError, bvb.Error) as error:
            raise click.ClickException(f"{record.name}: {error.message}") from None
    click.echo(cli_analyze.to_json(reviews, summary) if as_json else cli_analyze.table(reviews, summary))
    if plot_file is not None:
        try:
            Path(plot_file).write_text(cli_analyze.picture(reviews, summary), encoding="utf-8")
        except ValueError as error:
            raise click.ClickException(f"{plot_file}: {error}") from None
        except OSError as error:
            raise click.ClickException(f"{plot_file}: {error.strerror}") from None


@main.command(
    name="bench",
    short_help="Measure the speed of the engine on this machine.",
    epilog=example("bvb bench --json > figures.json"),
)
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
def run_bench(as_json: bool) -> None:
    """Measure the speed of the engine on this machine: medians with the lowest and highest of repeated runs.

    Takes about a minute; best when nothing else runs. What uses one thread goes by the time of the processor, the rest by
    the clock.
    """
    figures = bench.run(lambda step: click.echo(f"measuring {step}", err=True))
    click.echo(json.dumps(figures) if as_json else bench.table(figures))


main.add_command(cli_arena.command)
main.add_command(play)
main.add_command(export)


def pick(file: IO[str], game: int) -> dict[str, Any]:
    """The record number `game` of a file."""
    chosen = next((found for number, found in enumerate(read_records(file)) if number == game), None)
    if chosen is None:
        raise click.ClickException(f"{file.name}: there is no game {game}")
    return chosen


def read_records(file: IO[str]) -> Iterator[dict[str, Any]]:
    """The JSON objects of a file: one a line, or spread over lines as an editor leaves them."""
    decoder = json.JSONDecoder()
    text = ""
    line_number = 0
    try:
        for line in file:
            line_number += 1
            text += line
            if line.rstrip().endswith("}"):
                try:
                    found, end = decoder.raw_decode(text.lstrip())
                except json.JSONDecodeError:
                    continue  # the object goes on
                if not isinstance(found, dict) or text.lstrip()[end:].strip():
                    break
                yield found
                text = ""
    except UnicodeDecodeError:
        raise click.ClickException(f"{file.name}: not a text file") from None
    except RecursionError:
        raise click.ClickException(f"{file.name}: line {line_number} is nested too deeply") from None
    if text.strip():
        raise click.ClickException(f"{file.name}: not a JSON object at or before line {line_number}")
