"""`bvb play`: whole games in a pseudo-terminal, and what a player relies on."""

import fcntl
import io
import json
import os
import pty
import random
import re
import select
import shlex
import signal
import struct
import subprocess
import sys
import termios
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from rich.console import Console

import bvb_core
from server import play, play_story, play_table
from server.cli import main

from ..games import random_game, states
from .conftest import Service

WIDTH, HEIGHT = 80, 24
ESCAPE = re.compile(r"\x1b(\[[0-9;?]*[ -/]*[@-~]|[()=>].?)")
MOVE = re.compile(r"(?:^|\s)(\d+)(?:-\d+)? [a-z]")
DECK = bvb_core.load_deck()


class Terminal:
    """`bvb play` in a pseudo-terminal of 80x24."""

    def __init__(self, folder: Path, *arguments: str, **environment: str) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", HEIGHT, WIDTH, 0, 0))
        inherited = {
            key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "COLUMNS", "LINES")
        }
        self.process = subprocess.Popen(
            [sys.executable, "-m", "bvb", "play", *arguments],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=folder,
            env=inherited | {"TERM": "xterm-256color", **environment},
        )
        os.close(slave)
        self.output = ""

    def expect(self, pattern: str, timeout_s: float = 30) -> str:
        """Read up to the next match; gives what was new, without escapes."""
        start = len(self.output)
        deadline = time.monotonic() + timeout_s
        while not re.search(pattern, ESCAPE.sub("", self.output[start:])):
            if not self._read(deadline):
                raise AssertionError(f"ended without {pattern!r}: {self.output[start:]!r}")
        return ESCAPE.sub("", self.output[start:])

    def _read(self, deadline: float) -> bool:
        """Read what comes next; False when there is no more to come."""
        ready, _, _ = select.select([self._master], [], [], max(0, deadline - time.monotonic()))
        assert ready, f"nothing more after {self.output[-2000:]!r}"
        try:
            data = os.read(self._master, 65536)
        except OSError:  # the other end is closed
            return False
        self.output += data.decode()
        return bool(data)

    def type(self, line: str) -> None:
        os.write(self._master, f"{line}\r".encode())

    def interrupt(self, number: signal.Signals = signal.SIGINT) -> str:
        """Send a signal, and read to the end.

        Python's readline overlooks a signal that comes just after the prompt, until the next one.
        """
        while self.process.poll() is None:
            self.process.send_signal(number)
            ready, _, _ = select.select([self._master], [], [], 1)
            if ready:
                break
        return self.end()

    def end(self) -> str:
        """Read to the end; gives what was new, without escapes."""
        start = len(self.output)
        deadline = time.monotonic() + 30
        while self._read(deadline):
            pass
        assert self.process.wait(timeout=30) == 0
        assert "Traceback" not in self.output
        return ESCAPE.sub("", self.output[start:])

    def hang_up(self) -> None:
        os.close(self._master)
        self._master = -1

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        if self._master >= 0:
            self.hang_up()


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Callable[..., Terminal]]:
    terminals = []

    def start(*arguments: str, **environment: str) -> Terminal:
        terminals.append(Terminal(tmp_path, *arguments, **environment))
        return terminals[-1]

    yield start
    for opened in terminals:
        opened.close()


