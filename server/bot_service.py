"""bvb.v1.BotService over grpc.aio."""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import suppress
from functools import partial
from typing import Any

import grpc

import ai
from bvb.v1 import bot_pb2, bot_pb2_grpc, engine_pb2
from server.engine import Engine
from server.errors import ServiceError, invalid, shutting_down
from server.pool import SearchPool
from server.seats import Seat, Seats

Context = grpc.aio.ServicerContext[Any, Any]


class BotService(bot_pb2_grpc.BotServiceServicer):
    """One conversation for every stream. The seats outlive them."""

    def __init__(self, engine: Engine, pool: SearchPool) -> None:
        self.seats = Seats()
        self._engine = engine
        self._pool = pool
        self._talking: dict[str, Conversation] = {}
        self._taking_up = asyncio.Lock()

    async def PlaySeat(
        self, request_iterator: AsyncIterator[bot_pb2.PlaySeatRequest], context: Context
    ) -> AsyncIterator[bot_pb2.PlaySeatResponse]:
        first = await anext(request_iterator, None)
        if first is None or not first.HasField("start"):
            raise invalid("start", "must be the first message", "NO_START")
        if first.start.resume_token:
            token = first.start.resume_token
            seat = self.seats.take_up(token)
        else:
            seat = await asyncio.to_thread(Seat, self._engine, first.start)
            token = self.seats.add(seat)
        talk = Conversation(seat, self._engine, self._pool)
        async with self._taking_up:
            if token in self._talking:  # the old stream is broken, and only the client has noticed so far
                await self._talking[token].give_way()
            self._talking[token] = talk
        try:
            yield bot_pb2.PlaySeatResponse(
                ready=bot_pb2.SeatReady(
                    resume_token=token, events=await asyncio.to_thread(lambda: seat.events), seed=seat.seed
                )
            )
            async for response in talk.run(request_iterator):
                self.seats.touch(token)
                yield response
        finally:
            await talk.end()
            if self._talking.get(token) is talk:
                del self._talking[token]

    async def close(self) -> None:
        """End all streams. Moves that are being sent are waited for, at most for a second."""
        talks = list(self._talking.values())
        if talks:
            await asyncio.wait([asyncio.ensure_future(talk.close()) for talk in talks], timeout=1)


