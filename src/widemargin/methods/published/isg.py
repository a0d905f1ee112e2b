"""ISG: incremental subgradient steps over mini-batches, each then projected (DRSVM eq. 5).

A sweep costs about one pass over the data and one projection a batch: quick at first, noisy later.
"""

from __future__ import annotations

from widemargin.methods.published._incremental import Incremental
from widemargin.problems.robust import RobustProblem


class ISG(Incremental):
    """Incremental projected subgradients."""

    name = "isg"
    first_step = 4.0

    def batch_of(self, problem: RobustProblem) -> int:
        """Return a batch that hides the projections behind the rows, and leaves many steps."""
        rows = problem.rows
        mean = max(1.0, rows.view.nonzeros / max(1, rows.count))
        hiding = int(2.0 * rows.weights / mean)
        return max(1, min(max(32, hiding), 256, rows.count // 32))
