"""docs/api.md is what the .proto files say, and the guide works."""

import importlib.util
import random
import re
from pathlib import Path
from typing import Any

import pytest

import bvb_core
from bvb.v1 import bot_pb2, engine_pb2

from ..conftest import ROOT
from .conftest import Service


@pytest.fixture
def generator() -> Any:
    spec = importlib.util.spec_from_file_location("generate_api", ROOT / "docs" / "generate_api.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_reference_is_up_to_date(generator: Any, tmp_path: Path) -> None:
    written = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    assert written == generator.reference(generator.descriptors(tmp_path)), "run `make docs`"


def test_reference_is_complete() -> None:
    written = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    for module in (engine_pb2, bot_pb2):
        for service in module.DESCRIPTOR.services_by_name.values():
            assert all(f"**{method.name}**" in written for method in service.methods)
        for message in module.DESCRIPTOR.message_types_by_name.values():
            section = written.split(f"### {message.name}\n", 1)[1].split("\n### ", 1)[0]
            assert all(f"| `{field.name}` = {field.number} |" in section for field in message.fields)
    headings = {heading.lower() for heading in re.findall(r"^#+ (\w+)$", written, re.MULTILINE)}
    assert set(re.findall(r"\(#(\w+)\)", written)) <= headings
    assert not re.search(r"\|  \|$", written, re.MULTILINE), "a field without a comment"


class FrontEnd:
    """A game as the guide assumes one: other seats play at random."""

    def __init__(self, seat: int) -> None:
        self.state = bvb_core.new_game(players=3, seed=1, practice=True)
        self.seat = seat
        self.rng = random.Random(1)
        self.lines: list[str] = []
        self.played = 0

    def is_over(self) -> bool:
        return self.state.is_terminal

    def to_move(self) -> int:
        return self.state.current_player

    def wait_for_news(self) -> None:
        while not self.is_over() and self.to_move() != self.seat:
            self.apply(self.rng.choice(self.state.legal_actions()))

    def wait_for_turn(self, seat: int) -> bool:
        self.wait_for_news()
        return not self.is_over()

    def lines_for(self, seat: int) -> list[str]:
        lines, self.lines = self.lines, []
        return lines

    def view_of(self, seat: int) -> bvb_core.Observation:
        return self.state.observation(seat)

    def play(self, move: str) -> None:
        self.apply(move)
        self.played += 1

    def apply(self, action: Any) -> None:
        self.state.apply(action)
        self.lines += self.state.events(self.seat)


def test_the_guide(service: Service) -> None:
    text = (ROOT / "docs" / "bot-in-20-lines.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == 2
    assert len(blocks[0].splitlines()) <= 20
    names: dict[str, Any] = {}
    for block in blocks:
        exec(block.replace("time_ms=500, min_think_ms=800", "iterations=5").replace("time_ms=500", "iterations=5"), names)
    for by_events in (True, False):
        game = FrontEnd(seat=1)
        if by_events:
            names["play"](game, 1, game.view_of(1), service.address)
        else:
            names["play_by_positions"](game, 1, service.address)
        assert game.is_over()
        assert game.played >= 3


def test_links_of_the_guides() -> None:
    for page in ("bot-in-20-lines.md", "api.md"):
        text = (ROOT / "docs" / page).read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)#]+)(?:#[\w-]+)?\)", text):
            assert (ROOT / "docs" / target).exists(), target
