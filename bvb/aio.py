"""The asyncio client of the service: `bvb.aio.Client` has the methods of `bvb.Client`, as coroutines and async iterators."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from typing import Any, Self, TypeVar, Unpack

import grpc

from bvb.messages import (
    CallOptions,
    Error,
    GameOptions,
    Position,
    SearchOptions,
    SeatOptions,
    budget_message,
    channel_options,
    game_request,
    new_name,
    observation_message,
    position_fields,
    search_request,
    start_message,
    takes,
)
from bvb.v1 import bot_pb2, bot_pb2_grpc, engine_pb2, engine_pb2_grpc

__all__ = ["Analysis", "Client", "Seat"]

Response = TypeVar("Response")


class Client:
    """A connection to a server, made on the first call. It belongs to one event loop.

        async with bvb.aio.Client("localhost:50051") as client:
            answer = await client.suggest_move(observation, time_ms=500)

    Errors, retries and `timeout_s` are those of `bvb.Client`.
    """

    def __init__(self, address: str, *, timeout_s: float | None = None) -> None:
        self._with = CallOptions(timeout_s)
        self._channel = grpc.aio.insecure_channel(address, channel_options(address))
        self._stub: Any = engine_pb2_grpc.EngineServiceStub(self._channel)
        self._bots: Any = bot_pb2_grpc.BotServiceStub(self._channel)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connection. Running calls are cancelled."""
        await self._channel.close()

    @takes(SearchOptions)
    async def suggest_move(
        self, observation: Position, *, timeout_s: float | None = None, **options: Unpack[SearchOptions]
    ) -> engine_pb2.SuggestMoveResponse:
        """The best move for the seat to move. The options are those of SearchOptions; a budget is needed."""
        request = search_request(observation, **options)
        return await self._answer(self._stub.SuggestMove(request, **self._with(timeout_s)))

    @takes(SearchOptions)
    def analyze(
        self,
        observation: Position,
        *,
        interval_ms: int = 0,
        timeout_s: float | None = None,
        **options: Unpack[SearchOptions],
    ) -> "Analysis":
        """A search to look at while it runs: an async iterator over its results, the last of which is the final one.

            async with client.analyze(observation, time_ms=5000) as analysis:
                async for update in analysis:
                    print(update.result.iterations, update.result.action.notation)
        """
        name = new_name()
        request = engine_pb2.AnalyzeRequest(
            search=search_request(observation, **options), interval_ms=interval_ms, query_id=name
        )
        return Analysis(self._stub.Analyze(request, **self._with(timeout_s)), lambda: self._stop(name))

    @takes(GameOptions)
    async def analyze_game(
        self, record: str | Mapping[str, Any], *, timeout_s: float | None = None, **options: Unpack[GameOptions]
    ) -> AsyncIterator[engine_pb2.AnalyzeGameResponse]:
        """Go through a record: a review of every move, then a summary. The options are those of GameOptions."""
        call = self._stub.AnalyzeGame(game_request(record, **options), **self._with(timeout_s))
        try:
            async for step in call:
                yield step
        except grpc.aio.AioRpcError as error:
            raise Error.from_call(error) from None
        finally:
            call.cancel()

    @takes(SeatOptions)
    async def play_seat(self, initial_view: Position | None = None, **options: Unpack[SeatOptions]) -> "Seat":
        """A bot in one seat of a game that is played here; see bvb.Client.play_seat."""
        return await Seat.open(self._bots, start_message(initial_view, **options))

    async def resume_seat(self, token: str) -> "Seat":
        """A seat whose stream was dropped, by its `token`. Lines after its `known_events` have to be told."""
        return await Seat.open(self._bots, bot_pb2.SeatStart(resume_token=token))

    async def list_legal_moves(
        self, observation: Position, *, events: Iterable[str] | None = None, timeout_s: float | None = None
    ) -> engine_pb2.ListLegalMovesResponse:
        """All legal moves of the seat to move, sorted by notation."""
        request = engine_pb2.ListLegalMovesRequest(**position_fields(observation, events))
        return await self._answer(self._stub.ListLegalMoves(request, **self._with(timeout_s)))

    async def engine_info(self, *, timeout_s: float | None = None) -> engine_pb2.GetEngineInfoResponse:
        """The server's version, decks, limits and bots."""
        return await self._answer(
            self._stub.GetEngineInfo(engine_pb2.GetEngineInfoRequest(), **self._with(timeout_s))
        )

    async def _stop(self, query_id: str) -> bool:
        request = engine_pb2.StopAnalysisRequest(query_id=query_id)
        answer: engine_pb2.StopAnalysisResponse = await self._answer(
            self._stub.StopAnalysis(request, **self._with())
        )
        return answer.stopped

    async def _answer(self, call: Awaitable[Response]) -> Response:
        try:
            return await call
        except grpc.aio.AioRpcError as error:
            raise Error.from_call(error) from None


