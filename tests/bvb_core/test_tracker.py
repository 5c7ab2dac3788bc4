"""A tracker that is told what an observer was shown knows what the observer knows."""

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bvb_core

from .strategies import new_games


@settings(max_examples=60, deadline=None)
@given(new_games(), st.integers(0, 2**32), st.integers(0, 60))
def test_trackers_follow_games(state: Any, seed: int, joined: int) -> None:
    """For every observer, from any moment on; the lines of one action are pushed one by one."""
    rng = random.Random(seed)
    for _ in range(joined):
        if not state.is_terminal:
            state.apply(state.random_action(rng.getrandbits(40)))
    trackers = {
        seat: bvb_core.Tracker(state.rules, seat, state.observation(seat))
        for seat in (*range(state.game.num_players), None)
    }
    for _ in range(150):
        if state.is_terminal:
            break
        mover = state.current_player
        state.apply(state.random_action(rng.getrandbits(40)))
        for seat, tracker in trackers.items():
            lines = state.events(seat)
            for line in lines:
                tracker.push(line)
            # Others learn with the next line only whether a Wild Provoke is of use.
            if seat == mover or not lines[0].endswith("wild_provoke"):
                assert tracker.observation() == state.observation(seat)


@settings(max_examples=30, deadline=None)
@given(new_games(), st.integers(0, 2**32), st.lists(st.text(max_size=12), min_size=5))
def test_lines_that_cannot_follow_change_nothing(state: Any, seed: int, junk: list[str]) -> None:
    rng = random.Random(seed)
    tracker = bvb_core.Tracker(state.rules, 1, state.observation(1))
    for _ in range(rng.randrange(100)):
        if not state.is_terminal:
            state.apply(state.random_action(rng.getrandbits(40)))
            for line in state.events(1):
                tracker.push(line)
    before = tracker.observation()
    for line in [
        *junk,
        "draw 4 = arm",
        "draw 1 = unicorn",
        "reveal m99 bear",
        "wild up",
        "mask ? m99",
        "head ?",
    ]:
        with pytest.raises(ValueError, match="events"):
            tracker.push(line)
        assert tracker.observation() == before
