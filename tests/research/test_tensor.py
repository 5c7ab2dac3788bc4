"""Tensors of observations: what stands where, whose point of view, and that nothing is lost."""

import random
from collections.abc import Iterator
from pathlib import Path

import numpy
import pytest

import bvb_core
from tests.random_play import Policy, random_deck

from .encoding import nameless, quantities

DECKS = 8


def observations(games: int, seed: int, decks: Path | None = None) -> Iterator[bvb_core.Observation]:
    """What everyone knows at moments of random games and at their ends; random decks go to `decks`."""
    rng = random.Random(seed)
    for number in range(games):
        players, practice = rng.randint(2, 5), rng.random() < 0.15
        deck = None
        if decks is not None:
            deck = decks / f"{number}.toml"
            random_deck(rng, deck, players, practice)
        state = bvb_core.new_game(
            players=players,
            seed=rng.getrandbits(32),
            armageddon=rng.random() < 0.3,
            practice=practice,
            turn_limit=rng.choice((500, 500, 120)),
            deck=deck,
        )
        policy = Policy(rng)
        while not state.is_terminal:
            if rng.random() < 0.2:
                for seat in (None, *range(players)):
                    yield state.observation(seat)
            state.apply(policy.choose(state.legal_actions()))
        for seat in (None, *range(players)):
            yield state.observation(seat)


def check_documented(observation: bvb_core.Observation) -> set[str]:
    """Compares a tensor with the slow reading; returns names of the columns that were not 0."""
    layout = observation.game.tensor_layout
    tensor = observation.tensor()
    expected = quantities(observation)
    used = set()
    assert tensor.dtype == numpy.float32
    assert tensor.shape == (layout.size,)
    assert numpy.abs(tensor).max() <= 1
    parts = layout.split(tensor)
    assert list(parts) == list(expected) == [block.name for block in layout.blocks]
    for block in layout.blocks:
        wanted = numpy.zeros(block.shape)
        for cell, columns in expected[block.name].items():
            for column, quantity in columns.items():
                wanted[(*cell, block.columns.index(column))] = quantity
                if quantity:
                    used.add(f"{block.name}.{column}")
        found = parts[block.name] * numpy.array(block.scales)
        assert numpy.allclose(found, wanted, atol=1e-3), f"{block.name} of {observation.to_json()}"
    return used


def test_every_block_is_as_documented() -> None:
    used = set()
    for observation in observations(12, seed=1):
        used |= check_documented(observation)
    # Everything occurred but what is rare in random games.
    layout = bvb_core.game_for(5).tensor_layout
    columns = {f"{block.name}.{column}" for block in layout.blocks for column in block.columns}
    rare = {column for column in columns if column.startswith(("located.", "located_heads.hand+"))}
    assert len(used & (columns - rare)) / len(columns - rare) > 0.95
    assert used & rare


def test_other_decks(tmp_path: Path) -> None:
    for observation in observations(DECKS, seed=2, decks=tmp_path):
        check_documented(observation)


def test_shape_depends_on_deck_and_players_alone() -> None:
    for players in range(2, 6):
        plain = bvb_core.game_for(players)
        sizes = {
            bvb_core.game_for(players, *options).tensor_layout.size
            for options in ((True, False), (False, True), (False, False, 65535))
        }
        assert sizes == {plain.tensor_layout.size}
        end = 0
        for block in plain.tensor_layout.blocks:
            assert block.offset == end
            assert block.shape[-1] == len(block.columns) == len(block.scales)
            assert len(set(block.columns)) == len(block.columns)
            end += block.size
        assert end == plain.tensor_layout.size


def test_equal_tensors_mean_equal_knowledge() -> None:
    """In a large sample, two tensors are equal exactly when the observations are, names of monsters aside."""
    tensors: dict[str, bytes] = {}
    views: dict[tuple[int | None, bytes], str] = {}
    for observation in observations(25, seed=3):
        tensor, view = observation.tensor().tobytes(), nameless(observation)
        assert tensors.setdefault(view, tensor) == tensor
        assert views.setdefault((observation.seat, tensor), view) == view
    assert len(views) > 3000


def test_what_a_seat_cannot_see_does_not_show() -> None:
    rng = random.Random(4)
    for observation in observations(6, seed=5):
        if rng.random() < 0.2:
            again = observation.determinize(rng.getrandbits(32)).observation(observation.seat)
            assert (again.tensor() == observation.tensor()).all()


def test_seats_are_relative() -> None:
    """The same deal with all seats moved on by one looks the same to the seat that was moved."""
    record = bvb_core.new_game(players=3, seed=11, first_player=0).to_record()
    for steps in range(1, 3):
        moved = {**record, "rules": {**record["rules"], "first_player": steps}}
        deal = record["deal"]
        moved["deal"] = {
            **deal,
            "hands": [deal["hands"][(seat - steps) % 3] for seat in range(3)],
            "armies": {
                army: [{**baby, "seat": (baby["seat"] + steps) % 3} for baby in babies]
                for army, babies in deal["armies"].items()
            },
        }
        rng = random.Random(12)
        state, other = bvb_core.State.from_record(record), bvb_core.State.from_record(moved)
        while not state.is_terminal:
            for seat in range(3):
                one, two = state.observation(seat), other.observation((seat + steps) % 3)
                assert (one.tensor() == two.tensor()).all()
            action = rng.choice(state.legal_action_ids())
            state.apply(action)
            other.apply(action)


def test_out_is_filled() -> None:
    state = bvb_core.new_game(players=2, seed=1)
    size = state.observation(0).tensor().size
    batch = numpy.full((2, size), numpy.nan, numpy.float32)
    for seat in range(2):
        assert state.observation(seat).tensor(batch[seat]) is not None
        assert (batch[seat] == state.observation(seat).tensor()).all()
    layout = bvb_core.game_for(2).tensor_layout
    assert layout.split(batch)["monsters"].shape[0] == 2
    assert numpy.shares_memory(layout.split(batch)["hand"], batch)
    for wrong in (numpy.zeros(size - 1, numpy.float32), numpy.zeros(size), batch):
        with pytest.raises(ValueError, match=r"must hold|mismatch|wrong number of dimensions"):
            state.observation(0).tensor(wrong)
