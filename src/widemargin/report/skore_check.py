"""A check for skore: is the model certified to be optimal within its tolerance?"""

from __future__ import annotations

from typing import Any

from widemargin.problems.certificate import percentage
from widemargin.report.subject import unwrapped


def certified_optimal() -> Any:
    """Return a check that skore's reports can add: ``report.checks.add([certified_optimal()])``.

    The check passes if the duality gap of the fitted model is at most its ``tol``, raises an issue
    that says how far from the optimum the model may be if not, and does not apply to models of
    other libraries. It needs skore.

    Examples
    --------
    >>> import skore
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from widemargin import LinearSVC
    >>> from widemargin.report.skore_check import certified_optimal
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LinearSVC().fit(scale(X), y)
    >>> report = skore.EstimatorReport(model, X_test=scale(X), y_test=y)
    >>> report.checks.add([certified_optimal()])
    >>> summary = report.checks.summarize()
    """
    from skore import Check, CheckNotApplicable

    class CertifiedOptimal(Check):
        """Whether the duality gap proves the model optimal within its tolerance (WM001)."""

        code = "WM001"
        title = "Not certified optimal"
        report_types = ["estimator"]
        docs_url = None
        severity = "issue"
        slow = False

        def check_function(self, report: Any) -> str | None:
            try:
                estimator, _ = unwrapped(report.estimator_)
            except TypeError as error:
                raise CheckNotApplicable("The model is not one of widemargin.") from error
            gap = estimator.certificate_.relative_gap
            if gap <= estimator.tol:
                return None
            return (
                f"The objective is only proven to be within {percentage(min(gap, 1.0))} % of the "
                f"optimum (relative gap {gap:.1e}, tol {estimator.tol:g}): raise max_iter or "
                "time_limit, or scale the features."
            )

    return CertifiedOptimal()
