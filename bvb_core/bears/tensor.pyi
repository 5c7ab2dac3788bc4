from dataclasses import dataclass
from typing import Any, Final, Self

from numpy.typing import NDArray

from bvb_core.bears.deck import Deck

PARTS: Final[tuple[str, ...]]

@dataclass(frozen=True)
class TensorBlock:
    name: str
    offset: int
    shape: tuple[int, ...]
    columns: tuple[str, ...]
    scales: tuple[float, ...]
    meaning: str
    @property
    def size(self) -> int: ...

class TensorLayout:
    def __new__(cls, deck: Deck, players: int, base_actions: int, turn_limit: int) -> Self: ...
    @property
    def blocks(self) -> tuple[TensorBlock, ...]: ...
    @property
    def size(self) -> int: ...
    def split(self, tensor: NDArray[Any]) -> dict[str, NDArray[Any]]: ...
