"""LinearSVCCV: a support vector machine that chooses its C."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from widemargin.estimators.arguments import check_rule, margin_loss
from widemargin.estimators.linear_cv import LinearClassifierCV
from widemargin.estimators.linear_svc import LinearSVC
from widemargin.problems.losses import Loss
from widemargin.run import Record


class LinearSVCCV(LinearClassifierCV):
    """Train a linear support vector machine at the C that cross-validation finds best.

    The folds share X, each C starts from the solutions at the one before, and the final fit starts
    between the folds' solutions. The problem at each C is that of `LinearSVC`.

    Parameters
    ----------
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
    Cs : array-like or int, optional
        Values of C to look at; an integer means as many from 1e-4 to 1e4. By default a search: from
        a C so small that smaller ones change nothing, doubling, until over three values of C the
        solutions no longer change, at most to 1024.
    cv : int, splitter or iterable of splits, default=5
        As in scikit-learn; an integer means that many stratified folds.
    scoring : str or callable, optional
        What is best: a scorer's name or a callable ``(estimator, X, y)``; by default accuracy.
    search_tol : float, default=1e-2
        Tolerance of the search: the folds are solved to a relative duality gap of a tenth of it
        (more loosely beyond the best C, where the accuracy has fallen by more than 0.2 points),
        and the rule that ends the search calls a solution unchanged by it.
    certify : float, optional
        If given, refine C until it is proven that no C of the range has a cross-validation error
        lower than the one returned by more than this. Needs ``fit_intercept`` "penalised" or False.
    tol : float, default=1e-4
        Relative duality gap of the final fit.
    fit_intercept : bool or "penalised", default=True
    intercept_scaling : float, default=1.0
    class_weight : dict or "balanced", optional
        As in `LinearSVC`; "balanced" is taken over the rows that a fold trains on.
    multi_class : {"ovr", "weston_watkins", "crammer_singer"}, default="ovr"
        As in `LinearSVC`; the latter two need ``loss="hinge"`` and do not go with ``certify``.
    solver : str, default="auto"
        "newton" solves the folds of a smooth loss side by side, reading X once for all of them;
        "dual_cd" and the others solve them one by one, in the dual. "auto" takes the former where
        it can. All classes at once: as in `LinearSVC`, fold by fold.
    max_iter : int, default=1000
        Sweeps or steps at most, at each C.
    time_limit : float, optional
        Seconds at most for the search; what was found until then is used.
    n_jobs : int, optional
        Threads, over folds and classes; the result does not depend on it.
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
        The C with the best mean score; of equal ones the smallest.
    best_score_ : float
        Its mean score over the folds.
    Cs_ : ndarray of shape (n_Cs,)
        The values of C that were looked at.
    scores_ : ndarray of shape (n_Cs, n_folds)
        Scores of the held-out rows.
    certificates_ : list of Certificate
        For each C, of the sum of the folds' objectives.
    path_ : dict of ndarray
        Columns over the values of C: "C", "mean_score", "std_score", "primal" and "dual" of shape
        (n_Cs, n_folds, k), "passes" over the data, "seconds"; k is the number of problems in a
        fold: one for two classes and for all classes at once.
    stopped_ : str
        Why the search ended.
    fold_coef_, fold_intercept_ : ndarray of shape (n_folds, m, n_weights) and (n_folds, m)
        The folds' solutions at the last C, from which `continue_search` goes on; m rows as
        ``coef_`` has them.
    error_bound_ : float
        With ``certify``: no C of the range has a lower cross-validation error.
    certified_ : bool
        With ``certify``: whether that bound is within it of the error of ``C_``.
    n_solved_ : int
        With ``certify``: values of C that were solved for the proof.
    band_ : tuple of ndarray
        With ``certify``: C, the lower bound there, and the error between the values looked at.
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
    >>> bool(model.best_score_ > 0.97)
    True
    >>> model.stopped_
    'the solution no longer changed over three values of C (gradient rule, epsilon 0.01)'
    """

    _single = LinearSVC

    def __init__(
        self,
        loss: str = "squared_hinge",
        *,
        Cs: Any = None,
        cv: Any = 5,
        scoring: Any = None,
        search_tol: float = 1e-2,
        certify: float | None = None,
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
        self.Cs = Cs
        self.cv = cv
        self.scoring = scoring
        self.search_tol = search_tol
        self.certify = certify
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

    def _loss(self) -> Loss:
        return margin_loss(self.loss)

    def _rule(self) -> str:
        return check_rule(self.multi_class, self.loss)
