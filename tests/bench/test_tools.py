"""The programs that measure, on figures made up by hand."""

import json

import pytest

from . import count, peers, performance, plot

# callgrind's format: a function is named at first mention, and by number later; the line after `calls` is what the call
# cost. Costs are in the order of the events, zeros at the end left out.
PROFILE = """\
positions: line
events: Ir Bc Bcm Bi Bim

fn=(1) __pyx_f_2ai_6ismcts_6Search_iterate
10 100 8 3 1 1
+1 20
cfn=(2) __pyx_f_8bvb_core_5bears_3ops_op_playout
calls=5 30
+2 5000 90 40
cfn=(3) __pyx_f_2ai_6ismcts_6Search_select.isra.0
calls=5 40
* 700

fn=(3)
40 300
cfn=(4) __ieee754_log_fma
calls=9 1
-3 400

fn=(2)
30 1000 50 10
cfn=(5) __pyx_f_8bvb_core_5bears_5moves_random_act
calls=7 4
31 4000 40 30
"""


def test_parts_of_a_profile() -> None:
    found = list(count.costs(PROFILE))
    assert count.parts(found) == {"search": [420, 4], "playout": [5000, 40], "log": [400, 0]}
    assert count.functions(found) == {"Search.iterate": [120, 4], "Search.select": [300, 0], "playout": [1000, 10]}
    for prefix in ("", "__pyx_fuse_1"):
        assert count.part(prefix + "__pyx_f_8bvb_core_5bears_5moves_random_act") == "moves.random_act"
    assert count.rates({"small": [10, 2], "big": [30, 4]}, 2) == {
        "big": {"instructions": 15, "mispredictions": 2},
        "small": {"instructions": 5, "mispredictions": 1},
        "total": {"instructions": 20, "mispredictions": 3},
    }


@pytest.mark.parametrize(("more_is_better", "times"), [(True, (2, 1.5, 3)), (False, (0.5, 1 / 3, 2 / 3))])
def test_pairs_are_compared_one_by_one(more_is_better: bool, times: tuple[float, float, float]) -> None:
    row = peers.compared("a game", "sims/s", [(20, 10), (30, 10), (30, 20)], more_is_better)
    assert (row["ours"], row["ours_low"], row["ours_high"]) == (30, 20, 30)
    assert (row["theirs"], row["theirs_low"], row["theirs_high"]) == (10, 10, 20)
    assert (row["times_better"], row["times_better_low"], row["times_better_high"]) == pytest.approx(times)


def test_page_is_what_the_figures_say() -> None:
    figures = json.loads(performance.DATA.read_text(encoding="utf-8"))
    page = performance.PAGE.read_text(encoding="utf-8")
    assert performance.filled(page, figures) == page, "run `make performance ARGS=--render`"
    for name, picture in performance.pictures(figures).items():
        assert (performance.PLOTS / name).read_text(encoding="utf-8") == picture
        assert f"(plots/{name})" in page


@pytest.mark.parametrize(
    ("high", "levels"), [(8, [0, 1, 2, 3, 4, 5, 6, 7, 8]), (87, [0, 20, 40, 60, 80, 100]), (0.13, [0, 0.02, 0.04])]
)
def test_ticks(high: float, levels: list[float]) -> None:
    found = plot.ticks(high)
    assert found[: len(levels)] == pytest.approx(levels)
    assert found[-2] < high <= found[-1]
