"""LinearSVCCV: a support vector machine that chooses its C."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from widemargin.estimators.arguments import loss_under_rule
from widemargin.estimators.calibrated import CalibratedProbabilities
from widemargin.estimators.linear_cv import LinearClassifierCV
from widemargin.estimators.linear_svc import LinearSVC
from widemargin.estimators.scikit_learn_arguments import l1_ratio_of
from widemargin.problems.losses import Loss
from widemargin.problems.multiclass import check_rule
from widemargin.run import Record, Solution


class LinearSVCCV(CalibratedProbabilities, LinearClassifierCV):
    """Linear support vector machine with C chosen by cross-validation.

    The folds share X. Each C is warm-started from the previous one, the final fit from the folds'
    solutions. The problem at each C is that of `LinearSVC`.

    Parameters
    ----------
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        Loss function, as in `LinearSVC`.
    penalty : {"l2", "l1", "elasticnet"}, default="l2"
        As in `LinearSVC`; the search then starts at the smallest C that has a weight.
    l1_ratio : float, optional
        As in `LinearSVC`.
    Cs : array-like or int, optional
        Values of C to try; an integer means that many from 1e-4 to 1e4. By default the search
        starts at a C so small that smaller ones give the same model, and doubles it until the
        solutions do not change over three values of C, up to 1024.
    cv : int, splitter or iterable of splits, default=5
        As in scikit-learn; an integer means that many stratified folds.
    scoring : str or callable, optional
        Name of a scorer, or a callable ``(estimator, X, y)``; by default accuracy.
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
    probability : bool, "sigmoid" or "isotonic", default=False
        Whether to calibrate probabilities on the scores of the held-out rows at the best C, which
        takes no further fit: by a sigmoid (also True) or an isotonic function per class, as
        scikit-learn's ``CalibratedClassifierCV`` does. `predict_proba` then exists.
    tol : float, default=1e-4
        Relative duality gap of the final fit.
    fit_intercept : bool or "penalised", default=True
    intercept_scaling : float, default=1.0
    class_weight : dict or "balanced", optional
        As in `LinearSVC`; "balanced" is computed from the training rows of each fold.
    multi_class : {"ovr", "weston_watkins", "crammer_singer"}, default="ovr"
        As in `LinearSVC`; the latter two need ``loss="hinge"`` and do not support ``certify``.
    solver : str, default="auto"
        "newton" solves all folds of a smooth loss together, reading X once for all of them;
        "dual_cd" and the others solve them one by one, in the dual. "auto" uses the former where
        possible. Joint multiclass: as in `LinearSVC`, fold by fold.
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
    callback : callable, optional
        Called as ``callback("C=...", record)`` at every check of a certificate; the search stops if
        it returns True.

    Attributes
    ----------
    C_ : float
        The C with the best mean score; the smallest one of ties.
    best_score_ : float
        Its mean score over the folds.
    Cs_ : ndarray of shape (n_Cs,)
        The values of C that were tried.
    scores_ : ndarray of shape (n_Cs, n_folds)
        Scores of the held-out rows.
    certificates_ : list of Certificate
        For each C, the certificate of the sum of the folds' objectives.
    path_ : dict of ndarray
        Columns over the values of C: "C", "mean_score", "std_score", "primal" and "dual" of shape
        (n_Cs, n_folds, k), "passes" over the data, "seconds"; k is the number of problems per
        fold: one for two classes and for joint multiclass.
    stopped_ : str
        Why the search ended.
    fold_coef_, fold_intercept_ : ndarray of shape (n_folds, m, n_weights) and (n_folds, m)
        The folds' solutions at the last C, from which `continue_search` continues; m rows as
        ``coef_`` has them.
    error_bound_ : float
        With ``certify``: no C in the range has a lower cross-validation error.
    certified_ : bool
        With ``certify``: whether the error of ``C_`` is within ``certify`` of that bound.
    n_solved_ : int
        With ``certify``: number of values of C that were solved for the proof.
    band_ : tuple of ndarray
        With ``certify``: values of C, the lower bound, and the error between those tried.
    calibration_ : dict
        With ``probability``: "method", "values" and "lengths" of the functions from scores to
        probabilities. The column A, B of a sigmoid means ``1 / (1 + exp(A * score + B))``.
    transformer_ : estimator
        With ``transformer``: the one fitted to all rows.
    coef_, intercept_, classes_, dual_coef_, support_, certificate_, n_iter_, status_, solver_, \
history_
        Of the fit at ``C_`` on all examples, as in `LinearSVC`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from widemargin import LinearSVCCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LinearSVCCV().fit(scale(X), y)
    >>> print(f"C = {model.C_}, accuracy {model.best_score_:.3f}")
    C = 0.125, accuracy 0.979
    >>> model.stopped_
    'the solution no longer changed over three values of C (gradient rule, epsilon 0.01)'
    """

    _single = LinearSVC

    def __init__(
        self,
        loss: str = "squared_hinge",
        *,
        penalty: str = "l2",
        l1_ratio: float | None = None,
        Cs: Any = None,
        cv: Any = 5,
        scoring: Any = None,
        search_tol: float = 1e-2,
        certify: float | None = None,
        transformer: Any = None,
        probability: bool | str = False,
        tol: float = 1e-4,
        fit_intercept: bool | str = True,
        intercept_scaling: float = 1.0,
        class_weight: Any = None,
        multi_class: str = "ovr",
        solver: str = "auto",
        max_iter: int = 1000,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
        callback: Callable[[str, Record], object] | None = None,
    ) -> None:
        self.loss = loss
        self.penalty = penalty
        self.l1_ratio = l1_ratio
        self.Cs = Cs
        self.cv = cv
        self.scoring = scoring
        self.search_tol = search_tol
        self.certify = certify
        self.transformer = transformer
        self.probability = probability
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.multi_class = multi_class
        self.solver = solver
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    def _check_arguments(self) -> None:
        super()._check_arguments()
        self._check_probability()

    def _loss(self) -> Loss:
        return loss_under_rule(self.loss, self.multi_class)

    def _l1_ratio(self) -> float:
        return l1_ratio_of(self.penalty, self.l1_ratio)

    def _iterations(self, solutions: Sequence[Solution]) -> int:
        return max(s.iterations for s in solutions)

    def _rule(self) -> str:
        return check_rule(self.multi_class, self._loss().name)
