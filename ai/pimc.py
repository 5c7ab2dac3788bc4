"""Bots that search states of full information: determinizations (honest), or the true state (for the arena
only)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import islice

from ai.ismcts import Search, StopToken, memory_for
from ai.params import WorldsParams
from ai.suggestion import Alternative, Suggestion, require_turn
from bvb_core.game import Observation, State

# Between looks at the clock and the stop token.
CHUNK = 16
# Of the tree of one world, in bytes; a full tree grows no more.
MEMORY = 64 << 20


class PimcBot:
    """Perfect-information Monte Carlo (Ginsberg 2001, with UCT in place of a double dummy solver): some
    determinizations are searched as games of full information, and the visits of their roots are added up.
    Stateless: equal observations, seed and iterations (without a time limit) give equal answers.

    It assumes that everybody will see everything from the next move on, so it never pays for information and
    never hides any (strategy fusion; Long, Sturtevant, Buro, Furtak 2010).
    """

    def __init__(self, name: str, params: WorldsParams, seed: int) -> None:
        self.name = name
        self.params = params
        self.seed = seed

    def suggest(
        self, observation: Observation, *, multi_pv: int | None = None, stop: StopToken | None = None
    ) -> Suggestion:
        if multi_pv is not None and multi_pv < 1:
            raise ValueError(f"multi_pv must be at least 1, not {multi_pv}")
        require_turn(observation)
        worlds = (observation.determinize(self.seed + stream) for stream in range(self.params.worlds))
        return _search(
            worlds, self.params, self.params.worlds, self.seed, multi_pv, stop, tuple(observation.warnings())
        )


class CheatBot:
    """A clairvoyant: searches the true state, hidden cards included. It plays in the arena alone, to show
    what knowing everything is worth; an honest bot that comes near it has seen what it should not."""

    def __init__(self, name: str, params: WorldsParams, seed: int) -> None:
        self.name = name
        self.params = params
        self.seed = seed

    def suggest_knowing_all(self, state: State) -> Suggestion:
        """A move for the seat to move in the true state."""
        return _search(iter([state]), self.params, 1, self.seed, 1, None, ())


def _search(
    worlds: Iterator[State],
    params: WorldsParams,
    n_worlds: int,
    seed: int,
    multi_pv: int | None,
    stop: StopToken | None,
    warnings: tuple[str, ...],
) -> Suggestion:
    """Search world after world with equal shares of the budget, and add up the statistics of the moves at
    their roots."""
    start = time.perf_counter()
    if params.iterations is not None:
        n_worlds = min(n_worlds, params.iterations)
    sums: dict[int, _Sums] = {}
    iterations, reason = 0, "iterations"
    for stream, world in enumerate(islice(worlds, n_worlds)):
        share = None
        if params.iterations is not None:
            share = params.iterations // n_worlds + (stream < params.iterations % n_worlds)
        search = Search(
            world.observation(world.current_player),
            seed,
            stream,
            memory_for(share, MEMORY),
            params.exploration,
            world=world,
        )
        while share is None or search.iterations < share:
            if stop is not None and stop.is_stopped and (iterations or search.iterations):
                reason = "stopped"
                break
            if params.time_ms is not None and search.iterations:
                elapsed_ms = (time.perf_counter() - start) * 1e3
                if elapsed_ms >= params.time_ms * (stream + 1) / n_worlds:
                    reason = "time"
                    break
            search.run(CHUNK if share is None else min(CHUNK, share - search.iterations), None)
        iterations += search.iterations
        for move in search.root_moves():
            sums.setdefault(move.action_id, _Sums(len(move.returns))).add(move.visits, move.returns, move.scores)
        if reason == "stopped":
            break
        if params.time_ms is not None and (time.perf_counter() - start) * 1e3 >= params.time_ms:
            reason = "time"  # worlds that are left are not searched
            break
    seat = world.current_player
    ranked = sorted(sums.items(), key=lambda item: (-item[1].visits, -item[1].returns[seat], item[0]))
    alternatives = tuple(
        Alternative(
            world.action(action_id),
            tuple(
                action
                for action in world.legal_actions()
                if action.id != action_id and world.representative(action.id) == action_id
            ),
            move.visits,
            iterations,
            tuple(total / move.visits for total in move.returns),
            tuple(total / move.visits for total in move.scores),
            (str(world.action(action_id)),),
        )
        for action_id, move in ranked[:multi_pv]
    )
    best = alternatives[0]
    return Suggestion(
        best.action,
        best.win_probability,
        best.expected_score,
        alternatives,
        iterations,
        (time.perf_counter() - start) * 1e3,
        reason,
        warnings,
    )


class _Sums:
    """Statistics of one move over several worlds."""

    def __init__(self, seats: int) -> None:
        self.visits = 0
        self.returns = [0.0] * seats
        self.scores = [0.0] * seats

    def add(self, visits: int, returns: list[float], scores: list[float]) -> None:
        self.visits += visits
        self.returns = [a + b for a, b in zip(self.returns, returns, strict=True)]
        self.scores = [a + b for a, b in zip(self.scores, scores, strict=True)]
