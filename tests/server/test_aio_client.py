"""bvb.aio.Client."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
import pytest

import bvb
import bvb.aio
from bvb.v1 import engine_pb2

from .conftest import Service
from .test_analyze_game import a_record
from .test_client import free_port
from .test_operation import wait_until
from .test_play_seat import a_game


def with_client(service: Service, use: Callable[[bvb.aio.Client], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        async with bvb.aio.Client(service.address, timeout_s=60) as client:
            return await use(client)

    return asyncio.run(run())


def without_time(answer: engine_pb2.SuggestMoveResponse) -> engine_pb2.SuggestMoveResponse:
    answer.ClearField("elapsed_ms")
    return answer


def test_single_answers(service: Service, position: dict[str, Any]) -> None:
    async def ask(client: bvb.aio.Client) -> Any:
        return await asyncio.gather(
            client.suggest_move(position, iterations=300, seed=1),
            client.list_legal_moves(position),
            client.engine_info(),
        )

    answer, moves, info = with_client(service, ask)
    assert without_time(answer) == without_time(service.client.suggest_move(position, iterations=300, seed=1))
    assert moves == service.client.list_legal_moves(position)
    assert info == service.client.engine_info()


def test_analyze(service: Service, position: dict[str, Any]) -> None:
    async def ask(client: bvb.aio.Client) -> None:
        updates = [update async for update in client.analyze(position, iterations=20_000, interval_ms=20)]
        assert [update.final for update in updates] == [False] * (len(updates) - 1) + [True]
        assert len(updates) > 1
        async with client.analyze(position, time_ms=50_000) as analysis:
            await anext(analysis)
            assert await analysis.stop()
            assert (await analysis.result()).stop_reason == engine_pb2.STOP_REASON_STOPPED
            with pytest.raises(ValueError, match="taken before"):
                await analysis.result()
        async with client.analyze(position, time_ms=50_000) as analysis:
            await anext(analysis)
        with pytest.raises(bvb.Error, match="budget"):
            await client.analyze(position).result()

    with_client(service, ask)
    wait_until(lambda: service.app.pool.running == 0, timeout_s=2)


def test_analyze_game(service: Service) -> None:
    async def ask(client: bvb.aio.Client) -> list[engine_pb2.AnalyzeGameResponse]:
        return [step async for step in client.analyze_game(a_record(), iterations=20, seed=1, count=4)]

    steps = with_client(service, ask)
    assert [step.WhichOneof("step") for step in steps] == ["review"] * 4 + ["summary"]


def test_play_seat(service: Service) -> None:
    view, lines, _ = a_game()

    async def ask(client: bvb.aio.Client) -> Any:
        seen: list[Any] = []
        async with await client.play_seat(view, iterations=5000, seed=2, thinking_interval_ms=20) as seat:
            await seat.events(lines)
            answer = await seat.move(on_thinking=seen.append)
            assert seen
            slow = asyncio.ensure_future(seat.move(time_ms=50_000))
            await asyncio.sleep(0.2)
            await seat.stop()
            assert (await slow).result.stop_reason == engine_pb2.STOP_REASON_STOPPED
            token = seat.token
        async with await client.resume_seat(token) as again:
            assert again.known_events == len(lines)
            await again.events(["nonsense"])
            await asyncio.sleep(0.5)  # until the server has answered
            with pytest.raises(bvb.Error) as caught:
                await again.move()
            assert caught.value.reason == "INVALID_EVENT"
        async with await client.play_seat(iterations=5) as other:
            await other.observe(view)
        with pytest.raises(bvb.Error, match="nobody"):
            await client.play_seat(bot="nobody")
        return answer

    with service.client.play_seat(view, iterations=5000, seed=2) as seat:
        seat.events(lines)
        assert seat.move().action == with_client(service, ask).action


def test_errors(service: Service, position: dict[str, Any]) -> None:
    async def ask(client: bvb.aio.Client) -> None:
        with pytest.raises(bvb.Error) as caught:
            await client.suggest_move(position)
        assert (caught.value.reason, caught.value.violations[0].field) == ("NO_BUDGET", "budget")

    with_client(service, ask)


def test_unreachable_server() -> None:
    async def ask() -> None:
        async with bvb.aio.Client(f"127.0.0.1:{free_port()}") as client:
            with pytest.raises(bvb.Error) as caught:
                await client.engine_info()
            assert caught.value.code == grpc.StatusCode.UNAVAILABLE

    asyncio.run(ask())
