"""The games that the generic tests run over, and positions of them."""

import random
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import bvb_core

from . import toy

TINY_DECK = Path(__file__).parent.parent / "bvb_core" / "tiny.toml"

BEARS: dict[str, Callable[[], Any]] = {
    **{f"bears-{players}": partial(bvb_core.game_for, players) for players in (2, 3, 4, 5)},
    "bears-practice": partial(bvb_core.game_for, 3, practice=True),
    "bears-armageddon": partial(bvb_core.game_for, 4, armageddon=True),
    "bears-tiny": lambda: bvb_core.game_for(2, armageddon=True, deck=bvb_core.load_deck(TINY_DECK)),
}
HIDING_TOYS: dict[str, Callable[[], Any]] = {
    **{name: partial(toy, name) for name in ("kuhn", "leduc", "reshuffle", "sealed", "worlds", "bluff")},
    **{f"guess-{first}": partial(toy, "guess", first, 40) for first in (0, 1)},
}
OPEN_TOYS: dict[str, Callable[[], Any]] = {
    "bandit": partial(toy, "bandit", [20, 50, 80]),
    **{f"dice-{players}": partial(toy, "dice", players) for players in (2, 5)},
    **{f"forced-{players}": partial(toy, "forced", players, 1) for players in (2, 5)},
}
GAMES = BEARS | HIDING_TOYS | OPEN_TOYS
HIDING = BEARS | HIDING_TOYS


@cache
def game(name: str) -> Any:
    return GAMES[name]()


def observers(state: Any) -> list[int | None]:
    return [*range(state.game.num_players), None]


def step(state: Any, seed: int) -> int:
    """Play a random action, or let chance play; gives the action or the outcome."""
    if state.current_player == bvb_core.CHANCE:
        played: int = state.sample_chance(seed)
        state.apply_chance(played)
    else:
        played = state.random_action(seed)
        state.apply(played)
    return played


def random_line(name: str, seed: int) -> Iterator[Any]:
    """All states of one random game, its end included."""
    rng = random.Random(seed)
    state = game(name).new_state(seed)
    yield state.clone()
    while not state.is_terminal:
        step(state, rng.getrandbits(40))
        yield state.clone()


@cache
def positions(name: str) -> list[Any]:
    """States at random moments of random games, chance nodes and ends of games among them."""
    rng = random.Random(1)
    found: list[Any] = []
    while len(found) < 200:
        line = list(random_line(name, rng.getrandbits(32)))
        found += [*rng.sample(line[:-1], min(len(line) - 1, 7)), line[-1]]
    return found
