"""Budgets, seeds, threads, memory, and how a bot is asked."""

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import bvb_core
from ai import StopToken, make_bot
from ai.analysis import Analysis
from ai.ismcts import Observers, Search, memory_for
from ai.params import SearchParams, parse_settings

from ..games import a_state, states
from ..toys import toy
from ..toys.catalogue import game

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture
def observation() -> Any:
    state = a_state()
    return state.observation(state.current_player)


def answer_of(spec: str, observation: Any, seed: int = 0, **options: Any) -> dict[str, Any]:
    """A suggestion without its time."""
    answer: dict[str, Any] = make_bot(spec, seed).suggest(observation, **options).to_dict()
    del answer["elapsed_ms"]
    return answer


# ---------------------------------------------------------------- seeds and threads

PROCESSES = 20
ASK = """
import json
import os
from ai import make_bot
from tests.games import states
for state in states(4, seed=9):
    seen = state.observation(state.current_player)
    answer = make_bot("ismcts:iterations=60", seed=5).suggest(seen).to_dict()
    del answer["elapsed_ms"]
    print(json.dumps(answer))
"""


def test_the_same_in_twenty_processes() -> None:
    running: list[subprocess.Popen[str]] = []
    for number in range(PROCESSES):
        environment = {**os.environ, "PYTHONHASHSEED": str(number)}
        running.append(
            subprocess.Popen(
                [sys.executable, "-c", ASK], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
            )
        )
    outputs = [process.communicate()[0] for process in running]
    assert [process.returncode for process in running] == [0] * PROCESSES
    seen = [state.observation(state.current_player) for state in states(4, seed=9)]
    expected = [answer_of("ismcts:iterations=60", observation, 5) for observation in seen]
    for output in outputs:
        assert [json.loads(line) for line in output.splitlines()] == expected


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_seeded(threads: int, observation: Any) -> None:
    spec = f"ismcts:iterations=501:threads={threads}"
    answers = [answer_of(spec, observation, seed=3) for _ in range(3)]
    assert answers[0] == answers[1] == answers[2]
    assert answers[0]["iterations"] == sum(a["visits"] for a in answers[0]["alternatives"]) == 501
    assert answer_of(spec, observation, seed=4)["alternatives"] != answers[0]["alternatives"]


def test_threads_search_apart(observation: Any) -> None:
    """Two threads are two searches with seeds of their own, added up."""
    parts = [Search(observation, 3, stream, observers=Observers.PUBLIC) for stream in (0, 1)]
    for part in parts:
        part.run(250, None)
    assert parts[0].root_moves() != parts[1].root_moves()
    visits: dict[int, int] = {}
    for part in parts:
        for move in part.root_moves():
            visits[move.action_id] = visits.get(move.action_id, 0) + move.visits
    answer = make_bot("ismcts:iterations=500:threads=2", seed=3).suggest(observation)
    assert {a.action.id: a.visits for a in answer.alternatives} == visits


def test_more_threads_than_iterations(observation: Any) -> None:
    assert answer_of("ismcts:iterations=3:threads=8", observation)["iterations"] == 3


def test_a_search_goes_on_where_it_was(observation: Any) -> None:
    in_one, in_parts = Search(observation, 1), Search(observation, 1)
    in_one.run(300, None)
    for part in (1, 99, 200):
        in_parts.run(part, None)
    assert in_one.root_moves() == in_parts.root_moves()
    assert in_one.iterations == in_parts.iterations == 300


# ---------------------------------------------------------------- time and stopping


@pytest.mark.parametrize("threads", [1, 2])
def test_time(threads: int, observation: Any) -> None:
    start = time.perf_counter()
    answer = make_bot(f"ismcts:time_ms=60:threads={threads}").suggest(observation)
    elapsed = (time.perf_counter() - start) * 1e3
    assert 60 <= answer.elapsed_ms <= elapsed < 60 + 500
    assert answer.stop_reason == "time"
    assert answer.iterations > 100


def test_what_ends_first(observation: Any) -> None:
    assert answer_of("ismcts:time_ms=60000:iterations=50", observation)["stop_reason"] == "iterations"
    assert answer_of("ismcts:time_ms=1:iterations=1000000000", observation)["stop_reason"] == "time"


