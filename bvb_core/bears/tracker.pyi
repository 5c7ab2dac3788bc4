from typing import Any

from bvb_core.bears.ops import Game, Observation, _AnyDeck

class EventError(ValueError):
    index: int
    line: str
    reason: str
    def __init__(self, index: int, line: str, reason: str) -> None: ...

class Tracker:
    @property
    def game(self) -> Game: ...
    @property
    def seat(self) -> int | None: ...
    @property
    def count(self) -> int: ...
    def __init__(
        self,
        rules: dict[str, Any],
        seat: int | None,
        initial_view: Observation | dict[str, Any] | str,
        deck: _AnyDeck = None,
    ) -> None: ...
    def push(self, line: str) -> None: ...
    def observation(self) -> Observation: ...
    def event_key(self) -> int | None: ...
