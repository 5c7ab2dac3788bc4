"""What `bvb analyze` does: a recorded game, move by move."""

import json
from collections.abc import Iterator
from typing import Any

from google.protobuf import json_format

import ai
import bvb
import bvb_core
from bvb.messages import game_request
from bvb.v1 import engine_pb2
from server import plot
from server.cli_options import progress
from server.engine import Engine, Limits
from server.review import Review
from server.text import plural


def steps_here(request: engine_pb2.AnalyzeGameRequest, deck: bvb_core.Deck | None) -> Iterator[engine_pb2.AnalyzeGameResponse]:
    """What AnalyzeGame would answer, found in this process."""
    standard = bvb_core.load_deck()
    decks = {standard.id: standard} | ({deck.id: deck} if deck else {})
    review = Review(Engine(decks, Limits()), request)
    total = len(review.decisions)
    for done, decision in enumerate(review.decisions, 1):
        step = review.review(decision, ai.StopToken())
        yield engine_pb2.AnalyzeGameResponse(done=done, total=total, review=step)
    yield engine_pb2.AnalyzeGameResponse(done=total, total=total, summary=review.summary())


def reviews(
    record: str, client: bvb.Client | None, deck: bvb_core.Deck | None, options: dict[str, Any]
) -> tuple[list[engine_pb2.MoveReview], engine_pb2.GameReview]:
    """The reviews of a game and their summary, from a server or found here; options as of bvb.Client.analyze_game."""
    found = steps_here(game_request(record, **options), deck) if client is None else client.analyze_game(record, **options)
    steps = reported(found)
    return [step.review for step in steps if step.HasField("review")], steps[-1].summary


def reported(steps: Iterator[engine_pb2.AnalyzeGameResponse]) -> list[engine_pb2.AnalyzeGameResponse]:
    """All steps, with lines of progress."""
    taken = []
    report = None
    for step in steps:
        taken.append(step)
        report = report or progress("moves", step.total)
        report(step.done)
    return taken


def table(reviews: list[engine_pb2.MoveReview], summary: engine_pb2.GameReview) -> str:
    """The reviews as lines for people; marked moves have a `!`."""
    widest = max((len(review.played.notation) for review in reviews), default=0)
    width = max(widest, 6)
    lines = [f"    #  turn  seat  {'played':<{width}}   wins   lost           better"]
    for review in reviews:
        mark = "!" if review.index in summary.marked else " "
        lost = f"{review.loss:5.1%} ±{review.loss_error:5.1%}" if review.loss else ""
        better = review.result.action.notation if review.loss else ""
        lines.append(
            f"{review.index:>5}{mark} {review.turn_number:>4}  {review.seat:>4}  {review.played.notation:<{width}} "
            f"{review.win_probability[review.seat]:6.1%}  {lost:<13}  {better}".rstrip()
        )
    lines.append("")
    for seat, (loss, decisions) in enumerate(zip(summary.mean_loss, summary.decisions, strict=True)):
        if decisions:
            lines.append(f"seat {seat}: {plural(decisions, 'move')}, {loss:.2%} lost by a move")
    return "\n".join(lines)


def picture(reviews: list[engine_pb2.MoveReview], summary: engine_pb2.GameReview) -> str:
    """The win probabilities as SVG, each move as its own seat judges it."""
    seats = {review.index: review.seat for review in reviews}
    return plot.win_probability_svg(
        [review.index for review in reviews],
        [review.win_probability for review in reviews],
        [(index, seats[index]) for index in summary.marked],
        "Win probability by seat",
    )


def to_json(reviews: list[engine_pb2.MoveReview], summary: engine_pb2.GameReview) -> str:
    """The messages as JSON."""

    def plain(message: Any) -> Any:
        return json_format.MessageToDict(
            message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
        )

    return json.dumps({"reviews": [plain(review) for review in reviews], "summary": plain(summary)})
