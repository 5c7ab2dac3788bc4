"""What the service answers to good requests."""

from typing import Any

import pytest
from google.protobuf import json_format

from bvb.v1 import engine_pb2, observation_pb2

from ..games import states
from .conftest import Service


def notations(actions: Any) -> list[str]:
    return [action.notation for action in actions]


def test_answer_is_complete(service: Service, position: dict[str, Any]) -> None:
    answer = service.client.suggest_move(position, iterations=400, seed=1)
    legal = notations(service.client.list_legal_moves(position).actions)
    best = answer.alternatives[0]
    assert answer.action == best.action
    assert answer.win_probability == best.win_probability
    assert answer.expected_score == best.expected_score
    assert answer.iterations == 400
    assert answer.stop_reason == engine_pb2.STOP_REASON_ITERATIONS
    assert answer.seed == 1
    assert not answer.warnings
    assert sum(alternative.visits for alternative in answer.alternatives) == 400
    covered = []
    for alternative in answer.alternatives:
        assert alternative.visits <= alternative.availability <= 400
        assert len(alternative.win_probability) == len(alternative.expected_score) == 3
        assert sum(alternative.win_probability) == pytest.approx(1)
        assert alternative.pv[0].startswith(alternative.action.notation)
        covered += [alternative.action.notation, *notations(alternative.equivalent)]
    assert sorted(covered) == legal


def test_structured_actions_spell_their_notation(service: Service) -> None:
    order = ("verb", "pile", "type", "card", "monster", "other_monster", "side", "part")
    seen = set()
    for state in states(100, seed=2):
        view = state.observation(state.current_player)
        for action in service.client.list_legal_moves(view).actions:
            words = action.notation.split()
            fields = [getattr(action, name) for name in order]
            spelled = [
                f"m{value}" if name.endswith("monster") else str(value)
                for name, value in zip(order, fields, strict=True)
                if value and not (name == "card" and action.verb in ("arm", "legs", "tool", "hat"))
            ]
            if action.verb in ("head", "mask"):
                words[1] += "_head"
            assert spelled == words
            seen.add(action.verb)
    assert {
        "draw",
        "provoke",
        "dive",
        "head",
        "mask",
        "torso",
        "arm",
        "legs",
        "tool",
        "swap",
        "dismember",
    } <= seen


@pytest.mark.parametrize("seed", [0, 7, 2**32 - 1])
def test_same_request_same_answer(service: Service, position: dict[str, Any], seed: int) -> None:
    answers = [service.client.suggest_move(position, iterations=300, seed=seed) for _ in range(2)]
    for answer in answers:
        answer.ClearField("elapsed_ms")
    assert answers[0] == answers[1]


def test_other_seed_other_search(service: Service, position: dict[str, Any]) -> None:
    first, second = (service.client.suggest_move(position, iterations=300, seed=seed) for seed in (1, 2))
    assert [a.visits for a in first.alternatives] != [a.visits for a in second.alternatives]


def test_a_seed_is_chosen_and_told(service: Service, position: dict[str, Any]) -> None:
    answer = service.client.suggest_move(position, iterations=100)
    again = service.client.suggest_move(position, iterations=100, seed=answer.seed)
    assert [a.visits for a in again.alternatives] == [a.visits for a in answer.alternatives]
    assert service.client.suggest_move(position, iterations=1).seed != answer.seed


def test_time_budget(service: Service, position: dict[str, Any]) -> None:
    answer = service.client.suggest_move(position, time_ms=200)
    assert answer.stop_reason == engine_pb2.STOP_REASON_TIME
    assert 150 <= answer.elapsed_ms <= 1000
    assert answer.iterations > 0
    assert not answer.warnings


def test_a_move_without_a_search_takes_some_time(service: Service, position: dict[str, Any]) -> None:
    assert 0 < service.client.suggest_move(position, bot="random").elapsed_ms < 100


def test_two_threads(service: Service, position: dict[str, Any]) -> None:
    answer = service.client.suggest_move(position, iterations=400, threads=2)
    assert answer.iterations >= 400


def test_multi_pv(service: Service, position: dict[str, Any]) -> None:
    every = service.client.suggest_move(position, iterations=300, seed=3)
    best = service.client.suggest_move(position, iterations=300, seed=3, multi_pv=2)
    assert len(every.alternatives) > 2
    assert list(best.alternatives) == list(every.alternatives)[:2]
    assert [a.visits for a in every.alternatives] == sorted((a.visits for a in every.alternatives), reverse=True)


def test_the_deadline_of_the_call_ends_the_search(service: Service, position: dict[str, Any]) -> None:
    answer = service.client.suggest_move(position, iterations=10_000_000, timeout_s=2)
    assert answer.stop_reason == engine_pb2.STOP_REASON_TIME
    assert "deadline" in answer.warnings[0]


def test_engine_info(service: Service) -> None:
    info = service.client.engine_info()
    assert info.version
    assert (info.min_players, info.max_players) == (2, 5)
    assert info.limits.max_threads == 2
    (deck,) = info.decks
    assert deck.id == "standard"
    assert sum(card.count for card in deck.cards) == 107
    babies = [card for card in deck.cards if card.role == "baby"]
    assert all(list(card.types) == [card.id.split("_")[0]] for card in babies)
    assert [card.points for card in babies] == [0, 1, 2, 3] * 3
    arm = next(card for card in deck.cards if card.id == "arm")
    assert (arm.count, arm.role, arm.strength, len(arm.sockets)) == (10, "arm", 1, 1)


def test_500_positions_get_a_legal_move(service: Service) -> None:
    for state in states(500, seed=1):
        view = state.observation(state.current_player)
        answer = service.client.suggest_move(view, iterations=10, seed=1)
        assert answer.action.notation in notations(service.client.list_legal_moves(view).actions)
        state.apply(answer.action.notation)


def test_observation_json_is_the_json_of_the_message() -> None:
    for state in states(60, seed=4):
        for seat in (*range(state.rules["players"]), None):
            check_round_trip(state.observation(seat).to_dict())
        while not state.is_terminal:
            state.apply(state.legal_actions()[0])
        check_round_trip(state.observation(0).to_dict())


def check_round_trip(fields: dict[str, Any]) -> None:
    message = json_format.ParseDict(fields, observation_pb2.Observation())
    assert fields == json_format.MessageToDict(
        message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )
