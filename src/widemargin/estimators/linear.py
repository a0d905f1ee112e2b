"""What LinearSVC and LogisticRegression share: from (X, y) to problems, from solutions to coef_."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from widemargin.data.rows import Rows
from widemargin.data.validation import (
    check_every_class,
    check_sample_weight,
    class_costs,
    encode_labels,
    plain,
    validate_rows,
)
from widemargin.estimators.all_classes import fit_all_classes
from widemargin.estimators.arguments import check_limits, check_positive
from widemargin.estimators.linear_scores import LinearScores
from widemargin.methods.choose import choice_of
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.certificate import Point
from widemargin.problems.losses import Loss
from widemargin.problems.multiclass import MulticlassProblem
from widemargin.run import Solution

Vector = NDArray[np.float64]


class LinearClassifier(LinearScores):
    """Base of the linear classifiers; the subclasses name the loss and document the arguments."""

    C: float
    fit_intercept: bool | str
    intercept_scaling: float

    @abstractmethod
    def _loss(self) -> Loss:
        """Return the loss, or refuse the argument that names it."""

    def _rule(self) -> str:
        """Return how several classes are told apart, or refuse the argument that names it."""
        return "ovr"

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Train on examples X with labels y.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            float32 or float64, C order or CSR, is read in place; anything else is converted.
        y : array-like of shape (n_samples,)
            Labels: numbers or strings.
        sample_weight : array-like of shape (n_samples,), optional
            A weight of 2 means the same as the row given twice.

        Returns
        -------
        self
        """
        # 1) the arguments, before any work
        loss, rule = self._loss(), self._rule()
        self._check_arguments()
        penalised = isinstance(self.fit_intercept, str)
        free_intercept = not penalised and bool(self.fit_intercept)
        rows, y = validate_rows(self, X, y)
        weight = check_sample_weight(sample_weight, rows.count)
        classes, codes = encode_labels(y)
        cost = class_costs(float(self.C), classes, codes, self.class_weight, weight)
        if weight is not None or self.class_weight is not None:
            check_every_class(classes, codes, cost)

        # 2) one problem a class, or one for two classes, or one for all
        if penalised:
            rows = rows.with_constant(float(self.intercept_scaling))
        if rule != "ovr":
            self._warn(["all classes"], [fit_all_classes(self, rows, classes, codes, cost, rule)])
            return self
        positives = [1] if classes.size == 2 else list(range(classes.size))

        def problem(positive: int) -> BinaryProblem:
            signs = np.where(codes == positive, 1.0, -1.0)
            return BinaryProblem(rows, signs, cost, loss, free_intercept)

        # Threads write down their own answers: nobody waits for one that does it for all. The only
        # answer of two classes has its memory when the run has given back its own.
        several = len(positives) > 1
        weights = np.empty((len(positives), rows.weights))
        dual = np.empty((len(positives), rows.count if several else 0))

        def write(place: int, solution: Solution) -> None:
            nonlocal dual
            weights[place] = solution.w
            if not several:
                dual = np.empty((1, rows.count))
            np.negative(solution.alpha, out=dual[place])
            dual[place, codes == positives[place]] *= -1.0

        names = [plain(classes[p]) for p in positives]
        solutions = self._solve(
            [lambda p=p: problem(p) for p in positives],  # type: ignore[misc]
            self._warm_points(classes, rows, penalised, problem, positives),
            [str(name) for name in names],
            self.n_jobs,
            write,
        )
        self._keep(classes, rows, penalised, weights, dual, solutions)
        self._keep_runs(names, solutions)
        self._warn(names, solutions)
        return self

    def _check_arguments(self) -> None:
        check_positive("C", self.C)
        check_positive("intercept_scaling", self.intercept_scaling)
        check_limits(self)
        if not isinstance(self.fit_intercept, bool | np.bool_) and (
            not isinstance(self.fit_intercept, str) or self.fit_intercept != "penalised"
        ):
            raise ValueError(
                f"fit_intercept must be True, False or 'penalised'; got {self.fit_intercept!r}"
            )
        if self.intercept_scaling != 1 and self.fit_intercept != "penalised":
            raise ValueError(
                "intercept_scaling has a meaning only with fit_intercept='penalised': "
                "the exact intercept needs no scaling"
            )
        choice_of(self.solver, BinaryProblem if self._rule() == "ovr" else MulticlassProblem)

    def _warm_points(
        self,
        classes: NDArray[Any],
        rows: Rows,
        penalised: bool,
        problem: Callable[[int], BinaryProblem],
        positives: list[int],
    ) -> list[Point | None]:
        if not self._goes_on(classes, (len(positives), rows.features)):
            return [None] * len(positives)
        points: list[Point | None] = []
        for place, positive in enumerate(positives):
            w, b = self.coef_[place], float(self.intercept_[place])
            if penalised:
                w, b = np.append(w, b / float(self.intercept_scaling)), 0.0
            this = problem(positive)
            if self.dual_coef_.shape[1] == rows.count and not sp.issparse(self.dual_coef_):
                points.append(Point(w, b, self.dual_coef_[place] * this.y))
            else:
                points.append(this.point_at(w, b))
        return points

    def _keep(
        self,
        classes: NDArray[Any],
        rows: Rows,
        penalised: bool,
        weights: NDArray[np.float64],
        dual: NDArray[np.float64],
        solutions: list[Solution],
    ) -> None:
        self.classes_ = classes
        self.coef_ = np.ascontiguousarray(weights[:, : rows.features])
        if penalised:
            self.intercept_ = weights[:, -1] * float(self.intercept_scaling)
        else:
            self.intercept_ = np.array([s.b for s in solutions])
        self.dual_coef_ = dual
        self.support_ = np.flatnonzero(dual.any(axis=0))

    def _description(self) -> dict[str, Any]:
        kinds = {"True": "exact", "False": "none"}
        return {
            "loss": self._loss().name,
            "C": float(self.C),
            "intercept_kind": kinds.get(str(self.fit_intercept), "penalised"),
            "intercept_scaling": float(self.intercept_scaling),
            "multi_class": self._rule(),
        }
