import random

import pytest

from .model import Model
from .pieces import Deck, deal, load_deck
from .random_games import play_random_game, random_rules


@pytest.fixture(scope="module")
def deck() -> Deck:
    return load_deck()


@pytest.mark.parametrize("seed", range(20))
def test_random_games_keep_the_invariants(seed: int, deck: Deck) -> None:
    model = play_random_game(seed, deck)
    assert model.result() == {"scores": model.scores(), "babies": model.babies(),
                              "winners": model.winners(), "reason": model.reason}
    assert sum(model.returns()) == pytest.approx(1)


def test_a_record_replays_to_the_same_views(deck: Deck) -> None:
    first = play_random_game(7, deck)
    record = first.record(legal=True)
    second = Model(record["rules"], record["deal"], deck)
    for action, legal in zip(record["actions"], record["legal"], strict=True):
        assert second.legal() == legal
        second.apply(action)
    assert second.record(legal=True) == record
    assert all(second.observation(seat) == first.observation(seat) for seat in first.observers)


def test_an_illegal_action_changes_nothing(deck: Deck) -> None:
    rng = random.Random(3)
    rules = random_rules(rng, deck)
    model = Model(rules, deal(rules, rng, deck), deck)
    views = [model.observation(seat) for seat in model.observers]
    for text in ("draw 4", "pass", "provoke fire", "head bear m1", "", "Draw 1"):
        with pytest.raises(ValueError, match="illegal action"):
            model.apply(text)
    assert [model.observation(seat) for seat in model.observers] == views
    assert model.record()["actions"] == []
