"""ISG: incremental subgradient steps over mini-batches, each then projected (DRSVM eq. 5).

A sweep costs about one pass over the data and one projection per batch: quick at first, noisy
later. Steps shrink geometrically, the scheme that DRSVM's experiments use: on a1a it ends nearer
to the optimum than the others in the same time. Where that is too fast, the next round is slower.
"""

from __future__ import annotations

from typing import ClassVar

from widemargin.methods.published._incremental import Incremental
from widemargin.problems.robust import RobustProblem


class ISG(Incremental):
    """Incremental projected subgradients."""

    name = "isg"
    first_step = 4.0
    scheme = "restarts"
    options: ClassVar[dict[str, str]] = {"step": "scheme", "batch_size": "batch_size"}

    def batch_of(self, problem: RobustProblem) -> int:
        """Return a batch that hides the projections behind the rows, and leaves many steps."""
        rows = problem.rows
        mean = max(1.0, rows.view.nonzeros / max(1, rows.count))
        hiding = int(2.0 * rows.weights / mean)
        return max(1, min(max(32, hiding), 256, rows.count // 32))
