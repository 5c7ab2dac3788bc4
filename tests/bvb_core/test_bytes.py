"""Saved states that were tampered with are refused or are states; none of them does harm."""

import subprocess
import sys
from pathlib import Path

import pytest

import bvb_core

from ..games import a_state
from .strategies import DECKS

ROOT = Path(__file__).resolve().parent.parent.parent

# In a process of its own, so that harm has a return code. A few bytes at a time, values near the old ones and far.
TAMPER = """
import random, sys
import bvb_core
from tests.games import states

rng = random.Random(int(sys.argv[1]))
accepted = refused = 0
for state in states(20, seed=rng.getrandbits(32)):
    data = bytes(state)
    start = len(data) - len(state._raw())
    for _ in range(60):
        tampered = bytearray(data)
        for _ in range(rng.choice((1, 1, 1, 2, 4))):
            at = rng.randrange(start if rng.random() < 0.9 else 0, len(data))
            tampered[at] = rng.choice((0, 1, 2, 255, tampered[at] ^ 1 << rng.randrange(8), rng.randrange(256)))
        try:
            other = bvb_core.State.from_bytes(bytes(tampered))
        except ValueError as error:
            assert str(error)
            refused += 1
            continue
        accepted += 1
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
print(accepted, refused)
"""


@pytest.mark.parametrize("seed", range(2))
def test_tampered_bytes_do_no_harm(seed: int) -> None:
    run = subprocess.run([sys.executable, "-c", TAMPER, str(seed)], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert int(run.stdout.split()[1]) > 200


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
