"""The service under load, faults, and shutdown."""

import asyncio
import json
import logging
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor import FieldDescriptor
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

import bvb
from bvb.client import observation_message
from bvb.v1 import bot_pb2, bot_pb2_grpc, engine_pb2
from server.engine import Engine

from ..conftest import ROOT
from ..games import a_state
from .conftest import Service

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
Start = Callable[..., Service]
Spawn = Callable[..., tuple[subprocess.Popen[str], str]]


def long_request(position: dict[str, Any], time_ms: int = 30_000, threads: int = 1) -> engine_pb2.SuggestMoveRequest:
    return engine_pb2.SuggestMoveRequest(observation=observation_message(position), budget={"time_ms": time_ms}, threads=threads)


def wait_until(condition: Callable[[], bool], timeout_s: float = 5) -> None:
    end = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_health_and_reflection(service: Service) -> None:
    health = health_pb2_grpc.HealthStub(service.channel)
    for name in ("", "bvb.v1.EngineService"):
        assert health.Check(health_pb2.HealthCheckRequest(service=name)).status == SERVING
    services = ProtoReflectionDescriptorDatabase(service.channel).get_services()
    assert {"bvb.v1.EngineService", "grpc.health.v1.Health"} <= set(services)


def test_health_answers_while_all_workers_search(start: Start, position: dict[str, Any]) -> None:
    service = start()
    health = health_pb2_grpc.HealthStub(service.channel)
    searches = [service.stub.SuggestMove.future(long_request(position)) for _ in range(2)]
    wait_until(lambda: service.app.pool.running == 2)
    delays = []
    for _ in range(21):
        before = time.monotonic()
        assert health.Check(health_pb2.HealthCheckRequest(), timeout=5).status == SERVING
        delays.append(time.monotonic() - before)
    assert sorted(delays)[10] < 0.25
    for search in searches:
        search.cancel()


def test_cancelled_search_ends(start: Start, position: dict[str, Any]) -> None:
    service = start()
    search = service.stub.SuggestMove.future(long_request(position))
    wait_until(lambda: service.app.pool.running == 1)
    search.cancel()
    wait_until(lambda: service.app.pool.running == 0, timeout_s=1)


@pytest.mark.parametrize("method", ["AnalyzeGame", "PlaySeat"])
def test_expired_call_ends_its_search(start: Start, position: dict[str, Any], method: str) -> None:
    """The others answer before they expire."""
    service = start()
    with pytest.raises(grpc.RpcError) as caught:
        call_any(service, position, method, timeout_s=0.3)
    assert caught.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED
    wait_until(lambda: service.app.pool.running == 0, timeout_s=1)


@pytest.mark.parametrize("method", ["SuggestMove", "Analyze", "AnalyzeGame", "PlaySeat"])
def test_expired_call_waits_no_longer(start: Start, position: dict[str, Any], method: str) -> None:
    service = start()
    blocker = service.stub.SuggestMove.future(long_request(position, threads=2))
    wait_until(lambda: service.app.pool.running == 1)
    with pytest.raises(grpc.RpcError) as caught:
        call_any(service, position, method, timeout_s=0.3)
    assert caught.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED
    wait_until(lambda: service.app.pool.waiting == 0, timeout_s=1)
    blocker.cancel()
    wait_until(lambda: service.app.pool.running == 0, timeout_s=1)


def call_any(service: Service, position: dict[str, Any], method: str, timeout_s: float = 5) -> None:
    """A call that searches for longer than its deadline, to the end."""
    search = long_request(position, time_ms=50_000)
    if method == "SuggestMove":
        service.stub.SuggestMove(search, timeout=timeout_s)
    elif method == "Analyze":
        list(service.stub.Analyze(engine_pb2.AnalyzeRequest(search=search), timeout=timeout_s))
    elif method == "AnalyzeGame":
        record = json.dumps(a_state().to_record())
        request = engine_pb2.AnalyzeGameRequest(record=record, budget=search.budget)
        list(service.stub.AnalyzeGame(request, timeout=timeout_s))
    else:
        start = bot_pb2.SeatStart(initial_view=search.observation, budget=search.budget)
        requests = [bot_pb2.PlaySeatRequest(start=start), bot_pb2.PlaySeatRequest(move={})]
        list(bot_pb2_grpc.BotServiceStub(service.channel).PlaySeat(iter(requests), timeout=timeout_s))


def client_process(service: Service, tmp_path: Path, request: engine_pb2.SuggestMoveRequest) -> "subprocess.Popen[bytes]":
    """A client of its own process whose search is running."""
    file = tmp_path / "request"
    file.write_bytes(request.SerializeToString())
    script = (
        "import grpc, sys; channel = grpc.insecure_channel(sys.argv[1], [('grpc.enable_http_proxy', 0)]); "
        "channel.unary_unary('/bvb.v1.EngineService/SuggestMove')(open(sys.argv[2], 'rb').read())"
    )
    client = subprocess.Popen([sys.executable, "-c", script, service.address, str(file)])
    wait_until(lambda: service.app.pool.running == 1, timeout_s=20)
    return client


