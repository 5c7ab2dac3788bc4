"""Self-play data: rows are the decisions of the records; files are whole, resumable and reproducible."""

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy
import pytest

import ai
import bvb_core
from ai.export import Part, export, parts, seat_bots

BOTS = ["ismcts:iterations=30", "random", "ismcts:iterations=20"]
GAMES, SEED = 3, 11


def jobs(out: Path, **changes: Any) -> list[Part]:
    settings: dict[str, Any] = {"bots": BOTS, "seed": SEED, "games": GAMES, "part_games": 2} | changes
    return parts(partial(bvb_core.new_game, 3), out=out, **settings)


def load(path: Path) -> dict[str, Any]:
    with numpy.load(path) as data:
        return {name: data[name] for name in data.files}


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("selfplay")
    done: list[int] = []
    assert export(jobs(out), 1, done.append) == 0
    assert done == [1, 2, 3]
    return out


def test_rows_are_the_decisions_of_the_records(exported: Path) -> None:
    rows = 0
    for part in sorted(exported.glob("*.npz")):
        data = load(part)
        records = [json.loads(line) for line in part.with_suffix(".jsonl").read_text().splitlines()]
        about = json.loads(str(data["about"]))
        assert (about["format"], about["bots"], about["seed"]) == ("bvb-selfplay/1", BOTS, SEED)
        assert about["games"] == len(records)
        row = 0
        for number, record in enumerate(records, about["first"]):
            end = bvb_core.State.from_record(record)
            state = bvb_core.State.from_record(record, after=0)
            assert record == bvb_core.new_game(3, SEED + number).to_record() | {
                "actions": record["actions"], "result": end.result()}  # fmt: skip
            bots = seat_bots(BOTS, SEED + number)
            for move, text in enumerate(record["actions"]):
                seat = state.current_player
                seen = state.observation(seat)
                assert (data["observation"][row] == seen.tensor()).all()
                legal = numpy.unpackbits(data["legal"][row], count=about["actions"], bitorder="little")
                assert (legal == seen.legal_mask()).all()
                assert (data["seat"][row], data["game"][row], data["move"][row]) == (seat, number, move)
                order = [(seat + i) % 3 for i in range(3)]
                assert data["returns"][row] == pytest.approx([end.returns()[s] for s in order])
                assert data["score"][row].tolist() == [end.scores()[s] for s in order]
                visits = data["visit_row"] == row
                ids, numbers = data["visit_action"][visits], data["visit_count"][visits]
                counts = dict(zip(ids.tolist(), numbers.tolist(), strict=True))
                suggestion = bots[seat].suggest(seen)
                if suggestion.alternatives:
                    assert counts == {a.action.id: a.visits for a in suggestion.alternatives}
                    wins = [suggestion.win_probability[s] for s in order]
                    assert data["win_probability"][row] == pytest.approx(wins)
                else:
                    assert counts == {int(data["action"][row]): 1}
                    assert numpy.isnan(data["win_probability"][row]).all()
                assert str(state.action(int(data["action"][row]))) == text == str(suggestion.action)
                state.apply(text)
                row += 1
        lengths = {len(values) for name, values in data.items() if name != "about"}
        assert lengths == {row, len(data["visit_row"])}
        assert all(data[name].dtype != object for name in data)
        rows += row
    assert rows > 300


def contents(folder: Path) -> dict[str, Any]:
    """Arrays as lists, records as text: what files say, not when they were packed."""
    found: dict[str, Any] = {path.name: path.read_text() for path in folder.glob("*.jsonl")}
    for path in folder.glob("*.npz"):
        found[path.name] = {name: (str(v.dtype), v.tobytes()) for name, v in load(path).items()}
    return found


def test_workers_do_not_matter(exported: Path, tmp_path: Path) -> None:
    done: list[int] = []
    assert export(jobs(tmp_path), 2, done.append) == 0
    assert done[-1] == GAMES
    assert contents(tmp_path) == contents(exported)


def test_interrupted_export_goes_on(exported: Path, tmp_path: Path) -> None:
    class Interrupted(Exception):
        pass

    def stop(done: int) -> None:
        if done == GAMES:
            raise Interrupted

    with pytest.raises(Interrupted):
        export(jobs(tmp_path), 1, stop)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["part-00000.jsonl", "part-00000.npz"]
    kept = (tmp_path / "part-00000.npz").stat().st_mtime_ns
    done: list[int] = []
    assert export(jobs(tmp_path), 1, done.append) == 2
    assert done == [3]
    assert (tmp_path / "part-00000.npz").stat().st_mtime_ns == kept
    assert contents(tmp_path) == contents(exported)


