"""The PettingZoo environment: the checks of that library, and that it plays our games."""

import pickle
import subprocess
import sys
from typing import Any

import numpy
import pytest
from pettingzoo.test import api_test, seed_test

import bvb_core
from bvb_core import pettingzoo

every_number_of_players = pytest.mark.parametrize("players", range(2, 6))
# PettingZoo warns of observations that are not plain boxes, which is how it wants masks to be given.
expected_warnings = pytest.mark.filterwarnings("ignore:Observation:UserWarning")


@expected_warnings
@every_number_of_players
def test_api(players: int) -> None:
    api_test(pettingzoo.env(players=players), num_cycles=500)


@every_number_of_players
def test_seeds(players: int) -> None:
    seed_test(lambda: pettingzoo.env(players=players), num_cycles=100)


def play(env: Any, seed: int | None) -> dict[str, float]:
    """Play one game at random; returns the rewards, summed by agent."""
    rng = numpy.random.default_rng(seed)
    env.reset(seed=seed)
    sums = dict.fromkeys(env.possible_agents, 0.0)
    for agent in env.agent_iter():
        observation, reward, termination, truncation, _ = env.last()
        sums[agent] += reward
        over = termination or truncation
        env.step(None if over else rng.choice(numpy.flatnonzero(observation["action_mask"])))
    return sums


@every_number_of_players
def test_the_same_game(players: int) -> None:
    """What is observed is the game of the same seed, played beside it."""
    env = pettingzoo.env(players=players)
    env.reset(seed=21)
    state = bvb_core.new_game(players=players, seed=21)
    rng = numpy.random.default_rng(3)
    while not state.is_terminal:
        assert env.agent_selection == f"seat_{state.current_player}"
        for seat, agent in enumerate(env.agents):
            seen = env.observe(agent)
            assert (seen["observation"] == state.observation(seat).tensor()).all()
            assert (seen["action_mask"] == state.observation(seat).legal_mask()).all()
        action = int(rng.choice(state.legal_action_ids()))
        state.apply(action)
        env.step(action)
    assert [env.rewards[f"seat_{seat}"] for seat in range(players)] == state.returns()
    assert all(env.terminations.values())
    assert not any(env.truncations.values())


def test_rewards() -> None:
    shares = play(pettingzoo.env(players=3), seed=4)
    assert sum(shares.values()) == pytest.approx(1)
    env = pettingzoo.env(players=3, reward="score_difference")
    differences = play(env, seed=4)
    scores = env.unwrapped.game_state.scores()
    assert list(differences.values()) == pytest.approx([score - sum(scores) / 3 for score in scores])
    assert max(shares, key=shares.__getitem__) == max(differences, key=differences.__getitem__)


def test_turn_limit_truncates() -> None:
    env = pettingzoo.env(players=2, turn_limit=3)
    env.reset(seed=1)
    while env.agents and not any(env.truncations.values()):
        assert not any(env.terminations.values())
        env.step(numpy.flatnonzero(env.observe(env.agent_selection)["action_mask"])[0])
    assert env.truncations == {"seat_0": True, "seat_1": True}
    assert env.unwrapped.game_state.reason == "turn_limit"


def test_resets_go_on_from_the_seed() -> None:
    def deals(seed: int) -> list[Any]:
        env = pettingzoo.raw_env(players=2)
        env.reset(seed=seed)
        records = [env.game_state.to_record()]
        for _ in range(2):
            env.reset()
            records.append(env.game_state.to_record())
        return records

    first = deals(1)
    assert first == deals(1)
    assert first[0] != first[1] != first[2]
    assert first[1] != deals(2)[1]


def test_illegal_action_is_refused() -> None:
    env = pettingzoo.raw_env(players=2)
    env.reset(seed=1)
    before = env.game_state.clone()
    illegal = int(numpy.flatnonzero(env.observe(env.agent_selection)["action_mask"] == 0)[0])
    with pytest.raises(bvb_core.IllegalActionError, match=str(illegal)):
        env.step(illegal)
    with pytest.raises(ValueError, match="has to act"):
        env.step(None)
    assert env.game_state == before


def test_bad_options_are_named() -> None:
    for options, word in (
        ({"players": 6}, "players"),
        ({"reward": "money"}, "reward"),
        ({"render_mode": "rgb_array"}, "render_mode"),
    ):
        with pytest.raises(ValueError, match=word):
            pettingzoo.raw_env(**options)


def test_render(capsys: pytest.CaptureFixture[str]) -> None:
    env = pettingzoo.env(players=2, render_mode="ansi")
    env.reset(seed=1, options={})
    state = env.unwrapped.game_state
    seen = set()
    rng = numpy.random.default_rng(5)
    while not state.is_terminal:
        text = env.render()
        for monster in state.observation(None).to_dict()["monsters"]:
            assert f"m{monster['number']} " in text
        assert f"seat_{state.current_player} to move" in text
        seen |= set(text.split())
        env.step(rng.choice(state.legal_action_ids()))
    assert {"?", "bear_head", "left_arm", "(dead)"} <= seen
    assert " won" in env.render()
    human = pettingzoo.env(players=2, render_mode="human")
    human.reset(seed=1)
    human.step(state.game.new_game(1).legal_action_ids()[0])
    assert "seat_" in capsys.readouterr().out


def test_environments_can_be_pickled() -> None:
    env = pickle.loads(pickle.dumps(pettingzoo.raw_env(players=4, reward="score_difference", practice=True)))
    assert len(env.possible_agents) == 4
    assert sum(play(env, seed=1).values()) == pytest.approx(0)


def test_is_imported_on_demand_only() -> None:
    code = "import sys, bvb_core, ai; sys.exit(bool({'pettingzoo', 'gymnasium'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