def test_an_only_move_is_answered_at_once() -> None:
    state = next(s for s in states(200, seed=2) if len(s.search_action_ids()) == 1)
    only = state.observation(state.current_player)
    for budget in ("iterations=100000000", "time_ms=3600000", "iterations=50000000:time_ms=60000:threads=2"):
        answer = answer_of(f"ismcts:{budget}", only)
        assert (answer["stop_reason"], answer["iterations"]) == ("decided", 1000)
        assert answer["action"] in map(str, state.legal_actions())
    assert answer_of("ismcts:iterations=900", only)["iterations"] == 900
    assert answer_of("ismcts:iterations=2000:early_stop=0", only)["iterations"] == 2000
    assert answer_of("vanilla:iterations=2000", only)["iterations"] == 2000


@pytest.mark.parametrize("threads", [1, 2])
def test_a_leader_that_cannot_be_overtaken_ends_a_search(threads: int) -> None:
    """One arm of the bandit always wins: about half of the time is enough to be sure that it stays the most visited one."""
    bandit = toy("bandit", [100, 5, 5]).new_state(0).observation(0)
    spec = f"ismcts:time_ms=600:threads={threads}"
    answer = answer_of(f"{spec}:early_stop=2", bandit)
    assert answer["stop_reason"] == "decided"
    assert answer["alternatives"][0]["action"] == "0"
    assert answer_of(spec, bandit)["stop_reason"] == "time"


@pytest.mark.parametrize("threads", [1, 2])
def test_stopped_from_another_thread(threads: int, observation: Any) -> None:
    token = StopToken()
    assert not token.is_stopped
    threading.Timer(0.1, token.stop).start()
    start = time.perf_counter()
    answer = answer_of(f"ismcts:time_ms=60000:threads={threads}", observation, stop=token)
    assert time.perf_counter() - start < 5
    assert token.is_stopped
    assert answer["stop_reason"] == "stopped"
    assert answer["iterations"] >= threads


def test_stopped_before_it_began(observation: Any) -> None:
    token = StopToken()
    token.stop()
    answer = answer_of("ismcts:time_ms=60000", observation, stop=token)
    assert answer["iterations"] == 1
    assert len(answer["alternatives"]) == 1


# ---------------------------------------------------------------- memory


@pytest.mark.parametrize("observers", Observers)
def test_a_full_tree_goes_on(observation: Any, observers: Observers) -> None:
    for memory in (0, 1000, 50_000):
        search = Search(observation, 2, memory=memory, observers=observers)
        search.run(5000, None)
        edges, size = search.tree_size
        assert edges < 5000
        assert size <= max(memory, 1000)
        assert search.iterations == sum(move.visits for move in search.root_moves()) == 5000


@pytest.mark.parametrize("observers", Observers)
def test_a_full_tree_is_not_biased(observation: Any, observers: Observers) -> None:
    """A tree that holds no more than its root is a bandit whose arms are played out at random, and says what the playouts say."""
    full = Search(observation, 2, memory=3000, observers=observers)
    full.run(30_000, None)
    for move in full.root_moves():
        wins = []
        for seed in range(3000):
            state = observation.determinize(seed)
            state.apply(move.action_id)
            state.playout(seed)
            wins.append(state.returns()[observation.seat])
        error = (0.25 / min(move.visits, 3000)) ** 0.5
        assert move.mean == pytest.approx(sum(wins) / 3000, abs=8 * error)


@pytest.mark.parametrize("threads", [1, 4, 64])
def test_threads_share_the_memory(threads: int, observation: Any) -> None:
    analysis = Analysis(observation, SearchParams(iterations=60_000, threads=threads, memory_mb=1), 1)
    analysis.run()
    assert analysis.report().iterations == 60_000
    assert sum(search.tree_size[1] for search in analysis._searches) <= 2**20


def test_memory_limits_the_tree(observation: Any) -> None:
    """One MiB is some ten thousand iterations; there is no limit to those that follow."""
    assert memory_for(None, 2**20) == 2**20
    assert memory_for(10**9, 2**21) == 2**21
    assert 3_000 < memory_for(100, 2**26) < 10_000
    state = game("reshuffle").new_state(0)
    state.apply(6)
    answer = answer_of("ismcts:iterations=200000:memory_mb=1", state.observation(0))
    assert answer["iterations"] == sum(a["visits"] for a in answer["alternatives"]) == 200_000


# ---------------------------------------------------------------- answers


def test_keys_of_an_answer(observation: Any) -> None:
    answer = make_bot("ismcts:iterations=100").suggest(observation).to_dict()
    assert set(answer) == {
        "action", "win_probability", "expected_score", "alternatives", "iterations", "elapsed_ms",
        "stop_reason", "warnings", "root",
    }  # fmt: skip
    for alternative in answer["alternatives"]:
        assert set(alternative) == {
            "action", "equivalent", "visits", "availability", "win_probability", "expected_score", "pv",
            "standard_error", "pv_visits",
        }  # fmt: skip
    assert json.loads(json.dumps(answer)) == answer


