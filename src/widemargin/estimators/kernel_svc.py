"""KernelSVC: support vector machines in a kernel's feature space."""

from __future__ import annotations

import math
import numbers
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from widemargin.data.gram import Gram, Kernel
from widemargin.data.semidefinite import refuse_what_is_no_kernel
from widemargin.data.validation import check_sample_weight, class_costs, encode_labels, plain
from widemargin.estimators.arguments import check_count, check_number, check_positive
from widemargin.estimators.one_vs_rest import solve_all
from widemargin.methods.choose import choice_of
from widemargin.problems.certificate import Certificate
from widemargin.problems.kernel import KernelProblem
from widemargin.problems.kernel_multiclass import RULES, KernelMulticlassProblem
from widemargin.problems.losses import HINGE, SQUARED_HINGE
from widemargin.run import Record, Solution, Status

_KERNELS = ("rbf", "poly", "linear", "precomputed")
_LOSSES = {"hinge": HINGE, "squared_hinge": SQUARED_HINGE}


class KernelSVC(ClassifierMixin, BaseEstimator):
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
        Threads for several classes.
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
        n = X.shape[0]
        weight = check_sample_weight(sample_weight, n)
        classes, codes = encode_labels(y)
        cost = class_costs(float(self.C), classes, codes, self.class_weight, weight)
        for place, label in enumerate(classes):
            if not cost[codes == place].any():
                raise ValueError(f"every example of class {plain(label)!r} has weight zero")
        gram = self._gram(X, weight)
        joint = self.multi_class != "ovr"
        free = not joint and (self.fit_intercept is None or bool(self.fit_intercept))
        if gram.whole is None:
            # Rows are kept in one place; it is not made for several threads.
            n_jobs: int | None = 1
        else:
            n_jobs = self.n_jobs

        # 2) the problems
        positives = [1] if classes.size == 2 else list(range(classes.size))

        def problem(positive: int) -> KernelProblem:
            signs = np.where(codes == positive, 1.0, -1.0)
            return KernelProblem(gram, signs, cost, _LOSSES[self.loss], free)

        labels = codes.astype(np.int64)
        whole = KernelMulticlassProblem(gram, labels, cost, classes.size, self.multi_class)
        tasks: list[Any] = [lambda p=p: problem(p) for p in positives]
        titles = [str(classes[p]) for p in positives]
        if joint:
            # Two classes are a joint problem like any other.
            tasks, titles = [lambda: whole], ["all classes"]
        solutions = solve_all(
            tasks,
            [None] * len(tasks),
            titles,
            solver=self.solver,
            tol=float(self.tol),
            max_iter=int(self.max_iter),
            time_limit=self.time_limit,
            callback=self.callback,
            seed=int(check_random_state(self.random_state).randint(2**31 - 1)),
            n_jobs=n_jobs,
            verbose=bool(self.verbose),
        )

        # 3) what is kept
        self.classes_ = classes
        coefficients = (
            np.ascontiguousarray(np.asarray(solutions[0].w).T)
            if joint
            else np.array([s.w for s in solutions])
        )
        self.support_ = np.flatnonzero(coefficients.any(axis=0))
        self.dual_coef_ = np.ascontiguousarray(coefficients[:, self.support_])
        self.support_vectors_ = X[self.support_] if self.kernel != "precomputed" else X[:0]
        self.intercept_ = (
            np.zeros(coefficients.shape[0]) if joint else np.array([float(s.b) for s in solutions])
        )
        self._keep(solutions)
        self._warn(solutions, titles)
        return self

    def _keep(self, solutions: list[Solution]) -> None:
        self.primal_ = np.array([s.certificate.primal for s in solutions])
        self.dual_ = np.array([s.certificate.dual for s in solutions])
        self.n_iter_ = np.array([s.iterations for s in solutions])
        self.status_ = [s.status.name.lower() for s in solutions]
        self.history_ = [s.history() for s in solutions]
        self.solver_ = solutions[0].solver

    def _warn(self, solutions: list[Solution], titles: list[str]) -> None:
        short = [s for s in solutions if s.status is not Status.CONVERGED]
        if short:
            worst = max(short, key=lambda s: s.certificate.relative_gap)
            message = worst.message
            if len(solutions) > 1:
                message = (
                    f"{len(short)} of {len(solutions)} classes did not reach tol; the worst is "
                    f"{titles[solutions.index(worst)]!r}: {message}"
                )
            warnings.warn(message, ConvergenceWarning, stacklevel=3)

    def _check_arguments(self) -> None:
        for name in ("C", "tol", "memory"):
            check_positive(name, getattr(self, name))
        if self.time_limit is not None:
            check_positive("time_limit", self.time_limit)
        for name in ("max_iter", "degree"):
            check_count(name, getattr(self, name))
        check_number("coef0", self.coef0, math.isfinite, "a finite number")
        if not isinstance(self.gamma, str) or self.gamma not in ("scale", "auto"):
            check_number(
                "gamma",
                self.gamma,
                lambda v: v > 0.0 and math.isfinite(v),
                "'scale', 'auto' or a positive finite number",
            )
        if not (self.fit_intercept is None or isinstance(self.fit_intercept, bool | np.bool_)):
            raise ValueError(
                f"fit_intercept must be True, False or None; got {self.fit_intercept!r}"
            )
        if self.n_jobs is not None and (
            not isinstance(self.n_jobs, numbers.Integral) or self.n_jobs == 0
        ):
            raise ValueError(f"n_jobs must be a non-zero integer or None; got {self.n_jobs!r}")
        if self.callback is not None and not callable(self.callback):
            raise ValueError(f"callback must be callable or None; got {self.callback!r}")
        if not callable(self.kernel) and self.kernel not in _KERNELS:
            raise ValueError(
                f"kernel must be a callable or one of {', '.join(map(repr, _KERNELS))}; "
                f"got {self.kernel!r}"
            )
        if self.loss not in _LOSSES:
            raise ValueError(f"loss must be 'hinge' or 'squared_hinge'; got {self.loss!r}")
        if self.multi_class not in ("ovr", *RULES):
            names = ", ".join(map(repr, ("ovr", *RULES)))
            raise ValueError(f"multi_class must be one of {names}; got {self.multi_class!r}")
        if self.multi_class != "ovr":
            if self.loss != "hinge":
                raise ValueError(
                    f"multi_class={self.multi_class!r} is defined with loss='hinge'; "
                    "multi_class='ovr' takes both losses"
                )
            if self.fit_intercept:
                raise ValueError(
                    f"multi_class={self.multi_class!r} has no intercepts; leave fit_intercept=None"
                )
        kind = KernelProblem if self.multi_class == "ovr" else KernelMulticlassProblem
        choice_of(self.solver, kind)

    def _gram(self, X: Any, weight: Any) -> Gram:
        memory = 1e6 * float(self.memory)
        if not callable(self.kernel) and self.kernel == "precomputed":
            if sp.issparse(X):
                raise TypeError("a precomputed kernel matrix must be dense; X is sparse")
            if X.shape[0] != X.shape[1]:
                raise ValueError(f"a precomputed kernel matrix must be square; got shape {X.shape}")
            gram = Gram.precomputed(np.ascontiguousarray(X, dtype=np.float64))
            refuse_what_is_no_kernel(gram, _rounding(X), "the precomputed kernel matrix")
            return gram
        gamma = self.gamma
        if isinstance(gamma, str) and gamma == "scale":
            variance = _variance(X, weight)
            gamma = 1.0 / (X.shape[1] * variance) if variance > 0.0 else 1.0
        elif isinstance(gamma, str):
            gamma = 1.0 / X.shape[1]
        self.gamma_ = float(gamma)
        gram = Gram.of(X, self._kernel_function(), memory)
        refuse_what_is_no_kernel(gram, _rounding(X))
        return gram

    def _kernel_function(self) -> Kernel:
        return Kernel(self.kernel, self.gamma_, int(self.degree), float(self.coef0))

    @property
    def certificates_(self) -> list[Certificate]:
        """One certificate for each problem."""
        check_is_fitted(self)
        return [
            Certificate(float(p), float(d)) for p, d in zip(self.primal_, self.dual_, strict=True)
        ]

    @property
    def certificate_(self) -> Certificate:
        """The certificate of the whole: one-vs-rest minimises the sum of its objectives."""
        check_is_fitted(self)
        return Certificate(float(self.primal_.sum()), float(self.dual_.sum()))

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
            if not callable(self.kernel) and self.kernel == "precomputed":
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

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class with the highest score.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        scores = self.decision_function(X)
        places = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[places]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        precomputed = not callable(self.kernel) and self.kernel == "precomputed"
        tags.input_tags.sparse = not precomputed
        tags.input_tags.pairwise = precomputed
        return tags


def _rounding(X: Any) -> float:
    """Return what the entries of K can be trusted to, where they come from X by other hands."""
    return 1e-5 if X.dtype == np.float32 else 1e-10


def _variance(X: Any, weight: Any) -> float:
    """Return the variance of all entries, where a row of weight 2 counts twice.

    In float64 and about the mean: a mean square less a squared mean loses all digits where the
    mean is large.
    """
    n, d = X.shape
    weight = np.ones(n) if weight is None else np.asarray(weight, dtype=np.float64)
    total = float(weight.sum()) * d
    mean = float(weight @ np.asarray(X.sum(axis=1, dtype=np.float64)).ravel()) / total
    if sp.issparse(X):
        about = X.astype(np.float64)
        about.sum_duplicates()
        stored = np.diff(about.indptr)
        np.square(about.data - mean, out=about.data)
        squares = np.asarray(about.sum(axis=1)).ravel() + (d - stored) * mean**2
        return float(weight @ squares) / total
    # By blocks of rows: no second X is made.
    squares = np.empty(n)
    for begin in range(0, n, 1024):
        about = X[begin : begin + 1024] - np.float64(mean)
        squares[begin : begin + 1024] = np.einsum("ij,ij->i", about, about)
    return float(weight @ squares) / total
