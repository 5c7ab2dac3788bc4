"""Going through a recorded game, without a network."""

import json
import math
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import ai
import bvb_core
from ai.bots import BOTS
from ai.params import is_ismcts
from bvb.v1 import engine_pb2
from server import convert
from server.engine import DEFAULT_BOT, Engine, Search
from server.errors import invalid

DEFAULT_MARKS = 5


@dataclass(frozen=True)
class Decision:
    """One action of a record. `search` finds the best move, `forced` looks at the one that was played alone."""

    index: int
    turn_number: int
    seat: int
    played: bvb_core.Action
    search: Search
    forced: Search


class Review:
    """A valid AnalyzeGameRequest. Decisions are reviewed in any order, each once; then there is a summary."""

    def __init__(self, engine: Engine, request: engine_pb2.AnalyzeGameRequest) -> None:
        """Raises a ServiceError that names what is wrong with the request."""
        self._engine = engine
        bot = request.bot or DEFAULT_BOT
        if bot in BOTS and not is_ismcts(BOTS[bot].params):
            raise invalid("bot", f"{bot} cannot judge a move that it would not play", "NOT_SUPPORTED")
        self._template = engine_pb2.SuggestMoveRequest(
            budget=request.budget,
            seed=request.seed if request.HasField("seed") else secrets.randbits(32),
            threads=request.threads,
            bot=request.bot,
            settings=request.settings,
            multi_pv=request.multi_pv or 1,
        )
        if bot == DEFAULT_BOT and all(setting.name != "early_stop" for setting in request.settings):
            self._template.settings.add(name="early_stop", int_value=0)  # a position with one move has a value too
        engine.check_bot(self._template)
        self._marks = request.marks or DEFAULT_MARKS
        self._losses: list[tuple[float, int, int]] = []  # loss, index, seat
        record = _read(request.record)
        deck = convert.known_deck(_deck_of(record), engine.decks, "record.rules.deck")
        try:
            state = bvb_core.State.from_record(record, deck=deck)
        except bvb_core.RecordError as error:
            field = f"record.{error.field}" if error.field else "record"
            raise invalid(field, error.problem, "INVALID_RECORD") from None
        self._players: int = state.rules["players"]
        actions = record["actions"]
        for name, value, high in (("first", request.first, len(actions)), ("count", request.count, len(actions))):
            if not 0 <= value <= high:
                raise invalid(name, f"must be 0 to {high}, the number of actions, not {value}", "OUT_OF_RANGE")
        if request.marks < 0:
            raise invalid("marks", f"{request.marks} is negative", "OUT_OF_RANGE")
        for i, seat in enumerate(request.seats):
            if not 0 <= seat < self._players:
                raise invalid(f"seats[{i}]", f"must be 0 to {self._players - 1}, not {seat}", "OUT_OF_RANGE")
        last = request.first + request.count if request.count else len(actions)
        self.threads = request.threads or 1
        self.decisions = [
            decision
            for decision in self._replay(record, deck, request.first, last)
            if not request.seats or decision.seat in request.seats
        ]

    def _replay(self, record: dict[str, Any], deck: Any, first: int, last: int) -> Iterator[Decision]:
        state = bvb_core.State.from_record(record, after=first, deck=deck)
        for index, text in enumerate(record["actions"][first:last], first):
            seat = state.current_player
            observation = state.observation(seat)
            played = next(action for action in observation.legal_actions() if str(action) == text)
            search = self._engine.check_search(observation, self._template)
            yield Decision(index, state.turn_number, seat, played, search, replace(search, only=(played,)))
            state.apply(played)

    def review(self, decision: Decision, stop: ai.StopToken) -> engine_pb2.MoveReview:
        """The review of one decision."""
        result = self._engine.search(decision.search, stop)
        best = played = result.alternatives[0]
        if str(decision.played) not in [action.notation for action in (best.action, *best.equivalent)]:
            played = self._engine.search(decision.forced, stop).alternatives[0]
        seat = decision.seat
        loss = max(0.0, best.win_probability[seat] - played.win_probability[seat])
        self._losses.append((loss, decision.index, seat))
        return engine_pb2.MoveReview(
            index=decision.index,
            turn_number=decision.turn_number,
            seat=seat,
            played=convert.action_to_proto(decision.played),
            win_probability=played.win_probability,
            loss=loss,
            loss_error=0 if played is best else math.hypot(best.standard_error[seat], played.standard_error[seat]),
            result=result,
        )

    def summary(self) -> engine_pb2.GameReview:
        """What the reviews say together."""
        by_seat = [[loss for loss, _, of in self._losses if of == seat] for seat in range(self._players)]
        worst = sorted(self._losses, key=lambda entry: (-entry[0], entry[1]))[: self._marks]
        return engine_pb2.GameReview(
            marked=[index for loss, index, _ in worst if loss > 0],
            mean_loss=[math.fsum(losses) / max(1, len(losses)) for losses in by_seat],
            decisions=[len(losses) for losses in by_seat],
        )


def _read(text: str) -> dict[str, Any]:
    if not text:
        raise invalid("record", "is missing", "INVALID_RECORD")
    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise invalid("record", f"is not JSON: {error}", "INVALID_RECORD") from None
    if not isinstance(record, dict):
        raise invalid("record", "is not a JSON object", "INVALID_RECORD")
    return record


def _deck_of(record: Mapping[str, Any]) -> str:
    """Id of the deck of a record that may not be one; empty where it names none, which is left to the replay to refuse."""
    rules = record.get("rules")
    name = rules.get("deck") if isinstance(rules, dict) else None
    return name if isinstance(name, str) else ""
