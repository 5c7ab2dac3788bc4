"""Searches in slices, restricted roots, errors, and who wins which prize."""

import math
import random
from typing import Any

import pytest

from ai import StopToken, make_bot
from ai.analysis import Analysis
from ai.bots import IsmctsBot
from ai.params import SearchParams

from ..games import a_state, random_game, states
from ..toys.catalogue import game


@pytest.fixture
def observation() -> Any:
    state = a_state()
    return state.observation(state.current_player)


def found(analysis: Analysis) -> dict[str, Any]:
    """What an analysis has found, without times."""
    answer = analysis.report().to_dict()
    del answer["elapsed_ms"], answer["stop_reason"]
    return answer


def bot(spec: str, seed: int = 0) -> IsmctsBot:
    made = make_bot(spec, seed)
    assert isinstance(made, IsmctsBot)
    return made


# ---------------------------------------------------------------- slices


def test_slices_change_nothing(observation: Any) -> None:
    whole, sliced = (bot("ismcts:iterations=3000", 3).analysis(observation) for _ in range(2))
    assert whole.run()
    seen = []
    while not sliced.run(slice_ms=1):
        seen.append(sliced.iterations)
    assert len(seen) > 1
    assert seen == sorted(set(seen))
    assert found(whole) == found(sliced)
    assert whole.stop_reason == sliced.stop_reason == "iterations"


def test_slices_keep_to_a_budget_of_time(observation: Any) -> None:
    analysis = bot("ismcts:time_ms=100").analysis(observation)
    while not analysis.run(slice_ms=30):
        assert analysis.elapsed_ms < 1000
    assert analysis.elapsed_ms >= 100
    assert analysis.stop_reason == "time"


def test_slices_of_two_threads_end_together(observation: Any) -> None:
    analysis = bot("ismcts:iterations=2001:threads=2").analysis(observation)
    while not analysis.run(slice_ms=1):
        analysis.report()
    assert analysis.iterations == 2001


def test_a_stopped_slice_is_the_last(observation: Any) -> None:
    analysis, stop = bot("ismcts:time_ms=60000").analysis(observation), StopToken()
    assert not analysis.run(5, stop)
    before = analysis.iterations
    stop.stop()
    assert analysis.run(5, stop)
    assert analysis.stop_reason == "stopped"
    assert analysis.iterations == before + 1


# ---------------------------------------------------------------- restricted roots


def test_only_some_moves(observation: Any) -> None:
    legal = observation.legal_actions()
    everything = found_by(observation, None)
    assert everything == found_by(observation, legal)
    for only in (legal[:1], legal[1:3], legal[-4:]):
        answer = bot("ismcts:iterations=200").analysis(observation, only)
        answer.run()
        alternatives = answer.report().alternatives
        covered = [action for a in alternatives for action in (a.action, *a.equivalent)]
        assert sorted(covered, key=str) == sorted(only, key=str)
        assert sum(a.visits for a in alternatives) == 200
        for alternative in alternatives:
            assert alternative.pv[0].startswith(str(alternative.action))


def found_by(observation: Any, only: Any) -> dict[str, Any]:
    analysis = bot("ismcts:iterations=300", 1).analysis(observation, only)
    analysis.run()
    return found(analysis)


def test_the_other_arm_alone() -> None:
    """A move that another one stands for keeps its own name when it alone is allowed."""
    tried = 0
    for state in states(60, seed=6):
        observation = state.observation(state.current_player)
        for action in observation.legal_actions():
            if state.representative(action.id) != action.id:
                analysis = bot("ismcts:iterations=5").analysis(observation, [action])
                analysis.run()
                (alternative,) = analysis.report().alternatives
                assert (alternative.action, alternative.equivalent) == (action, ())
                assert alternative.pv[0].startswith(str(action))
                tried += 1
                break
    assert tried > 5


def test_only_legal_moves(observation: Any) -> None:
    with pytest.raises(ValueError, match="only legal moves"):
        bot("ismcts").analysis(observation, [])
    legal = observation.legal_actions()
    illegal = type(legal[0])(legal[0].id, "no such move", {})
    with pytest.raises(ValueError, match="only legal moves"):
        bot("ismcts").analysis(observation, [legal[0], illegal])


# ---------------------------------------------------------------- figures


