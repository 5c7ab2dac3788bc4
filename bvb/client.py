"""A blocking client of the service."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from queue import SimpleQueue
from typing import Any, Self, TypeVar, Unpack

import grpc

from bvb.messages import (
    CallOptions,
    Error,
    FieldViolation,
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

__all__ = [
    "Analysis",
    "Client",
    "Error",
    "FieldViolation",
    "GameOptions",
    "Position",
    "SearchOptions",
    "Seat",
    "SeatOptions",
    "observation_message",
]

Request = TypeVar("Request")
Response = TypeVar("Response")


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
        self._with = CallOptions(timeout_s)
        self._channel = grpc.insecure_channel(address, channel_options(address))
        self._stub = engine_pb2_grpc.EngineServiceStub(self._channel)
        self._bots = bot_pb2_grpc.BotServiceStub(self._channel)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection. Running calls are cancelled."""
        self._channel.close()

    @takes(SearchOptions)
    def suggest_move(
        self, observation: Position, *, timeout_s: float | None = None, **options: Unpack[SearchOptions]
    ) -> engine_pb2.SuggestMoveResponse:
        """The best move for the seat to move. The options are those of SearchOptions; a budget is needed."""
        return self._call(self._stub.SuggestMove, search_request(observation, **options), timeout_s)

    @takes(SearchOptions)
    def analyze(
        self,
        observation: Position,
        *,
        interval_ms: int = 0,
        timeout_s: float | None = None,
        **options: Unpack[SearchOptions],
    ) -> "Analysis":
        """A search to look at while it runs: an iterator over its results, the last of which is the final one.

            with client.analyze(observation, time_ms=5000, interval_ms=500) as analysis:
                for update in analysis:
                    print(update.result.iterations, update.result.action.notation)
                    if update.result.win_probability[0] > 0.9:
                        analysis.stop()

        `interval_ms` is the time between results, 0 for the server's default.
        """
        name = new_name()
        request = engine_pb2.AnalyzeRequest(
            search=search_request(observation, **options), interval_ms=interval_ms, query_id=name
        )
        call = self._stub.Analyze(request, **self._with(timeout_s))
        return Analysis(call, lambda: self._stop(name))

    @takes(GameOptions)
    def analyze_game(
        self, record: str | Mapping[str, Any], *, timeout_s: float | None = None, **options: Unpack[GameOptions]
    ) -> Iterator[engine_pb2.AnalyzeGameResponse]:
        """Go through a record (its JSON text or object): a review of every move, then a summary.

        The options are those of GameOptions; a budget is needed. The call is cancelled when the iterator is closed.
        """
        request = game_request(record, **options)
        call: Any = self._stub.AnalyzeGame(request, **self._with(timeout_s))
        try:
            yield from call
        except grpc.RpcError as error:
            raise Error.from_call(error) from None
        finally:
            call.cancel()

    @takes(SeatOptions)
    def play_seat(self, initial_view: Position | None = None, **options: Unpack[SeatOptions]) -> "Seat":
        """A bot in one seat of a game that is played here.

            with client.play_seat(view, iterations=1000, seed=1) as seat:
                seat.events(["draw 2 = arm", "provoke sea"])    # what the seat was shown since
                move = seat.move().action.notation              # when it is its turn

        Without an `initial_view`, the seat has to be told by `observe` what it knows. The options are those of
        SeatOptions; a budget here is for all moves that are asked for without one.
        """
        return Seat(self._bots, start_message(initial_view, **options))

    def resume_seat(self, token: str) -> "Seat":
        """A seat whose stream was dropped, by its `token`. Lines after its `known_events` have to be told."""
        return Seat(self._bots, bot_pb2.SeatStart(resume_token=token))

    def list_legal_moves(
        self, observation: Position, *, events: Iterable[str] | None = None, timeout_s: float | None = None
    ) -> engine_pb2.ListLegalMovesResponse:
        """All legal moves of the seat to move, sorted by notation; `events` as in suggest_move."""
        request = engine_pb2.ListLegalMovesRequest(**position_fields(observation, events))
        return self._call(self._stub.ListLegalMoves, request, timeout_s)

    def engine_info(self, *, timeout_s: float | None = None) -> engine_pb2.GetEngineInfoResponse:
        """The server's version, decks, limits and bots."""
        return self._call(self._stub.GetEngineInfo, engine_pb2.GetEngineInfoRequest(), timeout_s)

    def _stop(self, query_id: str) -> bool:
        request = engine_pb2.StopAnalysisRequest(query_id=query_id)
        return self._call(self._stub.StopAnalysis, request, None).stopped

    def _call(
        self,
        method: "grpc.UnaryUnaryMultiCallable[Request, Response]",
        request: Request,
        timeout_s: float | None,
    ) -> Response:
        try:
            return method(request, **self._with(timeout_s))
        except grpc.RpcError as error:
            raise Error.from_call(error) from None


