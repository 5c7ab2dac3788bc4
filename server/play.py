"""A game at one terminal: people and bots in turn, from what each seat knows and nothing else."""

import contextlib
import errno
import json
import os
import shlex
import signal
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from rich.columns import Columns
from rich.console import Console
from rich.rule import Rule
from rich.table import Table

import ai
import bvb
import bvb_core
from server import convert
from server.play_story import narrate
from server.play_table import (
    THEME,
    VERBS,
    Words,
    board,
    counted,
    groups,
    heading,
    name,
    ordered,
    playable,
    score,
    wrapped,
)
from server.text import plural

with contextlib.suppress(ImportError):  # not every Python has it
    import readline

WIDEST = 100
HUMAN = "human"
HINTS = 5
LAST_LINES = 8
# Signals that end a game as `quit` does.
LEAVING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

HELP = """\
Type a move by its number or in notation, as in `draw 2` or `arm m1 left`.
Beginnings of words are enough where one move fits (`pr se` for `provoke sea`);
Tab completes.

  ?             a hint from the engine
  moves [...]   all moves, or those that begin like ...
  look          who has seen which hidden cards; collected Babies; discards
  log           all that happened
  undo          take your last move back (when you play against bots only)
  save [FILE]   write the record
  quit          save and leave, like Ctrl-D and Ctrl-C
  help          this text (an empty line shows the table again)

In a turn you use all your actions to draw and play cards (a tool gives one
more), or provoke an army, or dive for one of the discards. Provoked Babies
fight all monsters of their type, and bears. The strongest player collects them,
if strong enough for their points. docs/rules.md has all the rules.

  2 3* ?   points of Babies; 3*: not all have seen it; ?: you have not seen it
  5+?      strength against an army: 5, and masked heads may add to it
  *arm     a card of your hand that can be played now\
"""

Advice = dict[str, Any]
# What gives moves for an observation; the token ends a search early.
Adviser = Callable[[bvb_core.Observation, ai.StopToken], Advice]


def local_adviser(spec: str, seed: int) -> Adviser:
    """A bot of this process. ValueError when there is none of that name."""
    bot = ai.make_bot(spec, seed=seed)
    return lambda observation, stop: bot.suggest(observation, stop=stop).to_dict()


def server_adviser(client: bvb.Client, **budget: Any) -> Adviser:
    """The engine on a server."""
    return lambda observation, stop: convert.suggestion_to_dict(client.suggest_move(observation, **budget))


def make_console() -> Console:
    """Plain text without a terminal, on a dumb one, and with NO_COLOR."""
    for stream in (sys.stdin, sys.stdout):
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    plain = not sys.stdout.isatty() or os.environ.get("TERM") == "dumb" or bool(os.environ.get("NO_COLOR"))
    console = Console(
        theme=THEME,
        highlighter=Words(),
        markup=False,
        emoji=False,
        color_system=None if plain else "auto",
    )
    console.width = min(console.width, WIDEST)
    return console


