import random
from collections import Counter
from pathlib import Path

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
    assert model.result() == {
        "scores": model.scores(),
        "babies": model.babies(),
        "winners": model.winners(),
        "reason": model.reason,
    }
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


@pytest.mark.parametrize("players", [2, 3, 4, 5])
@pytest.mark.parametrize("practice", [False, True])
def test_deals_are_legal(players: int, practice: bool, deck: Deck) -> None:
    for seed in range(10):
        cards = deal({"players": players, "practice": practice}, random.Random(seed), deck)
        for hand in cards["hands"]:
            assert len(hand) == 5
            assert practice or "bear_head" in hand
            assert not [kind for kind in hand if deck[kind].role in ("baby", "wild_provoke")]
        sizes = [len(pile) for pile in cards["piles"]]
        assert sizes == sorted(sizes, reverse=True)
        assert sizes[0] - sizes[2] <= 1
        babies = [baby for army in cards["armies"].values() for baby in army]
        assert all(0 <= baby["seat"] < players for baby in babies)
        everything = Counter(kind for pile in cards["hands"] + cards["piles"] for kind in pile)
        everything.update(baby["kind"] for baby in babies)
        assert everything == deck.full(practice)


def test_a_deck_too_small_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "deck.toml"
    path.write_text('extends = "standard"\n[counts]\nbear_head = 2\n')
    with pytest.raises(ValueError, match="Bear Heads"):
        deal({"players": 3}, random.Random(1), load_deck(path))


@pytest.mark.parametrize("seed", range(5))
def test_random_games_with_another_deck(seed: int, tmp_path: Path) -> None:
    path = tmp_path / "deck.toml"
    path.write_text(
        'name = "masks"\nextends = "standard"\n[counts]\nmask = 12\nswap = 6\nlegs = 0\nhat = 1\n'
        '[[card]]\nid = "crossroad_torso"\ncount = 4\nrole = "torso"\nstrength = 2\n'
        'joints = ["neck", "left_shoulder"]\nsockets = ["right"]\n'
    )
    deck = load_deck(path)
    assert deck.id.startswith("sha256:")
    assert (deck["mask"].count, deck["legs"].count, deck["crossroad_torso"].count) == (12, 0, 4)
    play_random_game(seed, deck)
