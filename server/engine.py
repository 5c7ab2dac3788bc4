"""Answers to the requests of EngineService, without a network."""

import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import cast

import grpc

import ai
import bvb_core
from ai.bots import BOTS, IsmctsBot
from ai.clock import time_for_move
from ai.ismcts import Observers
from ai.params import IsmctsParams, SearchParams, is_ismcts, settings_of
from bvb.v1 import engine_pb2, observation_pb2
from bvb_core.bears.follows import line_between
from server import convert
from server.errors import ServiceError, below, invalid

INT32_MAX = 2**31 - 1
DEFAULT_BOT = "ismcts"
# Of an analysis in milliseconds: between partial results, and until the first one.
INTERVAL = (20, 60_000)
DEFAULT_INTERVAL_MS = 250
FIRST_INTERVAL_MS = 20
MAX_QUERY_ID = 100
# What a budget of time leaves for the answer to reach its caller, in milliseconds and as a share of it.
WAY_BACK_MS, WAY_BACK_SHARE = 1.0, 0.015
# Views that are not read again when they come again.
KEPT_VIEWS = 64
# How long a search is kept, in seconds.
KEPT_S = 600.0
# How long to look for what happened between two positions, in seconds.
LINE_S = 0.005
NOTHING_TAKEN_OVER = "nothing was taken over from the earlier search, which had not looked ahead to this position"
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
    bot: str = DEFAULT_BOT
    settings: str = ""
    """As in the name of a bot: ":key=value" for each."""
    only: tuple[bvb_core.Action, ...] | None = None
    """The moves to look at; None: all."""
    origin: "Origin | None" = None
    """Where the position comes from, when the search is to be kept."""
    previous: ai.Analysis | None = None
    """What to go on from, and what was shown since, by event keys."""
    keys: tuple[int, ...] = ()
    goes_on: bool = False
    """Whether the request wants to go on from an earlier search."""

    @property
    def observers(self) -> int:
        """See Analysis.observers; for bots that have one."""
        bot = self.make_bot(1)
        params = bot.params_for(self.observation) if isinstance(bot, IsmctsBot) else None
        return int(params.observers if isinstance(params, IsmctsParams) else Observers.ONE_TREE)

    def make_bot(self, time_ms: float) -> ai.Bot:
        """The bot, with its budget of iterations and this one of time."""
        spec = self.bot + self.settings
        params = BOTS[self.bot].params
        if params is not None:
            spec += f":time_ms={time_ms}"
            if is_ismcts(params):
                spec += f":threads={self.threads}"
            if self.iterations:
                spec += f":iterations={self.iterations}"
        return ai.make_bot(spec, seed=self.seed)


@dataclass(frozen=True)
class Origin:
    """The history that a position was given by; empty for a position that was given as it is."""

    initial_view: bytes = b""
    events: tuple[str, ...] = ()


@dataclass(frozen=True)
class Analysis:
    """A valid AnalyzeRequest."""

    search: Search
    interval_ms: int
    query_id: str
    """Empty when the caller gave none."""


