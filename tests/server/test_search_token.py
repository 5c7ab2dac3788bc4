"""Searches that go on from earlier ones, by search_token."""

import random
from collections.abc import Callable
from typing import Any

import grpc
import pytest

import bvb
import bvb_core
from server import engine

from ..games import a_state
from .conftest import Service


def error_of(call: Callable[[], Any]) -> bvb.Error:
    with pytest.raises(bvb.Error) as caught:
        call()
    return caught.value


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a slow machine too, what happened within a turn is found."""
    monkeypatch.setattr(engine, "LINE_S", 0.1)


def test_the_same_position(service: Service, position: dict[str, Any]) -> None:
    ask = service.client.suggest_move
    plain = ask(position, iterations=500, seed=1)
    first = ask(position, iterations=500, seed=1, keep_search=True)
    assert (plain.search_token, plain.adopted) == ("", 0)
    assert first.alternatives == plain.alternatives
    assert len(first.search_token) == 32
    second = ask(position, iterations=300, seed=1, search_token=first.search_token, keep_search=True)
    assert (second.iterations, second.adopted) == (300, 500)
    assert sum(a.visits for a in second.alternatives) == 800
    assert second.search_token not in ("", first.search_token)
    third = ask(position, iterations=1, search_token=second.search_token)
    assert (third.adopted, third.search_token) == (800, "")
    streamed = service.client.analyze(position, iterations=10, search_token=first.search_token).result()
    assert streamed.adopted == 500


def play_with_tokens(service: Service, seed: int, iterations: int, by_events: bool) -> tuple[int, int]:
    """A game in which a seat goes on from search to search: how many there were, and how many took something over."""
    rng = random.Random(seed)
    state = bvb_core.new_game(players=3, seed=seed, first_player=0)
    view, lines, token = state.observation(0), [], ""
    asked = adopted = 0
    while not state.is_terminal:
        move: Any = rng.choice(state.legal_actions())
        if state.current_player == 0:
            answer = service.client.suggest_move(
                view if by_events else state.observation(0),
                events=lines if by_events else None,
                iterations=iterations,
                seed=asked,
                keep_search=True,
                search_token=token,
            )
            assert (engine.NOTHING_TAKEN_OVER in answer.warnings) == (token != "" and not answer.adopted)
            assert answer.iterations == iterations
            assert sum(a.visits for a in answer.alternatives) == iterations + answer.adopted
            legal = {str(action) for action in state.legal_actions()}
            covered = {action.notation for a in answer.alternatives for action in (a.action, *a.equivalent)}
            assert covered <= legal
            asked, adopted, token = asked + 1, adopted + (answer.adopted > 0), answer.search_token
            move = answer.action.notation
        state.apply(move)
        lines += state.events(0)
    return asked, adopted


@pytest.mark.usefixtures("unhurried")
@pytest.mark.parametrize("by_events", [True, False])
def test_from_move_to_move(service: Service, by_events: bool) -> None:
    asked, adopted = play_with_tokens(service, seed=3, iterations=150, by_events=by_events)
    assert asked > 50
    assert adopted > asked / 4


@pytest.mark.usefixtures("unhurried")
def test_from_a_history_to_a_position(service: Service) -> None:
    ask = service.client.suggest_move
    state = bvb_core.new_game(players=2, seed=4, first_player=0)
    token = ask(state.observation(0), events=[], iterations=300, keep_search=True).search_token
    state.apply("draw 1")
    assert ask(state.observation(0), iterations=5, search_token=token).adopted > 0


@pytest.mark.usefixtures("unhurried")
def test_the_same_turn_later(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the events between are not found in time, the search begins anew and says so."""
    ask = service.client.suggest_move
    state = bvb_core.new_game(players=2, seed=4, first_player=0)
    token = ask(state.observation(0), iterations=300, keep_search=True).search_token
    state.apply("draw 1")
    view = state.observation(0)
    answer = ask(view, iterations=5, search_token=token)
    assert answer.adopted > 0
    assert not answer.warnings
    monkeypatch.setattr(engine, "LINE_S", 0.0)
    answer = ask(view, iterations=300, seed=1, search_token=token)
    assert (answer.adopted, list(answer.warnings)) == (0, [engine.NOTHING_TAKEN_OVER])
    assert answer.alternatives == ask(view, iterations=300, seed=1).alternatives


