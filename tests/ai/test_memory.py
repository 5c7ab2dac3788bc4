"""Searches give back all the memory that they take."""

import gc
import os
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import pytest

from ai import make_bot
from ai.ismcts import is_debug_build

from ..games import states

STATM = Path("/proc/self/statm")
# One tree of these searches is larger than 10 kB.
BOTS = ("ismcts:iterations=200", "ismcts:iterations=200:threads=2", "vanilla:iterations=200")

pytestmark = [
    pytest.mark.skipif(not STATM.exists(), reason="resident memory is read from /proc"),
    pytest.mark.skipif(is_debug_build(), reason="the sanitizer keeps what was freed"),
]


def resident_bytes() -> int:
    gc.collect()
    return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def search(number: int, state: Any) -> None:
    """A search from a fresh observation, and one that goes on from it."""
    bot: Any = make_bot(BOTS[number % len(BOTS)], seed=number)
    view = state.observation(state.current_player)
    first = bot.analysis(view)
    first.run()
    first.report()
    again = bot.analysis(view, previous=first)
    again.run()
    assert again.adopted == 200


def growth(searches: int) -> int:
    """Bytes by which the process has grown after so many searches, the first fifth not counted."""
    warm_up = searches // 5
    positions = cycle(states(20, seed=21))
    for number, state in enumerate(islice(positions, warm_up)):
        search(number, state)
    before = resident_bytes()
    for number, state in enumerate(islice(positions, searches - warm_up)):
        search(number, state)
    return resident_bytes() - before


def test_a_thousand_searches_leave_memory_flat() -> None:
    assert growth(500) < 1 << 19


@pytest.mark.soak
def test_ten_thousand_searches_leave_memory_flat() -> None:
    grown = growth(5000)
    print(f"10,000 searches, half of which go on from others: the process grew by {grown} bytes")
    assert grown < 1 << 19
