"""LogisticRegression: the logistic loss, with probabilities."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metadata_routing import UNUSED

from widemargin.data.training_set import TrainingSet
from widemargin.estimators.certified import Solutions
from widemargin.estimators.future_changes import DEPRECATED, announce_penalty, warn_of_ratio
from widemargin.estimators.linear import LinearClassifier
from widemargin.estimators.scikit_learn_arguments import LogisticArguments
from widemargin.problems.losses import LOGISTIC, Loss
from widemargin.problems.probabilities import log_probabilities, probabilities
from widemargin.problems.rules import check_logistic_rule
from widemargin.problems.unpenalised import separable
from widemargin.problems.unpenalised_multinomial import UnpenalisedMultinomialProblem
from widemargin.run import Record, Status


class Probabilities:
    """Probabilities of the classes, for the estimators of the logistic loss."""

    multi_class: str
    decision_function: Callable[[Any], NDArray[Any]]

    def _rule(self) -> str:
        return check_logistic_rule(self.multi_class)

    def _probabilities(self, scores: NDArray[Any]) -> NDArray[np.float64]:
        return probabilities(scores, joint=self.multi_class != "ovr")

    def _log_probabilities(self, scores: NDArray[Any]) -> NDArray[np.float64]:
        return log_probabilities(scores, joint=self.multi_class != "ovr")

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class.

        For more than two classes they are the softmax of the scores or, with
        ``multi_class="ovr"``, the one-vs-rest probabilities normalised to sum to one.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return self._probabilities(self.decision_function(X))

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the logarithm of `predict_proba`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return self._log_probabilities(self.decision_function(X))


class LogisticRegression(LogisticArguments, Probabilities, LinearClassifier):
    """L2-regularised logistic regression with a certificate of optimality.

    Minimises ``½‖w‖² + Σ c_i log(1 + exp(−y_i (w·x_i + b)))`` with
    ``c_i = C · sample weight · class weight`` for two classes. For more it minimises the
    multinomial ``½‖W‖² + Σ c_i (log Σ_j exp(s_ij) − s_iy)`` with the scores
    ``s_ij = w_j·x_i + b_j`` and y the class of i, or trains one-vs-rest.

    Parameters
    ----------
    penalty : {"l2", "l1", "elasticnet", None}, optional
        Deprecated, as in scikit-learn since version 1.8: "l2" means ``l1_ratio=0``, "l1"
        ``l1_ratio=1``, "elasticnet" any ``l1_ratio``, None means ``C=np.inf``.
    C : float, default=1.0
        Weight of the losses in the objective: the inverse of the regularisation strength. With
        infinity there is no penalty, and separable classes have no optimum, which is said.
    l1_ratio : float, default=0.0
        ρ in the penalty ρ‖w‖₁ + ½(1 − ρ)‖w‖². From 0 on, the larger it is, the more weights are
        exactly zero.
    dual : bool, default=False
        For compatibility with scikit-learn; no effect.
    tol : float, default=1e-4
        Relative duality gap, (P − D)/P, at which training stops: the objective is then certified
        to be within this fraction of the optimum.
    fit_intercept : bool or "penalised", default=True
        True: an intercept that is not penalised; "penalised": the weight of a constant feature, as
        in LIBLINEAR; False: none.
    intercept_scaling : float, default=1.0
        Value of that constant feature; no effect on an intercept that is not penalised.
    coef_bounds : tuple (lower, upper), optional
        Bounds on the coefficients: numbers, or arrays with one per feature; None or infinity for no
        bound on a side. For two classes; signs refer to ``classes_[1]``.
    positive : bool, default=False
        Coefficients that are not negative: a lower bound of 0.
    multi_class : {"multinomial", "ovr"}, default="multinomial"
        How three or more classes are trained: all at once, as scikit-learn does since version
        1.8, or one-vs-rest. Two classes are one binary problem either way.
    class_weight : dict or "balanced", optional
        Factors on C per class; "balanced" makes them inversely proportional to class frequencies.
    solver : str, default="auto"
        Optimisation method: "dual_cd", "newton", "quasi_newton", "primal_cd" or "proximal_newton";
        all reach the same solution to within ``tol``. scikit-learn's names
        are read as "auto", with the limits that they have there and a gap of ``tol**2``, because
        their ``tol`` bounds the gradient; "liblinear" as ``fit_intercept="penalised"`` too.
    max_iter : int, default=1000
        Maximum number of sweeps or steps.
    time_limit : float, optional
        Time limit in seconds, per binary problem or for all classes if trained jointly.
    warm_start : bool, default=False
        Start from the previous fit.
    n_jobs : int, optional
        Number of threads, -1 for all cores: over the classes of one-vs-rest, or, for a single
        binary or multinomial problem, over blocks of the rows. The result has the same bits for any
        number. For a single problem with more than one block they differ from those with None,
        beyond the tolerance.
    random_state : int, RandomState instance or None, default=0
        Seed of the order in which examples are visited.
    verbose : int, default=0
        Show a progress bar.
    callback : callable, optional
        Called as ``callback(class_name, record)`` at every check of the certificate; training
        stops if it returns True.

    Attributes
    ----------
    coef_, intercept_, classes_, dual_coef_, support_, certificate_, certificates_, n_iter_, \
status_, solver_, history_
        As in `LinearSVC`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from widemargin import LogisticRegression
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LogisticRegression(tol=1e-6).fit(scale(X), y)
    >>> print(model.certificate_)
    primal 37.758..., dual 37.758..., within ... % of the optimum
    >>> model.predict_proba(scale(X)[[100, 290]]).round(2)
    array([[0.96, 0.04],
           [0.  , 1.  ]])
    """

    # The column of a file, which `fit` of the CV classes does not take.
    __metadata_request__fit: ClassVar[dict[str, str]] = {"label": UNUSED}

    _tells_iterations = True

    def __init__(
        self,
        penalty: str | None = DEPRECATED,
        *,
        C: float = 1.0,
        l1_ratio: float | None = 0.0,
        dual: bool = False,
        tol: float = 1e-4,
        fit_intercept: bool | str = True,
        intercept_scaling: float = 1.0,
        multi_class: str = "multinomial",
        class_weight: Any = None,
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
        self.penalty = penalty
        self.C = C
        self.l1_ratio = l1_ratio
        self.dual = dual
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.multi_class = multi_class
        self.class_weight = class_weight
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
        return LOGISTIC

    def _joint_problem(self, data: TrainingSet, rule: str) -> Any:
        if math.isinf(self._C()):
            return UnpenalisedMultinomialProblem.of(data)
        return super()._joint_problem(data, rule)

    def _solve(self, *arguments: Any, **settings: Any) -> Solutions:
        solutions = super()._solve(*arguments, **settings)
        if math.isinf(self._C()):
            problem = arguments[1]
            for place, solution in enumerate(solutions):
                short = solution.status is not Status.CONVERGED
                if short and separable(problem(place), solution.w, solution.b):
                    solutions[place] = replace(solution, status=Status.NO_OPTIMUM)
                elif solution.status is Status.STALLED and solution.certificate.dual == 0.0:
                    solutions[place] = replace(solution, status=Status.NO_PROOF)
        return solutions

    def _check_arguments(self) -> None:
        super()._check_arguments()
        announce_penalty(self.penalty, "l1_ratio")
        warn_of_ratio(self.penalty, self.l1_ratio)
        self._check_foreign()
