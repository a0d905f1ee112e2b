"""The optima of the robust problem on the data of DRSVM's tables."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import pytest

from widemargin import RobustSVC, load_svmlight

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("WIDEMARGIN_DATA", ROOT.parent / "shared" / "data"))
OPTIMA = DATA.parent / "reference" / "drsvm_optima.csv"

if not OPTIMA.is_file():
    pytest.skip("the reference values of DRSVM are not here", allow_module_level=True)

with OPTIMA.open() as file:
    ROWS = list(csv.DictReader(file))
SMALL = ("a1a", "a2a", "a3a", "a4a")


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(
            row,
            id=f"{row['dataset']}-{row['q']}-{row['c']}",
            marks=() if row["dataset"] in SMALL else pytest.mark.slow,
        )
        for row in ROWS
    ],
)
def test_interior_point_reaches_the_optimum(row: dict[str, str]) -> None:
    path = DATA / f"{row['dataset']}.xz"
    if not path.is_file():
        pytest.skip(f"{path.name} is not here")
    X, y = load_svmlight(path)
    model = RobustSVC(
        0.1,
        label_cost=1.0,
        norm=float(row["q"]),
        l2=float(row["c"]),
        fit_intercept=False,
        solver="interior_point",
        tol=1e-9,
    ).fit(X, y)
    assert abs(model.primal_[0] - float(row["optimum"])) <= 1e-8
    assert model.certificate_.gap <= 1e-8
