"""Pragam for sequences: the excessive gap technique with projections onto the marginals of chains.

BMRM paper, Algorithm 1 with the projections (23) and (25) of appendix E. The dual variables are
tables of marginals; both projections of a step are `project_chain`, sentence by sentence.
"""

from __future__ import annotations

from typing import ClassVar

from widemargin.methods.base import Settings, SupportsAll
from widemargin.methods.published import _excessive_gap
from widemargin.methods.published._chain_tables import ChainTables
from widemargin.methods.published._excessive_gap import ExcessiveGapState
from widemargin.problems.certificate import Point
from widemargin.problems.sequence import SequenceProblem


class SequencePragam(SupportsAll):
    """Two projections a step; the gap falls like 1/k²."""

    name = "pragam"
    serves: ClassVar[type[SequenceProblem]] = SequenceProblem

    def start(
        self, problem: SequenceProblem, warm: Point | None, settings: Settings
    ) -> ExcessiveGapState:
        """Start by a projected gradient step from the right labelings or the warm ones."""
        tables = ChainTables.of(problem)
        point = problem.cold_point() if warm is None else warm
        before = tables.from_labelings(point.alpha.feasible())
        # A row moves a label's weights by its own length, and the weights of two transitions.
        largest = float(problem.rows.norms.max(initial=0.0)) + 2.0
        return _excessive_gap.start(tables, before, float(problem.cost.max()) ** 2 * largest)

    def advance(self, state: ExcessiveGapState) -> None:
        """Take one step of the excessive gap technique."""
        _excessive_gap.advance(state)
