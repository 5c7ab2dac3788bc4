"""BotService.PlaySeat: bots in seats of games that are played here."""

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import grpc
import pytest

import bvb
import bvb.client
import bvb_core
from ai import make_bot
from bvb.client import observation_message
from bvb.v1 import bot_pb2, bot_pb2_grpc, engine_pb2
from server import engine, seats

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


# ---------------------------------------------------------------- trees that are kept


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a slow machine too, what happened within a turn is found."""
    monkeypatch.setattr(engine, "LINE_S", 0.1)


def two_moves(service: Service, by_events: bool, **options: Any) -> tuple[engine_pb2.SuggestMoveResponse, Any]:
    """The result of the second move of a turn, with the same bot's in process; a tool on its way keeps the turn going."""
    state = bvb_core.new_game(players=2, seed=6, first_player=0)
    with service.client.play_seat(state.observation(0) if by_events else None, seed=3, **options) as seat:
        for _ in range(2):
            if not by_events:
                seat.observe(state.observation(0))
            answer = seat.move()
            here = make_bot("ismcts:iterations=400", seed=3).suggest(state.observation(0))
            state.apply(answer.action.notation)
            if by_events:
                seat.events(state.events(0))
    return answer.result, here


@pytest.mark.parametrize("by_events", [True, False])
def test_the_tree_is_kept_with_budgets_of_time(service: Service, by_events: bool) -> None:
    result, _ = two_moves(service, by_events, time_ms=100)
    assert result.adopted > 0
    assert sum(a.visits for a in result.alternatives) == result.iterations + result.adopted
    assert result.search_token == ""
    result, _ = two_moves(service, by_events, time_ms=100, keep_tree=False)
    assert result.adopted == 0


@pytest.mark.parametrize("by_events", [True, False])
def test_the_tree_is_kept_with_iterations_when_asked_for(service: Service, by_events: bool) -> None:
    result, here = two_moves(service, by_events, iterations=400)
    assert result.adopted == 0
    assert [a.visits for a in result.alternatives] == [a.visits for a in here.alternatives]
    result, _ = two_moves(service, by_events, iterations=400, keep_tree=True)
    assert result.adopted > 0
    assert result.iterations == 400


