"""Kuhn and Leduc poker: the games are the published ones, and the search plays them sanely.

One tree of the searcher's information sets does not find equilibria; what is asked of it holds against any opponent.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from ai import make_bot

from ..toys.catalogue import game
from .equilibrium import value

JACK, QUEEN, KING = range(3)
FOLD, CALL, RAISE = range(3)
DEALS = {"kuhn": 6, "leduc": 30}
SUITS = {"kuhn": 1, "leduc": 2}


@cache
def deals(name: str) -> list[Any]:
    """Every deal once."""
    found: list[Any] = []
    seed = 0
    while len(found) < DEALS[name]:
        state = game(name).new_state(seed)
        if state not in found:
            found.append(state)
        seed += 1
    return found


def rank(name: str, state: Any, seat: int) -> int:
    """What a seat holds."""
    start = 4 * seat
    return int.from_bytes(bytes(state.observation(seat))[start : start + 4], "little") // SUITS[name]


def public_rank(state: Any) -> int:
    """In Leduc, after the public card."""
    return int.from_bytes(bytes(state.observation(0))[8:12], "little") // 2


def suggest(state: Any, iterations: int, seed: int = 0) -> Any:
    return make_bot(f"ismcts:iterations={iterations}", seed).suggest(state.observation(state.current_player))


def after(state: Any, *actions: int) -> Any:
    state = state.clone()
    for action in actions:
        state.apply(action)
    return state


def flops(before: tuple[int, ...]) -> Iterator[Any]:
    """Leduc from every deal, after the actions of the first round and each public card once."""
    for deal in deals("leduc"):
        waiting = after(deal, *before)
        for outcome in sorted({waiting.sample_chance(seed) for seed in range(100)}):
            state = waiting.clone()
            state.apply_chance(outcome)
            yield state


# Kuhn 1950; for Leduc the value that solvers of the game agree on.
@pytest.mark.parametrize(("name", "known"), [("kuhn", -1 / 18), ("leduc", -0.0856064)])
def test_value_of_the_game(name: str, known: float) -> None:
    assert value(deals(name)) == pytest.approx(known, abs=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_kuhn_value_of_the_first_decision(seed: int) -> None:
    """The King wins a chip at least, and the Jack, which can give up, need not lose more than one and wins by bluffs alone;
    returns are the chips over four, plus a half. What is tried on the way costs a little."""
    worth = {rank("kuhn", deal, 0): suggest(deal, 5000, seed).win_probability[0] for deal in deals("kuhn")}
    assert 0.2 < worth[JACK] < 0.5
    assert 0.7 < worth[KING] <= 1
    assert worth[JACK] < worth[QUEEN] < worth[KING]


@pytest.mark.parametrize("iterations", [100, 1000])
@pytest.mark.parametrize("line", [(1,), (0, 1)])
def test_kuhn_answer_to_a_bet(line: tuple[int, ...], iterations: int) -> None:
    seat = len(line) % 2
    for deal in deals("kuhn"):
        held = rank("kuhn", deal, seat)
        if held != QUEEN:
            assert suggest(after(deal, *line), iterations).action.id == (held == KING)


def test_leduc_pair_is_never_folded_by_either_seat() -> None:
    seen = 0
    for state in flops((CALL, CALL)):
        for line in [(RAISE,), (RAISE, RAISE), (CALL, RAISE)]:
            facing = after(state, *line)
            if rank("leduc", facing, facing.current_player) == public_rank(facing):
                seen += 1
                answer = suggest(facing, 500)
                assert answer.action.id != FOLD
                assert answer.win_probability[facing.current_player] > 0.5
    assert seen > 50


@pytest.mark.parametrize("line", [(RAISE,), (CALL, RAISE), (RAISE, RAISE)])
def test_leduc_king_is_not_folded_before_the_public_card(line: tuple[int, ...]) -> None:
    for deal in deals("leduc"):
        state = after(deal, *line)
        if rank("leduc", state, state.current_player) == KING:
            assert suggest(state, 1000).action.id != FOLD


def test_leduc_beaten_jack_is_folded() -> None:
    """A Jack with a King on the table ties with the other Jack at best: calling four more chips costs nearly two on average."""
    seen = 0
    for state in flops((CALL, CALL)):
        facing = after(state, RAISE, RAISE)
        if (rank("leduc", facing, 0), public_rank(facing)) == (JACK, KING):
            seen += 1
            assert suggest(facing, 5000).action.id == FOLD
    assert seen > 10
