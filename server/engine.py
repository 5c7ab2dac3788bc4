"""Answers to the requests of EngineService, without a network."""

import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, fields
from importlib.metadata import version

import ai
import bvb_core
from ai.params import SearchParams
from bvb.v1 import engine_pb2
from server import convert
from server.errors import invalid

INT32_MAX = 2**31 - 1
# The largest values that a search takes.
LARGEST = {parameter.name: int(parameter.metadata["high"]) for parameter in fields(SearchParams)}


@dataclass(frozen=True)
class Limits:
    """The most that one request may ask for."""

    iterations: int = LARGEST["iterations"]
    time_ms: int = LARGEST["time_ms"]
    threads: int = LARGEST["threads"]
    request_bytes: int = 64 * 1024

    def to_proto(self) -> engine_pb2.Limits:
        return engine_pb2.Limits(
            max_iterations=self.iterations,
            max_time_ms=self.time_ms,
            max_threads=self.threads,
            max_request_bytes=self.request_bytes,
        )


@dataclass(frozen=True)
class Search:
    """A valid SuggestMoveRequest. `iterations` and `time_ms` are 0 when not limited by the request."""

    observation: bvb_core.Observation
    iterations: int
    time_ms: int
    seed: int
    threads: int
    multi_pv: int


class Engine:
    """Thread-safe. `decks` by id, the standard one among them."""

    def __init__(self, decks: Mapping[str, bvb_core.Deck], limits: Limits) -> None:
        self.decks = decks
        self.limits = limits

    def legal_moves(self, request: engine_pb2.ListLegalMovesRequest) -> engine_pb2.ListLegalMovesResponse:
        observation = self._position(request)
        return engine_pb2.ListLegalMovesResponse(
            actions=[
                convert.action_to_proto(action) for action in sorted(observation.legal_actions(), key=str)
            ]
        )

    def info(self) -> engine_pb2.GetEngineInfoResponse:
        return engine_pb2.GetEngineInfoResponse(
            version=version("bvb-engine"),
            decks=[convert.deck_to_proto(deck) for deck in self.decks.values()],
            limits=self.limits.to_proto(),
            min_players=bvb_core.MIN_PLAYERS,
            max_players=bvb_core.MAX_PLAYERS,
        )

    def check(self, request: engine_pb2.SuggestMoveRequest) -> Search:
        """The search that a request asks for; a ServiceError names what is wrong with it."""
        observation = self._position(request)
        budget = request.budget
        for field, value, limit in (
            ("budget.iterations", budget.iterations, self.limits.iterations),
            ("budget.time_ms", budget.time_ms, self.limits.time_ms),
            ("threads", request.threads, self.limits.threads),
            ("multi_pv", request.multi_pv, INT32_MAX),
        ):
            if value < 0:
                raise invalid(field, f"{value} is negative", "OUT_OF_RANGE")
            if value > limit:
                raise invalid(field, f"{value} is more than the limit of {limit}", "OUT_OF_RANGE")
        if not budget.iterations and not budget.time_ms:
            raise invalid("budget", "set iterations, time_ms or both to say how long to search", "NO_BUDGET")
        return Search(
            observation,
            budget.iterations,
            budget.time_ms,
            request.seed if request.HasField("seed") else secrets.randbits(32),
            request.threads or 1,
            request.multi_pv,
        )

    def search(
        self, search: Search, stop: ai.StopToken, deadline: float | None = None
    ) -> engine_pb2.SuggestMoveResponse:
        """The answer when the budget is used up, the token is stopped, or just before `deadline`,
        a time of time.monotonic()."""
        time_ms = min(search.time_ms or self.limits.time_ms, self.limits.time_ms)
        if deadline is not None:
            left_ms = int(1000 * (deadline - time.monotonic()))
            reserve_ms = min(max(50, left_ms // 10), 1000)  # for the way back
            time_ms = max(1, min(time_ms, left_ms - reserve_ms))
        spec = f"ismcts:time_ms={time_ms}:threads={search.threads}"
        if search.iterations:
            spec += f":iterations={search.iterations}"
        bot = ai.make_bot(spec, seed=search.seed)
        suggestion = bot.suggest(search.observation, multi_pv=search.multi_pv or None, stop=stop)
        response = convert.suggestion_to_proto(suggestion, search.seed)
        if response.stop_reason == engine_pb2.STOP_REASON_TIME and time_ms != search.time_ms:
            response.warnings.append(
                f"ended after {time_ms} ms, before the budget was used up: "
                "by the deadline of the call or the limit of the server"
            )
        return response

    def _position(
        self, request: engine_pb2.SuggestMoveRequest | engine_pb2.ListLegalMovesRequest
    ) -> bvb_core.Observation:
        """The position of a request, in which the observer is to move."""
        given = request.HasField("observation"), request.HasField("history")
        if given == (False, False):
            raise invalid("observation", "is missing, and so is history", "NO_OBSERVATION")
        if given == (True, True):
            raise invalid("history", "give either observation or history, not both", "TWO_POSITIONS", ("observation",))
        if request.HasField("history"):
            observation = convert.observation_from_history(request.history, self.decks)
        else:
            observation = convert.observation_from_proto(request.observation, self.decks)
        if observation.current_player == bvb_core.TERMINAL:
            raise invalid("current_player", "the game is over, there is no move", "GAME_OVER")
        if observation.seat is None:
            raise invalid("seat", "is missing; a spectator has no move", "WRONG_SEAT")
        if observation.seat != observation.current_player:
            raise invalid(
                "seat",
                f"seat {observation.seat} is not to move, seat {observation.current_player} is",
                "WRONG_SEAT",
            )
        return observation
