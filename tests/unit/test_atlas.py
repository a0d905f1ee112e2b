"""The map of shapes: its cells are reproducible, its measurements count the right thing."""

from __future__ import annotations

import ctypes
import ctypes.util
import itertools
import math
import time
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from benchmarks.atlas import kinds, peers, regret, report, rivals
from benchmarks.atlas.children import Child, DiedError, OutOfTimeError
from benchmarks.atlas.data import generate
from benchmarks.atlas.design import (
    BINARY,
    CRAMMER_SINGER,
    DEFAULT_CELLS,
    DEFAULT_SEED,
    LARGEST_STORED,
    ONE_VS_REST,
    WESTON_WATKINS,
    cell_at,
    points,
)
from benchmarks.atlas.findings import problem
from benchmarks.atlas.store import Store
from benchmarks.peers.base import HINGE, LOGISTIC, SQUARED_HINGE

CELLS = [cell_at(DEFAULT_SEED, index) for index in range(DEFAULT_CELLS)]


def test_a_longer_design_begins_with_the_shorter_one():
    np.testing.assert_array_equal(points(3, 4), points(3, 6)[:16])
    assert cell_at(3, 5) == cell_at(3, 5)
    assert cell_at(3, 5) != replace(cell_at(4, 5), seed=3)


def test_every_axis_is_covered():
    assert len(CELLS) >= 1500
    rows = np.array([cell.rows for cell in CELLS])
    features = np.array([cell.features for cell in CELLS])
    assert rows.min() == 50
    assert rows.max() > 150_000
    assert features.min() == 2
    assert features.max() > 40_000
    kinds = Counter((cell.kind, cell.classes) for cell in CELLS)
    assert kinds[BINARY, 2] > 1000
    for kind in (ONE_VS_REST, WESTON_WATKINS, CRAMMER_SINGER):
        assert kinds[kind, 3] > 50
        assert kinds[kind, 20] > 40
    for counted in (
        Counter(cell.loss for cell in CELLS),
        Counter(cell.tol for cell in CELLS),
        Counter(cell.intercept for cell in CELLS),
        Counter(cell.dense for cell in CELLS),
        Counter(cell.values for cell in CELLS),
    ):
        assert min(counted.values()) > 300
    for axis in ("noise", "correlation", "scaling", "shift", "duplicates", "tail", "popularity"):
        used = [getattr(cell, axis) > 0 for cell in CELLS]
        assert 0.2 < np.mean(used) < 0.8, axis
    stored = max(c.rows * c.features * c.density * max(c.classes / 2, 1) for c in CELLS)
    assert stored < 1.1 * LARGEST_STORED


@pytest.mark.parametrize("index", [1, 2, 6, 10, 13, 14, 18, 21, 24, 30, 34, 37, 38])
def test_data_are_what_the_cell_says(index):
    cell = CELLS[index]
    X, y = generate(cell)
    again, same = generate(cell)
    assert X.shape == (cell.rows, cell.features)
    assert sp.issparse(X) != cell.dense
    np.testing.assert_array_equal(y, same)
    assert abs(X - again).max() == 0
    assert set(y) == set(range(cell.classes))
    assert np.isfinite(X.data if sp.issparse(X) else X).all()
    if cell.dense:
        assert X.flags.c_contiguous
    else:
        assert X.has_canonical_format
        assert X.indices.dtype == np.int32


def test_a_child_is_killed_when_its_seconds_are_used_up():
    def work():
        yield "ready"
        while True:
            pass

    with Child(work) as child:
        assert child.get(5.0) == "ready"
        start = time.process_time()
        with pytest.raises(OutOfTimeError):
            child.get(0.1)
        assert time.process_time() - start < 0.1


def test_a_child_tells_how_it_died():
    def work():
        yield 1
        raise ValueError("no such solver")

    with Child(work) as child:
        assert child.get(5.0) == 1
        with pytest.raises(DiedError, match="no such solver"):
            child.get(5.0)


def test_rows_are_kept_between_runs(tmp_path):
    store = Store("regret", "try", tmp_path)
    store.add(CELLS[7], {"auto": 0.5, "best": "newton", "regret": math.nan})
    store.add(CELLS[3], {"auto": 0.25, "best": "dual_cd", "regret": 1.5})
    store.add(CELLS[7], {"auto": 0.75, "best": "newton", "regret": 2.0})
    found = Store("regret", "try", tmp_path)
    assert found.done(CELLS[7])
    assert not found.done(CELLS[8])
    assert [row["auto"] for row in found.of([DEFAULT_SEED])] == [0.25, 0.75]
    assert found.of([DEFAULT_SEED + 1]) == []
    assert [report.cell_of(row) for row in found.of()] == [CELLS[3], CELLS[7]]


