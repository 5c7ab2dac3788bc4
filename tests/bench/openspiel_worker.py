"""OpenSpiel's half of peers.py, run by a Python that has it: answers one JSON request a line with one JSON line."""

import json
import random
import sys
import time
from importlib.metadata import version
from typing import Any

import pyspiel

MEASURED_GAMES = 200


def opened(name: str, seed: int, choices: int) -> Any:
    """A state of a new game in which somebody chooses among at least so many actions, chance and the choices before it random."""
    rng = random.Random(seed)
    game = pyspiel.load_game(name)
    while True:
        state = game.new_initial_state()
        while not state.is_terminal():
            if not state.is_chance_node() and len(state.legal_actions()) >= choices:
                return state
            step(state, rng)


def step(state: Any, rng: random.Random) -> None:
    if state.is_chance_node():
        outcomes, weights = zip(*state.chance_outcomes(), strict=True)
        state.apply_action(rng.choices(outcomes, weights)[0])
    else:
        state.apply_action(rng.choice(state.legal_actions()))


def bot(state: Any, simulations: int, rollouts: int, exploration: float, seed: int) -> Any:
    """Their compiled search with random playouts. No bound on worlds: each simulation draws its own, as ours does."""
    game = state.get_game()
    return pyspiel.ISMCTSBot(
        seed=seed,
        evaluator=pyspiel.RandomRolloutEvaluator(rollouts, seed),
        uct_c=exploration * (game.max_utility() - game.min_utility()),  # their returns are not scaled
        max_simulations=simulations,
        max_world_samples=-1,
        final_policy_type=pyspiel.ISMCTSFinalPolicyType.MAX_VISIT_COUNT,
    )


def search(game: str, choices: int, simulations: int, exploration: float, seed: int, rollouts: int = 1) -> dict[str, float]:
    """Seconds of one search, from a bot that has been made to the move."""
    state = opened(game, seed, choices)
    searcher = bot(state, simulations, rollouts, exploration, seed)
    begin = time.thread_time()
    searcher.step(state)
    return {"seconds": time.thread_time() - begin}


def playouts(game: str, choices: int, simulations: int, rollouts: int, seed: int) -> dict[str, float]:
    """Seconds of one native random playout.

    Only the search can call them: what many a simulation take longer than one a simulation.
    """
    few, many = (search(game, choices, simulations, 1.0, seed, count)["seconds"] for count in (1, 1 + rollouts))
    return {"seconds": (many - few) / (simulations * rollouts)}


def length(game: str, choices: int, seed: int) -> dict[str, float]:
    """Mean number of moves to the end, chance among them, after the first move: what a playout in a search has."""
    rng = random.Random(seed)
    start = opened(game, seed, choices)
    moves = 0
    for _ in range(MEASURED_GAMES):
        state = start.clone()
        step(state, rng)
        while not state.is_terminal():
            step(state, rng)
            moves += 1
    return {"moves": moves / MEASURED_GAMES}


def about() -> dict[str, str]:
    return {"version": version("open_spiel"), "python": sys.version.split()[0]}


REQUESTS = {"search": search, "playouts": playouts, "length": length, "about": about}

for line in sys.stdin:
    request = json.loads(line)
    print(json.dumps(REQUESTS[request.pop("request")](**request)), flush=True)
