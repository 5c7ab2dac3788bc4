"""Analyze and StopAnalysis; restricted roots, settings, bots and clocks, which SuggestMove takes too."""

import random
import threading
import time
from collections.abc import Callable
from typing import Any

import grpc
import pytest
from google.protobuf.json_format import ParseDict

import bvb
from ai.clock import moves_left, time_for_move
from ai.params import IsmctsParams, settings_of
from bvb.client import observation_message
from bvb.v1 import engine_pb2, engine_pb2_grpc

from ..games import a_state
from .conftest import Service
from .test_operation import wait_until

Start = Callable[..., Service]


def request_of(position: dict[str, Any], **changes: Any) -> engine_pb2.AnalyzeRequest:
    search = {"budget": {"iterations": 3000}, "seed": 1, **changes.pop("search", {})}
    request = engine_pb2.AnalyzeRequest(interval_ms=20, **changes)
    ParseDict(search, request.search)
    request.search.observation.CopyFrom(observation_message(position))
    return request


def reason_of(call: Callable[[], Any]) -> tuple[str, str]:
    """Reason and first field of the error of a call."""
    with pytest.raises(bvb.Error) as caught:
        call()
    return caught.value.reason, caught.value.violations[0].field


def other_connection(service: Service) -> grpc.Channel:
    """Channels of one process to one address share a connection unless told otherwise."""
    return grpc.insecure_channel(
        service.address, [("grpc.enable_http_proxy", 0), ("grpc.use_local_subchannel_pool", 1)]
    )


# ---------------------------------------------------------------- results


def test_partial_results_and_one_final(service: Service, position: dict[str, Any]) -> None:
    updates = list(service.client.analyze(position, iterations=20_000, seed=3, interval_ms=20))
    assert [update.final for update in updates] == [False] * (len(updates) - 1) + [True]
    assert len(updates) > 1
    assert len({update.query_id for update in updates}) == 1
    counts = [update.result.iterations for update in updates]
    assert counts == sorted(set(counts))
    for update in updates[:-1]:
        assert update.result.stop_reason == engine_pb2.STOP_REASON_UNSPECIFIED
        assert sum(a.visits for a in update.result.alternatives) == update.result.iterations
    final = updates[-1].result
    alone = service.client.suggest_move(position, iterations=20_000, seed=3)
    final.ClearField("elapsed_ms")
    alone.ClearField("elapsed_ms")
    assert final == alone


def test_answer_in_full(service: Service, position: dict[str, Any]) -> None:
    answer = service.client.suggest_move(position, iterations=2000, seed=1, multi_pv=3)
    assert [a.order for a in answer.alternatives] == [0, 1, 2]
    for alternative in answer.alternatives:
        assert len(alternative.pv) == len(alternative.pv_visits)
        assert alternative.pv_visits[0] == alternative.visits
        assert all(0 < error < 0.2 for error in alternative.standard_error)
        assert len(alternative.standard_error) == 3
    assert sum(answer.root.win_probability) == pytest.approx(1)
    assert len(answer.root.expected_score) == len(answer.root.score_spread) == 3
    assert [army.type for army in answer.root.armies] == [a["type"] for a in position["armies"] if a["babies"]]
    for army in answer.root.armies:
        assert sum(army.eaten_by) + army.eaten_by_nobody == pytest.approx(1)


def test_first_result_comes_early(service: Service, position: dict[str, Any]) -> None:
    started = time.monotonic()
    with service.client.analyze(position, time_ms=20_000, interval_ms=20_000) as analysis:
        first = next(analysis)
        assert not first.final
        assert time.monotonic() - started < 5
    wait_until(lambda: service.app.pool.running == 0)


