"""What the blocking and the asyncio client share: errors, options, and requests from Python values."""

import functools
import inspect
import json
import re
import secrets
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, ParamSpec, Protocol, TypedDict, TypeVar

import grpc
from google.protobuf import json_format
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from bvb.v1 import bot_pb2, engine_pb2, observation_pb2

RETRIES = {
    "methodConfig": [
        {
            "name": [{"service": "bvb.v1.EngineService"}, {"service": "bvb.v1.BotService"}],
            "retryPolicy": {
                "maxAttempts": 4,
                "initialBackoff": "0.1s",
                "maxBackoff": "1s",
                "backoffMultiplier": 2,
                "retryableStatusCodes": ["UNAVAILABLE"],
            },
        }
    ]
}


class FieldViolation(NamedTuple):
    """What is wrong with one field of a request, such as `players[1].hand_count` or `budget.time_ms`."""

    field: str
    description: str


class Failure:
    """A failed call in the form that grpc_status reads, be it of grpc or of grpc.aio, where these are pairs of metadata."""

    def __init__(self, call: Any) -> None:
        self.code = call.code
        self.details = call.details
        pairs = tuple(tuple(pair) for pair in call.trailing_metadata() or ())
        self.trailing_metadata = lambda: tuple(Pair(*pair) for pair in pairs)


class Pair(NamedTuple):
    """One entry of metadata."""

    key: str
    value: str | bytes