class KeptSearches:
    """Searches that have ended, by names that cannot be guessed. Thread-safe; bounded by time, number and memory: those that
    nobody has asked for longest are forgotten."""

    def __init__(self, limit: int = 256, limit_bytes: int = 512 * 2**20) -> None:
        self._limit, self._limit_bytes = limit, limit_bytes
        self._lock = threading.Lock()
        # With the time of the last use, oldest first.
        self._kept: OrderedDict[str, tuple[ai.Analysis, Origin, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def add(self, analysis: ai.Analysis, origin: Origin) -> str:
        """The name of a search that is kept from now on."""
        token = secrets.token_hex(16)
        with self._lock:
            self._kept[token] = (analysis, origin, time.monotonic())
            self._forget_old()
        return token

    def get(self, token: str) -> tuple[ai.Analysis, Origin] | None:
        """The search with a name, and where its position came from; None when it is not kept."""
        with self._lock:
            self._forget_old()
            kept = self._kept.get(token)
            if kept is None:
                return None
            self._kept[token] = (*kept[:2], time.monotonic())
            self._kept.move_to_end(token)
        return kept[:2]

    def discard(self, token: str) -> None:
        """Keep a search no longer."""
        with self._lock:
            self._kept.pop(token, None)

    def _forget_old(self) -> None:
        oldest_kept = time.monotonic() - KEPT_S
        size = sum(analysis.size_bytes for analysis, _, _ in self._kept.values())
        while self._kept:
            token, (analysis, _, used) = next(iter(self._kept.items()))
            if used >= oldest_kept and len(self._kept) <= self._limit and size <= self._limit_bytes:
                return
            size -= analysis.size_bytes
            del self._kept[token]


class Engine:
    """Thread-safe. `decks` by id, the standard one among them."""

    def __init__(self, decks: Mapping[str, bvb_core.Deck], limits: Limits) -> None:
        self.decks = decks
        self.limits = limits
        self.kept = KeptSearches()
        # Front-ends ask about one view several times: for its legal moves, a suggestion, an analysis.
        self._view = lru_cache(KEPT_VIEWS)(self._read_view)

    def _read_view(self, message: bytes) -> bvb_core.Observation:
        return convert.observation_from_proto(observation_pb2.Observation.FromString(message), self.decks)

    def legal_moves(self, request: engine_pb2.ListLegalMovesRequest) -> engine_pb2.ListLegalMovesResponse:
        observation = self._position(request)
        return engine_pb2.ListLegalMovesResponse(
            actions=[
                convert.action_to_proto(action) for action in sorted(observation.legal_actions(), key=str)
            ]
        )

    def info(self) -> engine_pb2.GetEngineInfoResponse:
        names = sorted(BOTS, key=lambda name: name != DEFAULT_BOT)
        return engine_pb2.GetEngineInfoResponse(
            version=bvb_core.__version__,
            decks=[convert.deck_to_proto(deck) for deck in self.decks.values()],
            limits=self.limits.to_proto(),
            min_players=bvb_core.MIN_PLAYERS,
            max_players=bvb_core.MAX_PLAYERS,
            bots=[convert.bot_to_proto(name, BOTS[name]) for name in names],
        )

    def check(self, request: engine_pb2.SuggestMoveRequest) -> Search:
        """The search that a request asks for; a ServiceError names what is wrong with it."""
        self.check_bot(request)
        search = self.check_search(self._position(request), request)
        if not request.keep_search and not request.search_token:
            return search
        for field in ("keep_search", "search_token"):
            if getattr(request, field) and (not is_ismcts(BOTS[search.bot].params) or search.only is not None):
                raise invalid(field, "is for ismcts and vanilla, and for all moves", "NOT_SUPPORTED")
        if request.keep_search:
            search = replace(search, origin=_origin(request))
        if request.search_token:
            previous, keys = self._go_on(search, request)
            search = replace(search, previous=previous, keys=keys, goes_on=True)
        return search

    def check_bot(self, request: engine_pb2.SuggestMoveRequest) -> None:
        """Raises a ServiceError naming what is wrong with a request, apart from its position and budget."""
        bot = request.bot or DEFAULT_BOT
        if bot not in BOTS:
            raise invalid("bot", f"there is no bot {bot!r:.60}; there are {', '.join(BOTS)}", "UNKNOWN_BOT")
        self._check_numbers(request)
        settings_words(bot, request)

    def check_search(self, observation: bvb_core.Observation, request: engine_pb2.SuggestMoveRequest) -> Search:
        """The search of a position, in which the observer is to move, that a request asks for, which check_bot has accepted.
        Its own position is not looked at."""
        bot = request.bot or DEFAULT_BOT
        time_ms = request.budget.time_ms
        if request.budget.HasField("clock"):
            clock = request.budget.clock
            share = max(1, int(time_for_move(observation, clock.remaining_ms, clock.increment_ms)))
            time_ms = min(share, time_ms) if time_ms else share
        if BOTS[bot].params is not None and not request.budget.iterations and not time_ms:
            raise invalid(
                "budget", "set iterations, time_ms, clock or several to say how long to search", "NO_BUDGET"
            )
        return Search(
            observation,
            request.budget.iterations,
            time_ms,
            request.seed if request.HasField("seed") else secrets.randbits(32),
            request.threads or 1,
            request.multi_pv,
            bot,
            settings_words(bot, request),
            _only(bot, observation, request),
        )

    def check_analysis(self, request: engine_pb2.AnalyzeRequest) -> Analysis:
        """The analysis that a request asks for; a ServiceError names what is wrong with it."""
        low, high = INTERVAL
        if request.interval_ms and not low <= request.interval_ms <= high:
            raise invalid("interval_ms", f"must be {low} to {high}, not {request.interval_ms}", "OUT_OF_RANGE")
        if len(request.query_id) > MAX_QUERY_ID:
            raise invalid("query_id", f"is longer than {MAX_QUERY_ID} characters", "OUT_OF_RANGE")
        if not request.HasField("search"):
            raise invalid("search", "is missing", "NO_OBSERVATION")
        with below("search."):
            search = self.check(request.search)
        return Analysis(search, request.interval_ms or DEFAULT_INTERVAL_MS, request.query_id)

    def search(
        self,
        search: Search,
        stop: ai.StopToken,
        deadline: float | None = None,
        interval_ms: int = 0,
        report: Callable[[engine_pb2.SuggestMoveResponse], None] | None = None,
        bot: ai.Bot | None = None,
    ) -> engine_pb2.SuggestMoveResponse:
        """The answer when the budget is used up, the token is stopped, or just before `deadline`,
        a time of time.monotonic().

        On the way, `report` gets the result so far about every `interval_ms`, from bots that can tell it. `bot`: one that
        has played before, in place of a new one.
        """
        time_ms = min(search.time_ms or self.limits.time_ms, self.limits.time_ms)
        if deadline is not None:
            left_ms = int(1000 * (deadline - time.monotonic()))
            reserve_ms = min(max(50, left_ms // 10), 1000)  # for the way back
            time_ms = max(1, min(time_ms, left_ms - reserve_ms))
        # Threads that have slept for long wake slowly: the longer a search, the longer the way back.
        bot = bot or search.make_bot(max(1.0, time_ms - WAY_BACK_MS - WAY_BACK_SHARE * time_ms))
        multi_pv = search.multi_pv or None
        if isinstance(bot, IsmctsBot):
            analysis = bot.analysis(search.observation, search.only, search.previous, search.keys)
            ended = analysis.run(FIRST_INTERVAL_MS if report else None, stop)
            while not ended:
                if report is not None:
                    partial = convert.suggestion_to_proto(analysis.report(multi_pv), search.seed)
                    partial.ClearField("stop_reason")
                    report(partial)
                ended = analysis.run(interval_ms, stop)
            suggestion = analysis.report(multi_pv)
        else:
            suggestion = bot.suggest(search.observation, multi_pv=multi_pv, stop=stop)
        response = convert.suggestion_to_proto(suggestion, search.seed)
        if search.origin is not None and isinstance(bot, IsmctsBot):
            response.search_token = self.kept.add(analysis, search.origin)
        if search.goes_on and not response.adopted:
            response.warnings.append(NOTHING_TAKEN_OVER)
        if response.stop_reason == engine_pb2.STOP_REASON_TIME and time_ms != search.time_ms:
            response.warnings.append(
                f"ended after {time_ms} ms, before the budget was used up: "
                "by the deadline of the call or the limit of the server"
            )
        return response

    def _go_on(
        self, search: Search, request: engine_pb2.SuggestMoveRequest
    ) -> tuple[ai.Analysis | None, tuple[int, ...]]:
        """The search to go on from, None when it is of no use here, and what was shown since. Raises a ServiceError when
        the position does not follow, or it was a search of another kind."""
        observation = search.observation
        kept = self.kept.get(request.search_token)
        if kept is None:
            raise ServiceError(
                grpc.StatusCode.NOT_FOUND, "search_token: no search is kept under this name", "UNKNOWN_TOKEN"
            )
        analysis, then = kept
        if analysis.observers != search.observers:
            raise invalid("search_token", "was given by another bot, or with another setting of observers", "OTHER_SEARCH")
        now = _origin(request)
        n = len(then.events)
        if observation == analysis.observation:
            return analysis, ()
        if then.initial_view and now.initial_view == then.initial_view:
            if now.events[:n] != then.events:
                raise not_continued()
            keys = [key for lines, key in convert.follow_history(request.history, self.decks)[1] if lines > n]
            return takeover(analysis, observation, keys)
        if not observation.may_follow(position_of(analysis)):
            raise not_continued()
        return takeover(analysis, observation)

    def _check_numbers(self, request: engine_pb2.SuggestMoveRequest) -> None:
        budget = request.budget
        for field, value, limit in (
            ("budget.iterations", budget.iterations, self.limits.iterations),
            ("budget.time_ms", budget.time_ms, self.limits.time_ms),
            ("budget.clock.remaining_ms", budget.clock.remaining_ms, INT32_MAX),
            ("budget.clock.increment_ms", budget.clock.increment_ms, INT32_MAX),
            ("threads", request.threads, self.limits.threads),
            ("multi_pv", request.multi_pv, INT32_MAX),
        ):
            if value < 0:
                raise invalid(field, f"{value} is negative", "OUT_OF_RANGE")
            if value > limit:
                raise invalid(field, f"{value} is more than the limit of {limit}", "OUT_OF_RANGE")
        if budget.HasField("clock") and not budget.clock.remaining_ms:
            raise invalid("budget.clock.remaining_ms", "must be 1 or more", "OUT_OF_RANGE")

    def _position(
        self, request: engine_pb2.SuggestMoveRequest | engine_pb2.ListLegalMovesRequest
    ) -> bvb_core.Observation:
        """The position of a request, in which the observer is to move."""
        given = request.HasField("observation"), request.HasField("history")
        if given == (False, False):
            raise invalid("observation", "is missing, and so is history", "NO_OBSERVATION")
        if given == (True, True):
            raise invalid(
                "history",
                "give either observation or history, not both",
                "TWO_POSITIONS",
                ("observation",),
            )
        if not request.HasField("history"):
            _compare_seats(request.observation)
            observation = self._view(request.observation.SerializeToString(deterministic=True))
            require_turn(observation)
        else:
            observation = convert.observation_from_history(request.history, self.decks)
            require_turn(observation, "history.initial_view.", "history.events" if request.history.events else "")
        return observation


def position_of(analysis: ai.Analysis) -> bvb_core.Observation:
    """What was searched: here it is of this game."""
    return cast(bvb_core.Observation, analysis.observation)


def takeover(
    analysis: ai.Analysis, observation: bvb_core.Observation, keys: Sequence[int | None] | None = None
) -> tuple[ai.Analysis | None, tuple[int, ...]]:
    """What a search of a later position of the same seat goes on from, None when it is of no use, and what was shown since.

    `keys` are the event keys since, None among them where the seat could not tell whether a Wild Provoke was of use; without
    any, they are looked for.
    """
    if observation.game is not analysis.observation.game:  # its rules had been forgotten meanwhile
        return None, ()
    if observation == analysis.observation:
        return analysis, ()
    if keys is None:
        keys = line_between(position_of(analysis), observation, LINE_S)
    if keys is None or None in keys:
        return None, ()
    return analysis, tuple(key for key in keys if key is not None)


def not_continued() -> ServiceError:
    return invalid("search_token", "the position does not continue that of the earlier search", "NOT_CONTINUED")


def require_turn(observation: bvb_core.Observation, path: str = "", later: str = "") -> None:
    """Raises a ServiceError that names a field of the view below `path`, or the field with what came `later`."""
    if observation.current_player == bvb_core.TERMINAL:
        raise invalid(later or f"{path}current_player", "the game is over, there is no move", "GAME_OVER")
    if observation.seat is None:
        raise invalid(
            f"{path}seat", f"is missing; to move is seat {observation.current_player}, whose view is needed", "WRONG_SEAT"
        )
    if observation.seat != observation.current_player:
        raise invalid(
            later or f"{path}seat",
            f"seat {observation.seat} is not to move, seat {observation.current_player} is",
            "WRONG_SEAT",
        )


def _compare_seats(message: observation_pb2.Observation) -> None:
    """Raises a ServiceError for the view of a seat that is not to move. With a wrong seat a view contradicts itself in many
    places, none of which would tell what is wrong."""
    if message.HasField("seat") and message.HasField("current_player") and message.seat != message.current_player:
        raise invalid("seat", f"seat {message.seat} is not to move, seat {message.current_player} is", "WRONG_SEAT")


def _origin(request: engine_pb2.SuggestMoveRequest) -> Origin:
    if not request.HasField("history"):
        return Origin()
    view = request.history.initial_view.SerializeToString(deterministic=True)
    return Origin(view, tuple(request.history.events))


def settings_words(bot: str, request: engine_pb2.SuggestMoveRequest) -> str:
    """The settings of a request as in the name of a bot. What is left of a clock is worth more than a sure move."""
    params = BOTS[bot].params
    known = {} if params is None else {setting.name: setting for setting in settings_of(params)}
    words: dict[str, str] = {}
    for i, given in enumerate(request.settings):
        setting = known.get(given.name)
        if setting is None:
            there = f"there are {', '.join(known)}" if known else "it has none"
            raise invalid(f"settings[{i}].name", f"{bot} has no setting {given.name!r:.60}; {there}", "UNKNOWN_SETTING")
        if given.name in words:
            raise invalid(f"settings[{i}].name", f"{given.name} stands twice", "UNKNOWN_SETTING")
        field = "int_value" if setting.whole else "double_value"
        if given.WhichOneof("value") != field:
            raise invalid(f"settings[{i}].{field}", f"is missing; it is the type of {given.name}", "WRONG_TYPE")
        value = getattr(given, field)
        if not setting.low <= value <= setting.high:
            raise invalid(f"settings[{i}].{field}", f"must be {setting.low} to {setting.high}, not {value}", "OUT_OF_RANGE")
        words[given.name] = f":{given.name}={value!r}"
    if request.budget.HasField("clock") and "early_stop" in known and "early_stop" not in words:
        words["early_stop"] = ":early_stop=2"
    return "".join(words.values())


def _only(
    bot: str, observation: bvb_core.Observation, request: engine_pb2.SuggestMoveRequest
) -> tuple[bvb_core.Action, ...] | None:
    """The moves that a request lets the bot look at; None: all."""
    if not request.allow_moves and not request.avoid_moves:
        return None
    legal = {str(action): action for action in observation.legal_actions()}
    for name, moves in (("allow_moves", request.allow_moves), ("avoid_moves", request.avoid_moves)):
        if moves and not is_ismcts(BOTS[bot].params):
            raise invalid(name, f"{bot} cannot be told which moves to look at", "NOT_SUPPORTED")
        for i, move in enumerate(moves):
            if move not in legal:
                raise invalid(f"{name}[{i}]", observation.any_state().why_illegal(move), "ILLEGAL_MOVE")
    left = set(request.allow_moves or legal).difference(request.avoid_moves)
    if not left:
        raise invalid("avoid_moves", "leaves no move to look at", "NO_MOVE_LEFT")
    return tuple(action for text, action in legal.items() if text in left)