def test_standard_error_of_a_bandit() -> None:
    """Arms that win in 20, 50 and 80 of 100 cases: the error is the one of a proportion."""
    observation = game("bandit").new_state(0).observation(0)
    analysis = Analysis(observation, SearchParams(iterations=5000), 1)
    analysis.run()
    answer = analysis.report()
    assert len(answer.alternatives) == 3
    for alternative in answer.alternatives:
        win, n = alternative.win_probability[0], alternative.visits
        assert alternative.standard_error == pytest.approx([math.sqrt(win * (1 - win) / (n - 1))] * 2)
    best = answer.alternatives[0]
    assert abs(best.win_probability[0] - 0.8) < 4 * best.standard_error[0]


def test_root_is_the_mean_of_the_moves(observation: Any) -> None:
    answer = bot("ismcts:iterations=1000:threads=2").suggest(observation)
    root = answer.root
    assert root is not None
    for seat in range(3):
        for of_root, of_moves in (
            (root.win_probability, [a.win_probability for a in answer.alternatives]),
            (root.expected_score, [a.expected_score for a in answer.alternatives]),
        ):
            mean = sum(a.visits * v[seat] for a, v in zip(answer.alternatives, of_moves, strict=True)) / 1000
            assert of_root[seat] == pytest.approx(mean)
        assert 1 < root.score_spread[seat] < 15
    assert [outcome.name for outcome in root.outcomes] == [
        army["type"] for army in observation.to_dict()["armies"] if army["babies"]
    ]
    for outcome in root.outcomes:
        assert sum(outcome.seats) + outcome.nobody == pytest.approx(1)
        assert min(*outcome.seats, outcome.nobody) > 0


def test_visits_along_a_line_shrink(observation: Any) -> None:
    for alternative in bot("ismcts:iterations=2000").suggest(observation).alternatives:
        assert len(alternative.pv_visits) == len(alternative.pv)
        assert alternative.pv_visits[0] == alternative.visits
        assert list(alternative.pv_visits) == sorted(alternative.pv_visits, reverse=True)


# ---------------------------------------------------------------- prizes


def collected(state: Any, army: str) -> list[int]:
    players = state.observation(None).to_dict()["players"]
    return [sum(kind.startswith(army) for kind in player["collected"]) for player in players]


def army_size(state: Any, army: str) -> int:
    return next(len(a["babies"]) for a in state.observation(None).to_dict()["armies"] if a["type"] == army)


def test_who_eats_which_army() -> None:
    """Against a reading of the public position after every action."""
    rng = random.Random(8)
    counts = {"seat": 0, "nobody": 0, "absent": 0}
    for _ in range(40):
        state = random_game(rng)
        for _ in range(rng.randrange(100)):
            if not state.is_terminal:
                state.apply(rng.choice(state.legal_actions()))
        if state.is_terminal:
            continue
        state.follow()
        expected: dict[str, int | None] = {}
        waiting = {army for army in ("land", "sea", "sky") if army_size(state, army)}
        counts["absent"] += 3 - len(waiting)
        while not state.is_terminal:
            before = {army: collected(state, army) for army in waiting}
            state.apply(rng.choice(state.legal_actions()))
            for army in sorted(waiting):
                if not army_size(state, army):
                    waiting.remove(army)
                    gains = [b - a for a, b in zip(before[army], collected(state, army), strict=True)]
                    expected[army] = gains.index(max(gains)) if any(gains) else None
        expected.update(dict.fromkeys(waiting, None))
        assert state.outcomes() == expected
        counts["seat"] += sum(seat is not None for seat in expected.values())
        counts["nobody"] += sum(seat is None for seat in expected.values())
    assert min(counts.values()) > 5, counts


def test_bandits_have_no_prizes() -> None:
    analysis = Analysis(game("bandit").new_state(0).observation(0), SearchParams(iterations=10), 1)
    analysis.run()
    root = analysis.report().root
    assert root is not None
    assert root.outcomes == ()


# ---------------------------------------------------------------- going on from an earlier search


def ended(spec: str, observation: Any, seed: int = 0, **options: Any) -> Analysis:
    analysis = bot(spec, seed).analysis(observation, **options)
    analysis.run()
    return analysis


