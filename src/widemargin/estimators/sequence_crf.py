"""SequenceCRF: a linear-chain conditional random field."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.data.sequences import Sequences
from widemargin.estimators.sequences import SequenceClassifier
from widemargin.problems.certificate import Point
from widemargin.problems.chain import ChainProblem
from widemargin.problems.conditional import ConditionalProblem, marginals
from widemargin.run import Record, Solution


class SequenceCRF(SequenceClassifier):
    """Label sequences by a linear-chain conditional random field with a certificate of optimality.

    Minimises ``½‖w‖² + C Σ_i (log Σ_y exp(w·f_i(y)) − w·f_i(y_i))`` over the sequences i, with y
    running over all labelings and f_i(y) the summed features of a labeling: the row's features at
    its label, transitions, first and last label. CRFsuite's ``c2`` is ``1 / (2 C)``; its other
    differences are ``boundaries=False`` and that by default it has weights only for pairs of
    feature and label that occur in the training data.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the losses in the objective: the inverse of the regularisation strength.
    boundaries : bool, default=True
        Whether the first and the last label of a sequence have weights of their own, ``start_`` and
        ``end_``.
    tol : float, default=1e-4
        Relative duality gap, (P − D)/P, at which training stops.
    solver : {"auto", "exponentiated_gradient", "lbfgs"}, default="auto"
        Optimisation method; all reach the same solution to within ``tol``.
    max_iter : int, default=10000
        Maximum number of steps.
    time_limit : float, optional
        Time limit in seconds.
    warm_start : bool, default=False
        Start from the weights of the previous fit.
    n_jobs : int, optional
        Number of threads over the sequences; the result does not depend on it.
    random_state : int, RandomState instance or None, default=0
        Seed of the order in which sequences are visited.
    verbose : int, default=0
        Show a progress bar.
    callback : callable, optional
        Called as ``callback("all", record)`` at every check of the certificate; training stops if
        it returns True.

    Attributes
    ----------
    coef_, transition_, start_, end_, classes_, feature_names_, certificate_, n_iter_, status_, \
solver_, history_
        As in `SequenceSVC`.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import SequenceCRF
    >>> random = np.random.default_rng(0)
    >>> y = [np.cumsum(random.random(8) < 0.3) % 3 for _ in range(200)]  # labels that last
    >>> X = [np.eye(3)[labels] + random.normal(size=(8, 3)) for labels in y]
    >>> model = SequenceCRF().fit(X[:100], y[:100])
    >>> round(model.score(X[100:], y[100:]), 2)
    0.74
    >>> model.predict_proba(X[100:])[0].sum(axis=1).round(6)
    array([1., 1., 1., 1., 1., 1., 1., 1.])
    """

    loss_name: ClassVar[str] = "logistic"

    def __init__(
        self,
        C: float = 1.0,
        *,
        boundaries: bool = True,
        tol: float = 1e-4,
        solver: str = "auto",
        max_iter: int = 10000,
        time_limit: float | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
        callback: Callable[[str, Record], object] | None = None,
    ) -> None:
        self.C = C
        self.boundaries = boundaries
        self.tol = tol
        self.solver = solver
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    def predict_marginals(self, X: Any, *, lengths: Any = None) -> list[NDArray[np.float64]]:
        """Return the probability of each label at each row.

        Parameters
        ----------
        X, lengths
            As in `predict`.

        Returns
        -------
        list of ndarray of shape (length, n_classes)
        """
        sequences = self._sequences(X, lengths)
        if sequences.kept.size == 0:
            return sequences.split(np.zeros((0, self.classes_.size)))
        found = marginals(self._weights, sequences.rows(), sequences.first, self.classes_.size)
        return sequences.split(found)

    def predict_proba(self, X: Any, *, lengths: Any = None) -> list[NDArray[np.float64]]:
        """Return the same as `predict_marginals`."""
        return self.predict_marginals(X, lengths=lengths)

    def _kind(self) -> type[Any]:
        return ConditionalProblem

    def _problem(
        self, sequences: Sequences, codes: Any, cost: Any, classes: int, threads: int
    ) -> ChainProblem:
        return ConditionalProblem(
            sequences.rows(),
            sequences.first,
            codes.astype(np.int32),
            cost,
            np.zeros((classes, classes)),
            bool(self.boundaries),
            threads,
        )

    def _start(self, problem: Any) -> Point | None:
        if not hasattr(self, "coef_") or self.coef_.shape[1] != problem.rows.weights:
            return None
        return Point(self._weights, None, self._weights)

    def _keep_dual(self, solution: Solution) -> None:
        """Keep nothing: the weights say it all."""
