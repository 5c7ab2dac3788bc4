"""BotService.PlaySeat: bots in seats of games that are played here."""

import random
import threading
import time
from collections.abc import Callable
from typing import Any

import grpc
import pytest

import bvb
import bvb_core
from ai import make_bot
from bvb.client import observation_message
from bvb.v1 import bot_pb2, bot_pb2_grpc, engine_pb2
from server import seats

from ..games import a_state
from .conftest import Service
from .test_operation import wait_until

Start = Callable[..., Service]
BOTS = ("ismcts", "vanilla", "greedy", "random", "pimc")


def error_of(call: Callable[[], Any]) -> bvb.Error:
    with pytest.raises(bvb.Error) as caught:
        call()
    return caught.value


def spec_of(bot: str, iterations: int) -> str:
    return bot if bot in ("greedy", "random") else f"{bot}:iterations={iterations}"


def play_game(service: Service, seed: int, players: int, iterations: int, by_events: bool) -> None:
    """A whole game with bots in all seats; each move must be the one of the same bot in this process."""
    rng = random.Random(seed)
    state = bvb_core.new_game(players=players, seed=seed, practice=seed % 7 == 0)
    names = [rng.choice(BOTS) for _ in range(players)]
    here = [make_bot(spec_of(bot, iterations), seed=seat) for seat, bot in enumerate(names)]
    views = [state.observation(seat) for seat in range(players)]
    there = [
        service.client.play_seat(
            views[seat] if by_events else None, bot=bot, seed=seat, iterations=iterations, multi_pv=1
        )
        for seat, bot in enumerate(names)
    ]
    while not state.is_terminal:
        seat = state.current_player
        view = state.observation(seat)
        if not by_events:
            there[seat].observe(view)
        move = there[seat].move().action.notation
        assert move == str(here[seat].suggest(view, multi_pv=1).action)
        state.apply(move)
        if by_events:
            for other in range(players):
                there[other].events(state.events(other))
    for seat in there:
        seat.close()


@pytest.mark.parametrize("by_events", [True, False])
def test_whole_games_equal_those_in_process(service: Service, by_events: bool) -> None:
    play_game(service, seed=1 + by_events, players=4, iterations=5, by_events=by_events)


@pytest.mark.soak
def test_fifty_games_equal_those_in_process(service: Service) -> None:
    for seed in range(50):
        play_game(service, seed, players=2 + seed % 4, iterations=50, by_events=seed % 5 != 0)
        print(f"{seed + 1} of 50 games equal", flush=True)
    wait_until(lambda: service.app.pool.running == 0)


# ---------------------------------------------------------------- thinking


def test_the_move_of_suggest_move(service: Service, position: dict[str, Any]) -> None:
    alone = service.client.suggest_move(position, iterations=3000, seed=4)
    seen: list[engine_pb2.SuggestMoveResponse] = []
    with service.client.play_seat(position, iterations=3000, seed=4, thinking_interval_ms=20) as seat:
        assert seat.seed == 4
        answer = seat.move(request_id="a", on_thinking=seen.append)
    assert answer.request_id == "a"
    assert answer.action == answer.result.action
    for result in (alone, answer.result):
        result.ClearField("elapsed_ms")
    assert answer.result == alone
    assert seen
    counts = [result.iterations for result in seen]
    assert counts == sorted(set(counts))
    assert counts[-1] < 3000


def test_no_thinking_unless_asked_for(service: Service, position: dict[str, Any]) -> None:
    seen: list[engine_pb2.SuggestMoveResponse] = []
    with service.client.play_seat(position, iterations=3000) as seat:
        seat.move(on_thinking=seen.append)
    assert not seen


def test_budgets_of_single_moves(service: Service, position: dict[str, Any]) -> None:
    with service.client.play_seat(position, iterations=10) as seat:
        assert seat.move().result.iterations == 10
        assert seat.move(iterations=20).result.iterations == 20
        assert seat.move(time_ms=30).result.stop_reason == engine_pb2.STOP_REASON_TIME
        assert seat.move(clock_ms=1000).result.elapsed_ms < 500
    with service.client.play_seat(position) as seat:
        assert error_of(seat.move).reason == "NO_BUDGET"


