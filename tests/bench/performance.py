"""Measures what docs/performance.md shows, and writes its tables and plots: `make performance`.

The figures are kept in docs/data/performance.json. --only measures some parts anew, --render writes the page from what is kept.
"""

import argparse
import datetime
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import bvb_core
from server import bench

from . import count, peers
from .plot import Point, plot

DOCS = Path(__file__).resolve().parent.parent.parent / "docs"
PAGE = DOCS / "performance.md"
DATA = DOCS / "data" / "performance.json"
PLOTS = DOCS / "plots"
PLAYERS = range(bvb_core.MIN_PLAYERS, bvb_core.MAX_PLAYERS + 1)
# Repeats by number of iterations.
GROWTH = {100: 50, 300: 20, 1_000: 10, 3_000: 5, 10_000: 3, 30_000: 3, 100_000: 3, 300_000: 1}
POSITIONS = range(0, 301, 30)
POSITION_ITERATIONS = 3_000
POSITION_REPEATS = 3


# ---------------------------------------------------------------- measuring


def growth_with_iterations() -> list[dict[str, Any]]:
    """Speed of fresh searches by players and iterations, from the middle position."""
    rows = []
    for players in PLAYERS:
        view = bench.view_at(players, bench.MOMENTS["middle"])
        for iterations, repeats in GROWTH.items():
            rows.append({"players": players, "iterations": iterations, **bench.search_speed(view, iterations, repeats)})
    return rows


def growth_with_position() -> list[dict[str, Any]]:
    """Speed of fresh searches by players and number of actions played before."""
    rows = []
    for players in PLAYERS:
        for moment in POSITIONS:
            try:
                view = bench.view_at(players, moment)
            except ValueError:
                break
            speed = bench.search_speed(view, POSITION_ITERATIONS, POSITION_REPEATS)
            rows.append({"players": players, "actions": moment, **speed})
    return rows


def rounded(figures: dict[str, Any]) -> Any:
    """The figures with so many digits as mean something."""
    return json.loads(json.dumps(figures), parse_float=lambda text: float(f"{float(text):.5g}"))


PARTS: dict[str, Callable[[Callable[[str], None]], Any]] = {
    "bench": bench.run,
    "iterations": lambda _: growth_with_iterations(),
    "positions": lambda _: growth_with_position(),
    "counts": lambda _: [count.count(moment) for moment in bench.MOMENTS],
    "peers": peers.measure,
}


def measure(only: Sequence[str]) -> None:
    """Measure these parts, and keep their figures beside those that were kept of the others."""
    figures = json.loads(DATA.read_text(encoding="utf-8")) if DATA.exists() else {}
    for part in only:
        print(f"measuring {part}", file=sys.stderr, flush=True)
        figures[part] = PARTS[part](lambda step: print(f"  {step}", file=sys.stderr, flush=True))
    figures["date"] = datetime.datetime.now(datetime.UTC).date().isoformat()
    DATA.parent.mkdir(exist_ok=True)
    DATA.write_text(json.dumps(rounded(figures), indent=1) + "\n", encoding="utf-8")


# ---------------------------------------------------------------- tables


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; numbers to the right."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def ranged(row: dict[str, Any], name: str, digits: int = 0) -> str:
    low, middle, high = (f"{row[name + end]:,.{digits}f}" for end in ("_low", "", "_high"))
    return f"{middle} ({low} to {high})"


def microseconds(row: dict[str, Any]) -> float:
    return 1e6 / float(row["sims_per_s"])


def origin(figures: dict[str, Any]) -> str:
    lines = bench.origin(figures["bench"]).splitlines()
    return f"Measured on {figures['date']}:\n\n" + "\n".join(f"* {line}" for line in lines)


def playouts(figures: dict[str, Any]) -> str:
    return markdown(
        ["players", "ns an action", "games a second", "actions a game"],
        (
            [players, ranged(row, "ns_per_action", 1), f"{row['games_per_s']:,.0f}", f"{row['actions_per_game']:.0f}"]
            for players, row in figures["bench"]["playout"].items()
        ),
    )


def searches(figures: dict[str, Any]) -> str:
    rows = [
        [f"{moment}, {figures['bench']['players']} players", f"{int(iterations):,}", ranged(row, "sims_per_s"),
         ranged(row, "moves_per_s")]
        for moment, by_iterations in figures["bench"]["search"].items()
        for iterations, row in by_iterations.items()
    ]
    rows += [
        [f"middle, {players} players", f"{bench.PLAYERS_ITERATIONS:,}", ranged(row, "sims_per_s"), ranged(row, "moves_per_s")]
        for players, row in figures["bench"]["search_by_players"].items()
    ]
    return markdown(["position", "iterations", "iterations a second", "playout actions a second"], rows)


def others(figures: dict[str, Any]) -> str:
    found = figures["bench"]
    over, usual = found["overshoot_ms_p99"], found["overshoot_ms_median"]
    return markdown(
        ["figure", "value"],
        [
            ["a determinization, three masks on the table", f"{ranged(found, 'determinize_ns')} ns"],
            [f"for comparison: a plain shuffle of {found['hidden_cards']} cards", f"{ranged(found, 'shuffle_ns')} ns"],
            ["two threads against one, iterations a second", f"{ranged(found, 'two_threads_against_one', 2)} times"],
            *(
                [f"a budget of {budget} ms is overrun by", f"{usual[budget]:.2f} ms, in 99 of 100 searches at most {p99:.2f} ms"]
                for budget, p99 in over.items()
            ),
            ["memory of a move in the tree, with all that it leads to", f"{found['bytes_per_node']:.1f} bytes"],
        ],
    )