def test_search_of_a_vanished_client_ends(start: Start, position: dict[str, Any], tmp_path: Path) -> None:
    service = start()
    client = client_process(service, tmp_path, long_request(position))
    client.kill()
    client.wait()
    wait_until(lambda: service.app.pool.running == 0, timeout_s=2)


def test_stalled_client_holds_no_worker_longer_than_its_search(start: Start, position: dict[str, Any], tmp_path: Path) -> None:
    service = start()
    client = client_process(service, tmp_path, long_request(position, time_ms=3000))
    client.send_signal(signal.SIGSTOP)
    wait_until(lambda: service.app.pool.running == 0, timeout_s=5)
    assert service.client.suggest_move(position, iterations=1, timeout_s=5).iterations == 1
    client.kill()
    client.wait()


def test_stalled_client_is_noticed(start: Start, position: dict[str, Any], tmp_path: Path) -> None:
    """It gives no sign of life: its connection is closed, and what it had asked for ends."""
    service = start(keepalive_s=1.5)
    client = client_process(service, tmp_path, long_request(position, time_ms=50_000))
    client.send_signal(signal.SIGSTOP)
    wait_until(lambda: service.app.pool.running == 0, timeout_s=10)
    client.kill()
    client.wait()


def test_overload_says_when_to_come_back(start: Start, position: dict[str, Any]) -> None:
    service = start(queue=1)
    calls = [service.stub.SuggestMove.future(long_request(position)) for _ in range(2)]
    wait_until(lambda: service.app.pool.running == 2)
    calls.append(service.stub.SuggestMove.future(long_request(position)))
    wait_until(lambda: service.app.pool.waiting == 1)
    with pytest.raises(bvb.Error) as caught:
        service.client.suggest_move(position, iterations=1)
    assert caught.value.code == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert caught.value.reason == "BUSY"
    assert caught.value.retry_after_s is not None
    assert caught.value.retry_after_s > 0
    calls[2].cancel()
    wait_until(lambda: service.app.pool.waiting == 0)
    for call in calls:
        call.cancel()
    wait_until(lambda: service.app.pool.running == 0)
    assert service.client.suggest_move(position, iterations=1).iterations == 1


def test_waiting_searches_get_their_turn_in_order(start: Start, position: dict[str, Any]) -> None:
    service = start(queue=8)
    ended: list[int] = []

    def ask(number: int) -> None:
        service.client.suggest_move(position, time_ms=100, threads=2 if number % 2 else 1)
        ended.append(number)

    blocker = service.stub.SuggestMove.future(long_request(position, threads=2))
    wait_until(lambda: service.app.pool.running == 1)
    with ThreadPoolExecutor(5) as executor:
        for number in range(5):
            executor.submit(ask, number)
            wait_until(lambda number=number: service.app.pool.waiting == number + 1)
        blocker.cancel()
    assert ended == [0, 1, 2, 3, 4]


def test_more_threads_than_workers(start: Start, position: dict[str, Any]) -> None:
    service = start(workers=1)
    assert service.client.suggest_move(position, iterations=20, threads=2, timeout_s=5).iterations == 20


