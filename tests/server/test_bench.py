"""`bvb bench`: the keys that scripts rely on, and positions that do not change between versions."""

import json
from typing import Any

import pytest
from click.testing import CliRunner

from server import bench
from server.cli import main

SMALL = {
    "REPEATS": 2,
    "PLAYOUTS": 20,
    "DETERMINIZATIONS": 100,
    "SEARCH_ITERATIONS": {1_000: 2, 10_000: 1, 100_000: 1},
    "PLAYERS_ITERATIONS": 100,
    "THREAD_ITERATIONS": 200,
    "OVERSHOOT_RUNS": {10: 2, 50: 1, 200: 1},
}
PLAYERS = {"2", "3", "4", "5"}


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SMALL.items():
        monkeypatch.setattr(bench, name, value)
    search_speed = bench.search_speed
    monkeypatch.setattr(bench, "search_speed", lambda view, _, repeats: search_speed(view, 50, repeats))


def within(row: dict[str, Any], name: str) -> bool:
    return bool(0 < row[f"{name}_low"] <= row[name] <= row[f"{name}_high"])


@pytest.mark.usefixtures("quick")
def test_figures() -> None:
    done = CliRunner().invoke(main, ["bench", "--json"])
    assert done.exit_code == 0, done.output
    figures = json.loads(done.stdout)
    steps = done.stderr.splitlines()
    assert len(steps) >= 5
    assert all(step.startswith("measuring ") for step in steps)
    assert set(figures["playout"]) == set(figures["search_by_players"]) == PLAYERS
    for row in figures["playout"].values():
        assert within(row, "ns_per_action")
        assert row["games_per_s"] > 0
        assert row["actions_per_game"] > 50
    assert within(figures, "determinize_ns")
    assert set(figures["search"]) == {"early", "middle", "late"}
    for rows in figures["search"].values():
        assert set(rows) == {"1000", "10000", "100000"}
        assert all(within(row, "sims_per_s") and within(row, "moves_per_s") for row in rows.values())
    assert set(figures["threads"]) == {"1", "2"}
    assert within(figures, "two_threads_against_one")
    assert set(figures["overshoot_ms_p99"]) == {"10", "50", "200"}
    assert figures["bytes_per_node"] > 0
    assert figures["machine"]["cpu"]
    assert figures["build"]["compiler"].split()[1][0].isdigit()
    assert any(flag.startswith("-O") for flag in figures["build"]["flags"].split())
    table = bench.table(figures)
    for said in (figures["machine"]["cpu"], figures["build"]["compiler"], figures["build"]["flags"], "late", "5 players"):
        assert said in table


def test_positions_are_those_of_earlier_versions() -> None:
    """Figures of two versions compare only when the positions are the same."""
    last = {
        name: bench.random_position(3, 1, moment).to_record()["actions"][-3:] for name, moment in bench.MOMENTS.items()
    }
    assert last == {
        "early": ["draw 1", "draw 2", "draw 1"],
        "middle": ["draw 3", "draw 1", "provoke land"],
        "late": ["head sky", "dive wild_provoke", "wild sky"],
    }


def test_no_position_after_the_end() -> None:
    with pytest.raises(ValueError, match="ends before action 2000"):
        bench.random_position(2, 1, 2000)
