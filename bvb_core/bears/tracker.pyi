from os import PathLike
from typing import Any

from bvb_core.bears.deck import Deck
from bvb_core.bears.ops import Game, Observation

class EventError(ValueError):
    index: int
    line: str
    reason: str
    def __init__(self, index: int, line: str, reason: str) -> None: ...

class Tracker:
    def __init__(
        self,
        rules: dict[str, Any],
        seat: int | None,
        initial_view: Observation | dict[str, Any] | str,
        deck: Deck | str | PathLike[str] | None = None,
    ) -> None: ...
    @property
    def game(self) -> Game: ...
    @property
    def seat(self) -> int | None: ...
    @property
    def count(self) -> int: ...
    def push(self, line: str) -> None: ...
    def observation(self) -> Observation: ...