class Conversation:
    """One stream of one seat: reads requests, and thinks meanwhile."""

    def __init__(self, seat: Seat, engine: Engine, pool: SearchPool) -> None:
        self._seat = seat
        self._engine = engine
        self._pool = pool
        self._outbox = Outbox()
        self._reader: asyncio.Task[None] | None = None
        self._thinker: asyncio.Task[None] | None = None
        self._ponderer: asyncio.Task[None] | None = None
        self._stop = ai.StopToken()
        self._hurry = asyncio.Event()  # no move waits until people can follow

    async def run(self, requests: AsyncIterator[bot_pb2.PlaySeatRequest]) -> AsyncIterator[bot_pb2.PlaySeatResponse]:
        """The answers to all requests."""
        self._reader = asyncio.ensure_future(self._read(requests))
        self._start_pondering()
        async for response in self._outbox:
            yield response

    async def give_way(self) -> None:
        """Another stream takes up the seat."""
        self._outbox.fail(ServiceError(grpc.StatusCode.ABORTED, "another stream has taken up this seat", "TAKEN_UP"))
        await self.end()

    async def close(self) -> None:
        """The server is shutting down."""
        self._hurry.set()
        if self._thinker is not None:
            await asyncio.wait([self._thinker])
        self._outbox.fail(shutting_down())

    async def end(self) -> None:
        """Stop reading and thinking."""
        await ended(self._reader)
        await ended(self._thinker)
        await ended(self._ponderer)

    async def _read(self, requests: AsyncIterator[bot_pb2.PlaySeatRequest]) -> None:
        try:
            async for request in requests:
                await self._take(request)
            if self._thinker is not None:
                await asyncio.wait([self._thinker])
        except BaseException as error:
            self._fail(error)
        else:
            self._outbox.close()

    async def _take(self, request: bot_pb2.PlaySeatRequest) -> None:
        kind = request.WhichOneof("message")
        if kind == "stop":
            self._pool.stop(self._stop)
            self._hurry.set()
            return
        if self._thinker is not None and not self._thinker.done():
            raise ServiceError(
                grpc.StatusCode.FAILED_PRECONDITION, f"{kind}: the bot is thinking about its move", "THINKING"
            )
        await ended(self._ponderer)
        if kind == "events":
            await asyncio.to_thread(self._seat.hear, request.events)
        elif kind == "observation":
            await asyncio.to_thread(self._seat.look, request.observation, "observation.")
        elif kind == "move":
            self._stop = ai.StopToken()
            self._hurry.clear()
            self._thinker = asyncio.ensure_future(self._think(request.move))
        elif kind == "start":
            raise invalid("start", "must be the first message, and no other one", "STARTED_TWICE")
        else:
            raise invalid("message", "is missing", "NO_MESSAGE")
        if kind != "move":
            self._start_pondering()

    async def _think(self, request: bot_pb2.MoveRequest) -> None:
        started = time.monotonic()
        loop = asyncio.get_running_loop()

        def report(result: engine_pb2.SuggestMoveResponse) -> None:
            thinking = bot_pb2.SeatThinking(request_id=request.request_id, result=result)
            loop.call_soon_threadsafe(self._outbox.put_thinking, bot_pb2.PlaySeatResponse(thinking=thinking))

        try:
            move = self._seat.given(request)
            if move is None:
                search = await asyncio.to_thread(self._seat.search, request)
                think = partial(self._seat.think, request, search, report=report if self._seat.interval_ms else None)
                move = await self._pool.run(think, search.threads, self._stop, patient=True)
                self._seat.keep(move)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._hurry.wait(), max(0, self._seat.min_think_s - (time.monotonic() - started)))
            self._outbox.put(bot_pb2.PlaySeatResponse(move=move))
        except BaseException as error:
            self._fail(error)

    def _start_pondering(self) -> None:
        if self._seat.ponders:
            self._ponderer = asyncio.ensure_future(self._ponder())

    async def _ponder(self) -> None:
        try:
            while await self._pool.lend(self._seat.ponder, self._seat.threads):
                pass
        except Exception as error:
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        """End the stream; left alone, a CancelledError of a task would hang the client."""
        self._outbox.fail(error if isinstance(error, Exception) else shutting_down())
        if not isinstance(error, Exception):
            raise error


async def ended(task: "asyncio.Task[None] | None") -> None:
    """Cancel a task and wait for its end."""
    if task is not None and not task.done():
        task.cancel()
        await asyncio.wait([task])


class Outbox:
    """Messages on their way out. Of thinking only the newest waits, so that a slow reader does not pile it up."""

    def __init__(self) -> None:
        self._messages: deque[bot_pb2.PlaySeatResponse] = deque()
        self._thinking: bot_pb2.PlaySeatResponse | None = None
        self._error: Exception | None = None
        self._closed = False
        self._event = asyncio.Event()

    def put(self, message: bot_pb2.PlaySeatResponse) -> None:
        self._messages.append(message)
        self._thinking = None
        self._event.set()

    def put_thinking(self, message: bot_pb2.PlaySeatResponse) -> None:
        self._thinking = message
        self._event.set()

    def fail(self, error: Exception) -> None:
        """Messages before this are still delivered, then the error is raised."""
        self._error = self._error or error
        self.close()

    def close(self) -> None:
        self._closed = True
        self._event.set()

    def __aiter__(self) -> "Outbox":
        return self

    async def __anext__(self) -> bot_pb2.PlaySeatResponse:
        while True:
            if self._messages:
                return self._messages.popleft()
            if self._closed:
                if self._error is not None:
                    raise self._error
                raise StopAsyncIteration
            if self._thinking is not None:
                message, self._thinking = self._thinking, None
                return message
            self._event.clear()
            await self._event.wait()
