"""What every game on the contract must do: Bears vs Babies under many rules, and the toys."""

import random
from collections.abc import Iterator
from typing import Any

import numpy
import pytest
from scipy import stats

import bvb_core

from .toys import toy
from .toys.catalogue import BEARS, GAMES, HIDING, game, observers, positions, step

every_game = pytest.mark.parametrize("name", GAMES)
# Secrets that arise in play.
DEALS_NOTHING = {"sealed", "bluff", "guess-0"}
every_hiding_game = pytest.mark.parametrize("name", HIDING)
every_bears_game = pytest.mark.parametrize("name", BEARS)


# ---------------------------------------------------------------- actions


@every_game
def test_legal_actions(name: str) -> None:
    for state in positions(name):
        legal = state.legal_action_ids()
        assert bool(legal) == (state.current_player >= 0)
        assert legal == sorted(set(legal))
        assert all(0 <= action < state.game.num_distinct_actions for action in legal)
        assert len(legal) <= state.game.max_legal_actions
        assert numpy.flatnonzero(state.legal_mask()).tolist() == legal
        assert sorted(a.id for a in state.legal_actions()) == legal
        assert state.current_player in (*range(state.game.num_players), bvb_core.CHANCE, bvb_core.TERMINAL)


@every_game
def test_texts_of_actions_are_different(name: str) -> None:
    for state in positions(name):
        texts = [str(action) for action in state.legal_actions()]
        assert texts == sorted(set(texts))


@every_game
def test_search_actions_are_the_first_of_their_classes(name: str) -> None:
    for state in positions(name):
        legal, search = state.legal_action_ids(), state.search_action_ids()
        assert search == sorted(set(search))
        assert [a for a in legal if state.representative(a) == a] == search
        for action in legal:
            assert state.representative(action) in search
            assert state.representative(action) <= action


@every_game
def test_apply_is_deterministic_and_clones_are_independent(name: str) -> None:
    for state in positions(name):
        kept = state.clone()
        for seed in range(3):
            if not state.is_terminal:
                one, other = state.clone(), state.clone()
                assert step(one, seed) == step(other, seed)
                assert one == other
                assert one != state
        assert state == kept


@every_game
def test_illegal_ids_are_refused(name: str) -> None:
    for state in positions(name):
        kept = state.clone()
        illegal = set(range(-1, state.game.num_distinct_actions + 1)).difference(state.legal_action_ids())
        for action in random.Random(2).sample(sorted(illegal), min(len(illegal), 5)):
            with pytest.raises(bvb_core.IllegalActionError, match=str(action)):
                state.apply(action)
        assert state == kept


@every_game
def test_chance_is_played_at_chance_nodes_only(name: str) -> None:
    for state in positions(name):
        if state.current_player == bvb_core.CHANCE:
            assert state.sample_chance(5) == state.sample_chance(5) >= 0
            with pytest.raises(ValueError, match="nobody is to move"):
                state.random_action(0)
        else:
            with pytest.raises(ValueError, match="not at a chance node"):
                state.sample_chance(0)
            with pytest.raises(ValueError, match="not at a chance node"):
                state.apply_chance(0)


@every_game
def test_random_actions_are_uniform(name: str) -> None:
    """A chi-square test over all positions together; each action is expected 40 times."""
    statistic, freedom = 0.0, 0
    for state in positions(name):
        legal = state.legal_action_ids()
        if len(legal) > 1:
            drawn = [state.random_action(seed) for seed in range(40 * len(legal))]
            counts = numpy.bincount(numpy.searchsorted(legal, drawn), minlength=len(legal))
            assert set(drawn) <= set(legal)
            statistic += ((counts - 40) ** 2 / 40).sum()
            freedom += len(legal) - 1
    assert freedom
    assert stats.chi2.sf(statistic, freedom) > 1e-4


# ---------------------------------------------------------------- results


@every_game
def test_following_prizes_changes_nothing_else(name: str) -> None:
    for state in positions(name):
        followed, plain = state.clone(), state.clone()
        followed.follow()
        assert followed.legal_action_ids() == state.legal_action_ids()
        for observer in observers(state):
            assert followed.observation(observer) == state.observation(observer)
        assert followed.playout(3) == plain.playout(3)
        assert followed.returns() == plain.returns()
        winners = followed.outcomes()
        assert set(winners) <= set(state.game.outcome_names)
        assert all(seat is None or 0 <= seat < state.game.num_players for seat in winners.values())


@every_game
def test_returns_share_one_victory(name: str) -> None:
    for state in positions(name):
        returns = state.returns()
        assert len(returns) == len(state.scores()) == state.game.num_players
        assert all(0 <= share <= 1 for share in returns)
        assert sum(returns) == pytest.approx(1, abs=1e-12)


