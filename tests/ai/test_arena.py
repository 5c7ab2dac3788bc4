"""The arena: what is played, what the figures mean, and that they depend on the set-up alone."""

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

import bvb_core
from ai import arena, make_bot
from ai.analysis import Analysis
from ai.arena import DealResult, GameResult, Setup, StateFile
from ai.elo import Sprt, elo_of_share, share_interval, share_of_elo, student_t


def bvb(*arguments: str) -> "subprocess.CompletedProcess[str]":
    done = subprocess.run(
        [sys.executable, "-m", "bvb", "arena", *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert "Traceback" not in done.stderr
    return done


def figures(*arguments: str) -> str:
    done = bvb(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def match(setup: Setup, deals: int, sprt: Sprt | None = None) -> list[DealResult]:
    with StateFile(None, setup, None) as state:
        return arena.run(setup, deals, arena.HereExecutor(), state=state, sprt=sprt)


# ---------------------------------------------------------------- players


def test_keeper_goes_on_from_its_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    """In each turn after the first move; with a tree to itself it plays on as long as ismcts does."""
    adopted: list[int] = []
    report = Analysis.report

    def counted(analysis: Analysis, multi_pv: int | None = None) -> Any:
        adopted.append(analysis.adopted)
        return report(analysis, multi_pv)

    monkeypatch.setattr(Analysis, "report", counted)
    (result,) = match(Setup(("keeper", "greedy"), 2, iterations=100), 1)
    assert len(result.games) == 2
    assert sum(visits > 0 for visits in adopted) > len(adopted) / 3
    again = match(Setup(("keeper", "greedy"), 2, iterations=100), 1)
    assert again == [result]


# ---------------------------------------------------------------- statistics


def test_student_t() -> None:
    for freedom in (*range(1, 40), 100, 1000):
        assert student_t(freedom) == pytest.approx(stats.t.ppf(0.975, freedom), rel=2e-3)


def test_elo_of_known_shares() -> None:
    assert elo_of_share(0.5, 2, 100) == 0
    assert elo_of_share(0.64, 2, 100) == pytest.approx(100, abs=0.1)
    assert elo_of_share(10 / 11, 2, 100) == pytest.approx(400)
    for players in range(2, 6):
        assert elo_of_share(1 / players, players, 100) == pytest.approx(0)
        for elo in (-700, -50, 0, 3, 400):
            assert elo_of_share(share_of_elo(elo, players), players, 10**6) == pytest.approx(elo)
    assert elo_of_share(1, 2, 50) == elo_of_share(0.99, 2, 50) == pytest.approx(-elo_of_share(0, 2, 50))


def test_interval_of_equal_deals() -> None:
    for players in range(2, 6):
        low, high = share_interval([1 / players] * 7)
        assert low <= 1 / players <= high
        assert high - low < 1e-9
    low, high = share_interval([1.0] * 20)
    assert high == 1
    # As many won in 20 as Wilson's interval, with t in place of z.
    assert low == pytest.approx(20 / (20 + stats.t.ppf(0.975, 19) ** 2), abs=1e-3)
    assert share_interval([0.0] * 20) == pytest.approx((0, 1 - low))
    assert share_interval([]) == share_interval([0.5]) == (0, 1)


@pytest.mark.parametrize(("p", "together"), [(0.5, 0.0), (0.5, 0.9), (0.2, 0.5), (0.9, 0.2)])
def test_interval_covers_in_95_of_100(p: float, together: float) -> None:
    """Deals of two games that are won together or apart: the interval holds the truth as often as it says."""
    rng = random.Random(5)

    def deal() -> float:
        first = rng.random() < p
        return (first + (first if rng.random() < together else rng.random() < p)) / 2

    covered = 0
    for _ in range(1000):
        low, high = share_interval([deal() for _ in range(40)])
        covered += low <= p <= high
    assert 925 <= covered <= 980


def test_sprt_decides_rightly() -> None:
    """Its errors stay near the 5 % that it allows, and it does not decide before there is evidence."""
    test = Sprt(0, 60)
    assert test.bounds == pytest.approx((-2.944, 2.944), abs=1e-3)
    assert test.decision([], 2) is None
    assert test.decision([1.0] * 3, 2) is None

    def run(elo: float, seed: int) -> str:
        rng = random.Random(seed)
        shares: list[float] = []
        while (decision := test.decision(shares, 2)) is None:
            shares.append(sum(rng.random() < share_of_elo(elo, 2) for _ in range(2)) / 2)
        return decision

    assert sum(run(0, seed) == "H1" for seed in range(100)) <= 11
    assert sum(run(60, seed) == "H0" for seed in range(100)) <= 11
    assert {run(-200, 1), run(400, 1)} == {"H0", "H1"}


# ---------------------------------------------------------------- what is played


@pytest.mark.parametrize("players", range(2, 6))
@pytest.mark.parametrize("bots", range(2, 7))
def test_seatings(bots: int, players: int) -> None:
    setup = Setup(("random",) * bots, players)
    places: Counter[tuple[int, int]] = Counter()
    together: Counter[tuple[int, ...]] = Counter()
    deals = 24
    for deal in range(deals):
        seatings = setup.seatings(deal)
        assert len(seatings) == setup.games_per_deal
        assert len(seatings) * (players if bots < players else 1) >= len(set(seatings))
        for seating in seatings:
            assert len(seating) == players
            places.update(enumerate(seating))
            together[tuple(sorted(seating))] += 1
    # Every bot has every seat equally often, and every line-up as many games.
    for bot in range(bots):
        assert len({places[seat, bot] for seat in range(players)}) == 1
    assert len(set(together.values())) == 1
    if bots > players:
        assert {len(set(line_up)) for line_up in together} == {players}
        assert len({places[0, bot] for bot in range(bots)}) == 1
    else:
        assert set(together) == {(*range(bots - 1), *[bots - 1] * (players - bots + 1))}


def test_order_around_the_table_changes() -> None:
    after = Counter(
        seating[(seating.index(0) + 1) % 4]
        for deal in range(6)
        for seating in Setup(("random",) * 4, 4).seatings(deal)
    )
    assert after == {1: 8, 2: 8, 3: 8}


def test_line_ups_play_the_same_deals() -> None:
    deals = []
    for bots in (("random", "random"), ("greedy", "random"), ("random", "random", "random")):
        result = arena.play_deal(Setup(bots, 2, seed=4), 3, records=True)
        deals += [(record["rules"]["first_player"], json.dumps(record["deal"])) for record in result.records]
    assert len(set(deals)) == 1
    for seed, deal in ((5, 3), (4, 2)):
        other = arena.play_deal(Setup(bots, 2, seed), deal, records=True)
        assert other.records[0]["deal"] != result.records[0]["deal"]


def test_bots_that_play_alike_come_out_even() -> None:
    for result in match(Setup(("vanilla:iterations=2", "vanilla:iterations=2"), 2), 3):
        assert result.share(0) == result.share(1) == 0.5
        assert result.score(0) == result.score(1)
    shares = {result.share(0) for result in match(Setup(("random", "random"), 2, independent=True), 12)}
    assert len(shares) > 1


def test_budget_of_bots_without_one(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def spy(spec: str, seed: int = 0) -> Any:
        made.append(spec)
        return make_bot(spec, seed)

    monkeypatch.setattr(arena, "make_bot", spy)
    bots = ("vanilla", "pimc:worlds=2", "ismcts:time_ms=5", "greedy", "vanilla:iterations=9")
    Setup(bots, 5, iterations=7, time_ms=30.0)
    assert made == [
        "vanilla:iterations=7:time_ms=30.0",
        "pimc:worlds=2:iterations=7:time_ms=30.0",
        "ismcts:time_ms=5",
        "greedy",
        "vanilla:iterations=9",
    ]


@pytest.mark.parametrize(
    ("bots", "players", "message"),
    [
        (("random",), 2, "at least two bots"),
        (("random", "random"), 6, "players must be 2 to 5"),
        (("random", "bogus"), 2, "unknown bot 'bogus'"),
        (("random", "cheat:threads=2"), 2, "unknown setting 'threads'"),
    ],
)
def test_set_ups_that_cannot_be(bots: tuple[str, ...], players: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Setup(bots, players)


def test_variants_are_played(tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text('name = "small"\nextends = "standard"\n[counts]\nwild_provoke = 0\n')
    deck = bvb_core.load_deck(file)
    for change, rule, value in (
        ({"armageddon": True}, "armageddon", True),
        ({"practice": True}, "practice", True),
        ({"deck": deck}, "deck", deck.id),
    ):
        setup = Setup(("random", "random"), 2, **change)
        (record, _) = arena.play_deal(setup, 0, records=True).records
        assert record["rules"] == {**arena.play_deal(Setup(("random",) * 2, 2), 0, True).records[0]["rules"], rule: value,
                                   "first_player": record["rules"]["first_player"]}


# ---------------------------------------------------------------- figures


def test_figures_of_results_by_hand() -> None:
    setup = Setup(("random", "greedy", "greedy"), 3)
    results = [
        DealResult(deal, tuple(GameResult(*game, turns=30) for game in games))
        for deal, games in enumerate(
            [
                [((0, 1, 2), (5, 3, 1), (0,)), ((2, 0, 1), (4, 4, 0), (0, 1))],
                [((0, 2, 1), (0, 9, 3), (1,)), ((1, 0, 2), (1, 2, 6), (2,))],
            ]
        )
    ]
    data = arena.report(setup, results).to_dict()
    assert (data["deals"], data["players"]) == (2, 3)
    assert [row["name"] for row in data["bots"]] == ["random", "greedy", "greedy#2"]
    assert [row["games"] for row in data["bots"]] == [4, 4, 4]
    assert [row["win_share"] for row in data["bots"]] == [3 / 8, 0, 5 / 8]
    assert [row["mean_score"] for row in data["bots"]] == [11 / 4, 7 / 4, 20 / 4]
    for row in data["bots"]:
        assert 0 <= row["win_share_ci95"][0] <= row["win_share"] <= row["win_share_ci95"][1] <= 1
        assert row["elo_ci95"][0] <= row["elo"] <= row["elo_ci95"][1]
    assert "sprt" not in data
    assert arena.report(setup, results, Sprt(0, 10)).to_dict()["sprt"]["decision"] is None


# ---------------------------------------------------------------- the command

SEARCHING = ("--bots", "vanilla,pimc:worlds=2,greedy", "--players", "3", "--games", "6", "--iterations", "4")
MANY = ("--bots", "random,random,random", "--players", "2", "--games", "240", "--independent")


def test_equal_commands_print_equal_tables(tmp_path: Path) -> None:
    first = figures(*SEARCHING, "--workers", "1")
    assert first == figures(*SEARCHING, "--workers", "2")
    assert first != figures(*SEARCHING, "--seed", "1", "--workers", "2")
    assert "2 deals, 3 players, par 33.3%" in first


def test_json_and_records(tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    done = bvb("--bots", "greedy,random", "--players", "4", "--games", "3", "--json", "--records", str(path))
    data = json.loads(done.stdout)
    assert (data["deals"], data["players"]) == (1, 4)
    assert [(row["name"], row["games"]) for row in data["bots"]] == [("greedy", 4), ("random", 4)]
    keys = {"name", "games", "win_share", "win_share_ci95", "mean_score", "elo", "elo_ci95"}
    assert all(keys <= set(row) for row in data["bots"])
    assert data["bots"][0]["win_share"] + 3 * data["bots"][1]["win_share"] == pytest.approx(1)
    assert "1/1 deals" in done.stderr
    states = [bvb_core.State.from_record(json.loads(line)) for line in path.read_text().splitlines()]
    assert len(states) == 4
    # The seating turns by one seat a game.
    greedy = [state.returns()[seat] for seat, state in enumerate(states)]
    assert sum(greedy) / 4 == data["bots"][0]["win_share"]


def children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def until(condition: Any, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_killed_and_resumed(tmp_path: Path) -> None:
    whole = [tmp_path / "whole.state", tmp_path / "whole.jsonl"]
    parts = [tmp_path / "parts.state", tmp_path / "parts.jsonl"]
    expected = figures(*MANY, "--workers", "2", "--resume", str(whole[0]), "--records", str(whole[1]))

    files = ("--resume", str(parts[0]), "--records", str(parts[1]))
    process = subprocess.Popen(
        [sys.executable, "-m", "bvb", "arena", *MANY, "--workers", "2", *files],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    until(lambda: parts[0].exists() and parts[0].read_bytes().count(b"\n") > 5)
    workers = children(process.pid)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert workers
    until(lambda: not any(map(running, workers)))

    finished = parts[0].read_bytes().count(b"\n") - 1
    assert finished < 40
    # As if it had been killed while it was writing: half a line, and records of a deal that does not count.
    with parts[0].open("ab") as file:
        file.write(b'{"deal":')
    with parts[1].open("ab") as file:
        file.write(b'{"format":"bvb-record/1"}\n{"form')
    done = bvb(*MANY, "--workers", "1", *files)
    assert done.stdout == expected
    assert f"{finished} deals finished" in done.stderr
    assert [path.read_bytes() for path in parts] == [path.read_bytes() for path in whole]
    # Nothing is left to be done, and fewer games are a part of it.
    assert figures(*MANY, *files) == expected
    assert "20 deals" in figures(*MANY[:-2], "120", "--independent", *files)


SETUP = Setup(("random", "vanilla"), 2, iterations=2)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (replace(SETUP, seed=3), "with seed 0, not 3"),
        (replace(SETUP, iterations=3), "with iterations 2, not 3"),
        (replace(SETUP, players=4), "with players 2, not 4"),
        (
            replace(SETUP, bots=("random", "greedy")),
            'with bots ["random", "vanilla"], not ["random", "greedy"]',
        ),
        (replace(SETUP, independent=True, seed=2), "with seed 0, not 2; independent false, not true"),
    ],
)
def test_another_match_is_not_resumed(tmp_path: Path, other: Setup, message: str) -> None:
    path = tmp_path / "state"
    StateFile(path, SETUP, None).close()
    before = path.read_bytes()
    with pytest.raises(arena.ArenaError, match=re.escape(f"{path} belongs to another match, {message}")):
        StateFile(path, other, None)
    assert path.read_bytes() == before


def test_another_match_is_not_resumed_by_the_command(tmp_path: Path) -> None:
    state = tmp_path / "state"
    StateFile(state, SETUP, None).close()
    setup = ("--bots", "random,vanilla", "--players", "2", "--games", "2", "--iterations", "2")
    done = bvb(*setup, "--resume", str(state), "--records", os.devnull)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"Error: {state} belongs to another match, with records false, not true\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a diary\n", "is not a state file of this version"),
        ('{"format": "bvb-record/1"}\n', "is not a state file of this version"),
        ("HEADER{}\n", "line 2 is not of a state file"),
        ('HEADER{"deal": 1, "games": [], "records_length": 0}\n', "line 2 is not of a state file"),
        ("HEADER{]\nmore\n", "line 2 is not of a state file"),
    ],
)
def test_files_that_are_no_state_files_are_left_alone(tmp_path: Path, text: str, message: str) -> None:
    path, setup = tmp_path / "state", Setup(("random", "random"), 2)
    StateFile(path, setup, None).close()
    text = text.replace("HEADER", path.read_text())
    path.write_text(text)
    with pytest.raises(arena.ArenaError, match=message):
        StateFile(path, setup, None)
    assert path.read_text() == text


def test_state_file_in_use(tmp_path: Path) -> None:
    path, setup = tmp_path / "state", Setup(("random", "random"), 2)
    with (
        StateFile(path, setup, None),
        pytest.raises(arena.ArenaError, match="in use by another match"),
    ):
        StateFile(path, setup, None)
    StateFile(path, setup, None).close()


def test_records_that_were_cut_are_noticed(tmp_path: Path) -> None:
    setup, paths = Setup(("random", "random"), 2), (tmp_path / "state", tmp_path / "records")
    with StateFile(paths[0], setup, paths[1]) as state:
        arena.run(setup, 1, arena.HereExecutor(), state=state, records=True)
    paths[1].write_text("")
    with pytest.raises(arena.ArenaError, match="shorter than it was"):
        StateFile(paths[0], setup, paths[1])


def test_sprt_stops_early_and_always_at_the_same_deal(tmp_path: Path) -> None:
    state = tmp_path / "state"
    command = ("--bots", "greedy,random", "--players", "2", "--games", "200", "--sprt", "0,400")
    first = figures(*command, "--workers", "2", "--resume", str(state))
    assert "elo1 accepted" in first
    deals = int(first.split(" deals")[0].split("\n")[-1])
    assert deals < 40
    # All of it is in the file; a run that was stopped later, or finds more there, reports the same.
    assert state.read_text().count("\n") == deals + 1
    assert figures(*command, "--resume", str(state)) == first


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--bots", "random"), "at least two bots"),
        (("--bots", "random,bogus"), "unknown bot 'bogus'"),
        (("--bots", "random,random,random", "--sprt", "0,5"), "compares two bots"),
        (("--bots", "random,random", "--sprt", "5,0"), "the first number must be the smaller one"),
        (("--bots", "random,random", "--sprt", "5"), "not two numbers"),
        (("--bots", "random,random", "--games", "0"), "--games"),
    ],
)
def test_bad_usage(arguments: Sequence[str], message: str) -> None:
    done = bvb("--players", "2", "--games", "2", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


def test_help_has_an_example() -> None:
    text = " ".join(figures("--help").split("Example:")[1].split())
    assert "bvb arena --bots" in text
    assert all(f" {name} {description}" in text for name, description in arena.OTHER_BOTS.items())


def test_options_of_the_rules(tmp_path: Path) -> None:
    deck, state, records = tmp_path / "small.toml", tmp_path / "state", tmp_path / "games.jsonl"
    deck.write_text('name = "small"\nextends = "standard"\n[counts]\nwild_provoke = 0\n')
    options = ["--bots", "random,greedy", "--players", "2", "--games", "4", "--practice", "--armageddon", "--deck", str(deck)]
    first = figures(*options, "--workers", "2", "--resume", str(state), "--records", str(records))
    assert first == figures(*options, "--workers", "1")
    for line in records.read_text().splitlines():
        rules = json.loads(line)["rules"]
        assert (rules["practice"], rules["armageddon"], rules["deck"]) == (True, True, bvb_core.load_deck(deck).id)
    done = bvb(*options[:-3], *options[-2:], "--resume", str(state), "--records", str(records))
    assert done.returncode == 1
    assert "belongs to another match, with armageddon true, not false" in done.stderr
    deck.write_text('name = "none"\n[[card]]\nid = "bear_head"\nrole = "head"\ntypes = ["land"]\ncount = 1\n')
    done = bvb("--bots", "random,greedy", "--players", "2", "--games", "2", "--deck", str(deck))
    assert done.returncode == 1
    assert "bear_head: 1 copies, but 2 players" in done.stderr
