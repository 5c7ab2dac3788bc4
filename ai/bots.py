"""Bots: what answers an observation with a move."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ai.analysis import Analysis
from ai.greedy import GreedyBot
from ai.ismcts import StopToken
from ai.params import DEFAULT_ITERATIONS, VANILLA_EXPLORATION, IsmctsParams, SearchParams, WorldsParams, parse_settings
from ai.pimc import CheatBot, PimcBot
from ai.suggestion import Bot, Suggestion, require_turn
from bvb_core.game import Action, Observation


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
        analysis = self.analysis(observation)
        analysis.run(stop=stop)
        return analysis.report(multi_pv)

    def analysis(
        self,
        observation: Observation,
        only: Collection[Action] | None = None,
        previous: Analysis | None = None,
        keys: Sequence[int] = (),
    ) -> Analysis:
        """The search behind `suggest`, to be run in slices, and to go on from an earlier one; see Analysis."""
        return Analysis(observation, self.params_for(observation), self.seed, only, previous, keys)

    def params_for(self, observation: Observation) -> SearchParams:
        """Parameters of the search in a position."""
        return self.params


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
    return IsmctsBot(name, IsmctsParams(**_with_budget(parse_settings(settings, IsmctsParams))), seed)


def _vanilla_bot(name: str, settings: list[str], seed: int) -> Bot:
    values = _with_budget(parse_settings(settings, SearchParams))
    return VanillaBot(name, SearchParams(**values), seed, tuned="exploration" not in values)


def _pimc_bot(name: str, settings: list[str], seed: int) -> Bot:
    return PimcBot(name, WorldsParams(**_with_budget(parse_settings(settings, WorldsParams))), seed)


@dataclass(frozen=True, slots=True)
class BotKind:
    """What a name stands for."""

    make: Callable[[str, list[str], int], Bot]
    params: type[SearchParams] | type[WorldsParams] | None
    """None for bots that do not search: they have neither budget nor settings."""
    description: str


BOTS = {
    "random": BotKind(_random_bot, None, "Plays uniformly at random."),
    "greedy": BotKind(_greedy_bot, None, "Looks one action ahead by a script."),
    "vanilla": BotKind(
        _vanilla_bot,
        SearchParams,
        "The published ISMCTS with random playouts, its exploration set by number of players: a baseline that stays as it is.",
    ),
    "pimc": BotKind(_pimc_bot, WorldsParams, "Searches some determinizations as games of full information."),
    "ismcts": BotKind(_ismcts_bot, IsmctsParams, "Information set Monte Carlo tree search: the engine's own."),
}
# Bots that need a budget, which a call may give to those that are named without one.
SEARCHING = ("vanilla", "pimc", "ismcts", "cheat", "keeper")


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
        return BOTS[name].make(spec, settings, seed)
    except ValueError as error:
        raise ValueError(f"bot {spec!r}: {error}") from None
