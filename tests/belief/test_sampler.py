"""Determinizations against the exact belief, by chi-square."""

import itertools
import math
import random
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator
from pathlib import Path
from typing import Any

import pytest

import bvb_core

from ..soak import Tally, fixture_seeds, run_many
from .draws import outcome_of, read_piles, rest
from .enumeration import PILES, Hidden, Outcome, Place, TooLargeError, Unseen, enumerate_belief, hidden
from .histories import HISTORIES, Game, History, play, random_tiny_game
from .judge import check, check_values

HAND_BUILT_DRAWS = 4_000
RANDOM_DRAWS = 4_000
SOAK_DRAWS = 20_000
MAX_ORDERS = 6  # cards in the piles of which all orders are counted

by_name = pytest.mark.parametrize("history", HISTORIES, ids=lambda history: history.name)


def observations(game: Game) -> Iterator[tuple[bvb_core.Observation, Hidden]]:
    """Of every observer, with what it hides according to the reference model."""
    for observer in game.model.observers:
        observation = game.state.observation(observer)
        view = game.model.observation(observer)
        assert without_places(observation) == view
        yield observation, hidden(view, game.deck)


def without_places(observation: bvb_core.Observation) -> dict[str, Any]:
    view: dict[str, Any] = observation.to_dict()
    for monster in view["monsters"]:
        monster.pop("place")
    return view


def draw(observation: bvb_core.Observation, secret: Hidden, count: int) -> Counter[Outcome]:
    return Counter(outcome_of(observation.determinize(seed), secret) for seed in range(count))


@by_name
def test_knowledge_of_hand_built_histories(history: History, tmp_path: Path) -> None:
    game = play(history, tmp_path)
    assert 12 <= history.counts().total() <= 20
    for observer, expected in history.located.items():
        players = game.state.observation(observer).to_dict()["players"]
        assert expected == [(seat, fact["kind"], fact["masks"])
                            for seat, player in enumerate(players) for fact in player["located"]]
    for monster in game.state.observation(None).to_dict()["monsters"]:
        if "head" in monster:
            assert monster["head"]["excluded_types"] == history.excluded.get(monster["number"], [])


@by_name
def test_hand_built_histories(history: History, tmp_path: Path) -> None:
    tests = 0
    for observation, secret in observations(play(history, tmp_path)):
        tests += check(draw(observation, secret, HAND_BUILT_DRAWS), enumerate_belief(secret))
    assert tests


@pytest.mark.parametrize(
    "history", [history for history in HISTORIES if history.cards_left() > 1],
    ids=lambda history: history.name)
