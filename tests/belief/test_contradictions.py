"""Observations from outside with any knowledge of heads: judged exactly, or refused when they cannot be."""

import copy
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import bvb_core

from ..reference.pieces import TYPES, Deck
from ..soak import Tally, fixture_seeds, run_many
from .enumeration import ContradictionError, TooLargeError, enumerate_belief, hidden
from .histories import HISTORIES, play, random_tiny_game
from .judge import check
from .test_sampler import draw

DRAWS = 2_000
THREE_MASKS = next(history for history in HISTORIES if history.name == "three masks by two players")

View = dict[str, Any]


def invent_knowledge(view: View, rng: random.Random, deck: Deck) -> None:
    """Other located cards and exclusions than those of the history."""
    heads = {monster["number"]: monster["head"] for monster in view["monsters"]
             if "head" in monster and not monster["head"]["kind"]}
    for head in heads.values():
        head["excluded_types"] = [army for army in TYPES if rng.random() < 0.35]
    kinds = [card.id for card in deck.cards.values()
             if card.count and card.role not in ("baby", "wild_provoke")]
    for seat, player in enumerate(view["players"]):
        player["located"] = []
        if seat == view.get("seat"):
            continue
        while rng.random() < 0.4:
            kind = rng.choice(kinds)
            masks = [number for number, head in heads.items() if deck[kind].role == "head"
                     and not deck[kind].types & {*head["excluded_types"]} and rng.random() < 0.6]
            player["located"].append({"kind": kind, "masks": masks})
        player["located"].sort(key=lambda fact: (deck.order(fact["kind"]), fact["masks"]))


def check_invented(seed: int) -> Tally:
    """Refused exactly when there is no assignment; otherwise drawn from the exact belief."""
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        game = random_tiny_game(rng, Path(folder))
        observer = rng.choice(game.model.observers)
        view = game.model.observation(observer)
        invent_knowledge(view, rng, game.deck)
        try:
            secret = hidden(view, game.deck)
            expected = enumerate_belief(secret)
        except TooLargeError:
            return Tally({"too large": 1})
        except ContradictionError:
            with pytest.raises(bvb_core.ObservationError) as refused:
                bvb_core.Observation.from_dict(view, game.engine_deck)
            assert refused.value.field
            assert refused.value.problem
            return Tally({"refused": 1})
        observation = bvb_core.Observation.from_dict(view, game.engine_deck)
        tests = check(draw(observation, secret, DRAWS), expected)
    return Tally({"accepted": 1, "chi-square tests": tests})


def test_invented_knowledge() -> None:
    tally = run_many("invented", check_invented, [*fixture_seeds("invented"), *range(50)])
    assert tally["refused"] >= 10
    assert tally["accepted"] >= 20


@pytest.mark.soak
def test_much_invented_knowledge() -> None:
    run_many("invented", check_invented, [*fixture_seeds("invented"), *range(5_000)], resume=True)


def empty_hand(view: View) -> None:
    view["players"][0]["hand_count"] = 0
    view["players"][0]["located"] = [{"kind": "bear_head", "masks": []}]
    view["pile_counts"][0] += 3


def too_many_bears(view: View) -> None:
    view["players"][0]["located"] = [{"kind": "bear_head", "masks": []}] * 3


def no_card_for_masks(view: View) -> None:
    view["players"][0]["located"] = []
    for monster in view["monsters"][:2]:
        monster["head"]["excluded_types"] = ["land", "sea"]


def mask_excluded_from_every_type(view: View) -> None:
    view["players"][0]["located"] = []
    view["monsters"][0]["head"]["excluded_types"] = ["land", "sea", "sky"]


def two_located_cards_under_one_mask(view: View) -> None:
    view["players"][0]["hand_count"] = 1
    view["pile_counts"][0] += 2
    located = [("bear_head", []), ("land_head", [1]), ("sea_head", [1])]
    view["players"][0]["located"] = [{"kind": kind, "masks": masks} for kind, masks in located]


def unknown_babies_that_are_not_in_the_deck(view: View) -> None:
    view["armies"][0]["babies"] = [{"kind": "", "seen_by": [0], "public": False}]
    view["pile_counts"][1] -= 1


def one_card_too_many(view: View) -> None:
    view["players"][0]["hand_count"] += 1


@pytest.mark.parametrize(
    ("change", "field", "word"),
    [
        (empty_hand, "players[0].hand_count", "located"),
        (too_many_bears, "players[0].located", "bear_head"),
        (no_card_for_masks, "monsters", "assign"),
        (mask_excluded_from_every_type, "monsters", "mask"),
        (two_located_cards_under_one_mask, "monsters", "assign"),
        (unknown_babies_that_are_not_in_the_deck, "armies[0].babies", "land"),
        (one_card_too_many, "players[0].hand_count", "too many"),
    ],
)
def test_contradictions_are_named(
    change: Callable[[View], None], field: str, word: str, tmp_path: Path
) -> None:
    game = play(THREE_MASKS, tmp_path)
    view = game.model.observation(1)
    bvb_core.Observation.from_dict(copy.deepcopy(view), game.engine_deck)
    change(view)
    with pytest.raises(bvb_core.ObservationError) as refused:
        bvb_core.Observation.from_dict(view, game.engine_deck)
    assert refused.value.field.startswith(field)
    assert word in refused.value.problem
