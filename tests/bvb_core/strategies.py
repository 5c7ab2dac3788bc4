"""Games of Bears vs Babies for property tests."""

import random
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

import bvb_core

HERE = Path(__file__).parent
DECKS = {name: HERE / f"{name}.toml" for name in ("tiny", "heads", "limbs")}


@st.composite
def new_games(draw: st.DrawFn) -> Any:
    """A new game under any rules, with the shipped deck or one of the small ones."""
    deck = draw(st.sampled_from([None, None, *DECKS.values()]))
    return bvb_core.new_game(
        players=draw(st.integers(2, 5)) if deck is None else 2,
        seed=draw(st.integers(0, 2**64 - 1)),
        armageddon=draw(st.booleans()),
        practice=draw(st.booleans()) if deck is None else False,
        turn_limit=draw(st.sampled_from([500, 40])),
        deck=deck,
    )


@st.composite
def positions(draw: st.DrawFn) -> Any:
    """A game after up to 350 random actions; it may be over."""
    state = draw(new_games())
    rng = random.Random(draw(st.integers(0, 2**32)))
    for _ in range(draw(st.integers(0, 350))):
        if state.is_terminal:
            break
        state.apply(state.random_action(rng.getrandbits(40)))
    return state
