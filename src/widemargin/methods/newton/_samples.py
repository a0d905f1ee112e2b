"""Growing samples of the rows, on which the first steps of a second-order method are taken."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from widemargin.auto.machine import MACHINE
from widemargin.instruction_sets import core
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.linear import LinearProblem
from widemargin.problems.sparse_weights import SparseProblem

SAMPLE_GROWTH = 4
"""Each sample has so many times the rows of the one before."""

SAMPLE_ERROR = 2.0
"""A sample is left when less than this times its statistical error, d/m of P, is to be gained."""


def has_samples(problem: BinaryProblem) -> bool:
    """Whether a part of the rows is enough for steps of their own."""
    if problem.loss.smooth and problem.rows.size.factor_step() < MACHINE.sampled_step:
        return False
    return (
        problem.rows.weights <= MACHINE.largest_factorised
        and problem.rows.count // SAMPLE_GROWTH >= _smallest_sample(problem)
    )


def _smallest_sample(problem: BinaryProblem) -> int:
    return max(MACHINE.sample_rows * problem.rows.weights, MACHINE.least_sample)


def growing_samples(problem: BinaryProblem, seed: int) -> list[NDArray[np.int64] | None]:
    """Return row numbers of growing samples, ending with None for all rows."""
    count, weights = problem.rows.count, problem.rows.weights
    stages: list[NDArray[np.int64] | None] = [None]
    if not has_samples(problem):
        return stages
    smallest = _smallest_sample(problem)
    random = np.random.default_rng(seed)
    size = count // SAMPLE_GROWTH
    if (
        size < MACHINE.last_sample_rows * weights
        and count >= 2 * MACHINE.last_sample_rows * weights
    ):
        size = count // 3
    while size >= smallest:
        sample = spread_sample(problem, size, random)
        if sample is None:
            break
        if size <= problem.rows.largest_sample:
            stages.insert(0, sample)
        size //= SAMPLE_GROWTH
    return stages


def spread_sample(
    problem: LinearProblem, size: int, random: np.random.Generator
) -> NDArray[np.int64] | None:
    """Return row numbers of a sample, in order; None if it would not stand for all.

    One row from each of `size` equal stretches: as random as it needs to be, and without a
    permutation of all rows. Rows without cost are left out.
    """
    subset = np.empty(size, dtype=np.int64)
    core.spread_places(random.random(size), problem.rows.count, subset)
    counted = problem.rows.gather(problem.cost, subset) > 0.0
    kept = subset if counted.all() else subset[counted]
    return kept if kept.size >= size // 2 and problem.represents(kept) else None


def balanced_sample(
    problem: SparseProblem, size: int, random: np.random.Generator
) -> NDArray[np.int64] | None:
    """Return row numbers of a sample, in order, with as many of both classes as there are.

    What a sample of few positive examples says about the rest is as uncertain as they are few, so
    the smaller class has up to half of the places; costs make up for it. None if there is a class
    without cost.
    """
    parts, left = [], size
    classes = [np.flatnonzero((problem.y == sign) & (problem.cost > 0.0)) for sign in (-1.0, 1.0)]
    for places, share in zip(sorted(classes, key=len), (0.5, 1.0), strict=True):
        wanted = min(places.size, int(share * left))
        if wanted == 0:
            return None
        edges = np.linspace(0, places.size, wanted + 1).astype(np.int64)
        within = (random.random(wanted) * np.diff(edges)).astype(np.int64)
        parts.append(places[edges[:-1] + within])
        left -= wanted
    return np.sort(np.concatenate(parts))
