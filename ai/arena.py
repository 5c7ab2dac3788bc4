"""Matches between bots over duplicate deals, parallel over processes, resumable, the same for every number of
workers.

Every line-up plays the same deals, and each deal is played once in every rotation of the seats. A deal with
all its games is the unit of work, of what is saved, and of the statistics (ai/elo.py). Results are taken in
the order of the deals, so what is reported after any of them depends on nothing but the set-up.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import itertools
import json
import math
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from statistics import fmean
from typing import IO, Any, Protocol, Self

import bvb_core
from ai.analysis import Analysis
from ai.bots import SEARCHING, IsmctsBot, cheat, make_bot
from ai.elo import Sprt, elo_of_share, share_interval
from ai.suggestion import Bot

FORMAT = "bvb-arena/2"
# What plays here alone, with a description.
OTHER_BOTS = {
    "cheat": "Searches the true state, hidden cards and all: what knowing them would be worth.",
    "keeper": "Plays as ismcts, and goes on from the tree of its last move.",
}
# Deals a worker that are handed out ahead of the one that is waited for.
AHEAD = 4


class ArenaError(ValueError):
    """A set-up that cannot be played, or a file that does not belong to it; the message says why."""


@dataclass(frozen=True)
class Setup:
    """All that decides what is played. Raises ArenaError (or the bot's ValueError) for a set-up that cannot
    be."""

    bots: tuple[str, ...]
    """With fewer bots than seats, the last one takes the seats that are left. With more, every choice of them
    plays."""
    players: int
    seed: int = 0
    iterations: int | None = None
    """Of searching bots that are written without a budget; so is `time_ms`. Without any they take their
    default."""
    time_ms: float | None = None
    independent: bool = False
    """False: a seat of a deal has the same random numbers whoever sits there, so that bots that play alike
    come out even to the last digit. True: every seat of every game has its own."""
    armageddon: bool = False
    practice: bool = False
    deck: bvb_core.Deck = field(default_factory=bvb_core.load_deck)

    def __post_init__(self) -> None:
        if not bvb_core.MIN_PLAYERS <= self.players <= bvb_core.MAX_PLAYERS:
            raise ArenaError(f"players must be {bvb_core.MIN_PLAYERS} to {bvb_core.MAX_PLAYERS}, not {self.players}")
        if len(self.bots) < 2:
            raise ArenaError("a match needs at least two bots")
        for entry in range(len(self.bots)):
            self.player(entry, 0)
        self.new_game(0)

    def to_dict(self) -> dict[str, Any]:
        """As JSON, with the deck by its id."""
        return {**asdict(self), "bots": list(self.bots), "deck": self.deck.id}

    def new_game(self, deal: int) -> bvb_core.State:
        """The game of a deal. Raises DeckError for a deck that is too small."""
        return bvb_core.new_game(
            players=self.players,
            seed=self.number("deal", deal),
            armageddon=self.armageddon,
            practice=self.practice,
            deck=self.deck,
        )

    @property
    def line_ups(self) -> list[tuple[int, ...]]:
        """Who plays together: numbers of bots, one a seat."""
        bots = range(len(self.bots))
        if len(bots) <= self.players:
            return [(*bots, *[bots[-1]] * (self.players - len(bots)))]
        return list(itertools.combinations(bots, self.players))

    @property
    def games_per_deal(self) -> int:
        return len(self.line_ups) * self.players

    @property
    def names(self) -> list[str]:
        """A name for every bot: as it was written, with a number where it stands more than once."""
        return [
            bot if bot not in self.bots[:entry] else f"{bot}#{self.bots[: entry + 1].count(bot)}"
            for entry, bot in enumerate(self.bots)
        ]

    def seatings(self, deal: int) -> list[tuple[int, ...]]:
        """Numbers of the bots by seat, for every game of a deal: the line-ups in all rotations.

        The order around the table changes from deal to deal, so that no bot always moves after the same one.
        """
        turns = math.factorial(self.players - 1)
        order = next(itertools.islice(itertools.permutations(range(1, self.players)), deal % turns, None))
        rings = [(line_up[0], *(line_up[i] for i in order)) for line_up in self.line_ups]
        return [ring[-turn:] + ring[:-turn] if turn else ring for ring in rings for turn in range(self.players)]

    def player(self, entry: int, seed: int) -> Player:
        """What plays for a bot of the set-up."""
        spec = self.bots[entry]
        name, *settings = spec.split(":")
        if name in SEARCHING and not any(word.startswith(("iterations=", "time_ms=")) for word in settings):
            spec += "".join(
                f":{key}={value}"
                for key, value in (("iterations", self.iterations), ("time_ms", self.time_ms))
                if value is not None
            )
        if name == "cheat":
            clairvoyant = cheat(spec, seed)
            return lambda state: clairvoyant.suggest_knowing_all(state).action.id
        if name == "keeper":
            bot = make_bot(spec.replace("keeper", "ismcts", 1), seed)
            assert isinstance(bot, IsmctsBot)
            return Keeper(bot)
        return honest(make_bot(spec, seed))

    def number(self, *purpose: object) -> int:
        """64 bits that depend on the seed and a purpose alone."""
        text = ":".join(map(str, (self.seed, *purpose)))
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


Player = Callable[[bvb_core.State], int]
"""Chooses an action id in the state of a game."""


def honest(bot: Bot) -> Player:
    """A bot as it plays in a game: it is given the observation of the seat to move."""

    def choose(state: bvb_core.State) -> int:
        observation = state.observation(state.current_player)
        return bot.suggest(observation, multi_pv=1).action.id

    return choose


class Keeper:
    """A bot that keeps its tree from move to move."""

    def __init__(self, bot: IsmctsBot) -> None:
        self._bot = bot
        self._last: Analysis | None = None
        self._keys: list[int] = []

    def hear(self, key: int) -> None:
        """What the seat was shown of an action; see State.event_key."""
        self._keys.append(key)

    def __call__(self, state: bvb_core.State) -> int:
        observation = state.observation(state.current_player)
        self._last = self._bot.analysis(observation, previous=self._last, keys=self._keys)
        self._keys = []
        self._last.run()
        return self._last.report(1).action.id


@dataclass(frozen=True)
class GameResult:
    """One game. Vectors are in seat order."""

    seating: tuple[int, ...]
    """Numbers of the bots."""
    scores: tuple[int, ...]
    winners: tuple[int, ...]
    turns: int


@dataclass(frozen=True)
class DealResult:
    """All games of one deal."""

    deal: int
    games: tuple[GameResult, ...]
    records: tuple[dict[str, Any], ...] = field(default=(), compare=False)

    def share(self, entry: int) -> float | None:
        """Mean share of the victory that a seat of this bot had; None when it had no seat."""
        return _mean(
            (seat in game.winners) / len(game.winners)
            for game in self.games
            for seat, sits in enumerate(game.seating)
            if sits == entry
        )

    def score(self, entry: int) -> float | None:
        """Mean score of a seat of this bot; None when it had no seat."""
        return _mean(score for game in self.games for score, sits in zip(game.scores, game.seating, strict=True) if sits == entry)


def _mean(values: Iterable[float]) -> float | None:
    listed = list(values)
    return fmean(listed) if listed else None


def play_deal(setup: Setup, deal: int, records: bool = False) -> DealResult:
    """All games of a deal, with their records when asked for."""
    games, kept = [], []
    for number, seating in enumerate(setup.seatings(deal)):
        state = setup.new_game(deal)
        own = (number,) if setup.independent else ()
        players = [setup.player(entry, setup.number("bot", deal, seat, *own)) for seat, entry in enumerate(seating)]
        while not state.is_terminal:
            state.apply(players[state.current_player](state))
            for seat, player in enumerate(players):
                if isinstance(player, Keeper):
                    player.hear(state.event_key(seat))
        games.append(GameResult(seating, tuple(state.scores()), tuple(state.winners()), state.turn_number))
        if records:
            kept.append(state.to_record())
    return DealResult(deal, tuple(games), tuple(kept))


# ---------------------------------------------------------------- executors


class Executor(Protocol):
    """Where deals are played. Another one could send them to other machines."""

    def play(self, setup: Setup, deals: Iterable[int], records: bool) -> Iterator[DealResult]:
        """The results of the deals, in their order."""

    def close(self) -> None:
        """Let go of what is still being played."""


class HereExecutor:
    """Plays in this process."""

    def play(self, setup: Setup, deals: Iterable[int], records: bool) -> Iterator[DealResult]:
        for deal in deals:
            yield play_deal(setup, deal, records)

    def close(self) -> None:
        pass


class ProcessExecutor:
    """Plays in processes of this machine, started anew rather than forked. They end with this process, even
    if it is killed."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        context = multiprocessing.get_context("spawn")
        reader, self._alive = context.Pipe(duplex=False)
        self.pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_start_worker, initargs=(reader,))

    def play(self, setup: Setup, deals: Iterable[int], records: bool) -> Iterator[DealResult]:
        waiting: deque[Future[DealResult]] = deque()
        left = iter(deals)
        try:
            while True:
                for deal in itertools.islice(left, self.workers * AHEAD - len(waiting)):
                    waiting.append(self.pool.submit(play_deal, setup, deal, records))
                if not waiting:
                    return
                yield waiting.popleft().result()
        except BrokenProcessPool:
            raise ArenaError("a worker process was killed; with --resume, finished deals are kept") from None

    def close(self) -> None:
        self.pool.shutdown(wait=False, cancel_futures=True)
        self._alive.close()


