"""LinearSVC: support vector machines with the hinge or the squared hinge loss."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from sklearn.utils.metadata_routing import UNUSED

from widemargin.estimators.arguments import loss_under_rule
from widemargin.estimators.linear import LinearClassifier
from widemargin.estimators.named_solvers import check_formulation
from widemargin.estimators.scikit_learn_arguments import check_dual, l1_ratio_of, told_apart
from widemargin.problems.losses import Loss
from widemargin.problems.multiclass import check_rule
from widemargin.run import Record, Solution


class LinearSVC(LinearClassifier):
    """Linear support vector machine with a certificate of optimality.

    Minimises ``½‖w‖² + Σ c_i ℓ(y_i (w·x_i + b))`` with ``c_i = C · sample weight · class weight``
    and ℓ(m) = max(0, 1 − m)² or max(0, 1 − m). Multiclass problems are trained one-vs-rest, or
    jointly as defined by Weston and Watkins or by Crammer and Singer.

    Parameters
    ----------
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        Loss function of the margin m: max(0, 1 − m)² or max(0, 1 − m).
    penalty : {"l2", "l1", "elasticnet"}, default="l2"
        "l2" is ½‖w‖², "l1" the 1-norm ‖w‖₁, which makes many weights exactly zero, "elasticnet"
        ρ‖w‖₁ + ½(1 − ρ)‖w‖² with ρ = ``l1_ratio``. The latter two need the squared hinge. The two
        first arguments may come in scikit-learn's order too.
    l1_ratio : float, optional
        ρ, from 0 to 1; needed by ``penalty="elasticnet"``.
    dual : bool or "auto", default="auto"
        For compatibility with scikit-learn; no effect on the model. A combination of loss and
        penalty that LIBLINEAR does not have in this form is an error, as there.
    C : float, default=1.0
        Weight of the losses in the objective: the inverse of the regularisation strength.
    tol : float, default=1e-4
        Relative duality gap, (P − D)/P, at which training stops: the objective is then certified
        to be within this fraction of the optimum.
    fit_intercept : bool or "penalised", default=True
        True: an intercept that is not penalised; "penalised": the weight of a constant feature, as
        in LIBLINEAR; False: none.
    intercept_scaling : float, default=1.0
        Value of that constant feature; no effect on an intercept that is not penalised.
    class_weight : dict or "balanced", optional
        Factors on C per class; "balanced" makes them inversely proportional to class frequencies.
    coef_bounds : tuple (lower, upper), optional
        Bounds on the coefficients: numbers, or arrays with one per feature; None or infinity for no
        bound on a side. For two classes; signs refer to ``classes_[1]``.
    positive : bool, default=False
        Coefficients that are not negative: a lower bound of 0.
    multi_class : {"ovr", "weston_watkins", "crammer_singer"}, default="ovr"
        Multiclass rule. "ovr" (one-vs-rest) solves one binary problem per class. The other two
        solve one joint problem, with the hinge loss of the margins m_ij = (w_y − w_j)·x_i + b_y −
        b_j between the class y of an example and every other class j: "weston_watkins" minimises
        ``½‖W‖² + Σ c_i Σ_j max(0, 1 − m_ij)``, "crammer_singer" ``½‖W‖² + Σ c_i max_j max(0, 1 −
        m_ij)``. "weston_watkins" needs ``loss="hinge"``; "crammer_singer" always uses it, as in
        scikit-learn.
    solver : str, default="auto"
        Optimisation method; all reach the same solution to within ``tol``. Binary problems:
        "dual_cd", "newton", "quasi_newton", "proximal_newton", "interior_point", "primal_cd"; with
        a 1-norm "proximal_newton" and "primal_cd"; for comparison also "dual_of_dual", "bmrm_qp",
        "bmrm_ls", "pragam", "pegasos", "pegasos_n". Joint multiclass
        problems: "block_dual_cd", "proximal_newton"; for comparison also "walrus", "shark",
        "frank_wolfe", "corrective_frank_wolfe", "block_frank_wolfe", "oblivious_frank_wolfe",
        "away_frank_wolfe", "pairwise_frank_wolfe", "pragam".
    max_iter : int, default=1000
        Maximum number of sweeps or steps.
    time_limit : float, optional
        Time limit in seconds, per problem.
    warm_start : bool, default=False
        Start from the previous fit.
    n_jobs : int, optional
        Number of threads, -1 for all cores: over the classes, or, for a single binary or joint
        problem, over blocks of the rows. The result has the same bits for any number. For a single
        problem with more than one block they differ from those with None, beyond the tolerance.
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
        float32 if X is, unless rounding to it would lose ``tol``.
    intercept_ : ndarray of shape (1,) or (n_classes,)
    classes_ : ndarray of shape (n_classes,)
    dual_coef_ : ndarray or sparse array of shape (1, n_samples) or (n_classes, n_samples)
        The dual variables times the labels, α_i y_i, in the order of the rows of X:
        ``coef_ = dual_coef_ @ X``. Sparse if the classes are trained jointly.
    support_ : ndarray
        Rows with a nonzero dual variable for some class. Dual variables that can be at a bound
        within ``tol`` are there exactly, whichever method ran.
    n_support_ : ndarray of shape (n_classes,)
        How many of them belong to each class.
    certificate_ : Certificate
        Primal value, dual value and gap of the whole model, computed from the data and the
        coefficients above.
    certificates_ : list of Certificate
        One per problem: one per row of ``coef_``, or a single one for joint multiclass.
    n_iter_ : int
        The most that a problem took.
    status_ : list of str
        "converged", "iteration_limit", "time_limit", "interrupted" or "stalled".
    solver_ : str
        Which methods ran, and why.
    history_ : list of dict
        Per problem, what was recorded at every check: primal, dual, gap, active set, passes,
        seconds.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from widemargin import LinearSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LinearSVC(tol=1e-6).fit(scale(X), y)
    >>> print(model.certificate_)
    primal 31.032..., dual 31.032..., within ... % of the optimum
    >>> round(model.score(scale(X), y), 3)
    0.988
    """

    # The column of a file, which `fit` of the CV classes does not take.
    __metadata_request__fit: ClassVar[dict[str, str]] = {"label": UNUSED}

    def __init__(
        self,
        loss: str = "squared_hinge",
        penalty: str = "l2",
        *,
        l1_ratio: float | None = None,
        dual: bool | str = "auto",
        C: float = 1.0,
        tol: float = 1e-4,
        fit_intercept: bool | str = True,
        intercept_scaling: float = 1.0,
        class_weight: Any = None,
        multi_class: str = "ovr",
        coef_bounds: tuple[Any, Any] | None = None,
        positive: bool = False,
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
        self.penalty = penalty
        self.l1_ratio = l1_ratio
        self.dual = dual
        self.C = C
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.multi_class = multi_class
        self.coef_bounds = coef_bounds
        self.positive = positive
        self.solver = solver
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    def _loss(self) -> Loss:
        return loss_under_rule(told_apart(self.loss, self.penalty)[0], self.multi_class)

    def _l1_ratio(self) -> float:
        return l1_ratio_of(told_apart(self.loss, self.penalty)[1], self.l1_ratio)

    def _iterations(self, solutions: Sequence[Solution]) -> int:
        return max(s.iterations for s in solutions)

    def _rule(self) -> str:
        return check_rule(self.multi_class, self._loss().name)

    def _check_arguments(self) -> None:
        if self.multi_class == "ovr":
            penalty = told_apart(self.loss, self.penalty)[1]
            check_formulation(penalty, self._loss(), self.dual)
        super()._check_arguments()
        check_dual(self.dual, "auto")
