"""The paper's rival: the dual as a quadratic program, by Clarabel's interior point."""

from __future__ import annotations

import time

import numpy as np
import scipy.sparse as sp


def _solve(
    P: sp.csc_matrix, q: np.ndarray, A: sp.csc_matrix, b: np.ndarray, cones: list, limit: float
) -> tuple[float, float, str, np.ndarray]:
    import clarabel

    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.time_limit = limit
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-7
    began = time.perf_counter()
    solver = clarabel.DefaultSolver(sp.triu(P, format="csc"), q, A, b, cones, settings)
    answer = solver.solve()
    seconds = time.perf_counter() - began
    return seconds, float(answer.obj_val), str(answer.status), np.asarray(answer.x)


def squared_hinge(
    K: np.ndarray, y: np.ndarray, C: float, limit: float = 300.0
) -> tuple[float, float, str]:
    """Solve FW eq. (5), with our C; return seconds, the dual value, and the status."""
    import clarabel

    n = y.size
    P = sp.csc_matrix(K * np.outer(y, y) + np.eye(n) / (2.0 * C))
    A = sp.vstack([sp.csc_matrix(y[None, :]), -sp.identity(n, format="csc")], format="csc")
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(n)]
    seconds, value, status, _ = _solve(P, -np.ones(n), A, np.zeros(n + 1), cones, limit)
    return seconds, -value, status


def crammer_singer(
    K: np.ndarray, labels: np.ndarray, classes: int, C: float, limit: float = 300.0
) -> tuple[float, float, str]:
    """Solve FW eq. (9): kn variables, K repeated k times on the diagonal."""
    import clarabel

    n = labels.size
    own = np.eye(classes)[labels]
    P = sp.block_diag([sp.csc_matrix(K)] * classes, format="csc")
    q = -own.T.ravel()
    rows_sum = sp.hstack([sp.identity(n)] * classes, format="csc")
    upper = sp.identity(n * classes, format="csc")
    b = np.concatenate([np.zeros(n), C * own.T.ravel()])
    A = sp.vstack([rows_sum, upper], format="csc")
    cones = [clarabel.ZeroConeT(n), clarabel.NonnegativeConeT(n * classes)]
    seconds, value, status, _ = _solve(P, q, A, b, cones, limit)
    return seconds, -value, status
