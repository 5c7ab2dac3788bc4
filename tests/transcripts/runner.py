"""Plays a transcript on an engine. The format is described in README.md beside this file."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

TYPES = ("land", "sea", "sky")
HAND_SIZE = 5
PRACTICE_ONLY_OUT = {"tool", "hat", "mask", "swap", "dismember", "lullaby", "wild_provoke"}
FILLING = (
    "legs",
    "arm",
    "crossroad_torso",
    "mini_arm_torso",
    "mini_body",
    "armless_body",
    "land_head",
    "sea_head",
    "sky_head",
    "tool",
    "hat",
    "mask",
    "swap",
    "dismember",
    "lullaby",
    *(f"{army}_baby_{points}" for army in TYPES for points in range(4)),
    "wild_provoke",
    "bear_head",
)
NOT_IN_HANDS = re.compile(r"_baby_|^wild_provoke$|^bear_head$")
STANDARD_COUNTS = {
    "bear_head": 5,
    "land_head": 7,
    "sea_head": 7,
    "sky_head": 7,
    "crossroad_torso": 9,
    "mini_arm_torso": 3,
    "mini_body": 3,
    "armless_body": 2,
    "legs": 7,
    "arm": 10,
    "tool": 5,
    "hat": 3,
    "mask": 3,
    "swap": 2,
    "dismember": 3,
    "lullaby": 2,
    "wild_provoke": 2,
    **{f"{army}_baby_{points}": count for army in TYPES for points, count in enumerate((1, 3, 3, 2))},
}

Observer = int | None


class Engine(Protocol):
    """What a transcript asks of an engine; observations are the JSON form of bvb.v1.Observation."""

    def legal(self) -> list[str]: ...
    def apply(self, text: str) -> None: ...
    def observation(self, observer: Observer) -> dict[str, Any]: ...
    def events(self, observer: Observer) -> list[str]: ...
    def scores(self) -> list[int]: ...
    def returns(self) -> list[float]: ...


class Mismatch(AssertionError):
    """A line of a transcript does not hold."""


# ---------------------------------------------------------------- reading


@dataclass
class Setup:
    players: int = 2
    first: int = 0
    options: dict[str, Any] = field(default_factory=dict)
    counts: dict[str, int] | None = None
    hands: dict[int, list[str]] = field(default_factory=dict)
    armies: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: {army: [] for army in TYPES})
    piles: list[list[str]] = field(default_factory=lambda: [[], [], []])

    @property
    def practice(self) -> bool:
        return bool(self.options.get("practice"))

    def read(self, line: str) -> bool:
        """Take a set-up line; False when the line is none."""
        words = line.replace(":", "").split()
        match words:
            case ["players", number]:
                self.players = int(number)
            case ["first", number]:
                self.first = int(number)
            case ["option", "turn_limit", number]:
                self.options["turn_limit"] = int(number)
            case ["option", name]:
                self.options[name] = True
            case ["deck", *counts]:
                pairs = (pair.split("=") for pair in counts)
                self.counts = {kind: int(count) for kind, count in pairs}
            case ["hand", seat, *kinds]:
                self.hands.setdefault(int(seat), []).extend(kinds)
            case ["army", army, *babies]:
                for baby in babies:
                    points, seat = baby.split("@")
                    self.armies[army].append({"kind": f"{army}_baby_{points}", "seat": int(seat)})
            case ["pile", number, *kinds]:
                self.piles[int(number) - 1].extend(kinds)
            case _:
                return False
        return True

    def deck_text(self) -> str | None:
        """The deck file of the transcript's own deck; None for the standard deck."""
        if self.counts is None:
            return None
        lines = [f"{kind} = {self.counts.get(kind, 0)}" for kind in STANDARD_COUNTS]
        return "\n".join(['name = "transcript"', 'extends = "standard"', "", "[counts]", *lines, ""])

    def rules(self) -> dict[str, Any]:
        text = self.deck_text()
        deck = "standard" if text is None else "sha256:" + hashlib.sha256(text.encode()).hexdigest()
        return {
            "players": self.players,
            "first_player": self.first,
            "armageddon": False,
            "practice": False,
            "turn_limit": 500,
            "deck": deck,
            **self.options,
        }

    def deal(self) -> dict[str, Any]:
        """The whole deal: what the transcript says, and filling."""
        stock = Counter(STANDARD_COUNTS if self.counts is None else self.counts)
        if self.practice:
            stock = Counter({kind: n for kind, n in stock.items() if kind not in PRACTICE_ONLY_OUT})
        hands = [
            [*([] if self.practice else ["bear_head"]), *self.hands.get(seat, [])]
            for seat in range(self.players)
        ]
        stock.subtract(kind for cards in [*hands, *self.piles] for kind in cards)
        stock.subtract(baby["kind"] for army in self.armies.values() for baby in army)
        if min(stock.values()) < 0:
            raise ValueError(f"more cards than the deck has: {[kind for kind in stock if stock[kind] < 0]}")
        rest = [kind for kind in FILLING for _ in range(stock[kind])]
        for hand in hands:
            while len(hand) < HAND_SIZE:
                hand.append(rest.pop(next(i for i, kind in enumerate(rest) if not NOT_IN_HANDS.search(kind))))
            if len(hand) > HAND_SIZE:
                raise ValueError(f"a hand of more than {HAND_SIZE} cards: {hand}")
        total = len(rest) + sum(map(len, self.piles))
        piles = [list(pile) for pile in self.piles]
        for number, pile in enumerate(piles):
            missing = (total + 2 - number) // 3 - len(pile)
            if missing < 0:
                raise ValueError(f"pile {number + 1} has too many cards")
            pile += rest[:missing]
            del rest[:missing]
        return {"hands": hands, "armies": self.armies, "piles": piles}


