"""What a few rows tell about the eigenvalues of all of them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from widemargin.data.rows import Rows
from widemargin.linalg.spectrum import rows_looked_at, spectrum_of


def largest(X: np.ndarray) -> float:
    """Return the largest eigenvalue of XᵀX in multiples of the mean squared norm of its rows."""
    return float(np.linalg.norm(X, 2) ** 2 / (X**2).sum(axis=1).mean())


def isotropic(rows: int, columns: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(rows, columns))


@pytest.mark.parametrize(("rows", "columns"), [(400, 3000), (1500, 1500), (3000, 200)])
def test_rows_that_point_every_which_way(rows: int, columns: int) -> None:
    X = isotropic(rows, columns)
    found = spectrum_of(Rows.of(X), centred=False)
    assert found is not None
    assert found.leading < 0.05
    assert 0.5 < found.largest / largest(X) < 2.0
    assert found.spread == 1.0


@pytest.mark.parametrize("share", [0.3, 0.9, 0.99])
def test_a_direction_that_all_rows_share(share: float) -> None:
    X = isotropic(1200, 800)
    X *= np.sqrt((1.0 - share) / 800.0)
    X += np.sqrt(share / 800.0)
    found = spectrum_of(Rows.of(X), centred=False)
    assert found is not None
    assert found.leading == pytest.approx(share, abs=0.1 * (1.0 - share) + 0.02)
    assert 0.5 < found.largest / largest(X) < 2.0
    assert found.second < 30.0 * (1.0 - share)


@pytest.mark.parametrize("share", [0.3, 0.9, 0.99])
def test_an_intercept_takes_the_centre_away(share: float) -> None:
    X = isotropic(1200, 800)
    X *= np.sqrt((1.0 - share) / 800.0)
    X += np.sqrt(share / 800.0)
    found = spectrum_of(Rows.of(X), centred=True)
    assert found is not None
    assert found.leading == pytest.approx(share, abs=0.1 * (1.0 - share) + 0.02)
    assert found.spread == pytest.approx(1.0 - share, rel=0.1)
    assert 0.5 < found.largest / largest(X - X.mean(axis=0)) < 2.0


def test_sparse_rows_tell_the_same() -> None:
    X = isotropic(900, 400) * (np.random.default_rng(1).random((900, 400)) < 0.1)
    dense, sparse = (spectrum_of(Rows.of(each), True) for each in (X, sp.csr_array(X)))
    assert dense is not None
    assert sparse is not None
    assert sparse.largest == pytest.approx(dense.largest, rel=1e-9)
    assert sparse.leading == pytest.approx(dense.leading, abs=1e-9)


def test_long_rows_are_not_directions() -> None:
    X = isotropic(2000, 500) * np.random.default_rng(2).pareto(3.0, size=(2000, 1))
    found = spectrum_of(Rows.of(X), centred=False)
    assert found is not None
    assert found.leading < 0.1


def test_nothing_is_said_about_few_rows_or_none_at_all() -> None:
    assert spectrum_of(Rows.of(isotropic(40, 30)), centred=True) is None
    assert spectrum_of(Rows.of(np.zeros((500, 30))), centred=True) is None


def test_equal_rows_leave_nothing_about_their_centre() -> None:
    found = spectrum_of(Rows.of(np.ones((500, 30))), centred=True)
    assert found is not None
    assert found.leading == pytest.approx(1.0, abs=1e-3)
    assert found.spread == pytest.approx(0.0, abs=1e-12)


def test_the_look_costs_less_than_a_pass() -> None:
    assert all(rows_looked_at(rows) ** 2 <= rows for rows in (0, 1, 50, 10**6))