def test_one_tree_of_each_seat_is_kept(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    service = start()
    kept = service.app.engine.kept
    state = bvb_core.new_game(players=2, seed=6, first_player=0)
    with service.client.play_seat(state.observation(0), iterations=50, keep_tree=True) as seat:
        for _ in range(3):
            state.apply(seat.move().action.notation)
            seat.events(state.events(0))
            assert len(kept) == 1
        with monkeypatch.context() as patch:
            patch.setattr(engine, "KEPT_S", -1.0)
            assert seat.move().result.adopted == 0
        seat.move()
        assert len(kept) == 1
    with service.client.play_seat(state.observation(0), iterations=50) as seat:
        seat.move()
    assert len(kept) == 1  # that of the other seat


def test_another_game_in_the_same_seat(service: Service) -> None:
    with service.client.play_seat(iterations=200, keep_tree=True, seed=1) as seat:
        for game_seed in (1, 2):
            view = bvb_core.new_game(players=2, seed=game_seed, first_player=0).observation(0)
            seat.observe(view)
            answer = seat.move().result
            assert answer.adopted == 0
            alone = service.client.suggest_move(view, iterations=200, seed=1)
            assert {a.action.notation for a in answer.alternatives} == {a.action.notation for a in alone.alternatives}


# ---------------------------------------------------------------- pondering


def play_a_turn(seat: bvb.client.Seat, state: bvb_core.State) -> engine_pb2.SuggestMoveResponse:
    """The bot of seat 0 plays its turn; the result of its first move."""
    first = None
    while state.current_player == 0:
        answer = seat.move()
        first = first or answer.result
        state.apply(answer.action.notation)
        seat.events(state.events(0))
    assert first
    return first


@contextmanager
def others_turn(service: Service, **options: Any) -> Iterator[tuple[bvb.client.Seat, bvb_core.State]]:
    """A bot that ponders, after its first turn."""
    state = bvb_core.new_game(players=2, seed=2, first_player=0)
    with service.client.play_seat(state.observation(0), iterations=50, ponder=True, **options) as seat:
        play_a_turn(seat, state)
        yield seat, state


def taken_over(service: Service, ponder: bool) -> int:
    """Visits that a bot takes over from its last turn, in six turns; the other one plays short ones."""
    state = bvb_core.new_game(players=2, seed=2, first_player=0)
    visits = 0
    with service.client.play_seat(state.observation(0), iterations=50, seed=1, keep_tree=True, ponder=ponder) as seat:
        for _ in range(6):
            visits += play_a_turn(seat, state).adopted
            while state.current_player == 1:
                if ponder:
                    wait_until(lambda: service.app.pool.lent == 1)
                    time.sleep(0.3)
                legal = [str(action) for action in state.legal_actions()]
                state.apply(next((action for action in legal if action.startswith("dive")), legal[0]))
                seat.events(state.events(0))
    return visits


def test_what_was_pondered_is_taken_over(service: Service) -> None:
    assert taken_over(service, ponder=True) > 10 + taken_over(service, ponder=False)
    wait_until(lambda: service.app.pool.running == 0)
    assert service.app.pool.lent == 0


def test_pondering_ends(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """When it is the seat's own turn, when the stream ends, after a while, and when the tree is forgotten."""
    service = start()
    pool, kept = service.app.pool, service.app.engine.kept
    with others_turn(service) as (seat, state):
        wait_until(lambda: pool.lent == 1)
        while state.current_player == 1:
            state.apply("draw 1")
        seat.observe(state.observation(0))
        wait_until(lambda: pool.running == 0, timeout_s=1)
        seat.move()
        time.sleep(0.1)
        assert pool.lent == 0
    with others_turn(service):
        wait_until(lambda: pool.lent == 1)
    wait_until(lambda: pool.running == 0, timeout_s=1)
    monkeypatch.setattr(seats, "PONDER_MS", 100)
    with others_turn(service):
        wait_until(lambda: pool.lent == 1)
        wait_until(lambda: pool.running == 0, timeout_s=2)
    monkeypatch.undo()
    before = len(kept)
    with others_turn(service):
        wait_until(lambda: len(kept) == before + 1 and pool.lent == 1)
        monkeypatch.setattr(engine, "KEPT_S", -1.0)
        wait_until(lambda: pool.running == 0, timeout_s=2)


def test_a_resumed_seat_ponders_on(service: Service) -> None:
    pool = service.app.pool
    with others_turn(service) as (seat, _):
        wait_until(lambda: pool.lent == 1)
    wait_until(lambda: pool.running == 0)
    with service.client.resume_seat(seat.token):
        wait_until(lambda: pool.lent == 1)
    wait_until(lambda: pool.running == 0)


def test_pondering_makes_way(start: Start, position: dict[str, Any]) -> None:
    """For every search, also where none may wait; and goes on later."""
    service = start(workers=2, queue=0)
    delays = []
    with others_turn(service), others_turn(service, threads=2), others_turn(service):
        for threads in (1, 2) * 5:
            wait_until(lambda: service.app.pool.lent == 2)
            started = time.monotonic()
            assert service.client.suggest_move(position, iterations=2, threads=threads).iterations == 2
            delays.append(time.monotonic() - started)
        wait_until(lambda: service.app.pool.lent == 2)
        with service.client.analyze(position, time_ms=50_000, threads=2) as analysis:
            next(analysis)
            assert error_of(lambda: service.client.suggest_move(position, iterations=1)).reason == "BUSY"
    assert sorted(delays)[5] < 0.1
    wait_until(lambda: service.app.pool.running == 0)


def test_shut_down_ends_pondering(start: Start) -> None:
    service = start()
    with others_turn(service) as (seat, _):
        wait_until(lambda: service.app.pool.lent == 1)
        service.run(service.app.stop())
        assert service.app.pool.running == 0
        assert error_of(seat.move).code == grpc.StatusCode.UNAVAILABLE


def test_who_cannot_keep_a_tree(service: Service) -> None:
    for options, field in (
        ({"bot": "greedy", "keep_tree": True}, "start.keep_tree"),
        ({"bot": "pimc", "ponder": True}, "start.ponder"),
        ({"keep_tree": False, "ponder": True}, "start.ponder"),
    ):
        error = error_of(lambda options=options: service.client.play_seat(**options))
        assert (error.reason, error.violations[0].field) == ("NOT_SUPPORTED", field)


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
        ({"bot": "nobody"}, "start.bot"),
        ({"min_think_ms": -1}, "start.min_think_ms"),
        ({"move_overhead_ms": 60_001}, "start.move_overhead_ms"),
        ({"thinking_interval_ms": 1}, "start.thinking_interval_ms"),
        ({"settings": {"nothing": 1}}, "start.settings[0].name"),
        ({"threads": 99}, "start.threads"),
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
        error = error_of(seat.move)
        assert (error.reason, error.violations[0].field) == ("WRONG_SEAT", "observation.seat")
    with client.play_seat(iterations=1) as seat:
        seat.observe(state.observation(other["seat"]))
        error = error_of(seat.move)
        assert (error.reason, error.violations[0].field) == ("WRONG_SEAT", "move")
    with client.play_seat(position, iterations=1) as seat:
        seat.observe({**position, "turn_number": 0})
        assert error_of(seat.move).violations[0].field == "observation.turn_number"
    spectator = {key: value for key, value in state.observation(None).to_dict().items() if key != "seat"}
    assert error_of(lambda: client.play_seat(spectator)).violations[0].field == "start.initial_view.seat"


def test_an_answer_belongs_to_its_position(service: Service) -> None:
    """Asked for by the same name after more was shown, a move is a new one."""
    state = bvb_core.new_game(players=2, seed=3, first_player=0)
    with service.client.play_seat(state.observation(0), iterations=20) as seat:
        first = seat.move(request_id="m")
        assert seat.move(request_id="m").result == first.result
        state.apply(first.action.notation)
        seat.events(state.events(0))
        second = seat.move(request_id="m")
        assert second.action.notation in map(str, state.legal_actions())
        assert second.result != first.result
        state.apply(second.action.notation)
        while state.current_player != 0:
            state.apply(state.legal_actions()[0])
        seat.observe(state.observation(0))
        assert seat.move(request_id="m").action.notation in map(str, state.legal_actions())


def test_stop_ends_the_wait_for_people_too(service: Service, position: dict[str, Any]) -> None:
    with service.client.play_seat(position, iterations=5, min_think_ms=50_000) as seat:
        threading.Timer(0.3, seat.stop).start()
        started = time.monotonic()
        assert seat.move().result.iterations == 5
        assert 0.3 <= time.monotonic() - started < 5


def test_one_of_many_take_ups_stays(service: Service, position: dict[str, Any]) -> None:
    for _ in range(5):
        token = service.client.play_seat(position, iterations=5).token
        seats = [service.client.resume_seat(token) for _ in range(4)]
        asked = []
        for seat in seats:
            try:
                asked.append(str(seat.move().result.iterations))
            except bvb.Error as error:
                asked.append(error.reason)
        assert sorted(asked) == ["5", "TAKEN_UP", "TAKEN_UP", "TAKEN_UP"]
        for seat in seats:
            seat.close()


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
