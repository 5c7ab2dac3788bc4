"""Speed figures: `bvb bench`. Medians of repeated runs on this machine, with their spread.

What runs on one thread goes by the time of the processor, so that other programs disturb less; threads and budgets of time go
by the clock.
"""

from __future__ import annotations

import os
import platform
import random
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import bvb_core
from ai import make_bot
from ai.ismcts import Search, is_debug_build, memory_for
from ai.params import IsmctsParams
from ai.timing import compiler, compiler_flags, time_determinize, time_playouts, time_shuffle
from bvb_core.bears.ops import uses_bmi2

REPEATS = 5
PLAYOUTS = 3000
DETERMINIZATIONS = 50_000
SEARCH_PLAYERS = 3
# Random actions played before the first decision with several choices.
MOMENTS = {"early": 20, "middle": 150, "late": 280}
SEARCH_ITERATIONS = {1_000: 2 * REPEATS, 10_000: REPEATS, 100_000: 3}
PLAYERS_ITERATIONS = 10_000
THREAD_ITERATIONS = 20_000
OVERSHOOT_RUNS = {10: 200, 50: 100, 200: 50}


def spread(values: Sequence[float], name: str) -> dict[str, float]:
    """The median under `name`, and the lowest and highest beside it."""
    return {name: statistics.median(values), f"{name}_low": min(values), f"{name}_high": max(values)}


def _play_any(state: bvb_core.State, rng: random.Random, texts: Iterable[str]) -> None:
    """One of these actions. It does not depend on their order, so that positions stay the same between versions."""
    state.apply(rng.choice(sorted(texts)))


def random_position(players: int, seed: int, moment: int) -> bvb_core.State:
    """A game after `moment` random actions, and on to a decision among at least five moves.

    Raises ValueError when the game is over before.
    """
    rng = random.Random(seed)
    state = bvb_core.new_game(players=players, seed=seed, first_player=0)
    step = 0
    while step < moment or len(state.legal_action_ids()) < 5:
        if state.is_terminal:
            raise ValueError(f"the game of {players} with seed {seed} ends before action {moment}")
        _play_any(state, rng, map(str, state.legal_actions()))
        step += 1
    return state


def view_at(players: int, moment: int) -> bvb_core.Observation:
    """What the seat to move sees in the fixed position of a moment."""
    state = random_position(players, 1, moment)
    return state.observation(state.current_player)


def masked_position(masks: int) -> bvb_core.Observation:
    """A seat's view in a game for three in which it does not know the heads under a number of masks."""
    seed = 0
    while True:
        rng = random.Random(seed)
        state = bvb_core.new_game(players=3, seed=seed, first_player=0)
        for _ in range(150):
            legal = [str(action) for action in state.legal_actions()]
            _play_any(state, rng, [text for text in legal if text.startswith("mask")] or legal)
            if state.is_terminal:
                break
            view = state.observation(state.current_player)
            heads = [monster["head"] for monster in view.to_dict()["monsters"] if "head" in monster]
            if sum(head["masked"] and not head["kind"] for head in heads) == masks:
                return view
        seed += 1


def _hidden_cards(view: bvb_core.Observation) -> int:
    data = view.to_dict()
    hidden: int = (
        sum(data["pile_counts"])
        + sum(player["hand_count"] for seat, player in enumerate(data["players"]) if seat != view.seat)
        + sum(not baby["kind"] for army in data["armies"] for baby in army["babies"])
        + sum(not monster["head"]["kind"] for monster in data["monsters"] if "head" in monster)
    )
    return hidden


def playout_starts(players: int) -> list[bvb_core.State]:
    """The deals that playouts begin with."""
    return [bvb_core.new_game(players=players, seed=seed, first_player=0) for seed in range(20)]


