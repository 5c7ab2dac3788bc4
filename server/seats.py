"""Seats of games that are played elsewhere: what each knows and who plays it, without a network."""

import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace

import grpc

import ai
import bvb_core
from ai.bots import BOTS, IsmctsBot
from ai.params import IsmctsParams, is_ismcts
from bvb.v1 import bot_pb2, engine_pb2, observation_pb2
from server import convert
from server.engine import DEFAULT_BOT, INTERVAL, Engine, KeptSearches, Origin, Search, require_turn, settings_words, takeover
from server.errors import ServiceError, below, invalid

LONGEST_MS = 60_000
KEPT_S = 600.0
# Of pondering about one position: in milliseconds, at most and at a time, and in MiB.
PONDER_MS = 60_000
PONDER_SLICE_MS = 50
PONDER_MB = 64


class Tree:
    """The tree that a seat's next search may go on from, among all those that are kept, and what the seat was shown since."""

    def __init__(self, kept: KeptSearches) -> None:
        self._kept = kept
        self._token = ""
        self._tracked = True
        #: As convert.follow_history gives them.
        self.keys: list[tuple[int, int | None]] = []

    @property
    def analysis(self) -> ai.Analysis | None:
        """The search that it belongs to, as long as it is kept."""
        kept = self._kept.get(self._token)
        return None if kept is None else kept[0]

    def put(self, token: str) -> None:
        """Another one, or none: the name of a kept search of what the seat knows now."""
        self._kept.discard(self._token)
        self._token, self._tracked, self.keys = token, True, []

    def lose_track(self) -> None:
        """Other things have happened than those that were shown."""
        self._tracked = False

    def takeover(self, observation: bvb_core.Observation) -> tuple[ai.Analysis | None, tuple[int, ...]]:
        """What a search of the position can go on from; see engine.takeover."""
        analysis = self.analysis
        if analysis is None:
            return None, ()
        return takeover(analysis, observation, [key for _, key in self.keys] if self._tracked else None)


