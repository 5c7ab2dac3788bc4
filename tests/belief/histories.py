"""Games on tiny decks: built by hand around what section 6 says, and played at random."""

import random
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import bvb_core

from ..random_play import Policy
from ..reference.model import Model
from ..reference.pieces import TYPES, Deck, deal, load_deck

Observer = int | None
STANDARD = load_deck()


@dataclass
class History:
    """A deal, actions, and what is known after them."""

    name: str
    hands: list[str]
    piles: list[str]
    actions: str
    armies: dict[str, str] = field(default_factory=dict)
    """Babies dealt, each as kind:seat."""
    located: dict[Observer, list[tuple[int, str, list[int]]]] = field(default_factory=dict)
    """Of the observers that are looked at: holder, kind and masks of every located card."""
    excluded: dict[int, list[str]] = field(default_factory=dict)
    """By monster."""
    first_player: int = 0

    def record(self, deck_id: str) -> dict[str, Any]:
        armies: dict[str, list[dict[str, Any]]] = {army: [] for army in TYPES}
        for army, babies in self.armies.items():
            for word in babies.split():
                kind, seat = word.split(":")
                armies[army].append({"kind": kind, "seat": int(seat)})
        return {
            "format": "bvb-record/1",
            "rules": {"players": len(self.hands), "first_player": self.first_player, "armageddon": False,
                      "practice": False, "turn_limit": 500, "deck": deck_id},
            "deal": {"hands": [hand.split() for hand in self.hands], "armies": armies,
                     "piles": [pile.split() for pile in self.piles]},
            "actions": [action.strip() for action in self.actions.split(",")],
        }

    def cards_left(self) -> int:
        """In the draw piles after the last action."""
        return len(" ".join(self.piles).split()) - self.actions.count("draw")

    def counts(self) -> Counter[str]:
        cards = Counter(" ".join(self.hands + self.piles).split())
        cards.update(word.split(":")[0] for babies in self.armies.values() for word in babies.split())
        return cards


@dataclass
class Game:
    """A game in progress, in the model and in the engine."""

    model: Model
    state: bvb_core.State
    deck: Deck
    engine_deck: bvb_core.Deck

    def apply(self, action: str) -> None:
        self.state.apply(action)
        self.model.apply(action)


def marsh_head(count: int) -> str:
    """A head that fights in two types."""
    return ('[[card]]\nid = "marsh_head"\nrole = "head"\nstrength = 2\ntypes = ["land", "sea"]\n'
            f'count = {count}\n')


def write_deck(path: Path, counts: Counter[str]) -> None:
    """A deck file with these cards and no others."""
    lines = "\n".join(f"{kind} = {counts[kind]}" for kind in STANDARD.cards)
    marsh = marsh_head(counts["marsh_head"])
    path.write_text(f'name = "tiny"\nextends = "standard"\n[counts]\n{lines}\n{marsh}')


def start(record: dict[str, Any], path: Path) -> Game:
    """The game of a record before its first action, played with the deck of a file."""
    deck, engine_deck = load_deck(path), bvb_core.load_deck(path)
    state = bvb_core.State.from_record(record, after=0, deck=engine_deck)
    return Game(Model(record["rules"], record["deal"], deck), state, deck, engine_deck)


def play(history: History, folder: Path) -> Game:
    """The game of a hand-built history after its last action."""
    path = folder / "deck.toml"
    write_deck(path, history.counts())
    record = history.record(bvb_core.load_deck(path).id)
    game = start(record, path)
    for action in record["actions"]:
        game.apply(action)
    return game


def new_tiny_game(rng: random.Random, folder: Path) -> Game:
    """A game with a random deck of 12 to 20 cards."""
    path = folder / "deck.toml"
    players = rng.choice((2, 2, 2, 3))
    while True:
        counts = _random_counts(rng, players)
        write_deck(path, counts)
        deck = load_deck(path)
        rules = {"players": players, "first_player": rng.randrange(players), "armageddon": False,
                 "practice": False, "turn_limit": 500, "deck": deck.id}
        try:
            cards = deal(rules, rng, deck)
        except ValueError:
            continue
        if any(cards["piles"]):
            break
    return start({"format": "bvb-record/1", "rules": rules, "deal": cards, "actions": []}, path)


