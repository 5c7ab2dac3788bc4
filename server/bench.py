"""Speed figures: `bvb bench`. Medians of repeated runs on this machine, with their spread."""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import bvb_core
from ai import make_bot
from ai.ismcts import Search, is_debug_build, memory_for
from ai.params import IsmctsParams
from ai.timing import time_determinize, time_playouts, time_shuffle

REPEATS = 5
PLAYOUTS = 3000
DETERMINIZATIONS = 50_000
SEARCH_PLAYERS = 3
# Random actions played before the first decision with several choices.
MOMENTS = {"early": 20, "middle": 150, "late": 280}
SEARCH_ITERATIONS = {1_000: REPEATS, 10_000: REPEATS, 100_000: 1}
THREAD_ITERATIONS = 20_000
OVERSHOOT_RUNS = {10: 200, 50: 100, 200: 50}


def _spread(values: list[float]) -> dict[str, float]:
    return {"median": statistics.median(values), "low": min(values), "high": max(values)}


def random_position(players: int, seed: int, moment: int) -> bvb_core.State:
    """A game after `moment` random actions, and on to a decision among at least five moves."""
    state = bvb_core.new_game(players=players, seed=seed, first_player=0)
    step = 0
    while step < moment or len(state.legal_action_ids()) < 5:
        state.apply(state.action(state.random_action(step)))
        step += 1
    return state


def masked_position(masks: int) -> bvb_core.Observation:
    """A seat's view in a game for three in which it does not know the heads under a number of masks."""
    seed = 0
    while True:
        state = bvb_core.new_game(players=3, seed=seed, first_player=0)
        for step in range(150):
            legal = state.legal_actions()
            masked = [action for action in legal if str(action).startswith("mask")]
            state.apply(masked[0] if masked else state.action(state.random_action(step)))
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


