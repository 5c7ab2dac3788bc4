"""How much of a clock a move may take."""

from __future__ import annotations

from bvb_core.game import Observation

PLAYOUTS = 16
# The clock must outlast the moves that are left even if the game is longer than expected.
FEWEST_MOVES = 8
# Of what is left, for one move at most.
LARGEST_SHARE = 0.25


def moves_left(observation: Observation) -> float:
    """Expected number of moves that the seat has still to make, this one included, from random playouts."""
    moves = sum(observation.determinize(seed).playout(seed) for seed in range(PLAYOUTS))
    return max(1.0, moves / PLAYOUTS / observation.game.num_players)


def time_for_move(observation: Observation, remaining_ms: float, increment_ms: float = 0) -> float:
    """Milliseconds to think about this move: an equal share of the clock for each move that is left, and most of the
    increment. At least 1, and never more than a quarter of the clock, so that a clock never runs out by thinking."""
    share = remaining_ms / max(moves_left(observation), FEWEST_MOVES) + 0.8 * increment_ms
    return max(1.0, min(share, LARGEST_SHARE * remaining_ms))
