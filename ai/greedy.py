"""`greedy`: a scripted player of Bears vs Babies that looks one action ahead. The ruler that other bots are
measured with.

It asks of every legal action what the position is worth to it afterwards, and takes the action that gains
most. What an action turns over is averaged over a few determinizations; nothing is searched and nothing is
random.

A position is worth the lead in points, and what the three armies of Babies promise: their points, times how
near each player is to being strong enough to collect them. So the script builds the monsters that can win
next, takes an army when that earns more than building on, breaks up what threatens to win, and spends Swap,
Dismember and Lullaby where they turn a battle.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from ai.ismcts import StopToken
from ai.suggestion import Suggestion, require_turn
from bvb_core import Card, Observation, State
from bvb_core.game import Observation as AnyObservation

# Determinizations over which actions that turn hidden cards over are averaged.
WORLDS = 8
BATTLES = ("provoke", "wild")
MOVE_HEADS = ("swap", "dismember")
WHOLE_TURN = ("provoke", "dive")
WAITING = ("hat", "swap", "dismember", "lullaby")
# Base actions a turn, by number of players.
ACTIONS = {2: 4, 3: 3, 4: 2, 5: 2}
# More than any lead in points.
WIN = 100.0
# Places of a monster besides head, torso and hat, and the role of the card that lies there.
PARTS = {"left_arm": "arm", "right_arm": "arm", "legs": "legs", "left_tool": "tool", "right_tool": "tool"}


@dataclass(frozen=True, slots=True)
class Weights:
    """What things are worth, in points."""

    draw: float = 0.35
    """An unknown card from a pile."""
    card: float = 0.25
    """Any card in the hand."""
    waiting: float = 0.3
    """More for a Swap, Dismember, Lullaby or Hat in the hand: it waits for its moment."""
    mask: float = -0.2
    """More for a Mask in the hand: it is of little use by itself."""
    strength: float = 0.12
    """A point of strength on the table."""
    tool: float = 0.6
    """A tool on a living monster: an action more in every turn."""
    promise: float = 0.6
    """A point among the Babies, to a player who is sure to be able to collect it."""
    growth: float = 2.0
    """Points that are expected to join each army."""
    steepness: float = 0.6
    """How fast the chance to collect an army rises with strength, a point of strength."""


class GreedyBot:
    """The scripted player. Stateless: equal observations give equal answers."""

    def __init__(self, name: str, weights: Weights | None = None) -> None:
        self.name = name
        self.weights = weights or Weights()

    def suggest(
        self, observation: AnyObservation, *, multi_pv: int | None = None, stop: StopToken | None = None
    ) -> Suggestion:
        if not isinstance(observation, Observation):
            raise ValueError("greedy plays Bears vs Babies and no other game")
        require_turn(observation)
        start = time.perf_counter()
        world = observation.any_state()
        gains = self._gains(observation, world)
        best = world.action(max(gains, key=lambda action_id: (gains[action_id], -action_id)))
        elapsed_ms = (time.perf_counter() - start) * 1e3
        return Suggestion(best, (), (), (), 0, elapsed_ms, "none", tuple(observation.warnings()))

    def _gains(self, observation: Observation, world: State) -> dict[int, float]:
        """By action id, what it adds to the worth of the position, a whole turn counted as one action and
        draws."""
        before = Position(observation)
        now = before.worth(self.weights)
        draw = self.weights.draw if before.draw_pile else 0.0
        gains: dict[int, float] = {}
        for action_id in world.search_action_ids():
            verb = str(world.action(action_id)).split(" ")[0]
            if verb == "draw":
                gains[action_id] = draw
                continue
            reveals = verb in BATTLES or (before.hidden_heads and verb in MOVE_HEADS)
            worlds = WORLDS if reveals else 1
            gain = fmean(self._worth_after(observation, action_id, seed) for seed in range(worlds)) - now
            gains[action_id] = gain - draw * (before.allowance - 1) if verb in WHOLE_TURN else gain
        return gains

    def _worth_after(self, observation: Observation, action_id: int, seed: int) -> float:
        world = observation.determinize(seed)
        world.apply(action_id)
        return Position(world.observation(observation.seat)).worth(self.weights)


class Position:
    """An observation of a seat in numbers. What is hidden counts as the mean of the cards that it can be."""

    def __init__(self, observation: Observation) -> None:
        seen = observation.to_dict()
        self.deck: dict[str, Card] = {card.id: card for card in observation.game.deck.cards}
        self.seat: int = seen["seat"]
        self.seats = len(seen["players"])
        self.to_move: int | None = seen.get("current_player")
        self.used: int = seen["actions_used"]
        self.turns_left: int | None = seen.get("final_turns_left")
        self.draw_pile = sum(seen["pile_counts"])
        self.winners: list[int] | None = seen["result"]["winners"] if "result" in seen else None
        self.hand = [self.deck[kind] for kind in seen["players"][self.seat]["hand"]]
        self.score = [
            sum(self.deck[kind].points for kind in player["collected"]) for player in seen["players"]
        ]
        self.unseen = self._unseen(seen)
        self.armies = {army["type"]: self._points(army) for army in seen["armies"]}
        self.tools = [0] * self.seats
        self.hidden_heads = 0
        self.strength = [0.0] * self.seats
        self.fighting = {army: [0.0] * self.seats for army in self.armies}
        for monster in seen["monsters"]:
            if "head" in monster:
                self._add(monster)
        base = 2 if seen["rules"]["practice"] else ACTIONS[self.seats]
        self.allowance = base + self.tools[self.seat]

    def _unseen(self, seen: dict[str, Any]) -> Counter[str]:
        """Heads and Babies that the observer does not see: copies by kind."""
        unseen = Counter(
            {card.id: card.count for card in self.deck.values() if card.role in ("head", "baby")}
        )
        unseen.subtract(seen["discard"])
        for player in seen["players"]:
            unseen.subtract(player["hand"] + player["collected"])
        unseen.subtract(
            baby["kind"] for army in seen["armies"] for baby in army["babies"] if baby.get("kind")
        )
        heads = (monster.get("head", {}).get("kind") for monster in seen["monsters"])
        unseen.subtract(kind for kind in heads if kind)
        return unseen

    def _mean(self, cards: list[Card], number: str) -> float:
        """Mean strength or points of the unseen copies of some kinds; 0 when there are none."""
        copies = sum(self.unseen[card.id] for card in cards)
        return sum(self.unseen[card.id] * getattr(card, number) for card in cards) / copies if copies else 0.0

    def _points(self, army: dict[str, Any]) -> float:
        kinds = [baby.get("kind") for baby in army["babies"]]
        known = sum(self.deck[kind].points for kind in kinds if kind)
        hidden = sum(not kind for kind in kinds)
        return known + hidden * self._mean(
            [card for card in self.deck.values() if card.role == "baby" and card.type == army["type"]],
            "points",
        )

    def _add(self, monster: dict[str, Any]) -> None:
        """Count a living monster to its owner's army, a hidden head by the share of the unseen heads that
        fight in it."""
        head, owner = monster["head"], monster["owner"]
        if head.get("kind"):
            heads = [self.deck[head["kind"]]]
            copies = {head["kind"]: 1}
        else:
            self.hidden_heads += 1
            excluded = set(head["excluded_types"])
            heads = [
                card for card in self.deck.values() if card.role == "head" and not excluded & set(card.types)
            ]
            copies = {card.id: max(self.unseen[card.id], 0) for card in heads}
        total = sum(copies.values()) or 1
        roles = [role for part, role in PARTS.items() if monster.get(part)]
        body = sum(card.strength for card in self.deck.values() for role in roles if card.role == role)
        if monster.get("torso"):
            body += self.deck[monster["torso"]].strength
        doubled = 2 if monster.get("hat") else 1
        self.tools[owner] += roles.count("tool")
        for card in heads:
            strength = doubled * (card.strength + body) * copies[card.id] / total
            self.strength[owner] += strength
            for army in card.types:
                self.fighting[army][owner] += strength

    def worth(self, weights: Weights) -> float:
        """In points, for the observer."""
        worth = self._over_others(self.score, worst=True)
        if self.winners is not None:
            return worth + (WIN if self.seat in self.winners else 0.0)
        for army, points in self.armies.items():
            promise = weights.promise * (points + (weights.growth if self.draw_pile else 0.0))
            chances = [self._chance(army, points, seat, weights) for seat in range(self.seats)]
            worth += promise * self._over_others(chances, worst=True)
        if self.draw_pile:
            worth += weights.strength * self._over_others(self.strength)
            worth += weights.tool * self._over_others(self.tools)
            worth += sum(self._in_hand(card, weights) for card in self.hand)
        return worth

    def _over_others(self, values: Sequence[float], worst: bool = False) -> float:
        """The observer's value over the mean of the others'; or over the middle of their mean and their
        greatest."""
        others = [value for seat, value in enumerate(values) if seat != self.seat]
        return values[self.seat] - (fmean([fmean(others), max(others)]) if worst else fmean(others))

    def _chance(self, army: str, points: float, seat: int, weights: Weights) -> float:
        """That a player collects an army when their next turn comes, by the strength that they have to
        spare."""
        if not self._may_provoke(seat):
            return 0.0
        strengths = self.fighting[army]
        rival = max(strength for other, strength in enumerate(strengths) if other != seat)
        spare = strengths[seat] - max(points, rival + 1)
        return 1 / (1 + math.exp(-weights.steepness * (spare + 0.5)))

    def _may_provoke(self, seat: int) -> bool:
        """Whether a player will have a turn from its beginning before the game ends."""
        if self.turns_left is None or self.to_move is None:
            return True
        if seat == self.to_move:
            return self.used == 0 or self.turns_left >= self.seats
        return (seat - self.to_move) % self.seats <= self.turns_left

    def _in_hand(self, card: Card, weights: Weights) -> float:
        if card.role == "mask":
            return weights.card + weights.mask
        return weights.card + (weights.waiting if card.role in WAITING else 0.0)
