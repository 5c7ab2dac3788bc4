"""Imports go one way: bvb_core <- ai <- server, and bvb knows none of them but starts the command line."""

import re
from pathlib import Path

import pytest

from .conftest import ROOT

IMPORT = re.compile(r"^\s*(?:from\s+([\w.]+)\s+c?import|c?import\s+([\w., ]+))", re.MULTILINE)
ALLOWED = {
    "bvb_core": ("bvb_core",),
    "ai": ("ai", "bvb_core"),
    "server": ("ai", "bvb", "bvb_core", "server"),
    "bvb": ("bvb",),
}


def imports(source: Path) -> set[str]:
    """Dotted names of our own modules that a source file imports."""
    names = set()
    for module, listed in IMPORT.findall(source.read_text(encoding="utf-8")):
        names |= {name.split(" as ")[0].strip() for name in (module or listed).split(",")}
    return {name for name in names if name.split(".")[0] in ALLOWED}


@pytest.mark.parametrize("package", ALLOWED)
def test_imports(package: str) -> None:
    sources = [path for path in (ROOT / package).rglob("*.p[yx]*") if path.suffix in (".py", ".pyx", ".pxd")]
    assert sources
    for source in sources:
        for name in imports(source):
            if (source.name, name) != ("_start.py", "server.cli"):
                assert name.split(".")[0] in ALLOWED[package], f"{source.relative_to(ROOT)} imports {name}"


def test_search_knows_no_particular_game() -> None:
    for source in (ROOT / "ai").rglob("*.p[yx]*"):
        assert not {name for name in imports(source) if name.startswith("bvb_core.bears")}, source


def test_one_module_speaks_both_languages() -> None:
    """Messages that describe a game meet core objects in server/convert.py alone."""
    for source in (ROOT / "server").glob("*.py"):
        names = imports(source)
        if source.name != "convert.py" and "bvb_core" in names:
            assert "action_pb2" not in source.read_text(encoding="utf-8")
