"""bvb.v1.EngineService over grpc.aio."""

import asyncio
import time
from functools import partial
from typing import Any

import grpc

from bvb.v1 import engine_pb2, engine_pb2_grpc
from server.engine import Engine
from server.pool import SearchPool

Context = grpc.aio.ServicerContext[Any, Any]


class EngineService(engine_pb2_grpc.EngineServiceServicer):
    """Requests are read in threads, since reading a long one would hold up the event loop."""

    def __init__(self, engine: Engine, pool: SearchPool) -> None:
        self._engine = engine
        self._pool = pool

    async def SuggestMove(self, request: engine_pb2.SuggestMoveRequest, context: Context) -> engine_pb2.SuggestMoveResponse:
        remaining = context.time_remaining()
        deadline = None if remaining is None else time.monotonic() + remaining
        search = await asyncio.to_thread(self._engine.check, request)
        return await self._pool.run(partial(self._engine.search, search, deadline=deadline), threads=search.threads)

    async def ListLegalMoves(
        self, request: engine_pb2.ListLegalMovesRequest, context: Context
    ) -> engine_pb2.ListLegalMovesResponse:
        return await asyncio.to_thread(self._engine.legal_moves, request)

    async def GetEngineInfo(self, request: engine_pb2.GetEngineInfoRequest, context: Context) -> engine_pb2.GetEngineInfoResponse:
        return self._engine.info()
