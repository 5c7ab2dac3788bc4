"""Games that bots play against each other, as records and as arrays to learn from.

A part holds consecutive games in two files: `.jsonl` has their records, one a line, and `.npz` the arrays
below. These have one row for each of the N decisions of the games, in order; P is the number of players, A
that of distinct actions. Whatever is given by seat stands as in tensors: 0 is the seat that decides, 1 the
one after it, and so on.

    observation      float32 (N, size)       Observation.tensor() of the seat that decides
    legal            uint8 (N, ceil(A / 8))  legal actions, by numpy.packbits(..., bitorder="little")
    action           int32 (N)               id of the action played
    visit_row        int32 (M)               visits of the search, in three columns: the decision,
    visit_action     int32 (M)               the id of a move (symmetric moves are counted at one of them),
    visit_count      int32 (M)               and how often; a bot without a search visits its action once
    win_probability  float32 (N, P)          expected returns by the search; NaN from a bot without one
    returns          float32 (N, P)          what came of the game: shares of the victory, summing to 1
    score            float32 (N, P)          points at the end of the game
    seat             int8 (N)                the seat that decides
    game             int32 (N)               number of the game in the export, from 0
    move             int32 (N)               number of the decision in its game, from 0
    about            text                    JSON: format, seed, first and games of the part, bots, rules,
                                             actions (A), and the blocks of the observation
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import IO, Any
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from ai.bots import make_bot
from ai.suggestion import Bot, Suggestion

FORMAT = "bvb-selfplay/1"
NewGame = Callable[[int], Any]
"""The game of a seed: a State of the contract that also has rules, to_record() and game.tensor_layout."""


def seat_bots(specs: list[str], game_seed: int) -> list[Bot]:
    """The bots of one game, seeded from the seed of the game."""
    seeds = Random(f"bots of game {game_seed}")
    return [make_bot(spec, seed=seeds.getrandbits(32)) for spec in specs]


@dataclass(frozen=True)
class Part:
    """Consecutive games that are written to one pair of files: `path` is that of the .npz."""

    new_game: NewGame
    bots: tuple[str, ...]
    """One for every seat."""
    seed: int
    """Of game 0; game g has the seed + g."""
    first: int
    games: int
    path: Path

    @property
    def records_path(self) -> Path:
        return self.path.with_suffix(".jsonl")

    def about(self) -> dict[str, Any]:
        state = self.new_game(self.seed)
        layout = state.game.tensor_layout
        about = {
            "format": FORMAT,
            "seed": self.seed,
            "first": self.first,
            "games": self.games,
            "bots": self.bots,
            "rules": {key: value for key, value in state.rules.items() if key != "first_player"},
            "actions": state.game.num_distinct_actions,
            "observation": [asdict(block) for block in layout.blocks],
        }
        parsed: dict[str, Any] = json.loads(json.dumps(about))
        return parsed

    def is_written(self) -> bool:
        """Whether the files are there. Raises ValueError when they are those of another export."""
        if not (self.path.exists() and self.records_path.exists()):
            return False
        try:
            with np.load(self.path) as data:
                found = json.loads(str(data["about"]))
        except (ValueError, KeyError, EOFError, BadZipFile):
            found = None
        if found != self.about():
            raise ValueError(f"{self.path} is not from this export: choose another place or remove it")
        return True

    def write(self, report: Callable[[], None] = lambda: None) -> None:
        """Play the games, calling `report` after each, and write the files: whole or not at all."""
        rows = _Rows()
        with _whole_file(self.records_path) as file:
            for number in range(self.first, self.first + self.games):
                state = self.new_game(self.seed + number)
                rows.play(state, seat_bots(list(self.bots), self.seed + number), number)
                file.write(json.dumps(state.to_record(), separators=(",", ":")).encode() + b"\n")
                report()
        with _whole_file(self.path) as file:
            arrays: dict[str, Any] = rows.arrays()
            np.savez_compressed(file, about=np.array(json.dumps(self.about())), **arrays)


def parts(
    new_game: NewGame, bots: list[str], seed: int, games: int, out: Path, part_games: int
) -> list[Part]:
    """The parts of an export: one for `out` = NAME.npz, else out/part-00000.npz and so on."""
    if out.suffix == ".npz":
        return [Part(new_game, tuple(bots), seed, 0, games, out)]
    return [
        Part(
            new_game, tuple(bots), seed, first, min(part_games, games - first), out / f"part-{number:05}.npz"
        )
        for number, first in enumerate(range(0, games, part_games))
    ]


def export(work: list[Part], workers: int, report: Callable[[int], None]) -> int:
    """Write the parts that are not there yet, and tell `report` how many games are done.

    Returns the number of games that were there. Raises ValueError, and writes nothing, when a file is there
    that is not from this export. What is written does not depend on `workers`, the number of processes.
    """
    todo = [part for part in work if not part.is_written()]
    there = done = sum(part.games for part in work) - sum(part.games for part in todo)

    def count(games: int = 1) -> None:
        nonlocal done
        done += games
        report(done)

    if workers == 1 or len(todo) <= 1:
        for part in todo:
            part.write(count)
        return there
    others = multiprocessing.active_children()
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _tidy_end) as pool:
        try:
            # Workers start here, and inherit that Ctrl-C is none of their business.
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            futures = {pool.submit(_write, part): part for part in todo}
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
            for future in as_completed(futures):
                future.result()
                count(futures[future].games)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in multiprocessing.active_children():
                if process not in others:
                    process.terminate()
            raise
    return there


def _tidy_end() -> None:
    """Let a worker that is told to end remove the file that it is writing."""
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(1))


def _write(part: Part) -> None:
    try:
        part.write()
    except SystemExit:
        os._exit(1)  # the pool would go on with the parts that wait in its queue


class _Rows:
    """The arrays of a part while they grow."""

    def __init__(self) -> None:
        self.columns: dict[str, list[Any]] = {}
        self.visits: list[tuple[int, int, int]] = []
        self.count = 0

    def play(self, state: Any, bots: list[Bot], number: int) -> None:
        """Let bots play a game to its end, and add its rows."""
        seats: list[int] = []
        while not state.is_terminal:
            seat = state.current_player
            observation = state.observation(seat)
            suggestion = bots[seat].suggest(observation)
            self.visits += [(self.count, action, count) for action, count in _visits(suggestion)]
            self.add(
                observation=observation.tensor(),
                legal=np.packbits(state.legal_mask(), bitorder="little"),
                action=np.int32(suggestion.action.id),
                win_probability=_from_seat(seat, suggestion.win_probability or [np.nan] * len(bots)),
                seat=np.int8(seat),
                game=np.int32(number),
                move=np.int32(len(seats)),
            )
            self.count += 1
            seats.append(seat)
            state.apply(suggestion.action)
        returns, scores = state.returns(), state.scores()
        for seat in seats:
            self.add(returns=_from_seat(seat, returns), score=_from_seat(seat, scores))

    def add(self, **row: Any) -> None:
        for name, value in row.items():
            self.columns.setdefault(name, []).append(value)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        visits = np.array(self.visits, np.int32)
        names = ("visit_row", "visit_action", "visit_count")
        return {name: np.stack(values) for name, values in self.columns.items()} | {
            name: visits[:, i] for i, name in enumerate(names)
        }


def _visits(suggestion: Suggestion) -> list[tuple[int, int]]:
    if not suggestion.alternatives:
        return [(suggestion.action.id, 1)]
    return [(alternative.action.id, alternative.visits) for alternative in suggestion.alternatives]


def _from_seat(seat: int, values: Any) -> npt.NDArray[np.float32]:
    """A vector in seat order, beginning at a seat."""
    return np.roll(np.asarray(values, np.float32), -seat)


@contextmanager
def _whole_file(path: Path) -> Iterator[IO[bytes]]:
    """A file that takes its place when it is complete, and leaves nothing behind when it is not."""
    path.parent.mkdir(parents=True, exist_ok=True)
    growing = path.with_name(path.name + ".tmp")
    try:
        with growing.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        growing.replace(path)
    finally:
        growing.unlink(missing_ok=True)