@pytest.mark.parametrize(
    "change", [{"seed": SEED + 1}, {"bots": ["random"] * 3}, {"games": 5, "part_games": 3}]
)
def test_files_of_another_export_are_kept(exported: Path, change: dict[str, Any]) -> None:
    before = contents(exported)
    with pytest.raises(ValueError, match=r"part-0000\d\.npz is not from this export"):
        export(jobs(exported, **change), 1, lambda done: None)
    assert contents(exported) == before


def test_other_files_are_not_overwritten(tmp_path: Path) -> None:
    for content in (b"", b"PK\x05\x06" + bytes(18), b"text"):
        (tmp_path / "mine.npz").write_bytes(content)
        (tmp_path / "mine.jsonl").write_text("")
        with pytest.raises(ValueError, match="not from this export"):
            export(jobs(tmp_path / "mine.npz"), 1, lambda done: None)
        assert (tmp_path / "mine.npz").read_bytes() == content


def bvb(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "bvb", *arguments], capture_output=True, text=True, timeout=60, check=False
    )


def test_command_line(tmp_path: Path) -> None:
    """One file for everything; the games are those of `bvb record`."""
    out = tmp_path / "deep" / "games.npz"
    setting = ["--players", "2", "--games", "2", "--seed", "3", "--bots", "random", "--practice"]
    done = bvb("export", *setting, "--out", str(out))
    assert (done.returncode, done.stdout) == (0, "")
    assert "2 games" in done.stderr
    assert set(load(out)["game"].tolist()) == {0, 1}
    assert out.with_suffix(".jsonl").read_text() == bvb("record", *setting).stdout
    assert sorted(path.name for path in out.parent.iterdir()) == ["games.jsonl", "games.npz"]
    again = bvb("export", *setting, "--out", str(out))
    assert (again.returncode, again.stdout) == (0, "")
    assert "2 of them were there" in again.stderr


@pytest.mark.parametrize("workers", ["1", "2"])
def test_ctrl_c(tmp_path: Path, workers: str) -> None:
    setting = ["--players", "2", "--games", "40", "--part-games", "10", "--bots", "ismcts:iterations=100"]
    process = subprocess.Popen(
        [sys.executable, "-m", "bvb", "export", *setting, "--workers", workers, "--out", str(tmp_path)],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 60
    while not list(tmp_path.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert list(tmp_path.iterdir())
    os.killpg(process.pid, signal.SIGINT)
    _, messages = process.communicate(timeout=30)
    assert process.returncode == 1
    assert messages.strip() == "Aborted!"
    assert not list(tmp_path.glob("*.tmp"))


@pytest.mark.parametrize(
    ("arguments", "status", "word"),
    [
        (["--players", "3", "--bots", "random,random", "--out", "x"], 2, "2 bots for 3 players"),
        (["--players", "3", "--bots", "chess", "--out", "x"], 2, "chess"),
        (["--players", "3", "--bots", "random"], 2, "--out"),
        (["--players", "3", "--bots", "random", "--practice", "--out", "/proc/none/x"], 1, "/proc/none"),
    ],
)
def test_mistakes_are_named(arguments: list[str], status: int, word: str) -> None:
    done = bvb("export", *arguments)
    assert (done.returncode, done.stdout) == (status, "")
    assert word in done.stderr
    assert "Traceback" not in done.stderr


def test_bots_of_a_game_are_seeded_apart() -> None:
    one, two = seat_bots(["ismcts", "ismcts"], 5)
    again, _ = seat_bots(["ismcts", "ismcts"], 5)
    other, _ = seat_bots(["ismcts", "ismcts"], 6)
    seeds = [getattr(bot, "seed") for bot in (one, two, again, other)]  # noqa: B009
    assert seeds[0] == seeds[2]
    assert len(set(seeds)) == 3
    assert isinstance(one.suggest(_a_view()), ai.Suggestion)


def _a_view() -> bvb_core.Observation:
    state = bvb_core.new_game(players=2, seed=1)
    return state.observation(state.current_player)
