"""The rules of Bears vs Babies as slow, plain Python: the oracle that the engine is compared with.

It shares nothing with the engine but the deck file. Section numbers refer to the project's rules text.
"""

import copy
from collections import Counter
from collections.abc import Iterator
from typing import Any

from .pieces import SIDES, SLOTS, TYPES, Baby, Deck, Head, Located, Monster, Observer, Seat, head_name
from .pieces import deal as deal
from .pieces import load_deck as load_deck

PRACTICE_ROUNDS = 3
BASE_ACTIONS = {2: 4, 3: 3, 4: 2, 5: 2}
PRACTICE_ACTIONS = 2
DEFAULT_TURN_LIMIT = 500


class Model:
    """A game in progress: `rules` and `deal` as in a game record."""

    def __init__(self, rules: dict[str, Any], deal: dict[str, Any], deck: Deck) -> None:
        self.rules = {
            "armageddon": False,
            "practice": False,
            "turn_limit": DEFAULT_TURN_LIMIT,
            "deck": deck.id,
            **rules,
        }
        self.deal = copy.deepcopy(deal)
        self.deck = deck
        self.players: int = rules["players"]
        self.seats = range(self.players)
        self.observers: list[Observer] = [None, *self.seats]

        self.hands = [Counter(hand) for hand in deal["hands"]]
        self.piles = [list(pile) for pile in deal["piles"]]
        self.armies = {
            army: [Baby(baby["kind"], {baby["seat"]}) for baby in deal["armies"][army]] for army in TYPES
        }
        self.monsters: dict[int, Monster] = {}
        self.next_monster = 1
        self.discard: Counter[str] = Counter()
        self.collected: list[list[str]] = [[] for _ in self.seats]

        self.turn_number = 1
        self.current_player: Seat | None = self.rules["first_player"]
        self.actions_used = 0
        self.pending: str | None = None  # "drawn" or "dived": a Wild Provoke waits for its army
        self.pending_card: str | None = None
        self.final_turns_left: int | None = None
        self.reason: str | None = None

        self.located: dict[Observer, list[Located]] = {observer: [] for observer in self.observers}
        if not self.rules["practice"]:
            for seat in self.seats:
                self._locate("bear_head", seat)

        self.actions: list[str] = []
        self.legal_lists: list[list[str]] = []
        self._shown: dict[Observer, list[str]] = {observer: [] for observer in self.observers}

    # ------------------------------------------------------------ what is legal (sections 3 and 4)

    @property
    def is_over(self) -> bool:
        return self.reason is not None

    @property
    def piles_empty(self) -> bool:
        return not any(self.piles)

    def allowance(self) -> int:
        """Actions of the current player in this turn: base and tools on own living monsters."""
        base = PRACTICE_ACTIONS if self.rules["practice"] else BASE_ACTIONS[self.players]
        return base + sum(monster.tools for monster in self._own() if monster.alive)

    def legal(self) -> list[str]:
        """All legal actions in notation, sorted as strings; empty when the game is over."""
        if self.is_over:
            return []
        if self.pending:
            return sorted(f"wild {army}" for army in self._provokable())
        actions = [*self._legal_draws(), *self._legal_plays()]
        if self.actions_used == 0:
            actions += [f"provoke {army}" for army in self._provokable()]
            actions += [f"dive {kind}" for kind in +self.discard]
        if self.piles_empty:
            actions.append("pass")
        return sorted(actions)

    def _legal_draws(self) -> Iterator[str]:
        for number, pile in enumerate(self.piles, start=1):
            if pile:
                yield f"draw {number}"

    def _provokable(self) -> list[str]:
        return [army for army in TYPES if self.armies[army] and self._may_meet_a_monster(army)]

    def _may_meet_a_monster(self, army: str) -> bool:
        for head in self._heads():
            if head.known_to(self.current_player):
                if self._fights(head, army):
                    return True
            elif army not in head.excluded:
                return True
        return False

    def _legal_plays(self) -> Iterator[str]:
        for kind in +self._hand():
            role = self.deck[kind].role
            yield from getattr(self, f"_legal_{role}")(kind)

    def _legal_head(self, kind: str) -> Iterator[str]:
        for place in self._places_for_head():
            yield f"head {head_name(kind)}{place}"
            if any(self._hand()[mask] for mask in self.deck.of_role("mask")):
                yield f"mask {head_name(kind)}{place}"

    def _places_for_head(self) -> Iterator[str]:
        yield ""
        for monster in self._own():
            if not monster.alive and monster.torso:
                yield f" {monster.name}"

    def _legal_mask(self, kind: str) -> Iterator[str]:
        return iter(())  # only together with a head

    def _legal_torso(self, kind: str) -> Iterator[str]:
        for monster in self._own_living():
            if not monster.torso and "neck" in self.deck[kind].joints:
                yield f"torso {kind} {monster.name}"

    def _legal_arm(self, kind: str) -> Iterator[str]:
        for monster in self._own_living():
            for side in SIDES:
                if self._has_joint(monster, f"{side}_shoulder") and not monster.has(f"{side}_arm"):
                    yield f"arm {monster.name} {side}"

    def _legal_legs(self, kind: str) -> Iterator[str]:
        for monster in self._own_living():
            if self._has_joint(monster, "waist") and not monster.legs:
                yield f"legs {monster.name}"

    def _legal_tool(self, kind: str) -> Iterator[str]:
        for monster in self._own_living():
            for side in SIDES:
                if self._has_socket(monster, side) and not monster.has(f"{side}_tool"):
                    yield f"tool {monster.name} {side}"

    def _legal_hat(self, kind: str) -> Iterator[str]:
        for monster in self._own_living():
            if not monster.hat:
                yield f"hat {monster.name}"

    def _legal_swap(self, kind: str) -> Iterator[str]:
        living = [monster for monster in self._table() if monster.alive]
        for one in living:
            for other in living:
                if one.number < other.number:
                    yield f"swap {one.name} {other.name}"

    def _legal_dismember(self, kind: str) -> Iterator[str]:
        for monster in self._table():
            for slot in monster.slots:
                if monster.is_edge(slot):
                    yield f"dismember {monster.name} {slot}"

    def _legal_lullaby(self, kind: str) -> Iterator[str]:
        for army in TYPES:
            if self.armies[army]:
                yield f"lullaby {army}"

    # ------------------------------------------------------------ playing

    def apply(self, text: str) -> None:
        """Play an action. Raises ValueError, and changes nothing, when it is not legal."""
        legal = self.legal()
        if text not in legal:
            raise ValueError(f"illegal action: {text}")
        self.actions.append(text)
        self.legal_lists.append(legal)
        self._shown = {observer: [] for observer in self.observers}
        verb, *words = text.split()
        getattr(self, f"_do_{verb}")(*words)

    def _do_draw(self, number: str) -> None:
        seat = self._seat()
        kind = self.piles[int(number) - 1].pop(0)
        card = self.deck[kind]
        line = f"draw {number} = "
        if self.piles_empty:
            self.final_turns_left = self.players
        self.actions_used += 1
        if card.role == "baby":
            self.armies[card.type].append(Baby(kind, {seat}))
            self._show(line + kind, {seat}, line + f"{card.type}_baby")
        elif card.role == "wild_provoke":
            self._show(line + kind)
            self._begin_wild_provoke(kind, "drawn")
        else:
            self.hands[seat][kind] += 1
            self._show(line + kind, {seat}, line + "?")
        self._end_turn_if_used_up()

    def _do_pass(self) -> None:
        self._show("pass")
        self._end_turn()

    def _do_provoke(self, army: str) -> None:
        self._show(f"provoke {army}")
        self._provoke(army)
        self._end_turn()

    def _do_dive(self, kind: str) -> None:
        card = self.deck[kind]
        self._show(f"dive {kind}")
        self.discard[kind] -= 1
        if card.role == "baby":
            self.armies[card.type].append(Baby(kind, set(), public=True))
        elif card.role == "wild_provoke":
            self._begin_wild_provoke(kind, "dived")
            if self.pending:
                return
        else:
            self.hands[self._seat()][kind] += 1
            self._locate(kind, self._seat())
        self._end_turn()

    def _do_wild(self, army: str) -> None:
        self._show(f"wild {army}")
        dived = self.pending == "dived"
        assert self.pending_card is not None
        self._provoke(army)
        self.discard[self.pending_card] += 1
        self.pending = self.pending_card = None
        if dived:
            self._end_turn()
        else:
            self._end_turn_if_used_up()

    def _do_head(self, name: str, where: str | None = None) -> None:
        kind = self._head_kind(name)
        self._show(self.actions[-1])
        self._play_face_up(kind)
        self._place_head(Head(kind), where)
        self._end_turn_if_used_up()

    def _do_mask(self, name: str, where: str | None = None) -> None:
        seat = self._seat()
        kind = self._head_kind(name)
        self._show(self.actions[-1], {seat}, "mask ?" + (f" {where}" if where else ""))
        self._play_face_up(next(mask for mask in self.deck.of_role("mask") if self._hand()[mask]))
        self._hand()[kind] -= 1
        head = Head(kind, masked=True, seen_by={seat})
        self._place_head(head, where)
        for located in self._all_located(seat):
            if self.deck[located.kind].role == "head":
                located.masks.append(head)
        self._end_turn_if_used_up()

    def _do_torso(self, kind: str, where: str) -> None:
        self._monster(where).torso = kind
        self._show(self.actions[-1])
        self._play_face_up(kind)
        self._end_turn_if_used_up()

    def _do_arm(self, where: str, side: str) -> None:
        self._attach("arm", where, f"{side}_arm")

    def _do_legs(self, where: str) -> None:
        self._attach("legs", where, "legs")

    def _do_tool(self, where: str, side: str) -> None:
        self._attach("tool", where, f"{side}_tool")

    def _do_hat(self, where: str) -> None:
        self._attach("hat", where, "hat")

    def _attach(self, role: str, where: str, slot: str) -> None:
        setattr(self._monster(where), slot, True)
        self._show(self.actions[-1])
        self._play_face_up(self._only(role))
        self._end_turn_if_used_up()

    def _do_swap(self, where: str, other_where: str) -> None:
        one, other = self._monster(where), self._monster(other_where)
        self._show(self.actions[-1])
        self._play_and_discard("swap")
        one.head, other.head = other.head, one.head
        for monster in (one, other):
            head = self._head(monster)
            if not head.known_to(monster.owner):
                head.seen_by.add(monster.owner)
                self._show_head(monster, {monster.owner})
        self._end_turn_if_used_up()

    def _do_dismember(self, where: str, slot: str) -> None:
        monster = self._monster(where)
        self._show(self.actions[-1])
        self._play_and_discard("dismember")
        if slot == "head":
            self._turn_over(monster)
        self.discard.update(self._cards_in(monster, slot))
        setattr(monster, slot, None if slot in ("head", "torso") else False)
        if not monster.slots:
            del self.monsters[monster.number]
        self._end_turn_if_used_up()

    def _do_lullaby(self, army: str) -> None:
        self._show(self.actions[-1])
        self._play_and_discard("lullaby")
        staying = len(self.armies[army]) // 2
        asleep = [baby.kind for baby in self.armies[army][staying:]]
        del self.armies[army][staying:]
        self.discard.update(asleep)
        self._show(" ".join(["army", army, *asleep]))
        self._end_turn_if_used_up()

    def _play_face_up(self, kind: str) -> None:
        """One action: a card that all see leaves the hand; one located copy of it is settled."""
        self.actions_used += 1
        self._hand()[kind] -= 1
        for observer in self.observers:
            self._settle(
                observer,
                [
                    located
                    for located in self.located[observer]
                    if located.holder == self.current_player and located.kind == kind
                ],
            )

    def _play_and_discard(self, role: str) -> None:
        kind = self._only(role)
        self._play_face_up(kind)
        self.discard[kind] += 1

    def _place_head(self, head: Head, where: str | None) -> None:
        if where:
            self._monster(where).head = head
        else:
            self.monsters[self.next_monster] = Monster(self.next_monster, self._seat(), head)
            self.next_monster += 1

    # ------------------------------------------------------------ turns

    def _end_turn_if_used_up(self) -> None:
        if not self.pending and self.actions_used >= self.allowance():
            self._end_turn()

    def _end_turn(self) -> None:
        seat = self._seat()
        self.actions_used = 0
        if self.final_turns_left == 0:
            if self.rules["armageddon"]:
                self._armageddon()
            self._finish("finished")
        elif self.rules["practice"] and self.turn_number >= PRACTICE_ROUNDS * self.players:
            self._finish("practice")
        elif self.turn_number >= self.rules["turn_limit"]:
            self._finish("turn_limit")
        else:
            if self.final_turns_left is not None:
                self.final_turns_left -= 1
            self.turn_number += 1
            self.current_player = (seat + 1) % self.players

    def _finish(self, reason: str) -> None:
        self.reason = reason
        self.current_player = None

    # ------------------------------------------------------------ battles (section 5)

    def _begin_wild_provoke(self, kind: str, how: str) -> None:
        if self._provokable():
            self.pending, self.pending_card = how, kind
            return
        self.discard[kind] += 1
        holding = {army for army in TYPES if self.armies[army]}
        if holding:
            for head in self._heads():
                if head.masked and head.known_to(self.current_player):
                    self._exclude(head, holding)

    def _provoke(self, army: str) -> None:
        fighters = [monster for monster in self._table() if monster.head and self._fights(monster.head, army)]
        for head in self._heads():
            if head.masked and not self._fights(head, army):
                self._exclude(head, {army})
        if fighters:
            self._battle([army], fighters)

    def _armageddon(self) -> None:
        armies = [army for army in TYPES if self.armies[army]]
        fighters = [monster for monster in self._table() if monster.alive]
        if armies and fighters:
            self._battle(armies, fighters)

    def _battle(self, armies: list[str], fighters: list[Monster]) -> None:
        for monster in fighters:
            self._turn_over(monster)
        babies = [baby for army in armies for baby in self.armies[army]]
        for army in armies:
            self._show(" ".join(["army", army, *(baby.kind for baby in self.armies[army])]))
        strengths = Counter[Seat]()
        for monster in fighters:
            strengths[monster.owner] += self.strength(monster)
        points = sum(self.deck[baby.kind].points for baby in babies)
        winning = {seat: strength for seat, strength in strengths.items() if strength >= points}
        best = [seat for seat, strength in winning.items() if strength == max(winning.values())]
        if len(best) > 1:
            for baby in babies:
                baby.public = True
            fighters = [monster for monster in fighters if monster.owner not in best]
        else:
            kinds = [baby.kind for baby in babies]
            if best:
                self.collected[best[0]] += kinds
            else:
                self.discard.update(kinds)
            for army in armies:
                self.armies[army].clear()
        for monster in fighters:
            self.discard.update(self._cards_of(monster))
            del self.monsters[monster.number]

    def strength(self, monster: Monster) -> int:
        total = sum(self.deck[kind].strength for kind in self._cards_of(monster))
        return 2 * total if monster.hat else total

    # ------------------------------------------------------------ results

    def scores(self) -> list[int]:
        return [sum(self.deck[kind].points for kind in kinds) for kinds in self.collected]

    def babies(self) -> list[int]:
        return [len(kinds) for kinds in self.collected]

    def winners(self) -> list[Seat]:
        """Seats that share the victory, as the game stands."""
        ranks = list(zip(self.scores(), self.babies(), strict=True))
        return [seat for seat in self.seats if ranks[seat] == max(ranks)]

    def returns(self) -> list[float]:
        winners = self.winners()
        return [1 / len(winners) if seat in winners else 0.0 for seat in self.seats]

    def result(self) -> dict[str, Any] | None:
        if not self.is_over:
            return None
        return {
            "scores": self.scores(),
            "babies": self.babies(),
            "winners": self.winners(),
            "reason": self.reason,
        }

    # ------------------------------------------------------------ knowledge (section 6)

    def _locate(self, kind: str, holder: Seat) -> None:
        """All others now know this copy to be in the holder's hand."""
        for observer in self.observers:
            if observer != holder:
                self.located[observer].append(Located(kind, holder))

    def _all_located(self, holder: Seat) -> list[Located]:
        return [located for facts in self.located.values() for located in facts if located.holder == holder]

    def _settle(self, observer: Observer, candidates: list[Located]) -> None:
        """The candidate with the fewest places is no longer located."""
        if candidates:
            self.located[observer].remove(min(candidates, key=lambda located: len(located.masks)))

    def _exclude(self, head: Head, types: set[str]) -> None:
        """It has become public that the head fights in none of these types."""
        head.excluded |= types
        for facts in self.located.values():
            for located in facts:
                if head in located.masks and self.deck[located.kind].types & head.excluded:
                    located.masks.remove(head)

    def _turn_over(self, monster: Monster) -> None:
        """Everyone sees the head of the monster."""
        head = self._head(monster)
        if head.masked and not head.public:
            head.public = True
            self._show_head(monster, set(self.observers))

    def _show_head(self, monster: Monster, viewers: set[Observer]) -> None:
        head = self._head(monster)
        self._show(f"reveal {monster.name} {head_name(head.kind)}", viewers)
        for observer in viewers:
            including = [located for located in self.located[observer] if head in located.masks]
            self._settle(observer, [located for located in including if located.kind == head.kind])
            for located in including:
                located.masks.remove(head)

    # ------------------------------------------------------------ views (sections 6 to 8)

    def _show(
        self, line: str, viewers: set[Observer] | set[Seat] | None = None, otherwise: str | None = None
    ) -> None:
        for observer in self.observers:
            if viewers is None or observer in viewers:
                self._shown[observer].append(line)
            elif otherwise is not None:
                self._shown[observer].append(otherwise)

    def events(self, observer: Observer) -> list[str]:
        """The lines that the last action showed to this observer."""
        return list(self._shown[observer])

    def observation(self, observer: Observer) -> dict[str, Any]:
        """What this observer knows, as the canonical JSON of bvb.v1.Observation."""
        view: dict[str, Any] = {
            "rules": {
                key: self.rules[key]
                for key in ("players", "first_player", "armageddon", "practice", "turn_limit", "deck")
            },
            "turn_number": self.turn_number,
            "actions_used": self.actions_used,
            "pending": "PENDING_WILD_PROVOKE_" + self.pending.upper()
            if self.pending
            else "PENDING_UNSPECIFIED",
            "pile_counts": [len(pile) for pile in self.piles],
            "armies": [
                {"type": army, "babies": [self._view_baby(baby, observer) for baby in self.armies[army]]}
                for army in TYPES
            ],
            "players": [self._view_player(seat, observer) for seat in self.seats],
            "monsters": [self._view_monster(monster, observer) for monster in self._table()],
            "next_monster": self.next_monster,
            "discard": self.deck.ordered(self.discard.elements()),
        }
        optional = {
            "seat": observer,
            "current_player": self.current_player,
            "final_turns_left": self.final_turns_left,
            "result": self.result(),
        }
        view.update({key: value for key, value in optional.items() if value is not None})
        return view

    def _view_baby(self, baby: Baby, observer: Observer) -> dict[str, Any]:
        known = baby.public or observer in baby.seen_by
        return {
            "kind": baby.kind if known else "",
            "seen_by": [] if baby.public else sorted(baby.seen_by),
            "public": baby.public,
        }

    def _view_player(self, seat: Seat, observer: Observer) -> dict[str, Any]:
        hand = list(self.hands[seat].elements())
        located = [
            {"kind": fact.kind, "masks": self._numbers(fact.masks)}
            for fact in self.located[observer]
            if fact.holder == seat
        ]
        return {
            "hand_count": len(hand),
            "hand": self.deck.ordered(hand) if seat == observer else [],
            "located": sorted(located, key=lambda fact: (self.deck.order(fact["kind"]), fact["masks"])),
            "collected": self.deck.ordered(self.collected[seat]),
        }

    def _view_monster(self, monster: Monster, observer: Observer) -> dict[str, Any]:
        view: dict[str, Any] = {
            "number": monster.number,
            "owner": monster.owner,
            "torso": monster.torso or "",
        }
        view.update({slot: monster.has(slot) for slot in SLOTS if slot not in ("head", "torso")})
        if monster.head:
            view["head"] = self._view_head(monster.head, observer)
        return view

    def _view_head(self, head: Head, observer: Observer) -> dict[str, Any]:
        return {
            "kind": head.kind if head.known_to(observer) else "",
            "masked": head.masked,
            "seen_by": [] if head.public else sorted(head.seen_by),
            "public": head.public,
            "excluded_types": [army for army in TYPES if army in head.excluded and not head.public],
        }

    def _numbers(self, masks: list[Head]) -> list[int]:
        return [monster.number for monster in self._table() if monster.head in masks]

    def record(self, legal: bool = False) -> dict[str, Any]:
        """The game so far in the record format, with the lists of legal actions if asked for."""
        record: dict[str, Any] = {
            "format": "bvb-record/1",
            "rules": dict(self.rules),
            "deal": copy.deepcopy(self.deal),
            "actions": list(self.actions),
            "result": self.result(),
        }
        if legal:
            record["legal"] = [list(actions) for actions in self.legal_lists]
        return record

    def cards(self) -> Counter[str]:
        """Every card, wherever it is."""
        cards = Counter(self.discard)
        for hand in self.hands:
            cards.update(hand)
        for pile in self.piles + self.collected:
            cards.update(pile)
        for army in self.armies.values():
            cards.update(baby.kind for baby in army)
        for monster in self._table():
            cards.update(self._cards_of(monster))
        if self.pending_card:
            cards[self.pending_card] += 1
        return +cards

    # ------------------------------------------------------------ look-ups

    def _seat(self) -> Seat:
        assert self.current_player is not None
        return self.current_player

    def _hand(self) -> Counter[str]:
        return self.hands[self._seat()]

    def _table(self) -> list[Monster]:
        return list(self.monsters.values())

    def _own(self) -> list[Monster]:
        return [monster for monster in self._table() if monster.owner == self.current_player]

    def _own_living(self) -> list[Monster]:
        return [monster for monster in self._own() if monster.alive]

    def _heads(self) -> list[Head]:
        return [monster.head for monster in self._table() if monster.head]

    def _head(self, monster: Monster) -> Head:
        assert monster.head is not None
        return monster.head

    def _monster(self, name: str) -> Monster:
        return self.monsters[int(name.removeprefix("m"))]

    def _only(self, role: str) -> str:
        (kind,) = self.deck.of_role(role)
        return kind

    def _head_kind(self, name: str) -> str:
        return next(kind for kind in self.deck.of_role("head") if head_name(kind) == name)

    def _fights(self, head: Head, army: str) -> bool:
        return army in self.deck[head.kind].types

    def _has_joint(self, monster: Monster, joint: str) -> bool:
        return monster.torso is not None and joint in self.deck[monster.torso].joints

    def _has_socket(self, monster: Monster, side: str) -> bool:
        on_torso = monster.torso is not None and side in self.deck[monster.torso].sockets
        in_hand = monster.has(f"{side}_arm") and "hand" in self.deck[self._only("arm")].sockets
        return on_torso or in_hand

    def _cards_in(self, monster: Monster, slot: str) -> list[str]:
        if slot == "head":
            head = self._head(monster)
            return [head.kind, self._only("mask")] if head.masked else [head.kind]
        if slot == "torso":
            assert monster.torso is not None
            return [monster.torso]
        return [self._only(slot.removeprefix("left_").removeprefix("right_"))]

    def _cards_of(self, monster: Monster) -> list[str]:
        return [kind for slot in monster.slots for kind in self._cards_in(monster, slot)]
