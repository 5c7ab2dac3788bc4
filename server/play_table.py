"""The table of a game in the terminal: what one observer knows, as text and `rich` tables.

Everything is computed from the JSON form of an observation and from the deck, so no hidden card can be shown.
"""

import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Group
from rich.highlighter import RegexHighlighter
from rich.rule import Rule
from rich.table import Table
from rich.theme import Theme

from bvb_core import Deck
from server.text import plural

View = dict[str, Any]

TYPES = ("land", "sea", "sky")
# Parts of a monster besides head and torso, with the role of the card.
PARTS = {
    "left_arm": "arm",
    "right_arm": "arm",
    "legs": "legs",
    "left_tool": "tool",
    "right_tool": "tool",
    "hat": "hat",
}
VERBS = (
    "wild", "draw", "head", "mask", "torso", "arm", "legs", "tool", "hat",
    "provoke", "dive", "swap", "dismember", "lullaby", "pass",
)  # fmt: skip

THEME = Theme(
    {
        "bvb.land": "green",
        "bvb.sea": "cyan",
        "bvb.sky": "magenta",
        "bvb.bear": "yellow",
        "bvb.monster": "bold",
        "bvb.you": "bold",
        "bvb.playable": "bold green",
        "rule.line": "dim",
        "rule.text": "bold",
    }
)


class Words(RegexHighlighter):
    """Colours what belongs to an army, wherever it stands."""

    base_style = "bvb."
    highlights = (
        r"\b(?P<land>land(_\w+)?)\b",
        r"\b(?P<sea>sea(_\w+)?)\b",
        r"\b(?P<sky>sky(_\w+)?)\b",
        r"\b(?P<bear>bear(_\w+)?)\b",
        r"\b(?P<monster>m\d+)\b",
        r"\b(?P<you>[Yy]ou)\b",
        r"(?P<playable>\*\w+)",
    )


def counted(cards: Iterable[str], mark: Iterable[str] = (), between: str = ", ") -> str:
    """Cards with their counts, in their order; those in `mark` with an asterisk."""
    return between.join(
        f"{'*' if card in mark else ''}{card}{f' x{n}' if n > 1 else ''}"
        for card, n in Counter(cards).items()
    )


def wrapped(text: str, width: int) -> str:
    """A text in lines that break at double spaces only, and are indented from the second on."""
    solid = text.replace("  ", "\n").replace(" ", "\xa0").replace("\n", "  ")
    return textwrap.fill(solid, width, subsequent_indent="    ").replace("\xa0", " ")


def head_kind(monster: View) -> str | None:
    """Card id of a monster's head, "" when the observer does not know it, None when the monster is dead."""
    head = monster.get("head")
    return None if head is None else head["kind"]


def body_strength(deck: Deck, monster: View) -> int:
    """Sum of all cards of a monster but the head, before a hat doubles it."""
    roles = {card.role: card.strength for card in deck.cards}
    total = deck[monster["torso"]].strength if monster["torso"] else 0
    return total + sum(roles[role] for part, role in PARTS.items() if monster[part])


def strength(deck: Deck, monster: View) -> int | None:
    """Strength of a monster; None when the observer does not know the head. The dead have 0."""
    kind = head_kind(monster)
    if kind is None:
        return 0
    if not kind:
        return None
    return (deck[kind].strength + body_strength(deck, monster)) * (2 if monster["hat"] else 1)


def strength_text(deck: Deck, monster: View) -> str:
    if head_kind(monster) is None:
        return "dead"
    known = strength(deck, monster)
    if known is not None:
        return str(known)
    body = body_strength(deck, monster)
    unknown = f"?{body:+}" if body else "?"
    return f"2*({unknown})" if monster["hat"] and body else f"2*{unknown}" if monster["hat"] else unknown


def fights(deck: Deck, monster: View, army: str) -> bool | None:
    """Whether a monster fights Babies of a type; None when the observer cannot know."""
    kind = head_kind(monster)
    if kind is None:
        return False
    if kind:
        return army in deck[kind].types
    return False if army in monster["head"]["excluded_types"] else None


