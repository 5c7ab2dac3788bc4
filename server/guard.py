"""The interceptor between gRPC and the services: whatever happens, the answer is fit for a stranger."""

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Any, TypeVar

import grpc
from google.protobuf.message import DecodeError

from server import errors

log = logging.getLogger(__name__)

Request = TypeVar("Request")
Response = TypeVar("Response")


class Guard(grpc.aio.ServerInterceptor):
    """Turns ServiceErrors into their statuses, undecodable requests into INVALID_ARGUMENT, and anything
    unforeseen into INTERNAL, with the details in the log only. Methods that answer a stream are async generators."""

    def __init__(self) -> None:
        self._guarded: dict[str, grpc.RpcMethodHandler[Any, Any]] = {}  # by method

    async def intercept_service(
        self,
        continuation: Callable[
            [grpc.HandlerCallDetails], Awaitable["grpc.RpcMethodHandler[Request, Response] | None"]
        ],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> "grpc.RpcMethodHandler[Request, Response] | None":
        method = handler_call_details.method
        if method in self._guarded:
            return self._guarded[method]
        handler = await continuation(handler_call_details)
        if handler is None:
            return handler
        # Coroutine functions and async generators here, which the type stubs do not know.
        answer: Any = handler.unary_unary or handler.unary_stream or handler.stream_stream
        parse: Any = handler.request_deserializer
        if handler.response_streaming and not is_ours(answer):
            return handler

        def deserialize(data: bytes) -> Any:
            try:
                return parse(data)
            except DecodeError as error:
                return error  # raised here, it would reach the client as UNKNOWN

        async def one(request: Any, context: Any) -> Any:
            try:
                return await answer(checked(request), context)
            except BaseException as error:
                await fail(error, context, method)

        async def many(request: Any, context: Any) -> Any:
            try:
                asked = checked_all(request) if handler.request_streaming else checked(request)
                async with aclosing(answer(asked, context)) as responses:
                    async for response in responses:
                        yield response
            except BaseException as error:
                await fail(error, context, method)

        if not handler.response_streaming:
            make: Any = grpc.unary_unary_rpc_method_handler
        elif handler.request_streaming:
            make = grpc.stream_stream_rpc_method_handler
        else:
            make = grpc.unary_stream_rpc_method_handler
        guarded: grpc.RpcMethodHandler[Request, Response] = make(
            many if handler.response_streaming else one,
            request_deserializer=deserialize,
            response_serializer=handler.response_serializer,
        )
        self._guarded[method] = guarded
        return guarded


def is_ours(answer: Any) -> bool:
    """Whether a method that answers a stream is one of ours; health and reflection write theirs in other ways."""
    return str(getattr(answer, "__module__", "")).startswith("server.")


def checked(request: Any) -> Any:
    if isinstance(request, DecodeError):
        raise errors.malformed()
    return request


async def checked_all(requests: AsyncIterator[Any]) -> AsyncIterator[Any]:
    async for request in requests:
        yield checked(request)


async def fail(error: BaseException, context: Any, method: str) -> None:
    """End a call with what an exception of its method means to the client."""
    if isinstance(error, errors.ServiceError):
        await error.abort(context)
    if isinstance(error, asyncio.CancelledError) and not context.cancelled():
        await errors.shutting_down().abort(context)  # left alone, it would hang the client
    if isinstance(error, grpc.aio.AbortError) or not isinstance(error, Exception):
        raise error
    incident = secrets.token_hex(4)
    log.error("incident %s in %s", incident, method, exc_info=error)
    await errors.internal(incident).abort(context)
