"""Linear algebra against numpy: factors and their jitter, conjugate gradients, eigenvalues."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from widemargin.data.block_work import Threads
from widemargin.linalg.cholesky import cholesky
from widemargin.linalg.conjugate_gradients import (
    NewtonAccuracy,
    conjugate_gradients,
    relative_to_start,
)
from widemargin.linalg.diagonal_gradients import diagonal_gradients
from widemargin.linalg.power_iteration import largest_eigenvalue
from widemargin.linalg.preconditioners import ByColumn, Diagonal

RANDOM = np.random.default_rng(0)


def definite(n: int, spread: float = 2.0) -> np.ndarray:
    rotation = np.linalg.qr(RANDOM.normal(size=(n, n)))[0]
    matrix = (rotation * np.logspace(0.0, spread, n)) @ rotation.T
    return 0.5 * (matrix + matrix.T)


@pytest.mark.parametrize("columns", [None, 3])
def test_a_factor_solves(columns: int | None) -> None:
    A = definite(30)
    right = RANDOM.normal(size=30 if columns is None else (30, columns))
    factor = cholesky(A.copy())
    assert factor is not None
    np.testing.assert_allclose(factor.solve(right), np.linalg.solve(A, right), rtol=1e-12)
    upper = factor.root().T
    np.testing.assert_allclose(upper.T @ upper, A, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(upper @ factor.solve_half(right), right, rtol=1e-10)
    np.testing.assert_allclose(upper.T @ factor.solve_half(right, transposed=True), right, 1e-10)


@pytest.mark.parametrize("n", [1, 40, 96, 97, 250, 300])
def test_a_factor_by_threads(n: int) -> None:
    """The same bits for any number of them."""
    A, right = definite(n), RANDOM.normal(size=n)
    found = []
    for jobs in (1, 2, 3, 8):
        factor = cholesky(A.copy(), threads=Threads(jobs))
        assert factor is not None
        upper = factor.root().T
        found.append((upper, factor.solve(right)))
        np.testing.assert_array_equal(upper, found[0][0])
        np.testing.assert_array_equal(found[-1][1], found[0][1])
    np.testing.assert_allclose(upper.T @ upper, A, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found[0][1], np.linalg.solve(A, right), rtol=1e-11)


def test_threads_tell_an_indefinite_matrix() -> None:
    B = RANDOM.normal(size=(250, 5))
    nearly = cholesky(B @ B.T, threads=Threads(2))
    assert nearly is not None  # after jitter
    upper = nearly.root().T
    np.testing.assert_allclose(upper.T @ upper, B @ B.T, atol=1e-6)
    A = definite(250)
    A[200, 200] = -1e3
    assert cholesky(A, threads=Threads(2)) is None


def test_a_flat_direction_is_lifted() -> None:
    A = definite(5)
    A[-1] = A[:, -1] = 0.0
    factor = cholesky(A.copy(), flat=slice(-1, None))
    assert factor is not None
    right = np.append(RANDOM.normal(size=4), 0.0)
    expected = np.append(np.linalg.solve(A[:4, :4], right[:4]), 0.0)
    np.testing.assert_allclose(factor.solve(right), expected, rtol=1e-9)


@pytest.mark.parametrize("singular", [False, True])
@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_what_rounding_makes_indefinite_is_factorised(scale: float, singular: bool) -> None:
    """A matrix of rank 5 and one whose smallest eigenvalue is slightly negative."""
    B = RANDOM.normal(size=(40, 5))
    for A in (scale * (B @ B.T), scale * (B @ B.T - 1e-13 * np.eye(40))):
        factor = cholesky(A.copy(), singular=singular)
        assert factor is not None
        right = A @ RANDOM.normal(size=40)
        np.testing.assert_allclose(A @ factor.solve(right), right, rtol=1e-3, atol=1e-4 * scale)


@pytest.mark.parametrize(
    "A", [-np.eye(3), np.array([[1.0, 2.0], [2.0, 1.0]]), np.full((2, 2), np.nan)]
)
def test_what_is_not_semidefinite_has_no_factor(A: np.ndarray) -> None:
    assert cholesky(A.copy()) is None


@pytest.mark.parametrize("columns", [None, 4])
@pytest.mark.parametrize("kind", ["none", "diagonal", "factor"])
def test_conjugate_gradients_solve(kind: str, columns: int | None) -> None:
    A = definite(40) + np.diag(np.logspace(0.0, 3.0, 40))
    right = RANDOM.normal(size=40 if columns is None else (40, columns))
    exact = cholesky(A.copy())
    assert exact is not None
    precondition = {"none": np.copy, "diagonal": Diagonal(np.diag(A)).solve, "factor": exact.solve}
    x, residual, steps = conjugate_gradients(
        A.__matmul__, right, precondition[kind], relative_to_start(1e-12), 400
    )
    np.testing.assert_allclose(x, np.linalg.solve(A, right), rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(residual, right - A @ x, atol=1e-11)
    assert steps < 400
    assert (steps <= 2) == (kind == "factor")


def test_columns_are_systems_of_their_own() -> None:
    """One that is solved at once stays as it was while the others go on."""
    A = definite(20)
    right = RANDOM.normal(size=(20, 3))
    right[:, 1] = 0.0
    together = conjugate_gradients(A.__matmul__, right, np.copy, relative_to_start(1e-10), 100)[0]
    assert not together[:, 1].any()
    for column in (0, 2):
        alone = conjugate_gradients(
            A.__matmul__, right[:, column], np.copy, relative_to_start(1e-10), 100
        )[0]
        np.testing.assert_allclose(together[:, column], alone, rtol=1e-9)


def test_conjugate_gradients_end_without_curvature() -> None:
    A, right = np.diag([1.0, -1.0]), np.array([0.0, 1.0])
    x, residual, steps = conjugate_gradients(
        A.__matmul__, right, np.copy, relative_to_start(1e-8), 50
    )
    assert steps == 1
    assert not x.any()
    np.testing.assert_array_equal(residual, right)


def test_newton_accuracy_far_and_near() -> None:
    A, right = definite(40, 4.0), RANDOM.normal(size=40)
    near = NewtonAccuracy(right, 1e-4, 1e300)
    x, residual, _ = conjugate_gradients(A.__matmul__, right, np.copy, near, 1000)
    assert 0.5 * residual @ residual <= 1e-4
    far = NewtonAccuracy(right, 1e-4, 1.0)
    x, residual, _ = conjugate_gradients(A.__matmul__, right, np.copy, far, 1000)
    assert residual @ residual <= 0.01 * max(x @ right, right @ right)
    assert 0.5 * residual @ residual > 1e-4


def test_a_factor_for_each_column() -> None:
    matrices = [definite(6), definite(6)]
    factors = [cholesky(A.copy()) for A in matrices]
    right = RANDOM.normal(size=(6, 3))
    solved = ByColumn([factor for factor in factors if factor is not None]).solve(right)
    for column, A in enumerate(matrices):
        np.testing.assert_allclose(solved[:, column], np.linalg.solve(A, right[:, column]))
    assert not solved[:, 2].any()


def test_largest_eigenvalue() -> None:
    A = definite(50, 3.0)
    true = float(np.linalg.eigvalsh(A)[-1])
    value = largest_eigenvalue(A.__matmul__, 50, seed=1, most_steps=500, accuracy=1e-12)
    assert value == pytest.approx(true, rel=1e-6)
    assert largest_eigenvalue(A.__matmul__, 50, seed=1) <= true * (1.0 + 1e-12)
    assert largest_eigenvalue(lambda v: 0.0 * v, 50, seed=1) == 0.0


@pytest.mark.parametrize("free", [False, True])
def test_diagonal_gradients_are_conjugate_gradients(free: bool) -> None:
    """The same solution in as many steps, and the same bits for any number of threads."""
    random, side = np.random.default_rng(4), 20_000
    B = sp.random_array((300, side), density=0.01, random_state=5, format="csr")
    mean, right = random.standard_normal(side) if free else np.zeros(0), random.random(side)
    shared = 0.1 / side
    diagonal = 1.0 + np.asarray(B.multiply(B).sum(axis=0)).ravel()

    def product(p: Any) -> tuple[Any, float]:
        image = B.T @ (B @ p)
        # p + B p − s · mean stays positive definite: s is a small negative multiple of mean·p.
        return image, -shared * float(mean @ p) if free else 0.0

    def whole(p: Any) -> Any:
        image, share = product(p)
        return p + image - share * mean if free else p + image

    enough, lengths = NewtonAccuracy(right, 1e-12, np.inf), []
    expected, residual, steps = conjugate_gradients(
        whole, right, lambda r: r / diagonal, enough, 200
    )
    found = [
        diagonal_gradients(product, mean, diagonal, enough, 200, lengths.append, Threads(k))
        for k in (1, 2, 3)
    ]
    assert 3 < steps < 200
    assert [entry[2] for entry in found] == [steps] * 3
    assert len(lengths) == 3 * steps
    np.testing.assert_allclose(found[0][0], expected, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(whole(found[0][0]) + found[0][1], right, atol=1e-10)
    np.testing.assert_allclose(found[0][1], residual, atol=1e-8)
    for other in found[1:]:
        np.testing.assert_array_equal(other[0], found[0][0])
        np.testing.assert_array_equal(other[1], found[0][1])


def test_diagonal_gradients_end_without_curvature() -> None:
    right, ones = np.array([1.0, -2.0]), np.ones(2)
    enough = NewtonAccuracy(right, 1e-20, np.inf)
    x, residual, steps = diagonal_gradients(
        lambda p: (-p, 0.0), np.zeros(0), ones, enough, 10, abs, Threads()
    )
    assert steps == 1
    np.testing.assert_array_equal(x, [0.0, 0.0])
    np.testing.assert_array_equal(residual, right)
