"""SequenceSVC: max-margin sequence labelling."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from widemargin.data.sequences import Sequences
from widemargin.estimators.sequences import SequenceClassifier
from widemargin.problems.certificate import Point
from widemargin.problems.chain import ChainProblem
from widemargin.problems.sequence import Labelings, SequenceProblem
from widemargin.run import Record, Solution


class SequenceSVC(SequenceClassifier):
    """Label sequences by a chain of labels, trained with the structured hinge loss.

    Minimises ``½‖w‖² + C Σ_i max_y [Δ_i(y) − w·(f_i(y_i) − f_i(y))]`` over the sequences i, with y
    running over all labelings, f_i(y) the summed features of a labeling (the row's features at its
    label, transitions, first and last label) and Δ_i(y) the summed costs of its mistakes. Also
    known as a structural SVM or max-margin Markov network.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the losses in the objective: the inverse of the regularisation strength.
    cost : "hamming" or array-like of shape (n_classes, n_classes), default="hamming"
        Cost of predicting one label (column) where another (row) is right, in the order of
        ``classes_``; "hamming" is 1 for every mistake.
    boundaries : bool, default=True
        Whether the first and the last label of a sequence have weights of their own, ``start_`` and
        ``end_``.
    tol : float, default=1e-3
        Relative duality gap, (P − D)/P, at which training stops: the objective is then certified to
        be within this fraction of the optimum.
    solver : {"auto", "cached_frank_wolfe", "block_frank_wolfe", "bmrm_qp", "pragam"}, \
default="auto"
        Optimisation method; all reach the same solution to within ``tol``.
    max_iter : int, default=10000
        Maximum number of passes or steps.
    time_limit : float, optional
        Time limit in seconds.
    warm_start : bool, default=False
        Start from the previous fit, on the same sequences; C may have changed.
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
    coef_ : ndarray of shape (n_classes, n_features)
    transition_ : ndarray of shape (n_classes, n_classes)
        From the label of a row to that of the next one.
    start_, end_ : ndarray of shape (n_classes,)
    classes_ : ndarray of shape (n_classes,)
    feature_names_ : ndarray of str
        The columns, if X was given as feature dictionaries.
    certificate_ : Certificate
    dual_coef_, dual_labels_, dual_pointers_ : ndarray
        The labelings with a share in the solution: sequence i has those from ``dual_pointers_[i]``
        to ``dual_pointers_[i + 1]``.
    n_iter_, status_, solver_, history_
        As in `LinearSVC`.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import SequenceSVC
    >>> random = np.random.default_rng(0)
    >>> y = [np.cumsum(random.random(8) < 0.3) % 3 for _ in range(200)]  # labels that last
    >>> X = [np.eye(3)[labels] + random.normal(size=(8, 3)) for labels in y]
    >>> model = SequenceSVC(C=0.1).fit(X[:100], y[:100])
    >>> round(model.score(X[100:], y[100:]), 2)
    0.71
    >>> print(model.certificate_)
    primal 50.1..., dual 50..., within ... % of the optimum
    """

    loss_name: ClassVar[str] = "hinge"

    def __init__(
        self,
        C: float = 1.0,
        *,
        cost: Any = "hamming",
        boundaries: bool = True,
        tol: float = 1e-3,
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
        self.cost = cost
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

    def _kind(self) -> type[Any]:
        return SequenceProblem

    def _problem(
        self, sequences: Sequences, codes: Any, cost: Any, classes: int, threads: int
    ) -> ChainProblem:
        mistake = self._mistakes(classes)
        return SequenceProblem(
            sequences.rows(),
            sequences.first,
            codes.astype(np.int32),
            cost,
            mistake,
            bool(self.boundaries),
            threads,
        )

    def _mistakes(self, classes: int) -> Any:
        if isinstance(self.cost, str):
            if self.cost != "hamming":
                raise ValueError(f"cost must be 'hamming' or an array; got {self.cost!r}")
            return 1.0 - np.eye(classes)
        mistake = np.asarray(self.cost, dtype=np.float64)
        if mistake.shape != (classes, classes):
            raise ValueError(f"cost must have the shape ({classes}, {classes})")
        if not np.isfinite(mistake).all() or (mistake < 0.0).any() or np.diag(mistake).any():
            raise ValueError("cost must be finite, not negative, and zero on its diagonal")
        return mistake

    def _start(self, problem: Any) -> Point | None:
        if not hasattr(self, "dual_coef_"):
            return None
        duals = Labelings(self.dual_pointers_, self.dual_coef_, self.dual_labels_)
        same = duals.pointers.size == problem.count + 1
        counts = np.diff(duals.pointers)
        if not same or int(counts @ problem.lengths) != duals.labels.size:
            return None
        weights, _ = problem.combine(duals.feasible())
        return Point(weights, None, duals)

    def _keep_dual(self, solution: Solution) -> None:
        duals = solution.alpha
        self.dual_pointers_, self.dual_coef_ = duals.pointers, duals.share
        self.dual_labels_ = duals.labels
