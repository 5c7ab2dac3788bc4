"""The sdist and the wheel: what is in them, and that they work away from the checkout."""

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path, PurePosixPath

import pytest

from ..conftest import ROOT


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """An sdist of this checkout and a wheel that was built from it."""
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(ROOT)]
    quick = os.environ | {"CFLAGS": "-O0"}  # what is in them does not depend on it
    subprocess.run(command, check=True, capture_output=True, timeout=600, env=quick)
    return next(out.glob("*.tar.gz")), next(out.glob("*.whl"))


def test_sdist_contents(distributions: tuple[Path, Path]) -> None:
    with tarfile.open(distributions[0]) as archive:
        names = {str(PurePosixPath(*PurePosixPath(name).parts[1:])) for name in archive.getnames()}
    tracked = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.split()
    wanted = {
        name
        for name in tracked
        if name.startswith(("ai/", "bvb/", "bvb_core/", "examples/", "proto/", "server/", "tests/"))
    }
    assert wanted <= names
    assert not [name for name in names if name.endswith((".c", ".so", ".pyc", "_pb2.py"))]


def test_wheel_contents(distributions: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(distributions[1]) as archive:
        names = set(archive.namelist())
    assert not [name for name in names if name.endswith((".c", ".pyx", ".pyc")) or name.startswith("tests")]
    for package in ("ai", "bvb", "bvb_core", "server"):
        assert f"{package}/py.typed" in names
    sources = [
        source.relative_to(ROOT)
        for package in ("ai", "bvb_core")
        for source in (ROOT / package).rglob("*.p[xy][xdi]")
    ]
    for source in sources:
        if source.suffix == ".pyx":
            assert any(
                name.startswith(f"{source.with_suffix('')}.") and name.endswith(".so") for name in names
            )
        else:
            assert str(source) in names
    assert {"bvb_core/bears/deck.toml", "bvb/v1/engine_pb2.pyi", "bvb/v1/engine_pb2_grpc.py"} <= names


def test_wheel_works_from_an_empty_directory(distributions: tuple[Path, Path], tmp_path: Path) -> None:
    """Unpacked into a folder that comes first on the path; dependencies come from the environment."""
    installed, empty = tmp_path / "installed", tmp_path / "empty"
    empty.mkdir()
    with zipfile.ZipFile(distributions[1]) as archive:
        archive.extractall(installed)
    script = (
        "import sys; sys.path.insert(0, sys.argv.pop(1))\n"
        "import bvb, bvb_core, ai\n"
        "from bvb.v1 import engine_pb2\n"
        "assert bvb_core.__file__.startswith(sys.path[0]) and engine_pb2.__file__.startswith(sys.path[0])\n"
        "from bvb._start import main; main()\n"
    )
    command = [sys.executable, "-c", script, str(installed), "record", "--players", "2", "--practice"]
    done = subprocess.run(command, cwd=empty, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith('{"format":"bvb-record/1"')