@pytest.mark.usefixtures("unhurried")
def test_a_deadline_ends_a_search_that_goes_on(service: Service) -> None:
    ask = service.client.suggest_move
    state = bvb_core.new_game(players=2, seed=4, first_player=0)
    token = ask(state.observation(0), iterations=300, keep_search=True).search_token
    state.apply("draw 1")
    for timeout_s in (1.0, 2.0):
        answer = ask(state.observation(0), time_ms=50_000, search_token=token, timeout_s=timeout_s)
        assert answer.adopted > 0
        assert sum(a.visits for a in answer.alternatives) == answer.iterations + answer.adopted
        assert answer.action.notation in {str(action) for action in state.legal_actions()}


def test_what_does_not_continue(service: Service, position: dict[str, Any]) -> None:
    ask = service.client.suggest_move
    token = ask(position, iterations=10, keep_search=True).search_token
    other = bvb_core.new_game(players=3, seed=9, first_player=position["seat"])
    error = error_of(lambda: ask(other.observation(position["seat"]), iterations=10, search_token=token))
    assert (error.reason, error.violations[0].field) == ("NOT_CONTINUED", "search_token")


def test_another_kind_of_search(service: Service, position: dict[str, Any]) -> None:
    ask = service.client.suggest_move
    token = ask(position, iterations=10, keep_search=True).search_token
    for options in ({"bot": "vanilla"}, {"settings": {"observers": 0}}):
        error = error_of(lambda options=options: ask(position, iterations=10, search_token=token, **options))
        assert (error.reason, error.violations[0].field) == ("OTHER_SEARCH", "search_token")
    assert ask(position, iterations=10, search_token=token, settings={"exploration": 2.0}).adopted == 10


def test_another_history(service: Service) -> None:
    ask = service.client.suggest_move
    state = bvb_core.new_game(players=2, seed=4, first_player=0)
    view = state.observation(0)
    state.apply("draw 1")
    first = state.events(0)
    token = ask(view, events=first, iterations=50, keep_search=True).search_token
    other = bvb_core.new_game(players=2, seed=4, first_player=0)
    other.apply("draw 2")
    lines = other.events(0)
    other.apply("draw 1")
    error = error_of(lambda: ask(view, events=[*lines, *other.events(0)], iterations=5, search_token=token))
    assert error.reason == "NOT_CONTINUED"
    state.apply("draw 1")
    assert ask(view, events=[*first, *state.events(0)], iterations=5, search_token=token).iterations == 5


def test_tokens_that_are_not_kept(
    service: Service, position: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = service.client.suggest_move
    error = error_of(lambda: ask(position, iterations=1, search_token="0" * 32))
    assert (error.code, error.reason) == (grpc.StatusCode.NOT_FOUND, "UNKNOWN_TOKEN")
    token = ask(position, iterations=10, keep_search=True).search_token
    monkeypatch.setattr(engine, "KEPT_S", -1.0)
    assert error_of(lambda: ask(position, iterations=1, search_token=token)).reason == "UNKNOWN_TOKEN"


def test_what_cannot_be_kept(service: Service, position: dict[str, Any]) -> None:
    ask = service.client.suggest_move
    move = service.client.list_legal_moves(position).actions[0].notation
    assert error_of(lambda: ask(position, bot="greedy", keep_search=True)).reason == "NOT_SUPPORTED"
    for options in ({"keep_search": True}, {"search_token": "x"}):
        error = error_of(lambda options=options: ask(position, iterations=1, allow_moves=[move], **options))
        assert error.reason == "NOT_SUPPORTED"
        assert error.violations[0].field in options


def test_what_is_kept_is_bounded() -> None:
    view = a_state().observation(a_state().current_player)
    bot = engine.ai.make_bot("ismcts:iterations=100")
    assert isinstance(bot, engine.IsmctsBot)

    def searched() -> engine.ai.Analysis:
        analysis = bot.analysis(view)
        analysis.run()
        return analysis

    kept = engine.KeptSearches(limit=2)
    tokens = [kept.add(searched(), engine.Origin()) for _ in range(3)]
    assert len(kept) == 2
    assert [kept.get(token) is not None for token in tokens] == [False, True, True]
    size = searched().size_bytes
    kept = engine.KeptSearches(limit_bytes=3 * size)
    for _ in range(5):
        kept.add(searched(), engine.Origin())
    assert 1 <= len(kept) <= 4