def _playouts() -> dict[str, Any]:
    figures = {}
    for players in range(bvb_core.MIN_PLAYERS, bvb_core.MAX_PLAYERS + 1):
        # Each repeat sums over the same deals, so that repeats differ by noise alone.
        starts = [bvb_core.new_game(players=players, seed=seed, first_player=0) for seed in range(20)]
        times = []
        for _ in range(REPEATS):
            runs = [time_playouts(start, 1, PLAYOUTS // len(starts)) for start in starts]
            times.append((sum(seconds for seconds, _ in runs), sum(actions for _, actions in runs)))
        spread = _spread([seconds / actions * 1e9 for seconds, actions in times])
        figures[str(players)] = {
            "ns_per_action": spread["median"],
            "ns_per_action_low": spread["low"],
            "ns_per_action_high": spread["high"],
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
        "determinize_ns": statistics.median(a for a, _ in pairs) / DETERMINIZATIONS * 1e9,
        "shuffle_ns": statistics.median(b for _, b in pairs) / DETERMINIZATIONS * 1e9,
        "hidden_cards": hidden,
    }


def _search() -> dict[str, Any]:
    figures: dict[str, Any] = {}
    for name, moment in MOMENTS.items():
        state = random_position(SEARCH_PLAYERS, 1, moment)
        view = state.observation(state.current_player)
        figures[name] = {}
        for iterations, repeats in SEARCH_ITERATIONS.items():
            runs = []
            for _ in range(repeats):
                search = _new_search(view, iterations)
                begin = time.perf_counter()
                search.run(iterations, None)
                seconds = time.perf_counter() - begin
                runs.append((iterations / seconds, search.moves / seconds))
            figures[name][str(iterations)] = {
                "sims_per_s": statistics.median(sims for sims, _ in runs),
                "moves_per_s": statistics.median(moves for _, moves in runs),
            }
    return figures


def _new_search(view: bvb_core.Observation, iterations: int) -> Search:
    """As the bot `ismcts` searches."""
    params = IsmctsParams(iterations=iterations)
    memory = memory_for(iterations, params.memory_mb)
    return Search(view, 1, memory=memory, exploration=params.exploration, observers=params.observers)


def _bytes_per_node() -> float:
    """An action at an information set with all that it leads to, the mean of a large tree."""
    state = random_position(SEARCH_PLAYERS, 1, MOMENTS["middle"])
    search = _new_search(state.observation(state.current_player), THREAD_ITERATIONS)
    search.run(THREAD_ITERATIONS, None)
    edges, size = search.tree_size
    return size / edges


def _threads() -> dict[str, float]:
    state = random_position(SEARCH_PLAYERS, 1, MOMENTS["middle"])
    view = state.observation(state.current_player)
    view.any_state()
    rates: dict[str, list[float]] = {"1": [], "2": []}
    for _ in range(REPEATS):
        for threads, values in rates.items():
            bot = make_bot(f"ismcts:iterations={THREAD_ITERATIONS}:threads={threads}", seed=1)
            values.append(THREAD_ITERATIONS / bot.suggest(view, multi_pv=1).elapsed_ms * 1e3)
    return {threads: statistics.median(values) for threads, values in rates.items()}


def _overshoot() -> dict[str, float]:
    state = random_position(SEARCH_PLAYERS, 1, MOMENTS["middle"])
    view = state.observation(state.current_player)
    figures = {}
    for budget, runs in OVERSHOOT_RUNS.items():
        bot = make_bot(f"ismcts:time_ms={budget}", seed=1)
        over = sorted(_elapsed_ms(bot, view) - budget for _ in range(runs))
        figures[str(budget)] = over[int(0.99 * (len(over) - 1) + 0.5)]
    return figures


def _elapsed_ms(bot: Any, view: bvb_core.Observation) -> float:
    begin = time.perf_counter()
    bot.suggest(view)
    return (time.perf_counter() - begin) * 1e3


def _machine() -> dict[str, Any]:
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if "model name" in line]
        cpu = names[0] if names else cpu
    return {"cpu": cpu, "cores": os.cpu_count(), "system": platform.platform(), "python": platform.python_version()}


def run(progress: Callable[[str], None]) -> dict[str, Any]:
    """All figures, under the keys of the JSON output; `progress` is told what is being measured."""
    figures: dict[str, Any] = {
        "machine": _machine(),
        "build": {"version": version("bvb-engine"), "debug": is_debug_build()},
        "players": SEARCH_PLAYERS,
    }
    progress("random playouts, 2 to 5 players")
    figures["playout"] = _playouts()
    progress("determinizations with three masks on the table")
    figures |= _determinize()
    progress("search from early, middle and late positions")
    figures["search"] = _search()
    progress("one thread and two")
    figures["threads"] = _threads()
    progress("overshoot of time budgets")
    figures["overshoot_ms_p99"] = _overshoot()
    figures["bytes_per_node"] = _bytes_per_node()
    return figures


def table(figures: dict[str, Any]) -> str:
    """The figures for people."""
    machine, build = figures["machine"], figures["build"]
    lines = [
        f"{machine['cpu']}, {machine['cores']} cores, Python {machine['python']}; "
        f"bvb-engine {build['version']}, {'debug' if build['debug'] else 'release'} build",
        "",
        "random playouts, one core     ns/action (low to high)    games/s   actions/game",
    ]
    for players, row in figures["playout"].items():
        lines.append(
            f"  {players} players                 {row['ns_per_action']:8.1f} ({row['ns_per_action_low']:.1f} to "
            f"{row['ns_per_action_high']:.1f})   {row['games_per_s']:10,.0f}   {row['actions_per_game']:10.1f}"
        )
    lines += [
        "",
        f"determinization, three masks  {figures['determinize_ns']:8.1f} ns",
        f"shuffle and deal of {figures['hidden_cards']:3} cards {figures['shuffle_ns']:8.1f} ns",
        "",
        f"search, {figures['players']} players, full playouts       sims/s   playout moves/s",
    ]
    for moment, rows in figures["search"].items():
        for iterations, row in rows.items():
            sims, moves = row["sims_per_s"], row["moves_per_s"]
            lines.append(f"  {moment:7} {int(iterations):9,} iterations  {sims:12,.0f}   {moves:14,.0f}")
    one, two = figures["threads"]["1"], figures["threads"]["2"]
    lines += [
        "",
        f"threads                       1: {one:,.0f} sims/s, 2: {two:,.0f} sims/s ({two / one:.2f}x)",
        "budget overshoot, p99         "
        + ", ".join(f"{budget} ms: {over:.2f} ms" for budget, over in figures["overshoot_ms_p99"].items()),
        f"memory                        {figures['bytes_per_node']:.1f} bytes a node",
    ]
    return "\n".join(lines)