def test_bots_that_only_have_a_final_result(service: Service, position: dict[str, Any]) -> None:
    for bot, reason in (("random", "NONE"), ("greedy", "NONE"), ("pimc", "ITERATIONS")):
        (update,) = service.client.analyze(position, iterations=200, seed=1, bot=bot)
        assert update.final
        assert update.result.action.notation in [
            action.notation for action in service.client.list_legal_moves(position).actions
        ]
        assert update.result.stop_reason == engine_pb2.StopReason.Value(f"STOP_REASON_{reason}")
        assert not update.result.HasField("root")


# ---------------------------------------------------------------- stop and cancel


def test_stop(service: Service, position: dict[str, Any]) -> None:
    with service.client.analyze(position, time_ms=50_000, interval_ms=20) as analysis:
        next(analysis)
        assert analysis.stop()
        started = time.monotonic()
        *_, last = analysis
        assert time.monotonic() - started < 5
        assert last.final
        assert last.result.stop_reason == engine_pb2.STOP_REASON_STOPPED
        assert last.result.iterations > 0
        assert not analysis.stop()


def test_stopped_while_it_waits(service: Service, position: dict[str, Any]) -> None:
    """A search in the queue gives its final result at once, though all workers are busy, and takes no thread from them."""
    client, pool = service.client, service.app.pool
    with client.analyze(position, time_ms=50_000) as one, client.analyze(position, time_ms=50_000) as other:
        next(one), next(other)
        for _ in range(3):
            with client.analyze(position, time_ms=50_000) as waiting:
                wait_until(lambda: pool.waiting == 1)
                started = time.monotonic()
                assert waiting.stop()
                (last,) = waiting
                assert time.monotonic() - started < 2
                assert (last.final, last.result.stop_reason) == (True, engine_pb2.STOP_REASON_STOPPED)
                assert last.result.iterations == 1
            assert (pool.running, pool.waiting) == (2, 0)
        one.stop(), other.stop()
    wait_until(lambda: pool.running == 0)
    assert client.suggest_move(position, iterations=10, threads=2).iterations == 10


def test_stop_is_scoped_to_the_caller(service: Service, position: dict[str, Any]) -> None:
    request = request_of(position, query_id="mine", search={"budget": {"time_ms": 50_000}})
    others = []
    with other_connection(service) as channel:
        other = engine_pb2_grpc.EngineServiceStub(channel)
        call, other_call = service.stub.Analyze(request), other.Analyze(request)
        assert next(call).query_id == "mine"
        assert next(other_call).query_id == "mine"
        stop = engine_pb2.StopAnalysisRequest(query_id="mine")
        assert not other.StopAnalysis(stop, metadata=[("bvb-caller", "third")]).stopped
        assert other.StopAnalysis(stop).stopped
        others = list(other_call)
        assert others[-1].final
        assert service.app.pool.running == 1
        assert service.stub.StopAnalysis(stop).stopped
        *_, last = call
        assert last.final


def test_a_name_of_the_servers_own_stops_from_anywhere(service: Service, position: dict[str, Any]) -> None:
    call = service.stub.Analyze(request_of(position, search={"budget": {"time_ms": 50_000}}))
    query_id = next(call).query_id
    assert len(query_id) == 32
    with other_connection(service) as channel:
        stop = engine_pb2.StopAnalysisRequest(query_id=query_id)
        assert engine_pb2_grpc.EngineServiceStub(channel).StopAnalysis(stop).stopped
    *_, last = call
    assert last.final


def test_a_name_is_used_once_at_a_time(service: Service, position: dict[str, Any]) -> None:
    request = request_of(position, query_id="twice", search={"budget": {"time_ms": 50_000}})
    call = service.stub.Analyze(request)
    next(call)
    with pytest.raises(grpc.RpcError) as caught:
        list(service.stub.Analyze(request))
    error = bvb.Error.from_call(caught.value)
    assert (error.code, error.reason) == (grpc.StatusCode.ALREADY_EXISTS, "QUERY_EXISTS")
    call.cancel()
    wait_until(lambda: len(service.app.engine_service.queries) == 0)
    request.search.budget.time_ms = 50
    assert list(service.stub.Analyze(request))[-1].final


