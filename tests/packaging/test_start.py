"""What `bvb` says when the installation does not fit together."""

from pathlib import Path

from bvb._start import HOME, installation_problem


def test_this_installation_is_sound() -> None:
    assert installation_problem() is None


def test_extension_not_compiled() -> None:
    source = HOME / "ai" / "not_compiled_for_a_test.pyx"
    source.write_text("")
    try:
        problem = installation_problem()
    finally:
        source.unlink()
    assert problem is not None
    assert problem.startswith("ai/not_compiled_for_a_test.pyx")
    assert "make build" in problem


def test_packages_elsewhere(tmp_path: Path) -> None:
    problem = installation_problem(tmp_path)
    assert problem is not None
    assert str(tmp_path / "bvb_core") in problem
