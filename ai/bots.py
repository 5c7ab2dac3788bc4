"""Bots: what answers an observation with a move."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from ai.greedy import GreedyBot
from ai.ismcts import Search, StopToken, capacity_for
from ai.params import DEFAULT_ITERATIONS, VANILLA_EXPLORATION, SearchParams, WorldsParams, parse_settings
from ai.pimc import CheatBot, PimcBot
from ai.suggestion import Alternative, Bot, Suggestion, require_turn
from bvb_core.game import Action, Observation

PV_LENGTH = 8


class RandomBot:
    """Plays uniformly at random over the legal actions, from one stream of random numbers."""

    def __init__(self, name: str, seed: int) -> None:
        self.name = name
        self._random = random.Random(seed)

    def suggest(
        self, observation: Observation, *, multi_pv: int | None = None, stop: StopToken | None = None
    ) -> Suggestion:
        require_turn(observation)
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
        require_turn(observation)
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
            edges.items(), key=lambda item: (-item[1].visits, -item[1].returns[seat] / item[1].visits,
            item[0])
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

    def params_for(self, observation: Observation) -> SearchParams:
        """Parameters of the search in a position."""
        return self.params

    def _search(self, observation: Observation, stop: StopToken | None) -> list[Search]:
        """One finished search for every thread (root parallelization: Chaslot, Winands, van den Herik
        2008)."""
        params = self.params_for(observation)
        threads = params.threads if params.iterations is None else min(params.threads, params.iterations)
        shares: list[int | None] = [None] * threads
        if params.iterations is not None:
            shares = [params.iterations // threads + (i < params.iterations % threads) for i in
            range(threads)]
        searches = [
            Search(
                observation, self.seed, stream,
                capacity_for(observation.game, share, max(1, params.memory_mb // threads)),
                params.exploration,
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


class VanillaBot(IsmctsBot):
    """The published baseline: single-observer ISMCTS with playouts of uniformly random moves to the end of
    the game.

    Only its exploration constant is tuned, once for every number of players. It stays as it is when `ismcts`
    gets better.
    """

    def __init__(self, name: str, params: SearchParams, seed: int, tuned: bool = True) -> None:
        super().__init__(name, params, seed)
        self.tuned = tuned

    def params_for(self, observation: Observation) -> SearchParams:
        if not self.tuned:
            return self.params
        players = observation.game.num_players
        return replace(self.params, exploration=VANILLA_EXPLORATION.get(players, self.params.exploration))


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
    _no_settings("random", settings)
    return RandomBot(name, seed)


def _greedy_bot(name: str, settings: list[str], seed: int) -> Bot:
    _no_settings("greedy", settings)
    return GreedyBot(name)


def _no_settings(name: str, settings: list[str]) -> None:
    if settings:
        raise ValueError(f"{name} has no settings, but {settings[0]!r} was given")


def _with_budget(values: dict[str, Any]) -> dict[str, Any]:
    if "iterations" not in values and "time_ms" not in values:
        values["iterations"] = DEFAULT_ITERATIONS
    return values


def _ismcts_bot(name: str, settings: list[str], seed: int) -> Bot:
    return IsmctsBot(name, SearchParams(**_with_budget(parse_settings(settings))), seed)


def _vanilla_bot(name: str, settings: list[str], seed: int) -> Bot:
    values = _with_budget(parse_settings(settings))
    return VanillaBot(name, SearchParams(**values), seed, tuned="exploration" not in values)


def _pimc_bot(name: str, settings: list[str], seed: int) -> Bot:
    return PimcBot(name, WorldsParams(**_with_budget(parse_settings(settings, WorldsParams))), seed)


BOTS: dict[str, Callable[[str, list[str], int], Bot]] = {
    "random": _random_bot,
    "greedy": _greedy_bot,
    "vanilla": _vanilla_bot,
    "pimc": _pimc_bot,
    "ismcts": _ismcts_bot,
}
# Bots that need a budget, which a call may give to those that are named without one.
SEARCHING = ("vanilla", "pimc", "ismcts", "cheat")


def cheat(spec: str, seed: int) -> CheatBot:
    """The clairvoyant of the arena. No other caller may have it: it plays from the true state."""
    try:
        values = _with_budget(parse_settings(spec.split(":")[1:], WorldsParams))
        return CheatBot(spec, WorldsParams(**values), seed)
    except ValueError as error:
        raise ValueError(f"bot {spec!r}: {error}") from None


def make_bot(spec: str, seed: int = 0) -> Bot:
    """A bot from NAME or NAME:key=value:key=value, as in "random" or "ismcts:iterations=1000:threads=2".

    Raises ValueError naming the bot or the setting that is wrong.
    """
    name, *settings = spec.split(":")
    if name == "cheat":
        raise ValueError("bot 'cheat' looks at the hidden cards: it plays in the arena only")
    if name not in BOTS:
        raise ValueError(f"unknown bot {name!r}; there are {', '.join(BOTS)}")
    try:
        return BOTS[name](spec, settings, seed)
    except ValueError as error:
        raise ValueError(f"bot {spec!r}: {error}") from None
