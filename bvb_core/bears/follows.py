"""Whether one observation of a seat can come after another one of the same game, and by which events."""

from __future__ import annotations

import heapq
import time
from collections import Counter
from itertools import count
from typing import TYPE_CHECKING, Any

from bvb_core.bears.deck import SINGLE_ROLES, Deck

if TYPE_CHECKING:
    from bvb_core.bears.ops import Observation

# Of a turn, apart from those that tools add.
MOST_ACTIONS = 4
PARTS = {"left_arm": "arm", "right_arm": "arm", "legs": "legs", "left_tool": "tool", "right_tool": "tool", "hat": "hat"}


class Facts:
    """What of an observation tells which others can come before and after it."""

    def __init__(self, view: dict[str, Any], deck: Deck) -> None:
        pending = view["pending"]
        self.game = (view.get("seat"), view["rules"])
        self.turn: int = view["turn_number"]
        self.used: int = view["actions_used"]
        # A drawn Wild Provoke is counted before it is resolved, a dived one never.
        stage = 2 * self.used + {"PENDING_WILD_PROVOKE_DRAWN": -1, "PENDING_WILD_PROVOKE_DIVED": 1}.get(pending, 0)
        over = "result" in view
        # Increases with every action.
        self.moment = (self.turn, over, 0 if over else stage)
        self.piles: list[int] = view["pile_counts"]
        self.collected = [Counter(player["collected"]) for player in view["players"]]
        self.next_monster: int = view["next_monster"]
        self.monsters = {monster["number"]: monster for monster in view["monsters"]}
        self.seen = _cards_seen(view, {card.role: card.id for card in deck.cards if card.role in SINGLE_ROLES})
        self.located = Counter(card["kind"] for player in view["players"] for card in player["located"])
        self.most_actions = MOST_ACTIONS + sum(card.count for card in deck.cards if card.role == "tool")

    def may_follow(self, earlier: Facts, complete: bool = False) -> bool:
        """Conditions that every later observation meets. `complete`: both hold all located cards, which may be left out."""
        if self.game != earlier.game or self.moment <= earlier.moment:
            return False
        turns = self.turn - earlier.turn
        drawn = [before - now for before, now in zip(earlier.piles, self.piles, strict=True)]
        if min(drawn) < 0 or sum(drawn) > (turns + 1) * self.most_actions - earlier.used:
            return False
        if any(before - now for before, now in zip(earlier.collected, self.collected, strict=True)):
            return False
        if self.next_monster < earlier.next_monster:
            return False
        for number, monster in self.monsters.items():
            before = earlier.monsters.get(number)
            if not (_may_become(before, monster) if before else number >= earlier.next_monster):
                return False
        # What has been seen stays known, but for cards that are dived and not located; a dive takes a whole turn.
        known = self.seen + self.located
        if complete:
            return not earlier.seen + earlier.located - known
        return (earlier.seen - known).total() <= turns + (earlier.used == 0)


def may_follow(later: Observation, earlier: Observation) -> bool:
    """See Observation.may_follow."""
    return _facts(later).may_follow(_facts(earlier))


def line_between(earlier: Observation, later: Observation, seconds: float) -> list[int] | None:
    """Event keys (State.event_key) of actions that lead from one observation to another one of the same seat.

    Found by trying moves in determinizations, the views that are furthest on first, for at most about `seconds`. None when
    nothing was found: there may be a line all the same.
    """
    end = time.perf_counter() + seconds
    goal = _facts(later)
    if not goal.may_follow(_facts(earlier)):
        return None
    order = count()
    known = {bytes(earlier)}
    views: list[tuple[int, int, Observation, list[int]]] = [(0, next(order), earlier, [])]
    while views and time.perf_counter() < end:
        effort, _, view, keys = heapq.heappop(views)
        state = view.determinize(next(order))
        heapq.heappush(views, (effort + 1, next(order), view, keys))
        for action in state.search_action_ids():
            after = state.clone()
            after.apply(action)
            seen = after.observation(earlier.seat)
            line = [*keys, after.event_key(earlier.seat)]
            if seen == later:
                return line
            if bytes(seen) not in known:
                known.add(bytes(seen))
                if not seen.is_terminal and goal.may_follow(_facts(seen), complete=True):
                    heapq.heappush(views, (effort - 3, next(order), seen, line))
    return None


def _facts(observation: Observation) -> Facts:
    return Facts(observation.to_dict(), observation.game.deck)


def _may_become(before: dict[str, Any], now: dict[str, Any]) -> bool:
    """Whether a monster can have changed like this: what has lost head and torso only loses more."""
    if before["owner"] != now["owner"]:
        return False
    if "head" in before or before["torso"]:
        return True
    return "head" not in now and not now["torso"] and all(before[part] for part in PARTS if now[part])


def _cards_seen(view: dict[str, Any], kinds: dict[str, str]) -> Counter[str]:
    """The cards in sight of the observer, by kind; `kinds` are those of which a role has one."""
    cards = Counter(view["discard"])
    if view["pending"] != "PENDING_UNSPECIFIED":
        cards[kinds["wild_provoke"]] += 1
    for player in view["players"]:
        cards.update(player["hand"])
        cards.update(player["collected"])
    for army in view["armies"]:
        cards.update(baby["kind"] for baby in army["babies"] if baby["kind"])
    for monster in view["monsters"]:
        cards.update(kinds[role] for part, role in PARTS.items() if monster[part])
        if monster["torso"]:
            cards[monster["torso"]] += 1
        head = monster.get("head")
        if head and head["kind"]:
            cards[head["kind"]] += 1
        if head and head["masked"]:
            cards[kinds["mask"]] += 1
    return cards