class Seat:
    """A bot with what it has been shown. Its methods do not run at the same time."""

    def __init__(self, engine: Engine, start: bot_pb2.SeatStart) -> None:
        """Raises a ServiceError for a start that names what does not exist."""
        self._engine = engine
        self._tracker: bvb_core.Tracker | None = None
        self._hearing = threading.Lock()  # a stream that broke off may still be heard when the seat is taken up again
        self._observation: bvb_core.Observation | None = None
        for field, high in (("min_think_ms", LONGEST_MS), ("move_overhead_ms", LONGEST_MS)):
            if not 0 <= getattr(start, field) <= high:
                raise invalid(f"start.{field}", f"must be 0 to {high}, not {getattr(start, field)}", "OUT_OF_RANGE")
        interval = start.thinking_interval_ms
        if interval and not INTERVAL[0] <= interval <= INTERVAL[1]:
            raise invalid("start.thinking_interval_ms", f"must be {INTERVAL[0]} to {INTERVAL[1]}, not {interval}", "OUT_OF_RANGE")
        self.seed = start.seed if start.HasField("seed") else secrets.randbits(32)
        self.min_think_s = start.min_think_ms / 1000
        self.interval_ms = start.thinking_interval_ms
        self._overhead_ms = start.move_overhead_ms
        self._template = engine_pb2.SuggestMoveRequest(
            bot=start.bot,
            settings=start.settings,
            seed=self.seed,
            threads=start.threads,
            multi_pv=start.multi_pv,
            budget=start.budget if start.HasField("budget") else None,
        )
        with below("start."):
            engine.check_bot(self._template)
        self._keep_tree = start.keep_tree if start.HasField("keep_tree") else start.ponder or None
        self.ponders = start.ponder
        self.threads = start.threads or 1
        self._settings = settings_words(start.bot or DEFAULT_BOT, self._template)
        for field, wanted in (("keep_tree", start.keep_tree), ("ponder", start.ponder)):
            if wanted and not is_ismcts(BOTS[start.bot or DEFAULT_BOT].params):
                raise invalid(f"start.{field}", "is for ismcts and vanilla", "NOT_SUPPORTED")
        if start.ponder and self._keep_tree is False:
            raise invalid("start.ponder", "is of no use without keep_tree", "NOT_SUPPORTED", ("start.keep_tree",))
        self._tree = Tree(engine.kept)
        self._pondering: ai.Analysis | None = None
        self._bot: ai.Bot | None = None  # a bot that does not search goes on from move to move
        self._answer: bot_pb2.SeatMove | None = None
        if start.HasField("initial_view"):
            self.look(start.initial_view, "start.initial_view.")

    @property
    def events(self) -> int:
        """Number of lines it has been shown since it last looked."""
        with self._hearing:
            return 0 if self._tracker is None else self._tracker.count

    def look(self, message: observation_pb2.Observation, path: str) -> None:
        """What the seat knows now, in place of all before. Raises a ServiceError, with fields below `path`, for a view that
        cannot be, or of nobody or another seat."""
        observation = convert.observation_from_proto(message, self._engine.decks, path)
        if observation.seat is None:
            raise invalid(f"{path}seat", "is missing; a spectator has no seat", "WRONG_SEAT")
        if self._observation is not None and observation.seat != self._observation.seat:
            raise invalid(f"{path}seat", f"this bot plays seat {self._observation.seat}", "WRONG_SEAT")
        self._observation = observation
        self._tracker = bvb_core.Tracker(observation.rules, observation.seat, observation)
        self._tree.lose_track()
        self._pondering = None
        self._answer = None

    def hear(self, events: bot_pb2.SeatEvents) -> None:
        """Take lines; those before a wrong one stay. Raises a ServiceError naming the line that cannot have happened."""
        if self._tracker is None:
            raise invalid("events", "nothing is known yet: send start.initial_view or observation first", "NO_OBSERVATION")
        self._pondering = None
        with self._hearing:
            known = self._tracker.count
            first = events.first if events.HasField("first") else known
            if not 0 <= first <= known:
                raise invalid(
                    "events.first", f"lines are missing: {known} are known, these begin at {first}", "MISSING_EVENTS"
                )
            for i, line in enumerate(events.lines[known - first :], known - first):
                self._answer = None  # which was for the position before
                try:
                    convert.push_line(self._tracker, line, self._tree.keys)
                except bvb_core.EventError as error:
                    raise invalid(f"events.lines[{i}]", error.reason, "INVALID_EVENT") from None

    def given(self, request: bot_pb2.MoveRequest) -> bot_pb2.SeatMove | None:
        """The answer that this request has had."""
        if request.request_id and self._answer and self._answer.request_id == request.request_id:
            return self._answer
        return None

    def search(self, request: bot_pb2.MoveRequest) -> Search:
        """What to search for a move. Raises a ServiceError when it is not this seat's turn or no budget is known."""
        if self._tracker is None:
            raise invalid("move", "nothing is known yet: send start.initial_view or observation first", "NO_OBSERVATION")
        try:
            observation = self._tracker.observation()
        except bvb_core.EventError as error:
            raise invalid("events.lines", error.reason, "MISSING_EVENTS") from None
        asked = engine_pb2.SuggestMoveRequest()
        asked.CopyFrom(self._template)
        if request.HasField("budget"):
            asked.budget.CopyFrom(request.budget)
        if asked.budget.time_ms > 0:
            asked.budget.time_ms = max(1, asked.budget.time_ms - self._overhead_ms)
        if asked.budget.clock.remaining_ms > 0:
            asked.budget.clock.remaining_ms = max(1, asked.budget.clock.remaining_ms - self._overhead_ms)
        require_turn(observation, later="move")
        with below("move." if request.HasField("budget") else "start."):
            self._engine.check_bot(asked)
            search = self._engine.check_search(observation, asked)
        timed = bool(asked.budget.time_ms) or asked.budget.HasField("clock")
        if not is_ismcts(BOTS[search.bot].params) or not (timed if self._keep_tree is None else self._keep_tree):
            return search
        previous, keys = self._tree.takeover(observation)
        return replace(search, origin=Origin(), previous=previous, keys=keys)

    def think(
        self,
        request: bot_pb2.MoveRequest,
        search: Search,
        stop: ai.StopToken,
        report: Callable[[engine_pb2.SuggestMoveResponse], None] | None,
    ) -> bot_pb2.SeatMove:
        """The move, when the budget is used up or the token is stopped."""
        if BOTS[search.bot].params is None:
            self._bot = self._bot or search.make_bot(1)
        result = self._engine.search(search, stop, interval_ms=self.interval_ms, report=report, bot=self._bot)
        return bot_pb2.SeatMove(request_id=request.request_id, action=result.action, result=result)

    def keep(self, answer: bot_pb2.SeatMove) -> None:
        """The answer is on its way, for `given` to find; its tree stays here."""
        self._tree.put(answer.result.search_token)
        answer.result.ClearField("search_token")
        self._answer = answer

    def ponder(self, stop: ai.StopToken) -> bool:
        """Search for a little while from what is known now, when another seat is to move. Returns whether to go on."""
        if self._pondering is None:
            observation = self._others_turn()
            if observation is None:
                return False
            bot = ai.make_bot(f"{self._template.bot or DEFAULT_BOT}{self._settings}", self.seed)
            assert isinstance(bot, IsmctsBot)
            params = replace(
                bot.params_for(observation),
                iterations=None, time_ms=PONDER_MS, memory_mb=PONDER_MB, threads=self.threads,
            )  # fmt: skip
            if isinstance(params, IsmctsParams):
                params = replace(params, early_stop=0)
            previous, keys = self._tree.takeover(observation)
            self._pondering = ai.Analysis(
                observation, params, self.seed, previous=previous, keys=keys, pondering=True
            )
            self._tree.put(self._engine.kept.add(self._pondering, Origin()))
        elif self._tree.analysis is not self._pondering:  # forgotten
            return False
        ended = self._pondering.run(PONDER_SLICE_MS, stop)
        return not ended or self._pondering.stop_reason == "stopped"

    def _others_turn(self) -> bvb_core.Observation | None:
        """What is known now, when another seat is to move."""
        try:
            observation = self._tracker.observation() if self._tracker else None
        except bvb_core.EventError:  # lines of the last action are still to come
            return None
        if observation is None or observation.current_player in (observation.seat, bvb_core.TERMINAL):
            return None
        return observation