@every_game
def test_playouts_end_and_are_reproducible(name: str) -> None:
    for state in positions(name):
        one, other = state.clone(), state.clone()
        actions = one.playout(7)
        assert one.is_terminal
        assert other.playout(7) == actions
        assert one == other
        if state.is_terminal:
            assert actions == 0
            assert one == state


@every_game
def test_equal_seeds_give_equal_games(name: str) -> None:
    for seed in (0, 1, 2**63, 2**64 - 1):
        assert game(name).new_state(seed) == game(name).new_state(seed)


@every_hiding_game
def test_seeds_give_different_games(name: str) -> None:
    if name not in DEALS_NOTHING:
        assert any(game(name).new_state(seed) != game(name).new_state(0) for seed in range(1, 20))


# ---------------------------------------------------------------- observations and determinizations


@every_game
def test_determinizations_cannot_be_told_from_the_truth(name: str) -> None:
    """By any observer: equal observation bytes, and equal answers to all that the observer may ask."""
    for state in positions(name):
        for seat in observers(state):
            seen = state.observation(seat)
            assert seen.seat == seat
            assert seen.current_player == state.current_player
            for seed in range(3):
                guess = seen.determinize(seed)
                assert guess.observation(seat) == seen
                assert bytes(guess.observation(seat)) == bytes(seen)
                assert guess.current_player == state.current_player
                assert guess.scores() == state.scores()
                assert guess.returns() == state.returns()
            if seat == state.current_player:
                assert [a.id for a in seen.legal_actions()] == [a.id for a in state.legal_actions()]
                assert guess.legal_action_ids() == state.legal_action_ids()
                assert guess.search_action_ids() == state.search_action_ids()
                assert (seen.legal_mask() == state.legal_mask()).all()
            else:
                assert seen.legal_actions() == []
                assert not seen.legal_mask().any()


@every_game
def test_determinizations_follow_their_seed(name: str) -> None:
    for state in positions(name)[:10]:
        for seat in observers(state):
            one, other = state.observation(seat), state.observation(seat)
            for seed in (0, 1, 2**64 - 1):
                assert one.determinize(seed) == other.determinize(seed) == one.determinize(seed)


@every_hiding_game
def test_determinizations_differ(name: str) -> None:
    assert max(len(worlds(state.observation(seat))) for state in positions(name) for seat in observers(state)) > 1


@every_hiding_game
def test_a_seed_does_not_reproduce_its_deal(name: str) -> None:
    """The seed of a game tells nothing about it, even to one who determinizes with it."""
    hits = []
    for seed in range(200):
        state = game(name).new_state(seed)
        while name in DEALS_NOTHING and not state.is_terminal and len(worlds(state.observation(1))) == 1:
            step(state, seed)
        if not state.is_terminal:
            hits.append(state.observation(1).determinize(seed) == state)
    assert len(hits) > 100
    if name in BEARS:
        assert not any(hits)
    else:
        assert sum(hits) < 0.6 * len(hits)


def worlds(seen: Any) -> set[bytes]:
    return {guess._raw() for guess in map(seen.determinize, range(20))}


@every_game
def test_determinizations_can_be_played(name: str) -> None:
    for state in positions(name)[:20]:
        for seat in observers(state):
            guess = state.observation(seat).determinize(3)
            guess.playout(4)
            assert guess.is_terminal
            assert sum(guess.returns()) == pytest.approx(1, abs=1e-12)


@every_game
def test_only_seats_and_spectators_observe(name: str) -> None:
    state = positions(name)[0]
    for seat in (-1, state.game.num_players):
        with pytest.raises(ValueError, match="seat must be"):
            state.observation(seat)
        with pytest.raises(ValueError, match="seat must be"):
            state.event_key(seat)


# ---------------------------------------------------------------- event keys


def transitions(state: Any, rng: random.Random, at_most: int) -> Iterator[Any]:
    """States after different actions, or after chance."""
    if state.current_player == bvb_core.CHANCE:
        for _ in range(at_most):
            after = state.clone()
            step(after, rng.getrandbits(40))
            yield after
    else:
        legal = state.legal_action_ids()
        for action in rng.sample(legal, min(len(legal), at_most)):
            after = state.clone()
            after.apply(action)
            yield after


@every_game
def test_equal_keys_lead_to_equal_observations(name: str) -> None:
    """In the whole information set: what a search puts into one node must look the same to the observer."""
    rng = random.Random(3)
    met = 0
    for state in positions(name):
        for seat in observers(state):
            seen = state.observation(seat)
            by_key: dict[int, Any] = {}
            for seed in range(4):
                for after in transitions(seen.determinize(seed), rng, 8):
                    key = after.event_key(seat)
                    met += key in by_key
                    assert by_key.setdefault(key, after.observation(seat)) == after.observation(seat)
    assert met


