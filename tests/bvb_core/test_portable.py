"""Playouts with instructions that not every processor has, and without."""

import os
import subprocess
import sys

from bvb_core.bears.ops import uses_bmi2

from ..conftest import ROOT

PLAY = """
import sys
import bvb_core
from bvb_core.bears.ops import uses_bmi2
print(uses_bmi2())
for players in range(2, 6):
    for seed in range(300):
        state = bvb_core.new_game(players=players, seed=seed, armageddon=seed % 2 == 1, practice=seed % 7 == 1)
        state.playout(seed)
        print(bytes(state).hex())
"""


def test_the_same_playouts_on_every_processor() -> None:
    def played(portable: str) -> list[str]:
        environment = {**os.environ, "BVB_PORTABLE": portable}
        run = subprocess.run([sys.executable, "-c", PLAY], cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
        return run.stdout.splitlines()

    fast, *with_bmi2 = played("0")
    portable, *without = played("1")
    assert portable == "False"
    if "BVB_PORTABLE" not in os.environ:
        assert fast == str(uses_bmi2())
    assert len(with_bmi2) == 1200
    assert with_bmi2 == without
