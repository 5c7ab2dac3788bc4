"""What is missing from an observation, or contradicts the rest of it, is named."""

from collections.abc import Callable
from typing import Any

import pytest

import bvb_core

from ..games import a_position, a_state

Position = dict[str, Any]


def refused(position: Position) -> bvb_core.ObservationError:
    with pytest.raises(bvb_core.ObservationError) as caught:
        bvb_core.Observation.from_dict(position)
    return caught.value


def own(position: Position) -> Position:
    player: Position = position["players"][position["seat"]]
    return player


@pytest.mark.parametrize(
    ("find", "name", "path"),
    [
        (lambda p: p, "rules", "rules"),
        (lambda p: p["rules"], "players", "rules.players"),
        (lambda p: p, "turn_number", "turn_number"),
        (lambda p: p, "current_player", "current_player"),
        (lambda p: p, "pile_counts", "pile_counts"),
        (lambda p: p, "armies", "armies"),
        (lambda p: p["armies"][1], "type", "armies[1].type"),
        (lambda p: p, "players", "players"),
        (own, "hand", "players[2].hand"),
        (lambda p: p["players"][0]["located"][0], "kind", "players[0].located[0].kind"),
        (lambda p: p["monsters"][1], "number", "monsters[1].number"),
        (lambda p: p["monsters"][1]["head"], "kind", "monsters[1].head.kind"),
    ],
)
def test_a_missing_field_is_named(find: Callable[[Position], Position], name: str, path: str) -> None:
    position = a_position()
    del find(position)[name]
    error = refused(position)
    assert error.fields == (path,)
    assert error.problem.startswith("is missing")


@pytest.mark.parametrize("army", range(3))
def test_a_missing_army_is_named_unless_it_has_no_babies(army: int) -> None:
    position = a_position()
    left_out = position["armies"].pop(army)
    if not left_out["babies"]:
        full = {**position, "armies": [*position["armies"], left_out]}
        assert bvb_core.Observation.from_dict(position) == bvb_core.Observation.from_dict(full)
        return
    error = refused(position)
    assert error.field == "armies"
    assert error.problem.startswith(f"the {('land', 'sea', 'sky')[army]} army is missing")


@pytest.mark.parametrize("name", ["monsters", "discard"])
def test_what_is_left_out_is_named_where_the_cards_do_not_add_up(name: str) -> None:
    position = a_position()
    count = len(position.pop(name))
    error = refused(position)
    assert error.field == name
    assert f"the deck has 107, this observation {107 - count}: " in error.problem
    assert f"{name} 0 (empty or left out)" in error.problem


def test_all_cards_are_counted() -> None:
    position = a_position()
    position["pile_counts"][1] += 2
    error = refused(position)
    assert error.fields == ("players[0].hand_count", "players[1].hand_count", "pile_counts")
    assert (
        "2 too many: the deck has 107, this observation 109: "
        "pile_counts 89, hand_count 12, collected 0, armies 3, monsters 3, discard 2, pending 0"
    ) in error.problem


@pytest.mark.parametrize("revealing", ["hand", "baby", "head"])
def test_a_view_of_a_seat_without_the_seat(revealing: str) -> None:
    position = a_position()
    if revealing != "hand":
        own(position)["hand"] = []
    del position["seat"]
    if revealing == "baby":
        position["armies"][0]["babies"][0] = {"kind": "land_baby_1", "seen_by": [1]}
    if revealing == "head":
        position["monsters"][0]["head"].update(masked=True, seen_by=[0])
    error = refused(position)
    assert error.fields == ("seat",)
    assert error.problem.startswith("is missing, and no spectator can know ")


def pending_position() -> Position:
    """With a drawn Wild Provoke of the seat to move."""
    state = a_state().clone()
    for seed in range(10_000):
        view = state.observation(state.current_player).to_dict()
        if view["pending"] == "PENDING_WILD_PROVOKE_DRAWN":
            return dict(view)
        state.apply(state.random_action(seed))
    raise AssertionError("no Wild Provoke was drawn")


def test_the_card_that_is_pending_counts_once() -> None:
    twice = pending_position()
    twice["discard"].append("wild_provoke")
    error = refused(twice)
    assert "pending 1" in error.problem
    assert "the Wild Provoke that is pending counts, and lies neither in a hand nor in discard meanwhile" in error.problem
    many = pending_position()
    many["discard"] += ["wild_provoke"] * 4
    error = refused(many)
    assert error.field.startswith("discard[")
    assert "the Wild Provoke that is pending counts" in error.problem


def test_a_record_is_no_observation_and_the_other_way_round() -> None:
    assert "this is the record of a game" in refused(a_state().to_record()).problem
    with pytest.raises(bvb_core.RecordError, match="this is an observation") as caught:
        bvb_core.State.from_record(a_position())
    assert caught.value.field == ""


def test_values_in_errors_are_cut_short_but_the_ids_of_decks_are_not() -> None:
    position = a_position()
    position["rules"]["deck"] = "sha256:" + "0" * 64
    assert f"is '{position['rules']['deck']}', but the deck given is 'standard'" in refused(position).problem
    position["rules"]["deck"] = "x" * 1000
    assert "xxx...', but the deck given is 'standard'" in refused(position).problem
    assert len(refused(position).problem) < 150


@pytest.mark.parametrize(
    ("path", "spoil"),
    [
        ("format", lambda r: r.pop("format")),
        ("deal", lambda r: r.pop("deal")),
        ("deal.piles", lambda r: r["deal"].pop("piles")),
        ("rules.players", lambda r: r["rules"].pop("players")),
        ("actions[3]", lambda r: r["actions"].insert(3, "draw 9")),
        ("deal.piles[0][2]", lambda r: r["deal"]["piles"][0].insert(2, "unicorn")),
    ],
)
def test_fields_of_a_record_are_named(path: str, spoil: Callable[[Position], object]) -> None:
    record = a_state().to_record()
    spoil(record)
    with pytest.raises(bvb_core.RecordError) as caught:
        bvb_core.State.from_record(record)
    assert caught.value.field == path
    assert str(caught.value) == f"{path}: {caught.value.problem}"
