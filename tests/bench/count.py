"""Machine instructions of the search and of random playouts, by part: `make count`.

valgrind counts what the processor would execute, so equal builds give equal counts however busy the machine is. Time is not
proportional to it: a wait for memory is not an instruction.
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
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
ITERATIONS = 5000
GAMES = 100
PLAYERS = 3
# Counted: everything below these two calls.
COUNTED = ("*Search_*run", "*time_playouts")
# Compiled functions of the search; what these call is a part.
OWN = re.compile(r"__pyx_\w+?_2ai_\d+(ismcts|tree)_")
CALL = re.compile(r"calls=\d+ ")


def work(moment: str) -> None:
    """What is counted, in the process that valgrind runs. Prints how much was done."""
    from ai.ismcts import Search
    from ai.timing import time_playouts
    from server.bench import MOMENTS, random_position

    state = random_position(PLAYERS, 1, MOMENTS[moment])
    search = Search(state.observation(state.current_player), 1, 0, ITERATIONS)
    search.run(ITERATIONS, None)
    _, actions = time_playouts(state, 1, GAMES)
    print(json.dumps({"iterations": ITERATIONS, "moves": search.moves, "actions": actions}))


def part(function: str) -> str:
    """The name of a function without what compilers add: "op_apply", "log"."""
    compiled = re.fullmatch(r"__pyx_\w+?_2ai_\d+\w+?_\d*(\w+)|__pyx_f_\w+?_\d+ops_(?:op_)?(\w+)", function)
    if compiled:
        return compiled[1] or compiled[2]
    return re.sub(r"^(?:__)?(?:ieee754_)?|@.*|_(?:fma|avx2|sse\d)\w*$|'\d+$", "", function)


def read(profile: Path) -> tuple[Counter[str], int]:
    """A callgrind profile: instructions of each function that the search calls, called ones included, and "search" for its
    own; and those of playouts from the fixed position."""
    names: dict[str, str] = {}
    parts: Counter[str] = Counter()
    playouts = 0
    function = callee = ""
    in_call = False

    def named(text: str) -> str:
        number, _, name = text.partition(" ")
        if name:
            names[number] = name
        return names[number]

    for line in profile.read_text().splitlines():
        if line.startswith("fn="):
            function = named(line[3:])
        elif line.startswith("cfn="):
            callee = named(line[4:])
        elif CALL.match(line):
            in_call = True
        elif line[:1] in "0123456789+-*" and line:
            cost = int(line.split()[1])
            if OWN.match(function) and not (in_call and OWN.match(callee)):
                parts[part(callee) if in_call else "search"] += cost
            elif "time_playouts" in function and in_call and callee.endswith("playout"):
                playouts += cost
            in_call = False
    return parts, playouts


def count(moment: str) -> dict[str, Any]:
    """{moment, iteration{part: instructions}, iteration_total, playout_action}: instructions an iteration of the search, and
    an action of random playouts from the same position."""
    if shutil.which("valgrind") is None:
        raise SystemExit("valgrind is not installed")
    with tempfile.TemporaryDirectory() as directory:
        profile = Path(directory) / "profile"
        done = subprocess.run(
            [
                "valgrind",
                "--tool=callgrind",
                f"--callgrind-out-file={profile}",
                *(f"--toggle-collect={function}" for function in COUNTED),
                sys.executable,
                "-m",
                "tests.bench.count",
                "--work",
                moment,
            ],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": "0"},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise SystemExit(done.stderr)
        parts, playouts = read(profile)
    amount = json.loads(done.stdout)
    iteration = {name: cost / amount["iterations"] for name, cost in parts.most_common()}
    return {
        "moment": moment,
        "iteration": iteration,
        "iteration_total": sum(iteration.values()),
        "playout_moves": amount["moves"] / amount["iterations"],
        "playout_action": playouts / amount["actions"],
    }


def table(figures: dict[str, Any]) -> str:
    """The figures for people."""
    total = figures["iteration_total"]
    lines = [f"instructions an iteration, {figures['moment']} position: {total:,.0f}"]
    lines += [f"  {name:20} {cost:12,.1f} {cost / total:7.1%}" for name, cost in figures["iteration"].items() if cost >= 0.5]
    lines.append(f"instructions an action of a random playout: {figures['playout_action']:.1f}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="Count machine instructions.")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("--moment", default="middle", choices=("early", "middle", "late"), help="position")
    parser.add_argument("--work", metavar="MOMENT", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(options.work)
        return
    figures = count(options.moment)
    print(json.dumps(figures) if options.json else table(figures))


if __name__ == "__main__":
    main()