def muster(deck: Deck, view: View, seat: int, army: str) -> str:
    """Strength of a seat's army against a type: the known sum, and a `?` when masked heads may add to it."""
    own = [monster for monster in view["monsters"] if monster["owner"] == seat]
    known = sum(strength(deck, monster) or 0 for monster in own if fights(deck, monster, army))
    doubt = any(fights(deck, monster, army) is None for monster in own)
    return f"{known}+?" if doubt else str(known) if any(fights(deck, m, army) for m in own) else "-"


def points(deck: Deck, view: View, army: View) -> tuple[int, int]:
    """Least and most points that an army can have, as far as the observer has seen Babies of its type."""
    kinds = [card for card in deck.cards if card.role == "baby" and card.type == army["type"]]
    seen = [baby["kind"] for baby in army["babies"] if baby["kind"]]
    gone = [*view["discard"], *(kind for player in view["players"] for kind in player["collected"])]
    left = Counter({card.id: card.count for card in kinds})
    left.subtract(kind for kind in (*seen, *gone) if kind in left)
    unseen = sorted(deck[kind].points for kind in left.elements())
    hidden = len(army["babies"]) - len(seen)
    known = sum(deck[kind].points for kind in seen)
    return known + sum(unseen[:hidden]), known + sum(unseen[len(unseen) - hidden :])


def baby_text(deck: Deck, baby: View) -> str:
    if not baby["kind"]:
        return "?"
    return f"{deck[baby['kind']].points}{'' if baby['public'] else '*'}"


def score(deck: Deck, player: View) -> int:
    return sum(deck[kind].points for kind in player["collected"])


def monster_text(monster: View) -> str:
    """What a monster is made of."""
    head = monster.get("head")
    parts = []
    if head is None:
        parts.append("no head")
    elif head["masked"]:
        name = head["kind"] or "unknown head"
        excluded = "" if head["kind"] else "".join(f", not {army}" for army in head["excluded_types"])
        secret = ", not all know" if head["kind"] and not head["public"] else ""
        parts.append(f"{name} (masked{excluded}{secret})")
    else:
        parts.append(head["kind"])
    if monster["torso"]:
        parts.append(monster["torso"])
    for part in ("arm", "tool"):
        sides = [side for side in ("left", "right") if monster[f"{side}_{part}"]]
        if len(sides) == 2:
            parts.append(f"2 {part}s")
        elif sides:
            parts.append(f"{sides[0]} {part}")
    parts += [part for part in ("legs", "hat") if monster[part]]
    return " + ".join(parts)


def name(view: View, labels: Sequence[str], seat: int) -> str:
    """A seat as its observer reads it."""
    return f"seat {seat} (you)" if seat == view.get("seat") else f"seat {seat} ({labels[seat]})"


def player_text(deck: Deck, view: View, seat: int) -> str:
    player = view["players"][seat]
    text = f"{plural(score(deck, player), 'point')}, {plural(player['hand_count'], 'card')} in hand"
    located = [
        card["kind"] + (f" (or under {' '.join(f'm{n}' for n in card['masks'])})" if card["masks"] else "")
        for card in player["located"]
    ]
    return f"{text}: {counted(located)}, ..." if located else text


def allowance(deck: Deck, view: View, seat: int) -> int:
    """Actions that a seat has in its turn now."""
    base: int = 2 if view["rules"]["practice"] else {2: 4, 3: 3}.get(view["rules"]["players"], 2)
    tools: int = sum(
        monster["left_tool"] + monster["right_tool"]
        for monster in view["monsters"]
        if monster["owner"] == seat and "head" in monster
    )
    return base + tools


def heading(deck: Deck, view: View) -> Rule:
    """Whose turn it is, and how far."""
    seat = view.get("current_player")
    if seat is None:
        return Rule(f"turn {view['turn_number']}, the game is over", characters="-", align="left")
    who = f"you are seat {seat}" if seat == view.get("seat") else f"seat {seat} is to move"
    used = f"action {view['actions_used'] + 1} of {allowance(deck, view, seat)}"
    if view["pending"] != "PENDING_UNSPECIFIED":
        used = "a Wild Provoke: name the army"
    if "final_turns_left" in view:
        left = view["final_turns_left"]
        used += f", {plural(left, 'turn')} left after this one" if left else ", the last turn of the game"
    return Rule(f"turn {view['turn_number']}, {who}, {used}", characters="-", align="left")


