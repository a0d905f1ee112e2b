"""Counts of support vectors beside LIBSVM's: ``python -m benchmarks.support_vectors``.

`LinearSVC("hinge", fit_intercept=True)` and scikit-learn's ``SVC(kernel="linear")``, which is
LIBSVM, solve the same problem, with an intercept that is not penalised. Both are asked for a tight
tolerance: a dual variable whose margin is one within the tolerance may be zero or not. Where the
optimal dual is not unique, as with repeated rows, counts may differ for good. The table is written
to the folder of results.
"""

from __future__ import annotations

import argparse
from io import BytesIO
from pathlib import Path

import numpy as np
from sklearn.datasets import load_svmlight_file
from sklearn.svm import SVC

from widemargin import LinearSVC

from .problems import unpack

RESULTS = Path(__file__).parent / "results" / "support_vectors.md"
SETS = (
    "heart_scale",
    "australian_scale",
    "breast-cancer_scale",
    "diabetes_scale",
    "ionosphere_scale",
    "sonar_scale",
    "splice_scale",
    "fourclass_scale",
    "svmguide3",
    "a1a",
)


def row(name: str, C: float) -> str:
    """Return one line of the table."""
    X, y = load_svmlight_file(BytesIO(unpack(name)))
    X = X.toarray()
    ours = LinearSVC("hinge", C=C, tol=1e-8, max_iter=100_000).fit(X, y)
    loose = LinearSVC("hinge", C=C).fit(X, y)
    theirs = SVC(kernel="linear", C=C, tol=1e-8).fit(X, y)
    default = SVC(kernel="linear", C=C).fit(X, y)
    same = np.intersect1d(ours.support_, theirs.support_).size
    counts = (ours, theirs, loose, default)
    cells = " | ".join(str(model.support_.size) for model in counts)
    return f"| {name} | {X.shape[0]} | {C:g} | {cells} | {same} |"


def main() -> None:
    """Count on all sets and write the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--C", type=float, default=1.0)
    options = parser.parse_args()
    lines = [
        "# Support vectors beside LIBSVM's\n",
        "Hinge loss with a free intercept (`python -m benchmarks.support_vectors`); ours are rows "
        "of `support_`.\n",
        "| set | rows | C | ours, tol 1e-8 | LIBSVM, tol 1e-8 | ours, default | LIBSVM, default "
        "| in both, tol 1e-8 |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name in SETS:
        lines.append(row(name, options.C))
        print(lines[-1], flush=True)
    RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
