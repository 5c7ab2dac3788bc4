"""Saved states that were tampered with are refused or are states; none of them does harm."""

import subprocess
import sys
from pathlib import Path

import pytest

import bvb_core

from ..games import a_state
from .strategies import DECKS

ROOT = Path(__file__).resolve().parent.parent.parent

# In a process of its own, so that harm has a return code. Tampers with the bytes whose change alone is not refused.
TAMPER = """
import random
import bvb_core
from tests.games import states

rng, deck = random.Random(1), bvb_core.load_deck()


def another(byte):
    return rng.choice([value for value in (0, 1, 2, 255, byte ^ 1 << rng.randrange(8)) if value != byte])


def load(data):
    try:
        return bvb_core.State.from_bytes(bytes(data), deck)
    except ValueError as error:
        assert str(error)
        return None


refused = 0
for state in states(20, seed=2):
    data = bytes(state)
    free = []
    for at in range(len(data)):
        tampered = bytearray(data)
        tampered[at] = another(data[at])
        if load(tampered):
            free.append(at)
        else:
            refused += 1
    for _ in range(100 if free else 0):
        tampered = bytearray(data)
        for at in rng.choices(free, k=rng.choice((1, 1, 2, 4))):
            tampered[at] = another(data[at])
        other = load(tampered)
        if other is None:
            continue
        assert bytes(other) == bytes(tampered)
        for seat in (None, *range(other.game.num_players)):
            other.events(seat), other.event_key(seat)
            seen = other.observation(seat)
            seen.to_json()
            try:
                seen.determinize(1).playout(2)
            except bvb_core.ObservationError:
                pass
        for action in other.legal_actions():
            other.clone().apply(action)
        other.playout(3)
        assert other.is_terminal
print(refused)
"""


def test_tampered_bytes_do_no_harm() -> None:
    run = subprocess.run([sys.executable, "-c", TAMPER], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[-2000:]
    assert int(run.stdout) > 20 * 100


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
