"""The belief of an observer, counted exactly: every assignment of the unseen cards to the hidden places.

Written from section 6 of the rules text and the JSON of an observation. Every copy is a card of its own.
"""

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..reference.pieces import TYPES, Deck

Place = tuple[str, int, int]
"""("hand", seat, 0), ("mask", monster number, 0), ("army", type index, index from the bottom) or PILES."""
Outcome = tuple[tuple[Place, tuple[str, ...]], ...]
"""The kinds in every hidden place but the piles, which hold the rest."""

PILES: Place = ("piles", 0, 0)
LIMBS = ("left_arm", "right_arm", "legs", "left_tool", "right_tool", "hat")
MAX_STATES = 50_000


class ContradictionError(Exception):
    """An observation that cannot be: too few cards of a kind, or too many for the hidden places."""


class TooLargeError(Exception):
    """More assignments than a test can count."""


@dataclass(frozen=True)
class Unseen:
    """One copy that the observer does not see, and where it may lie."""

    kind: str
    places: frozenset[Place]


@dataclass(frozen=True)
class Hidden:
    """What an observer does not see."""

    capacity: dict[Place, int]
    """Cards in every hidden place."""
    cards: list[Unseen]
    revealers: dict[Place, int]
    """A seat that sees what lies there, for every place but the piles."""


def hidden(view: dict[str, Any], deck: Deck) -> Hidden:
    """The hidden places and the unseen cards of an observation (JSON). May raise ContradictionError."""
    capacity: dict[Place, int] = {PILES: sum(view["pile_counts"])}
    revealers: dict[Place, int] = {}
    excluded: dict[Place, set[str]] = {}
    for seat, player in enumerate(view["players"]):
        if seat != view.get("seat"):
            capacity["hand", seat, 0] = player["hand_count"]
            revealers["hand", seat, 0] = seat
    for monster in view["monsters"]:
        head = monster.get("head")
        if head and not head["kind"]:
            place = ("mask", monster["number"], 0)
            capacity[place] = 1
            revealers[place] = head["seen_by"][0]
            excluded[place] = set(head["excluded_types"])
    for number, army in enumerate(view["armies"]):
        for index, baby in enumerate(army["babies"]):
            if not baby["kind"]:
                place = ("army", number, index)
                capacity[place] = 1
                revealers[place] = baby["seen_by"][0]

    def fits(kind: str, place: Place) -> bool:
        card = deck[kind]
        if place[0] == "hand":
            return card.role not in ("baby", "wild_provoke")
        if place[0] == "mask":
            return card.role == "head" and not card.types & excluded[place]
        return place == PILES or (card.role == "baby" and card.type == TYPES[place[1]])

    unseen = deck.full(view["rules"]["practice"])
    unseen.subtract(_seen(view))
    cards = []
    for seat, player in enumerate(view["players"]):
        for fact in player["located"]:
            unseen[fact["kind"]] -= 1
            places = {("hand", seat, 0), *(("mask", number, 0) for number in fact["masks"])}
            places = {place for place in places if fits(fact["kind"], place)}
            cards.append(Unseen(fact["kind"], frozenset(places)))
    if min(unseen.values()) < 0:
        raise ContradictionError(str(unseen))
    for kind in unseen.elements():
        cards.append(Unseen(kind, frozenset(place for place in capacity if fits(kind, place))))
    if len(cards) != sum(capacity.values()):
        raise ContradictionError(f"{len(cards)} cards in {capacity}")
    return Hidden(capacity, cards, revealers)


def _seen(view: dict[str, Any]) -> Iterator[str]:
    yield from view["discard"]
    if view["pending"] != "PENDING_UNSPECIFIED":
        yield "wild_provoke"
    for player in view["players"]:
        yield from player["hand"]
        yield from player["collected"]
    for army in view["armies"]:
        yield from (baby["kind"] for baby in army["babies"] if baby["kind"])
    for monster in view["monsters"]:
        head = monster.get("head")
        if head and head["kind"]:
            yield head["kind"]
        if head and head["masked"]:
            yield "mask"
        if monster["torso"]:
            yield monster["torso"]
        yield from (slot.removeprefix("left_").removeprefix("right_") for slot in LIMBS if monster[slot])


def enumerate_belief(secret: Hidden) -> dict[Outcome, float]:
    """The probability of every outcome.

    Raises TooLargeError when there are too many to count, ContradictionError when there is none.

    Equal cards are placed together, kind after kind; what has been placed so far is merged by kinds, with the
    number of ways as an exact weight. The order of cards within a place has as many ways in all outcomes.
    """
    places = sorted(secret.capacity)
    sizes = [secret.capacity[place] for place in places]
    groups = sorted(Counter(secret.cards).items(), key=lambda group: (len(group[0].places), group[0].kind))
    ways: dict[tuple[tuple[str, ...], ...], int] = {tuple(() for _ in places): 1}
    for number, (card, copies) in enumerate(groups):
        later = groups[number + 1:]
        supply = [sum(count for other, count in later if place in other.places) for place in places]
        following: Counter[tuple[tuple[str, ...], ...]] = Counter()
        for contents, weight in ways.items():
            room = [size - len(kinds) if place in card.places else 0
                    for place, size, kinds in zip(places, sizes, contents, strict=True)]
            # Fewer would leave a place that the cards to come cannot fill.
            least = [max(0, size - len(kinds) - coming)
                     for size, kinds, coming in zip(sizes, contents, supply, strict=True)]
            for split in _splits(copies, least, room):
                added = tuple((*kinds, *(card.kind,) * count)
                              for kinds, count in zip(contents, split, strict=True))
                following[added] += weight * _multinomial(split)
        ways = following
        if len(ways) > MAX_STATES:
            raise TooLargeError
    if not ways:
        raise ContradictionError("no assignment")
    total = sum(ways.values())
    result: dict[Outcome, float] = {}
    for contents, weight in ways.items():
        outcome = tuple((place, tuple(sorted(kinds)))
                        for place, kinds in zip(places, contents, strict=True) if place != PILES)
        result[outcome] = result.get(outcome, 0.0) + weight / total
    return result


def _splits(copies: int, least: list[int], most: list[int]) -> Iterator[tuple[int, ...]]:
    """All ways to part a number of equal cards among places, within bounds for each."""
    if len(most) == 1:
        if least[0] <= copies <= most[0]:
            yield (copies,)
        return
    for count in range(least[0], min(copies, most[0]) + 1):
        for others in _splits(copies - count, least[1:], most[1:]):
            yield (count, *others)


def _multinomial(split: tuple[int, ...]) -> int:
    ways = math.factorial(sum(split))
    for count in split:
        ways //= math.factorial(count)
    return ways