def _playouts() -> dict[str, Any]:
    figures = {}
    for players in range(bvb_core.MIN_PLAYERS, bvb_core.MAX_PLAYERS + 1):
        # Each repeat sums over the same deals, so that repeats differ by noise alone.
        starts = playout_starts(players)
        times = []
        for _ in range(REPEATS):
            runs = [time_playouts(start, 1, PLAYOUTS // len(starts)) for start in starts]
            times.append((sum(seconds for seconds, _ in runs), sum(actions for _, actions in runs)))
        figures[str(players)] = {
            **spread([seconds / actions * 1e9 for seconds, actions in times], "ns_per_action"),
            "games_per_s": statistics.median(PLAYOUTS / seconds for seconds, _ in times),
            "actions_per_game": times[0][1] / PLAYOUTS,
        }
    return figures


def _determinize() -> dict[str, Any]:
    view = masked_position(3)
    hidden = _hidden_cards(view)
    # In pairs, since the machine's speed drifts.
    pairs = [
        (time_determinize(view, 1, DETERMINIZATIONS), time_shuffle(hidden, 1, DETERMINIZATIONS)) for _ in range(REPEATS)
    ]
    return {
        **spread([seconds / DETERMINIZATIONS * 1e9 for seconds, _ in pairs], "determinize_ns"),
        **spread([seconds / DETERMINIZATIONS * 1e9 for _, seconds in pairs], "shuffle_ns"),
        "hidden_cards": hidden,
    }


def new_search(view: bvb_core.Observation, iterations: int, seed: int) -> Search:
    """As the bot `ismcts` searches."""
    params = IsmctsParams(iterations=iterations)
    memory = memory_for(iterations, params.memory_mb << 20)
    return Search(view, seed, memory=memory, exploration=params.exploration, observers=params.observers)


def search_speed(view: bvb_core.Observation, iterations: int, repeats: int) -> dict[str, float]:
    """Iterations and actions of playouts a second of fresh searches on one thread."""
    runs = []
    for seed in range(repeats):
        search = new_search(view, iterations, seed)
        begin = time.thread_time()
        search.run(iterations, None)
        seconds = time.thread_time() - begin
        runs.append((iterations / seconds, search.moves / seconds))
    return spread([sims for sims, _ in runs], "sims_per_s") | spread([moves for _, moves in runs], "moves_per_s")


def _search() -> dict[str, Any]:
    return {
        name: {
            str(iterations): search_speed(view_at(SEARCH_PLAYERS, moment), iterations, repeats)
            for iterations, repeats in SEARCH_ITERATIONS.items()
        }
        for name, moment in MOMENTS.items()
    }


def _search_by_players() -> dict[str, Any]:
    return {
        str(players): search_speed(view_at(players, MOMENTS["middle"]), PLAYERS_ITERATIONS, REPEATS)
        for players in range(bvb_core.MIN_PLAYERS, bvb_core.MAX_PLAYERS + 1)
    }


def _bytes_per_node() -> float:
    """An action at an information set with all that it leads to, the mean of a large tree."""
    search = new_search(view_at(SEARCH_PLAYERS, MOMENTS["middle"]), THREAD_ITERATIONS, 1)
    search.run(THREAD_ITERATIONS, None)
    edges, size = search.tree_size
    return size / edges


def _threads() -> dict[str, Any]:
    view = view_at(SEARCH_PLAYERS, MOMENTS["middle"])
    view.any_state()
    rates: dict[str, list[float]] = {"1": [], "2": []}
    for _ in range(REPEATS):
        for threads, values in rates.items():
            bot = make_bot(f"ismcts:iterations={THREAD_ITERATIONS}:threads={threads}", seed=1)
            values.append(THREAD_ITERATIONS / bot.suggest(view, multi_pv=1).elapsed_ms * 1e3)
    return {
        "threads": {threads: statistics.median(values) for threads, values in rates.items()},
        **spread([two / one for one, two in zip(*rates.values(), strict=True)], "two_threads_against_one"),
    }


def _overshoot() -> dict[str, Any]:
    view = view_at(SEARCH_PLAYERS, MOMENTS["middle"])
    p99, median = {}, {}
    for budget, runs in OVERSHOOT_RUNS.items():
        bot = make_bot(f"ismcts:time_ms={budget}:early_stop=0", seed=1)
        over = sorted(_elapsed_ms(bot, view) - budget for _ in range(runs))
        p99[str(budget)] = over[int(0.99 * (len(over) - 1) + 0.5)]
        median[str(budget)] = statistics.median(over)
    return {"overshoot_ms_p99": p99, "overshoot_ms_median": median}


def _elapsed_ms(bot: Any, view: bvb_core.Observation) -> float:
    begin = time.perf_counter()
    bot.suggest(view)
    return (time.perf_counter() - begin) * 1e3


def machine() -> dict[str, Any]:
    """What the figures depend on besides the program. `load` is the load average of the minute before."""
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if "model name" in line]
        cpu = names[0] if names else cpu
    return {
        "cpu": cpu,
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "system": platform.platform(),
        "python": platform.python_version(),
    }


def build() -> dict[str, Any]:
    """How this program was built."""
    return {
        "version": version("bvb-engine"),
        "debug": is_debug_build(),
        "compiler": compiler(),
        "flags": compiler_flags(),
        "bmi2": uses_bmi2(),
    }


def run(progress: Callable[[str], None]) -> dict[str, Any]:
    """All figures, under the keys of the JSON output; `progress` is told what is being measured."""
    figures: dict[str, Any] = {"machine": machine(), "build": build(), "players": SEARCH_PLAYERS}
    progress("random playouts, 2 to 5 players")
    figures["playout"] = _playouts()
    progress("determinizations with three masks on the table")
    figures |= _determinize()
    progress("search from early, middle and late positions")
    figures["search"] = _search()
    progress("search with 2 to 5 players")
    figures["search_by_players"] = _search_by_players()
    progress("one thread and two")
    figures |= _threads()
    progress("overshoot of time budgets")
    figures |= _overshoot()
    figures["bytes_per_node"] = _bytes_per_node()
    return figures


def origin(figures: dict[str, Any]) -> str:
    """The machine and the build in words."""
    machine, build = figures["machine"], figures["build"]
    return (
        f"{machine['cpu']}, {machine['cores']} cores (load average {machine['load']:.1f}), {machine['system']}, "
        f"Python {machine['python']}\n"
        f"bvb-engine {build['version']}, {'debug' if build['debug'] else 'release'} build, {build['compiler']} {build['flags']}"
        f"{', with BMI2' if build['bmi2'] else ', portable'}"
    )


def _search_line(name: str, row: dict[str, float]) -> str:
    return (
        f"  {name:27} {row['sims_per_s']:9,.0f} ({row['sims_per_s_low']:,.0f} to {row['sims_per_s_high']:,.0f})".ljust(65)
        + f"{row['moves_per_s']:12,.0f}"
    )


def table(figures: dict[str, Any]) -> str:
    """The figures for people: medians, lowest and highest."""
    lines = [
        origin(figures),
        "",
        "random playouts, one core     ns/action (low to high)    games/s   actions/game",
    ]
    for players, row in figures["playout"].items():
        lines.append(
            f"  {players} players                 {row['ns_per_action']:8.1f} ({row['ns_per_action_low']:.1f} to "
            f"{row['ns_per_action_high']:.1f})   {row['games_per_s']:10,.0f}   {row['actions_per_game']:10.1f}"
        )
    lines += ["", "determinizations                    ns (low to high)"]
    for name, key in (("three masks on the table", "determinize"), (f"shuffle of {figures['hidden_cards']} cards", "shuffle")):
        low, middle, high = (figures[f"{key}_ns{end}"] for end in ("_low", "", "_high"))
        lines.append(f"  {name:27} {middle:8.1f} ({low:.1f} to {high:.1f})")
    lines += ["", "search, full playouts            sims/s (low to high)            playout moves/s"]
    for moment, rows in figures["search"].items():
        for iterations, row in rows.items():
            lines.append(_search_line(f"{moment:6} {int(iterations):9,} iterations", row))
    for players, row in figures["search_by_players"].items():
        lines.append(_search_line(f"middle, {players} players", row))
    one, two = figures["threads"]["1"], figures["threads"]["2"]
    low, ratio, high = (figures[f"two_threads_against_one{end}"] for end in ("_low", "", "_high"))
    lines += [
        "",
        f"threads                       1: {one:,.0f} sims/s, 2: {two:,.0f} sims/s; "
        f"{ratio:.2f} times ({low:.2f} to {high:.2f})",
        "budget overshoot, p99         "
        + ", ".join(f"{budget} ms: {over:.2f} ms" for budget, over in figures["overshoot_ms_p99"].items()),
        f"memory                        {figures['bytes_per_node']:.1f} bytes a node",
    ]
    return "\n".join(lines)
