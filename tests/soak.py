"""Many seeded checks in a pool of processes: resumable, with progress and a closing tally on stderr."""

import functools
import hashlib
import json
import multiprocessing
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRESS_SECONDS = 10
FAILURES_SHOWN = 5

Tally = Counter[str]
Check = Callable[[int], Tally]


def run_many(name: str, check: Check, seeds: Iterable[int], *, resume: bool = False) -> Tally:
    """Call `check` with every seed; returns the sum of the tallies.

    A check raises AssertionError to fail; seeds that fail are named in the AssertionError raised here. With
    `resume`, seeds that passed before an interruption, with the same build and tests, are not run again.
    """
    wanted = list(dict.fromkeys(seeds))
    passed = ROOT / "build" / "soak" / f"{name}-{_digest()}.jsonl" if resume else None
    total = Tally()
    done = set()
    if passed and passed.exists():
        for line in passed.read_text().splitlines():
            entry = json.loads(line)
            if entry["seed"] in wanted:
                done.add(entry["seed"])
                total.update(entry["tally"])
    todo = [seed for seed in wanted if seed not in done]
    failures: dict[int, str] = {}
    start = last = time.monotonic()
    # Unlike multiprocessing.Pool, this does not wait for ever for a process that has died.
    with ProcessPoolExecutor(os.cpu_count(), multiprocessing.get_context("spawn")) as pool:
        for number, (seed, tally, error) in enumerate(
            pool.map(functools.partial(_guarded, check), todo, chunksize=4), start=1
        ):
            if error:
                failures[seed] = error
                _say(f"{name}: seed {seed} fails: {error}")
            else:
                total.update(tally)
                if passed:
                    passed.parent.mkdir(parents=True, exist_ok=True)
                    with passed.open("a") as file:
                        file.write(json.dumps({"seed": seed, "tally": tally}) + "\n")
            if time.monotonic() - last > PROGRESS_SECONDS:
                last = time.monotonic()
                left = (last - start) / number * (len(todo) - number)
                _say(f"{name}: {len(done) + number} of {len(wanted)}, {len(failures)} failures, "
                     f"{left:.0f} s left")
    _say(f"{name}: {len(wanted) - len(failures)} of {len(wanted)} passed in {time.monotonic() - start:.0f} s"
         f"{f', {len(done)} of them before' if done else ''}; "
         + ", ".join(f"{what} {count}" for what, count in sorted(total.items())))
    if failures:
        first = sorted(failures.items())[:FAILURES_SHOWN]
        raise AssertionError(f"{name}: {len(failures)} of {len(wanted)} fail: seeds {sorted(failures)}\n"
                             + "\n".join(f"seed {seed}: {error}" for seed, error in first))
    return total


def fixture_seeds(name: str) -> list[int]:
    """Seeds that once failed: one at the beginning of every line of a file in fixtures, then why."""
    lines = (ROOT / "tests" / "fixtures" / f"{name}_seeds.txt").read_text().splitlines()
    return [int(line.split()[0]) for line in lines if line and not line.startswith("#")]


def _guarded(check: Check, seed: int) -> tuple[int, Tally, str]:
    try:
        return seed, check(seed), ""
    except Exception as error:
        return seed, Tally(), f"{type(error).__name__}: {error}"


def _digest() -> str:
    """Of everything that a check may depend on."""
    files = [file for folder in ("bvb_core", "ai", "tests") for file in sorted((ROOT / folder).rglob("*"))
             if file.suffix in (".so", ".py", ".toml")]
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
