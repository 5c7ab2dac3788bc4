"""Every transcript on the reference model and on the engine."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ..reference.model import Model
from ..reference.pieces import load_deck
from .runner import Engine, Observer, Transcript

Start = Callable[[dict[str, Any], Path | None], Engine]
FILES = sorted(Path(__file__).parent.glob("*.txt"))


class CompiledEngine:
    """bvb_core behind the interface of the runner."""

    def __init__(self, record: dict[str, Any], deck_path: Path | None) -> None:
        import bvb_core

        self.state = bvb_core.State.from_record(record, deck=deck_path)

    def legal(self) -> list[str]:
        return sorted(map(str, self.state.legal_actions()))

    def apply(self, text: str) -> None:
        self.state.apply(text)

    def observation(self, observer: Observer) -> dict[str, Any]:
        view: dict[str, Any] = self.state.observation(observer).to_dict()
        return view

    def events(self, observer: Observer) -> list[str]:
        return list(self.state.events(observer))

    def scores(self) -> list[int]:
        return list(self.state.scores())

    def returns(self) -> list[float]:
        return list(self.state.returns())


def model(record: dict[str, Any], deck_path: Path | None) -> Model:
    deck = load_deck(deck_path) if deck_path else load_deck()
    return Model(record["rules"], record["deal"], deck)


@pytest.mark.parametrize("start", [model, CompiledEngine], ids=["model", "engine"])
@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_transcript(path: Path, start: Start, tmp_path: Path) -> None:
    transcript = Transcript(path)
    deck_path = None
    if transcript.deck_text is not None:
        deck_path = tmp_path / "deck.toml"
        deck_path.write_text(transcript.deck_text)
    transcript.play(start(transcript.record(), deck_path))
