"""Cards, set-up and the things on the table of the reference model."""

import hashlib
import random
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TYPES = ("land", "sea", "sky")
SIDES = ("left", "right")
SLOTS = ("head", "torso", "left_arm", "right_arm", "legs", "left_tool", "right_tool", "hat")
PRACTICE_ROLES = {"head", "torso", "arm", "legs", "baby"}
HAND_SIZE = 5
STANDARD_DECK = Path(__file__).resolve().parents[2] / "bvb_core" / "bears" / "deck.toml"

Seat = int
Observer = int | None  # None: a spectator


# ---------------------------------------------------------------- cards (section 1)


@dataclass(frozen=True)
class Card:
    id: str
    count: int
    role: str
    strength: int
    types: frozenset[str]  # heads: the types they fight in
    type: str  # babies
    points: int  # babies
    joints: frozenset[str]  # torsos
    sockets: frozenset[str]  # where it takes a tool: sides of a torso, hand of an arm


class Deck:
    """The card table. `id` is "standard" or "sha256:" and the digest of the deck file."""

    def __init__(
        self, entries: list[dict[str, Any]], name: str = "standard", deck_id: str = "standard"
    ) -> None:
        self.name = name
        self.id = deck_id
        self.cards = {entry["id"]: _card(entry) for entry in entries}
        self._order = {kind: place for place, kind in enumerate(self.cards)}

    def __getitem__(self, kind: str) -> Card:
        return self.cards[kind]

    def ordered(self, kinds: Iterable[str]) -> list[str]:
        return sorted(kinds, key=self._order.__getitem__)

    def order(self, kind: str) -> int:
        return self._order[kind]

    def of_role(self, role: str) -> list[str]:
        return [card.id for card in self.cards.values() if card.role == role]

    def full(self, practice: bool) -> Counter[str]:
        """All cards that are in a game."""
        return Counter(
            {
                card.id: card.count
                for card in self.cards.values()
                if card.count and (not practice or card.role in PRACTICE_ROLES)
            }
        )


def _card(entry: dict[str, Any]) -> Card:
    return Card(
        entry["id"],
        entry["count"],
        entry["role"],
        entry.get("strength", 0),
        frozenset(entry.get("types", ())),
        entry.get("type", ""),
        entry.get("points", 0),
        frozenset(entry.get("joints", ())),
        frozenset(entry.get("sockets", ())),
    )


def load_deck(path: Path | str = STANDARD_DECK) -> Deck:
    """Read a deck file, also one that extends the standard deck. The file is trusted to be valid."""
    content = Path(path).read_bytes()
    data = tomllib.loads(content.decode())
    entries: dict[str, dict[str, Any]] = {}
    if data.get("extends") == "standard":
        standard = tomllib.loads(STANDARD_DECK.read_text())
        entries.update({entry["id"]: entry for entry in standard["card"]})
    entries.update({entry["id"]: entry for entry in data.get("card", [])})
    for kind, count in data.get("counts", {}).items():
        entries[kind] = {**entries[kind], "count": count}
    is_standard = content == STANDARD_DECK.read_bytes()
    deck_id = "standard" if is_standard else "sha256:" + hashlib.sha256(content).hexdigest()
    return Deck(list(entries.values()), data.get("name", ""), deck_id)


def head_name(kind: str) -> str:
    """The word for a head in the notation: `bear` for `bear_head`."""
    return kind.removesuffix("_head")


# ---------------------------------------------------------------- set-up (section 2)


def deal(rules: dict[str, Any], rng: random.Random, deck: Deck) -> dict[str, Any]:
    """A random legal deal in the record format. Raises ValueError when the deck has too few cards."""
    players = rules["players"]
    practice = rules.get("practice", False)
    cards = deck.full(practice)
    hands: list[list[str]] = [[] for _ in range(players)]
    if not practice:
        if cards["bear_head"] < players:
            raise ValueError("fewer Bear Heads than players")
        cards["bear_head"] -= players
        for hand in hands:
            hand.append("bear_head")
    stock = list(cards.elements())
    rng.shuffle(stock)
    armies: dict[str, list[dict[str, Any]]] = {army: [] for army in TYPES}
    set_aside: list[str] = []
    for seat, hand in enumerate(hands):
        while len(hand) < HAND_SIZE:
            if not stock:
                raise ValueError("the deck is too small for this many players")
            kind = stock.pop()
            if deck[kind].role == "baby":
                armies[deck[kind].type].append({"kind": kind, "seat": seat})
            elif deck[kind].role == "wild_provoke":
                set_aside.append(kind)
            else:
                hand.append(kind)
    stock += set_aside
    rng.shuffle(stock)
    return {"hands": hands, "armies": armies, "piles": split(stock)}


def split(stock: list[str]) -> list[list[str]]:
    """Three draw piles, sizes as equal as possible, larger first."""
    piles = []
    start = 0
    for pile in range(3):
        size = (len(stock) + 2 - pile) // 3
        piles.append(stock[start : start + size])
        start += size
    return piles


# ---------------------------------------------------------------- things on the table


@dataclass
class Baby:
    kind: str
    seen_by: set[Seat]
    public: bool = False


@dataclass(eq=False)
class Head:
    """A head card on the table with its mask; it keeps its identity when heads are swapped."""

    kind: str
    masked: bool = False
    seen_by: set[Seat] = field(default_factory=set)
    public: bool = False
    excluded: set[str] = field(default_factory=set)

    def known_to(self, observer: Observer) -> bool:
        return not self.masked or self.public or observer in self.seen_by


@dataclass
class Monster:
    number: int
    owner: Seat
    head: Head | None
    torso: str | None = None
    left_arm: bool = False
    right_arm: bool = False
    legs: bool = False
    left_tool: bool = False
    right_tool: bool = False
    hat: bool = False

    @property
    def name(self) -> str:
        return f"m{self.number}"

    @property
    def alive(self) -> bool:
        return self.head is not None

    @property
    def tools(self) -> int:
        return self.left_tool + self.right_tool

    def has(self, slot: str) -> bool:
        return bool(getattr(self, slot))

    @property
    def slots(self) -> list[str]:
        """The slots that hold a card."""
        return [slot for slot in SLOTS if self.has(slot)]

    def neighbours(self, slot: str) -> int:
        """To how many other cards of the monster the card in this slot is connected."""
        return sum(slot in pair for pair in self._connections())

    def _connections(self) -> Iterator[tuple[str, str]]:
        pairs = [("head", "hat"), ("head", "torso"), ("torso", "legs")]
        for side in SIDES:
            pairs.append(("torso", f"{side}_arm"))
            holder = f"{side}_arm" if self.has(f"{side}_arm") else "torso"
            pairs.append((holder, f"{side}_tool"))
        return ((one, other) for one, other in pairs if self.has(one) and self.has(other))

    def is_edge(self, slot: str) -> bool:
        if slot == "head" and self.hat:
            return False
        return self.neighbours(slot) <= 1


@dataclass(eq=False)
class Located:
    """A copy known to be in the holder's hand or under one of these masks."""

    kind: str
    holder: Seat
    masks: list[Head] = field(default_factory=list)
