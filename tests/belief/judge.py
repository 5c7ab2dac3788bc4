"""Chi-square tests of draws against an exact distribution."""

import zlib
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from math import sqrt

from scipy.stats import chi2  # type: ignore[import-untyped]

from .enumeration import Outcome

SIGNIFICANCE = 1e-6
"""Of one test: some thousand of them raise no false alarm in 99.9 of 100 selections of seeds."""
MIN_EXPECTED = 8.0

Statistic = Callable[[Outcome], Hashable]


def statistics(outcomes: Iterable[Outcome]) -> Iterator[tuple[str, Statistic]]:
    """What is compared: everything at once, and parts that have fewer, so more likely, values."""
    first = next(iter(outcomes))
    places = [place for place, _ in first]
    kinds = sorted({kind for outcome in outcomes for _, held in outcome for kind in held})
    yield "everything", lambda outcome: outcome
    for what in ("hand", "mask", "army"):
        yield f"{what}s", lambda outcome, what=what: tuple(  # type: ignore[misc]
            held for place, held in outcome if place[0] == what)
    yield "heads", lambda outcome: tuple(
        tuple(kind for kind in held if kind.endswith("_head")) for _, held in outcome)
    for place in places:
        yield f"{place[0]} {place[1]} {place[2]}", lambda outcome, place=place: dict(outcome)[place]  # type: ignore[misc]
    for kind in kinds:
        yield kind, lambda outcome, kind=kind: tuple(held.count(kind) for _, held in outcome)  # type: ignore[misc]


def check(draws: Counter[Outcome], expected: dict[Outcome, float]) -> int:
    """Compare draws with the probabilities of all outcomes; returns the number of tests made.

    Raises AssertionError for a draw that is impossible, or improbable draws.
    """
    for outcome in draws:
        assert outcome in expected, f"impossible: {outcome}"
    return sum(
        check_values(name, _project(draws, statistic), _project(expected, statistic))
        for name, statistic in statistics(list(expected))
    )


def check_values(name: str, draws: dict[Hashable, float], expected: dict[Hashable, float]) -> int:
    """One chi-square test; 0 when there is nothing to compare, otherwise 1."""
    total = sum(draws.values())
    cells = _cells(draws, {value: share * total for value, share in expected.items()})
    if len(cells) < 2:
        return 0
    distance = sum((seen - mean) ** 2 / mean for seen, mean in cells)
    probability = float(chi2.sf(distance, len(cells) - 1))
    assert probability > SIGNIFICANCE, (
        f"{name}: chi-square {distance:.1f} in {len(cells)} cells, {total:.0f} draws, "
        f"probability {probability:.1e}, worst: {_worst(draws, expected, total)}"
    )
    return 1


def _cells(draws: dict[Hashable, float], means: dict[Hashable, float]) -> list[tuple[float, float]]:
    """Draws and expected draws by cells; rare values share cells, in an order unrelated to what they are."""
    cells = []
    seen = mean = 0.0
    for value in sorted(means, key=lambda value: zlib.crc32(repr(value).encode())):
        if means[value] >= MIN_EXPECTED:
            cells.append((draws.get(value, 0.0), means[value]))
            continue
        seen, mean = seen + draws.get(value, 0.0), mean + means[value]
        if mean >= MIN_EXPECTED:
            cells.append((seen, mean))
            seen = mean = 0.0
    if cells and mean:
        smallest = min(range(len(cells)), key=lambda i: cells[i][1])
        cells[smallest] = (cells[smallest][0] + seen, cells[smallest][1] + mean)
    return cells


def _project(weights: Counter[Outcome] | dict[Outcome, float], statistic: Statistic) -> dict[Hashable, float]:
    result: dict[Hashable, float] = {}
    for outcome, weight in weights.items():
        value = statistic(outcome)
        result[value] = result.get(value, 0.0) + weight
    return result


def _worst(draws: dict[Hashable, float], expected: dict[Hashable, float], total: float) -> str:
    value = max(expected, key=lambda value: abs(draws.get(value, 0.0) - expected[value] * total)
                / sqrt(expected[value] * total))
    return f"{value} drawn {draws.get(value, 0.0):.0f} times, {expected[value] * total:.1f} expected"
