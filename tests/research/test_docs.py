"""The examples of docs/research.md run, and its tables name what there is."""

import contextlib
import io
import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import bvb_core
from ai.export import export, parts

from ..conftest import ROOT

TEXT = (ROOT / "docs" / "research.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```python\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
SHOWN = ("head bear", "located_heads 148 (3, 4, 8)", "seat_2", "the mover won")


@pytest.mark.parametrize(("example", "shown"), list(zip(EXAMPLES, SHOWN, strict=True)))
def test_example(example: str, shown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    if "selfplay" in example:
        deal = partial(bvb_core.new_game, 2, practice=True)
        export(parts(deal, ["ismcts:iterations=20"] * 2, 1, 3, Path("selfplay"), 2), 1, lambda done: None)
    names: dict[str, Any] = {}
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(example, "docs/research.md", "exec"), names)
    assert shown in output.getvalue()
    for promised in re.findall(r"# .*: ([\d.]+)$", example, re.MULTILINE):
        assert f"\n{promised}\n" in output.getvalue()
    if "policy" in names:
        assert names["policy"].sum(axis=1) == pytest.approx(1)
        assert not (names["policy"] > 0)[~names["legal"]].any()


def test_tables() -> None:
    layout = bvb_core.game_for(2).tensor_layout
    assert re.findall(r"^\| `(\w+)` \| \(", TEXT, re.MULTILINE) == [block.name for block in layout.blocks]
    assert f"({layout.size} for two\nplayers" in TEXT
    arrays = set(re.findall(r"`(\w+)`", TEXT.split("| array |")[1].split("```")[0]))
    assert {"observation", "legal", "action", "visit_row", "visit_action", "visit_count"} <= arrays
