"""Parameters of the search: names, defaults and ranges stand here and nowhere else."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from ai.ismcts import Observers

# Budget of a bot that is named without one.
DEFAULT_ITERATIONS = 1000

# Exploration of `vanilla` by number of players, tuned once (docs/strength.md) and frozen: it is the published
# baseline.
VANILLA_EXPLORATION = {2: 0.5, 3: 0.7, 4: 1.0, 5: 0.8}


def _parameter(default: Any, low: float, high: float, doc: str) -> Any:
    return field(default=default, metadata={"low": low, "high": high, "doc": doc})


@dataclass(frozen=True, slots=True)
class SearchParams:
    """Budget and settings of one plain ISMCTS search. At least one of iterations and time_ms is needed."""

    iterations: int | None = _parameter(None, 1, 1_000_000_000, "iterations of all threads together")
    time_ms: float | None = _parameter(None, 1, 3_600_000, "time in milliseconds")
    threads: int = _parameter(1, 1, 64, "searches side by side, whose results are added up")
    exploration: float = _parameter(0.7, 0.0, 10.0, "weight of exploration in UCB; returns are in [0, 1]")
    memory_mb: int = _parameter(
        256, 1, 65_536, "memory for the trees of all threads in MiB; a full tree grows no more"
    )

    def __post_init__(self) -> None:
        _check(self)


@dataclass(frozen=True, slots=True)
class IsmctsParams(SearchParams):
    """Budget and settings of the engine's own search."""

    observers: int = _parameter(
        int(Observers.PUBLIC),
        int(Observers.ONE_TREE),
        int(Observers.EACH_SEAT),
        "what moves are told apart by: 0 what the searcher sees, in one tree; else a tree for each seat's moves, and 1 what "
        "the searcher sees, 2 what everybody sees (in the own tree what the searcher sees), 3 what the seat itself sees",
    )
    early_stop: int = _parameter(
        1,
        0,
        2,
        "1: an only move is answered at once; 2: also, a budget of time ends when no other move can overtake the best one, as "
        "a clock always does; 0: budgets are used up",
    )


@dataclass(frozen=True, slots=True)
class WorldsParams:
    """Budget and settings of searches in worlds of full information, whose results are added up. At least one
    of iterations and time_ms is needed."""

    iterations: int | None = _parameter(None, 1, 1_000_000_000, "iterations of all worlds together")
    time_ms: float | None = _parameter(None, 1, 3_600_000, "time in milliseconds")
    worlds: int = _parameter(5, 1, 10_000, "determinizations that are searched, at most one an iteration")
    exploration: float = _parameter(0.7, 0.0, 10.0, "weight of exploration in UCB; returns are in [0, 1]")

    def __post_init__(self) -> None:
        _check(self)


def _check(params: SearchParams | WorldsParams) -> None:
    """Raises ValueError naming the parameter that is out of its range."""
    for parameter in fields(params):
        value = getattr(params, parameter.name)
        if value is None and parameter.default is None:
            continue
        whole = "float" not in str(parameter.type)
        if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)):
            raise ValueError(f"{parameter.name} must be a {'whole ' if whole else ''}number, not {value!r}")
        low, high = parameter.metadata["low"], parameter.metadata["high"]
        if not low <= value <= high:
            raise ValueError(f"{parameter.name} must be {low} to {high}, not {value}")
    if params.iterations is None and params.time_ms is None:
        raise ValueError("no budget: give iterations, time_ms or both")


# What decides how long a search takes, rather than how it searches.
BUDGET = ("iterations", "time_ms", "threads", "memory_mb")


@dataclass(frozen=True, slots=True)
class Setting:
    """A parameter of a bot that is no budget."""

    name: str
    whole: bool
    """Whether its values are whole numbers."""
    low: float
    high: float
    default: float
    doc: str


def settings_of(params: type[SearchParams] | type[WorldsParams]) -> tuple[Setting, ...]:
    """The parameters that are no budget."""
    return tuple(
        Setting(
            parameter.name,
            "float" not in str(parameter.type),
            parameter.metadata["low"],
            parameter.metadata["high"],
            float(parameter.default),  # type: ignore[arg-type]  # only budgets have none
            parameter.metadata["doc"],
        )
        for parameter in fields(params)
        if parameter.name not in BUDGET
    )


def is_ismcts(params: type[SearchParams] | type[WorldsParams] | None) -> bool:
    """Whether a bot with these parameters searches information sets."""
    return params is not None and issubclass(params, SearchParams)


def parse_settings(
    words: list[str], params: type[SearchParams] | type[WorldsParams] = SearchParams
) -> dict[str, Any]:
    """Settings written key=value, as keyword arguments of `params`. Raises ValueError naming the key."""
    known = {parameter.name: "float" in str(parameter.type) for parameter in fields(params)}
    settings: dict[str, Any] = {}
    for word in words:
        key, _, value = word.partition("=")
        if key not in known:
            raise ValueError(f"unknown setting {key!r}; there are {', '.join(known)}")
        if key in settings:
            raise ValueError(f"{key} stands twice")
        try:
            settings[key] = float(value) if known[key] else int(value)
        except ValueError:
            raise ValueError(f"{key} is written {key}=NUMBER, not {word!r}") from None
    return settings
