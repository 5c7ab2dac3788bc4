"""bvb.Client."""

import json
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import grpc
import pytest

import bvb.aio
from bvb.client import observation_message

from ..games import a_state
from .conftest import Service, running


def test_every_form_of_a_position(service: Service, position: dict[str, Any]) -> None:
    state = a_state()
    core = state.observation(state.current_player)
    answers = [
        service.client.suggest_move(form, iterations=50, seed=1).alternatives
        for form in (position, json.dumps(position), observation_message(position), core)
    ]
    assert all(answer == answers[0] for answer in answers)


def test_lower_camel_case_names(service: Service, position: dict[str, Any]) -> None:
    renamed = json.loads(json.dumps(position).replace("hand_count", "handCount").replace("pile_c", "pileC"))
    assert renamed != position
    assert observation_message(renamed) == observation_message(position)


@pytest.mark.parametrize("form", ["[1, 2]", "3", "{", '{"seat": "x"}', '{"unheard_of": 1}', 7, None])
def test_not_an_observation(service: Service, form: Any) -> None:
    with pytest.raises(ValueError, match=r".+"):
        service.client.suggest_move(form, iterations=1)


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (lambda p: p.update(fly=2), "not an observation: there is no field 'fly'; there are rules, seat, turn_number, "),
        (
            lambda p: p["players"][1].update(cards=3),
            "not an observation: players[1]: there is no field 'cards'; there are hand_count, hand, located, collected",
        ),
    ],
)
def test_a_field_that_is_not_there(position: dict[str, Any], spoil: Callable[[Any], object], problem: str) -> None:
    spoil(position)
    with pytest.raises(ValueError, match=re.escape(problem)):
        observation_message(position)


@pytest.mark.parametrize("kind", [bvb.Client, bvb.aio.Client])
@pytest.mark.parametrize(
    ("method", "listed"),
    [
        ("suggest_move", ["iterations", "search_token", "timeout_s"]),
        ("analyze", ["iterations", "search_token", "interval_ms", "timeout_s"]),
        ("analyze_game", ["iterations", "marks", "timeout_s"]),
        ("play_seat", ["iterations", "ponder"]),
    ],
)
def test_an_option_that_is_not_there(kind: Any, method: str, listed: list[str]) -> None:
    """All client methods say it in their own name, before anything is sent."""
    with pytest.raises(TypeError, match=rf"^{method}\(\) has no option 'time'; there are ") as caught:
        getattr(kind, method)(None, None, time=1)
    assert set(listed) <= set(str(caught.value).partition("there are ")[2].split(", "))


def test_error(service: Service, position: dict[str, Any]) -> None:
    with pytest.raises(bvb.Error, match=r"INVALID_ARGUMENT: budget: ") as caught:
        service.client.suggest_move(position)
    error = caught.value
    assert error.code == grpc.StatusCode.INVALID_ARGUMENT
    assert error.violations[0].field == "budget"
    assert error.reason == "NO_BUDGET"
    assert error.retry_after_s is None


def test_timeout() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        with bvb.Client(address, timeout_s=0.2) as client, pytest.raises(bvb.Error) as caught:
            client.engine_info()
    assert caught.value.code == grpc.StatusCode.DEADLINE_EXCEEDED


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def test_unreachable_server() -> None:
    with bvb.Client(f"127.0.0.1:{free_port()}") as client, pytest.raises(bvb.Error) as caught:
        client.engine_info()
    assert caught.value.code == grpc.StatusCode.UNAVAILABLE


def test_a_server_that_comes_up_late_is_tried_again() -> None:
    """The first attempts are refused: there is no listener until the connection has failed."""
    port = free_port()
    answers = []

    def ask() -> None:
        with bvb.Client(f"127.0.0.1:{port}") as client:
            answers.append(client.engine_info())

    caller = threading.Thread(target=ask)
    caller.start()
    time.sleep(0.05)
    with running(port=port):
        caller.join(timeout=10)
    assert answers


def test_needs_no_compiled_package(service: Service) -> None:
    script = (
        "import sys\n"
        "class Missing:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.split('.')[0] in ('bvb_core', 'ai', 'server', 'numpy'):\n"
        "            raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Missing())\n"
        "import bvb\n"
        "from bvb.v1 import action_pb2, deck_pb2, engine_pb2, engine_pb2_grpc, observation_pb2\n"
        "print(bvb.Client(sys.argv[1]).engine_info().version)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, service.address],
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert done.stdout.strip() == service.client.engine_info().version
