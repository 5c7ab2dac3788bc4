"""Speed of the parts and of the whole. `make bench-suite` measures and keeps, `make bench-compare` compares with what was kept.

In `make test` each runs once, and only the answers count.
"""

from collections.abc import Iterator
from typing import Any

import pytest

import bvb_core
from ai import make_bot
from ai.timing import time_determinize, time_playouts
from server.bench import MOMENTS, masked_position, playout_starts, random_position, view_at

from ..server.conftest import Service, running
from ..toys import toy

PLAYERS = range(bvb_core.MIN_PLAYERS, bvb_core.MAX_PLAYERS + 1)


@pytest.fixture(scope="module")
def quiet_service() -> Iterator[Service]:
    with running() as service:
        yield service


@pytest.mark.benchmark(group="core")
@pytest.mark.parametrize("players", PLAYERS)
def test_playouts(benchmark: Any, players: int) -> None:
    """20 games from the deal to the end, in C."""
    starts = playout_starts(players)
    runs = benchmark(lambda: [time_playouts(start, 1, 1) for start in starts])
    assert all(actions > 50 for _, actions in runs)


@pytest.mark.benchmark(group="core")
def test_determinize(benchmark: Any) -> None:
    """1000 draws, in C, three masks on the table."""
    view = masked_position(3)
    view.any_state()
    assert benchmark(time_determinize, view, 1, 1000) > 0


@pytest.mark.benchmark(group="core")
def test_observe_and_prepare_belief(benchmark: Any) -> None:
    """One observation and one draw from it, through Python."""
    state = random_position(3, 1, MOMENTS["middle"])
    seat = state.current_player
    drawn = benchmark(lambda: state.observation(seat).determinize(1))
    assert drawn.observation(seat) == state.observation(seat)


@pytest.mark.benchmark(group="core")
def test_observe(benchmark: Any) -> None:
    state = random_position(3, 1, MOMENTS["middle"])
    assert benchmark(state.observation, 0).seat == 0


@pytest.mark.benchmark(group="core")
@pytest.mark.parametrize("moment", MOMENTS)
def test_legal_actions(benchmark: Any, moment: str) -> None:
    """Actions with their notation, through Python."""
    state = random_position(3, 1, MOMENTS[moment])
    assert len(benchmark(state.legal_actions)) >= 5


@pytest.mark.benchmark(group="core")
def test_apply(benchmark: Any) -> None:
    """A clone and 150 actions, through Python."""
    start = bvb_core.new_game(players=3, seed=1, first_player=0)
    line = random_position(3, 1, MOMENTS["middle"]).to_record()["actions"]

    def play() -> bvb_core.State:
        state = start.clone()
        for action in line:
            state.apply(action)
        return state

    assert benchmark(play).to_record()["actions"] == line


@pytest.mark.benchmark(group="search")
@pytest.mark.parametrize("iterations", [1000, 10_000])
@pytest.mark.parametrize("moment", MOMENTS)
def test_search(benchmark: Any, moment: str, iterations: int) -> None:
    view = view_at(3, MOMENTS[moment])
    bot = make_bot(f"ismcts:iterations={iterations}", seed=1)
    assert benchmark(bot.suggest, view, multi_pv=1).iterations == iterations


@pytest.mark.benchmark(group="search")
@pytest.mark.parametrize("players", PLAYERS)
def test_search_by_players(benchmark: Any, players: int) -> None:
    bot = make_bot("ismcts:iterations=1000", seed=1)
    assert len(benchmark(bot.suggest, view_at(players, MOMENTS["middle"]), multi_pv=1).win_probability) == players


@pytest.mark.benchmark(group="search")
def test_tree_reuse(benchmark: Any) -> None:
    """Taking over a tree of 10,000 iterations, and one more."""
    view = view_at(3, MOMENTS["middle"])
    first: Any = make_bot("ismcts:iterations=10000", seed=1)
    previous = first.analysis(view)
    previous.run()
    bot: Any = make_bot("ismcts:iterations=1", seed=1)

    def go_on() -> Any:
        analysis = bot.analysis(view, previous=previous)
        analysis.run()
        return analysis

    assert benchmark(go_on).adopted == 10_000


@pytest.mark.benchmark(group="search")
@pytest.mark.parametrize("name", ["kuhn", "leduc"])
def test_poker(benchmark: Any, name: str) -> None:
    view = toy(name).new_state(3).observation(0)
    bot = make_bot("ismcts:iterations=10000", seed=1)
    assert benchmark(bot.suggest, view, multi_pv=1).iterations == 10_000


@pytest.mark.benchmark(group="service")
@pytest.mark.parametrize("iterations", [1, 1000])
def test_suggest_move(benchmark: Any, quiet_service: Service, iterations: int) -> None:
    """SuggestMove over loopback, there and back."""
    position = view_at(3, MOMENTS["middle"]).to_json()
    answer = benchmark(quiet_service.client.suggest_move, position, iterations=iterations, seed=1)
    assert answer.iterations == iterations
