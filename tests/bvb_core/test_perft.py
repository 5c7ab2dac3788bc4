"""Numbers of lines of play: engine and reference model agree, and nothing changes them unnoticed."""

import copy
import json
from typing import Any

import pytest

import bvb_core

from ..reference.model import Model
from ..reference.pieces import load_deck
from .strategies import DECKS, HERE


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


def record_of(deck: str) -> dict[str, Any]:
    """A game with a small deck that was played at random for 16 actions."""
    for line in (HERE / "perft.jsonl").read_text().splitlines():
        record: dict[str, Any] = json.loads(line)
        if record["rules"]["deck"] == deck:
            record["rules"]["deck"] = bvb_core.load_deck(DECKS[deck]).id
            return record
    raise KeyError(deck)


@pytest.mark.parametrize("deck", DECKS)
@pytest.mark.parametrize("moves", [0, 8, 16])
def test_model_agrees(deck: str, moves: int) -> None:
    record = record_of(deck)
    state = bvb_core.State.from_record(record, after=moves, deck=DECKS[deck])
    model = Model(record["rules"], record["deal"], load_deck(DECKS[deck]))
    for action in record["actions"][:moves]:
        model.apply(action)
    for depth in (1, 2, 3, 4):
        count = engine_perft(state, depth)
        if count > 3000:
            break
        assert count == model_perft(model, depth)
    assert depth > 1


# By deck and number of actions played before; at depth 1 to 5. The reference model gives the same.
COUNTS = {
    ("tiny", 0): [7, 44, 257, 1437, 12996],
    ("tiny", 8): [9, 65, 430, 2672, 19282],
    ("tiny", 16): [11, 73, 532, 3548, 23085],
    ("heads", 0): [9, 66, 368, 1791, 14214],
    ("heads", 8): [7, 67, 465, 2944, 18499],
    ("heads", 16): [11, 93, 734, 5404, 39254],
    ("limbs", 0): [4, 18, 92, 519, 2719],
    ("limbs", 8): [8, 42, 215, 1101, 6040],
    ("limbs", 16): [3, 14, 74, 705, 4147],
}


@pytest.mark.parametrize(("deck", "moves"), COUNTS)
def test_counts(deck: str, moves: int) -> None:
    state = bvb_core.State.from_record(record_of(deck), after=moves, deck=DECKS[deck])
    assert [engine_perft(state, depth) for depth in range(1, 6)] == COUNTS[deck, moves]
