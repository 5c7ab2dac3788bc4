"""What the service answers to bad requests: INVALID_ARGUMENT, and the field that is wrong."""

from collections.abc import Callable
from typing import Any

import grpc
import pytest

import bvb
from bvb.v1 import engine_pb2

from ..games import a_state
from .conftest import Service

Position = dict[str, Any]


def refused(call: Callable[[], object]) -> bvb.Error:
    with pytest.raises(bvb.Error) as caught:
        call()
    error = caught.value
    assert error.code == grpc.StatusCode.INVALID_ARGUMENT
    assert error.reason
    assert all(violation.description for violation in error.violations)
    if error.violations:
        assert error.message == f"{error.violations[0].field}: {error.violations[0].description}"
    return error


@pytest.mark.parametrize(
    ("options", "field", "reason"),
    [
        ({}, "budget", "NO_BUDGET"),
        ({"iterations": -1}, "budget.iterations", "OUT_OF_RANGE"),
        ({"iterations": 10_000_001}, "budget.iterations", "OUT_OF_RANGE"),
        ({"time_ms": -5}, "budget.time_ms", "OUT_OF_RANGE"),
        ({"time_ms": 60_001}, "budget.time_ms", "OUT_OF_RANGE"),
        ({"iterations": 1, "threads": -1}, "threads", "OUT_OF_RANGE"),
        ({"iterations": 1, "threads": 3}, "threads", "OUT_OF_RANGE"),
        ({"iterations": 1, "multi_pv": -2}, "multi_pv", "OUT_OF_RANGE"),
    ],
)
def test_request_fields(
    service: Service, position: Position, options: dict[str, int], field: str, reason: str
) -> None:
    error = refused(lambda: service.client.suggest_move(position, **options))
    assert ([violation.field for violation in error.violations], error.reason) == ([field], reason)


def test_no_observation(service: Service) -> None:
    for call in (
        lambda: service.stub.SuggestMove(engine_pb2.SuggestMoveRequest(budget={"iterations": 1})),
        lambda: service.stub.ListLegalMoves(engine_pb2.ListLegalMovesRequest()),
    ):
        with pytest.raises(grpc.RpcError) as caught:
            call()
        error = bvb.Error.from_call(caught.value)
        assert error.code == grpc.StatusCode.INVALID_ARGUMENT
        assert error.violations == (("observation", "is missing, and so is history"),)


def other(position: Position) -> int:
    """A seat that is not the observer."""
    return (position["seat"] + 1) % 3


def test_the_view_of_a_seat_that_is_not_to_move(service: Service, position: dict[str, Any]) -> None:
    """Named first, whatever else such a view contradicts: also a view of the right seat under a wrong number."""
    for seat in {0, 1, 2} - {position["seat"]}:
        for call in (service.client.suggest_move, service.client.list_legal_moves):
            with pytest.raises(bvb.Error) as caught:
                call({**position, "seat": seat}, **({} if call == service.client.list_legal_moves else {"iterations": 1}))
            assert (caught.value.reason, caught.value.violations[0].field) == ("WRONG_SEAT", "seat")


def test_long_input_of_any_alphabet_is_an_invalid_argument(service: Service, position: dict[str, Any]) -> None:
    """What is wrong with it fits into the headers that errors travel in."""
    for letter in ("x", "\u00e9", "\u4e16", "\U0001f600"):
        for _ in range(10):
            with pytest.raises(bvb.Error) as caught:
                service.client.suggest_move(position, iterations=1, avoid_moves=[letter * 3000])
            assert (caught.value.code, caught.value.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "ILLEGAL_MOVE")


@pytest.mark.parametrize("name", ["armies", "pile_counts", "players", "turn_number", "rules"])
def test_a_missing_field(service: Service, position: Position, name: str) -> None:
    del position[name]
    error = refused(lambda: service.client.suggest_move(position, iterations=1))
    ((field, description),) = error.violations
    assert field == name
    assert description.startswith("is missing")


def set_hand_count(p: Position) -> str:
    p["players"][other(p)]["hand_count"] = 99
    return f"players[{other(p)}].hand_count"


def set_own_hand_count(p: Position) -> str:
    p["players"][p["seat"]]["hand_count"] += 1
    return f"players[{p['seat']}].hand_count"


def add_too_many_cards(p: Position) -> str:
    hand = p["players"][p["seat"]]
    hand["hand"] += ["tool"] * 6
    hand["hand_count"] += 6
    return ""


def use_unknown_card(p: Position) -> str:
    p["players"][p["seat"]]["hand"][0] = "unicorn_head"
    return f"players[{p['seat']}].hand[0]"


def add_arm_without_torso(p: Position) -> str:
    monster = next(i for i, m in enumerate(p["monsters"]) if not m["torso"])
    p["monsters"][monster]["left_arm"] = True
    return f"monsters[{monster}].left_arm"


