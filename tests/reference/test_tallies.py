"""The deck file against the tallies typed by hand."""

from collections import Counter

import pytest

from . import tallies
from .pieces import Deck, load_deck


@pytest.fixture(scope="module")
def deck() -> Deck:
    return load_deck()


@pytest.fixture(scope="module")
def typed() -> Deck:
    return Deck(tallies.standard()["card"])


def test_kinds_in_deck_order(deck: Deck, typed: Deck) -> None:
    assert list(deck.cards) == list(typed.cards)


@pytest.mark.parametrize("kind", [card["id"] for card in tallies.standard()["card"]])
def test_every_fact_of_a_kind(deck: Deck, typed: Deck, kind: str) -> None:
    assert deck[kind] == typed[kind]


@pytest.mark.parametrize(("practice", "total"), [(False, tallies.TOTAL), (True, tallies.PRACTICE_TOTAL)])
def test_totals(deck: Deck, practice: bool, total: int) -> None:
    assert deck.full(practice).total() == total


def test_babies_of_each_type(deck: Deck) -> None:
    points = Counter[tuple[str, int]]()
    for kind in deck.of_role("baby"):
        points[deck[kind].type, deck[kind].points] += deck[kind].count
    for baby_type in tallies.LAND_SEA_SKY:
        assert [points[baby_type, worth] for worth in range(4)] == tallies.BABY_COUNTS


def test_the_standard_deck_is_named_so(deck: Deck) -> None:
    assert (deck.name, deck.id) == ("standard", "standard")
