"""Deck files: what is read, and that every complaint names file, card and field."""

from pathlib import Path

import pytest

import bvb_core

from .strategies import DECKS

CARD = '[[card]]\nid = "{id}"\ncount = {count}\nrole = "{role}"\n{more}\n'


def card(id: str, role: str, more: str = "", count: object = 1) -> str:
    return CARD.format(id=id, role=role, more=more, count=count)


HEAD = card("bear_head", "head", 'types = ["land"]', 5)

# What stands in the file after its name, and what the message must say.
BROKEN = {
    "head without types": (card("x_head", "head"), "card x_head: types: must be a list"),
    "head of no type": (
        card("x_head", "head", "types = []"),
        "card x_head: types: a head needs at least one type",
    ),
    "head of a strange type": (
        card("x_head", "head", 'types = ["air"]'),
        "card x_head: types: must be a list",
    ),
    "head of a type twice": (card("x_head", "head", 'types = ["sea", "sea"]'), "card x_head: types: must be"),
    "head with another name": (card("chief", "head", 'types = ["sea"]'), "card chief: id: a head is named"),
    "head with joints": (
        card("x_head", "head", 'types = ["sea"]\njoints = []'),
        "card x_head: joints: unknown field",
    ),
    "torso without joints": (card("box", "torso"), "card box: joints: must be a list"),
    "torso without a neck": (
        card("box", "torso", 'joints = ["waist"]'),
        "card box: joints: a torso needs a neck",
    ),
    "torso with a strange joint": (
        card("box", "torso", 'joints = ["knee"]'),
        "card box: joints: must be a list",
    ),
    "torso with a strange socket": (
        card("box", "torso", 'joints = ["neck"]\nsockets = ["top"]'),
        "card box: sockets: must be a list",
    ),
    "socket in place of a shoulder": (
        card("box", "torso", 'joints = ["neck", "left_shoulder"]\nsockets = ["left"]'),
        "card box: sockets: left has a shoulder already",
    ),
    "arm with two hands": (
        card("arm", "arm", 'sockets = ["hand", "left"]'),
        "card arm: sockets: must be a list",
    ),
    "Baby without points": (
        card("sea_baby_1", "baby", 'type = "sea"'),
        "card sea_baby_1: points: is missing",
    ),
    "Baby without a type": (
        card("sea_baby_1", "baby", "points = 1"),
        "card sea_baby_1: type: must be one of",
    ),
    "Baby worth too much": (
        card("sea_baby_10", "baby", 'type = "sea"\npoints = 10'),
        "card sea_baby_10: points: must be 0 to 9, not 10",
    ),
    "Baby with another name": (
        card("sea_baby_1", "baby", 'type = "sea"\npoints = 2'),
        "card sea_baby_1: id: a Baby is named",
    ),
    "tool with points": (card("tool", "tool", "points = 1"), "card tool: points: unknown field"),
    "no role": ('[[card]]\nid = "tool"\ncount = 1\n', "card tool: role: must be one of"),
    "strange role": (card("tool", "spoon"), "card tool: role: must be one of"),
    "no count": ('[[card]]\nid = "tool"\nrole = "tool"\n', "card tool: count: is missing"),
    "count as text": (card("tool", "tool", count='"3"'), "card tool: count: must be a whole number"),
    "count as a fraction": (card("tool", "tool", count="1.0"), "card tool: count: must be a whole number"),
    "count that is true": (card("tool", "tool", count="true"), "card tool: count: must be a whole number"),
    "count below zero": (card("tool", "tool", count=-1), "card tool: count: must be 0 to"),
    "count too great": (card("tool", "tool", count=1000), "card tool: count: must be 0 to"),
    "strength too great": (card("tool", "tool", "strength = 500"), "card tool: strength: must be -"),
    "strength as text": (
        card("tool", "tool", 'strength = "much"'),
        "card tool: strength: must be a whole number",
    ),
    "unknown field": (card("tool", "tool", "colour = 1"), "card tool: colour: unknown field"),
    "no id": ('[[card]]\ncount = 1\nrole = "tool"\n', "card 1: id: must be a name"),
    "id with spaces": (card("big tool", "tool"), "card 1: id: must be a name"),
    "id in capitals": (HEAD + card("Tool", "tool"), "card 2: id: must be a name"),
    "id that is empty": (card("", "tool"), "card 1: id: must be a name"),
    "id in another script": (card("hüt", "hat"), "card 1: id: must be a name"),
    "kind twice": (HEAD + HEAD, "card bear_head: id: stands twice"),
    "two kinds of a role without a name": (
        HEAD + card("tool", "tool") + card("hammer", "tool"),
        "card hammer: role: tool is taken by tool",
    ),
    "too many kinds of heads": (
        "".join(card(f"x{n}_head", "head", 'types = ["sea"]') for n in range(9)),
        "card: role: 9 kinds of head, at most",
    ),
    "too many kinds of torsos": (
        HEAD + "".join(card(f"box{n}", "torso", 'joints = ["neck"]') for n in range(9)),
        "card: role: 9 kinds of torso",
    ),
    "too many heads": (card("x_head", "head", 'types = ["sea"]', 33), "count: 33 heads, at most"),
    "too many masks": (HEAD + card("mask", "mask", count=5), "count: 5 masks, at most"),
    "too many Babies": (
        HEAD + card("sea_baby_1", "baby", 'type = "sea"\npoints = 1', 33),
        "count: 33 sea Babies, at most",
    ),
    "too many limbs": (HEAD + card("arm", "arm", count=65), "count: 65 arms, legs and tools, at most"),
    "too many cards": (HEAD + card("swap", "swap", count=190), "count: 195 cards, at most"),
    "no head": (card("tool", "tool"), "card: a deck needs a head"),
    "no card": ("", "card: a deck needs a head"),
    "unknown field of the deck": ("size = 5\n" + HEAD, "size: unknown field"),
    "card as a number": ("card = 5\n", "card: cards are written as"),
    "card as a list of numbers": ("card = [5]\n", "card 1: must be a"),
    "counts as a number": ("counts = 5\n" + HEAD, "counts: must be a"),
    "count of no card": (HEAD + "[counts]\ntool = 1\n", "counts: tool: no such card"),
    "count of a card as text": (
        HEAD + '[counts]\nbear_head = "2"\n',
        "counts: bear_head: must be a whole number",
    ),
    "extends another deck": ('extends = "mine"\n' + HEAD, 'extends: can only be "standard"'),
    "not TOML": ("[[card]\n", "is not TOML"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_decks(case: str, tmp_path: Path) -> None:
    content, message = BROKEN[case]
    file = tmp_path / "mine.toml"
    file.write_text('name = "mine"\n' + content, encoding="utf-8")
    with pytest.raises(bvb_core.DeckError) as error:
        bvb_core.load_deck(file)
    assert str(error.value).startswith(f"{file}: {message}")
    with pytest.raises(bvb_core.DeckError):
        bvb_core.new_game(players=2, seed=1, deck=file)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "name: must be a text"),
        (b"name = 5\n", "name: must be a text"),
        (b'name = ""\n', "name: must be a text"),
        (b"\xff\xfe\x00", "is not TOML"),
        (b"\x00", "is not TOML"),
    ],
)
def test_files_that_are_no_decks(content: bytes, message: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_bytes(content)
    with pytest.raises(bvb_core.DeckError) as error:
        bvb_core.load_deck(file)
    assert str(error.value).startswith(f"{file}: {message}")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.toml"):
        with pytest.raises(bvb_core.DeckError, match="cannot be read") as error:
            bvb_core.load_deck(path)
        assert str(path) in str(error.value)


def test_decks_differ_by_their_bytes(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    ids = set()
    for content in ('name = "mine"\n' + HEAD, 'name = "mine"\n' + HEAD + "# a comment\n"):
        file.write_text(content)
        ids.add(bvb_core.load_deck(file).id)
    assert len(ids) == 2
    assert all(name.startswith("sha256:") for name in ids)
    assert bvb_core.load_deck().id == "standard"


def test_a_deck_that_extends_the_shipped_one(tmp_path: Path) -> None:
    deck, standard = bvb_core.load_deck(DECKS["tiny"]), bvb_core.load_deck()
    assert deck["bear_head"].count == 3
    assert deck["bear_head"].strength == standard["bear_head"].strength
    assert deck["mini_arm_torso"].sockets == ("left", "right")
    order = [card.id for card in standard.cards]
    assert [card.id for card in deck.cards] == sorted((card.id for card in deck.cards), key=order.index)
    with pytest.raises(KeyError):
        deck["sky_head"]
    file = tmp_path / "mine.toml"
    file.write_text('name = "mine"\nextends = "standard"\n' + card("arm", "arm", "strength = 7", 2))
    assert bvb_core.load_deck(file)["arm"].strength == 7
    assert [card.id for card in bvb_core.load_deck(file).cards] == order


def test_decks_too_small_to_deal(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('name = "mine"\n' + HEAD.replace("count = 5", "count = 1") + card("arm", "arm", count=60))
    with pytest.raises(bvb_core.DeckError, match="bear_head: 1 copies, but 2 players"):
        bvb_core.new_game(players=2, seed=1, deck=file)
    file.write_text('name = "mine"\n' + HEAD.replace("count = 5", "count = 2") + card("arm", "arm", count=8))
    with pytest.raises(bvb_core.DeckError, match="1 cards too few for 2 players"):
        bvb_core.new_game(players=2, seed=1, deck=file)
    file.write_text('name = "mine"\n' + HEAD.replace("count = 5", "count = 2") + card("arm", "arm", count=9))
    state = bvb_core.new_game(players=2, seed=1, deck=file)
    assert state.observation(0).to_dict()["pile_counts"] == [1, 0, 0]


def largest(tmp_path: Path) -> Path:
    """As many cards as fit, of kinds that fill every table."""
    file = tmp_path / "large.toml"
    file.write_text(
        'name = "large"\n'
        + card("bear_head", "head", 'types = ["land", "sea", "sky"]\nstrength = 20', 25)
        + "".join(card(f"x{n}_head", "head", 'types = ["sea"]') for n in range(7))
        + "".join(
            card(f"box{n}", "torso", 'joints = ["neck", "left_shoulder", "right_shoulder", "waist"]', 4)
            for n in range(8)
        )
        + card("arm", "arm", count=30)
        + card("legs", "legs", count=14)
        + card("tool", "tool", count=20)
        + card("mask", "mask", count=4)
        + card("hat", "hat", count=20)
        + card("dismember", "dismember", count=10)
        + card("sea_baby_9", "baby", 'type = "sea"\npoints = 9', 30)
    )
    return file


def test_the_largest_deck_can_be_played(tmp_path: Path) -> None:
    deck = bvb_core.load_deck(largest(tmp_path))
    assert sum(card.count for card in deck.cards) == 192
    for seed in range(20):
        state = bvb_core.new_game(players=2 + seed % 4, seed=seed, deck=deck, turn_limit=5000)
        while not state.is_terminal:
            for _ in range(25):
                if not state.is_terminal:
                    state.apply(state.random_action(seed))
            again = bvb_core.State.from_bytes(bytes(state), deck)
            assert again == state
            for seat in range(state.game.num_players):
                seen = state.observation(seat)
                assert seen.determinize(1).observation(seat) == seen