class Transcript:
    """A transcript file: `rules`, `deal`, `deck_text` (None: the standard deck), and the lines to play."""

    def __init__(self, path: Path) -> None:
        setup = Setup()
        self.lines: list[tuple[int, str]] = []
        for number, line in enumerate(path.read_text().splitlines(), start=1):
            line = line.partition("#")[0].strip()
            if line and (self.lines or not setup.read(line)):
                self.lines.append((number, line))
        self.rules = setup.rules()
        self.deal = setup.deal()
        self.deck_text = setup.deck_text()

    def record(self) -> dict[str, Any]:
        """The game before its first action, as a game record."""
        return {
            "format": "bvb-record/1",
            "rules": self.rules,
            "deal": self.deal,
            "actions": [],
            "result": None,
        }

    def play(self, engine: Engine) -> None:
        """Play and check all lines. Raises Mismatch at the first that does not hold."""
        for number, line in self.lines:
            try:
                _run_line(engine, line, self.rules["players"])
            except Mismatch as mismatch:
                raise Mismatch(f"line {number}: {line}\n{mismatch}") from None


# ---------------------------------------------------------------- playing and checking


def _run_line(engine: Engine, line: str, players: int) -> None:
    if play := re.fullmatch(r"(\d)> (.+)", line):
        for action in _actions(play[2]):
            _expect("seat to move", engine.observation(None).get("current_player"), int(play[1]))
            try:
                engine.apply(action)
            except ValueError as error:
                raise Mismatch(f"{action}: {error}; legal: {engine.legal()}") from error
        return
    what, _, text = (part.strip() for part in line.partition(":"))
    everyone: list[Observer] = [None, *range(players)]
    match what.split():
        case ["legal"]:
            _expect("legal", engine.legal(), sorted(_items(text)))
        case ["legal", "has"]:
            _expect("missing", [action for action in _items(text) if action not in engine.legal()], [])
        case ["legal", "lacks"]:
            _expect("unexpected", [action for action in _items(text) if action in engine.legal()], [])
        case ["legal", *prefix, "*"]:
            start = " ".join(prefix) + " "
            ends = [action.removeprefix(start) for action in engine.legal() if action.startswith(start)]
            _expect("legal", sorted(ends), sorted(_items(text)))
        case ["illegal"]:
            _expect_refused(engine, text, everyone)
        case ["sees", observer]:
            _expect("events", " | ".join(engine.events(_observer(observer))), text)
        case ["all", *words]:
            for seat in everyone:
                _expect(f"shown to {seat}", _field(engine, seat, words), text)
        case ["knows", observer, *words]:
            _expect(what, _field(engine, _observer(observer), words), text)
        case _:
            raise ValueError(f"not a line of a transcript: {line}")


