"""Which observations may follow which, and the events between them."""

import random
import tempfile
from pathlib import Path

import pytest

import bvb_core
from bvb_core.bears.follows import Facts, line_between

from ..belief.histories import new_tiny_game
from ..random_play import Policy
from ..soak import Tally, run_many

PAIRS = 150


def new_game(rng: random.Random, folder: Path) -> bvb_core.State:
    if rng.random() < 0.3:
        return new_tiny_game(rng, folder).state
    return bvb_core.new_game(
        players=rng.randint(2, 5), seed=rng.getrandbits(64), armageddon=rng.random() < 0.3, practice=rng.random() < 0.1
    )


def course(state: bvb_core.State, seat: int | None, rng: random.Random) -> list[Facts]:
    """What of each observation of a seat matters, from now to the end of the game, played at random."""
    policy = Policy(rng)
    views = [state.observation(seat)]
    while not state.is_terminal:
        state.apply(policy.choose(state.legal_actions()))
        views.append(state.observation(seat))
    return [Facts(view.to_dict(), state.game.deck) for view in views]


def check_game(seed: int) -> Tally:
    """Pairs of observations in the right and in the wrong order, and with all that is located left out."""
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        state = new_game(rng, Path(folder))
        seat = rng.choice([None, *range(state.rules["players"])])
        facts = course(state, seat, rng)
    bare = [without_located(fact) for fact in facts]
    for _ in range(PAIRS):
        i, j = sorted(rng.sample(range(len(facts)), 2))
        assert facts[j].may_follow(facts[i])
        assert facts[j].may_follow(facts[i], complete=True)
        assert bare[j].may_follow(facts[i])
        assert not facts[i].may_follow(facts[j])
        assert not facts[i].may_follow(facts[i])
    return Tally({"pairs": PAIRS})


def without_located(facts: Facts) -> Facts:
    copy = Facts.__new__(Facts)
    copy.__dict__.update(facts.__dict__, located=facts.located - facts.located)
    return copy


def test_what_follows_may_follow() -> None:
    run_many("follows", check_game, range(60))


@pytest.mark.soak
def test_what_follows_may_follow_in_many_games() -> None:
    run_many("follows", check_game, range(3_000), resume=True)


def test_other_games_mostly_do_not_follow() -> None:
    """Near in time hardly ever, over a whole game less surely: then most of the cards have been seen in both."""
    rng = random.Random(1)
    games = [course(bvb_core.new_game(players=3, seed=seed, first_player=0), 0, rng) for seed in range(12)]
    tally = Tally()
    for _ in range(4_000):
        one, other = rng.sample(games, 2)
        earlier, later = rng.choice(one), rng.choice(other)
        if later.moment < earlier.moment:
            earlier, later = later, earlier
        near = later.turn - earlier.turn <= 3
        tally[f"{'near' if near else 'far'} pairs"] += 1
        tally[f"{'near' if near else 'far'} accepted"] += later.may_follow(earlier)
    assert tally["near pairs"] > 100
    assert tally["near accepted"] < 0.05 * tally["near pairs"]
    assert tally["far accepted"] < 0.4 * tally["far pairs"]


def test_other_seats_and_rules_do_not_follow() -> None:
    state = bvb_core.new_game(players=2, seed=1, first_player=0)
    other = bvb_core.new_game(players=2, seed=1, first_player=0, turn_limit=400)
    earlier = state.observation(0)
    for game in (state, other):
        game.apply("draw 1")
    assert state.observation(0).may_follow(earlier)
    assert not state.observation(1).may_follow(earlier)
    assert not other.observation(0).may_follow(earlier)
    assert not earlier.may_follow(earlier)


def test_a_line_within_a_turn_is_found() -> None:
    """Mostly the true one: two actions may as well have come in the other order."""
    found = true = 0
    for seed in range(30):
        rng = random.Random(seed)
        state = bvb_core.new_game(players=2, seed=seed, first_player=0)
        earlier, keys = state.observation(0), []
        for _ in range(2):
            state.apply(rng.choice(state.search_action_ids()))
            keys.append(state.event_key(0))
        line = line_between(earlier, state.observation(0), 1)
        found += line is not None
        true += line == keys
    assert found >= 27
    assert true >= 18


def test_no_line_leads_back_or_to_another_game() -> None:
    state = bvb_core.new_game(players=2, seed=1, first_player=0)
    earlier = state.observation(0)
    state.apply("draw 1")
    later = state.observation(0)
    assert line_between(earlier, later, 1) == [state.event_key(0)]
    assert line_between(later, earlier, 1) is None
    other = bvb_core.new_game(players=2, seed=2, first_player=0)
    other.apply("draw 1")
    assert line_between(earlier, other.observation(0), 0.05) is None
