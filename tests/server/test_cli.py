"""The `bvb` command: what scripts rely on."""

import importlib.metadata
import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import bvb as bvb_package
import bvb_core
from ai.bots import BOTS
from ai.params import settings_of
from server.cli_options import progress

from ..games import a_state
from .conftest import Service

COMMANDS = ("serve", "suggest", "analyze", "record", "replay", "position", "bench")
BOTH = {"action", "win_probability", "expected_score"}
SUGGESTION = BOTH | {"alternatives", "iterations", "elapsed_ms", "stop_reason", "warnings"}
ALTERNATIVE = BOTH | {"equivalent", "visits", "availability", "pv"}


def bvb(*arguments: str, stdin: str = "") -> "subprocess.CompletedProcess[str]":
    done = subprocess.run(
        [sys.executable, "-m", "bvb", *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "Traceback" not in done.stderr
    return done


def data(*arguments: str, stdin: str = "") -> str:
    done = bvb(*arguments, stdin=stdin)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("records") / "games.jsonl"
    path.write_text(data("record", "--players", "3", "--games", "3", "--seed", "5", "--legal"))
    return path


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(command: str) -> None:
    text = data(command, "--help")
    assert f"bvb {command}" in text.split("Example:")[1]


@pytest.mark.parametrize(
    "arguments",
    [
        ["fly"],
        ["suggest"],
        ["suggest", "no-such-file.json"],
        ["suggest", "-", "--iterations", "0"],
        ["record", "--players", "9"],
        ["record", "--players", "2", "--bots", "nobody"],
        ["record", "--players", "2", "--bots", "random,random,random"],
        ["replay"],
        ["position", "-"],
        ["serve", "--port", "70000"],
        ["record", "--players", "2", "--deck", "no-such-deck.toml"],
        ["suggest", "-", "--server", "localhost:1", "--deck", "bvb_core/bears/deck.toml"],
        ["suggest", "-", "--server", "localhost"],
        ["play", "--server", "localhost:port"],
        ["analyze", "-", "--server", ":50051"],
    ],
    ids=" ".join,
)
def test_bad_usage(arguments: list[str]) -> None:
    done = bvb(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Error: " in done.stderr


def test_suggest_json(position_file: Path, position: dict[str, Any]) -> None:
    answer = json.loads(data("suggest", str(position_file), "--iterations", "200", "--seed", "1", "--json"))
    assert set(answer) >= SUGGESTION
    assert answer["iterations"] == 200
    assert answer["stop_reason"] == "iterations"
    assert answer["action"] == answer["alternatives"][0]["action"]
    assert answer["win_probability"] == answer["alternatives"][0]["win_probability"]
    for alternative in answer["alternatives"]:
        assert set(alternative) >= ALTERNATIVE
    legal = [str(action) for action in a_state().legal_actions()]
    covered = [move for a in answer["alternatives"] for move in (a["action"], *a["equivalent"])]
    assert sorted(covered) == legal


def test_suggest_here_or_on_a_server(service: Service, position: dict[str, Any]) -> None:
    options = ["suggest", "-", "--iterations", "100", "--seed", "1", "--multi-pv", "3", "--json"]
    here, there = (json.loads(data(*options, *more, stdin=json.dumps(position))) for more in ([], ["--server", service.address]))
    for answer in (here, there):
        answer.pop("elapsed_ms")
    assert here == there
    assert len(here["alternatives"]) == 3


def test_suggest_for_people(position_file: Path) -> None:
    text = data("suggest", str(position_file), "--iterations", "100")
    assert text.startswith("best move: ")
    assert re.findall(r"^  seat (\d): wins .*points( \(to move\))?$", text, re.MULTILINE) == [
        ("0", ""), ("1", ""), ("2", " (to move)")
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["", "nonsense", "[]", '{"seat": {}}', '{"rules": {"players": 3}, "seat": 0}'])
def test_suggest_without_a_position(text: str) -> None:
    done = bvb("suggest", "-", stdin=text)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: ")


def test_suggest_names_the_wrong_field(position: dict[str, Any], service: Service) -> None:
    position["pile_counts"][1] = -4
    for more in ([], ["--server", service.address]):
        done = bvb("suggest", "-", "--iterations", "1", *more, stdin=json.dumps(position))
        assert (done.returncode, done.stdout) == (1, "")
        assert "pile_counts[1]: " in done.stderr


@pytest.mark.parametrize("command", [["suggest", "-"], ["analyze", "-"], ["play"]], ids=" ".join)
def test_a_server_that_is_not_there_is_found_before_anything_else(command: list[str]) -> None:
    done = bvb(*command, "--server", "127.0.0.1:9", stdin="nonsense")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: no bvb server answers at 127.0.0.1:9: ")


def test_something_else_than_a_server() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        done = bvb("suggest", "-", "--server", address)
    assert done.stderr.startswith(f"Error: no bvb server answers at {address}: ")


def test_a_record_in_place_of_an_observation(records: Path) -> None:
    for text in (records.read_text(), records.read_text().splitlines()[0], json.dumps({"deal": {}}, indent=2)):
        done = bvb("suggest", "-", stdin=text)
        assert done.returncode == 1
        assert "this is the record of a game" in done.stderr
        assert "bvb position FILE --after N" in done.stderr


@pytest.mark.parametrize(
    "command", [["replay"], ["position", "--after", "0"], ["analyze", "--iterations", "1"], ["play", "--load"]], ids=" ".join
)
def test_an_observation_in_place_of_a_record(position_file: Path, command: list[str]) -> None:
    done = bvb(*command, str(position_file))
    assert done.returncode == 1
    assert "this is an observation" in done.stderr


@pytest.mark.parametrize(
    "command",
    [["suggest", "-"], ["replay", "-"], ["position", "-", "--after", "0"], ["analyze", "-"], ["play", "--save", "game.json"]],
    ids=" ".join,
)
@pytest.mark.parametrize("closed", [0, 1, 2])
def test_closed_standard_streams(command: list[str], closed: int, tmp_path: Path) -> None:
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {closed}>&-', "sh", sys.executable, "-m", "bvb", *command],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode in (0, 1)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", ["record", "arena", "export", "play"])
def test_help_lists_the_bots(command: str) -> None:
    listed = " ".join(data(command, "--help").split("Bots, as NAME")[1].split())
    assert all(f" {name} {kind.description}" in listed for name, kind in BOTS.items())


@pytest.mark.parametrize("command", ["record", "arena", "export", "play"])
def test_help_lists_the_settings_of_bots(command: str) -> None:
    text = data(command, "--help").split("Settings of bots")[1]
    for kind in BOTS.values():
        for setting in settings_of(kind.params) if kind.params else ():
            low, high, default = (int(n) if setting.whole else n for n in (setting.low, setting.high, setting.default))
            assert f"\n    {setting.name} " in text
            assert f" {low} to {high}, default {default}: {setting.doc.split()[0]}" in text
    assert "time_ms  " in text


def test_help_has_whole_summaries() -> None:
    assert "..." not in data("--help").split("Commands:")[1]


def test_progress(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A line an interval, by the time that those took that were done since the first report."""
    clock = iter([100.0, 102.0, 104.0, 109.0, 115.0, 116.0])
    monkeypatch.setattr("server.cli_options.time.monotonic", lambda: next(clock))
    report = progress("moves", 10)
    for done in (4, 5, 6, 7, 10):
        report(done)
    assert capsys.readouterr().err == "7/10 moves, 13 s left\n"


def test_version() -> None:
    version = importlib.metadata.version("bvb-engine")
    assert data("--version") == version + "\n"
    assert bvb_core.__version__ == bvb_package.__version__ == version


def test_one_of_everything(tmp_path: Path) -> None:
    game = bvb_core.new_game(players=2, seed=1, first_player=0)
    game.apply(game.legal_actions()[0])
    record = json.dumps(game.to_record())
    assert "1 game with 1 action correct" in data("replay", "-", stdin=record)
    assert "seat 0: 1 move, " in data("analyze", "-", "--seat", "0", "--iterations", "1", stdin=record)
    position = json.dumps(game.observation(game.current_player).to_dict())
    assert "1 iteration in " in data("suggest", "-", "--iterations", "1", stdin=position)
    done = bvb("export", "--players", "2", "--practice", "--bots", "random", "--out", str(tmp_path / "x.npz"))
    assert ": 1 game in 1 file with" in done.stderr
    assert "\n1 deal, 2 players" in data_of_arena("--games", "1")


def data_of_arena(*options: str) -> str:
    done = bvb("arena", "--bots", "random,random", "--players", "2", "--practice", "--workers", "1", *options)
    assert done.returncode == 0
    return done.stdout


def test_record_and_export_play_the_same_games(tmp_path: Path) -> None:
    options = ["--players", "2", "--games", "2", "--seed", "4", "--bots", "random,greedy", "--practice", "--armageddon"]
    assert bvb("export", *options, "--out", str(tmp_path / "games.npz")).returncode == 0
    assert (tmp_path / "games.jsonl").read_text() == data("record", *options)


def test_record(records: Path) -> None:
    games = [json.loads(line) for line in records.read_text().splitlines()]
    assert len(games) == 3
    assert len({json.dumps(game["deal"]) for game in games}) == 3
    for game in games:
        assert game["format"] == "bvb-record/1"
        assert game["result"]["reason"] == "finished"
        assert len(game["legal"]) == len(game["actions"])
        assert all(taken in legal for taken, legal in zip(game["actions"], game["legal"], strict=True))
        assert bvb_core.State.from_record(game).is_terminal


def test_record_is_reproducible() -> None:
    options = ["record", "--players", "2", "--practice", "--seed", "8", "--games", "2"]
    first, again = data(*options), data(*options)
    assert first == again
    assert json.loads(first.splitlines()[1]) == json.loads(data("record", "--players", "2", "--practice", "--seed", "9"))


def test_record_options() -> None:
    game = json.loads(data("record", "--players", "4", "--armageddon", "--bots", "random,random,random,random"))
    assert game["rules"]["players"] == 4
    assert game["rules"]["armageddon"]
    assert "legal" not in game


def test_replay(records: Path) -> None:
    text = data(
        "replay",
        str(records),
        "-",
        stdin=json.dumps(json.loads(records.read_text().splitlines()[0]), indent=2),
    )
    actions = sum(len(json.loads(line)["actions"]) for line in records.read_text().splitlines())
    assert f"3 games with {actions} actions" in text
    assert "1 game" in text.splitlines()[1]


def test_replay_names_the_first_wrong_action(records: Path) -> None:
    games = [json.loads(line) for line in records.read_text().splitlines()]
    games[1]["actions"][4] = "draw 7"
    done = bvb("replay", "-", stdin="\n".join(map(json.dumps, games)))
    assert done.returncode == 1
    assert "game 1" in done.stderr
    assert "draw 7" in done.stderr
    assert "2 games" in done.stdout
    alone = bvb("replay", "-", stdin=json.dumps(games[1]))
    assert (alone.returncode, alone.stdout) == (1, "")


def test_replay_checks_the_result(records: Path) -> None:
    game = json.loads(records.read_text().splitlines()[0])
    game["result"]["scores"][0] += 1
    done = bvb("replay", "-", stdin=json.dumps(game))
    assert done.returncode == 1
    assert "result" in done.stderr


@pytest.mark.parametrize("text", ["nonsense", "[]", '{"format": "bvb-record/1"', '{"format": "chess"}', "{}"])
def test_replay_of_something_else(text: str) -> None:
    done = bvb("replay", "-", stdin=text)
    assert done.returncode == 1
    assert done.stderr


def test_position(records: Path) -> None:
    game = json.loads(records.read_text().splitlines()[1])
    state = bvb_core.State.from_record(game, after=30)
    shown = data("position", str(records), "--game", "1", "--after", "30")
    assert json.loads(shown) == state.observation(state.current_player).to_dict()
    for seat in range(3):
        shown = data("position", str(records), "--game", "1", "--after", "30", "--seat", str(seat))
        assert json.loads(shown) == state.observation(seat).to_dict()
    assert "best move: " in data("suggest", "-", "--iterations", "10", stdin=data("position", str(records), "--after", "0"))


@pytest.mark.parametrize(
    "options",
    [["--game", "3", "--after", "0"], ["--after", "100000"], ["--after", "1", "--seat", "3"]],
    ids=" ".join,
)
def test_position_that_is_not_there(records: Path, options: list[str]) -> None:
    done = bvb("position", str(records), *options)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: ")


def test_position_after_the_end_needs_a_seat(records: Path) -> None:
    after = str(len(json.loads(records.read_text().splitlines()[0])["actions"]))
    assert bvb("position", str(records), "--after", after).returncode == 1
    assert "result" in json.loads(data("position", str(records), "--after", after, "--seat", "0"))


def test_closed_pipe() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "bvb", "record", "--players", "2", "--games", "1000"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    assert json.loads(process.stdout.readline())
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait(timeout=10) == 1
    process.stderr.close()


def test_another_deck(tmp_path: Path) -> None:
    deck = tmp_path / "small.toml"
    deck.write_text('name = "small"\nextends = "standard"\n[counts]\nwild_provoke = 0\n')
    options = ["--deck", str(deck)]
    record = data("record", "--players", "2", *options)
    assert json.loads(record)["rules"]["deck"].startswith("sha256:")
    assert "1 game" in data("replay", "-", *options, stdin=record)
    position = data("position", "-", "--after", "40", *options, stdin=record)
    assert "best move: " in data("suggest", "-", "--iterations", "10", *options, stdin=position)
    done = bvb("suggest", "-", "--iterations", "10", stdin=position)
    assert done.returncode == 1
    assert "rules.deck: " in done.stderr


def test_bad_deck(tmp_path: Path) -> None:
    deck = tmp_path / "bad.toml"
    deck.write_text('name = "bad"\nextends = "standard"\n[counts]\nunicorn = 3\n')
    done = bvb("record", "--players", "2", "--deck", str(deck))
    assert (done.returncode, done.stdout) == (1, "")
    assert "unicorn" in done.stderr


def test_another_package_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "server").mkdir()
    (tmp_path / "server" / "__init__.py").write_text("")
    code = "import sys; sys.path.insert(0, sys.argv.pop(1)); from bvb._start import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path), "--version"],
        capture_output=True,
        text=True,
        env=dict(os.environ),
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("bvb: another package named 'server'")
    assert str(tmp_path) in done.stderr