def test_going_on_in_the_same_position(observation: Any) -> None:
    first = ended("ismcts:iterations=700", observation)
    second = ended("ismcts:iterations=300", observation, previous=first)
    assert (second.adopted, second.iterations) == (700, 300)
    before = {a.action: a for a in first.report().alternatives}
    after = second.report().alternatives
    assert sum(a.visits for a in after) == 1000
    assert all(a.visits >= before[a.action].visits for a in after)
    assert second.report().adopted == 700
    for alternative in after:
        assert sum(alternative.win_probability) == pytest.approx(1)
        assert all(0 <= error <= 0.5 for error in alternative.standard_error)
        assert all(0 <= score < 40 for score in alternative.expected_score)
    again = ended("ismcts:iterations=300", observation, previous=first)
    assert found(again) == found(second)
    third = ended("ismcts:iterations=100", observation, previous=second)
    assert third.adopted == 1000


def test_what_is_taken_over_is_the_tree_below_the_line() -> None:
    """Counted in the old tree: the visits of each move after the moves that were made."""
    adopted = 0
    for state in states(40, seed=11):
        seat = state.current_player
        first = ended("ismcts:iterations=3000", state.observation(seat))
        state.apply(first.report().action)
        if state.is_terminal or state.current_player != seat:
            continue
        second = ended("ismcts:iterations=1", state.observation(seat), previous=first, keys=[state.event_key(seat)])
        (search,) = first._searches
        visits = {node: count for node, count, *_ in search.edges()}
        assert second.adopted == 0 or second.adopted in visits.values()
        if second.adopted:
            adopted += 1
            alternatives = second.report().alternatives
            assert sum(a.visits for a in alternatives) in (second.adopted, second.adopted + 1)
            assert {str(a.action) for a in alternatives} <= {str(a) for a in state.legal_actions()}
    assert adopted > 10


def test_a_line_that_was_not_foreseen(observation: Any) -> None:
    first = ended("ismcts:iterations=300", observation)
    second = ended("ismcts:iterations=300", observation, previous=first, keys=[12345])
    assert second.adopted == 0
    assert sum(a.visits for a in second.report().alternatives) == 300


@pytest.mark.parametrize("key", [-1, 2**64, "x", 1.5])
def test_keys_that_are_none(key: Any, observation: Any) -> None:
    first = ended("ismcts:iterations=10", observation)
    with pytest.raises(ValueError, match="64 bits"):
        ended("ismcts:iterations=10", observation, previous=first, keys=[key])


def test_runs_and_reports_out_of_order(observation: Any) -> None:
    analysis = bot("ismcts:iterations=10").analysis(observation)
    with pytest.raises(ValueError, match="nothing was searched"):
        analysis.report()
    assert analysis.run()
    before = found(analysis)
    assert analysis.run()
    assert found(analysis) == before
    with pytest.raises(ValueError, match="multi_pv"):
        analysis.report(0)


def test_a_masked_head_of_another_seat_stays_hidden_in_lines() -> None:
    """A line is put into words by a guess at the hidden cards, but it reads as the seat would see it."""
    unseen = 0
    for state in states(150, seed=21):
        mover = state.current_player
        for action in state.legal_actions():
            texts = [state.game.seen_text(state, action.id, seat) for seat in (*range(state.game.num_players), None)]
            masked = str(action).startswith("mask ")
            assert texts[mover] == str(action)
            assert {text.startswith("mask ?") for seat, text in enumerate(texts) if seat != mover} == {masked}
        answer = bot("ismcts:iterations=400", 2).suggest(state.observation(mover))
        unseen += any(word.startswith("mask ?") for a in answer.alternatives for word in a.pv)
        assert not any(a.pv[0].startswith("mask ?") for a in answer.alternatives)
    assert unseen > 3


def test_only_ones_own_tree(observation: Any) -> None:
    first = ended("ismcts:iterations=10", observation)
    state = random_game(random.Random(1), players=3)
    with pytest.raises(ValueError, match="same observer"):
        ended("ismcts:iterations=10", state.observation(state.current_player), previous=first)


def test_a_small_tree_takes_what_fits(observation: Any) -> None:
    first = ended("ismcts:iterations=40000", observation)
    second = ended("ismcts:iterations=10:memory_mb=1", observation, previous=first)
    assert second.adopted == 40000
    (old,), (new,) = first._searches, second._searches
    assert new.tree_size[1] <= 2**20 < old.tree_size[1]
    assert second.size_bytes < first.size_bytes
    assert second.report().alternatives[0].visits > 1000