def test_stop_while_it_waits_for_a_thread(start: Start, position: dict[str, Any]) -> None:
    service = start(workers=1)
    first = service.stub.Analyze(request_of(position, query_id="1", search={"budget": {"time_ms": 50_000}}))
    next(first)
    second = service.stub.Analyze(request_of(position, query_id="2", search={"budget": {"time_ms": 50_000}}))
    wait_until(lambda: service.app.pool.waiting == 1)
    assert service.stub.StopAnalysis(engine_pb2.StopAnalysisRequest(query_id="2")).stopped
    assert service.stub.StopAnalysis(engine_pb2.StopAnalysisRequest(query_id="1")).stopped
    assert list(first)[-1].final
    assert list(second)[-1].result.iterations == 1


def test_cancel_ends_the_search(service: Service, position: dict[str, Any]) -> None:
    with service.client.analyze(position, time_ms=50_000, interval_ms=20) as analysis:
        next(analysis)
        assert service.app.pool.running == 1
    wait_until(lambda: service.app.pool.running == 0, timeout_s=2)
    wait_until(lambda: len(service.app.engine_service.queries) == 0)


def test_deadline_gives_a_final_result(service: Service, position: dict[str, Any]) -> None:
    final = service.client.analyze(position, iterations=10_000_000, timeout_s=2).result()
    assert final.stop_reason == engine_pb2.STOP_REASON_TIME
    assert "deadline" in final.warnings[0]


def test_shut_down_gives_a_final_result(start: Start, position: dict[str, Any]) -> None:
    service = start()
    call = service.stub.Analyze(request_of(position, search={"budget": {"time_ms": 50_000}}))
    next(call)
    service.loop.call_soon_threadsafe(service.app.pool.close)
    *_, last = call
    assert last.final
    assert last.result.stop_reason == engine_pb2.STOP_REASON_STOPPED


def test_overload_and_bad_requests_end_the_stream(start: Start, position: dict[str, Any]) -> None:
    service = start(workers=1, queue=0)
    with service.client.analyze(position, time_ms=50_000) as analysis:
        next(analysis)
        with pytest.raises(bvb.Error) as caught:
            service.client.analyze(position, iterations=1).result()
        assert caught.value.reason == "BUSY"
    with pytest.raises(grpc.RpcError) as garbage:
        list(service.channel.unary_stream("/bvb.v1.EngineService/Analyze")(b"\x0a\xff garbage"))
    assert bvb.Error.from_call(garbage.value).reason == "MALFORMED_REQUEST"


def test_a_slow_reader_gets_the_final_result(service: Service, position: dict[str, Any]) -> None:
    with service.client.analyze(position, time_ms=1500, interval_ms=20) as analysis:
        next(analysis)
        time.sleep(1)
        *_, last = analysis
    assert last.final


def many_analyses(service: Service, position: dict[str, Any], count: int, at_once: int, seed: int) -> None:
    """A third each runs to the end, is stopped, and is cancelled, at random moments."""
    turns = threading.Semaphore(at_once)
    finals: list[int] = []
    errors: list[tuple[int, grpc.StatusCode]] = []
    rngs = [random.Random(f"{seed}/{number}") for number in range(count)]

    def run(number: int) -> None:
        rng = rngs[number]
        fate = number % 3
        with turns, service.client.analyze(position, iterations=1500, interval_ms=20, seed=number) as analysis:
            timer = threading.Timer(rng.random() * 0.1, (lambda: None, analysis.stop, analysis.cancel)[fate])
            timer.start()
            try:
                updates = list(analysis)
            except bvb.Error as error:
                errors.append((fate, error.code))
            else:
                assert [u.final for u in updates].count(True) == 1
                assert updates[-1].final
                finals.append(number)
            timer.join()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(errors) <= {(2, grpc.StatusCode.CANCELLED)}
    assert {number for number in range(count) if number % 3 != 2} <= set(finals)
    wait_until(lambda: service.app.pool.running == service.app.pool.waiting == 0)
    assert len(service.app.engine_service.queries) == 0


