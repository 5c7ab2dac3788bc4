"""Starts the service on a free port, asks it for the best move in a mid-game position, and prints both.

This is what `make demo` runs.
"""

import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from typing import Any

import ai
import bvb
import bvb_core

PLAYERS = 3
PARTS = ("left_arm", "right_arm", "legs", "left_tool", "right_tool", "hat")


def moments() -> Iterator[bvb_core.Observation]:
    """What the seat to move knows, decision by decision, in games of a bot that follows a script against itself."""
    bot = ai.make_bot("greedy")
    for seed in count(1):
        state = bvb_core.new_game(players=PLAYERS, seed=seed)
        while not state.is_terminal:
            observation = state.observation(state.current_player)
            yield observation
            state.apply(bot.suggest(observation).action)


def busy(view: dict[str, Any]) -> bool:
    """Whether a turn begins in which everyone has a monster, two armies wait, and the hand holds a choice."""
    return (
        view["actions_used"] == 0
        and 30 <= sum(view["pile_counts"]) <= 60
        and len({monster["owner"] for monster in view["monsters"]}) == PLAYERS
        and sum(len(army["babies"]) >= 2 for army in view["armies"]) >= 2
        and len(set(view["players"][view["seat"]]["hand"])) >= 4
    )


def describe(observation: bvb_core.Observation) -> str:
    """A position as lines for people."""
    view = observation.to_dict()
    lines = [
        f"A game of {PLAYERS}, turn {view['turn_number']}: seat {view['seat']} is to move "
        f"and has used {view['actions_used']} of its actions.",
        "",
        f"  cards in the draw piles   {' '.join(map(str, view['pile_counts']))}",
    ]
    for army in view["armies"]:
        babies = " ".join(baby["kind"] or "?" for baby in army["babies"]) or "none"
        lines.append(f"  {army['type']} Babies{'':<{14 - len(army['type'])}}{babies}")
    for seat, player in enumerate(view["players"]):
        hand = " ".join(player["hand"]) or f"({player['hand_count']} hidden)"
        lines += [
            f"  seat {seat}" + (" (to move)" if seat == view["seat"] else ""),
            f"    hand       {hand}",
            f"    collected  {' '.join(player['collected']) or 'nothing'}",
        ]
        lines += [f"    {monster(m)}" for m in view["monsters"] if m["owner"] == seat]
    lines.append(f"  discarded: {' '.join(view['discard']) or 'nothing'}")
    return "\n".join(lines)


def monster(view: dict[str, Any]) -> str:
    """A monster in one line."""
    head = view.get("head")
    shown = "dead" if head is None else head["kind"] or "unknown head"
    if head is not None and head["masked"]:
        shown += " under a mask"
    parts = [view["torso"]] if view["torso"] else []
    parts += [part for part in PARTS if view[part]]
    return f"m{view['number']:<9} {' + '.join([shown, *parts])}"


def main() -> None:
    observation = next(view for view in moments() if busy(view.to_dict()))
    print(describe(observation))
    service = subprocess.Popen(
        [sys.executable, "-m", "bvb", "serve", "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert service.stdout is not None
    try:
        address = service.stdout.readline().removeprefix("listening on ").strip()
        if not address:
            sys.exit("the service did not start; `make serve` shows why")
        print(f"\nAsking the service at {address} for the best move (1 second) ...\n")
        with bvb.Client(address) as client:
            answer = client.suggest_move(observation, time_ms=1000, seed=1, multi_pv=5)
    except bvb.Error as error:
        sys.exit(f"the service gave no answer: {error}")
    finally:
        service.terminate()
        service.wait()
    print(f"Best move: {answer.action.notation}\n")
    print("Chance to win, by seat:  " + "  ".join(f"{p:.1%}" for p in answer.win_probability))
    print("Expected points:         " + "  ".join(f"{p:5.2f}" for p in answer.expected_score))
    print(f"\nThe best moves, by {answer.iterations} simulated games:")
    for alternative in answer.alternatives:
        chance = alternative.win_probability[observation.seat or 0]
        print(f"  {alternative.action.notation:<28} {chance:6.1%}  {alternative.visits:>7} visits")


if __name__ == "__main__":
    main()
