"""A blocking client of EngineService."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Protocol, Self, TypeVar

import grpc
from google.protobuf import json_format
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from bvb.v1 import engine_pb2, engine_pb2_grpc, observation_pb2

Request = TypeVar("Request")
Response = TypeVar("Response")

RETRIES = {
    "methodConfig": [
        {
            "name": [{"service": "bvb.v1.EngineService"}],
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
        """The error that a failed call (a grpc.RpcError that is a grpc.Call) describes."""
        assert isinstance(call, grpc.Call)
        violations: tuple[FieldViolation, ...] = ()
        reason = ""
        retry_after_s = None
        try:
            status = rpc_status.from_call(call)
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
        return cls(call.code(), call.details() or "", violations, reason, retry_after_s)


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
    if isinstance(position, str):
        position = json.loads(position)
    fields: Any = position if isinstance(position, Mapping) else getattr(position, "to_dict", lambda: None)()
    if not isinstance(fields, Mapping):
        raise ValueError(f"an observation is a JSON object, not {type(position).__name__}")
    try:
        return json_format.ParseDict(dict(fields), observation_pb2.Observation())
    except json_format.ParseError as error:
        raise ValueError(f"not an observation: {error}") from None


def _position(observation: Position, events: Iterable[str] | None) -> dict[str, Any]:
    """The position fields of a request."""
    message = observation_message(observation)
    if events is None:
        return {"observation": message}
    return {"history": engine_pb2.History(initial_view=message, events=events)}


class Client:
    """A connection to a server, made on the first call. Threads may share it.

        with bvb.Client("localhost:50051") as client:
            answer = client.suggest_move(observation, time_ms=500)
            print(answer.action.notation, answer.win_probability)

    Calls raise `bvb.Error`, and ValueError for an observation that has not the form of one.
    A server that cannot be reached is tried four times within about a second; nothing else is retried.
    `timeout_s`, the deadline of each call in seconds, can be overridden in every call. None is no deadline.
    """

    def __init__(self, address: str, *, timeout_s: float | None = None) -> None:
        self._timeout_s = timeout_s
        options: list[tuple[str, Any]] = [
            ("grpc.service_config", json.dumps(RETRIES)),
            # A retry needs a connection that is tried again as soon.
            ("grpc.initial_reconnect_backoff_ms", 100),
            ("grpc.min_reconnect_backoff_ms", 100),
            ("grpc.max_reconnect_backoff_ms", 1000),
        ]
        if address.startswith(("localhost:", "127.", "[::1]:")):
            options.append(("grpc.enable_http_proxy", 0))
        self._channel = grpc.insecure_channel(address, options)
        self._stub = engine_pb2_grpc.EngineServiceStub(self._channel)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection. Running calls are cancelled."""
        self._channel.close()

    def suggest_move(
        self,
        observation: Position,
        *,
        iterations: int = 0,
        time_ms: int = 0,
        seed: int | None = None,
        threads: int = 1,
        multi_pv: int = 0,
        events: Iterable[str] | None = None,
        timeout_s: float | None = None,
    ) -> engine_pb2.SuggestMoveResponse:
        """The best move for the seat to move.

        With `events`, the lines that the seat was shown since, `observation` is the seat's view at an earlier moment.

        At least one of `iterations` (simulated games) and `time_ms` (milliseconds) is needed.
        `seed` is 0 to 2**32 - 1, None for a random one. `multi_pv` limits the alternatives, 0 for all.
        """
        request = engine_pb2.SuggestMoveRequest(
            **_position(observation, events),
            budget=engine_pb2.Budget(iterations=iterations, time_ms=time_ms),
            seed=seed,
            threads=threads,
            multi_pv=multi_pv,
        )
        return self._call(self._stub.SuggestMove, request, timeout_s)

    def list_legal_moves(
        self, observation: Position, *, events: Iterable[str] | None = None, timeout_s: float | None = None
    ) -> engine_pb2.ListLegalMovesResponse:
        """All legal moves of the seat to move, sorted by notation; `events` as in suggest_move."""
        request = engine_pb2.ListLegalMovesRequest(**_position(observation, events))
        return self._call(self._stub.ListLegalMoves, request, timeout_s)

    def engine_info(self, *, timeout_s: float | None = None) -> engine_pb2.GetEngineInfoResponse:
        """The server's version, decks and limits."""
        return self._call(self._stub.GetEngineInfo, engine_pb2.GetEngineInfoRequest(), timeout_s)

    def _call(
        self,
        method: "grpc.UnaryUnaryMultiCallable[Request, Response]",
        request: Request,
        timeout_s: float | None,
    ) -> Response:
        try:
            return method(request, timeout=self._timeout_s if timeout_s is None else timeout_s)
        except grpc.RpcError as error:
            raise Error.from_call(error) from None