@pytest.fixture(autouse=True)
def restored_signals() -> Iterator[None]:
    """The command takes signals over, here in the process of the tests."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    handlers = [signal.getsignal(number) for number in numbers]
    yield
    for number, handler in zip(numbers, handlers, strict=True):
        signal.signal(number, handler)


def script(folder: Path, lines: str, *arguments: str) -> Result:
    """`bvb play` in this process, with its input from a text."""
    with chdir(folder):
        done = CliRunner().invoke(main, ["play", *arguments], input=lines, env={"COLUMNS": str(WIDTH)})
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


def shown(folder: Path, lines: str, *arguments: str) -> str:
    done = script(folder, lines, *arguments)
    assert (done.exit_code, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout
    assert longest(re.sub(r"^  (go on|check it):.*", "", done.stdout, flags=re.MULTILINE)) <= WIDTH
    return done.stdout


def longest(text: str) -> int:
    return max(len(line) for line in re.split(r"[\r\n]+", ESCAPE.sub("", text)))


def saved(path: Path) -> bvb_core.State:
    return bvb_core.State.from_record(json.loads(path.read_text()))


PRACTICE = (
    "--practice",
    "--seats",
    "human,random",
    "--seed",
    "1",
    "--first-player",
    "0",
    "--save",
    "game.json",
)


@pytest.mark.parametrize(
    ("players", "environment"),
    [(2, {}), (4, {"NO_COLOR": "1"}), (3, {"TERM": "dumb"})],
    ids=["2-color", "4-no-color", "3-dumb"],
)
def test_whole_game(
    terminal: Callable[..., Terminal], tmp_path: Path, players: int, environment: dict[str, str]
) -> None:
    options = ["--practice"] if players == 3 else []
    seats = ",".join(["human"] + ["random"] * (players - 1))
    game = terminal("--seats", seats, "--seed", str(players), "--save", "game.json", *options, **environment)
    rng = random.Random(players)
    moves = 0
    while "game is over" not in (text := game.expect("seat 0> $|bvb replay game.json")):
        game.type(rng.choice(MOVE.findall(text[text.rindex("hand  ") :].split("\n", 1)[1])))
        moves += 1
    text += game.end()
    state = saved(tmp_path / "game.json")
    assert state.is_terminal
    assert moves == sum(mover == 0 for mover in movers(state))
    for seat, points in enumerate(state.scores()):
        line = re.search(rf"seat {seat} \(\w+\) +(\d+) points? +(\d+) Bab(y|ies)( +wins)?", text)
        assert line is not None
        assert (int(line[1]), int(line[2])) == (points, state.babies()[seat])
        assert bool(line[4]) == (seat in state.winners())
    assert longest(game.output) <= WIDTH
    assert ("\x1b" in game.output) == (not environment)


def movers(state: bvb_core.State) -> list[int]:
    record = state.to_record()
    again = bvb_core.State.from_record(record, after=0)
    seats = []
    for action in record["actions"]:
        seats.append(again.current_player)
        again.apply(action)
    return seats


def test_watching_bots(tmp_path: Path) -> None:
    text = shown(
        tmp_path, "", "--seats", "random,random,random,random,random", "--save", "game.json", "--armageddon"
    )
    state = saved(tmp_path / "game.json")
    assert state.is_terminal
    assert f"turn {state.turn_number}, the game is over" in text
    assert text.count("seat 0> ") == 0


@pytest.mark.parametrize("wanted", ["draw 2", "DRAW  2", "dr 2", "2"])
def test_ways_to_write_a_move(tmp_path: Path, wanted: str) -> None:
    shown(tmp_path, f"{wanted}\n", *PRACTICE)
    assert saved(tmp_path / "game.json").to_record()["actions"] == ["draw 2"]


def test_beginnings_that_fit_several_moves(tmp_path: Path) -> None:
    text = shown(tmp_path, "dr\n", *PRACTICE)
    assert "3 moves begin like that:\n 1 draw 1   2 draw 2   3 draw 3\n" in text
    assert not (tmp_path / "game.json").exists()


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("fly", "no move now, and no command"),
        ("0", "the moves are 1 to"),
        ("1000", "the moves are 1 to"),
        ("²", "no move now"),
        ("draw 4", "the pile is 1, 2 or 3"),
        ("hat m1", "no hat"),
        ("provoke sea", "provoke takes a whole turn"),
        ("wild sea", "no Wild Provoke"),
        ("pass", "once all draw piles are empty"),
    ],
)
def test_illegal_input(tmp_path: Path, line: str, reason: str) -> None:
    text = " ".join(shown(tmp_path, f"draw 1\n{line}\ndraw 2\n", *PRACTICE).split())
    assert reason in text
    assert saved(tmp_path / "game.json").to_record()["actions"][:2] == ["draw 1", "draw 2"]


def test_hint(tmp_path: Path) -> None:
    text = shown(tmp_path, "?\n", *PRACTICE, "--hint-ms", "20")
    best = re.search(r"^Best: (.+) \(\d+ games tried", text, re.MULTILINE)
    assert best is not None
    assert best[1] in map(str, saved_start().legal_actions())
    assert re.search(rf"^\d+ {best[1]} +\d+% +\d+\.\d +\d+", text, re.MULTILINE)


def saved_start() -> bvb_core.State:
    return bvb_core.new_game(players=2, seed=1, first_player=0, practice=True)


def test_undo(tmp_path: Path) -> None:
    text = shown(tmp_path, "undo\ndraw 1\ndraw 2\nundo\nundo\ndraw 3\n", *PRACTICE)
    assert text.count("There is no move of yours to take back.") == 1
    assert text.count("You take your last move back.") == 2
    assert saved(tmp_path / "game.json").to_record()["actions"] == ["draw 3"]


def test_undo_takes_moves_of_bots_back_too(tmp_path: Path) -> None:
    text = shown(tmp_path, "draw 1\ndraw 2\nundo\nlog\n", *PRACTICE)
    assert re.findall(r"turn (\d+), you are seat 0, action (\d)", text) == [
        ("1", "1"),
        ("1", "2"),
        ("3", "1"),
        ("1", "2"),
    ]
    assert re.fullmatch(
        r"you draw \w+ from pile 1\n", text[text.index("> log\n") + 6 : text.rindex("seat 0> ")]
    )
    assert saved(tmp_path / "game.json").to_record()["actions"] == ["draw 1"]


def test_no_undo_against_people(tmp_path: Path) -> None:
    options = (
        "--practice",
        "--seats",
        "human,human",
        "--seed",
        "1",
        "--first-player",
        "0",
        "--save",
        "game.json",
    )
    assert "against bots only" in shown(tmp_path, "draw 1\nundo\n", *options)
    assert saved(tmp_path / "game.json").to_record()["actions"] == ["draw 1"]


def test_save_and_load(tmp_path: Path) -> None:
    before = shown(tmp_path, "draw 1\ndraw 2\nlog\nsave Other Name.json\ndraw 1\nquit\n", *PRACTICE)
    assert (
        "The game is saved in Other Name.json\n  go on:     bvb play --load 'Other Name.json' --seats human"
        in before
    )
    assert not (tmp_path / "game.json").exists()
    left = saved(tmp_path / "Other Name.json").to_record()["actions"]
    assert left[:2] == ["draw 1", "draw 2"]
    assert left[-1] == "draw 1"

    after = shown(tmp_path, "log\ndraw 3\n", "--load", "Other Name.json", "--seats", "human,random")
    log = before[before.index("> log\n") + 6 : before.index("seat 0> save")]
    assert log.startswith("you draw ")
    assert log in after
    gone_on = saved(tmp_path / "Other Name.json").to_record()["actions"]
    assert gone_on[: len(left) + 1] == [*left, "draw 3"]


def test_a_finished_game_is_shown(tmp_path: Path) -> None:
    shown(tmp_path, "", "--seats", "random,random", "--save", "game.json")
    before = (tmp_path / "game.json").read_bytes()
    assert "the game is over" in shown(tmp_path, "", "--load", "game.json")
    assert (tmp_path / "game.json").read_bytes() == before


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    text = shown(tmp_path, "draw 1\nsave .\nsave no/such/folder\nquit\n", *PRACTICE)
    assert "Cannot write .: Is a directory" in text
    assert "Cannot write no/such/folder: No such file" in text
    done = script(tmp_path, "draw 1\n", *PRACTICE[:-1], "no/game.json")
    assert done.exit_code == 1
    assert done.stderr.startswith("Error: no/")


def test_end_of_input(tmp_path: Path) -> None:
    text = shown(tmp_path, "draw 1\ndra", *PRACTICE[:-2])
    path = re.search(r"The game is saved in (bvb-\d+-\d+\.json)\n", text)
    assert path is not None
    assert saved(tmp_path / path[1]).to_record()["actions"] == ["draw 1"]


def test_nothing_to_save(tmp_path: Path) -> None:
    assert "saved" not in shown(tmp_path, "", *PRACTICE)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals(terminal: Callable[..., Terminal], tmp_path: Path, number: signal.Signals) -> None:
    game = terminal(*PRACTICE)
    game.expect("seat 0> $")
    game.type("draw 1")
    game.expect("seat 0> $")
    assert "The game is saved in game.json" in game.interrupt(number)
    assert saved(tmp_path / "game.json").to_record()["actions"] == ["draw 1"]


def test_terminal_that_is_closed(terminal: Callable[..., Terminal], tmp_path: Path) -> None:
    game = terminal(*PRACTICE)
    game.expect("seat 0> $")
    game.type("draw 1")
    game.expect("seat 0> $")
    game.hang_up()
    game.process.wait(timeout=30)
    assert saved(tmp_path / "game.json").to_record()["actions"] == ["draw 1"]


def test_interrupt_while_a_bot_thinks(terminal: Callable[..., Terminal], tmp_path: Path) -> None:
    game = terminal(*PRACTICE, "--seats", "human,ismcts:time_ms=600000")
    for _ in range(2):
        game.expect("seat 0> $")
        game.type("draw 1")
    game.expect("seat 1 thinks")
    start = time.monotonic()
    assert "The game is saved in game.json" in game.interrupt()
    assert time.monotonic() - start < 5
    assert saved(tmp_path / "game.json").to_record()["actions"] == ["draw 1", "draw 1"]


def test_two_people_at_one_screen(terminal: Callable[..., Terminal], tmp_path: Path) -> None:
    """A hand is on the screen between the pauses of its seat only, and cannot be scrolled back to."""
    game = terminal(*PRACTICE[:-4], "--first-player", "0", "--seats", "human,human", "--save", "game.json")
    state = saved_start()
    for seat in (0, 1, 0, 1):
        game.expect(f"Seat {seat}, press Enter when nobody else looks. $")
        assert "hand  " not in ESCAPE.sub("", game.output.rpartition("\x1b[2J\x1b[3J")[2])
        game.type("")
        for action in range(2):
            screen = game.expect("seat [01]> $")
            assert f"seat {seat}> " in screen
            hand = state.observation(seat).to_dict()["players"][seat]["hand"]
            words = screen[screen.index("hand  ") :]
            for kind, n in Counter(hand).items():
                assert re.search(rf"\b{kind}{f' x{n}' if n > 1 else ''}(\s|$)", words)
            game.type(f"draw {action + 1}")
            state.apply(f"draw {action + 1}")
        game.expect("Enter hides your cards, then seat .* plays. $")
        game.type("")
    game.expect("press Enter when nobody else looks. $")
    game.interrupt()
    assert saved(tmp_path / "game.json") == state


def test_two_people_to_the_end(tmp_path: Path) -> None:
    options = ("--practice", "--seats", "human,human", "--seed", "1", "--save", "game.json")
    end = shown(tmp_path, "draw 1\n" * 12, *options).split("> draw 1\n")[-1]
    assert re.match(r"seat [01] draws .*\n", end)
    assert "(you)" not in end
    assert "Victory for seat" in end


def test_completion(terminal: Callable[..., Terminal], tmp_path: Path) -> None:
    game = terminal(*PRACTICE)
    game.expect("seat 0> $")
    game.type("dra\t2")
    game.expect("seat 0> $")
    game.type("qui\t")
    game.end()
    assert saved(tmp_path / "game.json").to_record()["actions"] == ["draw 2"]


def test_server(tmp_path: Path, service: Service) -> None:
    options = ("--server", service.address, "--hint-ms", "20")
    text = shown(
        tmp_path, "?\ndraw 1\ndraw 1\n", *PRACTICE, *options, "--seats", "human,server:iterations=10"
    )
    assert "Best: " in text
    assert set(movers(saved(tmp_path / "game.json"))) == {0, 1}
    assert "you draw" in shown(tmp_path, "draw 1\n", *command(text, "go on:"))


def test_help_fits_the_screen(tmp_path: Path) -> None:
    assert play.HELP in shown(tmp_path, "help\n", *PRACTICE)


def test_server_that_is_not_there(tmp_path: Path) -> None:
    done = script(tmp_path, "draw 1\n", *PRACTICE, "--server", "127.0.0.1:9")
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: no bvb server answers at 127.0.0.1:9: ")
    assert not (tmp_path / "game.json").exists()


def test_server_that_is_lost_during_the_game(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server.cli_play.check_server", lambda client, address: None)
    done = script(
        tmp_path, "?\ndraw 1\ndraw 1\n", *PRACTICE, "--server", "127.0.0.1:9", "--seats", "human,server"
    )
    assert "No hint: " in done.stdout
    assert done.exit_code == 1
    assert done.stderr.startswith("Error: ")
    assert saved(tmp_path / "game.json").to_record()["actions"] == ["draw 1", "draw 1"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--players", "6"],
        ["--players", "2", "--seats", "human,random,random"],
        ["--seats", "human,nobody"],
        ["--seats", "human,server"],
        ["--seats", "human,server:speed=1", "--server", "localhost:1"],
        ["--seats", "human,server:exploration=1", "--server", "localhost:1"],
        ["--first-player", "2"],
        ["--load", "no-such-file.json"],
        ["--load", "game.json", "--players", "2"],
    ],
    ids=" ".join,
)
def test_bad_usage(tmp_path: Path, arguments: list[str]) -> None:
    (tmp_path / "game.json").write_text(json.dumps(saved_start().to_record()))
    done = script(tmp_path, "", *arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "Error: " in done.stderr


@pytest.mark.parametrize("text", ["", "nonsense", "[]", "{}", "\xff"])
def test_load_of_something_else(tmp_path: Path, text: str) -> None:
    (tmp_path / "game.json").write_text(text, encoding="latin-1")
    done = script(tmp_path, "", "--load", "game.json")
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: game.json: ")


def test_help_has_an_example(tmp_path: Path) -> None:
    assert "bvb play" in shown(tmp_path, "", "--help").split("Example:")[1]


def test_another_deck(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(
        'name = "small"\nextends = "standard"\n[counts]\nland_head = 3\nlegs = 0\n'
    )
    text = shown(tmp_path, "draw 1\n?\n", "--deck", "small.toml", "--save", "game.json", "--hint-ms", "20")
    assert "Best: " in text
    again = shown(tmp_path, "", *command(text, "go on:"))
    assert "seat 0> " in again
    assert "deck" in script(tmp_path, "", "--load", "game.json").stderr
    text = shown(tmp_path, "", "--deck", "small.toml", "--practice", "--seats", "random,random", "--save", "over.json")
    with chdir(tmp_path):
        done = CliRunner().invoke(main, ["replay", *command(text, "check it:")])
    assert done.stdout.startswith("over.json: 1 game with ")


def command(text: str, purpose: str) -> list[str]:
    """The arguments of the command that `bvb play` gives for a purpose."""
    (found,) = re.findall(rf"^  {purpose} +bvb \w+ (.*)$", text, re.MULTILINE)
    return shlex.split(found)


# The table and the story, without a terminal.


def rendered(view: dict[str, Any]) -> str:
    console = Console(
        file=io.StringIO(), width=WIDTH, theme=play_table.THEME, highlighter=play_table.Words(), markup=False
    )
    labels = ["ismcts"] * view["rules"]["players"]
    console.print(play_table.heading(DECK, view), play_table.board(DECK, view, labels, WIDTH))
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


def test_table_fits_in_every_position() -> None:
    for state in states(25, seed=3):
        for seat in (None, *range(state.rules["players"])):
            view = state.observation(seat).to_dict()
            text = rendered(view)
            assert longest(text) <= WIDTH
            for monster in view["monsters"]:
                assert re.search(rf"^ +m{monster['number']} ", text, re.MULTILINE)


def test_points_hold_the_truth() -> None:
    """The points of an army lie in the range that a seat is shown; a seat that knows all is shown them."""
    for state in states(40, seed=4):
        truth = {army: points_in(state, army) for army in play_table.TYPES}
        for seat in (None, *range(state.rules["players"])):
            view = state.observation(seat).to_dict()
            for army in view["armies"]:
                least, most = play_table.points(DECK, view, army)
                assert least <= truth[army["type"]] <= most
                if all(baby["kind"] for baby in army["babies"]):
                    assert least == most


def points_in(state: bvb_core.State, army: str) -> int:
    """Points of an army, put together from what each seat has seen: together they have seen every Baby."""
    views = [state.observation(seat).to_dict() for seat in range(state.rules["players"])]
    place = play_table.TYPES.index(army)
    columns = zip(
        *([baby["kind"] for baby in view["armies"][place]["babies"]] for view in views), strict=True
    )
    return sum(DECK[next(filter(None, column))].points for column in columns)


MONSTER = {
    "number": 1, "owner": 0, "torso": "crossroad_torso", "left_arm": True, "right_arm": True, "legs": True,
    "left_tool": False, "right_tool": False, "hat": False,
}  # fmt: skip


def head(kind: str, masked: bool = False, **more: Any) -> dict[str, Any]:
    return {"kind": kind, "masked": masked, "seen_by": [], "public": False, "excluded_types": [], **more}


@pytest.mark.parametrize(
    ("changes", "strength"),
    [
        ({"head": head("bear_head")}, "8"),
        ({"head": head("bear_head"), "hat": True}, "16"),
        ({"head": head("sea_head"), "left_tool": True, "right_tool": True}, "5"),
        ({"head": head("sea_head"), "left_tool": True, "hat": True}, "12"),
        ({"head": head("", masked=True)}, "?+5"),
        ({"head": head("", masked=True), "hat": True}, "2*(?+5)"),
        ({}, "dead"),
    ],
)
def test_strength(changes: dict[str, Any], strength: str) -> None:
    assert play_table.strength_text(DECK, MONSTER | changes) == strength


def test_muster_counts_what_may_fight() -> None:
    view = {
        "monsters": [
            MONSTER | {"head": head("sea_head")},
            MONSTER | {"head": head("bear_head")},
            MONSTER | {"head": head("", masked=True, excluded_types=["sky"])},
            MONSTER,
        ]
    }
    assert [play_table.muster(DECK, view, 0, army) for army in play_table.TYPES] == ["8+?", "15+?", "8"]
    assert play_table.muster(DECK, view, 1, "land") == "-"


@pytest.mark.parametrize("seat", [None, 0])
def test_story_tells_who_collects(seat: int | None) -> None:
    """After every action, the points of the game are those of the sentences, whoever watches."""
    rng = random.Random(6)
    for _ in range(10):
        state = random_game(rng)
        told: Counter[int] = Counter()
        while not state.is_terminal:
            before = state.observation(seat).to_dict()
            state.apply(rng.choice(state.legal_actions()))
            after = state.observation(seat).to_dict()
            for line in play_story.narrate(DECK, before, state.events(seat), after):
                collects = re.match(r"  (?:seat (\d)|you) collects? (?:(\d+) points?$|them$)", line)
                if collects:
                    winner = int(collects[1] or 0)
                    told[winner] += int(collects[2] or state.scores()[winner] - told[winner])
            assert [told[player] for player in range(state.rules["players"])] == state.scores()
