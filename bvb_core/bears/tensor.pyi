from dataclasses import dataclass
from typing import Any, Final

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
    def __init__(self, deck: Deck, players: int, base_actions: int, turn_limit: int) -> None: ...
    @property
    def blocks(self) -> tuple[TensorBlock, ...]: ...
    @property
    def size(self) -> int: ...
    def split(self, tensor: NDArray[Any]) -> dict[str, NDArray[Any]]: ...
