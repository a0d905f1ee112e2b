"""Shapes without data, and the course of runs that never took place."""

from __future__ import annotations

from widemargin.auto.decision import Leg
from widemargin.auto.shape import BinaryShape
from widemargin.data.work import Size
from widemargin.linalg.spectrum import Spectrum
from widemargin.problems.losses import LOSSES


def shape(
    rows: int,
    weights: int,
    loss: str = "hinge",
    *,
    per_row: float | None = None,
    stiffness: float = 1.0,
    tol: float = 1e-4,
    spectrum: Spectrum | None = None,
) -> BinaryShape:
    """Make the shape of a binary problem; dense unless the values per row are given."""
    values = rows * weights if per_row is None else int(rows * per_row)
    traits = LOSSES[loss]
    return BinaryShape(
        Size(rows, weights, values),
        traits.smooth,
        traits.visit_cost,
        stiffness,
        tol,
        pieces=traits.smooth and traits.curvature_level is not None,
        spectrum=spectrum,
    )


def leg(
    method: str, work: float, steps: int, first: float, last: float, finished: bool = False
) -> Leg:
    """Make a leg of equal steps whose gap fell from `first` to `last` at a steady rate."""
    rate = (last / first) ** (1.0 / max(1, steps - 1))
    gaps = [first * rate**k for k in range(steps)]
    works = [work * (k + 1) / steps for k in range(steps)]
    return Leg(method, works, gaps, passes=float(steps), finished=finished)
