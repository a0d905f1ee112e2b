"""RobustSVCCV: the radius of RobustSVC chosen by cross-validation along a warm-started path."""

from __future__ import annotations

import numbers
import time
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import check_scoring
from sklearn.utils.validation import validate_data

from widemargin.data.validation import (
    check_every_class,
    check_sample_weight,
    class_costs,
    encode_labels,
)
from widemargin.estimators.robust_svc import RobustSVC
from widemargin.estimators.warn import warn_of_shortfall
from widemargin.interrupt import Interrupt
from widemargin.problems.norms import dual_norm, norm_of
from widemargin.run import Record
from widemargin.selection.progress import FoldsBar
from widemargin.selection.scoring import check_score_name, score_of
from widemargin.selection.search import CUT_SHORT
from widemargin.selection.splits import splits_of
from widemargin.threads import in_threads

Vector = NDArray[np.float64]


class RobustSVCCV(RobustSVC):
    """Train a robust support vector machine whose radius is chosen by cross-validation.

    The radii are visited from the largest to the smallest, each fold's fit starting from the one
    before. The radius with the best mean score is used for the fit to all data; among equals the
    largest, which is the most robust. Ctrl-C and ``time_limit`` end the search, and what was found
    until then is used.

    Parameters
    ----------
    radii : int or array-like of floats, default=10
        The radii to try, or how many of them: then from the one above which w = 0 is optimal down
        to a thousandth of it, in equal ratios.
    label_cost, norm, l2, tol, fit_intercept, class_weight, solver, max_iter
        As in `RobustSVC`.
    time_limit : float, optional
        Seconds at most for the search.
    cv : int, splitter or iterable of splits, default=5
        As in scikit-learn; an integer means that many stratified folds.
    scoring : str or callable, optional
        What is best: a score's name or a callable ``(estimator, X, y)``; by default accuracy.
    n_jobs : int, optional
        Threads over the folds; the result does not depend on it.
    random_state : int, RandomState instance or None, default=0
    verbose : int, default=0
        Show a progress bar over folds times radii.
    callback : callable, optional
        Called as ``callback("radius=...", record)`` at every check of a certificate; the search
        stops if it returns True.

    Attributes
    ----------
    radius_ : float
        The radius chosen.
    best_score_ : float
        Its mean score over the folds.
    radii_ : ndarray of shape (n_radii,)
        The radii looked at, from large to small.
    scores_ : ndarray of shape (n_radii, n_folds)
        Scores of the held-out rows.
    stopped_ : str
        Why the search ended.
    coef_, intercept_, classes_, certificate_, ...
        Of the fit to all data; see `RobustSVC`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from widemargin import RobustSVCCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = RobustSVCCV(radii=5).fit(scale(X), y)
    >>> model.scores_.shape
    (5, 5)
    >>> bool(model.best_score_ > 0.95)
    True
    """

    def __init__(
        self,
        radii: Any = 10,
        *,
        label_cost: float = np.inf,
        norm: float = 2,
        l2: float = 0.0,
        tol: float = 1e-4,
        fit_intercept: bool = True,
        class_weight: Any = None,
        solver: str = "auto",
        max_iter: int = 1000,
        time_limit: float | None = None,
        cv: Any = 5,
        scoring: Any = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
        callback: Callable[[str, Record], object] | None = None,
    ) -> None:
        self.radii = radii
        self.label_cost = label_cost
        self.norm = norm
        self.l2 = l2
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.solver = solver
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.cv = cv
        self.scoring = scoring
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> RobustSVCCV:
        """Choose the radius, then train on all examples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            Used in training and in the scores.
        groups : array-like of shape (n_samples,), optional
            Given to the splitter.

        Returns
        -------
        self
        """
        # 1) arguments and data
        self._one(1.0)._check_arguments()
        check_score_name(self.scoring)
        X, y = validate_data(
            self,
            X,
            y,
            accept_sparse="csr",
            accept_large_sparse=True,
            dtype=[np.float64, np.float32],
        )
        classes, codes = encode_labels(y)
        weight = check_sample_weight(sample_weight, X.shape[0])
        cost = class_costs(1.0, classes, codes, self.class_weight, weight)
        check_every_class(classes, codes, cost)
        radii = self._radii(X, classes, codes, cost)
        splits = splits_of(self.cv, np.asarray(y), groups)

        # 2) one radius after the other, the folds side by side
        self._look(X, y, weight, radii, splits)

        # 3) the best radius, and all data
        means = self.scores_.mean(axis=1)
        best = int(np.argmax(means))
        self.radius_, self.best_score_ = float(self.radii_[best]), float(means[best])
        final = self._one(self.radius_).set_params(time_limit=None, verbose=0, callback=None)
        final.fit(X, y, sample_weight)
        for name, value in vars(final).items():
            if name.endswith("_") and not name.startswith("_"):
                setattr(self, name, value)
        return self

    def _look(self, X: Any, y: Any, weight: Vector | None, radii: Vector, splits: Any) -> None:
        """Score the folds at one radius after the other, and keep what was seen."""
        watch, began = Interrupt(), time.perf_counter()
        models = [self._one(1.0).set_params(warm_start=True, n_jobs=1, verbose=0) for _ in splits]
        scorer = check_scoring(models[0], self.scoring)

        def score(fold: int, radius: float) -> tuple[float, list[str]]:
            (train, test), model = splits[fold], models[fold]

            def told(_: str, record: Record) -> bool:
                asked = self.callback and self.callback(f"radius={radius:g}", record)
                return asked is True or watch.requested

            left = self._seconds_left(began)
            model.set_params(radius=radius, time_limit=left, callback=told)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model.fit(X[train], y[train], None if weight is None else weight[train])
            if "interrupted" in model.status_:
                watch.request()
            held_out = None if weight is None else weight[test]
            return score_of(scorer, model, X[test], y[test], held_out), model.status_

        scores: list[list[float]] = []
        short = 0
        self.stopped_ = "all radii were looked at"
        with ExitStack() as stack:
            stack.enter_context(watch)
            bar = FoldsBar("radii", len(splits), radii.size) if self.verbose else None
            if bar is not None:
                stack.enter_context(bar)
            for radius in map(float, radii):
                work = [lambda f=f, r=radius: score(f, r) for f in range(len(splits))]
                found = in_threads(work, effective_n_jobs(self.n_jobs), watch)
                statuses = {status for _, parts in found for status in parts}
                whole = not statuses & {"interrupted", "time_limit"}
                if whole or not scores:
                    scores.append([value for value, _ in found])
                    short += sum(set(parts) != {"converged"} for _, parts in found)
                if bar is not None:
                    bar.show(len(scores), f"radius {radius:g}, score {np.mean(scores[-1]):.4f}")
                if watch.requested or not whole:
                    self.stopped_ = CUT_SHORT[0 if watch.requested else 1]
                    break
        if short:
            warn_of_shortfall(
                f"{short} of {len(scores) * len(splits)} fits of the folds did not reach tol; "
                "the scores may not be exact"
            )
        self.radii_, self.scores_ = radii[: len(scores)], np.array(scores)

    def _seconds_left(self, began: float) -> float | None:
        if self.time_limit is None:
            return None
        return max(float(self.time_limit) - (time.perf_counter() - began), 1e-3)

    def _one(self, radius: float) -> RobustSVC:
        names = set(RobustSVC().get_params()) & set(self.get_params())
        return RobustSVC(radius, **{name: getattr(self, name) for name in names})

    def _radii(self, X: Any, classes: NDArray[Any], codes: NDArray[Any], cost: Vector) -> Vector:
        """Return the radii from large to small."""
        if isinstance(self.radii, numbers.Integral) and not isinstance(self.radii, bool):
            if self.radii < 1:
                raise ValueError(f"radii must be a positive number of them; got {self.radii!r}")
            largest = self._largest(X, classes, codes, cost)
            return largest * np.logspace(0.0, -3.0, int(self.radii))
        try:
            radii = np.unique(np.asarray(self.radii, dtype=np.float64))[::-1]
        except (TypeError, ValueError):
            raise ValueError(f"radii must be numbers or how many; got {self.radii!r}") from None
        if radii.ndim != 1 or radii.size == 0 or not (np.isfinite(radii) & (radii >= 0.0)).all():
            raise ValueError("radii must be finite numbers, not negative")
        return radii

    def _largest(self, X: Any, classes: NDArray[Any], codes: NDArray[Any], cost: Vector) -> float:
        """Return a radius above which w = 0 is optimal, for some class.

        Dual variables at their bounds, lowered on the heavier side where there is an intercept,
        attain the objective of w = 0 as soon as the radius allows for their combination.
        """
        p = cost / cost.sum()
        largest = 0.0
        for positive in [1] if classes.size == 2 else range(classes.size):
            here = codes == positive
            signed = np.where(here, p, -p)
            if self.fit_intercept:
                up, down = float(signed[here].sum()), -float(signed[~here].sum())
                signed[here] *= min(up, down) / max(up, 1e-300)
                signed[~here] *= min(up, down) / max(down, 1e-300)
            v = np.asarray(X.T @ signed, dtype=np.float64).ravel()
            largest = max(largest, norm_of(v, dual_norm(float(self.norm))))
        return largest if largest > 0.0 else 1.0
