"""Type stubs say what the compiled modules have, and give users' code its types."""

import subprocess
import sys
from pathlib import Path

from ..conftest import ROOT

# What Cython adds, classes that it makes impossible to combine, and what modules keep to themselves.
ALLOWED = r"""
.*\.__(pyx_capi|reduce_cython|setstate_cython|test)__
bvb_core\.game\.(Game|State|Observation)
bvb_core\.bears\.ops\.(Game|State)
bvb_core\.bears\.tracker\.Tracker
bvb_core\.bears\.tensor\.TensorLayout
bvb_core\.bears\.position\.Reader
bvb_core\.bears\.\w+\.[A-Z_]+
ai\.ismcts\.(Search|StopToken)
"""
USER = """
from typing import assert_type

import numpy as np
import numpy.typing as npt

import bvb_core
from ai import Suggestion, make_bot
from bvb_core.bears.tensor import TensorBlock

state = bvb_core.new_game(players=3, seed=7)
assert_type(state, bvb_core.State)
assert_type(state.clone(), bvb_core.State)
assert_type(state.game.num_distinct_actions, int)
seen = state.observation(state.current_player)
assert_type(seen, bvb_core.Observation)
assert_type(seen.seat, int | None)
assert_type(seen.determinize(seed=1), bvb_core.State)
assert_type(seen.legal_mask(), npt.NDArray[np.bool_])
assert_type(seen.tensor(), npt.NDArray[np.float32])
assert_type(state.game.tensor_layout.blocks, tuple[TensorBlock, ...])
assert_type([action.id for action in seen.legal_actions()], list[int])
assert_type(make_bot("random", seed=3).suggest(seen), Suggestion)
state.apply(seen.legal_actions()[0])
"""


def run(*arguments: str) -> str:
    """What a check says when it fails."""
    done = subprocess.run(
        [sys.executable, "-m", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    return "" if done.returncode == 0 else done.stdout + done.stderr


def test_stubs_agree_with_the_modules(tmp_path: Path) -> None:
    stubs = [path for package in ("bvb_core", "ai") for path in sorted((ROOT / package).rglob("*.pyi"))]
    modules = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in stubs]
    assert {"bvb_core.game", "bvb_core.bears.ops", "bvb_core.bears.tracker", "ai.ismcts"} <= set(modules)
    allowed = tmp_path / "allowed.txt"
    allowed.write_text(ALLOWED)
    complaints = run("mypy.stubtest", "--allowlist", str(allowed), "--ignore-unused-allowlist", *modules)
    assert not complaints


def test_users_get_types(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(USER)
    assert not run("mypy", "--strict", "--config-file=", str(program))
    program.write_text(USER + "state.apply(1.5)\nseen.no_such_thing\n")
    complaints = run("mypy", "--strict", "--config-file=", str(program))
    assert "[arg-type]" in complaints
    assert '"no_such_thing"' in complaints
