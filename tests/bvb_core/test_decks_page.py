"""docs/decks.md: its files are decks that can be played, its tables are what the code says."""

import contextlib
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import ai
import bvb_core
from bvb_core.bears import deck as rules

ROOT = Path(__file__).resolve().parent.parent.parent
TEXT = (ROOT / "docs" / "decks.md").read_text(encoding="utf-8")
EXTENDED, WHOLE = re.findall(r"^```toml\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
COMMANDS = re.search(r"^```console\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
PYTHON = re.search(r"^```python\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
WRONG = re.findall(r"^\| `([^|]+)` \| `(.+)` \|$", TEXT.split("## When a file is wrong")[1], re.MULTILINE)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "arms.toml").write_text(EXTENDED)
    (tmp_path / "pocket.toml").write_text(WHOLE)
    return tmp_path


@pytest.mark.parametrize("name", ["arms", "pocket"])
def test_the_decks_are_played(folder: Path, name: str) -> None:
    deck = bvb_core.load_deck(folder / f"{name}.toml")
    bot = ai.make_bot("ismcts:iterations=20", seed=1)
    for players in (2, 3):
        state = bvb_core.new_game(players=players, seed=1, deck=deck)
        while not state.is_terminal:
            state.apply(bot.suggest(state.observation(state.current_player)).action)
        assert bvb_core.State.from_record(state.to_record(), deck=deck).result() == state.result()


def test_what_the_first_deck_changes(folder: Path) -> None:
    deck, standard = bvb_core.load_deck(folder / "arms.toml"), bvb_core.load_deck()
    changed = {"arm": (12, 2), "lullaby": (3, 0)}
    assert [(c.id, c.count, c.strength) for c in deck.cards] == [
        (c.id, *changed.get(c.id, (c.count, c.strength))) for c in standard.cards if c.id != "wild_provoke"
    ]


def test_the_commands(folder: Path) -> None:
    assert COMMANDS is not None
    lines = [line.removeprefix("$ bvb ") for line in COMMANDS[1].splitlines()]
    assert [line.split()[0] for line in lines] == ["record", "position", "suggest", "serve"]
    for line in lines[:-1]:
        words, _, file = line.partition(" > ")
        command = [sys.executable, "-m", "bvb", *words.split()]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
        if file:
            (folder / file).write_text(done.stdout)
    assert done.stdout.startswith("best move: ")
    assert json.loads((folder / "game.jsonl").read_text())["rules"]["deck"] == bvb_core.load_deck(folder / "pocket.toml").id


def test_the_commands_that_take_a_deck() -> None:
    named = re.search(r"Every command takes `--deck FILE`: `bvb (.*?)\.", TEXT, re.DOTALL)
    assert named is not None
    for command in [*re.findall(r"\w+", named[1].replace(" and ", " ")), "serve"]:
        done = subprocess.run([sys.executable, "-m", "bvb", command, "--help"], capture_output=True, text=True, check=True)
        assert "--deck FILE" in done.stdout


def test_the_python_example(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert PYTHON is not None
    monkeypatch.chdir(folder)
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(PYTHON[1], {})
    assert re.fullmatch(r"sha256: 43 \[\d+, \d+, \d+\]\n", output.getvalue())


def test_the_table_of_roles() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (up to \d|one|any) \| (.*) \|$", TEXT, re.MULTILINE)
    assert tuple(role for role, _, _ in rows) == rules.ROLES
    for role, kinds, fields in rows:
        assert (kinds == "one") == (role in rules.SINGLE_ROLES)
        assert ("`strength`" in fields) == (role in rules.FIGHTING_ROLES)
        assert set(rules._FIELDS.get(role, ())) == set(re.findall(r"`(\w+)`:", fields))
    for limit in (
        f"up to {rules.MAX_CARDS} cards: {rules.MAX_HEADS} heads, {rules.MAX_TORSOS} torsos, {rules.MAX_LIMBS} arms",
        f"{rules.MAX_MASKS} masks, and {rules.MAX_ARMY} Babies of each type",
        f"`strength` is -{rules.MAX_STRENGTH} to {rules.MAX_STRENGTH}",
        f"`points`: 0 to {rules.MAX_POINTS}",
        f"`head` | up to {rules.MAX_HEAD_KINDS}",
        f"`torso` | up to {rules.MAX_TORSO_KINDS}",
    ):
        assert limit in TEXT


def test_the_wrong_lines() -> None:
    assert len(WRONG) == TEXT.split("## When a file is wrong")[1].count("\n| `")


@pytest.mark.parametrize(("line", "message"), WRONG)
def test_a_wrong_line(folder: Path, line: str, message: str) -> None:
    file = folder / "arms.toml"
    file.write_text(EXTENDED + line + "\n")
    with pytest.raises(bvb_core.DeckError) as caught:
        bvb_core.load_deck(file)
    assert str(caught.value) == f"{file}: {message}"
