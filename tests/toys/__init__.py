"""Small games on the game contract, compiled when they are first asked for.

`toy("kuhn")` is the Game of kuhn.pyx; more arguments go to its factory. What was compiled is kept below
build/toys, in a directory named after the sources: it is compiled anew when these change, or the tools.
"""

import hashlib
import importlib
import importlib.metadata
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
HERE = Path(__file__).resolve().parent
CONTRACT = (ROOT / "bvb_core" / "game.pxd", ROOT / "bvb_core" / "rng.pxd")
# Our extensions were built with sanitizers exactly when these are loaded first.
SANITIZED = "libasan" in os.environ.get("LD_PRELOAD", "")


@cache
def _compiled() -> Path:
    """The directory of the compiled games; compiles them when it is not there."""
    digest = hashlib.sha256(f"{sys.version} {importlib.metadata.version('Cython')} {SANITIZED}".encode())
    for source in sorted([*HERE.glob("*.p[xy]*"), *CONTRACT]):
        digest.update(source.read_bytes())
    directory = ROOT / "build" / "toys" / digest.hexdigest()[:16]
    if not directory.exists():
        unfinished = directory.with_name(f"{directory.name}.{os.getpid()}")
        environment = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
        command = [sys.executable, str(HERE / "build.py"), str(unfinished), *["--sanitize"] * SANITIZED]
        run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
        assert run.returncode == 0, run.stdout + run.stderr
        unfinished.rename(directory)
    return directory


def toy(name: str, *arguments: Any) -> Any:
    """The Game of a toy."""
    directory = str(_compiled() / "tests" / "toys")
    if directory not in __path__:
        __path__.append(directory)
    return importlib.import_module(f"{__name__}.{name}").game(*arguments)
