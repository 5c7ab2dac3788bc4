"""Malformed and mutated requests: each gets a clear error or a valid answer, and the server lives on."""

import copy
import json
import logging
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import grpc
import pytest
from google.protobuf import json_format
from google.protobuf.message import Message
from grpc_health.v1 import health_pb2, health_pb2_grpc

import bvb
from bvb.v1 import bot_pb2, engine_pb2

from ..games import states
from .conftest import Service
from .test_operation import wait_until

REQUESTS = 2000
STREAMS = 200
# What a caller's own mistakes may lead to, besides OK.
DECLARED = {
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.NOT_FOUND,
    grpc.StatusCode.ALREADY_EXISTS,
    grpc.StatusCode.FAILED_PRECONDITION,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
}
NUMBERS = (-(2**31), -1, 0, 1, 2, 3, 4, 5, 6, 7, 50, 108, 255, 256, 65536, 2**31 - 1)
WORDS = (
    "",
    "land",
    "sea",
    "bear_head",
    "land_head",
    "sky_baby_3",
    "mask",
    "tool",
    "mini_body",
    "armless_body",
    "?",
)


def containers(value: Any) -> list[Any]:
    """All non-empty lists and objects inside a JSON value."""
    found = [value] if value and isinstance(value, dict | list) else []
    for child in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        found += containers(child)
    return found


def mutate(rng: random.Random, request: dict[str, Any]) -> None:
    """Change one place of a request into something of the same JSON type, repeat or remove it."""
    container = rng.choice(containers(request))
    key = rng.choice(list(container) if isinstance(container, dict) else range(len(container)))
    value = container[key]
    what = rng.random()
    if what < 0.15:
        del container[key]
    elif isinstance(container, list) and what < 0.3:
        container.insert(key, copy.deepcopy(value))
    elif isinstance(value, bool):
        container[key] = not value
    elif isinstance(value, int):
        container[key] = rng.choice([value + 1, value - 1, rng.choice(NUMBERS)])
    elif isinstance(value, str) and not value.startswith("PENDING"):
        container[key] = rng.choice(WORDS)
    elif isinstance(value, list) and value:
        rng.shuffle(value)
    else:
        del container[key]


def garble(rng: random.Random, data: bytes) -> bytes:
    """Flip, cut out, or add bytes."""
    garbled = bytearray(data)
    for _ in range(rng.randint(1, 8)):
        place = rng.randrange(len(garbled))
        match rng.randrange(3):
            case 0:
                garbled[place] ^= 1 << rng.randrange(8)
            case 1:
                del garbled[place : place + rng.randint(1, 30)]
            case 2:
                garbled[place:place] = rng.randbytes(rng.randint(1, 10))
        if not garbled:
            return b"\xff"
    return bytes(garbled)