class Seats:
    """Seats by the token with which they can be taken up again. All methods belong to the event loop's thread."""

    def __init__(self, limit: int = 10_000) -> None:
        self._limit = limit
        self._seats: OrderedDict[str, tuple[Seat, float]] = OrderedDict()  # with the time of the last use, oldest first

    def __len__(self) -> int:
        return len(self._seats)

    def add(self, seat: Seat) -> str:
        """The token of a seat, by which it is kept."""
        token = secrets.token_hex(16)
        self._seats[token] = (seat, time.monotonic())
        self._forget_old()
        return token

    def take_up(self, token: str) -> Seat:
        """The seat of a token. Raises a ServiceError when it is not known or no more."""
        self._forget_old()
        if token not in self._seats:
            raise ServiceError(
                grpc.StatusCode.NOT_FOUND, "start.resume_token: no seat is kept under this token", "UNKNOWN_TOKEN"
            )
        self.touch(token)
        return self._seats[token][0]

    def touch(self, token: str) -> None:
        """The seat is in use."""
        if token in self._seats:
            self._seats[token] = (self._seats[token][0], time.monotonic())
            self._seats.move_to_end(token)

    def _forget_old(self) -> None:
        oldest_kept = time.monotonic() - KEPT_S
        while self._seats:
            token, (_, used) = next(iter(self._seats.items()))
            if used >= oldest_kept and len(self._seats) <= self._limit:
                return
            del self._seats[token]
