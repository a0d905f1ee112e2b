"""``python -m tests.fuzz CAMPAIGN --seconds N --seed S``; one case again: ``--case K``."""

from __future__ import annotations

import argparse
import re
import secrets
import sys
import time
from collections import Counter
from contextlib import suppress
from importlib import import_module
from math import inf

from tests.fuzz.children import Outcome, outcomes

CAMPAIGNS = ("certificates", "files", "faults")
_SHOWN = 3
"""Failures of one sort that are printed."""


def main() -> int:
    """Run a campaign and print its table; the exit code is 1 if anything failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("campaign", choices=CAMPAIGNS)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--cases", type=float, default=inf, help="stop after so many")
    parser.add_argument("--jobs", type=int, default=1, help="cases that run at once")
    parser.add_argument("--seed", type=int, default=None, help="default: a fresh one")
    parser.add_argument(
        "--case", type=int, default=None, help="run one case alone, in this process"
    )
    options = parser.parse_args()
    seed = secrets.randbelow(2**31) if options.seed is None else options.seed
    campaign = import_module(f"tests.fuzz.{options.campaign}")
    case = campaign.case
    command = f"python -m tests.fuzz {options.campaign} --seed {seed}"
    if options.case is not None:
        outcome: Outcome = case(seed, options.case)
        print(f"{outcome.kind}: {outcome.result}\n{outcome.failure}")
        return int(bool(outcome.failure))
    print(f"{command} --seconds {options.seconds:g}", flush=True)
    table: dict[str, Counter[str]] = {}
    began, failures = time.monotonic(), Counter[str]()
    run = outcomes(case, seed, options.seconds, campaign.LIMIT, options.cases, options.jobs)
    with suppress(KeyboardInterrupt):  # what was seen so far counts
        for number, outcome in run:
            table.setdefault(outcome.kind, Counter())[outcome.result] += 1
            if outcome.failure:
                failures[sort_of(outcome.failure)] += 1
                if failures[sort_of(outcome.failure)] <= _SHOWN:
                    print(f"FAILED  {command} --case {number}\n        {outcome.failure}")
                    sys.stdout.flush()
    show(table)
    cases = sum(sum(row.values()) for row in table.values())
    seconds = time.monotonic() - began
    for sort, count in failures.most_common():
        print(f"{count} x {sort}")
    print(f"{cases} cases in {seconds:.0f} s, {failures.total()} failures; seed {seed}")
    return int(failures.total() > 0)


def sort_of(failure: str) -> str:
    """Return what failures of one sort have in common: the words before the details."""
    return re.sub(r"[-+]?[\d.]+(e[-+]?\d+)?", "#", failure.split("[")[0].split(" for b")[0])[:60]


def show(table: dict[str, Counter[str]]) -> None:
    """Print how many cases of each kind had which result."""
    results = sorted({result for row in table.values() for result in row})
    width = max([4, *map(len, table)])
    print(f"{'':{width}}  " + "  ".join(results))
    for kind in sorted(table):
        cells = (f"{table[kind][result] or '':>{len(result)}}" for result in results)
        print(f"{kind:{width}}  " + "  ".join(cells))


if __name__ == "__main__":
    sys.exit(main())
