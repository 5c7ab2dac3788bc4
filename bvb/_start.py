"""The `bvb` command: checks the installation, then hands over to the command line in `server`."""

import importlib.util
import os
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

HOME = Path(__file__).resolve().parent.parent


def installation_problem(home: Path = HOME) -> str | None:
    """What keeps the packages that are installed beside this one from working, or None."""
    for name in ("bvb_core", "ai", "server"):
        spec = importlib.util.find_spec(name)
        if spec is None:
            return f"the package '{name}' is missing beside {home / 'bvb'}: install bvb-engine again"
        found = Path(spec.origin).resolve().parent if spec.origin else None
        if found != home / name:
            return (
                f"another package named '{name}' ({found or 'a folder without __init__.py'}) hides "
                f"{home / name} of bvb-engine: remove it, or start Python from another folder"
            )
    unbuilt = [
        source
        for name in ("bvb_core", "ai")
        for source in sorted((home / name).rglob("*.pyx"))
        if not any(source.with_name(source.stem + suffix).exists() for suffix in EXTENSION_SUFFIXES)
    ]
    if unbuilt:
        return (
            f"{unbuilt[0].relative_to(home)} in {home} is not compiled: "
            "run `make build` there, or start Python from another folder to use an installed bvb-engine"
        )
    return None


def main() -> None:
    """Run the `bvb` command and exit: 0 for success, 2 for bad usage, 1 otherwise."""
    problem = installation_problem()
    if problem:
        sys.exit(f"bvb: {problem}")
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # closed by whoever started this
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115
    from server.cli import main as run

    try:
        run()
    except OSError as error:  # such as a full disk under stdout
        sys.exit(f"bvb: {error.strerror or error}")