def _start_worker(alive: Connection) -> None:
    """In a worker: leave Ctrl-C to the process that asks for deals, and end when it closes its end of a pipe
    or dies."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        wait([alive])
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()


# ---------------------------------------------------------------- state file


class StateFile:
    """What is finished of a match, on disk: a line of JSON for the set-up, then one for every deal, in order.

    Every line is on the disk before it counts. A line that was cut off is dropped. The records of games,
    where they are wanted, go to a file of their own; each line says how long that file is with the deal's
    records.
    """

    def __init__(self, path: Path | None, setup: Setup, records: Path | None) -> None:
        """Opens the files, and reads what is finished. Raises ArenaError when they belong to another set-up
        or are in use."""
        self.finished: list[DealResult] = []
        self._file: IO[bytes] | None = None
        self._records: IO[bytes] | None = None
        header = {"format": FORMAT, **setup.to_dict(), "records": records is not None}
        length = 0
        if path is not None:
            self._file = open(path, "a+b")  # noqa: SIM115 (closed by close)
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                self._file.close()
                raise ArenaError(f"{path} is in use by another match") from None
            try:
                length = self._read(path, header)
            except ArenaError:
                self._file.close()
                raise
        if records is not None:
            self._records = open(records, "ab")  # noqa: SIM115
            if self._records.tell() < length:
                self.close()
                raise ArenaError(f"{records} is shorter than it was when the match was interrupted")
            self._records.truncate(length)

    def _read(self, path: Path, header: dict[str, Any]) -> int:
        """Returns the length of the records of the finished deals in bytes."""
        assert self._file is not None
        length = 0
        self._file.seek(0)
        end = 0
        for number, line in enumerate(self._file):
            data: Any = None
            with contextlib.suppress(ValueError):
                data = json.loads(line) if line.endswith(b"\n") else None
            if data is None and number and not self._file.read(1):
                break
            try:
                if number == 0:
                    _same_setup(path, data, header)
                else:
                    self.finished.append(_read_deal(data, number - 1))
                    length = data["records_length"]
            except (KeyError, TypeError):
                raise ArenaError(f"{path}: line {number + 1} is not of a state file") from None
            end += len(line)
        self._file.truncate(end)
        if end == 0:
            self._append(header)
        return length

    def _append(self, data: dict[str, Any]) -> None:
        assert self._file is not None
        self._file.write(json.dumps(data, separators=(",", ":")).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def add(self, result: DealResult) -> None:
        """Keep a finished deal."""
        if self._records is not None:
            for record in result.records:
                self._records.write(json.dumps(record, separators=(",", ":")).encode() + b"\n")
            self._records.flush()
            os.fsync(self._records.fileno())
        if self._file is not None:
            length = self._records.tell() if self._records is not None else 0
            games = [asdict(game) for game in result.games]
            self._append({"deal": result.deal, "games": games, "records_length": length})

    def close(self) -> None:
        for file in (self._file, self._records):
            if file is not None:
                file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _read_deal(data: dict[str, Any], number: int) -> DealResult:
    """Raises KeyError or TypeError for what is not the deal of this number."""
    if data["deal"] != number:
        raise KeyError(number)
    games = (
        GameResult(tuple(game["seating"]), tuple(game["scores"]), tuple(game["winners"]), game["turns"]) for game in data["games"]
    )
    return DealResult(number, tuple(games))


def _same_setup(path: Path, found: Any, header: dict[str, Any]) -> None:
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise ArenaError(f"{path} is not a state file of this version of the arena")
    other = [key for key, value in header.items() if found.get(key) != value]
    if other:
        differences = "; ".join(f"{key} {json.dumps(found.get(key))}, not {json.dumps(header[key])}" for key in other)
        raise ArenaError(f"{path} belongs to another match, with {differences}")


# ---------------------------------------------------------------- matches


@dataclass(frozen=True)
class Row:
    """Figures of one bot. Shares are of the victory, 0 to 1; intervals are of 95 %."""

    name: str
    games: int
    win_share: float
    win_share_ci95: tuple[float, float]
    mean_score: float
    elo: float
    elo_ci95: tuple[float, float]


@dataclass(frozen=True)
class Report:
    """Figures of a match. `test` is there when a sequential test was asked for."""

    bots: tuple[Row, ...]
    deals: int
    players: int
    test: dict[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        data = asdict(self)
        data["sprt"] = data.pop("test")
        if self.test is None:
            del data["sprt"]
        return data


def report(setup: Setup, results: Sequence[DealResult], sprt: Sprt | None = None) -> Report:
    """The figures of the finished deals."""
    rows = []
    for entry, name in enumerate(setup.names):
        shares = [share for result in results if (share := result.share(entry)) is not None]
        scores = [score for result in results if (score := result.score(entry)) is not None]
        games = sum(entry in game.seating for result in results for game in result.games)
        share = fmean(shares) if shares else 0.0
        low, high = share_interval(shares)
        rows.append(
            Row(
                name,
                games,
                share,
                (low, high),
                fmean(scores) if scores else 0.0,
                elo_of_share(share, setup.players, games),
                (elo_of_share(low, setup.players, games), elo_of_share(high, setup.players, games)),
            )
        )
    test = None
    if sprt is not None:
        first = first_shares(results)
        test = {
            "elo0": sprt.elo0,
            "elo1": sprt.elo1,
            "llr": sprt.llr(first, setup.players),
            "bounds": list(sprt.bounds),
            "decision": sprt.decision(first, setup.players),
        }
    return Report(tuple(rows), len(results), setup.players, test)


def first_shares(results: Sequence[DealResult]) -> list[float]:
    """The first bot's mean share of the victory in each deal."""
    return [share for result in results if (share := result.share(0)) is not None]


def run(
    setup: Setup,
    deals: int,
    executor: Executor,
    *,
    state: StateFile,
    records: bool = False,
    sprt: Sprt | None = None,
    progress: Callable[[Sequence[DealResult]], None] = lambda results: None,
) -> list[DealResult]:
    """Play a match of a number of deals, or until the test decides; what the state file holds is not played
    again.

    `progress` is called after every deal with the results so far.
    """
    results: list[DealResult] = []

    def decided() -> bool:
        return sprt is not None and sprt.decision(first_shares(results), setup.players) is not None

    for result in state.finished[:deals]:
        results.append(result)
        if decided():
            return results
    for result in executor.play(setup, range(len(results), deals), records):
        state.add(result)
        results.append(result)
        progress(results)
        if decided():
            break
    return results
