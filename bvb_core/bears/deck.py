"""The card table: reading a deck file, extending the shipped one, and validation."""

from __future__ import annotations

import functools
import hashlib
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

TYPES = ("land", "sea", "sky")
JOINTS = ("neck", "left_shoulder", "right_shoulder", "waist")
ROLES = (
    "head", "torso", "arm", "legs", "tool", "hat", "mask",
    "baby", "swap", "dismember", "lullaby", "wild_provoke",
)  # fmt: skip
# Roles that the practice round is played with.
PRACTICE_ROLES = frozenset({"head", "torso", "arm", "legs", "baby"})
# Roles that add to the strength of a monster.
FIGHTING_ROLES = frozenset({"head", "torso", "arm", "legs", "tool"})
# Roles whose action notation names no card, so that two kinds could not be told apart.
SINGLE_ROLES = frozenset(ROLES) - {"head", "torso", "baby"}

# What the fixed-size state can hold.
MAX_CARDS = 192
MAX_HEAD_KINDS = MAX_TORSO_KINDS = 8
MAX_HEADS = MAX_TORSOS = 32
MAX_LIMBS = 64
MAX_MASKS = 4
MAX_ARMY = 32
MAX_STRENGTH = 20
MAX_POINTS = 9

_FIELDS: dict[str, tuple[str, ...]] = {
    "head": ("types",),
    "torso": ("joints", "sockets"),
    "arm": ("sockets",),
    "baby": ("type", "points"),
}
_STANDARD = Path(__file__).with_name("deck.toml")


class DeckError(ValueError):
    """A deck file that cannot be used; the message names file, card and field."""


@dataclass(frozen=True, slots=True)
class Card:
    """One kind of card. `count` copies; `strength` in points of a monster; `points` of a Baby, 0 to 9."""

    id: str
    count: int
    role: str
    strength: int = 0
    types: tuple[str, ...] = ()
    type: str = ""
    points: int = 0
    joints: tuple[str, ...] = ()
    sockets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Deck:
    """A validated card table. `id` is "standard", or "sha256:" and the digest of the file's bytes."""

    name: str
    id: str
    cards: tuple[Card, ...]

    def __getitem__(self, kind: str) -> Card:
        for card in self.cards:
            if card.id == kind:
                return card
        raise KeyError(kind)

    def for_practice(self) -> Deck:
        """The cards of the practice round: heads, body parts and Babies."""
        return replace(self, cards=tuple(c for c in self.cards if c.role in PRACTICE_ROLES))


