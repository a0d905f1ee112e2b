"""What gap-safe screening could save beside working sets: ``python -m benchmarks.screening``.

Screening proves columns to have zero weights, |v_j| + r‖x_j‖ < ρ with r = √(2 gap / σ), and leaves
them out of the passes over all columns; steps on a working set never read them. So it can save no
more than the share of those passes in a fit, times the share of the columns that are proved by
then. For every problem this prints both, and the speed-up that they would come to if screening
itself cost nothing. The certificate reads all columns in any case.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from typing import Any

import numpy as np

from widemargin import smallest_C
from widemargin.methods.newton import _column_steps
from widemargin.problems.losses import LOSSES

from .sparse_weights import MULTIPLES, ours, read

SETS = ("leu", "a9a", "w8a", "news20-1", "20newsgroups", "text")


class Watch:
    """Counts the seconds of the passes over all columns, and the columns that are proved."""

    def __init__(self) -> None:
        self.passes: list[tuple[float, float]] = []
        self._look = _column_steps.ColumnNewton._look_at_all

    def __enter__(self) -> Watch:
        watch = self

        def look(method: Any, state: Any) -> None:
            began = time.process_time()
            watch._look(method, state)
            seconds = time.process_time() - began
            watch.passes.append((seconds, proved(state)))

        _column_steps.ColumnNewton._look_at_all = look
        return self

    def __exit__(self, *_: object) -> None:
        _column_steps.ColumnNewton._look_at_all = self._look


def proved(state: Any) -> float:
    """Return the share of the columns that the gap at hand proves to be zero."""
    problem = state.problem
    largest = max(1.0, float(np.abs(state.v).max(initial=0.0)) / problem.l1_ratio)
    gap = state.expected_gap * (state.total + state.penalty.of(state.w))
    cost = float(problem.cost.max())
    # The dual is strongly concave: by 1/(2c) for the squared hinge and 4/c for the logistic loss.
    strength = 1.0 / (2.0 * cost) if problem.loss is LOSSES["squared_hinge"] else 4.0 / cost
    radius = math.sqrt(2.0 * gap / strength)
    safe = np.abs(state.v) / largest + radius * problem.column_norms < problem.l1_ratio
    return float(safe.mean())


def main() -> None:
    """Print what screening could save on each problem."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="*", default=SETS)
    parser.add_argument("--tol", type=float, default=1e-6)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in options.data:
        X, y = read(name)
        for loss in ("logistic", "squared_hinge"):
            first = smallest_C(X, y, loss=loss, fit_intercept=False)
            for multiple in MULTIPLES:
                began = time.process_time()
                ours(X, y, loss, multiple * first, options.tol)
                whole = time.process_time() - began
                with Watch() as watch:
                    ours(X, y, loss, multiple * first, options.tol)
                # A pass is shortened by what the passes before it have proved.
                before = [0.0, *(share for _, share in watch.passes)]
                pairs = zip(watch.passes, before, strict=False)
                saved = sum(seconds * share for (seconds, _), share in pairs)
                passes = sum(seconds for seconds, _ in watch.passes)
                shares = " ".join(f"{share:.2f}" for _, share in watch.passes)
                print(
                    f"{name} {loss} C {multiple:g}: {len(watch.passes)} passes take "
                    f"{passes / whole:.0%} of a fit, proved after each {shares}: "
                    f"at most {1.0 / max(1.0 - saved / whole, 1e-9):.2f}x",
                    flush=True,
                )


if __name__ == "__main__":
    main()
