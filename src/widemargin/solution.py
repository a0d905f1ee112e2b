"""Solution: what a run returns, why it ended, and what its checks saw."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from operator import attrgetter
from typing import Any

from widemargin.data.quick_init import quick_init
from widemargin.problems.certificate import (
    Certificate,
    Duals,
    Intercept,
    Point,
    Weights,
    percentage,
)


class Status(Enum):
    """Why a run ended; the value is the sentence that says so.

    Examples
    --------
    >>> from widemargin.run import Status
    >>> Status.TIME_LIMIT.value
    'the time limit was reached'
    """

    CONVERGED = "the tolerance was reached"
    ITERATION_LIMIT = "the iteration limit was reached"
    TIME_LIMIT = "the time limit was reached"
    INTERRUPTED = "it was interrupted"
    STALLED = "no further progress was possible in floating point"
    NO_OPTIMUM = "the classes are separable, and without a penalty there is no optimum"
    NO_PROOF = "columns nearly depend on each other, and without a penalty nothing is proved then"


_ADVICE = {
    Status.ITERATION_LIMIT: "; raise max_iter to come nearer",
    Status.TIME_LIMIT: "; raise time_limit to come nearer",
    Status.STALLED: "; scale the features, or ask for less by a larger tol",
    Status.NO_OPTIMUM: "; use a finite C",
    Status.NO_PROOF: "; drop one of them, or use a large finite C",
}


@quick_init
@dataclass(frozen=True)
class Record:
    """What one check saw; callbacks receive it, the trace keeps it.

    Attributes
    ----------
    iteration : int
        Sweeps or steps so far, over all methods.
    method : str
    primal, dual : float
        The best values so far, or those of the present point where they are better.
    gap, relative_gap : float
        primal − dual, and that divided by primal.
    active : int
        Examples or columns that the method still moves.
    passes : float
        Work so far, in passes over the data.
    seconds : float

    Examples
    --------
    >>> from widemargin import LinearSVC
    >>> seen = []
    >>> model = LinearSVC("hinge", callback=lambda name, record: seen.append(record))
    >>> _ = model.fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1])
    >>> print(f"primal {seen[-1].primal:.3f}, relative gap {seen[-1].relative_gap:.0e}")
    primal ..., relative gap ...
    """

    iteration: int
    method: str
    primal: float
    dual: float
    gap: float
    relative_gap: float
    active: int
    passes: float
    seconds: float


_FIELDS = tuple(Record.__dataclass_fields__)
_all_fields = attrgetter(*_FIELDS)


@quick_init
@dataclass(frozen=True, eq=False, repr=False)
class Solution:
    """Weights, intercept, dual variables, and the proof of their quality.

    Attributes
    ----------
    w, b, alpha
        Weights, intercept and dual variables, in the problem's own shapes.
    certificate : Certificate
    status : Status
        Why the run ended.
    tol : float
        The relative gap that was asked for.
    iterations : int
    seconds : float
    solver : str
        Which methods ran, and why.
    trace : tuple of Record
        What every check saw.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from widemargin import path
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> solution = path(scale(X), y, Cs=[1.0], tol=1e-6).solutions[0][0]
    >>> solution
    <Solution: converged after ...>
    >>> solution.w.shape, solution.alpha.shape
    ((30,), (569,))
    """

    w: Weights
    b: Intercept
    alpha: Duals
    certificate: Certificate
    status: Status
    tol: float
    iterations: int
    seconds: float
    solver: str
    trace: tuple[Record, ...]
    finite: bool = True
    """Whether the solver's numbers stayed finite; if not, this is the best point before."""
    work: float = 0.0
    """What the methods spent, in the currency of `widemargin.data.work`."""

    def __repr__(self) -> str:
        return f"<Solution: {self.message}>"

    @property
    def point(self) -> Point:
        """The answer as a point, to start another run from."""
        return Point(self.w, self.b, self.alpha)

    @property
    def message(self) -> str:
        """One sentence: how it ended, and how good the answer is."""
        gap = self.certificate.relative_gap
        # No optimum is negative, whatever the dual value says so far.
        within = percentage(min(gap, 1.0))
        quality = f"objective within {within} % of the optimum (gap {gap:.1g})"
        steps = f"{self.iterations} iteration{'s' if self.iterations != 1 else ''}"
        if self.status is Status.CONVERGED:
            return f"converged after {steps}: {quality}, tol {self.tol:g}"
        reason, advice = self.status.value, _ADVICE.get(self.status, "")
        if self.status is Status.STALLED and not self.finite:
            reason, advice = "the solver's numbers were no longer finite", "; scale the features"
        elif self.status is Status.STALLED and self.certificate.is_spoilt(self.tol):
            share = self.certificate.rounding / self.certificate.magnitude
            reason = (
                "the tolerance cannot be proved in double precision, where rounding may change the "
                f"objective by {share:.1g} of its value"
            )
            advice = "; scale the features, lower C, or ask for less by a larger tol"
        return f"stopped after {steps} because {reason}: {quality}, tol {self.tol:g}{advice}"

    @property
    def passes(self) -> float:
        """Work in passes over the data, over all methods that ran; certificates not counted."""
        return self.trace[-1].passes if self.trace else 0.0

    def history(self) -> dict[str, list[Any]]:
        """Return the trace as columns."""
        nothing = ((),) * len(_FIELDS)
        columns = zip(*map(_all_fields, self.trace), strict=True) if self.trace else nothing
        return dict(zip(_FIELDS, map(list, columns), strict=True))