def random_tiny_game(rng: random.Random, folder: Path) -> Game:
    """A tiny game, played to a random moment, mostly one with masks unknown to others."""
    game = new_tiny_game(rng, folder)
    record = game.model.record()
    policy = Policy(rng)
    lengths = []
    while not game.model.is_over and len(game.model.actions) < 60:
        game.apply(str(policy.choose(game.state.legal_actions())))
        lengths.append(1 + 8 * _unknown_masks(game.model) ** 3 if not game.model.is_over else 0)
    (length,) = rng.choices(range(1, len(lengths) + 1), lengths)
    actions = game.model.actions[:length]
    game = start(record, folder / "deck.toml")
    for action in actions:
        game.apply(action)
    return game


def _random_counts(rng: random.Random, players: int) -> Counter[str]:
    counts = Counter({"bear_head": players + rng.randint(0, 1), "mask": rng.randint(1, 4),
                      "marsh_head": rng.choice((0, 0, 0, 1, 2))})
    size = rng.randint(12 if players == 2 else 18, 20)
    likely = ["land_head", "sea_head", "sky_head"] * 2 + ["swap", "arm", "crossroad_torso", "tool"]
    babies = [f"{army}_baby_{points}" for army in TYPES for points in (0, 1, 2)]
    while counts.total() < size:
        group = rng.choices((likely, babies, ["wild_provoke", "lullaby", "dismember"]), (6, 2, 1))[0]
        counts[rng.choice(group)] += 1
    return counts


def _unknown_masks(model: Model) -> int:
    view = model.observation(None)
    return sum(not monster["head"]["kind"] for monster in view["monsters"] if "head" in monster)