@pytest.mark.parametrize(
    ("kind", "classes", "loss"),
    [(BINARY, 2, SQUARED_HINGE), (ONE_VS_REST, 3, LOGISTIC), (WESTON_WATKINS, 3, HINGE)],
)
def test_regret_is_auto_over_the_best(kind, classes, loss):
    cell = problem(60, 4, loss, 1.0, kind=kind, classes=classes)
    row = regret.measure(cell, *generate(cell))
    assert row["auto_status"] == "converged"
    assert row["auto_gap"] <= cell.tol
    assert row["best"] in regret.solvers(cell)
    named = [row[solver] for solver in regret.NAMED if row[f"{solver}_status"] == "converged"]
    assert row["best_seconds"] == min(named)
    assert row["regret"] == max(1.0, row["auto"] / row["best_seconds"])


@pytest.mark.parametrize(
    ("kind", "classes", "loss", "intercept"),
    [
        (BINARY, 2, HINGE, False),
        (BINARY, 2, LOGISTIC, True),
        (ONE_VS_REST, 3, SQUARED_HINGE, False),
        (ONE_VS_REST, 3, LOGISTIC, True),
        (CRAMMER_SINGER, 3, HINGE, False),
    ],
)
def test_rivals_are_judged_by_the_objective_that_is_certified(kind, classes, loss, intercept):
    cell = problem(60, 4, loss, 1.0, kind=kind, classes=classes)
    cell = replace(cell, intercept=intercept, tol=1e-9)
    X, y = generate(cell)
    model = regret.estimator(cell, "auto").fit(X, y)
    weights = model.coef_, model.intercept_
    certified = sum(certificate.primal for certificate in model.certificates_)
    assert peers.objective(cell, X, y, weights) == pytest.approx(certified, rel=1e-12)


@pytest.fixture
def installed_rivals():
    """Import the rivals; afterwards subnormal numbers are numbers again (snapml flushes them)."""
    pytest.importorskip("snapml")
    pytest.importorskip("liblinear")
    yield
    default_environment = ctypes.c_void_p(-1)
    ctypes.CDLL(ctypes.util.find_library("m")).fesetenv(default_environment)
    assert float("5e-324") * 1.0 > 0.0


@pytest.mark.usefixtures("installed_rivals")
def test_only_the_same_problem_has_rivals():
    cell = problem(60, 4, HINGE, 1.0)
    assert not peers.rivals(cell)
    assert not peers.rivals(replace(cell, kind=WESTON_WATKINS, intercept=False))
    found = [rival.name for rival in peers.rivals(replace(cell, intercept=False))]
    assert {name.split()[0] for name in found} == {"liblinear", "sklearn", "snapml"}


@pytest.mark.parametrize(
    ("kind", "classes", "loss", "intercept"),
    [(BINARY, 2, LOGISTIC, True), (CRAMMER_SINGER, 3, HINGE, False), (BINARY, 2, HINGE, False)],
)
@pytest.mark.usefixtures("installed_rivals")
def test_rivals_reach_the_target(kind, classes, loss, intercept):
    cell = problem(80, 4, loss, 0.1, kind=kind, classes=classes)
    cell = replace(cell, intercept=intercept)
    row = rivals.measure(cell, *generate(cell))
    assert not row["bound"]
    assert row["note"] == ""
    assert row["optimum_gap"] <= rivals.OPTIMUM_ENOUGH
    assert row["ratio"] == row["rival_seconds"] / row["ours"]


def test_the_report_counts_long_cells_only():
    def row(index, auto, found):
        cell = CELLS[index]
        shape = {name: getattr(cell, name) for name in ("seed", "index", "kind", "loss", "tol")}
        more = {"dense": cell.dense, "intercept": cell.intercept, "auto_status": "converged"}
        return shape | more | {"auto": auto, "regret": found}

    rows = [row(0, 0.1, 1.0), row(1, 0.1, 4.0), row(2, 0.001, 50.0), row(3, 20.0, math.nan)]
    assert report.summary(rows)["geometric mean"] == "2.000"
    assert report.summary(rows)["cells"] == "2"
    assert report.summary(rows)["at most 1.5"] == "50.0 %"
    assert "in 1 cells" in "\n".join(report.regret_report(rows))
    faster = [row(0, 0.05, 1.0), row(1, 0.05, 2.0), row(3, 1.0, 1.0)]
    text = "\n".join(report.against(faster, rows, "before"))
    assert "2 cells in common: auto is 2.00 times as fast" in text
    assert "regret was 2.000 and is 1.414" in text


def test_other_kinds_take_turns_and_all_their_solvers_fit():
    first = list(itertools.islice(kinds.cells(3), len(kinds.KINDS)))
    assert [which.kind for which in first] == list(kinds.KINDS)
    assert first == list(itertools.islice(kinds.cells(3), len(kinds.KINDS)))
    kinds.warm_up()
    row = {"regret": 2.0, "auto_status": "converged", "best": "newton"}
    rows = [{"kind": kind, **row} for kind in kinds.KINDS]
    assert f"all: {len(rows)} cells, mean regret 2.00 (geometric 2.00), worst 2.00" in (
        kinds.summary([*rows, {"kind": "one class", "regret": math.nan, "auto_status": "over"}])
    )