def test_mutated_requests(service: Service) -> None:
    rng = random.Random(2000)
    send = service.channel.unary_unary("/bvb.v1.EngineService/SuggestMove")
    outcomes: Counter[str] = Counter()
    for state in states(REQUESTS // 10, seed=9):
        view = state.observation(state.current_player).to_dict()
        for trial in range(10):
            request = {
                "observation": copy.deepcopy(view),
                "budget": {"iterations": 5},
                "seed": 1,
                "threads": 1,
            }
            for _ in range(rng.randint(1, 4)):
                mutate(rng, request)
            budget = request.get("budget")
            if isinstance(budget, dict):  # a mutated budget may be valid and long
                budget["iterations"] = min(budget.get("iterations", 0), 5)
            if "seed" in request:
                request["seed"] = abs(request["seed"])
            message = json_format.ParseDict(request, engine_pb2.SuggestMoveRequest())
            data = message.SerializeToString()
            if trial >= 8:
                data = garble(rng, data)
            try:
                answer = engine_pb2.SuggestMoveResponse.FromString(send(data, timeout=5))
            except grpc.RpcError as caught:
                error = bvb.Error.from_call(caught)
                assert error.code == grpc.StatusCode.INVALID_ARGUMENT, (error, request)
                assert error.message
                if error.reason != "MALFORMED_REQUEST":
                    assert error.violations
                    assert all(violation.field and violation.description for violation in error.violations)
                outcomes[error.reason] += 1
            else:
                asked = engine_pb2.SuggestMoveRequest.FromString(data)
                legal = service.client.list_legal_moves(asked.observation).actions
                assert answer.action in legal
                outcomes["OK"] += 1
    assert outcomes.total() == REQUESTS
    assert outcomes["OK"] > 50, outcomes
    assert outcomes["MALFORMED_REQUEST"] > 50, outcomes
    assert outcomes["INVALID_OBSERVATION"] > REQUESTS / 4, outcomes
    health = health_pb2_grpc.HealthStub(service.channel)
    assert health.Check(health_pb2.HealthCheckRequest()).status == health_pb2.HealthCheckResponse.SERVING


# ---------------------------------------------------------------- streams


def made(rng: random.Random, kind: type[Message], fields: dict[str, Any], changes: int) -> bytes:
    """The bytes of a message after some changes, some of them of bytes. Its budget stays small."""
    fields = copy.deepcopy(fields)
    for _ in range(changes):
        mutate(rng, fields)
    message: Any = kind()
    try:
        json_format.ParseDict(fields, message, ignore_unknown_fields=True)
    except json_format.ParseError:  # a change has made it no message of its kind
        return rng.randbytes(20)
    for part in (message, *(getattr(message, name) for name in ("search", "start", "move") if hasattr(message, name))):
        if part.ByteSize() and hasattr(part, "budget") and part.HasField("budget"):
            part.budget.iterations = min(part.budget.iterations, 20) or 20
    data: bytes = message.SerializeToString()
    return garble(rng, data) if data and rng.random() < 0.15 else data


def outcome_of(service: Service, method: str, requests: list[bytes]) -> str:
    """Call a method that answers a stream, and check how the call ends: the reason, or OK."""
    path = f"/bvb.v1.{method}"
    call: Any
    if method == "BotService/PlaySeat":
        call = service.channel.stream_stream(path)(iter(requests), timeout=10)
    else:
        call = service.channel.unary_stream(path)(requests[0], timeout=10)
    try:
        for _ in call:
            pass
    except grpc.RpcError as caught:
        error, everything = bvb.Error.from_call(caught), f"{caught} {caught.trailing_metadata()}"
        assert error.code in DECLARED, (method, error)
        assert error.message
        assert error.reason, error
        assert "Traceback" not in everything
        if error.code == grpc.StatusCode.INVALID_ARGUMENT and error.reason != "MALFORMED_REQUEST":
            assert error.violations, error
        return error.reason
    return "OK"


def analyses(rng: random.Random) -> Iterator[tuple[str, list[bytes]]]:
    for state in states(STREAMS, seed=10):
        view = state.observation(state.current_player).to_dict()
        search = {"observation": view, "budget": {"iterations": 5}, "seed": 1, "threads": 1, "multi_pv": 2, "bot": "ismcts"}
        request = {"search": search, "interval_ms": 20, "query_id": rng.choice(["", "a", "b"])}
        yield "EngineService/Analyze", [made(rng, engine_pb2.AnalyzeRequest, request, rng.randrange(4))]


def stops(rng: random.Random) -> Iterator[tuple[str, list[bytes]]]:
    for _ in range(STREAMS):
        request = {"query_id": rng.choice([*WORDS, "a" * 10_000, "\x00"])}
        yield "EngineService/StopAnalysis", [made(rng, engine_pb2.StopAnalysisRequest, request, rng.randrange(2))]


def reviews(rng: random.Random) -> Iterator[tuple[str, list[bytes]]]:
    for state in states(STREAMS, seed=11):
        record = state.to_record()
        if rng.random() < 0.6:
            mutate(rng, record)
        text = json.dumps(record)
        if rng.random() < 0.1:
            text = text[: rng.randrange(len(text))]
        request = {
            "record": text, "budget": {"iterations": 2}, "seed": 1, "threads": 1, "seats": [0, 1], "bot": "ismcts",
            "first": max(0, len(record.get("actions", [])) - 2), "count": 2, "marks": 3, "multi_pv": 1,
        }  # fmt: skip
        yield "EngineService/AnalyzeGame", [made(rng, engine_pb2.AnalyzeGameRequest, request, rng.randrange(3))]


def conversations(rng: random.Random) -> Iterator[tuple[str, list[bytes]]]:
    for state in states(STREAMS, seed=12):
        seat = state.current_player
        keep = rng.random() < 0.5
        start = {
            "initial_view": state.observation(seat).to_dict(), "bot": "ismcts", "seed": 1, "threads": 1, "multi_pv": 1,
            "budget": {"iterations": 5}, "min_think_ms": 0, "move_overhead_ms": 0, "thinking_interval_ms": 20,
            "keep_tree": keep, "ponder": keep and rng.random() < 0.5,
        }  # fmt: skip
        messages: list[dict[str, Any]] = [{"start": start}, {"move": {"budget": {"iterations": 3}, "request_id": "a"}}]
        for _ in range(rng.randrange(4)):
            state.apply(rng.choice(state.legal_actions()))
            messages.append({"events": {"lines": state.events(seat), "first": rng.randrange(3)}})
            if state.is_terminal:
                break
            messages.append({"observation": state.observation(seat).to_dict()})
            messages.append(rng.choice([{"move": {"request_id": "b"}}, {"stop": {}}]))
        if rng.random() < 0.3:
            rng.shuffle(messages)
        kind = bot_pb2.PlaySeatRequest
        yield "BotService/PlaySeat", [made(rng, kind, message, rng.random() < 0.2) for message in messages]


@pytest.mark.parametrize("make", [analyses, stops, reviews, conversations])
def test_mutated_streams(service: Service, caplog: pytest.LogCaptureFixture, make: Any) -> None:
    rng = random.Random(2001)
    outcomes: Counter[str] = Counter()
    with caplog.at_level(logging.ERROR):
        for method, requests in make(rng):
            outcomes[outcome_of(service, method, requests)] += 1
    assert outcomes["OK"] > STREAMS / 20, outcomes
    assert outcomes["MALFORMED_REQUEST"] > STREAMS / 100, outcomes
    assert "INTERNAL" not in outcomes
    assert not caplog.records
    health = health_pb2_grpc.HealthStub(service.channel)
    assert health.Check(health_pb2.HealthCheckRequest()).status == health_pb2.HealthCheckResponse.SERVING
    wait_until(lambda: service.app.pool.running == 0)
    assert service.app.pool.lent == service.app.pool.waiting == 0