def test_order_of_the_piles(history: History, tmp_path: Path) -> None:
    tests = 0
    for observation, secret in observations(play(history, tmp_path)):
        drawn: dict[Hashable, float] = defaultdict(float)
        for seed in range(HAND_BUILT_DRAWS // 4):
            drawn[tuple(itertools.chain(*read_piles(observation.determinize(seed))))] += 1
        contents: dict[tuple[str, ...], float] = defaultdict(float)
        for outcome, share in enumerate_belief(secret).items():
            contents[rest(secret, outcome)] += share
        if secret.capacity[PILES] <= MAX_ORDERS:
            tests += check_values("order", drawn, orders(contents))
        for one, other in itertools.combinations(range(secret.capacity[PILES]), 2):
            seen: dict[Hashable, float] = defaultdict(float)
            for order, count in drawn.items():
                seen[order[one], order[other]] += count  # type: ignore[index]
            tests += check_values(f"cards {one} and {other}", seen, pairs(contents))
    assert tests


def orders(contents: dict[tuple[str, ...], float]) -> dict[Hashable, float]:
    """Shares of all orders: those of the same cards are equally likely."""
    result: dict[Hashable, float] = {}
    for kinds, share in contents.items():
        different = set(itertools.permutations(kinds))
        result.update({order: share / len(different) for order in different})
    return result


def pairs(contents: dict[tuple[str, ...], float]) -> dict[Hashable, float]:
    """Shares of the kinds at two places of the piles: the same for any two."""
    result: dict[Hashable, float] = defaultdict(float)
    for kinds, share in contents.items():
        for pair in itertools.permutations(kinds, 2):
            result[pair] += share / math.perm(len(kinds), 2)
    return result


def compare_random(draws: int, seed: int) -> Tally:
    """A randomly played game on a tiny deck: the belief of every observer at a random moment."""
    tally = Tally()
    with tempfile.TemporaryDirectory() as folder:
        game = random_tiny_game(random.Random(seed), Path(folder))
        for observation, secret in observations(game):
            try:
                expected = enumerate_belief(secret)
            except TooLargeError:
                tally["too large"] += 1
                continue
            tally["beliefs"] += 1
            tally["outcomes"] += len(expected)
            tally["chi-square tests"] += check(draw(observation, secret, draws), expected)
            tally["with masks"] += any(place[0] == "mask" for place in secret.capacity)
            tally["with two masks or more"] += sum(place[0] == "mask" for place in secret.capacity) > 1
            tally["with a located card that may be under a mask"] += any(
                len(card.places) > 1 and PILES not in card.places for card in secret.cards)
    return tally


def compare_random_quickly(seed: int) -> Tally:
    return compare_random(RANDOM_DRAWS, seed)


def compare_random_thoroughly(seed: int) -> Tally:
    return compare_random(SOAK_DRAWS, seed)


def test_random_histories() -> None:
    tally = run_many("belief", compare_random_quickly, [*fixture_seeds("belief"), *range(24)])
    assert tally["beliefs"] > 10 * tally["too large"]
    assert tally["with a located card that may be under a mask"] >= 20
    assert tally["with two masks or more"] >= 10


@pytest.mark.soak
def test_many_random_histories() -> None:
    run_many("belief", compare_random_thoroughly, [*fixture_seeds("belief"), *range(500)], resume=True)


# ---------------------------------------------------------------- the enumeration and the test themselves


def small_secret() -> Hidden:
    """A bear that is in a hand or under one of two masks, beside other heads, a baby and an arm."""
    hand, one, two = ("hand", 1, 0), ("mask", 1, 0), ("mask", 2, 0)
    army = ("army", 0, 0)
    capacity = {PILES: 2, hand: 2, one: 1, two: 1, army: 1}

    def card(kind: str, *places: Place) -> Unseen:
        return Unseen(kind, frozenset(places))

    return Hidden(capacity, [
        card("bear_head", hand, one, two), card("bear_head", hand, one, two, PILES),
        card("land_head", hand, one, PILES), card("sea_head", hand, one, two, PILES),
        card("arm", hand, PILES), card("land_baby_1", army, PILES), card("land_baby_2", army, PILES),
    ], {})


def as_outcome(held: dict[Place, list[str]]) -> Outcome:
    return tuple((place, tuple(sorted(held[place]))) for place in sorted(held) if place != PILES)


def test_enumeration_against_every_permutation() -> None:
    secret = small_secret()
    positions = [place for place, count in secret.capacity.items() for _ in range(count)]
    counts: Counter[Outcome] = Counter()
    for cards in itertools.permutations(secret.cards):
        if all(place in card.places for place, card in zip(positions, cards, strict=True)):
            held: dict[Place, list[str]] = {}
            for place, card in zip(positions, cards, strict=True):
                held.setdefault(place, []).append(card.kind)
            counts[as_outcome(held)] += 1
    expected = {outcome: pytest.approx(count / counts.total()) for outcome, count in counts.items()}
    assert len(expected) > 20
    assert enumerate_belief(secret) == expected


def uniform_sampler(secret: Hidden, rng: random.Random) -> dict[Place, list[str]] | None:
    """A shuffle of everything, None when a card lies where it may not."""
    positions = [place for place, count in secret.capacity.items() for _ in range(count)]
    held: dict[Place, list[str]] = {}
    for place, card in zip(positions, rng.sample(secret.cards, len(positions)), strict=True):
        if place not in card.places:
            return None
        held.setdefault(place, []).append(card.kind)
    return held


def slot_after_slot(secret: Hidden, rng: random.Random) -> dict[Place, list[str]] | None:
    """One card after another to any place that has room, those with the fewest places first."""
    left = dict(secret.capacity)
    held: dict[Place, list[str]] = {}
    for card in sorted(secret.cards, key=lambda card: (len(card.places), rng.random())):
        room = [place for place in sorted(card.places) for _ in range(left[place])]
        if not room:
            return None
        place = rng.choice(room)
        left[place] -= 1
        held.setdefault(place, []).append(card.kind)
    return held


def sample(sampler: Callable[[Hidden, random.Random], dict[Place, list[str]] | None],
           count: int) -> Counter[Outcome]:
    rng = random.Random(1)
    secret = small_secret()
    draws: Counter[Outcome] = Counter()
    while draws.total() < count:
        held = sampler(secret, rng)
        if held:
            draws[as_outcome(held)] += 1
    return draws


def test_an_exact_sampler_is_accepted() -> None:
    assert check(sample(uniform_sampler, RANDOM_DRAWS), enumerate_belief(small_secret())) > 5


def test_a_biased_sampler_is_rejected() -> None:
    with pytest.raises(AssertionError, match="chi-square"):
        check(sample(slot_after_slot, RANDOM_DRAWS), enumerate_belief(small_secret()))


def test_an_impossible_draw_is_rejected() -> None:
    expected = enumerate_belief(small_secret())
    place, kinds = next(iter(expected))[0]
    impossible: Outcome = ((place, (*kinds, "hat")),)
    with pytest.raises(AssertionError, match="impossible"):
        check(Counter({impossible: 1}), expected)