class Session:
    """One game from where it stands to its end, or to where a person leaves it."""

    def __init__(
        self,
        record: dict[str, Any],
        deck: bvb_core.Deck,
        seats: Sequence[Adviser | None],
        specs: Sequence[str],
        hint: Adviser,
        save_to: Path,
        console: Console,
        deck_path: str | None = None,
        server: str | None = None,
    ) -> None:
        """`record` is a game to go on with; seats without an adviser are people. `deck_path` and `server` are what the
        commands that go on from the saved game need."""
        self.deck = deck
        self.seats = seats
        self.specs = ",".join(specs)
        self.labels = [spec.split(":")[0] for spec in specs]
        self.hint = hint
        self.save_to = save_to
        self.with_deck = ["--deck", deck_path] if deck_path else []
        self.with_server = ["--server", server] if server else []
        # Files that may be written over: the one that the game was loaded from, and those it was saved in.
        self.own_files: set[Path] = set()
        self.console = console
        self.humans = [seat for seat, adviser in enumerate(seats) if adviser is None]
        #: Whose eyes the screen is for: the people, and a spectator unless there is just one of them.
        self.viewers: list[int | None] = [*self.humans] if len(self.humans) == 1 else [*self.humans, None]
        self.interactive = sys.stdin.isatty()
        self.state = bvb_core.State.from_record(record, after=0, deck=deck)
        self.log: dict[int | None, list[str]] = {viewer: [] for viewer in self.viewers}
        #: Lines of the log that a viewer had before their last move.
        self.seen = dict.fromkeys(self.viewers, 0)
        #: What people may take back: the state before each of their moves, with the lengths above.
        self.marks: list[tuple[bvb_core.State, dict[int | None, int], dict[int | None, int]]] = []
        self.at_screen: int | None = None
        self.saved = self.unsaved = False
        self.look_up()
        for action in record["actions"]:
            self.play(action)
        self.unsaved = False

    # The game

    def look_up(self) -> None:
        self.views = {viewer: self.state.observation(viewer).to_dict() for viewer in self.viewers}

    def play(self, action: str) -> None:
        """Play an action of the seat to move, and tell every viewer what they saw."""
        seat = self.state.current_player
        if self.seats[seat] is None:
            lengths = {viewer: len(lines) for viewer, lines in self.log.items()}
            self.marks.append((self.state.clone(), lengths, dict(self.seen)))
            self.seen[seat] = lengths[seat]
        before = self.views
        self.state.apply(action)
        self.unsaved = True
        self.look_up()
        for viewer, lines in self.log.items():
            lines += narrate(self.deck, before[viewer], self.state.events(viewer), self.views[viewer])

    def undo(self) -> str:
        """Go back to before the last move of the only person; gives what to say about it."""
        if len(self.humans) > 1:
            return "Undo is for games against bots only: another person plays here."
        if not self.marks:
            return "There is no move of yours to take back."
        self.state, lengths, self.seen = self.marks.pop()
        for viewer, length in lengths.items():
            del self.log[viewer][length:]
        self.look_up()
        return "You take your last move back."

    def think(self, adviser: Adviser, seat: int) -> Advice:
        """Advice for a seat, in a thread, so that Ctrl-C need not wait for it."""
        stop = ai.StopToken()
        with ThreadPoolExecutor(1) as pool, self.thinking(seat):
            future = pool.submit(adviser, self.state.observation(seat), stop)
            try:
                return future.result()
            except BaseException:
                stop.stop()
                raise

    def thinking(self, seat: int) -> contextlib.AbstractContextManager[Any]:
        if self.console.color_system is None:
            return contextlib.nullcontext()
        return self.console.status(f"seat {seat} thinks", spinner="line")

    def save(self, path: Path) -> None:
        """Write the record, in whole or not at all. OSError when that fails."""
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if path.exists() and path not in self.own_files:
            raise FileExistsError(errno.EEXIST, "it exists, and holds another game", str(path))
        draft = path.with_name(f".{path.name}.part")
        draft.write_text(json.dumps(self.state.to_record(), separators=(",", ":")) + "\n", encoding="utf-8")
        draft.replace(path)
        self.save_to = path
        self.own_files.add(path)
        self.saved = True
        self.unsaved = False

    # The conversation

    def run(self) -> None:
        """Play to the end, or until the input ends, `quit` or Ctrl-C; the game is saved in any case."""
        try:
            self.console.print(self.greeting())
            while not self.state.is_terminal:
                seat = self.state.current_player
                adviser = self.seats[seat]
                if adviser is None:
                    self.take_seat(seat)
                    self.ask(seat)
                else:
                    self.watch()
                    self.play(self.think(adviser, seat)["action"])
            self.farewell()
        except (EOFError, KeyboardInterrupt):
            self.console.print("\nYou leave the game.")
        finally:
            self.keep()

    def greeting(self) -> str:
        players = ", ".join(f"seat {seat}: {label}" for seat, label in enumerate(self.labels))
        hint = " `help` explains the screen, `?` gives a hint." if self.humans else ""
        return f"Bears vs Babies ({players}).{hint}"

    def keep(self) -> None:
        """Save what is not saved, undisturbed, and say where it is."""
        for number in LEAVING:
            signal.signal(number, signal.SIG_IGN)
        if self.unsaved:
            self.save(self.save_to)
        if not self.saved:
            return
        self.console.print(f"The game is saved in {self.save_to}", soft_wrap=True)
        if self.state.is_terminal:
            purpose, words = "check it: ", ["replay", str(self.save_to)]
        else:
            purpose, words = "go on:    ", ["play", "--load", str(self.save_to), "--seats", self.specs, *self.with_server]
        self.console.print(f"  {purpose} {shlex.join(['bvb', *words, *self.with_deck])}", soft_wrap=True)

    def read(self, prompt: str) -> str:
        line = input(prompt)
        if not self.interactive:
            self.console.print(line, highlight=False)
        return line

    def watch(self) -> None:
        """Show bots' games as they go: what is new, and the table at the beginning of each round."""
        if self.humans:
            return
        view = self.views[None]
        self.news(None)
        if view["actions_used"] == 0 and view["turn_number"] % len(self.seats) == 1:
            self.console.print(
                heading(self.deck, view), board(self.deck, view, self.labels, self.console.width)
            )

    def news(self, viewer: int | None) -> None:
        for line in self.log[viewer][self.seen[viewer] :]:
            self.console.print(line)
        self.seen[viewer] = len(self.log[viewer])

    def take_seat(self, seat: int) -> None:
        """With several people: make sure that the right one sits at the screen before a hand is shown."""
        if len(self.humans) == 1 or seat == self.at_screen or not self.interactive:
            self.at_screen = seat
            return
        if self.at_screen is not None:
            self.recent(self.at_screen)
            self.read(f"Your turn is over. Enter hides your cards, then seat {seat} plays. ")
        self.clear()
        self.read(f"Seat {seat}, press Enter when nobody else looks. ")
        self.clear()
        self.at_screen = seat

    def clear(self) -> None:
        if self.console.color_system is None:
            print("\n" * self.console.height)
        else:
            print("\x1b[H\x1b[2J\x1b[3J", end="", flush=True)  # the screen, and what was scrolled away

    def recent(self, seat: int) -> None:
        """What happened since the last move of a seat, as far as it fits."""
        lines = self.log[seat][self.seen[seat] :]
        room = max(LAST_LINES, self.console.height - 16) if self.interactive else len(lines)
        if len(lines) > room:
            self.console.print(f"... {plural(len(lines) - room, 'line')} before, see `log`")
        for line in lines[len(lines) - min(room, len(lines)) :]:
            self.console.print(line)

    def screen(self, seat: int, moves: Sequence[Any]) -> None:
        view = self.views[seat]
        print_ = self.console.print
        print_(heading(self.deck, view))
        print_(board(self.deck, view, self.labels, self.console.width))
        print_(Rule(characters="-"))
        self.recent(seat)
        hand = counted(view["players"][seat]["hand"], playable(self.deck, moves), between="  ") or "empty"
        print_(wrapped(f"hand  {hand}", self.console.width))
        self.listing(groups(moves, cells=4 * max(1, self.console.width // 26)))

    def listing(self, cells: Sequence[str]) -> None:
        self.console.print(Columns([self.console.render_str(cell) for cell in cells], padding=(0, 2)))

    def ask(self, seat: int) -> None:
        """Let a person move, or take a move back."""
        observation = self.state.observation(seat)
        moves = ordered(observation.legal_actions())
        texts = [str(move) for move in moves]
        complete(texts + list(COMMANDS))
        self.screen(seat, moves)
        position = self.state
        while self.state is position:
            line = self.read(f"seat {seat}> ")
            words = line.lower().split()
            if not words:
                if self.interactive:
                    self.screen(seat, moves)
            elif words[0] in COMMANDS:
                COMMANDS[words[0]](self, seat, texts, line.split()[1:])
            else:
                found = match(words, texts)
                if len(found) == 1:
                    self.play(found[0])
                    return
                if found:
                    self.console.print(f"{len(found)} moves begin like that:")
                    self.show_moves(seat, texts, words)
                else:
                    self.console.print(self.refusal(" ".join(words), texts, observation))

    def refusal(self, text: str, texts: Sequence[str], observation: bvb_core.Observation) -> str:
        if text.isdecimal():
            return f"There is no move {text}: the moves are 1 to {len(texts)}."
        if text.split()[0] not in VERBS:
            return f"{text!r} is no move now, and no command: see `moves` and `help`."
        return f"{text!r} is not possible: {observation.any_state().why_illegal(text)}"

    # Commands

    def show_hint(self, seat: int, texts: Sequence[str], words: Sequence[str]) -> None:
        try:
            advice = self.think(self.hint, seat)
        except bvb.Error as error:
            self.console.print(f"No hint: {error.message}")
            return
        table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, highlight=True, header_style="")
        table.add_column("hint")
        table.add_column("you win", justify="right")
        table.add_column("points", justify="right")
        table.add_column("tried", justify="right")
        table.add_column("and then")
        for alternative in advice["alternatives"][:HINTS]:
            action = alternative["action"]
            table.add_row(
                f"{texts.index(action) + 1} {action}",
                f"{alternative['win_probability'][seat]:.0%}",
                f"{alternative['expected_score'][seat]:.1f}",
                str(alternative["visits"]),
                ", ".join(alternative["pv"][1:3]),
            )
        self.console.print(table)
        effort = f"{plural(advice['iterations'], 'game')} tried in {advice['elapsed_ms'] / 1000:.1f} s"
        self.console.print(f"Best: {advice['action']} ({effort})")

    def show_moves(self, seat: int, texts: Sequence[str], words: Sequence[str]) -> None:
        listed = match([word.lower() for word in words], texts) if words else texts
        self.listing([f"{texts.index(text) + 1:>2} {text}" for text in listed] or ["none"])

    def show_log(self, seat: int, texts: Sequence[str], words: Sequence[str]) -> None:
        for line in self.log[seat]:
            self.console.print(line)

    def show_knowledge(self, seat: int, texts: Sequence[str], words: Sequence[str]) -> None:
        view = self.views[seat]
        print_ = self.console.print
        for army in view["armies"]:
            for place, baby in enumerate(army["babies"], 1):
                others = [other for other in baby["seen_by"] if other != seat]
                seen = "everyone" if baby["public"] else seats_text(others)
                print_(f"{army['type']} Baby {place}: {baby['kind'] or 'unknown'}, seen by {seen}")
        for monster in view["monsters"]:
            head = monster.get("head")
            if head and head["masked"] and not head["public"]:
                others = [other for other in head["seen_by"] if other != seat]
                excluded = ", ".join([*head["excluded_types"], "bear"]) if head["excluded_types"] else "none"
                print_(
                    f"m{monster['number']}: {head['kind'] or 'unknown head'}, seen by {seats_text(others)}"
                )
                if not head["kind"]:
                    print_(f"    provoked in vain, so not: {excluded}")
        for other, player in enumerate(view["players"]):
            collected = counted(player["collected"], between="  ") or "nothing"
            print_(wrapped(f"{name(view, self.labels, other)} collected  {collected}", self.console.width))
        discards = counted(view["discard"], between="  ") or "none"
        print_(wrapped(f"discards  {discards}", self.console.width))

    def take_back(self, seat: int, texts: Sequence[str], words: Sequence[str]) -> None:
        self.console.print(self.undo())

    def save_now(self, seat: int, texts: Sequence[str], words: Sequence[str]) -> None:
        path = Path(" ".join(words)) if words else self.save_to
        try:
            self.save(path)
        except OSError as error:
            self.console.print(f"Cannot write {path}: {error.strerror}", soft_wrap=True)
        else:
            self.console.print(f"The game is saved in {path}", soft_wrap=True)

    def show_help(self, seat: int, texts: Sequence[str], words: Sequence[str]) -> None:
        self.console.print(HELP)

    def leave(self, seat: int, texts: Sequence[str], words: Sequence[str]) -> None:
        raise EOFError

    def farewell(self) -> None:
        """The end of the game."""
        viewer = self.viewers[-1]
        if len(self.humans) > 1:
            self.seen[viewer] = max(0, len(self.log[viewer]) - LAST_LINES)
        self.news(viewer)
        view = self.state.observation(viewer).to_dict()
        result = view["result"]
        self.console.print(heading(self.deck, view))
        table = Table.grid(padding=(0, 2, 0, 0))
        table.highlight = True
        for _ in range(4):
            table.add_column()
        order = sorted(range(len(self.seats)), key=lambda s: (-result["scores"][s], -result["babies"][s]))
        for seat in order:
            player = view["players"][seat]
            table.add_row(
                name(view, self.labels, seat),
                plural(score(self.deck, player), "point"),
                plural(result["babies"][seat], "Baby", "Babies"),
                "wins" if seat in result["winners"] else "",
            )
        self.console.print(table)
        self.console.print(verdict(result["winners"], viewer))
        if result["reason"] == "turn_limit":
            self.console.print("The turn limit ended the game.")


def verdict(winners: Sequence[int], viewer: int | None) -> str:
    others = " and ".join(f"seat {seat}" for seat in winners if seat != viewer)
    if viewer not in winners:
        return f"Victory for {others}."
    return f"You share the victory with {others}!" if others else "You win!"


COMMANDS: dict[str, Callable[[Session, int, Sequence[str], Sequence[str]], None]] = {
    "?": Session.show_hint,
    "hint": Session.show_hint,
    "help": Session.show_help,
    "moves": Session.show_moves,
    "look": Session.show_knowledge,
    "log": Session.show_log,
    "undo": Session.take_back,
    "save": Session.save_now,
    "quit": Session.leave,
    "exit": Session.leave,
}


def seats_text(seats: Sequence[int]) -> str:
    return ", ".join(f"seat {seat}" for seat in seats) or "you alone"


def match(words: Sequence[str], texts: Sequence[str]) -> list[str]:
    """The moves that are meant: one by number or full text, else all whose words begin like these."""
    if len(words) == 1 and words[0].isdecimal():
        number = int(words[0])
        return [texts[number - 1]] if 1 <= number <= len(texts) else []
    if " ".join(words) in texts:
        return [" ".join(words)]
    return [
        text
        for text in texts
        if len(words) <= len(text.split())
        and all(full.startswith(word) for word, full in zip(words, text.split(), strict=False))
    ]


def complete(texts: Sequence[str]) -> None:
    """Let Tab complete these lines."""
    if "readline" not in globals():
        return

    def completer(text: str, nth: int) -> str | None:
        found = [candidate for candidate in texts if candidate.startswith(text)]
        return found[nth] if nth < len(found) else None

    readline.set_completer(completer)
    readline.set_completer_delims("")
    readline.parse_and_bind("tab: complete")
    readline.parse_and_bind("set enable-bracketed-paste off")
