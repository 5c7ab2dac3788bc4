"""Machine instructions and mispredicted branches of the search and of random playouts, by part: `make count`.

valgrind counts what a processor would execute, so equal builds give equal counts however busy the machine is. Its branch
predictor is a simple one, and memory is not counted: the counts explain times, they do not replace them.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ai.timing import time_playouts
from server.bench import MOMENTS, new_search, random_position

ROOT = Path(__file__).resolve().parent.parent.parent
ITERATIONS = 5000
PLAYOUTS = 300
PLAYERS = 3
# What is counted is everything below these calls.
COUNTED = {"search": "*Search_*run", "playouts": "*time_playouts"}
# Compiled functions of the search itself; what these call is a part.
OWN = re.compile(r"__pyx_\w+?_2ai_\d+(ismcts|tree)_")


class Cost(NamedTuple):
    """A cost in a profile: of a function itself, or of a call out of it with all that it called."""

    function: str
    callee: str
    instructions: int
    mispredictions: int


def work(kind: str, moment: str) -> None:
    """What is counted, in the process that valgrind runs. Prints how much was done."""
    state = random_position(PLAYERS, 1, MOMENTS[moment])
    if kind == "search":
        search = new_search(state.observation(state.current_player), ITERATIONS, 1)
        search.run(ITERATIONS, None)
        print(json.dumps({"times": ITERATIONS, "moves": search.moves}))
    else:
        _, actions = time_playouts(state, 1, PLAYOUTS)
        print(json.dumps({"times": actions, "moves": actions}))


def part(function: str) -> str:
    """The name of a function without what compilers add: "moves.random_act"; of a GameOps function its name there."""
    text = re.sub(r"\.(isra|part|constprop|cold).*$|'\d+$|@.*$|^__pyx_fuse_\d+(?=__pyx_f_)", "", function)
    if not text.startswith("__pyx_f_"):
        return re.sub(r"^_*(?:ieee754_)?|_(?:fma|avx|sse)\w*$", "", text)
    text, module = text.removeprefix("__pyx_f_"), ""
    while length := re.match(r"\d+", text):  # of the name of the package, module or class that follows
        end = length.end() + int(length[0])
        module, text = text[length.end() : end], text[end + 1 :]
    return text.removeprefix("op_") if module == "ops" else f"{module}.{text}"


def costs(profile: str) -> Iterator[Cost]:
    """The lines of a callgrind profile that say what something cost."""
    names: dict[str, str] = {}
    events: list[str] = []
    function = callee = ""
    in_call = False

    def named(text: str) -> str:
        number, _, name = text.partition(" ")
        return names.setdefault(number, name)

    for line in profile.splitlines():
        key, _, rest = line.partition("=")
        if line.startswith("events: "):
            events = line.split()[1:]
        elif key == "fn":
            function = named(rest)
        elif key == "cfn":
            callee = named(rest)
        elif key == "calls":
            in_call = True
        elif re.match(r"[-+*\d]", line):
            counts = Counter(dict(zip(events, map(int, line.split()[1:]), strict=False)))
            yield Cost(function, callee if in_call else "", counts["Ir"], counts["Bcm"] + counts["Bim"])
            in_call = False


def profiled(kind: str, moment: str) -> tuple[list[Cost], dict[str, int]]:
    """What one kind of work costs, and how much was done."""
    if shutil.which("valgrind") is None:
        raise SystemExit("valgrind is not installed")
    with tempfile.TemporaryDirectory() as directory:
        profile = Path(directory) / "profile"
        valgrind = ["valgrind", "--tool=callgrind", "--branch-sim=yes", f"--callgrind-out-file={profile}"]
        done = subprocess.run(
            [
                *valgrind,
                f"--toggle-collect={COUNTED[kind]}",
                sys.executable,
                "-m",
                "tests.bench.count",
                f"--work={kind}",
                f"--moment={moment}",
            ],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": "0", "BVB_PORTABLE": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise SystemExit(done.stderr)
        return list(costs(profile.read_text())), json.loads(done.stdout)


def parts(found: list[Cost]) -> dict[str, list[int]]:
    """[instructions, mispredictions] of what the search calls, with all below it, and of itself as "search"."""
    sums: dict[str, list[int]] = {}
    for cost in found:
        if OWN.match(cost.function) and not OWN.match(cost.callee):
            add(sums, part(cost.callee) if cost.callee else "search", cost)
    return sums


def functions(found: list[Cost]) -> dict[str, list[int]]:
    """[instructions, mispredictions] of each function, without those that it calls."""
    sums: dict[str, list[int]] = {}
    for cost in found:
        if not cost.callee:
            add(sums, part(cost.function), cost)
    return sums


def add(sums: dict[str, list[int]], name: str, cost: Cost) -> None:
    total = sums.setdefault(name, [0, 0])
    total[0] += cost.instructions
    total[1] += cost.mispredictions


def rates(sums: dict[str, list[int]], times: int) -> dict[str, dict[str, float]]:
    """The most expensive first, with the total."""
    ordered = sorted(sums.items(), key=lambda item: -item[1][0])
    totals = [sum(column) for column in zip(*sums.values(), strict=True)]
    return {
        name: {"instructions": instructions / times, "mispredictions": mispredictions / times}
        for name, (instructions, mispredictions) in [*ordered, ("total", totals)]
    }


def count(moment: str) -> dict[str, Any]:
    """{moment, playout_moves, iteration{part: cost}, action{function: cost}}: what an iteration of the search costs, and an
    action of random playouts from the same position; a cost is {instructions, mispredictions}."""
    searched, search = profiled("search", moment)
    played, playouts = profiled("playouts", moment)
    return {
        "moment": moment,
        "playout_moves": search["moves"] / search["times"],
        "iteration": rates(parts(searched), search["times"]),
        "action": rates(functions(played), playouts["times"]),
    }


def table(figures: dict[str, Any]) -> str:
    """The figures for people; what takes less than a thousandth is left out."""
    titles = {"iteration": "an iteration of the search", "action": "an action of a random playout"}
    lines = [f"{figures['moment']} position, {PLAYERS} players"]
    for key, title in titles.items():
        total = figures[key]["total"]["instructions"]
        lines += ["", f"{title:32} instructions   share   mispredicted branches"]
        lines += [
            f"  {name:30} {cost['instructions']:12,.1f} {cost['instructions'] / total:7.1%} {cost['mispredictions']:12,.2f}"
            for name, cost in figures[key].items()
            if cost["instructions"] >= total / 1000
        ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="Count machine instructions and mispredicted branches.")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("--moment", default="middle", choices=tuple(MOMENTS), help="position")
    parser.add_argument("--work", choices=tuple(COUNTED), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(options.work, options.moment)
        return
    figures = count(options.moment)
    print(json.dumps(figures) if options.json else table(figures))


if __name__ == "__main__":
    main()
