"""The programs that measure, on figures made up by hand."""

from pathlib import Path

import pytest

from . import count, peers

# callgrind's format: a function is named at first mention, and by number later; the line after `calls` is what the call cost.
PROFILE = """\
positions: line
events: Ir

fn=(1) __pyx_f_2ai_6ismcts_6Search_iterate
10 100
+1 20
cfn=(2) __pyx_f_8bvb_core_5bears_3ops_op_playout
calls=5 30
+2 5000
cfn=(3) __pyx_f_2ai_6ismcts_6Search_select
calls=5 40
* 700

fn=(3)
40 300
cfn=(4) __ieee754_log_fma
calls=9 1
-3 400

fn=(2)
30 5000

fn=(5) __pyx_pw_2ai_6timing_1time_playouts
60 90
cfn=(2)
calls=2 30
* 2000
"""


def test_parts_of_a_profile(tmp_path: Path) -> None:
    profile = tmp_path / "profile"
    profile.write_text(PROFILE)
    parts, playouts = count.read(profile)
    assert parts == {"search": 420, "playout": 5000, "log": 400}
    assert playouts == 2000


@pytest.mark.parametrize(("more_is_better", "times"), [(True, (2, 1.5, 3)), (False, (0.5, 1 / 3, 2 / 3))])
def test_pairs_are_compared_one_by_one(more_is_better: bool, times: tuple[float, float, float]) -> None:
    row = peers.compared("a game", "sims/s", [(20, 10), (30, 10), (30, 20)], more_is_better)
    assert (row["ours"], row["ours_low"], row["ours_high"]) == (30, 20, 30)
    assert (row["theirs"], row["theirs_low"], row["theirs_high"]) == (10, 10, 20)
    assert (row["times_better"], row["times_better_low"], row["times_better_high"]) == pytest.approx(times)
