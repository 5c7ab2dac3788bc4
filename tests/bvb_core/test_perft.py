"""Numbers of lines of play: engine and reference model agree, and nothing changes them unnoticed."""

import copy
from typing import Any

import pytest

import bvb_core

from ..reference.model import Model
from ..reference.pieces import load_deck
from .strategies import DECKS


def engine_perft(state: Any, depth: int) -> int:
    """Lines of `depth` actions, or that end before."""
    legal = state.legal_action_ids()
    if depth <= 1 or not legal:
        return max(len(legal), 1) if depth else 1
    total = 0
    for action in legal:
        after = state.clone()
        after.apply(action)
        total += engine_perft(after, depth - 1)
    return total


def model_perft(model: Model, depth: int) -> int:
    legal = model.legal()
    if depth <= 1 or not legal:
        return max(len(legal), 1) if depth else 1
    total = 0
    for action in legal:
        after = copy.deepcopy(model)
        after.apply(action)
        total += model_perft(after, depth - 1)
    return total


def after(deck: str, moves: int, **options: Any) -> Any:
    """A game with a small deck after a number of random actions."""
    state = bvb_core.new_game(players=2, seed=5, first_player=0, deck=DECKS[deck], **options)
    for seed in range(moves):
        state.apply(state.random_action(seed))
    return state


@pytest.mark.parametrize("deck", DECKS)
@pytest.mark.parametrize("moves", [0, 8, 16])
def test_model_agrees(deck: str, moves: int) -> None:
    state = after(deck, moves, armageddon=True)
    record = state.to_record()
    model = Model(record["rules"], record["deal"], load_deck(DECKS[deck]))
    for action in record["actions"]:
        model.apply(action)
    for depth in (1, 2, 3, 4):
        count = engine_perft(state, depth)
        if count > 3000:
            break
        assert count == model_perft(model, depth)
    assert depth > 1


# By deck and number of random actions before; at depth 1 to 5. The reference model gives the same.
COUNTS = {
    ("tiny", 0): [5, 25, 125, 658, 5266],
    ("tiny", 8): [4, 20, 192, 1369, 9551],
    ("tiny", 16): [9, 68, 413, 2455, 16402],
    ("heads", 0): [7, 42, 230, 1238, 9701],
    ("heads", 8): [7, 40, 311, 1859, 10716],
    ("heads", 16): [8, 56, 324, 1971, 12593],
    ("limbs", 0): [4, 18, 92, 516, 2716],
    ("limbs", 8): [7, 43, 267, 1703, 10114],
    ("limbs", 16): [7, 32, 143, 693, 4091],
}


@pytest.mark.parametrize(("deck", "moves"), COUNTS)
def test_counts(deck: str, moves: int) -> None:
    state = after(deck, moves)
    assert [engine_perft(state, depth) for depth in range(1, 6)] == COUNTS[deck, moves]