def costs(figures: dict[str, Any]) -> str:
    """Instructions an iteration by part and position, and of a playout action by function."""
    by_moment = {row["moment"]: row for row in figures["counts"]}
    moments = list(by_moment)

    def rows(kind: str, least: float) -> list[list[str]]:
        """Parts that take at least a share somewhere, the total last."""
        names = sorted(
            {
                name
                for row in by_moment.values()
                for name, cost in row[kind].items()
                if cost["instructions"] >= least * row[kind]["total"]["instructions"]
            }
            - {"total"},
            key=lambda name: -by_moment["middle"][kind].get(name, {"instructions": 0})["instructions"],
        )
        nothing = {"instructions": 0.0, "mispredictions": 0.0}
        table = []
        for name in [*names, "total"]:
            cells = [f"`{name}`" if name != "total" else "all"]
            for moment in moments:
                cost = by_moment[moment][kind].get(name, nothing)
                share = cost["instructions"] / by_moment[moment][kind]["total"]["instructions"]
                cells.append(f"{cost['instructions']:,.0f} ({share:.0%})")
            cells.append(f"{by_moment['middle'][kind].get(name, nothing)['mispredictions']:,.2f}")
            table.append(cells)
        return table

    head = [*moments, "mispredicted, middle"]
    moves = ", ".join(f"{by_moment[moment]['playout_moves']:.0f} in the {moment} one" for moment in moments)
    return "\n\n".join(
        [
            "Instructions of an iteration by what the search calls, and `search` for the tree itself:",
            markdown(["part", *head], rows("iteration", 0.002)),
            f"A playout from the leaf has so many actions on average: {moves} (after {count.ITERATIONS:,} iterations). "
            "Instructions of one such action by function:",
            markdown(["function", *head], rows("action", 0.01)),
        ]
    )


def limit(figures: dict[str, Any]) -> str:
    """The figures that say where the time goes."""
    middle = next(row for row in figures["counts"] if row["moment"] == "middle")
    total = middle["iteration"]["total"]["instructions"]
    share = middle["iteration"]["playout"]["instructions"] / total
    action = middle["action"]["total"]
    ns = figures["bench"]["playout"][str(figures["bench"]["players"])]["ns_per_action"]
    return (
        f"In the middle position {share:.0%} of the instructions of an iteration are its playout: were all the rest free, "
        f"the search would be {1 / share:.2f} times as fast. An action of a playout takes {action['instructions']:.0f} "
        f"instructions and {ns:.0f} ns; {action['mispredictions']:.1f} of its branches are mispredicted."
    )


def against(figures: dict[str, Any]) -> str:
    found = figures["peers"]
    head = f"OpenSpiel {found['peer']['version']} from its wheel; medians of {found['pairs']} pairs with the lowest and highest:"
    table = markdown(
        ["what", "unit", "ours", "OpenSpiel", "times better"],
        (
            [
                row["name"],
                row["unit"],
                *(ranged(row, side, 0 if row[side] >= 1000 else 1) for side in ("ours", "theirs")),
                ranged(row, "times_better", 1),
            ]
            for row in found["comparisons"]
        ),
    )
    return f"{head}\n\n{table}"


BLOCKS = {
    "origin": origin,
    "playouts": playouts,
    "searches": searches,
    "others": others,
    "limit": limit,
    "costs": costs,
    "peers": against,
}


def filled(page: str, figures: dict[str, Any]) -> str:
    """The page with what stands between its markers written anew."""
    for name, block in BLOCKS.items():
        before, begin, rest = page.partition(f"<!-- {name} -->\n")
        _, end, after = rest.partition(f"\n<!-- end of {name} -->")
        if not end:
            raise SystemExit(f"{PAGE.name} has no place for {name}")
        page = before + begin + block(figures) + end + after
    return page


# ---------------------------------------------------------------- plots


def by_players(rows: list[dict[str, Any]], across: str, value: Callable[[dict[str, Any]], float]) -> dict[str, list[Point]]:
    return {
        f"{players} players": [(row[across], value(row)) for row in rows if row["players"] == players] for players in PLAYERS
    }


def pictures(figures: dict[str, Any]) -> dict[str, str]:
    """The plots by file name."""
    iterations, positions = figures["iterations"], figures["positions"]
    return {
        "iterations.svg": plot(
            "Microseconds an iteration, middle position",
            "iterations of the search",
            by_players(iterations, "iterations", microseconds),
            logarithmic=True,
        ),
        "playout_actions.svg": plot(
            "Nanoseconds an action of the playouts, all costs of the search included",
            "iterations of the search",
            by_players(iterations, "iterations", lambda row: 1e9 / float(row["moves_per_s"])),
            logarithmic=True,
        ),
        "positions.svg": plot(
            f"Microseconds an iteration, {POSITION_ITERATIONS:,} iterations",
            "actions played before",
            by_players(positions, "actions", microseconds),
        ),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what docs/performance.md shows, and write it.")
    parser.add_argument("--render", action="store_true", help="write the page from the figures kept last")
    parser.add_argument("--only", nargs="+", choices=tuple(PARTS), default=tuple(PARTS), help="parts to measure anew")
    options = parser.parse_args()
    if not options.render:
        measure(options.only)
    figures = json.loads(DATA.read_text(encoding="utf-8"))
    PLOTS.mkdir(exist_ok=True)
    for name, picture in pictures(figures).items():
        (PLOTS / name).write_text(picture, encoding="utf-8")
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), figures), encoding="utf-8")


if __name__ == "__main__":
    main()
