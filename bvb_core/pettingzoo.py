"""Bears vs Babies as a PettingZoo AEC environment. Needs the extra: `pip install '.[pettingzoo]'`.

    from bvb_core import pettingzoo
    env = pettingzoo.env(players=3)
    env.reset(seed=7)
    for agent in env.agent_iter():
        observation, reward, termination, truncation, info = env.last()
        mask = observation["action_mask"]
        env.step(None if termination or truncation else env.action_space(agent).sample(mask))
"""

from __future__ import annotations

import os
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.utils import EzPickle, seeding
from pettingzoo import AECEnv
from pettingzoo.utils import wrappers

from bvb_core import Deck, State
from bvb_core.bears.ops import DEFAULT_TURN_LIMIT, as_deck, game_for

__all__ = ["env", "raw_env", "table"]

Reward = Literal["returns", "score_difference"]


def env(**options: Any) -> AECEnv[str, Any, Any]:
    """The environment with the customary checks around it; options as for raw_env."""
    return wrappers.OrderEnforcingWrapper(wrappers.AssertOutOfBoundsWrapper(raw_env(**options)))


class raw_env(AECEnv[str, Any, Any], EzPickle):
    """One game after the other. Agents are `seat_0`, `seat_1`, ...; a turn is made of several actions.

    An agent observes `{"observation": tensor, "action_mask": mask}`: the tensor of Observation.tensor, and
    an int8 vector with 1 at the ids of the legal actions (all 0 while another agent is to move, and at the
    end). Actions are ids, 0 to num_distinct_actions - 1. `reset(seed=s)` begins the game of
    `new_game(players, seed=s)`; a reset without a seed draws one.

    Rewards are given once, at the end: the share of the victory (`reward="returns"`, 0 to 1, summing to 1),
    or the points minus the mean of all players' points (`"score_difference"`, summing to 0). A game that is
    scored at the turn limit is truncated, every other one terminated. `game_state` is the State, with every
    hidden card.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012
        "name": "bears_vs_babies_v0",
        "render_modes": ["human", "ansi"],
        "is_parallelizable": False,
    }

    def __init__(
        self,
        players: int = 2,
        *,
        reward: Reward = "returns",
        render_mode: str | None = None,
        first_player: int | None = None,
        armageddon: bool = False,
        practice: bool = False,
        turn_limit: int = DEFAULT_TURN_LIMIT,
        deck: Deck | str | os.PathLike[str] | None = None,
    ) -> None:
        """Options of the game as for bvb_core.new_game. Raises ValueError naming the option that is wrong."""
        EzPickle.__init__(
            self,
            players,
            reward=reward,
            render_mode=render_mode,
            first_player=first_player,
            armageddon=armageddon,
            practice=practice,
            turn_limit=turn_limit,
            deck=deck,
        )
        super().__init__()  # type: ignore[no-untyped-call]
        if reward not in ("returns", "score_difference"):
            raise ValueError(f"reward must be 'returns' or 'score_difference', not {reward!r}")
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ValueError(f"render_mode must be None, 'human' or 'ansi', not {render_mode!r}")
        self.reward: Reward = reward
        self.render_mode = render_mode
        self.game = game_for(players, armageddon, practice, turn_limit, as_deck(deck))
        self.first_player = first_player
        self.possible_agents = [f"seat_{seat}" for seat in range(players)]
        self._seat = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        actions = self.game.num_distinct_actions
        self.observation_spaces = {
            agent: spaces.Dict(
                {
                    "observation": spaces.Box(-1, 1, (self.game.tensor_layout.size,), np.float32),
                    "action_mask": spaces.Box(0, 1, (actions,), np.int8),
                }
            )
            for agent in self.possible_agents
        }
        self.action_spaces = {agent: spaces.Discrete(actions) for agent in self.possible_agents}
        self._random: np.random.Generator | None = None

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        if seed is not None or self._random is None:
            self._random, _ = seeding.np_random(seed)
        deal = seed if seed is not None else int(self._random.integers(2**63))
        self.game_state: State = self.game.new_game(deal, self.first_player)
        self._last_action = ""
        self.agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos = {agent: {} for agent in self.agents}
        self.agent_selection = self.possible_agents[self.game_state.current_player]

    def observe(self, agent: str) -> dict[str, npt.NDArray[Any]]:
        state = self.game_state
        seat = self._seat[agent]
        mask = np.zeros(self.game.num_distinct_actions, np.int8)
        if seat == state.current_player:
            mask[state.legal_action_ids()] = 1
        return {"observation": state.observation(seat).tensor(), "action_mask": mask}

    def step(self, action: int | None) -> None:
        """Play an action id. Raises IllegalActionError for an illegal one; the game is unchanged then."""
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        if action is None:
            raise ValueError(f"{agent} has to act: None is for agents whose game is over")
        state = self.game_state
        played = int(action)
        legal = played in state.legal_action_ids()
        text = str(state.action(played)) if legal else ""
        state.apply(played)
        self._last_action = f"{agent}: {text}"
        self._cumulative_rewards[agent] = 0.0
        if state.is_terminal:
            over = self.truncations if state.reason == "turn_limit" else self.terminations
            for seat, value in enumerate(self._final_rewards()):
                over[self.possible_agents[seat]] = True
                self.rewards[self.possible_agents[seat]] = value
            self._accumulate_rewards()
        else:
            self.agent_selection = self.possible_agents[state.current_player]
        if self.render_mode == "human":
            self.render()

    def _final_rewards(self) -> list[float]:
        if self.reward == "returns":
            return self.game_state.returns()
        scores = self.game_state.scores()
        return [score - sum(scores) / len(scores) for score in scores]

    def render(self) -> str | None:
        """The table as everyone sees it: returned in mode "ansi", printed in mode "human"."""
        if self.render_mode is None:
            return None
        text = table(self.game_state)
        if self._last_action:
            text = f"{self._last_action}\n{text}"
        if self.render_mode == "ansi":
            return text
        print(text)
        return None

    def close(self) -> None:
        """Nothing to release."""


def table(state: State) -> str:
    """What a spectator sees, as text."""
    view = state.observation(None).to_dict()
    over = view.get("result")
    if over:
        winners = ", ".join(f"seat_{seat}" for seat in over["winners"])
        lines = [f"turn {view['turn_number']}, over ({over['reason']}): {winners} won"]
    else:
        turn, to_move, used = view["turn_number"], view["current_player"], view["actions_used"]
        lines = [f"turn {turn}, seat_{to_move} to move, actions used: {used}"]
    lines.append("  piles " + " ".join(map(str, view["pile_counts"])))
    for army in view["armies"]:
        babies = " ".join(baby["kind"] or "?" for baby in army["babies"])
        lines.append(f"  {army['type']} Babies: {babies or '-'}")
    for seat, player in enumerate(view["players"]):
        points, collected = state.scores()[seat], len(player["collected"])
        lines.append(f"  seat_{seat}: cards {player['hand_count']}, Babies {collected}, points {points}")
        lines += [f"    {_monster(monster)}" for monster in view["monsters"] if monster["owner"] == seat]
    return "\n".join(lines)


def _monster(monster: dict[str, Any]) -> str:
    cards = []
    head = monster.get("head")
    if head:
        cards.append((head["kind"] or "?") + (" under a mask" if head["masked"] else ""))
    cards += [monster["torso"]] if monster["torso"] else []
    parts = ("left_arm", "right_arm", "legs", "left_tool", "right_tool", "hat")
    cards += [part for part in parts if monster[part]]
    return f"m{monster['number']} {' + '.join(cards)}" + ("" if head else " (dead)")
