"""docs/api.md is what the .proto files say, and the guide works."""

import ast
import importlib.util
import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import bvb
import bvb_core
from bvb.v1 import bot_pb2, engine_pb2
from server.cli import main

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
    assert len(blocks) == 3
    assert len(blocks[0].splitlines()) <= 20
    names: dict[str, Any] = {"my_seat": 0}
    for block in blocks:
        exec(block.replace("time_ms=500, min_think_ms=800", "iterations=5").replace("time_ms=500", "iterations=5"), names)
    assert names["lines"] == ["draw 1 = sky_baby"]
    for by_events in (True, False):
        game = FrontEnd(seat=1)
        if by_events:
            names["play"](game, 1, game.view_of(1), service.address)
        else:
            names["play_by_positions"](game, 1, service.address)
        assert game.is_over()
        assert game.played >= 3


def test_the_example_of_a_history(service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for command in re.findall(r"^\$ bvb (record .*|position .* > view.json)$", text, re.MULTILINE):
        words, _, file = command.partition(" > ")
        Path(file).write_text(CliRunner().invoke(main, words.split()).stdout)
    (block,) = (block for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "events=" in block)
    names: dict[str, Any] = {}
    exec(block.replace("localhost:50051", service.address), names)
    state = bvb_core.State.from_record(json.loads(Path("game.jsonl").read_text()), after=14)
    expected = service.client.suggest_move(state.observation(1), iterations=2000, seed=1)
    assert list(names["answer"].alternatives) == list(expected.alternatives)


def test_other_examples_of_the_readme(
    service: Service, position_file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(position_file.parent)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (events,) = (block for block in blocks if "state.events" in block)
    exec(events, {})
    assert capsys.readouterr().out.strip() == events.strip().partition("seat 0: ")[2]
    others = [block for block in blocks if block != events and "events=" not in block]
    assert len(others) == 3
    for block in others:
        for old, new in (
            ("localhost:50051", service.address), ("time_ms=5000", "time_ms=50"), ("time_ms=500,", "time_ms=50,"),
            ("iterations=1000", "iterations=5"),
        ):  # fmt: skip
            block = block.replace(old, new)
        exec(block, {})
        assert capsys.readouterr().out


def raised() -> dict[str, str]:
    """Status codes by reason, of all errors that the source of the server makes."""
    found: dict[str, str] = {}
    for path in (ROOT / "server").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("invalid", "ServiceError"):
                reason = node.args[2]
                if isinstance(reason, ast.Constant):
                    code = "INVALID_ARGUMENT" if node.func.id == "invalid" else ast.unparse(node.args[0]).split(".")[-1]
                    assert found.setdefault(reason.value, code) == code
                else:
                    assert (path.name, ast.unparse(reason)) in (("errors.py", "reason"), ("errors.py", "error.reason"))
    return found


def test_every_error_has_its_line() -> None:
    text = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([A-Z_]+)` \| ([A-Z_]+) \| (.+) \| (.+) \|$", text, re.MULTILINE)
    assert {reason: code for reason, code, _, _ in rows} == raised()
    assert len(rows) == len(raised())


def test_the_example_of_an_error(service: Service, position: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (shown,) = re.findall(r"```text\n(.*?)```", text, re.DOTALL)
    del position["armies"]
    exec(code, {"bvb": bvb, "client": service.client, "position": position})
    assert capsys.readouterr().out == shown


def test_links_of_the_guides() -> None:
    for page in ("bot-in-20-lines.md", "api.md", "errors.md", "decks.md"):
        text = (ROOT / "docs" / page).read_text(encoding="utf-8")
        for target in re.findall(r"\]\((?!https:)([^)#]+)(?:#[\w-]+)?\)", text):
            assert (ROOT / "docs" / target).exists(), target
