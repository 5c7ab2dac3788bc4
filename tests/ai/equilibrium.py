"""The value of a small zero-sum game for two, by linear programming over sequences of own actions (Koller, Megiddo and von
Stengel 1996: "Efficient Computation of Equilibria for Extensive Two-Person Games")."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import bmat, coo_matrix, csr_matrix

import bvb_core

CHANCE_SAMPLES = 200


class Sequences:
    """Sequences of actions of one seat, numbered from the empty one, and the information sets in which they go on."""

    def __init__(self) -> None:
        self.numbers: dict[tuple[Any, int], int] = {}
        self.sets: dict[Any, tuple[int, list[int]]] = {}

    def children(self, information_set: Any, before: int, actions: list[int]) -> list[int]:
        """The sequences that lead on from an information set, in the order of the actions."""
        if information_set not in self.sets:
            new = [self.numbers.setdefault((information_set, a), len(self.numbers) + 1) for a in actions]
            self.sets[information_set] = (before, new)
        assert self.sets[information_set][0] == before, "the seat has forgotten what it did"
        return self.sets[information_set][1]

    def constraints(self) -> tuple[csr_matrix, np.ndarray]:
        """Of the probabilities to play each sequence: 1 for the empty one, and every set hands on what reaches it."""
        rows, columns, values = [0], [0], [1.0]
        for row, (before, after) in enumerate(self.sets.values(), start=1):
            rows += [row] * (1 + len(after))
            columns += [before, *after]
            values += [-1.0, *[1.0] * len(after)]
        right = np.zeros(1 + len(self.sets))
        right[0] = 1
        return csr_matrix((values, (rows, columns)), shape=(len(right), 1 + len(self.numbers))), right


def value(deals: Iterable[Any]) -> float:
    """Expected score of the first seat when both play an equilibrium.

    `deals` are all states that the game may begin with, each as likely. All actions are public, and every outcome of chance
    is as likely as the others.
    """
    seats = (Sequences(), Sequences())
    payoffs: list[tuple[float, int, int]] = []

    def walk(state: Any, chance: float, reached: tuple[int, int], history: tuple[int, ...]) -> None:
        player = state.current_player
        if state.is_terminal:
            payoffs.append((chance * state.scores()[0], *reached))
        elif player == bvb_core.CHANCE:
            outcomes = {state.sample_chance(seed) for seed in range(CHANCE_SAMPLES)}
            for outcome in sorted(outcomes):
                after = state.clone()
                after.apply_chance(outcome)
                walk(after, chance / len(outcomes), reached, (*history, outcome))
        else:
            actions = state.legal_action_ids()
            information_set = (bytes(state.observation(player)), history)
            following = seats[player].children(information_set, reached[player], actions)
            for action, sequence in zip(actions, following, strict=True):
                after = state.clone()
                after.apply(action)
                walk(after, chance, (sequence, reached[1]) if player == 0 else (reached[0], sequence), (*history, action))

    deals = list(deals)
    for deal in deals:
        walk(deal, 1 / len(deals), (0, 0), ())
    (own, own_right), (other, other_right) = (seat.constraints() for seat in seats)
    amounts, rows, columns = zip(*payoffs, strict=True)
    payoff = coo_matrix((amounts, (rows, columns)), shape=(own.shape[1], other.shape[1])).tocsr()
    # The first seat's plan x, and what each information set of the other is worth at most to the first, q.
    solved = linprog(
        np.concatenate([np.zeros(own.shape[1]), -other_right]),
        A_ub=bmat([[-payoff.T, other.T]]),
        b_ub=np.zeros(other.shape[1]),
        A_eq=bmat([[own, csr_matrix((own.shape[0], other.shape[0]))]]),
        b_eq=own_right,
        bounds=[(0, None)] * own.shape[1] + [(None, None)] * other.shape[0],
    )
    assert solved.success, solved.message
    return -float(solved.fun)
