"""RobustSVC on large data: covtype to 1e-6, and 20 newsgroups as tf-idf to 1e-3.

Seconds are CPU seconds of the whole fit. The radii of the text go down to where the data are
separable and the objective is small, which is where a relative gap is hard.

    python -m benchmarks.published.drsvm.large [covtype] [text] [--limit SECONDS]
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np

from benchmarks.problems import newsgroups
from benchmarks.published.drsvm.common import LABEL_COST, NORMS, RADIUS, load, read, write
from widemargin import RobustSVC

COVTYPE = "covtype.libsvm.binary.scale"


def measure(name: str, X: Any, y: Any, limit: float, **arguments: Any) -> dict[str, str]:
    """Fit once; return the row of the table."""
    model = RobustSVC(time_limit=limit, **arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        began = time.process_time()
        model.fit(X, y)
        seconds = time.process_time() - began
    row = {
        "data": name,
        **{key: f"{value:g}" for key, value in arguments.items()},
        "objective": f"{model.primal_[0]:.6f}",
        "gap": f"{model.certificate_.relative_gap:.1e}",
        "steps": str(model.n_iter_[0]),
        "cpu_seconds": f"{seconds:.1f}",
        "status": model.status_[0],
    }
    print(row, flush=True)
    return row


def main() -> None:
    """Measure what is asked for."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("data", nargs="*", default=("covtype", "text"))
    arguments.add_argument("--limit", type=float, default=120.0, help="seconds a fit")
    options = arguments.parse_args()
    kept = [r for r in read("large.csv") if r["data"] not in options.data]
    rows: list[dict[str, str]] = []
    if "covtype" in options.data and (data := load(COVTYPE)) is not None:
        X, y = data
        for q in NORMS.values():
            for l2 in (0.0, 1.0):
                settings = {"label_cost": LABEL_COST, "norm": q, "l2": l2, "tol": 1e-6}
                rows.append(
                    measure(
                        "covtype",
                        X,
                        y,
                        options.limit,
                        radius=RADIUS,
                        fit_intercept=False,
                        **settings,
                    )
                )
    if "text" in options.data:
        X, y = newsgroups()
        for q in NORMS.values():
            for label_cost, intercept in ((LABEL_COST, False), (np.inf, True)):
                for radius in (0.1, 0.01, 0.001):
                    settings = {"label_cost": label_cost, "norm": q, "l2": 0.0, "tol": 1e-3}
                    rows.append(
                        measure(
                            "text",
                            X,
                            y,
                            options.limit,
                            radius=radius,
                            fit_intercept=intercept,
                            **settings,
                        )
                    )
    write("large.csv", [*kept, *rows])


if __name__ == "__main__":
    main()