def test_multi_pv(observation: Any) -> None:
    every = answer_of("ismcts:iterations=300", observation)
    for limit in (1, 2, 3, 1000):
        some = answer_of("ismcts:iterations=300", observation, multi_pv=limit)
        assert some == {**every, "alternatives": every["alternatives"][:limit]}
    for limit in (0, -1):
        with pytest.raises(ValueError, match="multi_pv must be at least 1"):
            answer_of("ismcts:iterations=300", observation, multi_pv=limit)


def test_lines_can_be_played(observation: Any) -> None:
    """Each line is legal, in the order in which it is given, in some state that the seat holds possible."""
    for alternative in answer_of("ismcts:iterations=2000", observation)["alternatives"][:3]:
        line = alternative["pv"]
        assert 1 <= len(line) <= 8
        assert any(follows(observation.determinize(seed), line) for seed in range(500))


def follows(state: Any, line: list[str]) -> bool:
    for action in line:
        if action not in map(str, state.legal_actions()):
            return False
        state.apply(action)
    return True


def test_random_bot(observation: Any) -> None:
    legal = list(map(str, observation.legal_actions()))
    bot, same = make_bot("random", seed=1), make_bot("random", seed=1)
    answers = [str(bot.suggest(observation).action) for _ in range(40 * len(legal))]
    assert answers == [str(same.suggest(observation).action) for _ in answers]
    assert set(answers) == set(legal)
    assert bot.suggest(observation).stop_reason == "none"


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("", "unknown bot ''"),
        ("ismct", "unknown bot 'ismct'; there are"),
        ("random:iterations=5", "random has no settings"),
        ("ismcts:iterations", "iterations is written iterations=NUMBER"),
        ("ismcts:iterations=many", "iterations is written iterations=NUMBER"),
        ("ismcts:iterations=1.5", "iterations is written iterations=NUMBER"),
        ("ismcts:iterations=0", "iterations must be 1 to"),
        ("ismcts:iterations=-5", "iterations must be 1 to"),
        ("ismcts:iterations=5:iterations=6", "iterations stands twice"),
        ("ismcts:speed=9", "unknown setting 'speed'"),
        ("ismcts:time_ms=0", "time_ms must be 1 to"),
        ("ismcts:time_ms=nan", "time_ms must be 1 to"),
        ("ismcts:threads=0", "threads must be 1 to"),
        ("ismcts:exploration=-1", "exploration must be 0.0 to"),
        ("ismcts:memory_mb=0", "memory_mb must be 1 to"),
        ("ismcts:", "unknown setting ''"),
    ],
)
def test_a_wrong_bot_is_named(spec: str, message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("(", r"\(")) as error:
        make_bot(spec)
    if "unknown bot" not in message:
        assert repr(spec) in str(error.value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "no budget"),
        ({"iterations": True}, "iterations must be a whole number"),
        ({"iterations": 1.0}, "iterations must be a whole number"),
        ({"iterations": "5"}, "iterations must be a whole number"),
        ({"iterations": 10**10}, "iterations must be 1 to"),
        ({"time_ms": "5"}, "time_ms must be a number"),
        ({"time_ms": 5, "threads": None}, "threads must be a whole number"),
        ({"time_ms": 5, "exploration": float("inf")}, "exploration must be"),
    ],
)
def test_wrong_parameters_are_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SearchParams(**settings)


def test_settings_are_parsed() -> None:
    assert parse_settings(["iterations=5", "time_ms=2.5", "exploration=1"]) == {
        "iterations": 5, "time_ms": 2.5, "exploration": 1.0,
    }  # fmt: skip
    assert make_bot("ismcts").suggest(a_state().observation(a_state().current_player)).iterations == 1000


@pytest.mark.parametrize("spec", ["random", "ismcts:iterations=10"])
def test_only_the_seat_to_move_is_answered(spec: str) -> None:
    state = bvb_core.new_game(players=3, seed=1, first_player=2)
    with pytest.raises(ValueError, match="seat 0 is not to move: it is the turn of seat 2"):
        make_bot(spec).suggest(state.observation(0))
    with pytest.raises(ValueError, match="a spectator is not to move"):
        make_bot(spec).suggest(state.observation(None))
    state.playout(1)
    with pytest.raises(ValueError, match="the game is over"):
        make_bot(spec).suggest(state.observation(2))