class Error(Exception):
    """A call that the server did not answer with OK."""

    def __init__(
        self,
        code: grpc.StatusCode,
        message: str,
        violations: tuple[FieldViolation, ...] = (),
        reason: str = "",
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(f"{code.name}: {message}")
        #: Status of the call.
        self.code = code
        #: What went wrong, for people.
        self.message = message
        #: Fields of the request that are wrong, when the code is INVALID_ARGUMENT.
        self.violations = violations
        #: Stable name of the cause, such as "NO_BUDGET" or "BUSY"; empty when the server named none.
        self.reason = reason
        #: Seconds after which a busy server asks to be tried again, or None.
        self.retry_after_s = retry_after_s

    @classmethod
    def from_call(cls, call: grpc.RpcError) -> "Error":
        """The error that a failed call (a grpc.RpcError that is a grpc.Call, or of grpc.aio) describes."""
        failed: Any = call
        violations: tuple[FieldViolation, ...] = ()
        reason = ""
        retry_after_s = None
        try:
            readable: Any = Failure(failed)
            status = rpc_status.from_call(readable)
        except ValueError:  # the details contradict the status
            status = None
        for detail in status.details if status else ():
            request = error_details_pb2.BadRequest()
            info = error_details_pb2.ErrorInfo()
            retry = error_details_pb2.RetryInfo()
            if detail.Unpack(request):
                violations = tuple(FieldViolation(v.field, v.description) for v in request.field_violations)
            elif detail.Unpack(info):
                reason = info.reason
            elif detail.Unpack(retry):
                retry_after_s = retry.retry_delay.ToTimedelta().total_seconds()
        return cls(failed.code(), failed.details() or "", violations, reason, retry_after_s)


class HasToDict(Protocol):
    """A `bvb_core.Observation`, or anything else whose `to_dict` gives an observation's JSON object."""

    def to_dict(self) -> Mapping[str, Any]: ...


Position = observation_pb2.Observation | Mapping[str, Any] | str | HasToDict


def observation_message(position: Position) -> observation_pb2.Observation:
    """The message of a position given as message, JSON text, JSON object, or core Observation.

    ValueError when the text or object has no such form.
    """
    if isinstance(position, observation_pb2.Observation):
        return position
    fields: Any = position
    if isinstance(position, str):
        fields = json_value(position)
    elif not isinstance(position, Mapping):
        fields = getattr(position, "to_dict", lambda: None)()
    if not isinstance(fields, Mapping):
        raise ValueError(f"an observation is a JSON object, not {type(fields if fields is not None else position).__name__}")
    if "deal" in fields:
        raise ValueError("this is the record of a game, not an observation; `bvb position FILE --after N` makes one of it")
    try:
        return json_format.ParseDict(dict(fields), observation_pb2.Observation())
    except json_format.ParseError as error:
        raise ValueError(f"not an observation: {field_names(str(error))}") from None


def field_names(problem: str) -> str:
    """A complaint of json_format about a field that is not there, with the names that the .proto files have."""
    unknown = re.search(r'Message type "([\w.]+)" has no field named "(.*)" at "Observation\.?(.*)"', problem)
    if unknown is None:
        return problem
    message, field, path = unknown.groups()
    there = observation_pb2.DESCRIPTOR.pool.FindMessageTypeByName(message).fields_by_name
    return f"{path}{': ' if path else ''}there is no field {field!r}; there are {', '.join(there)}"


def json_value(text: str) -> Any:
    """The first JSON value of a text; there must be no other one, unless it belongs to a file of records."""
    text = text.strip()
    try:
        value, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not JSON: {error}") from None
    if end != len(text) and not (isinstance(value, dict) and "deal" in value):
        raise ValueError(f"not JSON: there is more after its end, at character {end}")
    return value


def position_fields(observation: Position, events: Iterable[str] | None) -> dict[str, Any]:
    """The position fields of a request."""
    message = observation_message(observation)
    if events is None:
        return {"observation": message}
    return {"history": engine_pb2.History(initial_view=message, events=events)}


Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def takes(options: type) -> Callable[[Callable[Parameters, Result]], Callable[Parameters, Result]]:
    """A method whose keyword arguments are its own and those of a TypedDict. It raises TypeError for others, and names these."""

    def checked(method: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
        parameters = inspect.signature(method).parameters.values()
        names = [*options.__annotations__, *(p.name for p in parameters if p.kind is p.KEYWORD_ONLY)]
        known = {*names, *(p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD)}

        @functools.wraps(method)
        def call(*args: Parameters.args, **given: Parameters.kwargs) -> Result:
            for name in given:
                if name not in known:
                    raise TypeError(f"{method.__name__}() has no option {name!r}; there are {', '.join(names)}")
            return method(*args, **given)

        return call

    return checked


class CallOptions:
    """What every call of one client carries: its name, and a deadline in seconds unless the call has its own."""

    def __init__(self, timeout_s: float | None) -> None:
        self._timeout_s = timeout_s
        self._caller = (("bvb-caller", new_name()),)

    def __call__(self, timeout_s: float | None = None) -> dict[str, Any]:
        return {"timeout": self._timeout_s if timeout_s is None else timeout_s, "metadata": self._caller}


def new_name() -> str:
    """A name that nobody else uses."""
    return secrets.token_hex(16)


def channel_options(address: str) -> list[tuple[str, Any]]:
    options: list[tuple[str, Any]] = [
        ("grpc.service_config", json.dumps(RETRIES)),
        # A retry needs a connection that is tried again as soon.
        ("grpc.initial_reconnect_backoff_ms", 100),
        ("grpc.min_reconnect_backoff_ms", 100),
        ("grpc.max_reconnect_backoff_ms", 1000),
    ]
    if address.startswith(("localhost:", "127.", "[::1]:")):
        options.append(("grpc.enable_http_proxy", 0))
    return options


def budget_message(
    iterations: int = 0, time_ms: int = 0, clock_ms: int | None = None, increment_ms: int = 0
) -> engine_pb2.Budget:
    """A budget; `clock_ms` is what is left on the clock of the seat, None without a clock."""
    clock = None if clock_ms is None else engine_pb2.Clock(remaining_ms=clock_ms, increment_ms=increment_ms)
    return engine_pb2.Budget(iterations=iterations, time_ms=time_ms, clock=clock)


def setting_messages(settings: Mapping[str, int | float] | None) -> list[engine_pb2.Setting]:
    """Settings of a bot by name; whole numbers in Python are whole numbers on the wire."""
    return [
        engine_pb2.Setting(name=name, int_value=value)
        if isinstance(value, int)
        else engine_pb2.Setting(name=name, double_value=value)
        for name, value in (settings or {}).items()
    ]


def search_request(
    observation: Position,
    *,
    iterations: int = 0,
    time_ms: int = 0,
    clock_ms: int | None = None,
    increment_ms: int = 0,
    seed: int | None = None,
    threads: int = 1,
    multi_pv: int = 0,
    events: Iterable[str] | None = None,
    allow_moves: Iterable[str] = (),
    avoid_moves: Iterable[str] = (),
    bot: str = "",
    settings: Mapping[str, int | float] | None = None,
    keep_search: bool = False,
    search_token: str = "",
) -> engine_pb2.SuggestMoveRequest:
    """See Client.suggest_move."""
    return engine_pb2.SuggestMoveRequest(
        **position_fields(observation, events),
        budget=budget_message(iterations, time_ms, clock_ms, increment_ms),
        seed=seed,
        threads=threads,
        multi_pv=multi_pv,
        allow_moves=allow_moves,
        avoid_moves=avoid_moves,
        bot=bot,
        settings=setting_messages(settings),
        keep_search=keep_search,
        search_token=search_token,
    )


def game_request(
    record: str | Mapping[str, Any],
    *,
    iterations: int = 0,
    time_ms: int = 0,
    seed: int | None = None,
    threads: int = 1,
    multi_pv: int = 1,
    bot: str = "",
    settings: Mapping[str, int | float] | None = None,
    seats: Iterable[int] = (),
    first: int = 0,
    count: int = 0,
    marks: int = 0,
) -> engine_pb2.AnalyzeGameRequest:
    """See Client.analyze_game."""
    return engine_pb2.AnalyzeGameRequest(
        record=record if isinstance(record, str) else json.dumps(record),
        budget=budget_message(iterations, time_ms),
        seed=seed,
        threads=threads,
        multi_pv=multi_pv,
        bot=bot,
        settings=setting_messages(settings),
        seats=seats,
        first=first,
        count=count,
        marks=marks,
    )


class GameOptions(TypedDict, total=False):
    """Keyword arguments of analyze_game, besides the record; the first ones as in SearchOptions, for every move."""

    iterations: int
    time_ms: int
    seed: int | None
    threads: int
    multi_pv: int
    bot: str
    settings: Mapping[str, int | float] | None
    seats: Iterable[int]
    """Whose moves; empty: all."""
    first: int
    """The first action to review, from 0."""
    count: int
    """Number of actions to review; 0: to the end."""
    marks: int
    """Number of moves to mark in the summary; 0: the server's default."""


def start_message(
    initial_view: Position | None = None,
    *,
    iterations: int = 0,
    time_ms: int = 0,
    seed: int | None = None,
    threads: int = 1,
    multi_pv: int = 0,
    bot: str = "",
    settings: Mapping[str, int | float] | None = None,
    min_think_ms: int = 0,
    move_overhead_ms: int = 0,
    thinking_interval_ms: int = 0,
    keep_tree: bool | None = None,
    ponder: bool = False,
) -> bot_pb2.SeatStart:
    """See SeatOptions."""
    return bot_pb2.SeatStart(
        initial_view=None if initial_view is None else observation_message(initial_view),
        budget=budget_message(iterations, time_ms) if iterations or time_ms else None,
        seed=seed,
        threads=threads,
        multi_pv=multi_pv,
        bot=bot,
        settings=setting_messages(settings),
        min_think_ms=min_think_ms,
        move_overhead_ms=move_overhead_ms,
        thinking_interval_ms=thinking_interval_ms,
        keep_tree=keep_tree,
        ponder=ponder,
    )


class SeatOptions(TypedDict, total=False):
    """Keyword arguments of play_seat, besides the initial view; the first ones as in SearchOptions."""

    iterations: int
    time_ms: int
    seed: int | None
    threads: int
    multi_pv: int
    bot: str
    settings: Mapping[str, int | float] | None
    min_think_ms: int
    """Milliseconds that a move takes at least."""
    move_overhead_ms: int
    """Milliseconds that are taken off budgets of time."""
    thinking_interval_ms: int
    """Milliseconds between partial results; 0: none."""
    keep_tree: bool | None
    """Whether searches go on from each other's trees; None: with budgets of time, not with iterations alone."""
    ponder: bool
    """Search on while others are to move."""


class SearchOptions(TypedDict, total=False):
    """Keyword arguments of suggest_move and analyze, besides the position and the deadline."""

    iterations: int
    """Simulated games. This, `time_ms`, `clock_ms` or several are needed by bots that search."""
    time_ms: int
    """Milliseconds."""
    clock_ms: int | None
    """Milliseconds left on the clock of the seat for the rest of the game."""
    increment_ms: int
    """Milliseconds that the clock gains after every move."""
    seed: int | None
    """0 to 2**32 - 1; None: a random one, which the answer names."""
    threads: int
    """1 when left out."""
    multi_pv: int
    """Number of alternatives; 0: all."""
    events: Iterable[str] | None
    """The lines that the seat was shown since the position, which is then its view at an earlier moment."""
    allow_moves: Iterable[str]
    """Moves to look at, in notation; empty: all."""
    avoid_moves: Iterable[str]
    """Moves not to look at."""
    bot: str
    """One of those that engine_info lists; empty: the default one."""
    settings: Mapping[str, int | float] | None
    """Settings of the bot by name, such as {"exploration": 0.9}, in the types that engine_info lists."""
    keep_search: bool
    """Have the server keep the search; the answer's search_token names it."""
    search_token: str
    """Go on from this kept search; the position is the same, or continues it by `events`."""