class Analysis:
    """A running analysis: iterate over it for its results. Leaving its context cancels what still runs."""

    def __init__(self, call: Any, stop: Callable[[], bool]) -> None:
        self._call = call
        self._stop = stop

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.cancel()

    def __iter__(self) -> Iterator[engine_pb2.AnalyzeResponse]:
        return self

    def __next__(self) -> engine_pb2.AnalyzeResponse:
        try:
            update: engine_pb2.AnalyzeResponse = next(self._call)
        except grpc.RpcError as error:
            raise Error.from_call(error) from None
        return update

    def result(self) -> engine_pb2.SuggestMoveResponse:
        """The final result, waited for."""
        for update in self:
            if update.final:
                return update.result
        raise ValueError("the final result was taken before")

    def stop(self) -> bool:
        """Have the analysis end with what it has found; its final result is still to come. False when it had ended."""
        return self._stop()

    def cancel(self) -> None:
        """End the analysis without a final result."""
        self._call.cancel()


class Seat:
    """A bot in a seat. Leaving its context gives the seat up; with `token` it can be taken up again for a while."""

    def __init__(self, stub: bot_pb2_grpc.BotServiceStub, start: bot_pb2.SeatStart) -> None:
        self._requests: SimpleQueue[bot_pb2.PlaySeatRequest | None] = SimpleQueue()
        self._requests.put(bot_pb2.PlaySeatRequest(start=start))
        self._call: Any = stub.PlaySeat(iter(self._requests.get, None))
        ready = self._next().ready
        #: By which Client.resume_seat takes the seat up again.
        self.token = ready.resume_token
        #: Number of event lines that the bot had when this stream began.
        self.known_events = ready.events
        #: The seed that the bot uses.
        self.seed = ready.seed

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def events(self, lines: Iterable[str], *, first: int | None = None) -> None:
        """What the seat was shown. `first` is the number of lines before these: what the bot has already is skipped."""
        self._requests.put(bot_pb2.PlaySeatRequest(events=bot_pb2.SeatEvents(lines=lines, first=first)))

    def observe(self, observation: Position) -> None:
        """All that the seat knows now."""
        self._requests.put(bot_pb2.PlaySeatRequest(observation=observation_message(observation)))

    def move(
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
        request = bot_pb2.MoveRequest(budget=budget, request_id=request_id)
        self._requests.put(bot_pb2.PlaySeatRequest(move=request))
        while True:
            response = self._next()
            if response.HasField("move"):
                return response.move
            if on_thinking is not None:
                on_thinking(response.thinking.result)

    def stop(self) -> None:
        """From another thread: have the bot move now."""
        self._requests.put(bot_pb2.PlaySeatRequest(stop=bot_pb2.StopThinking()))

    def close(self) -> None:
        """Give the seat up."""
        self._requests.put(None)
        self._call.cancel()

    def _next(self) -> bot_pb2.PlaySeatResponse:
        try:
            response: bot_pb2.PlaySeatResponse = next(self._call)
        except grpc.RpcError as error:
            self._requests.put(None)
            raise Error.from_call(error) from None
        return response
