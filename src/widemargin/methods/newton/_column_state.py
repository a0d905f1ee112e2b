"""Where Newton's method on working sets of columns is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.data.columns import Columns, LastColumns, wide_enough
from widemargin.methods.base import Settings, State
from widemargin.methods.newton._elastic_net_model import Penalty
from widemargin.methods.newton._foreseen import Foreseen
from widemargin.methods.newton._full_costs import FullCosts
from widemargin.problems.certificate import Point

Vector = NDArray[np.float64]

_ENOUGH = 0.5
"""Share of the violation that would do, as far as the gap tells."""


@dataclass(eq=False, kw_only=True)
class ColumnState(State):
    """Weights, intercept, scores, and what the losses say at these."""

    problem: Any
    settings: Settings
    penalty: Penalty
    w: Vector
    b: float
    scores: Vector
    alpha: Vector
    curvature: Vector
    v: Vector
    total: float
    penalised: float = 0.0
    """The penalty of the weights."""
    columns: Columns | None = None
    last: LastColumns = field(default_factory=LastColumns)
    sample: ColumnState | None = None
    """Where the steps on a sample are that come first, if there are any."""
    full: FullCosts = field(default_factory=FullCosts)
    may_lower: bool = True
    """Whether lower costs may still be tried."""
    sampled: bool = False
    """Whether this is one: its dual variables prove nothing."""
    trust: float = 1.0
    """Budget of sweeps over one model, in prices of a new model."""
    began: float = 0.0
    """What the meter showed at the start."""
    blind: int = 0
    changes: int = 0
    """Of the working set so far."""
    foreseen: Foreseen | None = None
    """By the last model, if its minimiser was taken."""
    better: Vector | None = None
    """Dual variables that are better than those that belong to the weights."""
    blurred: bool = False
    """Whether `v` is not known yet."""
    kept: Any = None
    """The matrix of the last model, if one was formed."""
    found: float = np.nan
    """The sum of the losses where the last step led, until that is looked at."""
    margin: float = np.nan
    """How far `v` is likely to be off, where it is guessed."""

    @property
    def guessed(self) -> bool:
        """Whether `v` is guessed from smaller values of C."""
        return not np.isnan(self.margin)

    @property
    def spent(self) -> float:
        """Nanoseconds of work since the start."""
        return float(self.problem.meter.nanoseconds - self.began)

    @property
    def point(self) -> Point:
        """The current weights and the dual variables that belong to them.

        On a sample, its weights and the dual variables of the start.
        """
        at = self if self.sample is None else self.sample
        return Point(at.w, at.b, self.alpha if self.better is None else self.better)

    @property
    def enough(self) -> float:
        """The largest violation that the tolerance allows for.

        Scaling the dual variables down by a violation costs so many times the penalty.
        """
        penalty = self.penalised
        return self.settings.tol * (1.0 + self.total / penalty) if penalty > 0.0 else np.inf

    def enough_by_gap(self, violation: float) -> float:
        """Return what violation would do where a greater one leaves the gap that is known.

        The gap falls with it at least, and says more than the bound from the penalty. That of a
        sample proves nothing.
        """
        known = not self.sampled and self.settings.tol < self.expected_gap < np.inf
        return _ENOUGH * violation * self.settings.tol / self.expected_gap if known else 0.0

    def worst(self, columns: Columns) -> float:
        """Return the largest violation of the columns of a working set."""
        places = columns.places
        violations = self.penalty.violations(self.v[places], self.w[places])
        return float(violations.max(initial=0.0))

    def goes_on(self) -> bool:
        """Take the columns that were copied last, if they have all that are likely to be needed."""
        places = self.last.places
        if places is None or self.last.source is not self.problem.rows.view:
            return False
        needed = np.abs(self.v) > self.penalty.rho - self.margin
        needed |= self.w != 0.0
        count = int(np.count_nonzero(needed))
        if np.count_nonzero(needed[places]) < count or places.size > wide_enough(count):
            return False
        self.columns = Columns(self.problem.rows, places, self.last)
        self.active = places.size
        return True

    def guess(self) -> bool:
        """Guess the slopes from those at smaller values of C, if there are any; say whether."""
        along = self.last.along
        found = None if along is None else along.guessed_slopes(float(self.problem.cost.sum()))
        if found is None:
            return False
        self.v, self.margin = found
        return True

    def leave_slopes(self) -> None:
        """Leave the slopes to the run at the next C of a path."""
        if self.last.along is not None and not self.sampled:
            self.last.along.keep_slopes(float(self.problem.cost.sum()), self.v)
