"""Run scikit-learn's own tests with our classes in place of theirs, and explain every failure.

    python tests/drop_in/run_sklearn_tests.py

runs ``sklearn/linear_model/tests/test_logistic.py`` and what concerns LinearSVC in
``sklearn/svm/tests/test_svm.py``, without a shim: the names in ``sklearn.svm`` and
``sklearn.linear_model`` simply are ours. It prints every failure with its reason, and ends with 1
if one of them has none below, or if a test that has one passes.
"""

from __future__ import annotations

import inspect
import sys
from collections import defaultdict
from typing import Any

import pytest
import sklearn.linear_model
import sklearn.svm

import widemargin

MODULES = ("sklearn.linear_model.tests.test_logistic", "sklearn.svm.tests.test_svm")

REASONS = {
    "liblinear's random numbers": {
        "test_liblinear_dual_random_state": "two seeds must give two answers there",
    },
    "iteration counts": {
        "test_linear_svm_convergence_warnings": "two iterations are enough here: no warning",
        "test_newton_cholesky_fallback_to_lbfgs": "newton-cholesky must warn as lbfgs does, after "
        "one iteration less than lbfgs",
    },
    "warnings of a named solver": {
        "test_logistic_regression_callback_support_warning": "callbacks work with every solver "
        "here, not with lbfgs alone",
        "test_logisticregression_warns_with_n_jobs": "n_jobs has no effect on scikit-learn's "
        "solvers; here it has one",
    },
    "private functions": {
        "test_logistic_cv_multinomial_score": "gives the arguments of our class to their private "
        "_log_reg_scoring_path",
    },
    "liblinear's penalised intercept": {
        "test_dense_liblinear_intercept_handling": "fit_intercept=True is exact here, on purpose; "
        "fit_intercept='penalised' passes",
    },
}
"""Why a test fails, by kind and by name."""


class Reporter:
    """Selects what concerns our classes and keeps the failures."""

    def __init__(self) -> None:
        self.run = self.skipped = 0
        self.failed: dict[str, list[str]] = defaultdict(list)
        self.passed: set[str] = set()

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Leave out tests of other support vector machines."""
        items[:] = [
            item
            for item in items
            if "test_svm" not in item.nodeid or "LinearSVC" in inspect.getsource(item.function)
        ]

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Take note of one outcome."""
        self.run += report.when == "call"
        self.skipped += report.skipped
        name = report.nodeid.partition("::")[2]
        if report.failed:
            self.failed[name.partition("[")[0]].append(name)
        elif report.when == "call" and report.passed:
            self.passed.add(name.partition("[")[0])


def penalised_intercept_passes() -> bool:
    """Whether the test of the penalised intercept passes once that intercept is asked for."""
    from sklearn.svm.tests import test_svm

    def classifier(**given: Any) -> Any:
        return widemargin.LinearSVC(**{**given, "fit_intercept": "penalised"})

    try:
        test_svm.test_dense_liblinear_intercept_handling(classifier)
    except AssertionError:
        return False
    return True


def main() -> int:
    """Run the tests, print the failures by reason, return the exit code."""
    sklearn.svm.LinearSVC = widemargin.LinearSVC
    sklearn.linear_model.LogisticRegression = widemargin.LogisticRegression
    sklearn.linear_model.LogisticRegressionCV = widemargin.LogisticRegressionCV
    reporter = Reporter()
    # In this process: workers would import scikit-learn's own classes.
    options = [
        "-o",
        "addopts=",
        "-q",
        "--no-header",
        "--no-summary",
        "--tb=no",
        "-p",
        "no:cacheprovider",
    ]
    pytest.main([*options, "-W", "ignore", "--pyargs", *MODULES], plugins=[reporter])
    explained = {name for names in REASONS.values() for name in names}
    total = sum(len(cases) for cases in reporter.failed.values())
    sys.stdout.write(f"\n{reporter.run} tests, {reporter.skipped} skipped, {total} failures\n")
    for kind, names in REASONS.items():
        count = sum(len(reporter.failed.get(name, [])) for name in names)
        sys.stdout.write(f"\n{count} {kind}\n")
        for name, reason in names.items():
            sys.stdout.write(f"    {name}: {len(reporter.failed.get(name, []))}, {reason}\n")
    new = sorted(set(reporter.failed) - explained)
    gone = sorted(explained & (reporter.passed | (explained - set(reporter.failed))))
    for name in new:
        sys.stdout.write(f"NO REASON: {', '.join(reporter.failed[name])}\n")
    for name in gone:
        sys.stdout.write(f"REASON NOT NEEDED: {name}\n")
    other = penalised_intercept_passes()
    if not other:
        sys.stdout.write("WRONG REASON: fit_intercept='penalised' does not pass either\n")
    return 1 if new or gone or not other else 0


if __name__ == "__main__":
    sys.exit(main())