def test_least_time_and_overhead(service: Service, position: dict[str, Any]) -> None:
    with service.client.play_seat(position, iterations=1, min_think_ms=300) as seat:
        started = time.monotonic()
        assert seat.move().result.elapsed_ms < 250
        assert time.monotonic() - started >= 0.3
    with service.client.play_seat(position, time_ms=2000, move_overhead_ms=1950) as seat:
        assert seat.move().result.elapsed_ms < 1000
    with service.client.play_seat(position, time_ms=20, move_overhead_ms=1950) as seat:
        assert seat.move().result.iterations >= 1


def test_stop(service: Service, position: dict[str, Any]) -> None:
    with service.client.play_seat(position, time_ms=50_000) as seat:
        threading.Timer(0.2, seat.stop).start()
        answer = seat.move()
        assert answer.result.stop_reason == engine_pb2.STOP_REASON_STOPPED
        assert seat.move(iterations=5).result.iterations == 5


def test_leaving_ends_the_search(service: Service, position: dict[str, Any]) -> None:
    seat = service.client.play_seat(position, time_ms=50_000, thinking_interval_ms=20)
    threading.Timer(0.3, seat.close).start()
    assert error_of(seat.move).code == grpc.StatusCode.CANCELLED
    wait_until(lambda: service.app.pool.running == 0, timeout_s=2)


def test_bots_wait_for_a_thread(start: Start, position: dict[str, Any]) -> None:
    """A game does not break off because the server is busy."""
    service = start(workers=1, queue=0)
    with service.client.analyze(position, time_ms=50_000) as busy, service.client.play_seat(position, iterations=5) as seat:
        next(busy)
        threading.Timer(0.3, busy.stop).start()
        assert seat.move().result.iterations == 5


def test_shut_down_sends_the_move(start: Start, position: dict[str, Any]) -> None:
    service = start()
    idle = service.client.play_seat(position, iterations=5)
    seat = service.client.play_seat(position, time_ms=50_000)
    stopper = threading.Timer(0.3, service.run, [service.app.stop()])
    stopper.start()
    assert seat.move().result.stop_reason == engine_pb2.STOP_REASON_STOPPED
    assert error_of(idle.move).code == grpc.StatusCode.UNAVAILABLE
    stopper.join(5)
    assert not stopper.is_alive()


# ---------------------------------------------------------------- streams that are dropped


def a_game() -> tuple[bvb_core.Observation, list[str], bvb_core.State]:
    """The first view of a seat, the lines that it was shown, and the state after them, in which it is to move."""
    rng = random.Random(3)
    state = bvb_core.new_game(players=3, seed=3)
    seat = state.current_player
    view, lines = state.observation(seat), []
    while len(lines) < 60 or state.current_player != seat:
        state.apply(rng.choice(state.legal_actions()))
        lines += state.events(seat)
    return view, lines, state


def test_a_seat_is_taken_up_again(service: Service) -> None:
    view, lines, state = a_game()
    seat = service.client.play_seat(view, iterations=100, seed=2)
    seat.events(lines[:40])
    seat.events([])
    with pytest.raises(bvb.Error):
        seat.move()  # not its turn; what it heard stays
    again = service.client.resume_seat(seat.token)
    assert (again.known_events, again.seed) == (40, 2)
    again.events(lines, first=0)
    answer = again.move(request_id="x")
    expected = make_bot("ismcts:iterations=100", seed=2).suggest(state.observation(state.current_player))
    assert answer.action.notation == str(expected.action)
    again.close()
    third = service.client.resume_seat(seat.token)
    assert third.known_events == len(lines)
    assert third.move(request_id="x") == answer
    assert third.move(request_id="y").result.elapsed_ms >= 0
    third.close()


def test_a_search_that_was_cut_off_is_done_again(service: Service, position: dict[str, Any]) -> None:
    seat = service.client.play_seat(position, iterations=40_000, seed=1)
    threading.Timer(0.1, seat.close).start()
    with pytest.raises(bvb.Error):
        seat.move(request_id="x")
    with service.client.resume_seat(seat.token) as again:
        assert again.move(request_id="x").result.iterations == 40_000


def test_the_new_stream_wins(service: Service, position: dict[str, Any]) -> None:
    old = service.client.play_seat(position, time_ms=50_000, thinking_interval_ms=20)
    errors: list[bvb.Error] = []
    asker = threading.Thread(target=lambda: errors.append(error_of(old.move)))
    asker.start()
    wait_until(lambda: service.app.pool.running == 1)
    with service.client.resume_seat(old.token) as new:
        asker.join()
        assert (errors[0].code, errors[0].reason) == (grpc.StatusCode.ABORTED, "TAKEN_UP")
        assert new.move(iterations=5).result.iterations == 5


