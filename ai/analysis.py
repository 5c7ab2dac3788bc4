"""A search that can be looked at while it grows."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

from ai.ismcts import Observers, RootMove, Search, StopToken, memory_for
from ai.params import IsmctsParams, SearchParams
from ai.suggestion import Alternative, Outcome, Root, Suggestion, require_turn
from bvb_core.game import Action, Observation

PV_LENGTH = 8
MAX_THREADS = 64
# For a position with one move: some 20 milliseconds, so that the answer has figures.
ONLY_MOVE_ITERATIONS = 1000
# Between looks whether the best move can still be overtaken.
LEADER_SLICE_MS = 10.0


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
        observers, early_stop = int(Observers.ONE_TREE), 0
        if isinstance(params, IsmctsParams):
            observers, early_stop = params.observers, params.early_stop
        self._decided = early_stop > 0 and only is None and len(self._classes) == 1
        self._watch_leader = early_stop > 1 and params.time_ms is not None
        iterations = params.iterations
        if self._decided:
            iterations = min(iterations or ONLY_MOVE_ITERATIONS, ONLY_MOVE_ITERATIONS)
        threads = params.threads if iterations is None else min(params.threads, iterations)
        # Root parallelization (Chaslot, Winands, van den Herik 2008): a search for every thread.
        self._shares: list[int | None] = [None] * threads
        if iterations is not None:
            self._shares = [iterations // threads + (i < iterations % threads) for i in range(threads)]
        olds = [] if previous is None else previous._searches
        most = (params.memory_mb << 20) // threads
        self._searches: list[Search] = []
        for stream, share in enumerate(self._shares):
            old = olds[stream] if stream < len(olds) else None
            memory = min(most, memory_for(share, most) + (old.tree_size[1] if old else 0))
            search = Search(
                observation,
                seed,
                stream + self._generation * MAX_THREADS,
                memory,
                params.exploration,
                None if only is None else list(self._classes),
                observers,
            )
            if old is not None:
                search.adopt(old, list(keys))
            self._searches.append(search)

    @property
    def adopted(self) -> int:
        """Visits of this position that were taken over."""
        return sum(search.adopted for search in self._searches)

    @property
    def observers(self) -> int:
        """What moves are told apart by, one of Observers. Only an analysis with the same takes the tree over."""
        return self._searches[0].observers

    @property
    def size_bytes(self) -> int:
        """Memory of the searches."""
        return sum(search.size_bytes for search in self._searches)

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
        until = None if slice_ms is None else self.elapsed_ms + slice_ms
        while True:
            left_ms = None if self._time_ms is None else max(0.0, self._time_ms - self.elapsed_ms)
            parts = [left_ms, None if until is None else max(0.0, until - self.elapsed_ms)]
            parts.append(LEADER_SLICE_MS if self._watch_leader else None)
            time_ms = min((part for part in parts if part is not None), default=None)
            self._run(time_ms, stop)
            if self.stop_reason != "time" or time_ms == left_ms:
                if self.stop_reason == "iterations" and self._decided:
                    self.stop_reason = "decided"
                return True
            if self._watch_leader and self._cannot_be_overtaken():
                self.stop_reason = "decided"
                return True
            if until is not None and self.elapsed_ms >= until:
                return False

    def _run(self, time_ms: float | None, stop: StopToken | None) -> None:
        """Run all searches that have not had their iterations."""
        todo = [
            (search, None if share is None else share - search.iterations)
            for search, share in zip(self._searches, self._shares, strict=True)
            if share is None or search.iterations < share
        ]
        if not todo:
            return
        if len(todo) == 1:
            search, share = todo[0]
            search.run(share, time_ms, stop)
        else:
            with ThreadPoolExecutor(len(todo)) as pool:
                for future in [pool.submit(search.run, share, time_ms, stop) for search, share in todo]:
                    future.result()
        reasons = {search.stop_reason for search, _ in todo}
        self.stop_reason = next(reason for reason in ("stopped", "time", "iterations") if reason in reasons)

    def _cannot_be_overtaken(self) -> bool:
        """Whether the most visited move stays so, whatever the time that is left brings, at the speed so far."""
        assert self._time_ms is not None
        visits: Counter[int] = Counter()
        for search in self._searches:
            visits.update({move.action_id: move.visits for move in search.root_moves()})
        first, second, *_ = [*sorted(visits.values(), reverse=True), 0]
        return first - second > self.iterations * (self._time_ms / self.elapsed_ms - 1)

    def report(self, multi_pv: int | None = None) -> Suggestion:
        """What was found so far. `multi_pv` limits the alternatives (None: all).

        Raises ValueError when nothing was searched yet, or `multi_pv` is less than 1.
        """
        if not self.iterations:
            raise ValueError("nothing was searched yet")
        if multi_pv is not None and multi_pv < 1:
            raise ValueError(f"multi_pv must be at least 1, not {multi_pv}")
        seats = self.observation.game.num_players
        state = self.observation.any_state()
        moves: dict[int, _Sums] = {}
        for search in self._searches:
            for move in search.root_moves():
                moves.setdefault(move.action_id, _Sums(seats)).add(move)
        ranked = sorted(moves.items(), key=lambda item: (-item[1].visits, -item[1].value, item[0]))
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
        win_probability, expected_score = root.win_probability, root.expected_score
        if sums.new_visits:
            win_probability = tuple(total / sums.new_visits for total in sums.returns)
            expected_score = tuple(total / sums.new_visits for total in sums.scores)
        if sums.new_visits < sums.visits:
            win_probability = _with_share(win_probability, self.observation.current_player, sums.value)
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
            win_probability,
            expected_score,
            tuple(words),
            tuple(
                _deviation(total, squares, sums.new_visits) / math.sqrt(sums.visits)
                for total, squares in zip(sums.returns, sums.squares, strict=True)
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
    """A move over several searches; see RootMove."""

    def __init__(self, seats: int) -> None:
        self.visits = self.available = self.new_visits = 0
        self.returns = self.squares = self.scores = [0.0] * seats
        self._total = 0.0

    def add(self, move: RootMove) -> None:
        self.visits += move.visits
        self.available += move.availability
        self.new_visits += move.new_visits
        self.returns = _sum_up((self.returns, move.returns))
        self.squares = _sum_up((self.squares, move.squares))
        self.scores = _sum_up((self.scores, move.scores))
        self._total += move.mean * move.visits

    @property
    def value(self) -> float:
        """Mean return of the seat that moves, over all visits."""
        return self._total / self.visits


def _with_share(shares: tuple[float, ...], seat: int, share: float) -> tuple[float, ...]:
    """Shares of one whole, that of a seat replaced, and the others in their proportions."""
    rest = 1 - shares[seat]
    others = [(1 - share) * (old / rest if rest > 0 else 1 / (len(shares) - 1)) for old in shares]
    return (*others[:seat], share, *others[seat + 1 :])


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
