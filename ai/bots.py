"""Bots: what answers an observation with a move."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol

from ai.ismcts import Search, StopToken, capacity_for
from ai.params import DEFAULT_ITERATIONS, SearchParams, parse_settings
from bvb_core.game import Action, Observation

PV_LENGTH = 8


@dataclass(frozen=True, slots=True)
class Alternative:
    """A move that was looked at. Vectors are in seat order."""

    action: Action
    equivalent: tuple[Action, ...]
    """Moves that it stands for besides itself, such as the same arm on the other side."""
    visits: int
    availability: int
    """Iterations in which the move could have been chosen, since it was first tried."""
    win_probability: tuple[float, ...]
    """Expected share of the victory, 0 to 1, summing to 1."""
    expected_score: tuple[float, ...]
    """Points at the end of the game."""
    pv: tuple[str, ...]
    """The most visited line that begins with this move, in notation."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """The answer of a bot: the move, and what it expects when it is played."""

    action: Action
    win_probability: tuple[float, ...]
    expected_score: tuple[float, ...]
    alternatives: tuple[Alternative, ...]
    """Best first, the suggested move among them. Empty for bots that do not search."""
    iterations: int
    elapsed_ms: float
    stop_reason: str
    """"iterations", "time", "stopped", or "none" for bots that do not search."""
    warnings: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As JSON, moves in notation."""
        return {
            "action": str(self.action),
            "win_probability": list(self.win_probability),
            "expected_score": list(self.expected_score),
            "alternatives": [
                {
                    "action": str(a.action),
                    "equivalent": [str(e) for e in a.equivalent],
                    "visits": a.visits,
                    "availability": a.availability,
                    "win_probability": list(a.win_probability),
                    "expected_score": list(a.expected_score),
                    "pv": list(a.pv),
                }
                for a in self.alternatives
            ],
            "iterations": self.iterations,
            "elapsed_ms": self.elapsed_ms,
            "stop_reason": self.stop_reason,
            "warnings": list(self.warnings),
        }


class Bot(Protocol):
    """A player. It is given observations and nothing else."""

    name: str

    def suggest(
        self, observation: Observation, *, multi_pv: int | None = None, stop: StopToken | None = None
    ) -> Suggestion:
        """A move for the observer, whose turn it must be.

        `multi_pv` limits the alternatives that are reported (None: all); `stop` ends a search from another thread.
        Raises ValueError when it is not the observer's turn, ObservationError for a contradictory observation.
        """


def _require_turn(observation: Observation) -> None:
    if observation.is_terminal:
        raise ValueError("the game is over")
    if observation.seat is None or observation.seat != observation.current_player:
        who = "a spectator" if observation.seat is None else f"seat {observation.seat}"
        raise ValueError(f"{who} is not to move: it is the turn of seat {observation.current_player}")


class RandomBot:
    """Plays uniformly at random over the legal actions, from one stream of random numbers."""

    def __init__(self, name: str, seed: int) -> None:
        self.name = name
        self._random = random.Random(seed)

    def suggest(
        self, observation: Observation, *, multi_pv: int | None = None, stop: StopToken | None = None
    ) -> Suggestion:
        _require_turn(observation)
        start = time.perf_counter()
        action = self._random.choice(observation.legal_actions())
        elapsed_ms = (time.perf_counter() - start) * 1e3
        return Suggestion(action, (), (), (), 0, elapsed_ms, "none", tuple(observation.warnings()))


