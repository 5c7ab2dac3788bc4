"""How fast the service answers and stops. The strict figures are for a machine that does nothing else."""

import gc
import statistics
import threading
import time
from collections.abc import Callable
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

import ai
import bvb_core
from ai import make_bot
from ai.params import SearchParams
from bvb.v1 import engine_pb2_grpc

from ..games import a_state
from .conftest import Service
from .test_operation import long_request, wait_until
from .test_play_seat import others_turn

Start = Callable[..., Service]


def seconds(work: Callable[[], Any]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


Stub = engine_pb2_grpc.EngineServiceStub


def overhead_ms(stub: Stub, rounds: int) -> float:
    """Median of what SuggestMove takes longer than the same search in process."""
    view = a_view()
    message = long_request(view.to_dict())
    message.budget.time_ms, message.budget.iterations, message.seed = 0, 100, 1
    there = [seconds(lambda: stub.SuggestMove(message)) for _ in range(rounds)]
    bot = make_bot("ismcts:iterations=100", seed=1)
    here = [seconds(lambda: bot.suggest(view)) for _ in range(rounds)]
    return 1000 * (statistics.median(there) - statistics.median(here))


def a_view() -> bvb_core.Observation:
    state = a_state()
    return state.observation(state.current_player)


def overshoots_ms(stub: Stub, time_ms: int, rounds: int) -> list[float]:
    """By how much the answers come later than the budget of time, sorted."""
    message = long_request(a_view().to_dict(), time_ms)
    return sorted(1000 * seconds(lambda: stub.SuggestMove(message)) - time_ms for _ in range(rounds))


def stop_ms(service: Service, rounds: int) -> list[float]:
    """How long searches go on after they were cancelled, sorted."""
    delays = []
    for _ in range(rounds):
        call = service.stub.SuggestMove.future(long_request(a_view().to_dict()))
        wait_until(lambda: service.app.pool.running == 1)
        started = time.perf_counter()
        call.cancel()
        while service.app.pool.running:
            time.sleep(0.0005)
        delays.append(1000 * (time.perf_counter() - started))
    return sorted(delays)


def health_ms(service: Service, checks: int) -> list[float]:
    """How long health checks take while all workers analyze, sorted."""
    health = health_pb2_grpc.HealthStub(service.channel)
    analyses = [service.client.analyze(a_view(), time_ms=60_000, interval_ms=20) for _ in range(service.app.pool.workers)]
    readers = [threading.Thread(target=lambda a=a: [None for _ in a]) for a in analyses]
    for reader in readers:
        reader.start()
    wait_until(lambda: service.app.pool.running == service.app.pool.workers)
    delays = [1000 * seconds(lambda: health.Check(health_pb2.HealthCheckRequest())) for _ in range(checks)]
    for analysis in analyses:
        analysis.stop()
    for reader in readers:
        reader.join()
    return sorted(delays)


def wait_for_ponderers_ms(service: Service, rounds: int) -> list[float]:
    """How long SuggestMove takes with one iteration while all workers ponder, sorted."""
    message = long_request(a_view().to_dict())
    message.budget.iterations = 1
    delays = []
    with others_turn(service), others_turn(service):
        for _ in range(rounds):
            wait_until(lambda: service.app.pool.lent == service.app.pool.workers)
            delays.append(1000 * seconds(lambda: service.stub.SuggestMove(message)))
    return sorted(delays)


def test_it_answers_and_stops_in_time(start: Start) -> None:
    """On any machine, busy ones too."""
    service = start()
    assert overhead_ms(service.stub, 30) < 50
    assert overshoots_ms(service.stub, 20, 5)[2] < 100
    assert stop_ms(service, 5)[2] < 200
    assert health_ms(service, 21)[10] < 250
    assert wait_for_ponderers_ms(service, 11)[5] < 200


@pytest.mark.soak
def test_figures_of_an_idle_machine(start: Start, spawn_service: Callable[..., Any]) -> None:
    service = start()
    # As users have it, in a process of its own: here the memory of all tests would be looked through for garbage.
    _, address = spawn_service()
    gc.collect()
    gc.freeze()
    with grpc.insecure_channel(address, [("grpc.enable_http_proxy", 0)]) as channel:
        stub = Stub(channel)
        overhead = overhead_ms(stub, 300)
        late = {
            time_ms: overshoots_ms(stub, time_ms, rounds)[int(0.99 * rounds)]
            for time_ms, rounds in ((20, 200), (200, 100), (2000, 20))
        }
    gc.unfreeze()
    stopped, health = stop_ms(service, 100), health_ms(service, 400)
    ponderers = wait_for_ponderers_ms(service, 200)
    print(f"overhead of SuggestMove {overhead:.2f} ms at the median", flush=True)
    for time_ms, ms in late.items():
        print(f"budget of {time_ms} ms: late by {ms:.2f} ms at p99, the way there and back included", flush=True)
    print(f"cancelled searches end after {stopped[98]:.2f} ms at p99", flush=True)
    print(f"health checks take {health[395]:.2f} ms at p99 while all workers analyze", flush=True)
    print(f"SuggestMove takes {ponderers[197]:.2f} ms at p99 with one iteration while all workers ponder", flush=True)
    assert overhead < 1.5
    assert all(ms < 5 for ms in late.values())
    assert stopped[98] < 20
    assert health[395] < 50
    assert ponderers[197] < 20


def test_a_stop_token_ends_a_slice_at_once() -> None:
    analysis, stop = ai.Analysis(a_view(), SearchParams(time_ms=60_000), 1), ai.StopToken()
    threading.Timer(0.1, stop.stop).start()
    assert seconds(lambda: analysis.run(30_000, stop)) < 5
