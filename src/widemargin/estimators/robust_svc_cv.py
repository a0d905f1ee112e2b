"""RobustSVCCV: the radius of RobustSVC chosen by cross-validation along a warm-started path."""

from __future__ import annotations

import numbers
import time
import warnings
from collections.abc import Callable
from contextlib import nullcontext, suppress
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import check_scoring

from widemargin.data.training_set import TrainingSet
from widemargin.estimators.certified import warn_of_shortfall
from widemargin.estimators.robust_svc import RobustSVC
from widemargin.interrupt import Interrupt
from widemargin.problems.losses import HINGE
from widemargin.problems.norms import dual_norm, norm_of
from widemargin.run import Record
from widemargin.selection.folds import Folds
from widemargin.selection.progress import FoldsBar
from widemargin.selection.scoring import check_score_name, score_of
from widemargin.selection.search import CUT_SHORT
from widemargin.threads import in_threads

Vector = NDArray[np.float64]
Scored = tuple[tuple[float, ...], tuple[list[str], ...]]
"""The scores of the folds, and the statuses of their fits."""

_MOMENT = 0.2
"""Seconds that the last fit may take once Ctrl-C was pressed."""


class RobustSVCCV(RobustSVC):
    """Robust support vector machine with its radius chosen by cross-validation.

    The radii are tried from the largest to the smallest, each fold warm-started from the previous
    radius. The radius with the best mean score is used for the fit to all data; the largest one of
    ties, which is the most robust. After Ctrl-C or ``time_limit`` the best radius so far is used.

    Parameters
    ----------
    radii : int or array-like of floats, default=10
        The radii to try, or their number: then from the smallest radius at which w = 0 is optimal
        down to a thousandth of it, in equal ratios.
    label_cost, norm, l2, tol, fit_intercept, class_weight, solver, max_iter
        As in `RobustSVC`.
    time_limit : float, optional
        Time limit of the search in seconds.
    cv : int, splitter or iterable of splits, default=5
        As in scikit-learn; an integer means that many stratified folds.
    scoring : str or callable, optional
        Name of a scorer, or a callable ``(estimator, X, y)``; by default accuracy.
    n_jobs : int, optional
        Number of threads over the folds; the result does not depend on it.
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
        The radii that were tried, from large to small.
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
    >>> print(f"radius {model.radius_:.3g}, accuracy {model.best_score_:.2f}")
    radius 0.0712, accuracy 0.98
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
        data = TrainingSet.of(X, y, sample_weight, class_weight=self.class_weight, estimator=self)
        X, y = data.X, data.y
        radii = self._radii(data)
        folds = Folds.of(data, self.cv, groups, HINGE)
        folds.check_every_class()
        splits = folds.splits

        # 2) one radius after the other, the folds side by side
        interrupted = self._look(X, y, data.weight, radii, splits)

        # 3) the best radius, and all data
        means = self.scores_.mean(axis=1)
        best = int(np.argmax(means))
        self.radius_, self.best_score_ = float(self.radii_[best]), float(means[best])
        final = self._one(self.radius_).set_params(time_limit=None, verbose=0, callback=None)
        if interrupted:
            final.set_params(time_limit=_MOMENT)
        with warnings.catch_warnings():
            if interrupted:
                warnings.simplefilter("ignore", ConvergenceWarning)
            final.fit(X, y, sample_weight)
        for name, value in vars(final).items():
            if name.endswith("_") and not name.startswith("_"):
                setattr(self, name, value)
        if interrupted:
            raise KeyboardInterrupt(f"the search has seen {len(self.radii_)} radii")
        return self

    def _look(self, X: Any, y: Any, weight: Vector | None, radii: Vector, splits: Any) -> bool:
        """Score the folds at one radius after the other, and keep what was seen.

        Return whether a Ctrl-C ended it.
        """
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
            with warnings.catch_warnings(), suppress(KeyboardInterrupt):  # the watch knows of it
                warnings.simplefilter("ignore", ConvergenceWarning)
                model.fit(X[train], y[train], None if weight is None else weight[train])
            if "interrupted" in model.status_:
                watch.request()
            held_out = {} if weight is None else {"sample_weight": weight[test]}
            return score_of(scorer, model, X[test], y[test], **held_out), model.status_

        def at(radius: float) -> Scored:
            work = [lambda f=f: score(f, radius) for f in range(len(splits))]
            found = in_threads(work, effective_n_jobs(self.n_jobs), watch)
            return tuple(zip(*found, strict=True))  # type: ignore[return-value]

        kept: list[Scored] = []
        self.stopped_ = "all radii were tried"
        bar = FoldsBar("radii", len(splits), radii.size) if self.verbose else None
        with watch, bar or nullcontext():
            for radius in map(float, radii):
                found = at(radius)
                whole = not {"interrupted", "time_limit"} & set().union(*found[1])
                if whole or not kept:
                    kept.append(found)
                if bar is not None:
                    bar.show(len(kept), f"radius {radius:g}, score {np.mean(kept[-1][0]):.4f}")
                # Fits that take less than a millisecond converge however late it is.
                if watch.requested or not whole or self._is_late(began, radius, radii):
                    self.stopped_ = CUT_SHORT[0 if watch.requested else 1]
                    break
        self._keep_scores(radii, kept)
        return watch.signalled

    def _keep_scores(self, radii: Vector, kept: list[Scored]) -> None:
        fits = [parts for _, statuses in kept for parts in statuses]
        short = sum(set(parts) != {"converged"} for parts in fits)
        if short:
            warn_of_shortfall(
                f"{short} of {len(fits)} fits of the folds did not reach tol; "
                "the scores may not be exact"
            )
        self.radii_ = radii[: len(kept)]
        self.scores_ = np.array([scores for scores, _ in kept])

    def _is_late(self, began: float, radius: float, radii: Vector) -> bool:
        """Whether the time is up and radii are left."""
        limit = np.inf if self.time_limit is None else float(self.time_limit)
        return bool(radius != radii[-1] and time.perf_counter() - began >= limit)

    def _seconds_left(self, began: float) -> float | None:
        if self.time_limit is None:
            return None
        return max(float(self.time_limit) - (time.perf_counter() - began), 1e-3)

    def _one(self, radius: float) -> RobustSVC:
        names = set(RobustSVC().get_params()) & set(self.get_params())
        return RobustSVC(radius, **{name: getattr(self, name) for name in names})

    def _at_best(self) -> RobustSVC:
        """Return the classifier at the radius that was chosen, unfitted."""
        return self._one(self.radius_)

    def _radii(self, data: TrainingSet) -> Vector:
        """Return the radii from large to small."""
        if isinstance(self.radii, numbers.Integral) and not isinstance(self.radii, bool):
            if self.radii < 1:
                raise ValueError(f"radii must be a positive number of them; got {self.radii!r}")
            return self._largest(data) * np.logspace(0.0, -3.0, int(self.radii))
        try:
            radii = np.unique(np.asarray(self.radii, dtype=np.float64))[::-1]
        except (TypeError, ValueError):
            raise ValueError(f"radii must be numbers or how many; got {self.radii!r}") from None
        if radii.ndim != 1 or radii.size == 0 or not (np.isfinite(radii) & (radii >= 0.0)).all():
            raise ValueError("radii must be finite numbers, not negative")
        return radii

    def _largest(self, data: TrainingSet) -> float:
        """Return a radius above which w = 0 is optimal, for some class.

        Dual variables at their bounds, lowered on the heavier side where there is an intercept,
        attain the objective of w = 0 as soon as the radius allows for their combination.
        """
        p = data.cost / data.cost.sum()
        largest = 0.0
        for positive in data.positives:
            here = data.codes == positive
            signed = np.where(here, p, -p)
            if self.fit_intercept:
                up, down = float(signed[here].sum()), -float(signed[~here].sum())
                signed[here] *= min(up, down) / max(up, 1e-300)
                signed[~here] *= min(up, down) / max(down, 1e-300)
            v = np.asarray(data.X.T @ signed, dtype=np.float64).ravel()
            largest = max(largest, norm_of(v, dual_norm(float(self.norm))))
        return largest if largest > 0.0 else 1.0
