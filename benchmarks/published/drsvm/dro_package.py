"""RobustSVC against the `dro` package: whole fits of both, the same problem without penalty.

`dro` states the problem to cvxpy and solves it by Clarabel; its p is dual to our norm. Its own
`__init__` pulls in PyTorch for models that are not compared here, so the one module that is needed
is loaded past it: ``pip install --no-deps dro`` beside cvxpy and Clarabel is enough.

    python -m benchmarks.published.drsvm.dro_package [data ...]
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import sys
import time
import types
import warnings
from typing import Any

import numpy as np

from benchmarks.published.drsvm.common import LABEL_COST, NORMS, RADIUS, fit, load, write
from widemargin import worst_case

ORDERS: dict[str, Any] = {"1": "inf", "2": 2, "inf": 1}


def wasserstein_dro() -> Any:
    """Return dro's class, without importing the rest of the package."""
    found = importlib.util.find_spec("dro")
    if found is None or not found.submodule_search_locations:
        raise SystemExit("the package `dro` is not installed: pip install --no-deps dro")
    root = next(iter(found.submodule_search_locations))
    for name, path in (("dro", root), ("dro.linear_model", f"{root}/linear_model")):
        package = types.ModuleType(name)
        package.__path__ = [path]
        sys.modules[name] = package
    return importlib.import_module("dro.linear_model.wasserstein_dro").WassersteinDRO


def theirs(kind: Any, X: Any, y: Any, q: str) -> tuple[float, float]:
    """Return objective and CPU seconds of dro's whole fit."""
    model = kind(input_dim=X.shape[1], model_type="svm", fit_intercept=False)
    model.update({"eps": RADIUS, "p": ORDERS[q], "kappa": LABEL_COST})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        began = time.process_time()
        model.fit(X, y)
        seconds = time.process_time() - began
    weights = types.SimpleNamespace(
        coef_=np.atleast_2d(model.theta), intercept_=np.zeros(1), classes_=np.array([-1.0, 1.0])
    )
    case = worst_case(weights, X, y, RADIUS, label_cost=LABEL_COST, norm=NORMS[q])
    return case.loss, seconds


def main() -> None:
    """Measure every norm on every data set."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("data", nargs="*", default=("a1a", "a4a", "a9a", "ijcnn1"))
    options = arguments.parse_args()
    kind = wasserstein_dro()
    rows: list[dict[str, str]] = []
    for name in options.data:
        data = load(name)
        if data is None:
            continue
        X, y = data[0].toarray(), np.asarray(data[1], dtype=np.float64)
        for q, norm in NORMS.items():
            model, ours = fit(X, y, norm, 0.0, tol=1e-6)
            objective, seconds = theirs(kind, X, y, q)
            rows.append(
                {
                    "data": name,
                    "q": q,
                    "dro_seconds": f"{seconds:.3f}",
                    "dro_objective": f"{objective:.9f}",
                    "auto_seconds": f"{ours:.4f}",
                    "auto_objective": f"{model.primal_[0]:.9f}",
                    "ratio": f"{seconds / ours:.1f}",
                }
            )
            print(rows[-1], flush=True)
    write("dro_package.csv", rows)


if __name__ == "__main__":
    main()
