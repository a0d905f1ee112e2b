"""What rounding can do to the certificate of a joint multiclass problem."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from widemargin.data.blocked_rows import BlockedRows
from widemargin.data.rows import Rows
from widemargin.problems.compressed_duals import CompressedDuals
from widemargin.problems.margins import Bound
from widemargin.problems.rounding import (
    UNDERFLOW,
    Magnitudes,
    combination_error,
    growth,
    half_square_error,
    upper_norm,
)

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

_BLOCK = 1 << 20
"""Scores that are held at once."""


def size_of(rows: Rows) -> Magnitudes:
    """Return the magnitudes of the rows."""
    return Magnitudes(rows.frobenius, rows.longest + 1.0, rows.count, rows.weights)


class Setting(NamedTuple):
    """What the losses depend on beside the scores."""

    label: NDArray[np.int32]
    cost: Vector
    classes: int
    joint: bool
    """Whether an example pays for its worst rival alone, as in Crammer-Singer."""


def loss_error(
    size: Magnitudes, setting: Setting, length: float, b: Vector, b_error: float, total: float
) -> float:
    """Return what rounding can hide of Σ c_i ℓ_i, from norms alone."""
    rivals = 1.0 if setting.joint else setting.classes - 1.0
    share = growth(size.longest + 6.0)
    steep = upper_norm(float(setting.cost @ setting.cost), size.count)
    fixed = share * (1.0 + 2.0 * float(np.abs(b).max(initial=0.0))) + 2.0 * b_error
    fixed += size.longest * UNDERFLOW
    each = share * 1.42 * length * size.frobenius * steep + fixed * float(setting.cost.sum())
    return 1.000001 * rivals * each + growth(size.count + setting.classes + 16.0) * total


def score_blocks(
    rows: Rows, weights: list[Vector], starts: list[tuple[float, float]]
) -> Iterator[tuple[NDArray[np.int64], Matrix]]:
    """Yield rows, some at a time, and their scores of all classes in compensated sums."""
    step = max(1, _BLOCK // len(weights))
    for begin in range(0, rows.count, step):
        chosen = np.arange(begin, min(begin + step, rows.count))
        part, each = rows.take(chosen), zip(weights, starts, strict=True)
        yield chosen, np.stack([part.compensated_scores(v, at) for v, at in each], axis=1)


def compensated_losses(rows: Rows, setting: Setting, w: Matrix, b: Vector) -> Bound:
    """Return Σ c_i ℓ_i from scores in compensated sums."""
    weights = [np.ascontiguousarray(v) for v in w]
    starts = [rows.exact_intercept_here(v, float(c)) for v, c in zip(weights, b, strict=True)]
    lengths = [upper_norm(float(v @ v), v.size) for v in weights]
    size = size_of(rows)
    second = 4.0 * growth(size.longest + 8.0) ** 2
    # What scores are off by beside their own rounding, all examples and classes alike.
    fixed = max(
        second * (n * size.frobenius + abs(at[0])) + at[2]
        for n, at in zip(lengths, starts, strict=True)
    )
    over = setting.label, setting.cost
    shared = weights, [at[:2] for at in starts], fixed, setting.joint
    if isinstance(rows, BlockedRows):
        total, allowance = rows.run(_compensated_losses, over, shared)[1]
    else:
        total, allowance = _compensated_losses(rows, over, shared)[1]
    # The errors are in the total already.
    share = growth(rows.count + setting.classes + 16.0)
    return Bound(total - allowance, allowance + share * (total + allowance))


def _compensated_losses(rows: Rows, over: tuple[Any, ...], shared: tuple[Any, ...]) -> Any:
    """Return Σ c_i ℓ_i with what scores can be off by, and that, as a task on a block does."""
    weights, starts, fixed, joint = shared
    total = allowance = 0.0
    for chosen, scores in score_blocks(rows, weights, starts):
        label, cost = over[0][chosen], over[1][chosen]
        places = np.arange(chosen.size)
        own = scores[places, label][:, None]
        error = growth(6.0) * (1.0 + np.abs(own) + np.abs(scores)) + 2.0 * fixed
        slack = np.maximum(1.0 - own + scores + error, 0.0)
        slack[places, label] = 0.0
        losses = slack.max(axis=1) if joint else slack.sum(axis=1)
        counted = error.max(axis=1) * (1.0 if joint else len(weights))
        total += float(cost @ losses)
        allowance += float(cost @ counted)
    return None, (total, allowance)


def quadratic_error(
    size: Magnitudes, beta: CompressedDuals, setting: Setting, squared: float
) -> float:
    """Return what ½‖W(β)‖² can exceed what was computed by."""
    off = combination_error(size, _norm_of(beta, size.count), False, 0.0)
    off += growth(4.0 * setting.classes + 40.0) * _norm_of(beta, size.count) * size.frobenius
    return half_square_error(squared, size.width * setting.classes, off)


def compensated_quadratic(rows: Rows, beta: CompressedDuals, setting: Setting) -> Bound:
    """Return ½‖W(β)‖² with weights from compensated sums, a class after the other."""
    matrix: Any = beta.sparse(setting.classes).toarray()
    sums = matrix.sum(axis=1)
    squared = 0.0
    for j in range(setting.classes):
        own = np.where(setting.label == j, sums, -matrix[:, j])
        v = rows.compensated_combination(np.ascontiguousarray(own))
        squared += float(v @ v)
    size, norm = size_of(rows), _norm_of(beta, rows.count)
    length = upper_norm(squared, size.width * setting.classes)
    off = combination_error(size, norm, True, length)
    off += growth(4.0 * setting.classes + 40.0) * norm * size.frobenius
    return Bound(0.5 * squared, half_square_error(squared, size.width * setting.classes, off))


def _norm_of(beta: CompressedDuals, count: int) -> float:
    """Return a bound on the norm of A(β)."""
    sums = np.bincount(beta.owners, beta.values, count)
    squared = float(sums @ sums) + float(beta.values @ beta.values)
    return upper_norm(squared, count + beta.values.size)