class IsmctsBot:
    """Information set Monte Carlo tree search.

    Stateless: equal observations, seed, iterations and threads (without a time limit) give equal answers.
    """

    def __init__(self, name: str, params: SearchParams, seed: int) -> None:
        self.name = name
        self.params = params
        self.seed = seed

    def suggest(
        self, observation: Observation, *, multi_pv: int | None = None, stop: StopToken | None = None
    ) -> Suggestion:
        if multi_pv is not None and multi_pv < 1:
            raise ValueError(f"multi_pv must be at least 1, not {multi_pv}")
        _require_turn(observation)
        start = time.perf_counter()
        searches = self._search(observation, stop)
        seats = observation.game.num_players
        state = observation.any_state()

        edges: dict[int, _Sums] = {}
        for search in searches:
            for action_id, visits, available, returns, scores in search.root_edges():
                edges.setdefault(action_id, _Sums(seats)).add(visits, available, returns, scores)
        stands_for: dict[int, list[Action]] = {}
        for action in observation.legal_actions():
            chosen = state.representative(action.id)
            if chosen != action.id:
                stands_for.setdefault(chosen, []).append(action)
        seat = observation.current_player
        ranked = sorted(
            edges.items(), key=lambda item: (-item[1].visits, -item[1].returns[seat] / item[1].visits, item[0])
        )
        alternatives = tuple(
            Alternative(
                state.action(action_id),
                tuple(stands_for.get(action_id, ())),
                sums.visits,
                sums.available,
                tuple(r / sums.visits for r in sums.returns),
                tuple(s / sums.visits for s in sums.scores),
                max((tuple(search.variation(action_id, PV_LENGTH)) for search in searches), key=len),
            )
            for action_id, sums in ranked[:multi_pv]
        )
        best = alternatives[0]
        return Suggestion(
            best.action,
            best.win_probability,
            best.expected_score,
            alternatives,
            sum(search.iterations for search in searches),
            (time.perf_counter() - start) * 1e3,
            searches[0].stop_reason,
            tuple(observation.warnings()),
        )

    def _search(self, observation: Observation, stop: StopToken | None) -> list[Search]:
        """One finished search for every thread (root parallelization: Chaslot, Winands, van den Herik 2008)."""
        params = self.params
        threads = params.threads if params.iterations is None else min(params.threads, params.iterations)
        shares: list[int | None] = [None] * threads
        if params.iterations is not None:
            shares = [params.iterations // threads + (i < params.iterations % threads) for i in range(threads)]
        searches = [
            Search(
                observation, self.seed, stream,
                capacity_for(observation.game, share, max(1, params.memory_mb // threads)), params.exploration,
            )
            for stream, share in enumerate(shares)
        ]  # fmt: skip
        if threads == 1:
            searches[0].run(shares[0], params.time_ms, stop)
        else:
            with ThreadPoolExecutor(threads) as pool:
                futures = [
                    pool.submit(search.run, share, params.time_ms, stop)
                    for search, share in zip(searches, shares, strict=True)
                ]
                for future in futures:
                    future.result()
        return searches


class _Sums:
    """Statistics of one move over several searches."""

    def __init__(self, seats: int) -> None:
        self.visits = self.available = 0
        self.returns = [0.0] * seats
        self.scores = [0.0] * seats

    def add(self, visits: int, available: int, returns: list[float], scores: list[float]) -> None:
        self.visits += visits
        self.available += available
        self.returns = [a + b for a, b in zip(self.returns, returns, strict=True)]
        self.scores = [a + b for a, b in zip(self.scores, scores, strict=True)]


def _random_bot(name: str, settings: list[str], seed: int) -> Bot:
    if settings:
        raise ValueError(f"random has no settings, but {settings[0]!r} was given")
    return RandomBot(name, seed)


def _ismcts_bot(name: str, settings: list[str], seed: int) -> Bot:
    values = parse_settings(settings)
    if "iterations" not in values and "time_ms" not in values:
        values["iterations"] = DEFAULT_ITERATIONS
    return IsmctsBot(name, SearchParams(**values), seed)


BOTS: dict[str, Callable[[str, list[str], int], Bot]] = {"random": _random_bot, "ismcts": _ismcts_bot}


def make_bot(spec: str, seed: int = 0) -> Bot:
    """A bot from NAME or NAME:key=value:key=value, as in "random" or "ismcts:iterations=1000:threads=2".

    Raises ValueError naming the bot or the setting that is wrong.
    """
    name, *settings = spec.split(":")
    if name not in BOTS:
        raise ValueError(f"unknown bot {name!r}; there are {', '.join(BOTS)}")
    try:
        return BOTS[name](spec, settings, seed)
    except ValueError as error:
        raise ValueError(f"bot {spec!r}: {error}") from None
