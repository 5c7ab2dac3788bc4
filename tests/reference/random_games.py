"""Random rules and random play, for tests that drive the model."""

import random
from collections import Counter
from typing import Any

from .model import Model
from .pieces import Deck, deal


def random_rules(rng: random.Random, deck: Deck) -> dict[str, Any]:
    """Rules of a random game: 2 to 5 players, any options, mostly without an early turn limit."""
    players = rng.randint(2, 5)
    return {
        "players": players,
        "first_player": rng.randrange(players),
        "armageddon": rng.random() < 0.5,
        "practice": rng.random() < 0.15,
        "turn_limit": rng.choice([500, 500, 500, rng.randint(1, 60)]),
        "deck": deck.id,
    }


def check_position(model: Model, cards: Counter[str]) -> None:
    """What holds in every position."""
    assert model.cards() == cards
    legal = model.legal()
    assert legal == sorted(set(legal))
    assert bool(legal) == (not model.is_over) == (model.current_player is not None)
    assert sum(model.scores()) <= sum(card.points * card.count for card in model.deck.cards.values())
    for observer in model.observers:
        check_located(model, observer)


def check_located(model: Model, observer: int | None) -> None:
    """Located cards can really lie in their places, each in one of its own (those of a kind are nested)."""
    for seat in model.seats:
        facts = [fact for fact in model.located[observer] if fact.holder == seat]
        assert not facts or seat != observer
        for kind in {fact.kind for fact in facts}:
            places = sorted((fact.masks for fact in facts if fact.kind == kind), key=len)
            for number, masks in enumerate(places, start=1):
                assert number <= model.hands[seat][kind] + sum(head.kind == kind for head in masks)
                assert not [head for head in masks if head.known_to(observer)]


def play_random_game(seed: int, deck: Deck) -> Model:
    """A whole random game, checked in every position."""
    rng = random.Random(seed)
    rules = random_rules(rng, deck)
    model = Model(rules, deal(rules, rng, deck), deck)
    cards = deck.full(rules["practice"])
    check_position(model, cards)
    while not model.is_over:
        model.apply(rng.choice(model.legal()))
        check_position(model, cards)
    return model
