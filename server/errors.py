"""Errors that a caller of the service is meant to see."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import grpc
from google.protobuf import any_pb2, duration_pb2
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2
from google.rpc.error_details_pb2 import BadRequest
from grpc_status import rpc_status

DOMAIN = "bvb"
# Bytes of the longest description of a problem: errors travel in headers, and a request may quote itself in them.
MAX_PROBLEM = 500


class ServiceError(Exception):
    """An answer other than OK: a status code, a message for people, and google.rpc details for programs."""

    def __init__(
        self,
        code: grpc.StatusCode,
        message: str,
        reason: str,
        metadata: Mapping[str, str] | None = None,
        details: tuple[Message, ...] = (),
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        info = error_details_pb2.ErrorInfo(reason=reason, domain=DOMAIN, metadata=metadata or {})
        self.details: tuple[Message, ...] = (*details, info)

    async def abort(self, context: "grpc.aio.ServicerContext[object, object]") -> None:
        """End the call with this error."""
        packed = []
        for detail in self.details:
            packed.append(any_pb2.Any())
            packed[-1].Pack(detail)
        status = rpc_status.to_status(
            status_pb2.Status(code=self.code.value[0], message=self.message, details=packed)
        )
        await context.abort(status.code, status.details, status.trailing_metadata)


def invalid(field: str, problem: str, reason: str, others: tuple[str, ...] = ()) -> ServiceError:
    """The error for a request whose `field` has a `problem`, which may as well lie in `others`."""
    problem = problem.encode()[:MAX_PROBLEM].decode(errors="ignore")
    violations = [
        BadRequest.FieldViolation(field=name, description=problem) for name in (field, *others)
    ]
    return ServiceError(
        grpc.StatusCode.INVALID_ARGUMENT,
        f"{field}: {problem}",
        reason,
        {"field": field},
        (BadRequest(field_violations=violations),),
    )


@contextmanager
def below(path: str) -> Iterator[None]:
    """Errors that are raised inside of this name their fields below `path`, which ends with a dot."""
    try:
        yield
    except ServiceError as error:
        fields = [v.field for detail in error.details if isinstance(detail, BadRequest) for v in detail.field_violations]
        if not fields:
            raise
        field, *others = (path + name for name in fields)
        problem = error.message.partition(": ")[2]
        raise invalid(field, problem, error.reason, tuple(others)) from None


def malformed() -> ServiceError:
    return ServiceError(
        grpc.StatusCode.INVALID_ARGUMENT,
        "the request is not a valid protobuf message of the expected type",
        "MALFORMED_REQUEST",
    )


def overloaded(retry_after_s: float) -> ServiceError:
    delay = duration_pb2.Duration()
    delay.FromMilliseconds(max(1, round(1000 * retry_after_s)))
    return ServiceError(
        grpc.StatusCode.RESOURCE_EXHAUSTED,
        f"the server is busy; try again in {retry_after_s:.1f} s",
        "BUSY",
        details=(error_details_pb2.RetryInfo(retry_delay=delay),),
    )


def shutting_down() -> ServiceError:
    return ServiceError(grpc.StatusCode.UNAVAILABLE, "the server is shutting down", "SHUTTING_DOWN")


def internal(incident: str) -> ServiceError:
    return ServiceError(
        grpc.StatusCode.INTERNAL,
        f"internal error; the server's log says more under incident {incident}",
        "INTERNAL",
        {"incident": incident},
    )
