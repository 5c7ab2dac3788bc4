"""Saved states that were tampered with are refused or are states; none of them does harm."""

import subprocess
import sys
from pathlib import Path

import pytest

import bvb_core

from ..games import a_state
from .strategies import DECKS

ROOT = Path(__file__).resolve().parent.parent.parent

# In a process of its own, so that harm has a return code. Every byte in turn, and pairs that one by one were accepted.
TAMPER = """
import random
import bvb_core
from tests.games import states

rng, deck = random.Random(1), bvb_core.load_deck()


def load(data, *changes):
    tampered = bytearray(data)
    for at, value in changes:
        tampered[at] = value
    try:
        state = bvb_core.State.from_bytes(bytes(tampered), deck)
    except ValueError as error:
        assert str(error)
        return None
    assert bytes(state) == bytes(tampered)
    return state


def use(state):
    for seat in (None, *range(state.game.num_players)):
        state.events(seat), state.event_key(seat)
        seen = state.observation(seat)
        try:
            seen.determinize(1)
        except bvb_core.ObservationError:
            pass
    state.legal_actions()
    state.playout(3)
    assert state.is_terminal


refused = 0
for state in states(4, seed=2):
    data = bytes(state)
    accepted = []
    for at, byte in enumerate(data):
        for value in {1, 2, 255, byte ^ 128} - {byte}:
            other = load(data, (at, value))
            if other is None:
                refused += 1
            else:
                accepted.append((at, value))
                use(other)
    for _ in range(300 if accepted else 0):
        other = load(data, *rng.choices(accepted, k=2))
        if other is not None:
            use(other)
print(refused)
"""


def test_tampered_bytes_do_no_harm() -> None:
    run = subprocess.run([sys.executable, "-c", TAMPER], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[-2000:]
    assert int(run.stdout) > 4 * 1000


def test_what_is_not_a_saved_state() -> None:
    data = bytes(a_state())
    for wrong, message in (
        (b"", "not a saved state of this version"),
        (b"bvb-state/0\n" + data[12:], "not a saved state of this version"),
        (data[:-1], "bytes, not"),
        (data + b"\0", "bytes, not"),
        (data[:12] + b"\0" * 32 + data[44:], "saved with another deck"),
        (data[:44] + b"\x09" + data[45:], "players"),
    ):
        with pytest.raises(ValueError, match=message):
            bvb_core.State.from_bytes(wrong)


def test_other_decks_are_refused() -> None:
    state = bvb_core.new_game(players=2, seed=1, deck=DECKS["tiny"])
    with pytest.raises(ValueError, match="saved with another deck"):
        bvb_core.State.from_bytes(bytes(state))
    assert bvb_core.State.from_bytes(bytes(state), DECKS["tiny"]) == state
