"""Run scikit-learn's own tests with our classes in place of theirs, and explain every failure.

    python tests/drop_in/run_sklearn_tests.py

runs ``sklearn/linear_model/tests/test_logistic.py`` and what concerns LinearSVC in
``sklearn/svm/tests/test_svm.py``, without a shim: the names in ``sklearn.svm`` and
``sklearn.linear_model`` simply are ours. It prints the failures by reason, and ends with 1 if one
of them has none below, or if a reason is not needed any more.
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
    "a named solver's limits, messages and iterates": [
        "test_check_solver_option",  # combinations that a solver of theirs refuses work here
        "test_consistency_path",  # compares with a private path of theirs, run with sag and saga
        "test_dtype_match",  # liblinear converts float32 to float64
        "test_large_sparse_matrix",  # liblinear, sag and saga refuse indices of 64 bits
        "test_liblinear_dual_random_state",  # the answer depends on the random seed there
        "test_liblinear_multiclass_raises",
        "test_liblinear_with_large_values",
        "test_linear_svm_convergence_warnings",  # two steps are enough here
        "test_linearsvc_parameters",  # dual=False with the hinge works here
        "test_logistic_regression_callback_support",  # a task per iteration of lbfgs
        "test_logistic_regression_callback_support_warning",  # lbfgs alone has callbacks there
        "test_max_iter",  # the wording of a solver's warning
        "test_newton_cholesky_fallback_to_lbfgs",
        "test_zero_max_iter",  # no step at all
    ],
    "tol is a relative duality gap: coefficients are compared more closely than the gap implies": [
        "test_LogisticRegression_elastic_net_objective",
        "test_scores_attribute_layout_elasticnet",
    ],
    "a search looks at one C after the other, not at one fold after the other": [
        "test_logistic_cv_mock_scorer",  # scores by the order of the calls
    ],
    "private functions and attributes": [
        "test_logistic_cv_multinomial_score",
    ],
    "deprecations of scikit-learn's own arguments": [
        "test_l1_ratio_None_deprecated",
        "test_logisticregression_warns_with_n_jobs",
        "test_logisticregressioncv_warns_with_use_legacy_attributes",
        "test_lr_penalty_l1ratio_incompatible",  # l1_ratio decides, as without penalty there
        "test_lr_scoring_warns",
        "test_penalty_deprecated",
    ],
    "the intercept is not penalised unless fit_intercept='penalised'": [
        "test_dense_liblinear_intercept_handling",
    ],
}


class Reporter:
    """Selects what concerns our classes and keeps the failures."""

    def __init__(self) -> None:
        self.run = 0
        self.failed: dict[str, list[str]] = defaultdict(list)

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
        if report.failed:
            name = report.nodeid.partition("::")[2]
            self.failed[name.partition("[")[0]].append(name)


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
    sys.stdout.write(f"\n{reporter.run} tests, {total} failures\n")
    for reason, names in REASONS.items():
        count = sum(len(reporter.failed.get(name, [])) for name in names)
        sys.stdout.write(f"\n{count} {reason}\n")
        for name in names:
            sys.stdout.write(f"    {name}: {len(reporter.failed.get(name, []))}\n")
    new = sorted(set(reporter.failed) - explained)
    gone = sorted(explained - set(reporter.failed))
    for name in new:
        sys.stdout.write(f"NO REASON: {', '.join(reporter.failed[name])}\n")
    for name in gone:
        sys.stdout.write(f"REASON NOT NEEDED: {name}\n")
    return 1 if new or gone else 0


if __name__ == "__main__":
    sys.exit(main())
