"""Masks and hands in games with the standard deck, against shares counted in closed form."""

import math
import random
import tempfile
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import bvb_core

from ..random_play import Policy
from ..reference.model import Model
from ..reference.pieces import load_deck
from ..soak import Tally, fixture_seeds, run_many
from .draws import outcome_of
from .enumeration import PILES, Hidden, Place, TooLargeError, enumerate_belief, hidden
from .histories import random_tiny_game
from .judge import check_values

DRAWS = 3_000
MAX_DEVIATION = 5.5  # in standard errors, of a mean: one in some twenty million
DECK = load_deck()

Masks = tuple[str, ...]


@dataclass(frozen=True)
class Scenario:
    """Heads under all masks in order of their places, and which located cards stayed in which hand."""

    weight: int
    masks: Masks
    in_hand: Counter[tuple[Place, str]]
    free: Counter[str]
    """Cards left for hands and piles that are not located."""


def scenarios(secret: Hidden) -> Iterator[Scenario]:
    """All of them. The weight counts the ways to give single cards to masks, hands and piles."""
    places = sorted(place for place in secret.capacity if place[0] == "mask")
    hands = sorted(place for place in secret.capacity if place[0] == "hand")
    located = [card for card in secret.cards if PILES not in card.places]
    others = [card for card in secret.cards if PILES in card.places]
    heads = {card.kind: card.places for card in others}
    in_hands = Counter(card.kind for card in others if {*hands} & card.places)

    def locate(number: int, masks: dict[Place, str], kept: Counter[tuple[Place, str]]) -> Iterator[Scenario]:
        if number == len(located):
            yield from fill(masks, kept, in_hands, 1)
            return
        card = located[number]
        for place in card.places:
            if place[0] == "hand":
                yield from locate(number + 1, masks, kept + Counter({(place, card.kind): 1}))
            elif place not in masks:
                yield from locate(number + 1, {**masks, place: card.kind}, kept)

    def fill(masks: dict[Place, str], kept: Counter[tuple[Place, str]], free: Counter[str],
             weight: int) -> Iterator[Scenario]:
        place = next((place for place in places if place not in masks), None)
        if place is None:
            room = 0
            for hand in hands:
                stayed = sum(count for (where, _), count in kept.items() if where == hand)
                weight *= math.perm(secret.capacity[hand], stayed)
                room += secret.capacity[hand] - stayed
            weight *= math.perm(free.total(), room)
            if weight:
                yield Scenario(weight, tuple(masks[place] for place in places), kept, free)
            return
        for kind, count in free.items():
            if place in heads[kind]:
                yield from fill({**masks, place: kind}, kept, free - Counter({kind: 1}), weight * count)

    return locate(0, {}, Counter())


def mask_shares(secret: Hidden) -> dict[Hashable, float]:
    shares: dict[Hashable, float] = defaultdict(float)
    for scenario in scenarios(secret):
        shares[scenario.masks] += scenario.weight
    total = sum(shares.values())
    return {masks: share / total for masks, share in shares.items()}


def mean_counts(secret: Hidden) -> dict[tuple[Place, str], float]:
    """Expected number of cards of every kind in every hand."""
    means: dict[tuple[Place, str], float] = defaultdict(float)
    total = 0
    for scenario in scenarios(secret):
        total += scenario.weight
        for hand, size in secret.capacity.items():
            if hand[0] != "hand":
                continue
            room = size
            for (place, kind), count in scenario.in_hand.items():
                if place == hand:
                    room -= count
                    means[hand, kind] += count * scenario.weight
            for kind, count in scenario.free.items():
                means[hand, kind] += room * count / scenario.free.total() * scenario.weight
    return {what: mean / total for what, mean in means.items()}


def compare(observation: bvb_core.Observation, secret: Hidden) -> Tally:
    masks: Counter[Hashable] = Counter()
    sums: Counter[tuple[Place, str]] = Counter()
    squares: Counter[tuple[Place, str]] = Counter()
    for seed in range(DRAWS):
        outcome = dict(outcome_of(observation.determinize(seed), secret))
        masks[tuple(kinds[0] for place, kinds in sorted(outcome.items()) if place[0] == "mask")] += 1
        for place, kinds in outcome.items():
            if place[0] == "hand":
                for kind, count in Counter(kinds).items():
                    sums[place, kind] += count
                    squares[place, kind] += count * count
    expected = mask_shares(secret)
    assert {*masks} <= {*expected}
    tests = check_values("masks", {**masks}, expected)
    means = mean_counts(secret)
    assert {*sums} <= {*means}
    for what, mean in means.items():
        drawn = sums[what] / DRAWS
        # The variance as drawn; that of a rare event where too few were drawn to tell.
        error = math.sqrt(max(squares[what] / DRAWS - drawn**2, mean / 2, 1e-4) / DRAWS)
        assert abs(drawn - mean) < MAX_DEVIATION * error, f"{what}: {drawn} drawn, {mean} expected"
        tests += 1
    return Tally({"beliefs": 1, "tests": tests, "assignments of masks": len(expected)})


def check_full_deck(seed: int) -> Tally:
    """A random game when most masks are unknown, as those see it who do not know two or more."""
    rng = random.Random(seed)
    state = bvb_core.new_game(players=rng.randint(2, 5), seed=seed)
    policy = Policy(rng)
    best = most = 0
    for number in range(250):
        if state.is_terminal:
            break
        state.apply(policy.choose(state.legal_actions()))
        unknown = sum(not monster["head"]["kind"] for monster in state.observation(None).to_dict()["monsters"]
                      if "head" in monster)
        if (unknown, rng.random()) > (most, 0.7) and not state.is_terminal:
            best, most = number + 1, unknown
    record = {**state.to_record(), "result": None}
    moment = bvb_core.State.from_record(record, after=best)
    model = Model(record["rules"], record["deal"], DECK)
    for action in record["actions"][:best]:
        model.apply(action)
    tally = Tally({"games": 1})
    for observer in model.observers:
        secret = hidden(model.observation(observer), DECK)
        if sum(place[0] == "mask" for place in secret.capacity) > 1:
            tally += compare(moment.observation(observer), secret)
    return tally


def test_masks_and_hands() -> None:
    tally = run_many("full-deck", check_full_deck, [*fixture_seeds("full_deck"), *range(20)])
    assert tally["beliefs"] > 10


@pytest.mark.soak
def test_many_masks_and_hands() -> None:
    run_many("full-deck", check_full_deck, [*fixture_seeds("full_deck"), *range(2_000)], resume=True)


def test_closed_form_against_enumeration() -> None:
    compared = 0
    for seed in range(25):
        with tempfile.TemporaryDirectory() as folder:
            game = random_tiny_game(random.Random(seed), Path(folder))
            secret = hidden(game.model.observation(None), game.deck)
            try:
                outcomes = enumerate_belief(secret)
            except TooLargeError:
                continue
        masks: dict[Hashable, float] = defaultdict(float)
        counts: dict[tuple[Place, str], float] = defaultdict(float)
        for outcome, share in outcomes.items():
            masks[tuple(kinds[0] for place, kinds in outcome if place[0] == "mask")] += share
            for place, kinds in outcome:
                for kind in kinds if place[0] == "hand" else ():
                    counts[place, kind] += share
        assert mask_shares(secret) == pytest.approx(masks)
        means = {what: mean for what, mean in mean_counts(secret).items() if mean}
        assert means == pytest.approx(counts)
        compared += len(masks) > 1
    assert compared > 5
