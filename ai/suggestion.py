"""What a bot is, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from ai.ismcts import StopToken
from bvb_core.game import Action, Observation


@dataclass(frozen=True, slots=True)
class Alternative:
    """A move that was looked at. Vectors are in seat order."""

    action: Action
    equivalent: tuple[Action, ...]
    """Moves that it stands for besides itself, such as the same arm on the other side."""
    visits: int
    availability: int
    """Iterations in which the move could have been chosen, since it was first tried."""
    win_probability: tuple[float, ...]
    """Expected share of the victory, 0 to 1, summing to 1."""
    expected_score: tuple[float, ...]
    """Points at the end of the game."""
    pv: tuple[str, ...]
    """The most visited line that begins with this move, in notation."""
    standard_error: tuple[float, ...] = ()
    """Of win_probability, from the spread of the results, as if they were independent. Empty when not measured."""
    pv_visits: tuple[int, ...] = ()
    """Visits of the moves of pv. Empty when not measured."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Chances to win a prize that is there now; together with nobody's they add up to 1."""

    name: str
    seats: tuple[float, ...]
    nobody: float


@dataclass(frozen=True, slots=True)
class Root:
    """The position over all iterations, whichever move they tried. Vectors are in seat order."""

    win_probability: tuple[float, ...]
    expected_score: tuple[float, ...]
    score_spread: tuple[float, ...]
    """Standard deviation of the points at the end of the game."""
    outcomes: tuple[Outcome, ...]


@dataclass(frozen=True, slots=True)
class Suggestion:
    """The answer of a bot: the move, and what it expects when it is played."""

    action: Action
    win_probability: tuple[float, ...]
    expected_score: tuple[float, ...]
    alternatives: tuple[Alternative, ...]
    """Best first, the suggested move among them. Empty for bots that do not search."""
    iterations: int
    elapsed_ms: float
    stop_reason: str
    """"iterations", "time", "stopped", "decided" (an only move, or one that could not be overtaken any more), or "none" for
    bots that do not search."""
    warnings: tuple[str, ...] = ()
    root: Root | None = None
    """None for bots that do not measure it."""
    adopted: int = 0
    """Visits that were taken over from an earlier search, on top of the iterations."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON, moves in notation."""
        answer: dict[str, Any] = {
            "action": str(self.action),
            "win_probability": list(self.win_probability),
            "expected_score": list(self.expected_score),
            "alternatives": [
                {
                    "action": str(a.action),
                    "equivalent": [str(e) for e in a.equivalent],
                    "visits": a.visits,
                    "availability": a.availability,
                    "win_probability": list(a.win_probability),
                    "expected_score": list(a.expected_score),
                    "standard_error": list(a.standard_error),
                    "pv": list(a.pv),
                    "pv_visits": list(a.pv_visits),
                }
                for a in self.alternatives
            ],
            "iterations": self.iterations,
            "elapsed_ms": self.elapsed_ms,
            "stop_reason": self.stop_reason,
            "warnings": list(self.warnings),
        }
        if self.root is not None:
            answer["root"] = {
                "win_probability": list(self.root.win_probability),
                "expected_score": list(self.root.expected_score),
                "score_spread": list(self.root.score_spread),
                "outcomes": [
                    {"name": o.name, "seats": list(o.seats), "nobody": o.nobody} for o in self.root.outcomes
                ],
            }
        return answer


class Bot(Protocol):
    """A player. It is given observations and nothing else."""

    name: str

    def suggest(
        self, observation: Observation, *, multi_pv: int | None = None, stop: StopToken | None = None
    ) -> Suggestion:
        """A move for the observer, whose turn it must be.

        `multi_pv` limits the alternatives that are reported (None: all); `stop` ends a search from another
        thread. Raises ValueError when it is not the observer's turn, ObservationError for a contradictory
        observation.
        """


def require_turn(observation: Observation) -> None:
    """Raises ValueError when it is not the observer's turn."""
    if observation.is_terminal:
        raise ValueError("the game is over")
    if observation.seat is None or observation.seat != observation.current_player:
        who = "a spectator" if observation.seat is None else f"seat {observation.seat}"
        raise ValueError(f"{who} is not to move: it is the turn of seat {observation.current_player}")
