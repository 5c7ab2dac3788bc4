"""Positions from random games, for tests."""

import random
from collections.abc import Iterator
from functools import cache
from typing import Any

import bvb_core


def random_game(rng: random.Random, players: int | None = None) -> bvb_core.State:
    """A new game with random options."""
    return bvb_core.new_game(
        players=players or rng.randint(2, 5),
        seed=rng.getrandbits(32),
        armageddon=rng.random() < 0.3,
        practice=rng.random() < 0.2,
    )


def states(count: int, seed: int) -> Iterator[bvb_core.State]:
    """`count` states in which somebody is to move, at random moments of random games."""
    rng = random.Random(seed)
    while count:
        state = random_game(rng)
        moment = rng.randrange(20 if state.rules["practice"] else 330)
        for _ in range(moment):
            if state.is_terminal:
                break
            state.apply(rng.choice(state.legal_actions()))
        if not state.is_terminal:
            count -= 1
            yield state


@cache
def a_state() -> bvb_core.State:
    """The middle of a game for three, with monsters on the table and several moves to choose from."""
    rng = random.Random(5)
    state = bvb_core.new_game(players=3, seed=5, first_player=0)
    while True:
        legal = state.legal_actions()
        view = state.observation(None).to_dict()
        if len(view["monsters"]) >= 3 and len(legal) > 5 and view["pending"] == "PENDING_UNSPECIFIED":
            return state
        state.apply(rng.choice(legal))


def a_position() -> dict[str, Any]:
    """What the seat to move knows in `a_state`, as a fresh JSON object."""
    state = a_state()
    position: dict[str, Any] = state.observation(state.current_player).to_dict()
    return position