@every_game
def test_equal_keys_of_different_actions_are_those_of_others(name: str) -> None:
    """The seat to move tells all its own actions apart."""
    for state in positions(name):
        if state.current_player >= 0:
            states = transitions(state, random.Random(4), 50)
            keys = [after.event_key(state.current_player) for after in states]
            assert len(set(keys)) == len(keys)


@every_bears_game
def test_keys_agree_with_what_is_shown_in_words(name: str) -> None:
    """From one state, two actions have equal keys exactly when event lines and observations are equal."""
    for state in positions(name):
        after = list(transitions(state, random.Random(5), 40))
        for seat in observers(state):
            keys = [s.event_key(seat) for s in after]
            shown = [(tuple(s.events(seat)), bytes(s.observation(seat))) for s in after]
            assert len(set(keys)) == len(set(shown)) == len(set(zip(keys, shown, strict=True)))


def after(state: Any, *actions: int) -> Any:
    state = state.clone()
    for action in actions:
        state.apply(action)
    return state


def test_keys_of_a_sealed_bet() -> None:
    start = game("sealed").new_state(0)
    for seat, different in ((0, 3), (1, 1), (None, 1)):
        assert len({after(start, bid).event_key(seat) for bid in range(3)}) == different
    for seat in observers(start):
        assert len({after(start, a, b).event_key(seat) for a in range(3) for b in range(3)}) == 9


def test_keys_of_hidden_draws_and_shuffles() -> None:
    state = game("reshuffle").new_state(0)
    guesses = [state.observation(1).determinize(seed) for seed in range(40)]
    drawn = [after(guess, 6) for guess in guesses]
    assert len({s.event_key(0) for s in drawn}) == 5  # the card of seat 1 is not drawn
    assert len({s.event_key(1) for s in drawn}) == len({s.event_key(None) for s in drawn}) == 1
    while state.current_player != bvb_core.CHANCE:
        state.apply(state.legal_action_ids()[0])
    shuffled = []
    for seed in range(60):
        shuffled.append(state.clone())
        step(shuffled[-1], seed)
    assert len({s._raw() for s in shuffled}) == 6
    for seat in observers(state):
        assert len({s.event_key(seat) for s in shuffled}) == 1


def test_keys_of_dice_and_dealt_cards_show_all() -> None:
    for name, actions, outcomes in (("dice-2", (1,), 6), ("leduc", (1, 1), 4), ("bandit", (1,), 2)):
        state = after(game(name).new_state(0), *actions)
        assert state.current_player == bvb_core.CHANCE
        for seat in observers(state):
            seen = set()
            for seed in range(100):
                rolled = state.clone()
                step(rolled, seed)
                seen.add(rolled.event_key(seat))
            assert len(seen) == outcomes


def test_keys_of_a_showdown() -> None:
    """A called bet shows the cards; a fold does not."""
    guesses = [game("kuhn").new_state(0).observation(None).determinize(seed) for seed in range(100)]
    shown = {(1, 1): 6, (0, 0): 6, (0, 1, 1): 6, (1, 0): 1, (0, 1, 0): 1, (0,): 1}
    for actions, different in shown.items():
        for seat in (0, 1, None):
            assert len({after(guess, *actions).event_key(seat) for guess in guesses}) == different


# ---------------------------------------------------------------- the toys themselves


def test_kuhn_pays() -> None:
    state = game("kuhn").new_state(0)
    for actions, chips in (((1, 0), 1), ((0, 1, 0), -1)):
        assert after(state, *actions).scores() == [chips, -chips]
    called, checked = after(state, 1, 1).scores(), after(state, 0, 0).scores()
    assert called == [2 * checked[0], 2 * checked[1]]
    assert sorted(checked) == [-1, 1]


def test_sealed_prizes() -> None:
    start = game("sealed").new_state(0)
    assert after(start, 0, 1, 2, 2, 1, 0).scores() == [3, 1]
    assert after(start, 0, 0, 1, 1, 2, 2).returns() == [0.5, 0.5]


@pytest.mark.parametrize("players", range(2, 6))
def test_forced_wins(players: int) -> None:
    for first in range(players):
        start = toy("forced", players, first).new_state(0)
        second = (first + 1) % players
        move, trap, loss = first % 3, (first + 1) % 3, (first + 2) % 3
        assert after(start, loss).returns()[second] == 1
        assert after(start, trap, 2).returns()[second] == 1
        assert after(start, trap, 1).returns()[first] == 1
        line = after(start, move, *[0] * (players - 1))
        assert line.current_player == first
        assert [after(line, a).returns().index(1) for a in range(3)] == [
            first if a == (move + 1) % 3 else second for a in range(3)
        ]