HISTORIES = [
    History(
        "mask over a located bear",
        ["bear_head land_head sea_head mask arm", "bear_head sky_head legs hat tool"],
        ["land_head sky_head", "bear_head", "arm"],
        "mask land, draw 1",
        armies={"land": "land_baby_1:0 land_baby_2:0"},
        located={0: [(1, "bear_head", [])], 1: [(0, "bear_head", [1])],
                 None: [(0, "bear_head", [1]), (1, "bear_head", [])]},
    ),
    History(
        "mask over the located bear itself",
        ["bear_head land_head sea_head mask arm", "bear_head sky_head legs hat tool"],
        ["land_head sky_head", "bear_head land_baby_1", "arm"],
        "mask bear, draw 2, draw 1, draw 2",
        located={1: [(0, "bear_head", [1])]},
    ),
    History(
        "two masks by one player",
        ["bear_head land_head sea_head mask mask", "bear_head sky_head legs hat tool"],
        ["land_head sky_head", "bear_head sea_baby_0", "arm sea_baby_1"],
        "mask sea, mask land, draw 3, draw 3",
        located={0: [(1, "bear_head", [])], 1: [(0, "bear_head", [1, 2])]},
    ),
    History(
        "three masks by two players",
        ["bear_head land_head sea_head mask mask", "bear_head sky_head mask land_head tool"],
        ["land_head sky_head", "bear_head sea_head", "arm"],
        "mask sea, mask bear, draw 1, draw 1, mask sky",
        located={0: [(1, "bear_head", [3])], 1: [(0, "bear_head", [1, 2])],
                 None: [(0, "bear_head", [1, 2]), (1, "bear_head", [3])]},
    ),
    History(
        "masked head swapped to another player",
        ["bear_head land_head sea_head mask mask", "bear_head sky_head swap arm tool",
         "bear_head land_head arm arm arm"],
        ["land_head", "sky_head", "sea_head"],
        "mask sea, mask land, draw 1, head sky, swap m1 m3",
        located={0: [(1, "bear_head", []), (2, "bear_head", [])],
                 1: [(0, "bear_head", [2]), (2, "bear_head", [])],
                 2: [(0, "bear_head", [2, 3]), (1, "bear_head", [])]},
    ),
    History(
        "two masked heads exchanged",
        ["bear_head land_head sea_head mask arm", "bear_head sky_head mask swap arm",
         "bear_head land_head arm arm arm"],
        ["land_head sky_head", "sea_head arm", "sea_baby_1"],
        "mask sea, draw 1, draw 3, mask bear, swap m1 m2",
        located={0: [(2, "bear_head", [])], 1: [(0, "bear_head", []), (2, "bear_head", [])],
                 2: [(0, "bear_head", [2]), (1, "bear_head", [1])],
                 None: [(0, "bear_head", [2]), (1, "bear_head", [1]), (2, "bear_head", [])]},
    ),
    History(
        "failed provoke over a mask",
        ["bear_head land_head sea_head mask arm", "bear_head sky_head legs hat land_head"],
        ["land_head sky_head sea_baby_1", "bear_head sea_head", "arm sky_head"],
        "mask land, draw 1, draw 2, draw 3, provoke sea",
        armies={"sea": "sea_baby_0:0"},
        located={1: [(0, "bear_head", [])], None: [(0, "bear_head", []), (1, "bear_head", [])]},
        excluded={1: ["sea"]},
    ),
    History(
        "two failed provokes leave one type",
        ["bear_head land_head sea_head mask land_head", "bear_head sky_head legs mask land_head"],
        ["mask sky_head sky_baby_1", "land_head sea_head", "arm sea_head"],
        "mask land, draw 1, mask land, draw 2, provoke sea, draw 3, draw 2, draw 3, draw 1, provoke sky",
        armies={"sea": "sea_baby_0:0", "sky": "sky_baby_0:1"},
        located={1: [(0, "bear_head", [])]},
        excluded={1: ["sea", "sky"], 2: ["sea", "sky"]},
    ),
    History(
        "valid provoke turns over one of three masks",
        ["bear_head land_head sea_head mask mask", "bear_head sky_head legs mask land_head"],
        ["sea_baby_1 sky_head", "land_head sea_head", "arm sea_head"],
        "mask land, mask sea, draw 1, draw 2, mask sky, draw 3, draw 2, draw 3, provoke sea",
        armies={"sea": "sea_baby_0:0"},
        located={0: [(1, "bear_head", [])], 1: [(0, "bear_head", [])]},
        excluded={1: ["sea"], 3: ["sea"]},
    ),
    History(
        "Wild Provoke wasted by the owner of two masks",
        ["bear_head land_head sea_head mask mask", "bear_head sky_head legs arm land_head"],
        ["wild_provoke sky_head", "sky_head sea_head", "arm sea_baby_2"],
        "mask land, mask sea, draw 2, draw 1",
        armies={"sky": "sky_baby_0:1"},
        located={1: [(0, "bear_head", [])]},
        excluded={1: ["sky"], 2: ["sky"]},
    ),
    History(
        "failed Wild Provoke over two masks",
        ["bear_head land_head sea_head mask arm", "bear_head sky_head legs mask land_head"],
        ["sky_head sea_baby_2", "wild_provoke sea_head", "arm sky_head"],
        "mask land, draw 1, draw 3, draw 3, mask land, draw 2, wild sky",
        armies={"sky": "sky_baby_0:1 sky_baby_1:0"},
        located={0: [(1, "bear_head", [])], 1: [(0, "bear_head", [])]},
        excluded={1: ["sky"], 2: ["sky"]},
    ),
    History(
        "pending Wild Provoke over two masks",
        ["bear_head land_head sea_head mask arm", "bear_head sky_head legs mask land_head"],
        ["sky_head sea_baby_2", "wild_provoke sea_head", "arm sky_head"],
        "mask land, draw 1, draw 3, draw 3, mask land, draw 2",
        armies={"sky": "sky_baby_0:1 sky_baby_1:0", "land": "land_baby_1:0"},
        located={0: [(1, "bear_head", [2])], 1: [(0, "bear_head", [1])]},
    ),
    History(
        "tie that shows an army, and a mask that stays",
        ["bear_head land_head land_head mask arm", "bear_head sky_head legs mask land_head"],
        ["sky_head sea_baby_2 land_baby_1", "land_baby_0 sea_head", "arm sea_baby_1"],
        "mask land, draw 1, draw 2, draw 3, head land, mask sky, draw 3, draw 2, provoke land, "
        "draw 1, draw 1",
        armies={"land": "land_baby_1:1 land_baby_0:0", "sky": "sky_baby_0:0"},
        located={0: [(1, "bear_head", [])], 1: [(0, "bear_head", [])]},
        excluded={3: ["land"]},
    ),
    History(
        "Lullaby over a partly known army",
        ["bear_head land_head lullaby arm arm", "bear_head sky_head legs hat land_head"],
        ["land_baby_2 land_baby_3", "land_baby_1 land_baby_1", "land_baby_0 land_baby_2"],
        "draw 1, draw 2, draw 3, lullaby land, draw 1, draw 2",
        armies={"land": "land_baby_0:1 land_baby_3:0"},
    ),
    History(
        "Lullaby, then more babies on top",
        ["bear_head land_head lullaby arm lullaby", "bear_head sky_head legs hat land_head"],
        ["land_baby_2 land_baby_3", "land_baby_1 land_baby_1", "sky_baby_0 land_baby_2"],
        "lullaby land, draw 1, draw 2, draw 3, draw 3, draw 2, draw 1",
        armies={"land": "land_baby_0:1 land_baby_3:0 land_baby_2:1", "sky": "sky_baby_1:0"},
    ),
    History(
        "dives of a bear and of a baby, then a mask",
        ["bear_head land_head lullaby arm mask", "bear_head sky_head dismember mask sea_head"],
        ["land_baby_2 sky_head", "land_baby_1 bear_head", "sky_head land_baby_2"],
        "head bear, lullaby land, draw 1, draw 2, dismember m1 head, draw 3, draw 3, draw 2, dive bear_head, "
        "dive land_baby_3, mask land",
        armies={"land": "land_baby_0:1 land_baby_3:0"},
        located={1: [(0, "bear_head", [2])]},
    ),
    History(
        "dived bear beside a dealt one that may be under two masks",
        ["bear_head land_head dismember mask mask", "bear_head sky_head tool tool sea_head"],
        ["land_baby_2 sky_head arm", "land_baby_1 hat legs", "sky_head bear_head land_head"],
        "mask land, draw 1, draw 2, draw 3, head bear, draw 3, draw 2, draw 1, "
        "dismember m2 head, draw 2, draw 1, mask sky, dive dismember, dive bear_head",
        located={1: [(0, "bear_head", []), (0, "bear_head", [1, 3])]},
    ),
    History(
        "bear played face up settles the dived one",
        ["bear_head land_head dismember mask mask", "bear_head sky_head tool tool sea_head"],
        ["land_baby_2 sky_head arm", "land_baby_1 hat legs", "sky_head bear_head land_head"],
        "mask land, draw 1, draw 2, draw 3, head bear, draw 3, draw 2, draw 1, "
        "dismember m2 head, draw 2, draw 1, mask sky, dive dismember, dive bear_head, "
        "head sky, head sea, head sky, hat m4, head bear",
        located={1: [(0, "bear_head", [1, 3])]},
    ),
    History(
        "dived head of a type, then a mask that is no bear",
        ["bear_head sky_head land_head mask arm", "bear_head sea_head dismember legs hat"],
        ["tool land_head sky_head arm", "sea_head arm tool", "land_baby_0 sky_head sea_head"],
        "head sky, draw 1, draw 2, draw 3, dismember m1 head, draw 1, draw 2, draw 3, dive sky_head, "
        "head sea, hat m2, draw 1, draw 2, mask sky, head sea, draw 1, draw 3, provoke land",
        located={1: [(0, "bear_head", []), (0, "sky_head", [3])]},
        excluded={3: ["land"]},
    ),
]