def test_seats_are_forgotten(service: Service, position: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    assert error_of(lambda: service.client.resume_seat("0" * 32)).reason == "UNKNOWN_TOKEN"
    with service.client.play_seat(position) as seat:
        pass
    monkeypatch.setattr(seats, "KEPT_S", -1.0)
    assert error_of(lambda: service.client.resume_seat(seat.token)).reason == "UNKNOWN_TOKEN"
    assert len(service.app.bot_service.seats) == 0


def test_only_so_many_seats_are_kept(service: Service, position: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service.app.bot_service, "seats", seats.Seats(limit=2))
    tokens = []
    for _ in range(3):
        with service.client.play_seat(position) as seat:
            tokens.append(seat.token)
    assert error_of(lambda: service.client.resume_seat(tokens[0])).reason == "UNKNOWN_TOKEN"
    service.client.resume_seat(tokens[1]).close()


# ---------------------------------------------------------------- mistakes


def test_wrong_events(service: Service) -> None:
    view, lines, _ = a_game()
    seat = service.client.play_seat(view, iterations=10)
    seat.events([*lines[:3], "nonsense"])
    error = error_of(seat.move)
    assert (error.reason, error.violations[0].field) == ("INVALID_EVENT", "events.lines[3]")
    again = service.client.resume_seat(seat.token)
    assert again.known_events == 3
    again.events(lines[5:], first=5)
    assert error_of(again.move).reason == "MISSING_EVENTS"


def test_mistakes(service: Service, position: dict[str, Any]) -> None:
    client = service.client
    other = {**position, "seat": (position["seat"] + 1) % 3}
    for start, field in (
        ({"bot": "nobody"}, "bot"),
        ({"min_think_ms": -1}, "start.min_think_ms"),
        ({"move_overhead_ms": 60_001}, "start.move_overhead_ms"),
        ({"thinking_interval_ms": 1}, "start.thinking_interval_ms"),
        ({"settings": {"nothing": 1}}, "settings[0].name"),
        ({"threads": 99}, "threads"),
        ({"initial_view": {**position, "turn_number": 0}}, "start.initial_view.turn_number"),
    ):
        assert error_of(lambda start=start: client.play_seat(**start)).violations[0].field == field
    with client.play_seat(iterations=1) as seat:
        assert error_of(seat.move).reason == "NO_OBSERVATION"
    with client.play_seat(iterations=1) as seat:
        seat.events(["draw 1"])
        assert error_of(seat.move).reason == "NO_OBSERVATION"
    with client.play_seat(position, iterations=1) as seat:
        state = a_state()
        seat.observe(state.observation(other["seat"]))
        assert error_of(seat.move).reason == "WRONG_SEAT"


def raw(service: Service, *requests: bot_pb2.PlaySeatRequest) -> list[bot_pb2.PlaySeatResponse]:
    return list(bot_pb2_grpc.BotServiceStub(service.channel).PlaySeat(iter(requests)))


def raw_reason(service: Service, *requests: bot_pb2.PlaySeatRequest) -> str:
    with pytest.raises(grpc.RpcError) as caught:
        raw(service, *requests)
    return bvb.Error.from_call(caught.value).reason


def test_order_of_messages(service: Service, position: dict[str, Any]) -> None:
    start = bot_pb2.PlaySeatRequest(
        start=bot_pb2.SeatStart(initial_view=observation_message(position), budget={"time_ms": 20_000})
    )
    quick = bot_pb2.PlaySeatRequest(move={"budget": {"iterations": 5}})
    slow = bot_pb2.PlaySeatRequest(move={})
    assert raw_reason(service) == "NO_START"
    assert raw_reason(service, quick) == "NO_START"
    assert raw_reason(service, start, start) == "STARTED_TWICE"
    assert raw_reason(service, start, bot_pb2.PlaySeatRequest()) == "NO_MESSAGE"
    assert raw_reason(service, start, slow, quick) == "THINKING"
    ready, move = raw(service, start, quick)  # the client has nothing more to say, and still gets its answer
    assert ready.HasField("ready")
    assert move.move.result.iterations == 5
    with pytest.raises(grpc.RpcError) as caught:
        list(service.channel.stream_stream("/bvb.v1.BotService/PlaySeat")(iter([b"\x0a\xff garbage"])))
    assert bvb.Error.from_call(caught.value).reason == "MALFORMED_REQUEST"
    wait_until(lambda: service.app.pool.running == 0)
