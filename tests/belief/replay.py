"""The public history of a game once more, from a deal that a determinization could come from."""

import copy
import math
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import bvb_core
from bvb_core.bears.ops import Action

from ..reference.model import Model
from ..reference.pieces import TYPES, Baby, Deck, Head, head_name
from .draws import read_piles

Observer = int | None
Slot = tuple[str, int | str, int]
"""A place in the deal: ("hands", seat, index), ("piles", index, depth) or ("armies", type, index)."""


@dataclass(frozen=True)
class Arrival:
    """A card that came to a hand, after so many actions."""

    actions: int
    slot: Slot | None
    """Where it was dealt; None for a card taken from the discard pile."""
    kind: str
    """What everyone knows it to be; "" when only its player does."""


@dataclass(frozen=True)
class Departure:
    """A card that left a hand, after so many actions, or stayed there."""

    actions: float
    kind: str
    mask: int | None = None
    """Number of the action that played it under a mask."""


class History:
    """A game in progress, and where all cards came from."""

    def __init__(self, state: bvb_core.State, deck: Deck, engine_deck: bvb_core.Deck) -> None:
        record = state.to_record()
        self.state = state
        self.engine_deck = engine_deck
        self.model = Model(record["rules"], record["deal"], deck)
        self.deal = record["deal"]
        self.ids: list[int] = []
        self.events: list[dict[Observer, list[str]]] = []
        self._arrivals: list[list[Arrival]] = [[] for _ in self.model.seats]
        self._departures: list[list[tuple[int, str]]] = [[] for _ in self.model.seats]
        self._masked: list[tuple[int, int, Head]] = []  # action, seat, head
        self._babies: list[tuple[Slot, Baby]] = []
        self._drawn = [0, 0, 0]
        for seat, hand in enumerate(self.deal["hands"]):
            bear = None if record["rules"]["practice"] else hand.index("bear_head")
            self._arrivals[seat] = [Arrival(0, ("hands", seat, i), kind if i == bear else "")
                                    for i, kind in enumerate(hand)]
        for army in TYPES:
            self._babies += [(("armies", army, i), baby) for i, baby in enumerate(self.model.armies[army])]

    def apply(self, action: Action) -> None:
        seat = self.state.current_player
        self.state.apply(action)
        armies = {army: list(babies) for army, babies in self.model.armies.items()}
        self.model.apply(str(action))
        self.ids.append(action.id)
        self.events.append({observer: self.state.events(observer) for observer in self.model.observers})
        self._follow(seat, action.fields(), armies)

    def _follow(self, seat: int, fields: dict[str, Any], armies: dict[str, list[Baby]]) -> None:
        number = len(self.ids)
        verb = fields["verb"]
        card = fields.get("card", "")
        role = self.model.deck[card].role if card else ""
        if verb == "draw":
            pile = fields["pile"] - 1
            slot: Slot = ("piles", pile, self._drawn[pile])
            self._drawn[pile] += 1
            kind = self.events[-1][seat][0].split(" = ")[1]
            role = self.model.deck[kind].role
            if role == "baby":
                self._babies.append((slot, self.model.armies[self.model.deck[kind].type][-1]))
            elif role != "wild_provoke":
                self._arrivals[seat].append(Arrival(number, slot, ""))
        elif verb == "dive":
            if role not in ("baby", "wild_provoke"):
                self._arrivals[seat].append(Arrival(number, None, card))
        elif verb == "mask":
            monster = self.model.monsters.get(fields.get("monster", self.model.next_monster - 1))
            # Armageddon may follow at once and discard it.
            head = monster.head if monster else Head(card, masked=True, public=True)
            assert head is not None
            self._departures[seat].append((number, "mask"))
            self._masked.append((number, seat, head))
        elif verb not in ("pass", "provoke", "wild"):
            self._departures[seat].append((number, card or verb))

    def explain(self, observer: Observer, guess: bvb_core.State) -> tuple[dict[str, Any], dict[int, str]]:
        """A deal, and the heads played under masks by number of the action, that lead to a determinization.

        Raises ForgottenError when only what section 6 does not remember is against it, AssertionError when
        there is no such deal otherwise.
        """
        deal = copy.deepcopy(self.deal)
        views = [guess.observation(seat).to_dict() for seat in self.model.seats]
        masks: dict[int, str] = {}
        for seat in self.model.seats:
            heads = {number: self._head(head, observer, views) for number, owner, head in self._masked
                     if owner == seat}
            if seat == observer:
                masks.update(heads)
                continue
            departures = [Departure(number, kind) for number, kind in self._departures[seat]]
            departures += [Departure(number, kind, number) for number, kind in heads.items()]
            departures += [Departure(math.inf, kind) for kind in views[seat]["players"][seat]["hand"]]
            for arrival, departure in explain_hand(self._arrivals[seat], departures):
                if arrival.slot:
                    _put(deal, arrival.slot, departure.kind)
                if departure.mask:
                    masks[departure.mask] = departure.kind
        for slot, baby in self._babies:
            _put(deal, slot, self._baby(baby, observer, views))
        self._refill(deal, read_piles(guess))
        return deal, masks

    def _head(self, head: Head, observer: Observer, views: list[dict[str, Any]]) -> str:
        for number, monster in self.model.monsters.items():
            if monster.head is head and not head.known_to(observer):
                (kind,) = (shown["head"]["kind"] for shown in views[min(head.seen_by)]["monsters"]
                           if shown["number"] == number)
                return str(kind)
        return head.kind

    def _baby(self, baby: Baby, observer: Observer, views: list[dict[str, Any]]) -> str:
        for number, army in enumerate(TYPES):
            for i, other in enumerate(self.model.armies[army]):
                if other is baby and not baby.public and observer not in baby.seen_by:
                    return str(views[min(baby.seen_by)]["armies"][number]["babies"][i]["kind"])
        return baby.kind

    def _refill(self, deal: dict[str, Any], piles: list[list[str]]) -> None:
        """What is left of the piles: as read, and where the game ends too early to be read, anything."""
        left = self.model.deck.full(self.model.rules["practice"])
        for pile, drawn, order in zip(deal["piles"], self._drawn, piles, strict=True):
            pile[drawn:drawn + len(order)] = order
        for pile, drawn, order in zip(deal["piles"], self._drawn, piles, strict=True):
            left.subtract(pile[:drawn + len(order)])
        for hand in deal["hands"]:
            left.subtract(hand)
        for army in deal["armies"].values():
            left.subtract(Counter(baby["kind"] for baby in army))
        assert min(left.values()) >= 0, left
        rest = iter(list(left.elements()))
        for pile, drawn, order in zip(deal["piles"], self._drawn, piles, strict=True):
            start = drawn + len(order)
            pile[start:] = [next(rest) for _ in pile[start:]]

    def replay(self, observer: Observer, guess: bvb_core.State) -> bvb_core.State:
        """The history with the hidden cards of a determinization.

        Raises AssertionError where it is not legal or shows the observer something else, ForgottenError as
        `explain` does.
        """
        deal, masks = self.explain(observer, guess)
        record = {"format": "bvb-record/1", "rules": self.model.rules, "deal": deal, "actions": []}
        state = bvb_core.State.from_record(record, after=0, deck=self.engine_deck)
        for number, (action_id, shown) in enumerate(zip(self.ids, self.events, strict=True), start=1):
            action: int | str = action_id
            if number in masks:
                _, _, *where = self.model.actions[number - 1].split()
                action = " ".join(["mask", head_name(masks[number]), *where])
            try:
                state.apply(action)
            except bvb_core.IllegalActionError as error:
                raise AssertionError(f"action {number}, {self.model.actions[number - 1]}: {error}") from None
            assert state.events(observer) == shown[observer], f"events of action {number}"
        return state


