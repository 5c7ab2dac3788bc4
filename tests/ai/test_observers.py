"""Through whose eyes the trees of a search are seen: bluffs, guesses, and masked plays."""

import random
from collections import Counter
from typing import Any

import pytest

import bvb_core
from ai import make_bot
from ai.ismcts import Observers, Search

from ..toys import toy

HIDE = (0, 1)
SAFE = 2
MASKED = {f"mask {head}" for head in ("bear", "land", "sea", "sky")}


def suggest(state: Any, bot: str, seed: int = 0) -> Any:
    return make_bot(bot, seed).suggest(state.observation(state.current_player))


@pytest.mark.parametrize("seed", range(3))
def test_a_hidden_choice_is_not_seen_by_the_guesser(seed: int) -> None:
    """To hide a card wins every second game, which is better than a share of 30 %; not so against one who sees it."""
    start = toy("guess", 0, 30).new_state(0)
    for observers in (Observers.ONE_TREE, Observers.SEARCHER):
        answer = suggest(start, f"ismcts:iterations=3000:observers={observers:d}", seed)
        assert answer.action.id == SAFE
        assert all(a.win_probability[0] < 0.2 for a in answer.alternatives if a.action.id in HIDE)
    for observers in (Observers.PUBLIC, Observers.EACH_SEAT):
        answer = suggest(start, f"ismcts:iterations=3000:observers={observers:d}", seed)
        assert answer.action.id in HIDE
        # Two UCB players in such a game come near one half on average only slowly.
        assert 0.35 < answer.win_probability[0] < 0.8


@pytest.mark.parametrize("observers", Observers)
def test_the_safe_move_beats_the_favourite_of_a_clairvoyant(observers: Observers) -> None:
    """A guess is right every second time, less than a share of 70 %; one who will know the card prefers to guess."""
    start = toy("guess", 1, 70).new_state(0)
    assert suggest(start, "pimc:iterations=2000:worlds=20").action.id == 0
    answer = suggest(start, f"ismcts:iterations=2000:observers={observers:d}")
    assert answer.action.id == SAFE
    assert answer.alternatives[1].win_probability[1] < 0.6


def answers_to_a_raise(observers: Observers) -> list[Counter[int]]:
    """How often seat 1 gives up and calls, for each of its information sets."""
    search = Search(toy("bluff").new_state(0).observation(0), 1, observers=observers)
    search.run(20_000, None)
    moves: dict[int, Counter[int]] = {}
    for node, _, action, visits, _, _, seat in search.edges():
        if seat == 1:
            moves.setdefault(node, Counter())[action] = visits
    return list(moves.values())


def test_a_bluff_cannot_be_told_from_a_good_card() -> None:
    seeing = answers_to_a_raise(Observers.SEARCHER)
    assert len(seeing) == 2
    assert {counts.most_common(1)[0][0] for counts in seeing} == {0, 1}  # gives up against the good card, calls the bad one
    assert min(max(counts.values()) / counts.total() for counts in seeing) > 0.9
    for observers in (Observers.PUBLIC, Observers.EACH_SEAT):
        (counts,) = answers_to_a_raise(observers)
        assert 0.1 < counts[0] / counts.total() < 0.9


def test_what_a_bluff_is_worth() -> None:
    """A third of a chip against one who cannot see the card; nothing against one who can."""
    start = toy("bluff").new_state(0)
    worth = {}
    for observers in Observers:
        answers = [suggest(start, f"ismcts:iterations=20000:observers={observers:d}:early_stop=0", seed) for seed in range(5)]
        worth[observers] = sum(answer.win_probability[0] for answer in answers) / 5
    for observers in (Observers.ONE_TREE, Observers.SEARCHER):
        assert worth[observers] == pytest.approx(0.5, abs=0.02)
    for observers in (Observers.PUBLIC, Observers.EACH_SEAT):
        assert worth[observers] == pytest.approx(0.5 + 1 / 12, abs=0.03)




def test_a_hidden_choice_is_one_event_to_the_searcher() -> None:
    """Seat 1 looks ahead to the card that seat 0 will hide: it will not know it, unless its moves stand below the choice."""
    seen = toy("guess", 0, 30).new_state(0).observation(1)
    for observers in Observers:
        search = Search(seen, 1, observers=observers)
        search.run(2000, None)
        guesses = Counter(edge[0] for edge in search.edges() if edge[6] == 1)
        assert len(guesses) == (2 if observers == Observers.ONE_TREE else 1)
        assert set(guesses.values()) == {2}


def test_masked_plays_are_one_event_to_the_searcher() -> None:
    """Another seat may mask one of several heads, and then it is the searcher's turn: in one information set."""
    rng = random.Random(4)
    tried = 0
    while tried < 20:
        state = bvb_core.new_game(players=2, seed=rng.getrandbits(32))
        for _ in range(rng.randrange(10, 60)):
            if not state.is_terminal:
                state.apply(rng.choice(state.legal_actions()))
        if state.is_terminal:
            continue
        seen = state.observation(1 - state.current_player)
        worlds = [seen.determinize(seed) for seed in range(500)]
        masked = {a.id: world for world in worlds for a in world.legal_actions() if str(a) in MASKED}
        if len(masked) < len(MASKED):
            continue
        action, afterwards = masked.popitem()
        afterwards.apply(action)
        if afterwards.current_player != seen.seat:
            continue
        for observers in (Observers.SEARCHER, Observers.PUBLIC, Observers.EACH_SEAT):
            search = Search(seen, tried, observers=observers)
            search.run(1000, None)
            tries = [move.visits for move in search.root_moves() if move.action_id in (action, *masked)]
            visits = {edge[0]: edge[1] for edge in search.edges() if edge[6] == seen.seat}
            # The first try of each head ends at the head.
            assert sum(tries) - len(tries) > 5
            assert sum(tries) - len(tries) in visits.values()
        tried += 1
