"""Malformed and mutated requests: each gets a clear error or a valid answer, and the server lives on."""

import copy
import random
from collections import Counter
from typing import Any

import grpc
from google.protobuf import json_format
from grpc_health.v1 import health_pb2, health_pb2_grpc

import bvb
from bvb.v1 import engine_pb2

from ..games import states
from .conftest import Service

REQUESTS = 2000
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
