"""Random games played by the engine and by the reference model in lockstep."""

import functools
import random
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import bvb_core

from .random_play import Policy, random_deck
from .reference import model as reference
from .reference.pieces import Deck, deal
from .reference.random_games import random_rules
from .soak import Tally, fixture_seeds, run_many

OWN_DECK_SHARE = 0.35
SAMPLE_SHARE = 0.05  # of positions, in which all views are compared
RECORD_SHARE = 0.2  # of games, whose record is compared with the lists of legal actions


@functools.cache
def standard_deck() -> tuple[Deck, bvb_core.Deck]:
    return reference.load_deck(), bvb_core.load_deck()


class Lockstep:
    """A game in the engine and in the model. Every difference is an AssertionError that says where it is."""

    def __init__(self, rng: random.Random, rules: dict[str, Any], decks: tuple[Deck, bvb_core.Deck]) -> None:
        deck, engine_deck = decks
        self.deck = engine_deck
        if rng.random() < 0.5:
            self.state = bvb_core.new_game(
                players=rules["players"], seed=rng.getrandbits(64), first_player=rules["first_player"],
                armageddon=rules["armageddon"], practice=rules["practice"], turn_limit=rules["turn_limit"],
                deck=engine_deck,
            )  # fmt: skip
            cards = self.state.to_record()["deal"]
        else:
            cards = deal(rules, rng, deck)
            cards["hands"] = [deck.ordered(hand) for hand in cards["hands"]]
            record = {"format": "bvb-record/1", "rules": rules, "deal": cards, "actions": []}
            self.state = bvb_core.State.from_record(record, after=0, deck=engine_deck)
        self.model = reference.Model(rules, cards, deck)
        self.cards = deck.full(rules["practice"])
        self.compare_views()

    def play(self, rng: random.Random) -> Tally:
        policy = Policy(rng)
        tally = Tally({"games": 1, "actions": 0})
        while not self.state.is_terminal:
            action = policy.choose(self.state.legal_actions())
            tally[str(action).split()[0]] += 1
            tally["actions"] += 1
            self.step(action)
            if rng.random() < SAMPLE_SHARE:
                self.compare_views()
        self.compare_views()
        self.compare_end(legal=rng.random() < RECORD_SHARE)
        return tally

    def step(self, action: bvb_core.Action) -> None:
        legal = [str(other) for other in self.state.legal_actions()]
        self.state.apply(action)
        try:
            self.model.apply(str(action))
        except ValueError as error:
            self._differ("legal actions", legal, self.model.legal(), f"{error} in the model")
        self._same("legal actions before", legal, self.model.legal_lists[-1])
        for observer in self.model.observers:
            self._same(f"events for {observer}", self.state.events(observer), self.model.events(observer))
        player = None if self.state.is_terminal else self.state.current_player
        self._same("player to move", player, self.model.current_player)
        self._same("cards", +self.model.cards(), +Counter(self.cards))
        again = bvb_core.State.from_bytes(bytes(self.state), self.deck)
        self._same("state from its bytes", again, self.state)

    def compare_views(self) -> None:
        for observer in self.model.observers:
            view = self.state.observation(observer).to_dict()
            for monster in view["monsters"]:
                monster.pop("place")
            expected = self.model.observation(observer)
            for field in {*view, *expected}:
                self._same(f"{field} for {observer}", view.get(field), expected.get(field))
        self._same("scores", self.state.scores(), self.model.scores())
        self._same("turn", self.state.turn_number, self.model.turn_number)

    def compare_end(self, legal: bool) -> None:
        self._same("legal actions", self.state.legal_actions(), self.model.legal())
        self._same("returns", self.state.returns(), pytest.approx(self.model.returns()))
        self._same("winners", self.state.winners(), self.model.winners())
        self._same("reason", self.state.reason, self.model.reason)
        self._same("record", self.state.to_record(legal), self.model.record(legal))

    def _same(self, what: str, actual: object, expected: object) -> None:
        if actual != expected:
            self._differ(what, actual, expected)

    def _differ(self, what: str, actual: object, expected: object, note: str = "") -> None:
        number = len(self.model.actions)
        raise AssertionError(
            f"{what} after {number} actions ({', '.join(self.model.actions[-4:])}): "
            f"{actual!r} in the engine, {expected!r} in the model {note}"
        )


def play_seed(seed: int) -> Tally:
    """The whole game of a seed; about one in three with a small deck of its own."""
    rng = random.Random(seed)
    rules = random_rules(rng, standard_deck()[0])
    if rng.random() >= OWN_DECK_SHARE:
        return Lockstep(rng, rules, standard_deck()).play(rng)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "deck.toml"
        random_deck(rng, path, rules["players"], rules["practice"])
        deck = reference.load_deck(path)
        rules["deck"] = deck.id
        return Lockstep(rng, rules, (deck, bvb_core.load_deck(path))).play(rng)


VERBS = ("draw", "pass", "provoke", "wild", "dive", "head", "mask", "torso", "arm", "legs", "tool", "hat",
         "swap", "dismember", "lullaby")


def test_engine_and_model_agree() -> None:
    tally = run_many("differential", play_seed, [*fixture_seeds("differential"), *range(250)])
    assert [verb for verb in VERBS if tally[verb] < 100] == []


@pytest.mark.soak
def test_engine_and_model_agree_in_many_games() -> None:
    run_many("differential", play_seed, [*fixture_seeds("differential"), *range(10_000)], resume=True)
