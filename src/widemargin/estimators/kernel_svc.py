"""KernelSVC: support vector machines in a kernel's feature space."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from widemargin.data.gram import Kernel
from widemargin.data.kernel_matrix import is_precomputed, kernel_matrix, width_of
from widemargin.data.validation import (
    check_every_class,
    check_sample_weight,
    class_costs,
    encode_labels,
    plain,
)
from widemargin.estimators.arguments import (
    check_count,
    check_limits,
    check_number,
    check_one_thread,
    check_positive,
    check_rule,
    margin_loss,
)
from widemargin.estimators.certified import CertifiedClassifier
from widemargin.methods.choose import choice_of
from widemargin.problems.kernel import KernelProblem
from widemargin.problems.kernel_multiclass import KernelMulticlassProblem
from widemargin.run import Record

_KERNELS = ("rbf", "poly", "linear", "precomputed")


class KernelSVC(CertifiedClassifier):
    """Train a kernel support vector machine, with a certificate of its optimality.

    Minimises ``½‖w‖² + Σ c_i ℓ(y_i (w·φ(x_i) + b))`` with φ the feature map of a kernel, one class
    against the rest, or one joint problem over all classes without intercepts.

    Parameters
    ----------
    kernel : {"rbf", "poly", "linear", "precomputed"} or callable, default="rbf"
        exp(−γ‖a − b‖²), (γ a·b + coef0)^degree, a·b, or the matrix itself given as X; a callable
        ``kernel(A, B)`` returns the matrix of all pairs of rows. A matrix that is given or comes
        from a callable, or from a negative coef0, must be symmetric and positive semidefinite:
        it is tested as a whole where it fits into `memory`, else on 1000 random examples.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        The joint rules are defined with the hinge.
    multi_class : {"ovr", "crammer_singer", "weston_watkins"}, default="ovr"
        One problem a class against the rest, or one of the joint problems.
    C : float, default=1.0
        Cost of the losses against the norm of w.
    gamma : {"scale", "auto"} or float, default="scale"
        1 / (n_features · variance of X, its rows weighted), 1 / n_features, or the number.
    degree : int, default=3
    coef0 : float, default=0.0
    tol : float, default=1e-3
        Relative duality gap, (P − D)/P, at which training stops.
    fit_intercept : bool or None, default=None
        Whether an intercept, not penalised, is trained; None means yes for "ovr", and the joint
        problems have none.
    class_weight : dict or "balanced", optional
    solver : str, default="auto"
        "dual_cd" or, for the squared hinge, "dual_of_dual"; for the joint problems
        "frank_wolfe", "block_frank_wolfe", "oblivious_frank_wolfe", "away_frank_wolfe" or
        "pairwise_frank_wolfe".
    memory : float, default=1000
        Megabytes of the kernel matrix that may be kept. If all of it fits it is computed once; else
        rows are computed when they are needed, and those used last are kept.
    max_iter : int, default=10000
    time_limit : float, optional
        Seconds at most for each problem.
    n_jobs : int, optional
        Threads for several classes; only with "ovr", and one at a time where the matrix does not
        fit into `memory`. The result does not depend on it.
    random_state : int, RandomState instance or None, default=0
    verbose : int, default=0
    callback : callable, optional
        Called as ``callback(class_name, record)`` at every check of the certificate.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    support_ : ndarray of shape (n_support,)
        Rows of X that the decision function uses.
    support_vectors_ : array or CSR matrix of shape (n_support, n_features)
        Those rows; empty for a precomputed kernel.
    dual_coef_ : ndarray of shape (n_problems, n_support)
        Their coefficients: α_i y_i for each problem, or the rows of Aᵀ for a joint one.
    intercept_ : ndarray of shape (n_problems,)
    gamma_ : float
        The number that ``gamma`` stood for; not for a precomputed kernel.
    certificate_ : Certificate
        Primal value, dual value and gap, computed from the data and the answer.
    certificates_ : list of Certificate
    n_iter_, status_, solver_, history_
        As in `LinearSVC`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from widemargin import KernelSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KernelSVC(multi_class="weston_watkins").fit(X, y)
    >>> model.certificate_.relative_gap <= 1e-3
    True
    >>> model.score(X, y) > 0.95
    True
    """

    def __init__(
        self,
        kernel: str | Callable[[Any, Any], Any] = "rbf",
        loss: str = "hinge",
        *,
        multi_class: str = "ovr",
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
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], order="C"
        )
        weight = check_sample_weight(sample_weight, X.shape[0])
        classes, codes = encode_labels(y)
        cost = class_costs(float(self.C), classes, codes, self.class_weight, weight)
        check_every_class(classes, codes, cost)
        if not is_precomputed(self.kernel):
            self.gamma_ = width_of(self.gamma, X, weight)
        gram = kernel_matrix(X, self._kernel_function(), 1e6 * float(self.memory))

        # 2) one problem a class, or one for two classes, or one for all
        joint = self.multi_class != "ovr"
        free = not joint and (self.fit_intercept is None or bool(self.fit_intercept))
        names: list[Any]
        tasks: list[Any]
        if joint:
            labels, k = codes.astype(np.int64), int(classes.size)
            whole = KernelMulticlassProblem(gram, labels, cost, k, self.multi_class)
            names, tasks = ["all classes"], [lambda: whole]
        else:
            positives = [1] if classes.size == 2 else range(classes.size)
            names = [plain(classes[p]) for p in positives]

            def problem(positive: int) -> KernelProblem:
                signs = np.where(codes == positive, 1.0, -1.0)
                return KernelProblem(gram, signs, cost, margin_loss(self.loss), free)

            tasks = [lambda p=p: problem(p) for p in positives]
        # Rows that are kept in one place are not made for several threads.
        n_jobs = self.n_jobs if gram.whole is not None else 1
        solutions = self._solve(tasks, [None] * len(tasks), [str(name) for name in names], n_jobs)

        # 3) what is kept
        w = np.asarray(solutions[0].w).T if joint else np.array([s.w for s in solutions])
        self.classes_ = classes
        self.support_ = np.flatnonzero(w.any(axis=0))
        self.dual_coef_ = np.ascontiguousarray(w[:, self.support_])
        self.support_vectors_ = X[:0] if is_precomputed(self.kernel) else X[self.support_]
        self.intercept_ = (
            np.zeros(w.shape[0]) if joint else np.array([float(s.b) for s in solutions])
        )
        self._keep_runs(names, solutions)
        self._warn(names, solutions)
        return self

    def _check_arguments(self) -> None:
        for name in ("C", "memory"):
            check_positive(name, getattr(self, name))
        check_count("degree", self.degree)
        check_number("coef0", self.coef0, math.isfinite, "a finite number")
        if not isinstance(self.gamma, str) or self.gamma not in ("scale", "auto"):
            check_number(
                "gamma",
                self.gamma,
                lambda v: v > 0.0 and math.isfinite(v),
                "'scale', 'auto' or a positive finite number",
            )
        if self.fit_intercept is not None and not isinstance(self.fit_intercept, bool | np.bool_):
            raise ValueError(
                f"fit_intercept must be True, False or None; got {self.fit_intercept!r}"
            )
        check_limits(self)
        if not callable(self.kernel) and self.kernel not in _KERNELS:
            raise ValueError(
                f"kernel must be a callable or one of {', '.join(map(repr, _KERNELS))}; "
                f"got {self.kernel!r}"
            )
        margin_loss(self.loss)
        joint = check_rule(self.multi_class, self.loss) != "ovr"
        if joint:
            check_one_thread(self.multi_class, self.n_jobs)
        if joint and self.fit_intercept:
            raise ValueError(
                f"multi_class={self.multi_class!r} has no intercepts; leave fit_intercept=None"
            )
        choice_of(self.solver, KernelMulticlassProblem if joint else KernelProblem)

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
        ndarray of shape (n_samples,) for two classes, else (n_samples, n_classes)
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        scores = np.empty((X.shape[0], self.dual_coef_.shape[0]))
        step = max(1, 4_000_000 // max(1, self.support_.size))
        for begin in range(0, X.shape[0], step):
            piece = X[begin : begin + step]
            if is_precomputed(self.kernel):
                block = np.asarray(piece, dtype=np.float64)[:, self.support_]
            elif self.support_.size == 0:
                block = np.zeros((piece.shape[0], 0))
            else:
                block = self._kernel_function().between(piece, self.support_vectors_)
            scores[begin : begin + step] = block @ self.dual_coef_.T + self.intercept_
        if scores.shape[1] == 2:
            # A joint problem of two classes: the second against the first.
            return scores[:, 1] - scores[:, 0]
        return scores.ravel() if scores.shape[1] == 1 else scores

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        precomputed = is_precomputed(self.kernel)
        tags.input_tags.sparse = not precomputed
        tags.input_tags.pairwise = precomputed
        return tags
