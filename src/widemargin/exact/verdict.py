"""What an exact check found."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from widemargin.exact.bounds import Bounds


@dataclass(frozen=True)
class ExactCertificate:
    """The claims of one certificate, and what exact arithmetic says about them.

    Attributes
    ----------
    name : str
        The class that the problem is about.
    primal, dual : float
        As claimed: the objective is at most `primal`, the optimum is at least `dual`.
    exact_primal : Bounds
        The objective P at the weights and the intercept.
    exact_dual : Bounds
        The dual objective at the dual variables, made feasible without rounding. Its lower end is
        a lower bound on the optimum.
    residual : fractions.Fraction
        Size of Σ α_i y_i, which must be zero for an exact intercept, before it was made zero; with
        joint classes, the sum of the sizes of all of theirs.
    in_range : bool
        Whether the dual variables were within their ranges as they came.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> from widemargin import LinearSVC, verify_exactly
    >>> model = LinearSVC("hinge", C=0.5).fit(X[:100], y[:100])
    >>> report = verify_exactly(model, X[:100], y[:100])
    >>> problem = report.problems[0]
    >>> problem.verdict
    'true'
    >>> primal, dual = problem.exact_primal.upper, problem.exact_dual.lower
    >>> print(f"{float(dual):.6f} <= optimum <= {float(primal):.6f}")
    0.69... <= optimum <= 0.69...
    """

    name: str
    primal: float
    dual: float
    exact_primal: Bounds
    exact_dual: Bounds
    residual: Fraction
    in_range: bool

    @property
    def verdict(self) -> str:
        """ "true", "false", or "not proved": the dual variables do not show that `dual` holds.

        The dual claim is false where it is above an objective that some weights attain.
        """
        if self.exact_primal.upper <= self.primal and self.dual <= self.exact_dual.lower:
            return "true"
        # Written so that NaN counts as false.
        holds = self.exact_primal.lower <= self.primal and self.dual <= self.exact_primal.upper
        return "not proved" if holds else "false"

    @property
    def gap(self) -> Fraction:
        """Upper end of P minus lower end of D: no weights are better by more than this."""
        return self.exact_primal.upper - self.exact_dual.lower

    @property
    def relative_gap(self) -> float:
        """The gap divided by P; by ``|D|`` where objectives are negative."""
        primal = self.exact_primal.upper
        primal = primal if primal > 0 else -self.exact_dual.lower
        return float(self.gap / primal) if primal > 0 else (0.0 if self.gap <= 0 else float("inf"))

    def __str__(self) -> str:
        return (
            f"{self.name}: {self.verdict}; primal {self.primal!r} claimed, "
            f"exceeds the exact value by {float_text(self.primal, self.exact_primal.upper)}; "
            f"dual {self.dual!r} claimed, stays below the exact value by "
            f"{float_text(self.dual, self.exact_dual.lower, -1)}; exact relative gap "
            f"{self.relative_gap:.2e}"
        )


def float_text(claimed: float, exact: Fraction, sign: int = 1) -> str:
    """Return the difference of a claim and an exact value, to two digits."""
    if claimed - claimed != 0.0:  # NaN or infinity
        return repr(claimed)
    return f"{float(sign * (Fraction(claimed) - exact)):.1e}"


@dataclass(frozen=True)
class ExactReport:
    """The verdict on a model: one exact certificate per problem.

    Attributes
    ----------
    problems : tuple of ExactCertificate
        One per row of ``coef_``, or a single one for joint multiclass.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> from widemargin import LinearSVC, verify_exactly
    >>> model = LinearSVC("hinge", C=0.5).fit(X[:100], y[:100])
    >>> report = verify_exactly(model, X[:100], y[:100])
    >>> print(report)
    1: true; primal 0.696... claimed, exceeds the exact value by ...; dual 0.69... claimed, ...
    """

    problems: tuple[ExactCertificate, ...]

    @property
    def true(self) -> bool:
        """Whether every claim of every certificate holds, rounding included."""
        return all(problem.verdict == "true" for problem in self.problems)

    def __bool__(self) -> bool:
        return self.true

    def __str__(self) -> str:
        return "\n".join(map(str, self.problems))
