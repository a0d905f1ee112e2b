"""KernelSVC: support vector machines in a kernel's feature space."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from widemargin.auto.registry import choice_of
from widemargin.data.gram import Kernel
from widemargin.data.kernel_matrix import is_precomputed, kernel_matrix, width_of
from widemargin.data.training_set import TrainingSet
from widemargin.data.validation import check_count, check_number, check_positive, validate_new_rows
from widemargin.estimators.arguments import check_limits, check_one_thread, margin_loss
from widemargin.estimators.certified import CertifiedClassifier, Solutions
from widemargin.estimators.pairs import (
    answers_of_pairs,
    pair_layout,
    pair_scores,
    scores_of_classes,
    votes_of,
)
from widemargin.problems.kernel import KernelProblem
from widemargin.problems.kernel_multiclass import KernelMulticlassProblem
from widemargin.problems.kernel_pairs import KernelPairsProblem, pairs_of
from widemargin.problems.multiclass import check_rule
from widemargin.run import Record

_KERNELS = ("rbf", "poly", "linear", "precomputed")


class KernelSVC(CertifiedClassifier):
    """Kernel support vector machine with a certificate of optimality.

    Minimises ``½‖w‖² + Σ c_i ℓ(y_i (w·φ(x_i) + b))`` with φ the feature map of a kernel. Multiclass
    problems are trained one-vs-rest, one-vs-one, or jointly without intercepts.

    Parameters
    ----------
    kernel : {"rbf", "poly", "linear", "precomputed"} or callable, default="rbf"
        exp(−γ‖a − b‖²), (γ a·b + coef0)^degree, a·b, or the kernel matrix itself passed as X; a
        callable ``kernel(A, B)`` returns the matrix of all pairs of rows. A precomputed matrix, a
        callable and a negative coef0 must give a symmetric positive semidefinite matrix. This is
        checked on the whole matrix if it fits into `memory`, else on 1000 random examples.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        Loss function; the joint rules need "hinge".
    multi_class : {"ovr", "ovo", "crammer_singer", "weston_watkins"}, default="ovr"
        Multiclass rule: one-vs-rest; one-vs-one as in `sklearn.svm.SVC`, where every pair of
        classes has a problem of its own and the classes are voted for; or one of the joint problems
        of `LinearSVC`.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        What `decision_function` returns for "ovo": one score per class, or one per pair of classes.
    C : float, default=1.0
        Weight of the losses in the objective: the inverse of the regularisation strength.
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient γ: "scale" is 1 / (n_features · variance of X, rows weighted), "auto" is
        1 / n_features.
    degree : int, default=3
    coef0 : float, default=0.0
    tol : float, default=1e-3
        Relative duality gap, (P − D)/P, at which training stops.
    fit_intercept : bool or None, default=None
        Whether to train an intercept, which is not penalised. None: yes for "ovr" and "ovo"; the
        joint problems have none.
    class_weight : dict or "balanced", optional
    solver : str, default="auto"
        "dual_cd" or, for the squared hinge, "dual_of_dual"; for the joint problems
        "block_dual_cd", "frank_wolfe", "corrective_frank_wolfe", "block_frank_wolfe",
        "oblivious_frank_wolfe", "away_frank_wolfe" or "pairwise_frank_wolfe".
    memory : float, default=1000
        Megabytes of the kernel matrix to keep, as ``cache_size`` of `sklearn.svm.SVC`. Rows are
        computed on demand, and the most recently used ones are kept in single precision. Several
        one-vs-rest problems and the joint ones compute the whole matrix once if it fits.
    max_iter : int, default=10000
    time_limit : float, optional
        Time limit in seconds, per problem.
    n_jobs : int, optional
        Number of threads over the problems of "ovr" and "ovo"; a single one for "ovr" if the matrix
        does not fit into `memory`. The result does not depend on it.
    random_state : int, RandomState instance or None, default=0
    verbose : int, default=0
    callback : callable, optional
        Called as ``callback(class_name, record)`` at every check of the certificate.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    support_ : ndarray of shape (n_support,)
        Rows of X that the decision function uses, class by class.
    n_support_ : ndarray of shape (n_classes,)
        How many of them belong to each class.
    support_vectors_ : array or CSR matrix of shape (n_support, n_features)
        Those rows; empty for a precomputed kernel.
    dual_coef_ : ndarray of shape (n_problems, n_support)
        Their coefficients: α_i y_i per problem, or the rows of Aᵀ for a joint one. For "ovo" it has
        shape (n_classes − 1, n_support) and the layout of `sklearn.svm.SVC`.
    intercept_ : ndarray of shape (n_problems,)
    gamma_ : float
        The value of ``gamma``; not for a precomputed kernel.
    certificate_ : Certificate
        Primal value, dual value and gap, computed from the data and the solution.
    certificates_ : list of Certificate
    n_iter_, status_, solver_, history_
        As in `LinearSVC`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from widemargin import KernelSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KernelSVC(multi_class="weston_watkins").fit(X, y)
    >>> print(f"gap {model.certificate_.relative_gap:.0e}, accuracy {model.score(X, y):.3f}")
    gap ...e-0..., accuracy 0.987
    """

    def __init__(
        self,
        kernel: str | Callable[[Any, Any], Any] = "rbf",
        loss: str = "hinge",
        *,
        multi_class: str = "ovr",
        decision_function_shape: str = "ovr",
        C: float = 1.0,
        gamma: str | float = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        tol: float = 1e-3,
        fit_intercept: bool | None = None,
        class_weight: Any = None,
        solver: str = "auto",
        memory: float = 1000.0,
        max_iter: int = 10_000,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
        callback: Callable[[str, Record], object] | None = None,
    ) -> None:
        self.kernel = kernel
        self.loss = loss
        self.multi_class = multi_class
        self.decision_function_shape = decision_function_shape
        self.C = C
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.solver = solver
        self.memory = memory
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelSVC:
        """Train on examples X with labels y.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Or the kernel matrix of shape (n_samples, n_samples) if ``kernel="precomputed"``.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
        """
        # 1) the arguments and the data
        self._check_arguments()
        joint = self.multi_class not in ("ovr", "ovo")
        data = TrainingSet.of(
            X,
            y,
            sample_weight,
            C=float(self.C),
            class_weight=self.class_weight,
            fit_intercept=not joint and (self.fit_intercept is None or bool(self.fit_intercept)),
            estimator=self,
            dense_copy=False,
        )
        if not is_precomputed(self.kernel):
            self.gamma_ = width_of(self.gamma, data.X, data.weight)
        self.classes_ = data.classes
        self._in_pairs = self.multi_class == "ovo" and data.classes.size > 2
        # 2) one problem for two classes, one per class or pair of classes, or one for all
        if self._in_pairs:
            names, solutions, w = self._fit_pairs(data)
        else:
            names, solutions, w = self._fit_classes(data, joint)
        # 3) what is kept
        self.n_support_ = np.bincount(data.codes[self.support_], minlength=data.classes.size)
        self.dual_coef_ = w
        empty = is_precomputed(self.kernel)
        self.support_vectors_ = data.X[:0] if empty else data.X[self.support_]
        self.intercept_ = (
            np.zeros(w.shape[0]) if joint else np.array([s.b for s in solutions], float)
        )
        self._keep_runs(names, solutions)
        return self

    def _fit_classes(self, data: TrainingSet, joint: bool) -> tuple[list[Any], Solutions, Any]:
        """Solve the problem of each class, or the joint one."""
        gram = kernel_matrix(data.X, self._kernel_function(), 1e6 * float(self.memory))

        def problem(place: int) -> KernelProblem | KernelMulticlassProblem:
            if joint:
                return KernelMulticlassProblem.of(data, gram, self.multi_class)
            return KernelProblem.of(data, gram, data.positives[place], margin_loss(self.loss))

        names = ["all classes"] if joint else data.names
        # Several classes share the matrix; rows kept in one place are not made for several threads.
        shared = len(names) == 1 or gram.whole is not None
        solutions = self._solve(names, problem, n_jobs=self.n_jobs if shared else 1)
        w = np.asarray(solutions[0].w).T if joint else np.array([s.w for s in solutions])
        used = np.flatnonzero(w.any(axis=0))
        # Class by class, as scikit-learn's SVC has them.
        self.support_ = used[np.argsort(data.codes[used], kind="stable")]
        return names, solutions, np.ascontiguousarray(w[:, self.support_])

    def _fit_pairs(self, data: TrainingSet) -> tuple[list[Any], Solutions, Any]:
        """Solve the problems of all pairs of classes, in as many groups as there are threads."""
        pairs = pairs_of(data.classes.size)
        jobs = max(1, min(effective_n_jobs(self.n_jobs), len(pairs)))
        order = np.argsort(data.codes, kind="stable")
        counts = np.bincount(data.codes, minlength=data.classes.size)
        X = data.X[order][:, order] if is_precomputed(self.kernel) else data.X[order]
        gram = kernel_matrix(X, self._kernel_function(), 1e6 * float(self.memory) / jobs)
        groups = [[pairs[i] for i in part] for part in np.array_split(np.arange(len(pairs)), jobs)]
        problems = [
            KernelPairsProblem.of(
                gram,
                np.cumsum(counts),
                data.cost[order],
                margin_loss(self.loss),
                data.free_intercept,
                group,
            )
            for group in groups
        ]
        titles = [f"pairs of group {place}" for place in range(jobs)] if jobs > 1 else ["all pairs"]
        grouped = self._solve(titles, lambda place: problems[place], n_jobs=jobs)
        labels = data.classes.tolist()
        names = [f"{labels[a]} or {labels[b]}" for a, b in pairs]
        solutions = answers_of_pairs(self, names, problems, grouped)
        places, w = pair_layout([np.asarray(s.w) for s in solutions], counts)
        self.support_ = order[places]
        return names, solutions, w

    def _check_kernel(self) -> None:
        if isinstance(self.kernel, str) and self.kernel == "sigmoid":
            raise ValueError(
                "kernel='sigmoid' is not positive definite, so that the problem has no dual and no "
                "certificate; use 'rbf' or 'poly'"
            )
        if not callable(self.kernel) and self.kernel not in _KERNELS:
            raise ValueError(
                f"kernel must be a callable or one of {', '.join(map(repr, _KERNELS))}; "
                f"got {self.kernel!r}"
            )
        check_count("degree", self.degree)
        check_number("coef0", self.coef0, math.isfinite, "a finite number")
        if not isinstance(self.gamma, str) or self.gamma not in ("scale", "auto"):
            check_number(
                "gamma",
                self.gamma,
                lambda v: v > 0.0 and math.isfinite(v),
                "'scale', 'auto' or a positive finite number",
            )

    def _check_arguments(self) -> None:
        for name in ("C", "memory"):
            check_positive(name, getattr(self, name))
        self._check_kernel()
        if self.fit_intercept is not None and not isinstance(self.fit_intercept, bool | np.bool_):
            raise ValueError(
                f"fit_intercept must be True, False or None; got {self.fit_intercept!r}"
            )
        check_limits(self)
        margin_loss(self.loss)
        if self.decision_function_shape not in ("ovr", "ovo"):
            raise ValueError(
                "decision_function_shape must be 'ovr' or 'ovo'; "
                f"got {self.decision_function_shape!r}"
            )
        pairs = isinstance(self.multi_class, str) and self.multi_class == "ovo"
        joint = not pairs and check_rule(self.multi_class, self.loss, others=("ovo",)) != "ovr"
        if joint:
            check_one_thread(self.multi_class, self.n_jobs)
        if joint and self.fit_intercept:
            raise ValueError(
                f"multi_class={self.multi_class!r} has no intercepts; leave fit_intercept=None"
            )
        kind: type[Any] = KernelPairsProblem if pairs else KernelProblem
        choice_of(self.solver, KernelMulticlassProblem if joint else kind)

    def _kernel_function(self) -> Kernel:
        gamma = 1.0 if is_precomputed(self.kernel) else self.gamma_
        return Kernel(self.kernel, gamma, int(self.degree), float(self.coef0))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the scores Σ_i dual_coef_i k(x_i, x) + intercept.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Or the kernel between these examples and all training examples, if precomputed.

        Returns
        -------
        ndarray of shape (n_samples,) for two classes, else (n_samples, n_classes), or one column
        per pair of classes if ``decision_function_shape="ovo"`` and ``multi_class="ovo"``
        """
        scores = self._scores(X)
        if self._in_pairs:
            if self.decision_function_shape == "ovo":
                return scores
            return scores_of_classes(scores, self.classes_.size)
        if scores.shape[1] == 2:
            # A joint problem of two classes: the second against the first.
            return scores[:, 1] - scores[:, 0]
        return scores.ravel() if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class with the highest score, or with the most votes for "ovo".

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        if not self._in_pairs:
            return super().predict(X)
        return self.classes_[votes_of(self._scores(X), self.classes_.size).argmax(axis=1)]

    def _scores(self, X: Any) -> NDArray[np.float64]:
        """Return the score of every problem."""
        check_is_fitted(self)
        X = validate_new_rows(self, X)
        scores = np.empty((X.shape[0], self.intercept_.size))
        step = max(1, 4_000_000 // max(1, self.support_.size))
        for begin in range(0, X.shape[0], step):
            piece = X[begin : begin + step]
            if is_precomputed(self.kernel):
                block = np.asarray(piece, dtype=np.float64)[:, self.support_]
            elif self.support_.size == 0:
                block = np.zeros((piece.shape[0], 0))
            else:
                block = self._kernel_function().between(piece, self.support_vectors_)
            if self._in_pairs:
                own = pair_scores(block, self.dual_coef_, self.intercept_, self.n_support_)
            else:
                own = block @ self.dual_coef_.T + self.intercept_
            scores[begin : begin + step] = own
        return scores

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        precomputed = is_precomputed(self.kernel)
        tags.input_tags.sparse = not precomputed
        tags.input_tags.pairwise = precomputed
        return tags