def set_unknown_torso(p: Position) -> str:
    p["monsters"][0]["torso"] = "legs"
    return "monsters[0].torso"


def set_owner(p: Position) -> str:
    p["monsters"][0]["owner"] = 3
    return "monsters[0].owner"


def set_next_monster(p: Position) -> str:
    p["next_monster"] = 1
    return "next_monster"


def set_seat_outside(p: Position) -> str:
    p["seat"] = p["current_player"] = 3
    return "seat"


def set_seat_not_to_move(p: Position) -> str:
    p.clear()
    p.update(a_state().observation((a_state().current_player + 1) % 3).to_dict())
    return "seat"


def drop_seat(p: Position) -> str:
    p.clear()
    p.update(a_state().observation(None).to_dict())
    return "seat"


def drop_seat_of_a_view(p: Position) -> str:
    del p["seat"]
    return "seat"


def set_players(p: Position) -> str:
    p["rules"]["players"] = 6
    return "rules.players"


def set_deck(p: Position) -> str:
    p["rules"]["deck"] = "sha256:00"
    return "rules.deck"


def set_turn_limit(p: Position) -> str:
    p["rules"]["turn_limit"] = -1
    return "rules.turn_limit"


def set_actions_used(p: Position) -> str:
    p["actions_used"] = -1
    return "actions_used"


def set_pile_count(p: Position) -> str:
    p["pile_counts"][0] = -1
    return "pile_counts[0]"


def add_pile(p: Position) -> str:
    p["pile_counts"].append(1)
    return "pile_counts"


def set_army_type(p: Position) -> str:
    p["armies"][0]["type"] = "fire"
    return "armies[0].type"


def set_seen_by(p: Position) -> str:
    p["armies"][0]["babies"] = [{"kind": "", "seen_by": [7], "public": False}]
    return "armies[0].babies[0].seen_by[0]"


def set_discard(p: Position) -> str:
    p["discard"] = ["swap"] * 3
    return ""


def lose_cards(p: Position) -> str:
    p["pile_counts"] = [max(0, count - 1) for count in p["pile_counts"]]
    return ""


@pytest.mark.parametrize(
    "spoil",
    [
        set_hand_count,
        set_own_hand_count,
        add_too_many_cards,
        use_unknown_card,
        add_arm_without_torso,
        set_unknown_torso,
        set_owner,
        set_next_monster,
        set_seat_outside,
        set_seat_not_to_move,
        drop_seat,
        drop_seat_of_a_view,
        set_players,
        set_deck,
        set_turn_limit,
        set_actions_used,
        set_pile_count,
        add_pile,
        set_army_type,
        set_seen_by,
        set_discard,
        lose_cards,
    ],
    ids=lambda spoil: spoil.__name__,
)
def test_impossible_positions(service: Service, position: Position, spoil: Callable[[Position], str]) -> None:
    """Where `spoil` gives no path, the whole does not add up and any field may be named."""
    field = spoil(position)
    for error in (
        refused(lambda: service.client.suggest_move(position, iterations=1)),
        refused(lambda: service.client.list_legal_moves(position)),
    ):
        named = [violation.field for violation in error.violations]
        if error.violations[0].description.startswith("the cards do not add up"):
            hands = [f"players[{seat}].hand_count" for seat in range(3) if seat != position["seat"]]
            assert named == [*hands, "pile_counts"]
        else:
            assert len(named) == 1
        assert not field or field in named


def test_game_over(service: Service) -> None:
    state = a_state().clone()
    while not state.is_terminal:
        state.apply(state.legal_actions()[0])
    error = refused(lambda: service.client.suggest_move(state.observation(0), iterations=1))
    assert error.reason == "GAME_OVER"


def test_a_wild_provoke_waits_only_where_it_is_of_use(service: Service, position: Position) -> None:
    for army in position["armies"]:
        position["discard"] += [baby["kind"] for baby in army["babies"] if baby["kind"]]
        hidden = sum(not baby["kind"] for baby in army["babies"])
        position["pile_counts"][0] += hidden
        army["babies"] = []
    if "wild_provoke" in position["discard"]:
        position["discard"].remove("wild_provoke")
    else:
        position["pile_counts"][0] -= 1
    position["pending"] = "PENDING_WILD_PROVOKE_DRAWN"
    position["actions_used"] = max(1, position["actions_used"])
    error = refused(lambda: service.client.suggest_move(position, iterations=10))
    assert [violation.field for violation in error.violations] == ["pending"]


def test_what_a_request_says_at_length_comes_back_cut_short(service: Service, position: Position) -> None:
    position["rules"]["deck"] = "x" * 20_000
    error = refused(lambda: service.client.suggest_move(position, iterations=10))
    assert error.violations[0].field == "rules.deck"
    assert len(error.message) < 1000
