"""LinearSVC: support vector machines with the hinge or the squared hinge loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from widemargin.estimators.arguments import check_one_thread, check_rule, margin_loss
from widemargin.estimators.linear import LinearClassifier
from widemargin.problems.losses import Loss
from widemargin.run import Record


class LinearSVC(LinearClassifier):
    """Train a linear support vector machine, with a certificate of its optimality.

    Minimises ``½‖w‖² + Σ c_i ℓ(y_i (w·x_i + b))`` with ``c_i = C · sample weight · class weight``
    and ℓ(m) = max(0, 1 − m)² or max(0, 1 − m). Several classes are trained one against the rest, or
    all at once by the rule of Weston and Watkins or of Crammer and Singer.

    Parameters
    ----------
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
    C : float, default=1.0
        Cost of the losses against the norm of w.
    tol : float, default=1e-4
        Relative duality gap, (P − D)/P, at which training stops: the objective is then proven to
        be within this fraction of the optimum.
    fit_intercept : bool or "penalised", default=True
        True trains an intercept that is not penalised; "penalised" treats it as a weight of a
        constant feature, as LIBLINEAR does; False trains none.
    intercept_scaling : float, default=1.0
        Value of that constant feature; only with ``fit_intercept="penalised"``.
    class_weight : dict or "balanced", optional
        Factors on the cost of each class.
    multi_class : {"ovr", "weston_watkins", "crammer_singer"}, default="ovr"
        How several classes are told apart. "ovr" solves one binary problem a class. The other two
        solve one problem, with the hinge of the margins m_ij = (w_y − w_j)·x_i + b_y − b_j of an
        example of class y over its rivals j: "weston_watkins" minimises ``½‖W‖² + Σ c_i Σ_j max(0,
        1 − m_ij)``, "crammer_singer" ``½‖W‖² + Σ c_i max_j max(0, 1 − m_ij)``. They need
        ``loss="hinge"``.
    solver : str, default="auto"
        How the problem is solved; the answer is the same to within ``tol``. Binary problems:
        "dual_cd", "newton", "proximal_newton", "interior_point"; for comparison also
        "dual_of_dual", "bmrm_qp", "bmrm_ls", "pragam", "pegasos", "pegasos_n". All classes at
        once: "block_dual_cd", "proximal_newton"; for comparison also "walrus", "shark",
        "frank_wolfe", "block_frank_wolfe", "oblivious_frank_wolfe", "away_frank_wolfe",
        "pairwise_frank_wolfe".
    max_iter : int, default=1000
        Sweeps or steps at most.
    time_limit : float, optional
        Seconds at most for each problem.
    warm_start : bool, default=False
        Start from the previous fit.
    n_jobs : int, optional
        Threads for several classes; the result does not depend on it. Only with "ovr".
    random_state : int, RandomState instance or None, default=0
        Seed of the order in which examples are visited.
    verbose : int, default=0
        Show a progress bar.
    callback : callable, optional
        Called as ``callback(class_name, record)`` at every check of the certificate; training
        stops if it returns True.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
    intercept_ : ndarray of shape (1,) or (n_classes,)
    classes_ : ndarray of shape (n_classes,)
    dual_coef_ : ndarray or sparse array of shape (1, n_samples) or (n_classes, n_samples)
        The dual variables times the labels, α_i y_i, in the order of the rows of X:
        ``coef_ = dual_coef_ @ X``. Sparse where all classes are trained at once.
    support_ : ndarray
        Rows whose dual variable is not zero for some class.
    certificate_ : Certificate
        Primal value, dual value and gap, computed from the data and the three above.
    certificates_ : list of Certificate
        One for each problem: a row of ``coef_``, or all classes together.
    n_iter_ : ndarray of shape (1,) or (n_classes,)
    status_ : list of str
        "converged", "iteration_limit", "time_limit", "interrupted" or "stalled".
    solver_ : str
        Which methods ran, and why.
    history_ : list of dict
        For each problem, columns of what every check saw: primal, dual, gap, active set,
        passes, seconds.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from widemargin import LinearSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LinearSVC(tol=1e-6).fit(scale(X), y)
    >>> model.certificate_.relative_gap <= 1e-6
    True
    >>> round(model.score(scale(X), y), 3)
    0.988
    """

    def __init__(
        self,
        loss: str = "squared_hinge",
        *,
        C: float = 1.0,
        tol: float = 1e-4,
        fit_intercept: bool | str = True,
        intercept_scaling: float = 1.0,
        class_weight: Any = None,
        multi_class: str = "ovr",
        solver: str = "auto",
        max_iter: int = 1000,
        time_limit: float | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
        callback: Callable[[str, Record], object] | None = None,
    ) -> None:
        self.loss = loss
        self.C = C
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.multi_class = multi_class
        self.solver = solver
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    def _loss(self) -> Loss:
        return margin_loss(self.loss)

    def _rule(self) -> str:
        rule = check_rule(self.multi_class, self.loss)
        if rule != "ovr":
            check_one_thread(rule, self.n_jobs)
        return rule
