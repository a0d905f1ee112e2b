"""StructuredSVC: max-margin training for any structured output."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from widemargin.auto.registry import choice_of
from widemargin.data.validation import check_positive
from widemargin.estimators.arguments import check_limits
from widemargin.estimators.certified import CertifiedClassifier
from widemargin.problems.certificate import Certificate
from widemargin.problems.structured import StructuredProblem
from widemargin.run import Record


class UnprovedCertificate(Certificate):
    """A certificate whose primal value is no upper bound, because the oracle is not exact."""

    def __str__(self) -> str:
        return (
            f"dual {self.dual:.10g} is a lower bound on the optimum; primal {self.primal:.10g} is "
            "not proved: the oracle is not exact"
        )


class StructuredSVC(CertifiedClassifier):
    """Max-margin training of a structured model that is written in Python.

    Minimises ``½‖w‖² + C Σ_i max_y [Δ(y_i, y) − w·(f(x_i, y_i) − f(x_i, y))]``.

    Parameters
    ----------
    model : object
        With ``features(x, y)``, a vector; ``loss(y, other)``, not negative and zero for y itself;
        ``oracle(x, y, w)``, the output that maximises ``loss(y, ·) + w·features(x, ·)``, without
        the loss if y is None; and ``exact``, whether the oracle always finds it. Shipped:
        `MulticlassModel`, `OrdinalModel`, `TaxonomyModel`, `MultilabelModel` and `ChainModel` in
        ``widemargin.estimators.structured_models``. ``solver="pragam"`` needs ``outputs(x)`` as
        well, the list of all outputs.
    C : float, default=1.0
        Weight of the losses in the objective.
    tol : float, default=1e-3
        Relative duality gap, (P − D)/P, at which training stops.
    solver : {"auto", "cached_frank_wolfe", "bmrm_qp", "pragam"}, default="auto"
        The default is "cached_frank_wolfe"; the others are for comparison.
    max_iter : int, default=1000
        Maximum number of passes.
    time_limit : float, optional
    n_jobs : None
        No effect: the model is Python.
    random_state : int, RandomState instance or None, default=0
    verbose : int, default=0
    callback : callable, optional
        Called as ``callback("all", record)`` at every check of the certificate.

    Attributes
    ----------
    coef_ : ndarray of shape (n_weights,)
    certificate_ : Certificate
        If the oracle is not exact, ``dual`` is proved and ``primal`` is not; its text says so.
    n_iter_, status_, solver_, history_
        As in `LinearSVC`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from widemargin import StructuredSVC
    >>> from widemargin.estimators.structured_models import OrdinalModel
    >>> X, y = load_iris(return_X_y=True)
    >>> svc = StructuredSVC(OrdinalModel(3), C=0.1).fit(X, y)
    >>> svc.predict(X[[0, 80, 140]])
    [0, 1, 2]
    """

    def __init__(
        self,
        model: Any,
        C: float = 1.0,
        *,
        tol: float = 1e-3,
        solver: str = "auto",
        max_iter: int = 1000,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
        callback: Callable[[str, Record], object] | None = None,
    ) -> None:
        self.model = model
        self.C = C
        self.tol = tol
        self.solver = solver
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    def fit(self, X: Sequence[Any], y: Sequence[Any], sample_weight: Any = None) -> Any:
        """Train on inputs X with outputs y, as the model takes them.

        Parameters
        ----------
        X, y : sequences of the same length
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
        """
        check_positive("C", self.C)
        check_limits(self)
        choice_of(self.solver, StructuredProblem)
        for name in ("features", "loss", "oracle", "exact"):
            if not hasattr(self.model, name):
                raise ValueError(f"the model has no {name!r}")
        if len(X) != len(y) or len(y) == 0:
            raise ValueError(f"X has {len(X)} inputs and y {len(y)} outputs")
        weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, np.float64)
        if weight.shape != (len(y),) or not np.isfinite(weight).all() or (weight < 0.0).any():
            raise ValueError(f"sample_weight must be {len(y)} finite numbers, none negative")
        problem = StructuredProblem(self.model, X, y, float(self.C) * weight)
        solutions = self._solve(["all"], lambda _: problem)
        self.coef_ = solutions[0].w
        self._keep_runs(["all"], solutions)
        return self

    @property
    def certificate_(self) -> Certificate:
        """The certificate; of a model whose oracle is not exact, the dual value alone is proved."""
        proof = super().certificate_
        if self.model.exact:
            return proof
        return UnprovedCertificate(proof.primal, proof.dual, proof.rounding)

    def predict(self, X: Sequence[Any]) -> Any:
        """Return the output with the highest score for each input, as a list."""
        check_is_fitted(self)
        return [self.model.oracle(x, None, self.coef_) for x in X]

    def decision_function(self, X: Sequence[Any]) -> Any:
        """Return the score of the predicted output of each input."""
        outputs = self.predict(X)
        features = (self.model.features(x, y) for x, y in zip(X, outputs, strict=True))
        return np.array([float(self.coef_ @ np.asarray(f)) for f in features])

    def score(self, X: Sequence[Any], y: Sequence[Any], sample_weight: Any = None) -> float:
        """Return minus the mean loss of the predictions: the larger the better."""
        losses = [self.model.loss(a, b) for a, b in zip(y, self.predict(X), strict=True)]
        return -float(np.average(losses, weights=sample_weight))
