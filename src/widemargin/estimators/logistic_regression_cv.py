"""LogisticRegressionCV: a logistic regression that chooses its C."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from widemargin.data.training_set import TrainingSet
from widemargin.estimators.fit_tasks import fit_task
from widemargin.estimators.future_changes import (
    DEPRECATED,
    WARN,
    announce_search,
    not_given,
)
from widemargin.estimators.linear import LinearClassifier
from widemargin.estimators.linear_cv import LinearClassifierCV
from widemargin.estimators.linear_scores import Start
from widemargin.estimators.logistic_regression import LogisticRegression, Probabilities
from widemargin.estimators.scikit_learn_arguments import (
    LogisticArguments,
    check_cv_arguments,
    l1_ratio_of,
)
from widemargin.estimators.search_attributes import (
    attributes,
    joined,
    legacy_attributes,
    mean_of_best,
    weights_of,
)
from widemargin.interrupt import Interrupt
from widemargin.problems.losses import LOGISTIC, Loss
from widemargin.run import Record
from widemargin.selection.folds import Folds
from widemargin.selection.search import Driver, Search

Vector = NDArray[np.float64]


class LogisticRegressionCV(LogisticArguments, Probabilities, LinearClassifierCV):
    """Logistic regression with C, and the share of the 1-norm, chosen by cross-validation.

    The folds share X. Each C is warm-started from the previous one, the final fit from the folds'
    solutions. The problem at each C is that of `LogisticRegression`.

    Parameters
    ----------
    Cs : array-like or int or None, default=10
        Values of C to try; an integer means that many from 1e-4 to 1e4. With None the search
        starts at a C so small that smaller ones give the same model, and doubles it until the
        solutions do not change over three values of C, up to 1024.
    l1_ratios : array-like, optional
        Values of ρ in the penalty ρ‖w‖₁ + ½(1 − ρ)‖w‖² to try, each at every C; by default 0. Those
        above 0 make weights exactly zero. To leave it out is deprecated, as in scikit-learn: from
        its version 1.10 on the default is ``(0,)``, which adds an axis to the attributes.
    cv : int, splitter or iterable of splits, default=5
        As in scikit-learn; an integer means that many stratified folds.
    dual : bool, default=False
        For compatibility with scikit-learn; no effect.
    penalty : {"l2", "l1", "elasticnet"}, optional
        Deprecated, as in `LogisticRegression`: "l1" means ``l1_ratios=[1]``.
    scoring : str or callable, optional
        Name of a scorer, or a callable ``(estimator, X, y)``; by default accuracy, and from
        scikit-learn 1.11 on "neg_log_loss", as a warning says. A callable is called fold by fold.
    search_tol : float, default=1e-2
        Tolerance of the search. The folds are solved to a relative duality gap of a tenth of it
        (more loosely beyond the best C, once the accuracy has fallen by more than 0.2 points). The
        rule that ends the search uses it too.
    certify : float, optional
        If given, refine C until it is proven that no C in the range has a cross-validation error
        lower than that of ``C_`` by more than this. Needs ``fit_intercept`` "penalised" or False.
    transformer : transformer or Pipeline, optional
        Fitted to the training rows of each fold and, for the final fit, to all rows; the model
        takes untransformed rows. Every fold's rows are transformed once for all values of C. A
        callable ``scoring`` gets the transformed rows.
    tol : float, default=1e-4
        Relative duality gap of the final fit.
    fit_intercept : bool or "penalised", default=True
    intercept_scaling : float, default=1.0
    multi_class : {"multinomial", "ovr"}, default="multinomial"
    class_weight : dict or "balanced", optional
        As in `LogisticRegression`; "balanced" is computed from the training rows of each fold.
    solver : str, default="auto"
        "newton" solves all folds of a smooth loss together, reading X once for all of them;
        "dual_cd" and the others solve them one by one, in the dual. "auto" uses the former where
        possible. scikit-learn's names are read as in `LogisticRegression`.
    max_iter : int, default=1000
        Maximum number of sweeps or steps per C.
    time_limit : float, optional
        Time limit of the search in seconds; the best C found so far is used.
    n_jobs : int, optional
        Number of threads over folds and classes; the result does not depend on it.
    random_state : int, RandomState instance or None, default=0
        Seed of the order in which examples are visited.
    verbose : int, default=0
        Show a progress bar over folds times values of C.
    refit : bool, default=True
        Whether to train on all examples at the best C. If not, ``coef_`` is the mean of the folds'
        weights, each at its own best C, and ``C_`` the mean of those.
    use_legacy_attributes : bool, optional
        The shapes of ``C_``, ``scores_``, ``coefs_paths_`` and ``n_iter_``. True, the default until
        scikit-learn 1.10: those of its version 1.9, with dictionaries over classes. False: arrays.
    callback : callable, optional
        Called as ``callback("C=...", record)`` at every check of a certificate; the search stops if
        it returns True.

    Attributes
    ----------
    C_ : float, or ndarray of shape (1,) or (n_classes,)
        The C with the best mean score; the smallest one of ties. With
        ``use_legacy_attributes=True`` an array that repeats it for every row of ``coef_``.
    best_score_ : float
        Its mean score over the folds.
    Cs_ : ndarray of shape (n_Cs,)
        The values of C that were tried.
    scores_ : ndarray of shape (n_folds, 1, n_Cs), or dict
        Scores of the held-out rows. With ``use_legacy_attributes=True`` a dictionary from the class
        of every row of ``coef_`` to the same array of shape (n_folds, n_Cs).
    coefs_paths_ : ndarray of shape (n_folds, 1, n_Cs, k, n_features + 1), or dict
        The folds' weights, and their intercepts as the last column if there are any. With
        ``use_legacy_attributes=True`` a dictionary from the class of every row of ``coef_`` to an
        array of shape (n_folds, n_Cs, n_features + 1).
    n_iter_ : ndarray of shape (n_folds, 1, n_Cs)
        Iterations of the folds at every C; with ``use_legacy_attributes=True`` of shape
        (1, n_folds, n_Cs).
    l1_ratio_, l1_ratios_ : float or ndarray
        The ρ that was chosen, and those that were tried: the second axis of ``scores_``,
        ``n_iter_`` and ``coefs_paths_``. The legacy attributes have an axis for them where
        ``l1_ratios`` is given, last among those of the search. What concerns a single search, as
        ``path_``, is that of the chosen one.
    certificates_ : list of Certificate
        For each C, the certificate of the sum of the folds' objectives.
    path_ : dict of ndarray
        Columns over the values of C: "C", "scores" of shape (n_Cs, n_folds), "mean_score",
        "std_score", "primal" and "dual" of shape (n_Cs, n_folds, k), "passes" over the data,
        "iterations" of shape (n_Cs, n_folds), "seconds"; k is the number of problems per fold: one
        for two classes.
    stopped_ : str
        Why the search ended.
    fold_coef_, fold_intercept_ : ndarray of shape (n_folds, k, n_weights) and (n_folds, k)
        The folds' solutions at the last C, from which `continue_search` continues.
    error_bound_ : float
        With ``certify``: no C in the range has a lower cross-validation error.
    certified_ : bool
        With ``certify``: whether the error of ``C_`` is within ``certify`` of that bound.
    n_solved_ : int
        With ``certify``: number of values of C that were solved for the proof.
    band_ : tuple of ndarray
        With ``certify``: values of C, the lower bound, and the error between those tried.
    transformer_ : estimator
        With ``transformer``: the one fitted to all rows.
    coef_, intercept_, classes_, dual_coef_, support_, certificate_, status_, solver_, history_
        Of the fit at ``C_`` on all examples, as in `LogisticRegression`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from widemargin import LogisticRegressionCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LogisticRegressionCV(
    ...     [0.01, 0.1, 1.0, 10.0], l1_ratios=(0,), scoring="roc_auc", use_legacy_attributes=False
    ... ).fit(scale(X), y)
    >>> print(f"C = {model.C_}, AUC {model.best_score_:.3f}")
    C = 1.0, AUC 0.995
    """

    _single = LogisticRegression
    _keeps_weights = True

    def __init__(
        self,
        Cs: Any = 10,
        *,
        l1_ratios: Any = WARN,
        cv: Any = 5,
        dual: bool = False,
        penalty: str = DEPRECATED,
        scoring: Any = WARN,
        search_tol: float = 1e-2,
        certify: float | None = None,
        transformer: Any = None,
        tol: float = 1e-4,
        fit_intercept: bool | str = True,
        intercept_scaling: float = 1.0,
        multi_class: str = "multinomial",
        class_weight: Any = None,
        solver: str = "auto",
        max_iter: int = 1000,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
        refit: bool = True,
        use_legacy_attributes: bool | str = WARN,
        callback: Callable[[str, Record], object] | None = None,
    ) -> None:
        self.Cs = Cs
        self.l1_ratios = l1_ratios
        self.cv = cv
        self.dual = dual
        self.penalty = penalty
        self.scoring = scoring
        self.search_tol = search_tol
        self.certify = certify
        self.transformer = transformer
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.multi_class = multi_class
        self.class_weight = class_weight
        self.solver = solver
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.refit = refit
        self.use_legacy_attributes = use_legacy_attributes
        self.callback = callback

    def _loss(self) -> Loss:
        return LOGISTIC

    def _check_arguments(self) -> None:
        super()._check_arguments()
        if self.penalty is None:
            raise ValueError("penalty=None leaves no C to choose; use LogisticRegression")
        announce_search(self.penalty, self.l1_ratios, self.scoring, self.use_legacy_attributes)
        self._check_foreign()
        check_cv_arguments(self.l1_ratios, self.refit, self.use_legacy_attributes)
        if self.transformer is not None and not self.refit:
            raise ValueError(
                "refit=False averages the folds' weights, which belong to features of their own "
                "behind a transformer; use refit=True"
            )

    def _ratios(self) -> list[float]:
        """Return the values of ρ to search."""
        given = self.l1_ratios
        if given is None or isinstance(given, str):
            if self.penalty == "elasticnet":
                raise ValueError("l1_ratios must be specified when penalty is elasticnet.")
            return [l1_ratio_of(self.penalty, 0.0)]
        decided = self.penalty == "l2"  # a penalty that was given decides
        return [0.0 if decided else l1_ratio_of(self.penalty, r) for r in np.atleast_1d(given)]

    def _l1_ratio(self) -> float:
        return float(getattr(self, "_searched_ratio", self._ratios()[0]))

    @fit_task
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> Any:
        """Choose C, and one of ``l1_ratios``, by cross-validation; then train at these.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the examples, in training and in the scores of those held out.
        **params : dict
            ``groups`` for the splitter. With scikit-learn's metadata routing, whatever splitter and
            scorer request.

        Returns
        -------
        self
        """
        self.__dict__.pop("_searched_ratio", None)
        fits: list[dict[str, Any]] = []
        for ratio in self._ratios():
            self._searched_ratio = ratio
            self._search(X, y, sample_weight, **params)
            fits.append(dict(self.__dict__))
        if len(fits) > 1:
            best = int(np.argmax([fit["best_score_"] for fit in fits]))
            self.__dict__.update(fits[best])
            self.__dict__.update(joined(fits, best))
        return self

    def _unfitted(self) -> LinearClassifier:
        return super()._unfitted().set_params(penalty=DEPRECATED, l1_ratio=self._l1_ratio())

    def _C(self) -> float:
        return self.C

    def _train_at_best(self, driver: Driver, data: TrainingSet, watch: Interrupt | None) -> None:
        if self.refit:
            super()._train_at_best(driver, data, watch)
            return
        w, b, self.C_ = mean_of_best(driver.search, driver.engine.folds)
        watch = Interrupt()
        watch.request()  # the certificate is that of the means
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            self._train(data.at(self.C_), Start(w, b), watch)

    def _publish(self, search: Search, folds: Folds) -> None:
        given = self.l1_ratios is not None and not not_given(self.l1_ratios)
        shapes = legacy_attributes if self.use_legacy_attributes else attributes
        for name, value in shapes(search, folds, self.C, given, bool(self.fit_intercept)).items():
            setattr(self, name, value)

    def _seen_weights(self, folds: Folds) -> list[tuple[Any, Vector] | None]:
        if not folds.even:
            return super()._seen_weights(folds)
        return weights_of(self.coefs_paths_, folds, bool(self.fit_intercept))