class _Reader:
    """Checks one deck file; every complaint names file, card and field."""

    def __init__(self, file: str) -> None:
        self.file = file

    def fail(self, where: str, problem: str) -> NoReturn:
        raise DeckError(f"{self.file}: {where}: {problem}")

    def integer(self, where: str, value: Any, low: int, high: int) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            self.fail(where, f"must be a whole number, not {value!r}")
        if not low <= value <= high:
            self.fail(where, f"must be {low} to {high}, not {value}")
        return value

    def names(self, where: str, value: Any, allowed: tuple[str, ...]) -> tuple[str, ...]:
        if not isinstance(value, list) or any(v not in allowed for v in value) or len(set(value)) != len(value):
            self.fail(where, f"must be a list of different names among {', '.join(allowed)}, not {value!r}")
        return tuple(name for name in allowed if name in value)

    def card(self, number: int, table: Any) -> Card:
        if not isinstance(table, dict):
            self.fail(f"card {number}", "must be a [[card]] table")
        kind = table.get("id")
        if not isinstance(kind, str) or not re.fullmatch("[a-z0-9_]+", kind):
            self.fail(f"card {number}", f"id: must be a name of small letters, digits and '_', not {kind!r}")
        where = f"card {kind}"
        role = table.get("role")
        if role not in ROLES:
            self.fail(where, f"role: must be one of {', '.join(ROLES)}, not {role!r}")
        extra = _FIELDS.get(role, ())
        for key in table:
            if key not in ("id", "count", "role", "strength", *extra):
                self.fail(where, f"{key}: unknown field for a card with role {role}")
        if "count" not in table:
            self.fail(where, "count: is missing")
        card = Card(
            kind,
            self.integer(f"{where}: count", table["count"], 0, MAX_CARDS),
            role,
            self.integer(f"{where}: strength", table.get("strength", 0), -MAX_STRENGTH, MAX_STRENGTH),
        )
        if card.strength and role not in FIGHTING_ROLES:
            self.fail(where, f"strength: a card with role {role} has none")
        if role == "head":
            types = self.names(f"{where}: types", table.get("types"), TYPES)
            if not types:
                self.fail(where, "types: a head needs at least one type")
            if not kind.endswith("_head") or kind == "_head":
                self.fail(where, "id: a head is named TYPE_head, as in land_head")
            return replace(card, types=types)
        if role == "torso":
            joints = self.names(f"{where}: joints", table.get("joints"), JOINTS)
            sockets = self.names(f"{where}: sockets", table.get("sockets", []), ("left", "right"))
            if "neck" not in joints:
                self.fail(where, "joints: a torso needs a neck")
            for side in sockets:
                if f"{side}_shoulder" in joints:
                    self.fail(where, f"sockets: {side} has a shoulder already; a tool there goes to the arm's hand")
            return replace(card, joints=joints, sockets=sockets)
        if role == "arm":
            return replace(card, sockets=self.names(f"{where}: sockets", table.get("sockets", ["hand"]), ("hand",)))
        if role == "baby":
            if table.get("type") not in TYPES:
                self.fail(where, f"type: must be one of {', '.join(TYPES)}, not {table.get('type')!r}")
            if "points" not in table:
                self.fail(where, "points: is missing")
            points = self.integer(f"{where}: points", table["points"], 0, MAX_POINTS)
            if kind != f"{table['type']}_baby_{points}":
                self.fail(where, f"id: a Baby is named TYPE_baby_POINTS, here {table['type']}_baby_{points}")
            return replace(card, type=table["type"], points=points)
        return card

    def deck(self, data: Mapping[str, Any], deck_id: str) -> Deck:
        for key in data:
            if key not in ("name", "extends", "counts", "card"):
                self.fail(key, "unknown field; a deck has name, extends, [counts] and [[card]]")
        name = data.get("name")
        if not isinstance(name, str) or not name:
            self.fail("name", "must be a text that is not empty")
        kinds: dict[str, Card] = {}
        if "extends" in data:
            if data["extends"] != "standard":
                self.fail("extends", f"can only be \"standard\", not {data['extends']!r}")
            kinds = {card.id: card for card in load_deck().cards}
        tables = data.get("card", [])
        if not isinstance(tables, list):
            self.fail("card", "cards are written as [[card]] tables")
        seen: set[str] = set()
        for number, table in enumerate(tables, 1):
            card = self.card(number, table)
            if card.id in seen:
                self.fail(f"card {card.id}", "id: stands twice in this file")
            seen.add(card.id)
            kinds[card.id] = card
        counts = data.get("counts", {})
        if not isinstance(counts, dict):
            self.fail("counts", "must be a [counts] table")
        for kind, count in counts.items():
            if kind not in kinds:
                self.fail(f"counts: {kind}", "no such card")
            kinds[kind] = replace(kinds[kind], count=self.integer(f"counts: {kind}", count, 0, MAX_CARDS))
        cards = tuple(card for card in kinds.values() if card.count)
        self.limits(cards)
        return Deck(name, deck_id, cards)

    def limits(self, cards: tuple[Card, ...]) -> None:
        def of(*roles: str) -> list[Card]:
            return [card for card in cards if card.role in roles]

        def total(*roles: str) -> int:
            return sum(card.count for card in of(*roles))

        for role in sorted(SINGLE_ROLES):
            if len(of(role)) > 1:
                taken, extra = of(role)[:2]
                self.fail(f"card {extra.id}", f"role: {role} is taken by {taken.id}; the notation tells no two kinds apart")
        for role, kinds in (("head", MAX_HEAD_KINDS), ("torso", MAX_TORSO_KINDS)):
            if len(of(role)) > kinds:
                self.fail("card", f"role: {len(of(role))} kinds of {role}, at most {kinds} fit")
        for what, number, limit in (
            ("cards", total(*ROLES), MAX_CARDS),
            ("heads", total("head"), MAX_HEADS),
            ("torsos", total("torso"), MAX_TORSOS),
            ("arms, legs and tools", total("arm", "legs", "tool"), MAX_LIMBS),
            ("masks", total("mask"), MAX_MASKS),
            *((f"{t} Babies", sum(c.count for c in of("baby") if c.type == t), MAX_ARMY) for t in TYPES),
        ):
            if number > limit:
                self.fail("count", f"{number} {what}, at most {limit} fit")
        if not total("head"):
            self.fail("card", "a deck needs a head")


def load_deck(path: str | os.PathLike[str] | None = None) -> Deck:
    """Read and validate a deck file; None gives the shipped deck.

    Raises DeckError naming file, card and field, also when the file cannot be read.
    """
    return _shipped_deck() if path is None else _read_deck(path)


@functools.cache
def _shipped_deck() -> Deck:
    return _read_deck(None)


def _read_deck(path: str | os.PathLike[str] | None) -> Deck:
    file = Path(path) if path is not None else _STANDARD
    try:
        content = file.read_bytes()
        data = tomllib.loads(content.decode())
    except OSError as error:
        raise DeckError(f"{file}: cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DeckError(f"{file}: is not TOML: {error}") from None
    shipped = path is None or content == _STANDARD.read_bytes()
    deck_id = "standard" if shipped else "sha256:" + hashlib.sha256(content).hexdigest()
    return _Reader(str(path) if path is not None else "deck.toml").deck(data, deck_id)
