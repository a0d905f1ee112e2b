"""RobustSVCCV: the radius of RobustSVC chosen by cross-validation along a warm-started path."""

from __future__ import annotations

import numbers
import warnings
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils.validation import validate_data

from widemargin.data.validation import check_sample_weight, class_costs, encode_labels
from widemargin.estimators.robust_svc import RobustSVC
from widemargin.problems.norms import dual_norm, norm_of

Vector = NDArray[np.float64]


class RobustSVCCV(RobustSVC):
    """Train a robust support vector machine whose radius is chosen by cross-validation.

    In each fold the radii are visited from the largest to the smallest, each fit starting from the
    one before. The radius with the best mean score is used for the fit to all data; among equals
    the largest, which is the most robust.

    Parameters
    ----------
    radii : int or array-like of floats, default=10
        The radii to try, or how many of them: then from the one above which w = 0 is optimal down
        to a thousandth of it, in equal ratios.
    label_cost, norm, l2, tol, fit_intercept, class_weight, solver, max_iter, time_limit
        As in `RobustSVC`.
    cv : int, cross-validation generator or iterable, default=5
    scoring : str, callable or None, default=None
        By default the accuracy.
    n_jobs : int, optional
        Threads over the folds; the result does not depend on it.
    random_state : int, RandomState instance or None, default=0
    verbose : int, default=0

    Attributes
    ----------
    radius_ : float
        The radius chosen.
    radii_ : ndarray of shape (n_radii,)
        The radii tried, from large to small.
    scores_ : ndarray of shape (n_folds, n_radii)
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
    >>> bool(model.scores_.mean(axis=0).max() > 0.95)
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

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> RobustSVCCV:
        """Choose the radius, then train on all examples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            Used in training and in the scores.

        Returns
        -------
        self
        """
        # 1) arguments and data
        self._one(1.0)._check_arguments()
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
        radii = self._radii(X, classes, codes, weight)
        folds = list(check_cv(self.cv, y, classifier=True).split(X, y))

        # 2) a path in each fold
        def path(train: NDArray[np.int64], test: NDArray[np.int64]) -> tuple[Vector, int]:
            model = self._one(float(radii[0])).set_params(warm_start=True, n_jobs=1)
            scorer = check_scoring(model, self.scoring)
            given = {} if weight is None else {"sample_weight": weight[test]}
            scores, short = np.empty(radii.size), 0
            for place, radius in enumerate(radii):
                model.set_params(radius=float(radius))
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ConvergenceWarning)
                    model.fit(X[train], y[train], None if weight is None else weight[train])
                short += sum(status != "converged" for status in model.status_)
                scores[place] = scorer(model, X[test], y[test], **given)
            return scores, short

        results = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(path)(train, test) for train, test in folds
        )
        short = sum(missed for _, missed in results)
        if short:
            warnings.warn(
                f"{short} fits of the path did not reach tol; the scores may not be exact",
                ConvergenceWarning,
                stacklevel=2,
            )

        # 3) the best radius, and all data
        self.radii_ = radii
        self.scores_ = np.array([scores for scores, _ in results])
        self.radius_ = float(radii[int(np.argmax(self.scores_.mean(axis=0)))])
        final = self._one(self.radius_).fit(X, y, sample_weight)
        for name, value in vars(final).items():
            if name.endswith("_") and not name.startswith("_"):
                setattr(self, name, value)
        return self

    def _one(self, radius: float) -> RobustSVC:
        names = set(RobustSVC().get_params()) & set(self.get_params())
        return RobustSVC(radius, **{name: getattr(self, name) for name in names})

    def _radii(
        self, X: Any, classes: NDArray[Any], codes: NDArray[Any], weight: Vector | None
    ) -> Vector:
        """Return the radii from large to small."""
        if isinstance(self.radii, numbers.Integral) and not isinstance(self.radii, bool):
            if self.radii < 1:
                raise ValueError(f"radii must be a positive number of them; got {self.radii!r}")
            largest = self._largest(X, classes, codes, weight)
            return largest * np.logspace(0.0, -3.0, int(self.radii))
        try:
            radii = np.unique(np.asarray(self.radii, dtype=np.float64))[::-1]
        except (TypeError, ValueError):
            raise ValueError(f"radii must be numbers or how many; got {self.radii!r}") from None
        if radii.ndim != 1 or radii.size == 0 or not (np.isfinite(radii) & (radii >= 0.0)).all():
            raise ValueError("radii must be finite numbers, not negative")
        return radii

    def _largest(
        self, X: Any, classes: NDArray[Any], codes: NDArray[Any], weight: Vector | None
    ) -> float:
        """Return a radius above which w = 0 is optimal, for some class.

        Dual variables at their bounds, lowered on the heavier side where there is an intercept,
        attain the objective of w = 0 as soon as the radius allows for their combination.
        """
        p = class_costs(1.0, classes, codes, self.class_weight, weight)
        p = p / p.sum()
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