class ForgottenError(Exception):
    """A determinization that could not be only because of when cards of unknown kinds came and left.

    Section 6 has observers remember located cards, not how many cards lay beside them: who masks the last
    card of a hand and draws a new one may be taken to hold the located card still.
    """


def explain_hand(arrivals: list[Arrival], departures: list[Departure]) -> list[tuple[Arrival, Departure]]:
    """Which card left when: a card leaves after it came, and is what everyone knows it to be."""
    pairs = match(arrivals, departures)
    if pairs is None:
        known = [arrival if arrival.kind else replace(arrival, actions=0) for arrival in arrivals]
        assert match(known, departures), f"{departures} cannot come from {arrivals}"
        raise ForgottenError
    return pairs


def match(arrivals: list[Arrival], departures: list[Departure]) -> list[tuple[Arrival, Departure]] | None:
    """One way to pair all of them; None if there is none."""
    assert len(arrivals) == len(departures)
    taken: dict[int, int] = {}  # departure -> arrival

    def assign(one: int, tried: set[int]) -> bool:
        for other, departure in enumerate(departures):
            arrival = arrivals[one]
            if (other not in tried and departure.actions > arrival.actions
                    and arrival.kind in ("", departure.kind)):
                tried.add(other)
                if other not in taken or assign(taken[other], tried):
                    taken[other] = one
                    return True
        return False

    if not all(assign(one, set()) for one in range(len(arrivals))):
        return None
    return [(arrivals[one], departures[other]) for other, one in taken.items()]


def _put(deal: dict[str, Any], slot: Slot, kind: str) -> None:
    what, where, index = slot
    if what == "armies":
        deal[what][where][index]["kind"] = kind
    else:
        deal[what][where][index] = kind
