"""Observations from events against those of the game itself."""

import random
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import bvb_core

from .belief.histories import new_tiny_game
from .random_play import Policy
from .soak import Tally, fixture_seeds, run_many

TINY_SHARE = 0.4
# Draws as others see them, and as the seat itself does.
OTHERS_DRAWS = ("?", "land_baby", "sea_baby", "sky_baby")
NONSENSE = ("", "jump", "draw 4 = ?", "draw 1", "pass = ?", "mask ? m99", "reveal m1", "army fire", "head ?")


def follow_game(seed: int) -> Tally:
    """A random game, followed by every observer from the deal and by others from later moments."""
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        if rng.random() < TINY_SHARE:
            state = new_tiny_game(rng, Path(folder)).state
        else:
            state = bvb_core.new_game(players=rng.randint(2, 5), seed=rng.getrandbits(64),
                                      armageddon=rng.random() < 0.3, practice=rng.random() < 0.1)
        policy = Policy(rng)
        observers = [None, *range(state.rules["players"])]
        trackers = [new_tracker(state, observer) for observer in observers]
        tally = Tally({"games": 1})
        while not state.is_terminal:
            if rng.random() < 0.02:
                trackers[rng.randrange(len(trackers))] = new_tracker(state, rng.choice(observers))
            player = state.current_player
            state.apply(policy.choose(state.legal_actions()))
            for tracker in trackers:
                lines = state.events(tracker.seat)
                tally["lines"] += len(lines)
                for line in lines:
                    tracker.push(line)
                if doubtful(lines) and tracker.seat != player:
                    continue
                assert tracker.event_key() == state.event_key(tracker.seat)
                tally["observations"] += 1
                seen, told = state.observation(tracker.seat), tracker.observation()
                assert bytes(told) == bytes(seen), f"{lines} to {tracker.seat}: {differences(told, seen)}"
            tally["refused"] += check_refusal(rng.choice(trackers), rng)
    return tally


def new_tracker(state: bvb_core.State, observer: int | None) -> bvb_core.Tracker:
    return bvb_core.Tracker(state.rules, observer, state.observation(observer), state.game.deck)


def doubtful(lines: list[str]) -> bool:
    """Whether only the player knows if the game waits for the army of a Wild Provoke or goes on."""
    return lines[-1].endswith("wild_provoke")


def check_refusal(tracker: bvb_core.Tracker, rng: random.Random) -> int:
    line = rng.choice(NONSENSE)
    with pytest.raises(bvb_core.EventError) as refused:
        tracker.push(line)
    assert (refused.value.index, refused.value.line) == (tracker.count, line)
    assert refused.value.reason
    return 1


def differences(told: bvb_core.Observation, seen: bvb_core.Observation) -> str:
    one, other = told.to_dict(), seen.to_dict()
    return "; ".join(f"{key} {one.get(key)} should be {other.get(key)}"
                     for key in {**one, **other} if one.get(key) != other.get(key))


def test_trackers_follow_games() -> None:
    tally = run_many("tracker", follow_game, [*fixture_seeds("tracker"), *range(150)])
    assert tally["observations"] > 50_000


@pytest.mark.soak
def test_trackers_follow_many_games() -> None:
    run_many("tracker", follow_game, [*fixture_seeds("tracker"), *range(5_000)], resume=True)


def follow(record: dict[str, Any], actions: list[str], deck: Any = None) -> None:
    """Trackers of all observers stay byte-equal to the game, at its end too."""
    state = bvb_core.State.from_record({**record, "actions": [], "result": None}, deck=deck)
    observers = [None, *range(record["rules"]["players"])]
    trackers = {seat: bvb_core.Tracker(state.rules, seat, state.observation(seat)) for seat in observers}
    for action in actions:
        state.apply(action)
        for seat, tracker in trackers.items():
            for line in state.events(seat):
                tracker.push(line)
    assert state.is_terminal
    for seat, tracker in trackers.items():
        assert bytes(tracker.observation()) == bytes(state.observation(seat))


def test_armageddon_right_after_an_action_that_turned_something_over() -> None:
    """Games with Armageddon whose last action is a swap, a masked play, a Lullaby or a Wild Provoke."""
    endings = Counter[str]()
    for seed in range(600):
        rng = random.Random(seed)
        state = bvb_core.new_game(players=2, seed=seed, armageddon=True)
        while not state.is_terminal:
            legal = [str(action) for action in state.legal_actions()]
            held = [a for a in legal if a.startswith(("swap", "mask", "lullaby", "dive swap", "dive mask", "dive lullaby"))]
            last = state.observation(None).to_dict().get("final_turns_left") == 0
            waits = [action for action in legal if action.startswith("draw") or action == "pass"]
            state.apply(rng.choice(held if held and (last or rng.random() < 0.05) else waits if waits else legal))
        record = state.to_record()
        ending = record["actions"][-1].split()[0]
        if ending in ("swap", "mask", "lullaby") or (ending == "pass" and not endings["pass"]):
            endings[ending] += 1
            follow(record, record["actions"])
    assert endings["swap"] + endings["mask"] + endings["lullaby"] >= 3


@pytest.mark.parametrize("brought", OTHERS_DRAWS)
def test_a_seat_has_to_say_what_it_drew_itself(brought: str) -> None:
    state = bvb_core.new_game(players=2, seed=1, first_player=0)
    tracker = new_tracker(state, 0)
    with pytest.raises(bvb_core.EventError, match="the seat knows what it drew, so this line names the card"):
        tracker.push(f"draw 1 = {brought}")
    with pytest.raises(bvb_core.EventError, match="no card 'unicorn' in this deck"):
        tracker.push("draw 1 = unicorn")
    new_tracker(state, 1).push(f"draw 1 = {brought}")