@pytest.mark.parametrize("method", ["SuggestMove", "Analyze", "AnalyzeGame", "PlaySeat"])
def test_exception_text_stays_in_the_log(
    service: Service,
    position: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    method: str,
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("the secret")

    monkeypatch.setattr(Engine, "search", fail)
    with caplog.at_level(logging.ERROR), pytest.raises(grpc.RpcError) as caught:
        call_any(service, position, method)
    error = bvb.Error.from_call(caught.value)
    assert error.code == grpc.StatusCode.INTERNAL
    assert error.reason == "INTERNAL"
    assert "secret" not in str(caught.value)
    assert "secret" not in str(caught.value.trailing_metadata())
    assert "the secret" in caplog.text
    incident = error.message.split()[-1]
    assert incident in caplog.text


def test_garbage_bytes(service: Service) -> None:
    channel = service.channel
    for call in (
        lambda data: channel.unary_unary("/bvb.v1.EngineService/SuggestMove")(data),
        lambda data: channel.unary_unary("/bvb.v1.EngineService/ListLegalMoves")(data),
        lambda data: list(channel.unary_stream("/bvb.v1.EngineService/Analyze")(data)),
        lambda data: list(channel.unary_stream("/bvb.v1.EngineService/AnalyzeGame")(data)),
        lambda data: list(channel.stream_stream("/bvb.v1.BotService/PlaySeat")(iter([data]))),
    ):
        with pytest.raises(grpc.RpcError) as caught:
            call(b"\x0a\xff garbage")
        error = bvb.Error.from_call(caught.value)
        assert (error.code, error.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "MALFORMED_REQUEST")


def test_too_long_request(service: Service) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        service.channel.unary_unary("/bvb.v1.EngineService/SuggestMove")(bytes(2**20))
    assert caught.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED


def test_closed_pool_answers_everyone(start: Start, position: dict[str, Any]) -> None:
    service = start(workers=1, queue=4)
    running = service.stub.SuggestMove.future(long_request(position), timeout=20)
    wait_until(lambda: service.app.pool.running == 1)
    waiting = service.stub.SuggestMove.future(long_request(position), timeout=20)
    wait_until(lambda: service.app.pool.waiting == 1)
    service.loop.call_soon_threadsafe(service.app.pool.close)
    assert running.result(timeout=5).stop_reason == engine_pb2.STOP_REASON_STOPPED
    assert waiting.code() == grpc.StatusCode.UNAVAILABLE
    with pytest.raises(grpc.RpcError) as caught:
        service.stub.SuggestMove(long_request(position), timeout=5)
    assert caught.value.code() == grpc.StatusCode.UNAVAILABLE


@pytest.mark.parametrize("method", ["SuggestMove", "Analyze", "AnalyzeGame", "PlaySeat"])
def test_cancelled_handler_does_not_hang_the_client(
    service: Service, position: dict[str, Any], monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    async def cancelled(*_: object, **__: object) -> None:
        raise asyncio.CancelledError

    monkeypatch.setattr(service.app.pool, "run", cancelled)
    with pytest.raises(grpc.RpcError) as caught:
        call_any(service, position, method)
    assert caught.value.code() == grpc.StatusCode.UNAVAILABLE


def test_two_servers_do_not_share_a_port(spawn_service: Spawn) -> None:
    _, address = spawn_service()
    second = subprocess.run(
        [sys.executable, "-m", "bvb", "serve", "--port", address.rsplit(":", 1)[1]],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert second.returncode == 1
    assert second.stdout == ""
    assert re.fullmatch(r"Error: cannot listen on 127\.0\.0\.1:\d+: Address already in use\n", second.stderr)


def test_sigterm_under_load(spawn_service: Spawn, position: dict[str, Any]) -> None:
    process, address = spawn_service("--workers", "1")
    with grpc.insecure_channel(address, [("grpc.enable_http_proxy", 0)]) as channel:
        seen: list[int] = []

        def watch() -> None:
            try:
                for update in health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest()):
                    seen.append(update.status)
            except grpc.RpcError:
                pass

        watcher = threading.Thread(target=watch)
        watcher.start()
        call = channel.unary_unary("/bvb.v1.EngineService/SuggestMove")
        data = long_request(position).SerializeToString()
        running = call.future(data)
        time.sleep(0.3)
        waiting = call.future(data)
        wait_until(lambda: seen == [SERVING])
        time.sleep(0.3)
        process.send_signal(signal.SIGTERM)
        answer = engine_pb2.SuggestMoveResponse.FromString(running.result(timeout=5))
        assert answer.stop_reason == engine_pb2.STOP_REASON_STOPPED
        assert answer.iterations > 0
        assert waiting.code() == grpc.StatusCode.UNAVAILABLE
        assert process.wait(timeout=10) == 0
        watcher.join(timeout=5)
        assert seen == [SERVING, NOT_SERVING]


def test_proxy_settings_do_not_hijack_loopback(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "grpc_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    with bvb.Client(service.address, timeout_s=5) as client:
        assert client.engine_info().version


def test_one_process_serves(spawn_service: Spawn, position: dict[str, Any]) -> None:
    """gRPC does not survive a fork: searches run in threads of the one process."""
    process, address = spawn_service()
    with bvb.Client(address) as client:
        client.suggest_move(position, iterations=100, threads=os.cpu_count() or 1)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
    assert children == ""


def test_no_process_is_forked() -> None:
    """Pools of processes say how they start them, and it is by spawn."""
    contexts = re.compile(r"(?:ProcessPoolExecutor\(|get_context\(|os\.fork|multiprocessing\.Pool|Process\()[^\n]*")
    found = [
        line
        for folder in ("ai", "server", "bvb")
        for path in (ROOT / folder).rglob("*.py")
        for line in contexts.findall(path.read_text(encoding="utf-8"))
    ]
    assert found
    pools = [line for line in found if line.startswith("ProcessPoolExecutor(")]
    assert all("get_context(" in line or "mp_context=" in line for line in pools), pools
    assert all('get_context("spawn")' in line or "mp_context=" in line for line in found), found


def test_no_field_has_64_bits() -> None:
    """They become text in JSON and BigInt in JavaScript."""
    wide = {FieldDescriptor.CPPTYPE_INT64, FieldDescriptor.CPPTYPE_UINT64}
    fields = [
        field
        for module in (engine_pb2, bot_pb2)
        for file in (module.DESCRIPTOR, *module.DESCRIPTOR.dependencies)
        for message in file.message_types_by_name.values()
        for field in message.fields
    ]
    assert len(fields) > 100
    assert [field.full_name for field in fields if field.cpp_type in wide] == []
