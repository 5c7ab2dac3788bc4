"""The interceptor between gRPC and the services: whatever happens, the answer is fit for a stranger."""

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import grpc
from google.protobuf.message import DecodeError

from server import errors

log = logging.getLogger(__name__)

Request = TypeVar("Request")
Response = TypeVar("Response")


class Guard(grpc.aio.ServerInterceptor):
    """Turns ServiceErrors into their statuses, undecodable requests into INVALID_ARGUMENT, and anything
    unforeseen into INTERNAL, with the details in the log only."""

    async def intercept_service(
        self,
        continuation: Callable[
            [grpc.HandlerCallDetails], Awaitable["grpc.RpcMethodHandler[Request, Response] | None"]
        ],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> "grpc.RpcMethodHandler[Request, Response] | None":
        handler = await continuation(handler_call_details)
        if handler is None or handler.unary_unary is None:
            return handler
        answer: Any = handler.unary_unary  # a coroutine function here, which the type stubs do not know
        parse: Any = handler.request_deserializer

        def deserialize(data: bytes) -> Any:
            try:
                return parse(data)
            except DecodeError as error:
                return error  # raised here, it would reach the client as UNKNOWN

        async def guarded(request: Any, context: Any) -> Any:
            try:
                if isinstance(request, DecodeError):
                    raise errors.malformed()
                return await answer(request, context)
            except grpc.aio.AbortError:
                raise
            except errors.ServiceError as error:
                await error.abort(context)
            except asyncio.CancelledError:
                if context.cancelled():
                    raise
                await errors.shutting_down().abort(context)  # left alone, it would hang the client
            except Exception:
                incident = secrets.token_hex(4)
                log.exception("incident %s in %s", incident, handler_call_details.method)
                await errors.internal(incident).abort(context)

        return grpc.unary_unary_rpc_method_handler(
            guarded, request_deserializer=deserialize, response_serializer=handler.response_serializer
        )