def armies(deck: Deck, view: View, labels: Sequence[str]) -> Table:
    """The armies of Babies, and what every seat musters against each."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, highlight=True, header_style="")
    table.add_column("Babies")
    table.add_column("bottom to top")
    table.add_column("points", justify="right")
    for seat in range(len(labels)):
        table.add_column("you" if seat == view.get("seat") else f"seat {seat}", justify="right", no_wrap=True)
    for army in view["armies"]:
        least, most = points(deck, view, army)
        babies = army["babies"]
        table.add_row(
            army["type"],
            " ".join(baby_text(deck, baby) for baby in babies) or "none",
            "" if not babies else str(least) if least == most else f"{least}-{most}",
            *(muster(deck, view, seat, army["type"]) for seat in range(len(labels))),
        )
    return table


def board(deck: Deck, view: View, labels: Sequence[str], width: int) -> Group:
    """All that lies on the table, the discards in one line of `width` characters if they fit."""
    piles = "draw piles " + "  ".join(f"{i}: {count}" for i, count in enumerate(view["pile_counts"], 1))
    heap = f"{piles}   discards {counted(view['discard']) or 'none'}"
    if len(heap) > width:
        heap = f"{piles}   discards {plural(len(view['discard']), 'card')} (see `look`)"
    players: list[Any] = []
    for seat in range(len(labels)):
        grid = Table.grid(padding=(0, 1, 0, 0))
        grid.highlight = True
        grid.add_column(no_wrap=True, justify="right", min_width=5)
        grid.add_column(no_wrap=True, justify="right", min_width=2)
        grid.add_column()
        for monster in view["monsters"]:
            if monster["owner"] == seat:
                grid.add_row(f"m{monster['number']}", strength_text(deck, monster), monster_text(monster))
        players.append(f"{name(view, labels, seat)}: {player_text(deck, view, seat)}")
        if grid.row_count:
            players.append(grid)
    return Group(
        heap,
        armies(deck, view, labels),
        *players,
    )


def playable(deck: Deck, actions: Iterable[Any]) -> set[str]:
    """Card ids of the hand that some legal action plays."""
    ids = {card.role: card.id for card in deck.cards}
    cards = set()
    for action in actions:
        fields = action.fields()
        verb = fields["verb"]
        if verb in ("head", "mask", "torso"):
            cards.add(fields["card"])
        if verb in ids and verb not in ("head", "torso"):
            cards.add(ids[verb])
    return cards


def ordered(actions: Iterable[Any]) -> list[Any]:
    """Legal actions in the order in which they are numbered: by verb, then by card and monster."""

    def key(action: Any) -> tuple[Any, ...]:
        fields = action.fields()
        return (
            VERBS.index(fields["verb"]),
            fields.get("card", ""),
            fields.get("monster", 0),
            fields.get("other_monster", 0),
            str(action),
        )

    return sorted(actions, key=key)


def groups(moves: Sequence[Any], cells: int) -> list[str]:
    """Numbered moves, the largest groups of one verb folded into one cell each until `cells` are enough."""
    by_verb: dict[str, list[str]] = {}
    for number, move in enumerate(moves, 1):
        by_verb.setdefault(str(move).split(" ", 1)[0], []).append(f"{number:>2} {move}")
    sizes = {verb: len(listed) for verb, listed in by_verb.items()}
    while sum(sizes.values()) > cells and max(sizes.values()) > 1:
        sizes[max(sizes, key=lambda verb: sizes[verb])] = 1
    shown = []
    for verb, listed in by_verb.items():
        if sizes[verb] < len(listed):
            first, last = (cell.split()[0] for cell in (listed[0], listed[-1]))
            shown.append(f"{first}-{last} {verb} ...")
        else:
            shown += listed
    return shown
