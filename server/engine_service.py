"""bvb.v1.EngineService over grpc.aio."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any, TypeVar

import grpc

from bvb.v1 import engine_pb2, engine_pb2_grpc
from server.engine import Engine
from server.pool import SearchPool
from server.queries import Queries
from server.review import Review

Context = grpc.aio.ServicerContext[Any, Any]
CALLER = "bvb-caller"
# Of a view in the midst of a game: some 1500.
SHORT_BYTES = 4096
Request = TypeVar("Request")
T = TypeVar("T")


class EngineService(engine_pb2_grpc.EngineServiceServicer):
    """Long requests are read in threads, since they would hold up the event loop."""

    def __init__(self, engine: Engine, pool: SearchPool) -> None:
        self._engine = engine
        self._pool = pool
        self.queries = Queries()

    async def SuggestMove(self, request: engine_pb2.SuggestMoveRequest, context: Context) -> engine_pb2.SuggestMoveResponse:
        deadline = deadline_of(context)
        search = await read(self._engine.check, request, request)
        return await self._pool.run(partial(self._engine.search, search, deadline=deadline), threads=search.threads)

    async def Analyze(
        self, request: engine_pb2.AnalyzeRequest, context: Context
    ) -> AsyncIterator[engine_pb2.AnalyzeResponse]:
        deadline = deadline_of(context)
        analysis = await read(self._engine.check_analysis, request, request.search)
        with self.queries.running(caller_of(context), analysis.query_id) as (query_id, token):
            latest = Latest()
            search = partial(
                self._engine.search,
                analysis.search,
                deadline=deadline,
                interval_ms=analysis.interval_ms,
                report=latest.put_from_thread,
            )
            running = asyncio.ensure_future(self._pool.run(search, analysis.search.threads, token))
            running.add_done_callback(latest.close)
            try:
                async for result in latest:
                    yield engine_pb2.AnalyzeResponse(query_id=query_id, result=result)
                yield engine_pb2.AnalyzeResponse(query_id=query_id, final=True, result=await running)
            finally:
                running.cancel()

    async def AnalyzeGame(
        self, request: engine_pb2.AnalyzeGameRequest, context: Context
    ) -> AsyncIterator[engine_pb2.AnalyzeGameResponse]:
        review = await asyncio.to_thread(Review, self._engine, request)
        total = len(review.decisions)
        for done, decision in enumerate(review.decisions, 1):
            # Each takes its turn among all searches, so that a long game does not keep a thread.
            step = await self._pool.run(partial(review.review, decision), review.threads, patient=done > 1)
            yield engine_pb2.AnalyzeGameResponse(done=done, total=total, review=step)
        yield engine_pb2.AnalyzeGameResponse(done=total, total=total, summary=review.summary())

    async def StopAnalysis(
        self, request: engine_pb2.StopAnalysisRequest, context: Context
    ) -> engine_pb2.StopAnalysisResponse:
        token = self.queries.token_of(caller_of(context), request.query_id)
        if token is not None:
            self._pool.stop(token)
        return engine_pb2.StopAnalysisResponse(stopped=token is not None)

    async def ListLegalMoves(
        self, request: engine_pb2.ListLegalMovesRequest, context: Context
    ) -> engine_pb2.ListLegalMovesResponse:
        return await read(self._engine.legal_moves, request, request)

    async def GetEngineInfo(self, request: engine_pb2.GetEngineInfoRequest, context: Context) -> engine_pb2.GetEngineInfoResponse:
        return self._engine.info()


async def read(
    check: Callable[[Request], T], request: Request, position: engine_pb2.SuggestMoveRequest | engine_pb2.ListLegalMovesRequest
) -> T:
    """What `check` makes of a request: here when its position is a short view, which takes less than a thread would."""
    plain = position.HasField("observation") and not getattr(position, "search_token", "")
    if plain and position.ByteSize() <= SHORT_BYTES:
        return check(request)
    return await asyncio.to_thread(check, request)


def deadline_of(context: Context) -> float | None:
    """When the call expires, as a time of time.monotonic()."""
    remaining = context.time_remaining()
    return None if remaining is None else time.monotonic() + remaining


def caller_of(context: Context) -> str:
    """Who calls: a name that the caller chose, or the connection."""
    named = dict(context.invocation_metadata() or ()).get(CALLER)
    return f"name {named!r}" if named else f"peer {context.peer()}"


class Latest:
    """The newest of a sequence of results, as an async iterator: those that come faster than they are taken are dropped."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._event = asyncio.Event()
        self._newest: Any = None
        self._closed = False

    def put_from_thread(self, result: Any) -> None:
        """To be called from any thread."""
        self._loop.call_soon_threadsafe(self._put, result)

    def _put(self, result: Any) -> None:
        self._newest = result
        self._event.set()

    def close(self, _: object = None) -> None:
        """End the iteration, without a result that was not taken yet."""
        self._closed = True
        self._event.set()

    def __aiter__(self) -> "Latest":
        return self

    async def __anext__(self) -> Any:
        await self._event.wait()
        self._event.clear()
        if self._closed:
            raise StopAsyncIteration
        return self._newest
