"""The search on games whose answers are known, and what it counts."""

import random
from collections import Counter
from typing import Any

import pytest
from scipy import stats

import bvb_core
from ai import make_bot
from ai.ismcts import Observers, Search

from ..toys import toy
from ..toys.catalogue import GAMES, HIDING, game, observers, positions


def after(state: Any, *actions: int) -> Any:
    state = state.clone()
    for action in actions:
        state.apply(action)
    return state


def suggest(state: Any, spec: str, seed: int = 0) -> Any:
    return make_bot(spec, seed).suggest(state.observation(state.current_player))


def searched(observation: Any, iterations: int, seed: int = 0, **settings: Any) -> Search:
    search = Search(observation, seed, **settings)
    search.run(iterations, None)
    return search


def visits(suggestion: Any) -> dict[str, int]:
    return {str(a.action): a.visits for a in suggestion.alternatives}


# ---------------------------------------------------------------- known answers


@pytest.mark.parametrize("percent", [[20, 50, 80], [80, 50, 20], [5, 95, 5, 5, 5, 5, 5, 5], [49, 60]])
def test_bandit(percent: list[int]) -> None:
    answer = suggest(toy("bandit", percent).new_state(0), "ismcts:iterations=20000")
    best = percent.index(max(percent))
    assert answer.action.id == best
    assert visits(answer)[str(best)] > 0.8 * 20000
    assert answer.win_probability[0] == pytest.approx(max(percent) / 100, abs=0.02)
    for alternative in answer.alternatives:
        spread = 4 * (0.25 / alternative.visits) ** 0.5
        chance = percent[alternative.action.id] / 100
        assert alternative.win_probability[0] == pytest.approx(chance, abs=spread)
        assert alternative.expected_score == alternative.win_probability


def holding(name: str, seat: int, card: int) -> Any:
    """A new state in which a seat holds a card of a rank."""
    ranks = {"kuhn": range(3), "leduc": [0, 0, 1, 1, 2, 2]}[name]
    for seed in range(100):
        state = game(name).new_state(seed)
        known = int.from_bytes(bytes(state.observation(seat))[4 * seat : 4 * seat + 4], "little")
        if ranks[known] == card:
            return state
    raise AssertionError


JACK, QUEEN, KING = range(3)
FOLD, BET = 0, 1


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("card", "played", "best"),
    [
        (KING, (BET,), BET),  # the second player never folds the King, nor calls with the Jack
        (JACK, (BET,), FOLD),
        (KING, (FOLD, BET), BET),  # neither does the first one, after a check
        (JACK, (FOLD, BET), FOLD),
    ],
)
def test_kuhn(card: int, played: tuple[int, ...], best: int, seed: int) -> None:
    state = after(holding("kuhn", len(played) % 2, card), *played)
    answer = suggest(state, "ismcts:iterations=3000", seed)
    assert answer.action.id == best
    assert visits(answer)[str(best)] > 0.95 * 3000
    # A called bet wins or loses two chips, a fold one: returns are the chips over four, plus a half.
    assert answer.win_probability[len(played) % 2] == {KING: 1, JACK: 0.25}[card]


@pytest.mark.parametrize("seed", range(3))
def test_kuhn_queen_is_worth_a_call_against_both(seed: int) -> None:
    """Against a bet from King or Jack alike, a call wins nothing on average and a fold loses one chip."""
    state = after(holding("kuhn", 1, QUEEN), BET)
    answer = suggest(state, "ismcts:iterations=3000", seed)
    assert answer.action.id == BET
    assert answer.win_probability[1] == pytest.approx(0.5, abs=0.05)


def test_leduc_pair_is_never_folded() -> None:
    for seed in range(200):
        state = after(holding("leduc", 0, KING), 1, 1)
        state.apply_chance(state.sample_chance(seed))
        seen = bytes(state.observation(0))
        mine, public = seen[0], seen[8]
        if mine // 2 == public // 2:
            break
    state = after(state, 1, 2)  # checked, and raised by the second player
    answer = suggest(state, "ismcts:iterations=3000")
    assert answer.action.id != 0
    assert visits(answer)["0"] < 100
    assert answer.win_probability[0] > 0.7


@pytest.mark.parametrize("observers", Observers)
@pytest.mark.parametrize("players", range(2, 6))
def test_forced_win_from_every_seat(players: int, observers: Observers) -> None:
    for seat in range(players):
        state = toy("forced", players, seat).new_state(0)
        random_play = Counter(  # prefers the trap
            a for a in range(3) for seed in range(300) if after_playout(state, a, seed).returns()[seat] == 1
        )
        assert random_play.most_common(1)[0][0] == (seat + 1) % 3
        answer = suggest(state, f"ismcts:iterations=20000:observers={observers:d}", seed=seat)
        assert answer.action.id == seat % 3
        assert answer.win_probability[seat] > 0.9
        assert answer.alternatives[0].pv[0] == str(seat % 3)
        assert answer.alternatives[0].pv[players] == str((seat + 1) % 3)


