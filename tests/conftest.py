import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from .games import a_position

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def position() -> dict[str, Any]:
    """A position in the middle of a game for three, the observer to move."""
    return a_position()


@pytest.fixture
def position_file(tmp_path: Path, position: dict[str, Any]) -> Path:
    path = tmp_path / "position.json"
    path.write_text(json.dumps(position))
    return path


@pytest.fixture(scope="session")
def foreign_environment() -> dict[str, str]:
    """The environment for programs that are not ours: no sanitizers, and the tools of .venv."""
    environment = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), environment["PATH"]])
    return environment


@pytest.fixture
def spawn_service() -> Iterator[Callable[..., tuple[subprocess.Popen[str], str]]]:
    """Starts `bvb serve` with more arguments in a process of its own; gives the process and its address."""
    processes = []

    def spawn(*arguments: str) -> tuple[subprocess.Popen[str], str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "bvb", "serve", "--port", "0", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        processes.append(process)
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("listening on "), process.communicate()
        return process, line.removeprefix("listening on ").strip()

    yield spawn
    for process in processes:
        process.kill()
        process.communicate()
