"""What is asked wrongly is answered with an error that names it."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import bvb_core

from .strategies import DECKS

ROOT = Path(__file__).resolve().parent.parent.parent


WRONG_OPTIONS = [
    *(("players", value) for value in (-1, 0, 1, 6, 1000)),
    *(("turn_limit", value) for value in (-1, 0, 65536)),
    *(("first_player", value) for value in (-1, 3)),
    *((flag, value) for flag in ("armageddon", "practice") for value in (0, 1)),
    *((number, True) for number in ("players", "first_player")),
    *((flag, "no") for flag in ("armageddon", "practice")),
    *((number, 2.5) for number in ("players", "turn_limit", "first_player", "seed")),
]


@pytest.mark.parametrize(("option", "value"), WRONG_OPTIONS)
def test_wrong_options_are_named(option: str, value: Any) -> None:
    options: dict[str, Any] = {"players": 3, "seed": 1, option: value}
    with pytest.raises((ValueError, TypeError), match=option):
        bvb_core.new_game(**options)


@pytest.mark.parametrize("option", ["players", "turn_limit", "first_player", "armageddon", "practice"])
def test_wrong_rules_of_a_record_are_named(option: str) -> None:
    record = bvb_core.new_game(players=3, seed=1).to_record()
    values: list[Any] = ["3", "false", None, 2.0, [], -1, 2**70]
    for value in values:
        if (option, value) != ("players", 2.0):
            wrong = json.loads(json.dumps({**record, "rules": {**record["rules"], option: value}}))
            with pytest.raises(bvb_core.RecordError, match=f"rules.*{option}"):
                bvb_core.State.from_record(wrong)


def test_any_whole_number_is_a_seed() -> None:
    for seed in (-1, 0, 2**64 - 1, 2**70):
        state = bvb_core.new_game(players=2, seed=seed)
        assert state == bvb_core.new_game(players=2, seed=seed)
    assert bvb_core.new_game(players=2, seed=2**64 + 5) == bvb_core.new_game(players=2, seed=5)


def test_a_deck_is_given_by_object_or_path() -> None:
    deck = bvb_core.load_deck(DECKS["tiny"])
    states = [
        bvb_core.new_game(players=2, seed=3, deck=given)
        for given in (deck, DECKS["tiny"], str(DECKS["tiny"]))
    ]
    assert states[0] == states[1] == states[2]
    assert states[0].rules["deck"] == deck.id


def test_first_player() -> None:
    for first in range(4):
        state = bvb_core.new_game(players=4, seed=1, first_player=first)
        assert state.current_player == state.rules["first_player"] == first
    drawn = {bvb_core.new_game(players=4, seed=seed).current_player for seed in range(60)}
    assert drawn == {0, 1, 2, 3}


def test_records_name_the_first_wrong_action() -> None:
    state = bvb_core.new_game(players=3, seed=8)
    for seed in range(30):
        state.apply(state.random_action(seed))
    record = state.to_record()
    for at in (0, 17, 29):
        wrong = {**record, "actions": [*record["actions"][:at], "draw 9", *record["actions"][at + 1 :]]}
        with pytest.raises(bvb_core.RecordError, match=rf"actions\[{at}\]: illegal action 'draw 9'"):
            bvb_core.State.from_record(wrong)
        assert bvb_core.State.from_record(wrong, after=at).to_record()["actions"] == record["actions"][:at]
    for after in (-1, 31):
        with pytest.raises(bvb_core.RecordError, match="after: must be 0 to 30"):
            bvb_core.State.from_record(record, after=after)


def test_ids_that_are_not_legal_do_no_harm() -> None:
    """In a process of its own, so that harm has a return code."""
    program = """
import bvb_core
state = bvb_core.new_game(players=2, seed=1)
for number in (-1, -(2**31), state.game.num_distinct_actions, 2**31 - 1):
    for ask in (state.representative, state.action):
        try:
            ask(number)
        except ValueError as error:
            assert str(number) in str(error)
        else:
            raise AssertionError(number)
"""
    run = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