def _actions(text: str) -> Iterator[str]:
    for part in text.split(";"):
        action, times = re.fullmatch(r"(.+?)(?: x(\d+))?", part.strip()).groups()  # type: ignore[union-attr]
        yield from [action] * int(times or 1)


def _items(text: str) -> list[str]:
    return [] if text == "none" else [item.strip() for item in text.split(",")]


def _observer(word: str) -> Observer:
    return None if word == "spectator" else int(word)


def _expect(what: str, actual: object, expected: object) -> None:
    if actual != expected:
        raise Mismatch(f"{what}: {actual!r}, expected {expected!r}")


def _expect_refused(engine: Engine, action: str, everyone: list[Observer]) -> None:
    before = [engine.observation(observer) for observer in everyone]
    _expect("legal", action in engine.legal(), False)
    try:
        engine.apply(action)
    except ValueError:
        _expect("views", [engine.observation(observer) for observer in everyone], before)
    else:
        raise Mismatch(f"{action} was not refused")


# ---------------------------------------------------------------- fields of an observation, in words


def _field(engine: Engine, observer: Observer, words: list[str]) -> str:
    view = engine.observation(observer)
    result = view.get("result", {})
    match words:
        case ["to", "move"]:
            return _words([view.get("current_player", "-")])
        case ["turn"]:
            return str(view["turn_number"])
        case ["used"]:
            return str(view["actions_used"])
        case ["final", "turns"]:
            return str(view.get("final_turns_left", "-"))
        case ["pending"]:
            return str(view["pending"]).removeprefix("PENDING_").lower().replace("unspecified", "-")
        case ["piles"]:
            return _words(view["pile_counts"])
        case ["discard"]:
            return _words(view["discard"])
        case ["hand", seat]:
            return _words(view["players"][int(seat)]["hand"])
        case ["hand", "count", seat]:
            return str(view["players"][int(seat)]["hand_count"])
        case ["collected", seat]:
            return _words(view["players"][int(seat)]["collected"])
        case ["located", seat]:
            return _words(_located(fact) for fact in view["players"][int(seat)]["located"])
        case ["army", army]:
            return _army(view, army)
        case ["monsters"]:
            return _words(f"m{monster['number']}" for monster in view["monsters"])
        case ["monster", name]:
            return _monster(view, name)
        case ["head", name]:
            return _head(view, name)
        case ["score"]:
            return _words(engine.scores())
        case ["returns"]:
            return _words(f"{share:.3g}" for share in engine.returns())
        case ["babies" | "winners" as key]:
            return _words(result.get(key, []))
        case ["reason"]:
            return str(result.get("reason", "-"))
    raise ValueError(f"no such field: {words}")


def _words(values: Any) -> str:
    return " ".join(map(str, values)) or "-"


def _located(fact: dict[str, Any]) -> str:
    return f"{fact['kind']}({','.join(f'm{number}' for number in fact['masks'])})"


def _army(view: dict[str, Any], army: str) -> str:
    babies = next(entry["babies"] for entry in view["armies"] if entry["type"] == army)
    return ", ".join(f"{baby['kind'] or '?'} {_seen(baby)}" for baby in babies) or "-"


def _seen(thing: dict[str, Any]) -> str:
    return "public" if thing["public"] else "seen by " + _words(thing["seen_by"])


def _monster(view: dict[str, Any], name: str) -> str:
    """Owner and cards, `-` in place of the head of a dead one."""
    monster = _find(view, name)
    if monster is None:
        return "gone"
    head = (monster["head"]["kind"] or "?") if "head" in monster else "-"
    slots = ("left_arm", "right_arm", "legs", "left_tool", "right_tool", "hat")
    cards = [head, *filter(None, [monster["torso"]]), *(slot for slot in slots if monster[slot])]
    return f"of {monster['owner']} {_words(cards)}"


def _head(view: dict[str, Any], name: str) -> str:
    head = (_find(view, name) or {}).get("head")
    if head is None:
        return "-"
    if not head["masked"]:
        return str(head["kind"])
    excluded = f", not {_words(head['excluded_types'])}" if head["excluded_types"] else ""
    return f"{head['kind'] or '?'} masked, {_seen(head)}{excluded}"


def _find(view: dict[str, Any], name: str) -> dict[str, Any] | None:
    return next((monster for monster in view["monsters"] if f"m{monster['number']}" == name), None)
