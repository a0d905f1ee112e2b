"""What LinearSVC and LogisticRegression share: from (X, y) to problems, from solutions to coef_."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from numpy.typing import NDArray

from widemargin.auto.registry import check_solver
from widemargin.data.block_work import ALONE, Threads
from widemargin.data.coefficient_bounds import bounds_of, check_bounded, has_bounds
from widemargin.data.disk_data import opened
from widemargin.data.training_set import TrainingSet, split_intercept
from widemargin.data.validation import check_intercept, check_positive
from widemargin.estimators.absent_classes import fit_present
from widemargin.estimators.after_run import AfterRun
from widemargin.estimators.all_classes import fit_all_classes
from widemargin.estimators.arguments import check_limits
from widemargin.estimators.fit_tasks import CallbackSupportMixin, fit_task
from widemargin.estimators.linear_scores import LinearScores, Start
from widemargin.estimators.scikit_learn_arguments import check_scaling
from widemargin.estimators.single_precision import rounded
from widemargin.interrupt import Interrupt
from widemargin.problems.binary import BinaryProblem
from widemargin.problems.bounded import BoundedBinary, bounded
from widemargin.problems.certificate import Point
from widemargin.problems.losses import Loss
from widemargin.problems.multiclass import RULES, one_for_two
from widemargin.problems.rules import joint_kind, joint_problem, rule_for
from widemargin.problems.sparse_weights import (
    SparseProblem,
    check_joint_penalty,
    check_sparse_loss,
    leads_near,
)
from widemargin.problems.support import settled
from widemargin.run import Solution, Status


class LinearClassifier(CallbackSupportMixin, LinearScores):
    """Base of the linear classifiers; the subclasses name the loss and document the arguments."""

    C: float
    fit_intercept: bool | str
    intercept_scaling: float
    coef_bounds: Any = None
    positive: bool = False
    _fewest_steps = 0

    @abstractmethod
    def _loss(self) -> Loss:
        """Return the loss, or raise an error if it is not valid."""

    def _rule(self) -> str:
        """Return the multiclass rule, or raise an error if it is not valid."""
        return "ovr"

    @fit_task
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, label: Any = None) -> Any:
        """Train on examples X with labels y.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), DiskData, or files
            float32 or float64, C order or CSR, is read in place (CSR with few zeros is copied);
            anything else is converted. A
            path, a pattern such as ``"data/*.parquet"`` or a list of them is read by `DiskData`.
        y : array-like of shape (n_samples,)
            Labels: numbers or strings. Not needed if X has its own.
        sample_weight : array-like of shape (n_samples,), optional
            A weight of 2 means the same as the row given twice.
        label : str or int, optional
            If X names files, the column with the labels, as in `DiskData`.

        Returns
        -------
        self
        """
        self._check_arguments()
        X = opened(X, label)
        # Without a penalty the size of C says nothing.
        C = self._C()
        data = self._training_set(X, y, sample_weight, C if math.isfinite(C) else 1.0)
        self._train(data, self._previous(data) if self.warm_start else None)
        return self

    def _training_set(self, X: Any, y: Any, sample_weight: Any, C: float) -> TrainingSet:
        rule = self._rule()
        return TrainingSet.of(
            X,
            y,
            sample_weight,
            C=C,
            class_weight=self.class_weight,
            fit_intercept=self._intercept(),
            intercept_scaling=float(self.intercept_scaling),
            estimator=self,
            threads=effective_n_jobs(self.n_jobs),
            joint=rule != "ovr",
            rounded=rule in RULES,
            folds=self._folds_kept(),
            every_class=False,
            dense_copy=not (self._l1_ratio() and leads_near(X)),
        )

    def _folds_kept(self) -> int:
        """Return how many folds are solved side by side; a single fit has none."""
        return 0

    def _train(
        self, data: TrainingSet, start: Start | None, interrupt: Interrupt | None = None
    ) -> None:
        """Solve one problem per class, or one for two classes, or one for all; keep the answer."""
        if data.lacks_classes:
            fit_present(self, data, start, interrupt)
            return
        rule = rule_for(self._rule(), data.classes.size + data.left_out)
        check_data(data, rule, self._l1_ratio())
        check_bounded(self, rule, data.classes.size, data.rows.elsewhere)
        if rule != "ovr":
            fit_all_classes(self, data, rule, start, interrupt)
            return
        positives, names = data.positives, data.names
        if len(positives) == 1 and self._works_in_blocks():
            data = data.in_blocks(effective_n_jobs(self.n_jobs))
        # Threads write down their own answers: none waits for another. The only
        # answer of two classes has its memory when the run has given back its own.
        several = len(positives) > 1
        weights = np.empty((len(positives), data.rows.weights))
        dual = np.empty((len(positives), data.rows.count if several else 0))

        def begin(place: int, problem: BinaryProblem) -> Point | None:
            if start is None:
                kept = self._checkpoints and self._checkpoints.point(place, (problem.rows.weights,))
                return problem.point_at(kept[0], float(kept[1])) if kept else None
            w, b = start.w[place], float(start.b[place])
            if start.dual is None or sp.issparse(start.dual):
                return problem.point_at(w, b)
            return Point(w, b, start.dual[place] * problem.y)

        single: list[Solution | None] = [None] * len(positives)
        if not several:
            self._begin_tasks(data)

        def write(place: int, problem: BinaryProblem, solution: Solution) -> Solution:
            nonlocal dual
            after = AfterRun(problem, solution, self._limits_of_a_run()[0], interrupt)
            found = after.unless_late(partial(self._with_support, solution=solution), solution)
            weights[place] = found.w
            if self._halves(data):
                single[place] = after.unless_late(partial(rounded, solution=found, data=data), None)
            if not several:
                dual = np.empty((1, data.rows.count))
            _threads(data).multiply(found.alpha, problem.y, dual[place])
            return found

        solutions = self._solve(
            names,
            self._one_vs_rest(data),
            begin,
            # Each of them reads all that is not in memory.
            n_jobs=1 if data.rows.elsewhere else self.n_jobs,
            finish=write,
            interrupt=interrupt,
            alike=self._alike(data) if start is None else (),
        )
        self.classes_ = data.classes
        precision = solutions.replace_by(single)
        if precision is np.float32:
            weights = np.array([s.w for s in solutions])
        intercepts = np.array([s.b for s in solutions])
        coef, intercept = split_intercept(weights, intercepts, data.scaling, data.rows.shift)
        self.coef_ = np.ascontiguousarray(coef, dtype=precision)
        self.intercept_ = np.asarray(intercept, dtype=precision)
        self.dual_coef_ = dual
        self.support_ = _support(data, dual)
        self.n_support_ = _counts(data.codes[self.support_], data.classes.size)
        self._keep_runs(names, solutions)

    def _alike(self, data: TrainingSet) -> Sequence[int]:
        """Return the places of all classes, those of medium size first, if they are to be alike."""
        if self._method() != "auto" or self._kind() is not BinaryProblem or len(data.positives) < 3:
            return ()
        sizes = np.bincount(data.codes, minlength=data.classes.size).tolist()
        order = sorted(range(len(sizes)), key=sizes.__getitem__)
        middle = len(order) // 2
        return [order[at] for at in sorted(range(len(order)), key=lambda at: abs(at - middle))]

    def _begin_tasks(self, data: TrainingSet) -> None:
        """Tell scikit-learn's callbacks, if there are any, that a problem's run begins."""
        if self._tasks is not None:
            self._tasks.begin(partial(_attributes, data))

    def _halves(self, data: TrainingSet) -> bool:
        """Whether weights are float32, as the rows are."""
        return bool(data.X.dtype == np.float32)

    def _works_in_blocks(self) -> bool:
        """Whether threads share the rows of a single problem."""
        return self.n_jobs is not None and not (self._l1_ratio() or has_bounds(self))

    @staticmethod
    def _with_support(problem: BinaryProblem, solution: Solution) -> Solution:
        """Return the solution with dual variables at their bounds wherever they can be."""
        if not problem.loss.linear_dual:
            return solution
        gap = solution.certificate.relative_gap
        limit = solution.tol if solution.status is Status.CONVERGED else gap
        alpha, certificate = settled(problem, solution.point, solution.certificate, limit)
        if alpha is solution.alpha:
            return solution
        return replace(solution, alpha=alpha, certificate=certificate)

    def _check_arguments(self) -> None:
        loss = self._loss()
        self._check_C()
        if self._l1_ratio():
            check_sparse_loss(loss)
        check_limits(self)
        check_intercept(self.fit_intercept)
        check_scaling(self.intercept_scaling, isinstance(self._intercept(), str))
        # How many classes there are, the data will tell.
        rule = rule_for(self._rule(), 2)
        sparse = self._l1_ratio()
        check_solver(self._method(), self._kind() if rule == "ovr" else joint_kind(rule, sparse))

    def _l1_ratio(self) -> float:
        """Return ρ, the share of the 1-norm in the penalty, or raise an error."""
        return 0.0

    def _kind(self) -> Any:
        """Return the type of the one-vs-rest problems."""
        if has_bounds(self):
            return BoundedBinary
        return SparseProblem if self._l1_ratio() else BinaryProblem

    def _one_vs_rest(self, data: TrainingSet) -> Callable[[int], Any]:
        """Return what states the one-vs-rest problem at a place."""
        loss, positives, ratio = self._loss(), data.positives, self._l1_ratio()
        if ratio:
            return lambda place: SparseProblem.of(data, positives[place], loss, ratio)
        bounds, kind = bounds_of(self, data.rows.features), self._kind()
        if bounds is not None:
            return lambda place: bounded(BinaryProblem.of(data, positives[place], loss), bounds)
        return lambda place: kind.of(data, positives[place], loss)

    def _joint_problem(self, data: TrainingSet, rule: str) -> Any:
        """State the problem of all classes at once."""
        return joint_problem(data, rule, self._l1_ratio())

    def _check_C(self) -> None:
        check_positive("C", self.C)

    def _C(self) -> float:
        return float(self.C)

    def _intercept(self) -> bool | str:
        """Return the kind of intercept: True, False or "penalised"."""
        return self.fit_intercept

    def _description(self) -> dict[str, Any]:
        kinds = {"True": "exact", "False": "none"}
        return {
            "loss": self._loss().name,
            "C": self._C() if math.isfinite(self._C()) else None,
            "intercept_kind": kinds.get(str(self._intercept()), "penalised"),
            "intercept_scaling": float(self.intercept_scaling),
            "multi_class": rule_for(self._rule(), self.classes_.size),
            "l1_ratio": self._l1_ratio(),
        }


def _attributes(data: TrainingSet, w: Any, b: Any) -> dict[str, Any]:
    """Return the fitted attributes that weights of a problem stand for."""
    lines = one_for_two(np.atleast_2d(w)), one_for_two(np.atleast_1d(b))
    coef, intercept = split_intercept(*lines, data.scaling, data.rows.shift)
    return {
        "coef_": np.array(coef),
        "intercept_": np.array(intercept),
        "classes_": data.classes,
        "n_features_in_": data.rows.features,
    }


def check_data(data: TrainingSet, rule: str, l1_ratio: float) -> None:
    """Raise an error for data, rule and penalty that do not go together."""
    check_joint_penalty(rule, l1_ratio)
    if data.rows.elsewhere and l1_ratio > 0.0:
        raise ValueError("the 1-norm needs data in memory; use penalty='l2'")


def _threads(data: TrainingSet) -> Threads:
    """Return threads for vectors over the examples."""
    return data.rows.threads or ALONE


def _support(data: TrainingSet, dual: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the examples that have a dual variable above zero in some problem."""
    if len(dual) > 1:
        return np.flatnonzero(dual.any(axis=0))
    return _threads(data).nonzero_places(dual[0])


def _counts(codes: NDArray[Any], classes: int) -> NDArray[np.intp]:
    """Return how many of the examples belong to each class."""
    if classes != 2:
        return np.bincount(codes, minlength=classes)
    last = np.count_nonzero(codes)  # several times as fast
    return np.array([codes.size - last, last])
