"""Positions given by an initial view and events."""

import random
from typing import Any

import pytest

import bvb
import bvb_core

from ..games import random_game
from .conftest import Service


def game_with_events(seed: int) -> tuple[bvb_core.State, bvb_core.Observation, list[str]]:
    """A random game at a decision, the initial view of the seat to move, and what it was shown since."""
    rng = random.Random(seed)
    state = random_game(rng)
    views = [state.observation(seat) for seat in range(state.game.num_players)]
    shown: list[list[str]] = [[] for _ in views]
    for _ in range(rng.randrange(10 if state.rules["practice"] else 200)):
        following = state.clone()
        following.apply(rng.choice(following.legal_actions()))
        if following.is_terminal:
            break
        state = following
        for seat, lines in enumerate(shown):
            lines += state.events(seat)
    return state, views[state.current_player], shown[state.current_player]


@pytest.mark.parametrize("seed", range(20))
def test_events_lead_to_the_same_answer_as_the_observation(service: Service, seed: int) -> None:
    state, view, events = game_with_events(seed)
    observation = state.observation(state.current_player)
    assert (
        service.client.list_legal_moves(view, events=events).actions
        == service.client.list_legal_moves(observation).actions
    )
    answers = [
        service.client.suggest_move(view, events=events, iterations=50, seed=3),
        service.client.suggest_move(observation, iterations=50, seed=3),
    ]
    for answer in answers:
        answer.elapsed_ms = 0
    assert answers[0] == answers[1]


def test_a_wrong_event_is_named(service: Service) -> None:
    _, view, events = game_with_events(1)
    at = len(events) // 2
    while events[at].startswith(("reveal", "army")):
        at += 1
    with pytest.raises(bvb.Error) as caught:
        service.client.suggest_move(view, events=[*events[:at], "draw 9 = ?", *events[at:]], iterations=5)
    assert caught.value.violations[0].field == f"history.events[{at}]"
    assert "the pile is 1, 2 or 3" in caught.value.violations[0].description


def test_fields_of_the_initial_view_are_named_with_their_path(service: Service) -> None:
    _, view, events = game_with_events(2)
    broken = view.to_dict()
    broken["pile_counts"][0] += 1
    with pytest.raises(bvb.Error) as caught:
        service.client.suggest_move(broken, events=events, iterations=5)
    fields = [violation.field for violation in caught.value.violations]
    assert "history.initial_view.pile_counts" in fields
    assert all(field.startswith("history.initial_view.") for field in fields)


def test_an_observation_and_a_history_contradict_each_other(service: Service) -> None:
    state, view, events = game_with_events(3)
    request = bvb.v1.engine_pb2.SuggestMoveRequest(
        observation=bvb.client.observation_message(state.observation(state.current_player)),
        history={"initial_view": bvb.client.observation_message(view), "events": events},
        budget={"iterations": 1},
    )
    with pytest.raises(Exception, match="give either observation or history"):
        service.stub.SuggestMove(request)


def refused_field(service: Service, view: Any, events: list[str]) -> str:
    fields = []
    for call in (
        lambda: service.client.suggest_move(view, events=events, iterations=1),
        lambda: service.client.list_legal_moves(view, events=events),
    ):
        with pytest.raises(bvb.Error) as caught:
            call()
        ((field, description),) = caught.value.violations
        assert caught.value.message == f"{field}: {description}"
        fields.append(field)
    assert fields[0] == fields[1]
    return fields[0]


def test_every_error_is_inside_of_the_history(service: Service) -> None:
    state = bvb_core.new_game(players=2, seed=1, first_player=0)
    views = [state.observation(seat) for seat in (0, 1, None)]
    assert refused_field(service, views[1], []) == "history.initial_view.seat"
    assert refused_field(service, views[2], []) == "history.initial_view.seat"
    assert refused_field(service, {**views[0].to_dict(), "rules": {"deck": "mine"}}, []) == "history.initial_view.rules.deck"
    assert refused_field(service, {**views[0].to_dict(), "armies": []}, []) == "history.initial_view.armies"
    shown: dict[int, list[str]] = {0: [], 1: []}
    while state.current_player == 0:
        state.apply(state.legal_actions()[0])
        for seat, lines in shown.items():
            lines += state.events(seat)
    assert refused_field(service, views[0], shown[0]) == "history.events"
    assert service.client.list_legal_moves(views[1], events=shown[1]).actions
    while not state.is_terminal:
        over = [state.observation(0), state.events(0)]
        state.apply(state.legal_actions()[0])
    assert refused_field(service, over[0], state.events(0)) == "history.events"
    assert refused_field(service, state.observation(0), []) == "history.initial_view.current_player"