def test_analyses_stopped_and_cancelled_at_random(service: Service, position: dict[str, Any]) -> None:
    many_analyses(service, position, 30, 4, seed=1)


@pytest.mark.soak
def test_memory_stays_flat_over_many_analyses(start: Start, position: dict[str, Any]) -> None:
    service = start()
    many_analyses(service, position, 200, 5, seed=2)
    before = resident_kb()
    for seed in range(3, 8):
        many_analyses(service, position, 200, 5, seed)
        print(f"{200 * (seed - 2)} analyses, {resident_kb()} kB resident", flush=True)
    assert resident_kb() < 1.05 * before + 4000


def resident_kb() -> int:
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


# ---------------------------------------------------------------- what to search


def test_allow_and_avoid(service: Service, position: dict[str, Any]) -> None:
    legal = [action.notation for action in service.client.list_legal_moves(position).actions]
    for allow, avoid in ((legal[:2], []), ([], legal[1:]), (legal[:3], legal[:2])):
        answer = service.client.suggest_move(
            position, iterations=200, seed=1, allow_moves=allow, avoid_moves=avoid
        )
        covered = [a.notation for x in answer.alternatives for a in (x.action, *x.equivalent)]
        assert sorted(covered) == sorted(set(allow or legal).difference(avoid))


def test_moves_that_cannot_be_allowed(service: Service, position: dict[str, Any]) -> None:
    legal = [action.notation for action in service.client.list_legal_moves(position).actions]
    ask = service.client.suggest_move
    assert reason_of(lambda: ask(position, iterations=1, allow_moves=[legal[0], "nonsense"])) == (
        "ILLEGAL_MOVE",
        "allow_moves[1]",
    )
    assert reason_of(lambda: ask(position, iterations=1, avoid_moves=legal)) == ("NO_MOVE_LEFT", "avoid_moves")
    assert reason_of(lambda: ask(position, bot="greedy", avoid_moves=legal[:1])) == ("NOT_SUPPORTED", "avoid_moves")


def test_settings(service: Service, position: dict[str, Any]) -> None:
    ask = service.client.suggest_move
    default, same, other = (
        [a.visits for a in ask(position, iterations=500, seed=1, settings=settings).alternatives]
        for settings in (None, {"exploration": 0.7}, {"exploration": 2.0})
    )
    assert default == same != other
    worlds = ask(position, iterations=500, seed=1, bot="pimc", settings={"worlds": 2}).alternatives
    assert worlds != ask(position, iterations=500, seed=1, bot="pimc").alternatives


@pytest.mark.parametrize(
    ("bot", "settings", "expected"),
    [
        ("", {"exploration": 1}, ("WRONG_TYPE", "settings[0].double_value")),
        ("", {"exploration": 10.5}, ("OUT_OF_RANGE", "settings[0].double_value")),
        ("", {"exploration": float("nan")}, ("OUT_OF_RANGE", "settings[0].double_value")),
        ("", {"memory_mb": 5}, ("UNKNOWN_SETTING", "settings[0].name")),
        ("pimc", {"exploration": 1.0, "worlds": 0}, ("OUT_OF_RANGE", "settings[1].int_value")),
        ("greedy", {"exploration": 1.0}, ("UNKNOWN_SETTING", "settings[0].name")),
        ("cheat", {}, ("UNKNOWN_BOT", "bot")),
        ("ismcts:threads=9", {}, ("UNKNOWN_BOT", "bot")),
    ],
)
def test_wrong_settings(
    service: Service, position: dict[str, Any], bot: str, settings: dict[str, Any], expected: tuple[str, str]
) -> None:
    assert reason_of(lambda: service.client.suggest_move(position, iterations=1, bot=bot, settings=settings)) == expected


def test_a_setting_stands_once(service: Service, position: dict[str, Any]) -> None:
    twice = [{"name": "exploration", "double_value": 1.0}] * 2
    with pytest.raises(grpc.RpcError) as caught:
        list(service.stub.Analyze(request_of(position, search={"settings": twice})))
    assert bvb.Error.from_call(caught.value).violations[0].field == "search.settings[1].name"


def test_bots_are_listed_with_their_settings(service: Service) -> None:
    bots = {bot.name: bot for bot in service.client.engine_info().bots}
    assert next(iter(bots)) == "ismcts"
    assert set(bots) == {"ismcts", "vanilla", "pimc", "greedy", "random"}
    listed = [(s.name, s.min, s.max, s.default, s.type) for s in bots["ismcts"].settings]
    types = {False: engine_pb2.SETTING_TYPE_DOUBLE, True: engine_pb2.SETTING_TYPE_INT}
    assert listed == [(s.name, s.low, s.high, s.default, types[s.whole]) for s in settings_of(IsmctsParams)]
    assert [s[0] for s in listed] == ["exploration", "observers", "early_stop"]
    assert [s.name for s in bots["vanilla"].settings] == ["exploration"]
    assert [s.type for s in bots["pimc"].settings if s.name == "worlds"] == [engine_pb2.SETTING_TYPE_INT]
    assert not bots["random"].searches
    assert all(bot.description for bot in bots.values())


@pytest.mark.parametrize("change", [{"interval_ms": 19}, {"interval_ms": 60_001}, {"query_id": "x" * 101}])
def test_limits_of_an_analysis(service: Service, position: dict[str, Any], change: dict[str, Any]) -> None:
    request = request_of(position)
    (field,) = change
    setattr(request, field, change[field])
    with pytest.raises(grpc.RpcError) as caught:
        list(service.stub.Analyze(request))
    error = bvb.Error.from_call(caught.value)
    assert (error.reason, error.violations[0].field) == ("OUT_OF_RANGE", field)


def test_an_analysis_of_nothing(service: Service) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        list(service.stub.Analyze(engine_pb2.AnalyzeRequest()))
    assert bvb.Error.from_call(caught.value).violations[0].field == "search"


# ---------------------------------------------------------------- clocks


def test_a_clock_lasts_for_the_game(service: Service, position: dict[str, Any]) -> None:
    answer = service.client.suggest_move(position, clock_ms=3000)
    # Only a clock ends early: what is left of it is worth more than a move that is sure already.
    assert answer.stop_reason in (engine_pb2.STOP_REASON_TIME, engine_pb2.STOP_REASON_DECIDED)
    assert answer.elapsed_ms < 1500
    assert not answer.warnings
    assert service.client.suggest_move(position, clock_ms=60_000, iterations=5).iterations == 5
    assert service.client.suggest_move(position, clock_ms=1).iterations >= 1


def test_shares_of_a_clock() -> None:
    state = a_state()
    observation = state.observation(state.current_player)
    left = moves_left(observation)
    assert 10 < left < 200
    assert time_for_move(observation, 60_000) == pytest.approx(60_000 / left)
    assert time_for_move(observation, 60_000, 1000) == pytest.approx(60_000 / left + 800)
    assert time_for_move(observation, 1000, 10_000) == 250
    assert time_for_move(observation, 1) == 1
    remaining, moves = 10_000.0, 0
    while moves < 4 * left:
        remaining -= time_for_move(observation, remaining)
        moves += 1
        assert remaining > 0


@pytest.mark.parametrize(
    "clock", [{"remaining_ms": 0}, {"remaining_ms": -1}, {"remaining_ms": 5, "increment_ms": -1}]
)
def test_wrong_clocks(service: Service, position: dict[str, Any], clock: dict[str, int]) -> None:
    request = request_of(position, search={"budget": {"clock": clock}})
    with pytest.raises(grpc.RpcError) as caught:
        service.stub.SuggestMove(request.search)
    error = bvb.Error.from_call(caught.value)
    assert error.reason == "OUT_OF_RANGE"
    assert error.violations[0].field.startswith("budget.clock.")