def after_playout(state: Any, action: int, seed: int) -> Any:
    state = after(state, action)
    state.playout(seed)
    return state


def test_dice_safe_step_into_the_goal() -> None:
    """One step before the goal the small die wins for certain, the big one does not."""
    state = toy("dice", 2).new_state(0)
    for rolls in ((3, 1), (3, 1), (1, 1)):
        for roll in rolls:
            state.apply(0)
            state.apply_chance(roll)
    assert state.scores() == [7, 3]
    answer = suggest(state, "ismcts:iterations=2000")
    assert answer.action.id == 0
    assert answer.win_probability == (1.0, 0.0)
    assert answer.alternatives[1].win_probability[0] < 0.97


def test_sealed_bid_is_not_seen() -> None:
    """The second seat's search is the same, visit for visit, whatever the first has bid."""
    start = game("sealed").new_state(0)
    answers = [suggest(after(start, bid), "ismcts:iterations=500") for bid in range(3)]
    assert len({tuple(a.visits for a in answer.alternatives) for answer in answers}) == 1
    # Seat 1 leads by one point and can bid 1 or 3; seat 0 has sealed 2 or 3. To bid 1 loses the game to the 2
    # and wins it over the 3; to bid 3 shares it with the 2 and loses it to the 3.
    for sealed in (1, 2):
        answer = suggest(after(start, 0, 1, sealed), "ismcts:iterations=2000")
        assert answer.action.id == 0
        assert answer.win_probability[1] == pytest.approx(0.5, abs=0.05)
        assert answer.alternatives[1].win_probability[1] < 0.4


# ---------------------------------------------------------------- what is counted


def test_availability_in_three_worlds() -> None:
    """Each world scores for its own seat, so the scores count the worlds that the search has drawn."""
    search = Search(game("worlds").new_state(0).observation(1), 5)

    def counts() -> tuple[list[int], dict[int, int], dict[int, int]]:
        moves = search.root_moves()
        worlds = [round(sum(move.scores[world] for move in moves)) for world in range(3)]
        return worlds, {m.action_id: m.visits for m in moves}, {m.action_id: m.availability for m in moves}

    search.run(50, None)
    worlds, tried, available = counts()
    assert sum(worlds) == sum(tried.values()) == 50
    allowed_in = {0: (0, 2), 1: (0, 1), 2: (1, 2)}
    for action, where in allowed_in.items():  # less the visits before it was tried, at most one a world
        assert 0 <= sum(worlds[w] for w in where) - available[action] <= 2
    search.run(3000, None)
    later_worlds, later_tried, later_available = counts()
    assert sum(later_worlds) == sum(later_tried.values()) == 3050
    for action, where in allowed_in.items():
        assert later_available[action] - available[action] == sum(later_worlds[w] - worlds[w] for w in where)
        assert later_tried[action] <= later_available[action]
    assert stats.chisquare(later_worlds).pvalue > 1e-4


@pytest.mark.parametrize("observers", Observers)
@pytest.mark.parametrize("name", GAMES)
def test_counts_at_the_root_add_up(name: str, observers: Observers) -> None:
    for state in [s for s in positions(name) if s.current_player >= 0][:20]:
        for seat in {state.current_player, 0, None}:
            search = searched(state.observation(seat), 60, seed=1, observers=observers)
            moves = search.root_moves()
            assert search.iterations == sum(move.visits for move in moves) == 60
            assert len({move.action_id for move in moves}) == len(moves)
            for move in moves:
                assert 1 <= move.visits == move.new_visits <= move.availability <= 60
                assert sum(move.returns) == pytest.approx(move.visits)
                assert all(0 <= r <= move.visits + 1e-9 for r in move.returns)
                assert move.mean == pytest.approx(move.returns[state.current_player] / move.visits)
            assert len(moves) <= search.tree_size[0] <= 60


@pytest.mark.parametrize("name", GAMES)
def test_every_search_action_is_tried_at_an_own_root(name: str) -> None:
    for state in [s for s in positions(name) if s.current_player >= 0][:20]:
        candidates = state.search_action_ids()
        iterations = len(candidates) + 20
        moves = searched(state.observation(state.current_player), iterations).root_moves()
        assert sorted(move.action_id for move in moves) == candidates
        for move in moves:  # always, once it has been tried
            assert iterations - len(candidates) < move.availability <= iterations


