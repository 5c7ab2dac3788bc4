"""Ours and OpenSpiel's side by side, from one run: `make bench-peers`.

OpenSpiel is installed into an environment that is removed afterwards. Both sides are compiled, use one thread, and take
turns, since the speed of a machine drifts; what counts is the time of the processor, so that other programs disturb less.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ai import make_bot
from ai.timing import time_playouts
from server.bench import MOMENTS, build, machine, new_search, origin, playout_starts, spread, view_at

from ..toys import toy

PEER = "open_spiel==2.0.2"
WORKER = Path(__file__).with_name("openspiel_worker.py")
PAIRS = 9
EXPLORATION = 0.7               # of returns in [0, 1]
POKER = {"kuhn": "kuhn_poker", "leduc": "leduc_poker"}
POKER_SIMULATIONS = 20_000
# From the choice of cards to pass, so that their playouts are as long as they can be.
HEARTS = {"game": "hearts", "choices": 13}
HEARTS_SIMULATIONS = 10_000
BEARS_SIMULATIONS = 10_000
# Decisions to begin playouts from, by game; all are made after the deal.
CARD_GAMES = {"hearts": 13, "euchre": 2, "oh_hell": 2, "gin_rummy": 2, "leduc_poker": 2}
PLAYOUTS = {"simulations": 10, "rollouts": 100}
OWN_PLAYOUTS = 20               # of each deal

Peer = Callable[..., dict[str, Any]]


@contextmanager
def peer() -> Iterator[Peer]:
    """OpenSpiel in a process of its own: called with the name of a request and its arguments."""
    with tempfile.TemporaryDirectory() as directory:
        venv.create(directory, with_pip=True)
        python = Path(directory) / "bin" / "python"
        subprocess.run(
            [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:", PEER],
            check=True,
            stdout=sys.stderr,
        )
        with subprocess.Popen([python, WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as worker:
            assert worker.stdin is not None
            assert worker.stdout is not None
            questions, answers = worker.stdin, worker.stdout

            def ask(request: str, **arguments: Any) -> dict[str, Any]:
                print(json.dumps({"request": request, **arguments}), file=questions, flush=True)
                line = answers.readline()
                if not line:
                    raise SystemExit(f"OpenSpiel has ended during {request} {arguments}")
                answer: dict[str, Any] = json.loads(line)
                return answer

            yield ask
            questions.close()


def compared(name: str, unit: str, pairs: list[tuple[float, float]], more_is_better: bool = True) -> dict[str, Any]:
    """Medians and spread of figures that were taken in pairs, and how many times better ours are."""
    ratios = [ours / theirs if more_is_better else theirs / ours for ours, theirs in pairs]
    return {
        "name": name,
        "unit": unit,
        **spread([ours for ours, _ in pairs], "ours"),
        **spread([theirs for _, theirs in pairs], "theirs"),
        **spread(ratios, "times_better"),
    }


def poker(ask: Peer, name: str, seed: int) -> tuple[float, float]:
    """Simulations a second from the first decision, from a given observation to the chosen move."""
    view = toy(name).new_state(seed).observation(0)
    view.any_state()
    bot = make_bot(f"ismcts:iterations={POKER_SIMULATIONS}:exploration={EXPLORATION}", seed)
    begin = time.thread_time()
    bot.suggest(view, multi_pv=1)
    ours = time.thread_time() - begin
    theirs = ask(
        "search", game=POKER[name], choices=2, simulations=POKER_SIMULATIONS, exploration=EXPLORATION, seed=seed
    )["seconds"]
    return POKER_SIMULATIONS / ours, POKER_SIMULATIONS / theirs


def playout_moves(ask: Peer, seed: int) -> tuple[float, float]:
    """Moves of playouts a second in the search. Ours are counted, theirs are those of a playout after the first move."""
    search = new_search(view_at(3, MOMENTS["middle"]), BEARS_SIMULATIONS, seed)
    begin = time.thread_time()
    search.run(BEARS_SIMULATIONS, None)
    ours = search.moves / (time.thread_time() - begin)
    theirs = ask("search", **HEARTS, simulations=HEARTS_SIMULATIONS, exploration=EXPLORATION, seed=seed)["seconds"]
    return ours, HEARTS_SIMULATIONS * ask("length", **HEARTS, seed=seed)["moves"] / theirs


def playout_ns(ask: Peer, game: str, seed: int) -> tuple[float, float]:
    """Nanoseconds a move of native random playouts: ours in a game of 3 from the deal, theirs in a game of theirs."""
    runs = [time_playouts(start, seed, OWN_PLAYOUTS) for start in playout_starts(3)]
    ours = sum(seconds for seconds, _ in runs) / sum(actions for _, actions in runs)
    start = {"game": game, "choices": CARD_GAMES[game], "seed": seed}
    theirs = ask("playouts", **start, **PLAYOUTS)["seconds"] / ask("length", **start)["moves"]
    return ours * 1e9, theirs * 1e9


def measure(progress: Callable[[str], None]) -> dict[str, Any]:
    """All comparisons: {machine, build, peer, pairs, comparisons[{name, unit, ours, theirs, times_better}]}, where the last
    three have `_low` and `_high` beside them."""
    progress(f"installing {PEER} into a temporary environment")
    with peer() as ask:
        comparisons = []
        for name, theirs in POKER.items():
            progress(f"{theirs}: ISMCTS of both")
            pairs = [poker(ask, name, seed) for seed in range(PAIRS)]
            comparisons.append(compared(f"ISMCTS on {theirs.replace('_', ' ')}", "sims/s", pairs))
        progress("playout moves in the search: Bears vs Babies and hearts")
        pairs = [playout_moves(ask, seed) for seed in range(PAIRS)]
        comparisons.append(compared("ISMCTS, ours in mid-game, theirs on hearts", "playout moves/s", pairs))
        for game in CARD_GAMES:
            progress(f"random playouts: Bears vs Babies and {game}")
            pairs = [playout_ns(ask, game, seed) for seed in range(PAIRS)]
            comparisons.append(
                compared(f"random playouts, theirs {game.replace('_', ' ')}", "ns/move", pairs, more_is_better=False)
            )
        return {
            "machine": machine(),
            "build": build(),
            "peer": {"name": "OpenSpiel", **ask("about")},
            "pairs": PAIRS,
            "comparisons": comparisons,
        }


def table(figures: dict[str, Any]) -> str:
    """The figures for people."""

    def cell(row: dict[str, Any], name: str) -> str:
        digits = 1 if row[name] < 1000 else 0
        low, middle, high = (f"{row[name + end]:,.{digits}f}" for end in ("_low", "", "_high"))
        return f"{middle} ({low} to {high})"

    lines = [
        origin(figures),
        f"OpenSpiel {figures['peer']['version']} from its wheel, Python {figures['peer']['python']}",
        f"medians of {figures['pairs']} pairs, lowest and highest; one thread each, time of the processor",
        "",
        f"{'':44} {'ours':38} {'OpenSpiel':34} times better",
    ]
    for row in figures["comparisons"]:
        lines.append(
            f"{row['name']:44} {cell(row, 'ours'):38} {cell(row, 'theirs'):34} {row['times_better']:.1f} "
            f"({row['times_better_low']:.1f} to {row['times_better_high']:.1f})  {row['unit']}"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure ours beside OpenSpiel.")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    options = parser.parse_args()
    figures = measure(lambda step: print(step, file=sys.stderr, flush=True))
    print(json.dumps(figures) if options.json else table(figures))


if __name__ == "__main__":
    main()
