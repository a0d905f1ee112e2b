"""Fit what the policies predict to the records: ``python -m benchmarks.atlas.fit``.

1) The weights of the forecasts of what sweeps still cost (`pool` of `widemargin.auto.machine`):
   linear least squares in logarithms, at a growing number of sweeps, every problem counting once.
2) For each method the ratio of its price to its seconds: how far prices and numbers of steps are
   off, and how widely they spread.
"""

from __future__ import annotations

import argparse
import math
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np

from . import record
from .design import Cell, cell_at
from .record import ROW_SPACE, Record
from .replay import policy_of, shape_of

GROWTH = 1.5
# What is left counts as at least this share of what was spent: the last sweep is not divisible.
LEAST = 1e-3
SHORTEST_SECONDS = 0.002


def recorded(seeds: set[int]) -> Iterator[tuple[Cell, dict[int, dict], list[Record]]]:
    """Give the cells that were recorded."""
    for path in sorted(record.folder().glob("*-*.npz")):
        seed, index = map(int, path.stem.split("-"))
        if seed in seeds:
            yield (cell_at(seed, index), *record.read(path))


def course(policy: Any, shape: Any, found: Record) -> Iterator[tuple[float, ...]]:
    """Give forecasts and the truth, in logarithms, at a growing number of sweeps."""
    from widemargin.auto.prediction import forecasts

    works = found.steps[:, 1]
    gaps = np.minimum.accumulate(np.nan_to_num(found.steps[:, 0], nan=np.inf))
    made = 4
    while made < len(works):
        if gaps[made - 1] > shape.tol:
            seen = forecasts(works[:made], gaps[:made], shape.tol, policy.expected(shape))
            left = max((works[-1] - works[made - 1]) / works[made - 1], LEAST)
            if seen is not None:
                yield (1.0, *seen, math.log(left))
        made = max(made + 1, int(GROWTH * made))


def weights_of(rows: list[tuple[float, ...]], counts: list[float]) -> tuple[np.ndarray, float]:
    """Fit the weights; return them and the standard deviation that they leave."""
    table, root = np.array(rows), np.sqrt(np.array(counts))
    found = np.linalg.lstsq(table[:, :-1] * root[:, None], table[:, -1] * root, rcond=None)[0]
    errors = table[:, -1] - table[:, :-1] @ found
    return found, float(np.sqrt(np.average(errors**2, weights=counts)))


def price_of(policy: Any, shape: Any, method: str) -> float | None:
    """Give what a method is predicted to cost from a cold start."""
    if method == policy.sweeps:
        return float(policy.expected(shape))
    name, in_row_space = method.split()[0], ROW_SPACE in method
    offers = [o for o in policy.offers(shape) if o.method == name]
    prices = [o.price for o in offers if o.in_row_space == in_row_space]
    return min(prices, default=None)


def main() -> None:
    """Fit and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.atlas.fit", description=__doc__)
    parser.add_argument("--seeds", default="101,202")
    options = parser.parse_args()
    rows: dict[str, list] = defaultdict(list)
    counts: dict[str, list] = defaultdict(list)
    ratios: dict[str, list] = defaultdict(list)
    for cell, facts, found in recorded({int(seed) for seed in options.seeds.split(",")}):
        policy = policy_of(cell)
        for each in found:
            shape = shape_of(cell, facts[each.place])
            if each.method == policy.sweeps and each.converged:
                new = list(course(policy, shape, each))
                rows[each.method] += new
                counts[each.method] += [1.0 / max(1, len(new))] * len(new)
            price = price_of(policy, shape, each.method)
            if price and each.converged and each.seconds > SHORTEST_SECONDS:
                ratios[each.method].append(math.log(price / 1e9 / each.seconds))
    for method, table in rows.items():
        found, spread = weights_of(table, counts[method])
        names = ("offset", "late", "whole", "expected")
        words = ", ".join(f"{n} {v:.2f}" for n, v in zip(names, found, strict=True))
        print(f"{method}: {words}; leaves a factor of {math.exp(spread):.2f}")
    for method, each in ratios.items():
        print(
            f"{method}: {len(each)} runs, price / seconds {math.exp(np.mean(each)):.2f}, "
            f"spread by a factor of {math.exp(np.std(each)):.2f}"
        )


if __name__ == "__main__":
    main()
