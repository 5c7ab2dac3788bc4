"""A search that can be looked at while it grows."""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

from ai.ismcts import Search, StopToken, bytes_per_node, capacity_for
from ai.params import SearchParams
from ai.suggestion import Alternative, Outcome, Root, Suggestion, require_turn
from bvb_core.game import Action, Observation

PV_LENGTH = 8
MAX_THREADS = 64


class Analysis:
    """One ISMCTS search of a position, run at once or in slices, with a report at any moment between them.

    Slices change nothing: with a budget of iterations alone and one thread, the tree is the same as in one run. Not to be
    run by two threads at once.
    """

    def __init__(
        self,
        observation: Observation,
        params: SearchParams,
        seed: int,
        only: Collection[Action] | None = None,
        previous: Analysis | None = None,
        keys: Sequence[int] = (),
        pondering: bool = False,
    ) -> None:
        """The clock of the budget starts now. `only`: the legal moves to look at, None for all.

        `previous`: an analysis of the same seat in the same game, which has ended. What it found is taken over where it
        looked ahead to this position: `keys` is what the seat was shown since (State.event_key), action by action.
        The budget counts new iterations only.

        `pondering`: it may be another seat's turn; there is nothing to report, but a later analysis can take the tree over.

        Raises ValueError when it is not the observer's turn, unless `pondering`, or `only` holds no legal move.
        """
        if not pondering:
            require_turn(observation)
        self.observation = observation
        self.stop_reason = "none"
        self._time_ms = params.time_ms
        self._start = time.perf_counter()
        self._classes = {} if pondering else _symmetry_classes(observation, only)
        self._generation: int = 0 if previous is None else previous._generation + 1  # new chance, not that of before once more
        threads = params.threads if params.iterations is None else min(params.threads, params.iterations)
        # Root parallelization (Chaslot, Winands, van den Herik 2008): a search for every thread.
        self._shares: list[int | None] = [None] * threads
        if params.iterations is not None:
            self._shares = [params.iterations // threads + (i < params.iterations % threads) for i in range(threads)]
        room = 0 if previous is None else max(max(search.tree_size) for search in previous._searches)
        self._searches: list[Search] = [
            Search(
                observation,
                seed,
                stream + self._generation * MAX_THREADS,
                capacity_for(
                    observation.game, None if share is None else share + room, max(1, params.memory_mb // threads)
                ),
                params.exploration,
                None if only is None else list(self._classes),
            )
            for stream, share in enumerate(self._shares)
        ]
        if previous is not None:
            for search, old in zip(self._searches, previous._searches, strict=False):
                search.adopt(old, list(keys))
        self._adopted = [
            {action_id: _Sums(visits, returns) for action_id, visits, _, returns, _ in search.root_edges()}
            for search in self._searches
        ]

    @property
    def adopted(self) -> int:
        """Visits of this position that were taken over."""
        return sum(search.adopted for search in self._searches)

    @property
    def size_bytes(self) -> int:
        """Memory of the trees."""
        size = bytes_per_node(self.observation.game.num_players)
        return size * sum(max(search.tree_size) for search in self._searches)

    @property
    def iterations(self) -> int:
        """Of all threads together."""
        return sum(search.iterations for search in self._searches)

    @property
    def elapsed_ms(self) -> float:
        """Time since the start."""
        return (time.perf_counter() - self._start) * 1e3

    def run(self, slice_ms: float | None = None, stop: StopToken | None = None) -> bool:
        """Search until the budget is used up or `stop` says so, at most for `slice_ms`; at least one iteration.

        Returns whether the search has ended.
        """
        left_ms = None if self._time_ms is None else max(0.0, self._time_ms - self.elapsed_ms)
        sliced = slice_ms is not None and (left_ms is None or slice_ms < left_ms)
        time_ms = slice_ms if sliced else left_ms
        todo = [
            (search, None if share is None else share - search.iterations)
            for search, share in zip(self._searches, self._shares, strict=True)
            if share is None or search.iterations < share
        ]
        if len(todo) == 1:
            search, share = todo[0]
            search.run(share, time_ms, stop)
        else:
            with ThreadPoolExecutor(len(todo)) as pool:
                for future in [pool.submit(search.run, share, time_ms, stop) for search, share in todo]:
                    future.result()
        reasons = {search.stop_reason for search, _ in todo}
        self.stop_reason = next(reason for reason in ("stopped", "time", "iterations") if reason in reasons)
        return self.stop_reason != "time" or not sliced

    def report(self, multi_pv: int | None = None) -> Suggestion:
        """What was found so far. `multi_pv` limits the alternatives (None: all). Needs an iteration at least."""
        seats = self.observation.game.num_players
        state = self.observation.any_state()
        edges: dict[int, _Sums] = {}
        for search, adopted in zip(self._searches, self._adopted, strict=True):
            for action_id, visits, available, returns, scores in search.root_edges():
                sums = edges.setdefault(action_id, _Sums(0, [0.0] * seats))
                sums.add(visits, available, returns, search.squared_returns(action_id), scores, adopted.get(action_id))
        seat = self.observation.current_player
        ranked = sorted(
            edges.items(), key=lambda item: (-item[1].visits, -item[1].returns[seat] / item[1].visits, item[0])
        )
        root = self._root(state.game.outcome_names)
        alternatives = tuple(self._alternative(action_id, sums, root) for action_id, sums in ranked[:multi_pv])
        best = alternatives[0]
        return Suggestion(
            best.action,
            best.win_probability,
            best.expected_score,
            alternatives,
            self.iterations,
            self.elapsed_ms,
            self.stop_reason,
            tuple(self.observation.warnings()),
            root,
            self.adopted,
        )

    def _alternative(self, action_id: int, sums: _Sums, root: Root) -> Alternative:
        members = self._classes[action_id]
        lines = (search.variation(action_id, PV_LENGTH) for search in self._searches)
        line = max(lines, key=len)
        words = [text for text, _ in line]
        if words and members[0].id != action_id:
            words[0] = words[0].replace(self.observation.any_state().action(action_id).text, members[0].text, 1)
        return Alternative(
            members[0],
            tuple(members[1:]),
            sums.visits,
            sums.available,
            tuple(r / sums.visits for r in sums.returns),
            tuple(s / sums.new for s in sums.scores) if sums.new else root.expected_score,
            tuple(words),
            tuple(
                _deviation(total, squares, sums.new) / math.sqrt(sums.visits)
                for total, squares in zip(sums.new_returns, sums.squares, strict=True)
            ),
            tuple(visits for _, visits in line),
        )

    def _root(self, outcome_names: tuple[str, ...]) -> Root:
        parts = [search.root_sums() for search in self._searches]
        n = self.iterations
        returns = _sum_up(part[0] for part in parts)
        scores = _sum_up(part[1] for part in parts)
        squared_scores = _sum_up(part[2] for part in parts)
        outcomes = []
        for k, name in enumerate(outcome_names):
            nobody, *seats = _sum_up(part[3][k] for part in parts)
            if nobody or any(seats):
                outcomes.append(Outcome(name, tuple(won / n for won in seats), nobody / n))
        return Root(
            tuple(r / n for r in returns),
            tuple(s / n for s in scores),
            tuple(_deviation(s, squares, n) for s, squares in zip(scores, squared_scores, strict=True)),
            tuple(outcomes),
        )


class _Sums:
    """Statistics of one move over several searches: all visits, and of `new` ones what is not taken over with a tree."""

    def __init__(self, visits: int, returns: list[float]) -> None:
        zeros = [0.0] * len(returns)
        self.visits, self.returns = visits, returns
        self.available = self.new = 0
        self.new_returns, self.squares, self.scores = zeros, zeros, zeros

    def add(
        self,
        visits: int,
        available: int,
        returns: list[float],
        squares: list[float],
        scores: list[float],
        adopted: _Sums | None,
    ) -> None:
        """Add one search, in which the move was `adopted` with these visits and returns."""
        self.visits += visits
        self.available += available
        self.new += visits - (adopted.visits if adopted else 0)
        self.returns = _sum_up((self.returns, returns))
        before = adopted.returns if adopted else [0.0] * len(returns)
        new_returns = [now - then for now, then in zip(returns, before, strict=True)]
        self.new_returns = _sum_up((self.new_returns, new_returns))
        self.squares = _sum_up((self.squares, squares))
        self.scores = _sum_up((self.scores, scores))


def _sum_up(vectors: Iterable[Iterable[float]]) -> list[float]:
    return [math.fsum(values) for values in zip(*vectors, strict=True)]


def _deviation(total: float, squares: float, n: int) -> float:
    """Standard deviation of n values from their sum and the sum of their squares; of less than two, 0.5, the largest one
    of values from 0 to 1."""
    if n < 2:
        return 0.5
    return math.sqrt(max(0.0, squares - total * total / n) / (n - 1))


def _symmetry_classes(observation: Observation, only: Collection[Action] | None) -> dict[int, list[Action]]:
    """The legal moves to look at, by the search action that stands for them; that one first where it is among them."""
    state = observation.any_state()
    legal = observation.legal_actions()
    if only is not None:
        legal = [action for action in legal if action in only]
        if not legal or len(legal) < len(set(only)):
            raise ValueError("only legal moves can be looked at, and at least one")
    classes: dict[int, list[Action]] = {}
    for action in legal:
        chosen = state.representative(action.id)
        members = classes.setdefault(chosen, [])
        members.insert(0 if action.id == chosen else len(members), action)
    return classes