@pytest.mark.parametrize("name", GAMES)
def test_suggestions_are_legal_and_say_what_they_stand_for(name: str) -> None:
    for state in [s for s in positions(name) if s.current_player >= 0][:20]:
        legal = set(map(str, state.legal_actions()))
        answer = suggest(state, f"ismcts:iterations={len(legal) + 10}")
        assert str(answer.action) in legal
        named = [str(a.action) for a in answer.alternatives]
        named += [str(e) for a in answer.alternatives for e in a.equivalent]
        assert sorted(named) == sorted(legal)
        assert answer.action == answer.alternatives[0].action
        tried = [a.visits for a in answer.alternatives]
        assert tried == sorted(tried, reverse=True)
        for a in answer.alternatives:
            assert sum(a.win_probability) == pytest.approx(1)
            assert len(a.expected_score) == state.game.num_players
            assert a.pv[0] == str(a.action)


@pytest.mark.parametrize("observers", Observers)
@pytest.mark.parametrize("name", HIDING)
def test_hidden_cards_change_nothing(name: str, observers: Observers) -> None:
    """A bot answers alike, visits and lines included, in all states that its seat cannot tell apart."""
    for state in [s for s in positions(name) if s.current_player >= 0][:10]:
        answers = []
        for guess in (state, *map(state.observation(state.current_player).determinize, range(3))):
            answers.append(suggest(guess, f"ismcts:iterations=40:observers={observers:d}", seed=2).to_dict())
            del answers[-1]["elapsed_ms"]
        assert all(answer == answers[0] for answer in answers)


# ---------------------------------------------------------------- symmetry


def test_seats_may_be_rotated() -> None:
    """With the same moves to choose from, and no chance, the very same search with other seat numbers."""
    one = suggest(toy("forced", 5, 0).new_state(0), "ismcts:iterations=500")
    other = suggest(toy("forced", 5, 3).new_state(0), "ismcts:iterations=500")
    assert visits(one) == visits(other)
    assert one.win_probability == (*other.win_probability[3:], *other.win_probability[:3])


def rotated(record: dict[str, Any], by: int) -> dict[str, Any]:
    """The same game with every seat moved on."""
    players = record["rules"]["players"]
    return {
        **record,
        "rules": {**record["rules"], "first_player": (record["rules"]["first_player"] + by) % players},
        "deal": {
            "hands": [record["deal"]["hands"][(seat - by) % players] for seat in range(players)],
            "armies": {
                army: [{**baby, "seat": (baby["seat"] + by) % players} for baby in babies]
                for army, babies in record["deal"]["armies"].items()
            },
            "piles": record["deal"]["piles"],
        },
    }


@pytest.mark.parametrize("players", range(2, 6))
def test_bears_do_not_depend_on_seat_numbers(players: int) -> None:
    """Equal in distribution: the mean answer over many seeds, the seats rotated by one."""
    rng = random.Random(players)
    state = bvb_core.new_game(players=players, seed=11)
    for _ in range(60):
        state.apply(rng.choice(state.legal_actions()))
    other = bvb_core.State.from_record(rotated(state.to_record(), 1))
    seat = state.current_player
    assert other.current_player == (seat + 1) % players
    assert list(map(str, other.legal_actions())) == list(map(str, state.legal_actions()))
    assert other.search_action_ids() == state.search_action_ids()

    def values(position: Any, seeds: range) -> list[list[float]]:
        mover = position.current_player
        answers = (searched(position.observation(mover), 60, seed).root_moves() for seed in seeds)
        order = [(mover + i) % players for i in range(players)]
        return [[sum(move.returns[seat] for move in moves) / 60 for seat in order] for moves in answers]

    one, two = values(state, range(60)), values(other, range(1000, 1060))
    for i in range(players):
        assert stats.ttest_ind([v[i] for v in one], [v[i] for v in two]).pvalue > 1e-4


def test_searches_by_spectators_have_a_view_too() -> None:
    state = positions("bears-3")[3]
    assert len({searched(state.observation(seat), 50).iterations for seat in observers(state)}) == 1


@pytest.mark.parametrize("observers", Observers)
def test_counts_fit_everywhere_in_the_tree(observers: Observers) -> None:
    state = bvb_core.new_game(players=3, seed=2)
    for step in range(100):
        state.apply(state.random_action(step))
    search = Search(state.observation(state.current_player), 1, observers=observers)
    search.run(3000, None)
    edges = search.edges()
    by_node: dict[int, int] = {}
    for node, node_visits, _, visits, available, below, _ in edges:
        assert below <= visits <= available <= node_visits
        by_node[node] = by_node.get(node, 0) + visits
    visits_of = {node: node_visits for node, node_visits, *_ in edges}
    assert all(total <= visits_of[node] for node, total in by_node.items())
    assert by_node[1] == visits_of[1] == 3000
