"""Kernel problems as linear ones: the rows of a factor F with F Fᵀ = K in place of the examples.

A factor of n rows has at most n columns. Second-order methods then take their few steps however
K is conditioned, where descent on dual variables, two at a time, would crawl.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh

from widemargin.data.gram import Gram
from widemargin.data.rows import Rows
from widemargin.methods.base import Settings
from widemargin.methods.newton._on_factor import OnFactor, OnFactorState
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.certificate import Point
from widemargin.problems.kernel import KernelProblem
from widemargin.problems.kernel_multiclass import KernelMulticlassProblem
from widemargin.problems.multiclass import MulticlassProblem
from widemargin.problems.problem import OnKernel


def features_of(gram: Gram) -> Rows:
    """Return rows whose products are those of the kernel matrix, up to its own rounding."""
    matrix = gram.whole
    assert matrix is not None
    values, vectors = eigh(matrix)
    kept = values > 1e-16 * max(float(values[-1]), 0.0)
    features = np.ascontiguousarray(vectors[:, kept] * np.sqrt(values[kept]))
    if features.shape[1] == 0:
        features = np.zeros((gram.count, 1))
    return replace(Rows.of(features), checkpoint=gram.checkpoint, meter=gram.meter)


def linear_kind_of(kind: type[Any]) -> type[Any]:
    """Return the kind of problem that a kernel problem becomes."""
    return MulticlassProblem if issubclass(kind, KernelMulticlassProblem) else BinaryProblem


class FeaturesState(OnFactorState):
    """The state of the method at work on the features."""

    @property
    def point(self) -> Point:
        """The dual variables, and the weights that they stand for."""
        point = self.inner.point
        if sp.issparse(point.alpha):
            beta = self.problem.feasible(point.alpha.toarray())
            return Point(self.problem.coefficients(beta), 0.0, beta)
        alpha = self.problem.feasible(np.asarray(point.alpha, dtype=np.float64))
        return Point(self.problem.y * alpha, point.b, alpha)


class KernelFeatures(OnFactor):
    """Run a method for linear problems on the factor of K."""

    serves: ClassVar[type[Any]] = OnKernel

    def refuses(self, problem: Any) -> str | None:
        """Support kernel matrices that fit into the memory."""
        return None if problem.gram.whole is not None else "the kernel matrix must fit into memory"

    def start(self, problem: Any, warm: Point | None, settings: Settings) -> FeaturesState:
        """Factorise K; begin at the weights that the warm dual variables combine to."""
        rows = features_of(problem.gram)
        joint = isinstance(problem, KernelMulticlassProblem)
        linear, inner_warm = (_joint if joint else _binary)(problem, rows, warm)
        return FeaturesState(problem, self._method.start(linear, inner_warm, settings))


def _binary(problem: KernelProblem, rows: Rows, warm: Point | None) -> tuple[Any, Point | None]:
    linear = BinaryProblem(rows, problem.y, problem.cost, problem.loss, problem.free_intercept)
    if warm is None:
        return linear, None
    alpha = problem.feasible(np.asarray(warm.alpha, dtype=np.float64))
    return linear, Point(rows.combine(alpha, problem.y), float(warm.b), alpha)


def _joint(
    problem: KernelMulticlassProblem, rows: Rows, warm: Point | None
) -> tuple[Any, Point | None]:
    label = problem.labels.astype(np.int32)
    linear = MulticlassProblem(rows, label, problem.cost, problem.classes, problem.rule, False)
    if warm is None:
        return linear, None
    beta = problem.feasible(np.asarray(warm.alpha, dtype=np.float64))
    columns = problem.coefficients(beta).T
    w = np.stack([rows.combine(np.ascontiguousarray(column)) for column in columns])
    return linear, Point(w, np.zeros(problem.classes), sp.csr_array(beta))