class Analysis:
    """A running analysis: iterate over it for its results. Leaving its context cancels what still runs."""

    def __init__(self, call: Any, stop: Callable[[], Awaitable[bool]]) -> None:
        self._updates = aiter(call)
        self._call = call
        self._stop = stop

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.cancel()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> engine_pb2.AnalyzeResponse:
        try:
            update: engine_pb2.AnalyzeResponse = await anext(self._updates)
        except grpc.aio.AioRpcError as error:
            raise Error.from_call(error) from None
        return update

    async def result(self) -> engine_pb2.SuggestMoveResponse:
        """The final result, waited for."""
        async for update in self:
            if update.final:
                return update.result
        raise ValueError("the final result was taken before")

    async def stop(self) -> bool:
        """Have the analysis end with what it has found; its final result is still to come. False when it had ended."""
        return await self._stop()

    def cancel(self) -> None:
        """End the analysis without a final result."""
        self._call.cancel()


class Seat:
    """A bot in a seat; see bvb.client.Seat. Made by Client.play_seat.

    When the server ends the stream at the moment in which a message is sent, grpc.aio knows of the end only as INTERNAL,
    "Internal error from Core"; the seat can be taken up again all the same.
    """

    def __init__(self, call: Any, ready: bot_pb2.SeatReady) -> None:
        self._call = call
        self.token = ready.resume_token
        self.known_events = ready.events
        self.seed = ready.seed

    @classmethod
    async def open(cls, stub: Any, start: bot_pb2.SeatStart) -> Self:
        """A seat as `start` says."""
        call = stub.PlaySeat()
        with contextlib.suppress(asyncio.InvalidStateError):  # the call has ended, and _read says why
            await call.write(bot_pb2.PlaySeatRequest(start=start))
        return cls(call, (await _read(call)).ready)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    async def events(self, lines: Iterable[str], *, first: int | None = None) -> None:
        """What the seat was shown. `first` is the number of lines before these: what the bot has already is skipped."""
        await self._write(bot_pb2.PlaySeatRequest(events=bot_pb2.SeatEvents(lines=lines, first=first)))

    async def observe(self, observation: Position) -> None:
        """All that the seat knows now."""
        await self._write(bot_pb2.PlaySeatRequest(observation=observation_message(observation)))

    async def move(
        self,
        *,
        iterations: int = 0,
        time_ms: int = 0,
        clock_ms: int | None = None,
        increment_ms: int = 0,
        request_id: str = "",
        on_thinking: Callable[[engine_pb2.SuggestMoveResponse], None] | None = None,
    ) -> bot_pb2.SeatMove:
        """The bot's move, waited for; without a budget, by the one of play_seat. `on_thinking` gets partial results."""
        given = iterations or time_ms or clock_ms is not None
        budget = budget_message(iterations, time_ms, clock_ms, increment_ms) if given else None
        await self._write(
            bot_pb2.PlaySeatRequest(move=bot_pb2.MoveRequest(budget=budget, request_id=request_id))
        )
        while True:
            response = await _read(self._call)
            if response.HasField("move"):
                return response.move
            if on_thinking is not None:
                on_thinking(response.thinking.result)

    async def stop(self) -> None:
        """From another task: have the bot move now."""
        await self._write(bot_pb2.PlaySeatRequest(stop=bot_pb2.StopThinking()))

    def close(self) -> None:
        """Give the seat up."""
        self._call.cancel()

    async def _write(self, request: bot_pb2.PlaySeatRequest) -> None:
        try:
            await self._call.write(request)
        except grpc.aio.AioRpcError as error:
            raise Error.from_call(error) from None
        except asyncio.InvalidStateError:
            while True:  # the call has ended: after what was still to be read, this says why
                await _read(self._call)


async def _read(call: Any) -> bot_pb2.PlaySeatResponse:
    try:
        response = await call.read()
        if response is grpc.aio.EOF:
            await call  # raises the error that has ended the stream
            raise Error(grpc.StatusCode.OK, "the server has ended the stream")
    except grpc.aio.AioRpcError as error:
        raise Error.from_call(error) from None
    except asyncio.CancelledError:
        if not call.cancelled() or _task_is_cancelled():
            raise
        raise Error(grpc.StatusCode.CANCELLED, "the seat was given up") from None
    message: bot_pb2.PlaySeatResponse = response
    return message


def _task_is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
