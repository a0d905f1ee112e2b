"""What every estimator shares: runs that end with certificates, and labels from scores."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from widemargin.estimators.arguments import seed_of
from widemargin.estimators.one_vs_rest import solve_all
from widemargin.estimators.warn import warn_of_shortfall
from widemargin.problems.certificate import Certificate, Point
from widemargin.problems.problem import Problem
from widemargin.run import Record, Solution, Status


class CertifiedClassifier(ClassifierMixin, BaseEstimator, metaclass=ABCMeta):
    """Base of all estimators: one problem a class, one for two classes, or one for all."""

    class_weight: Any
    tol: float
    solver: str
    max_iter: int
    time_limit: float | None
    n_jobs: int | None
    random_state: Any
    verbose: int
    callback: Callable[[str, Record], object] | None

    @abstractmethod
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Train on examples X with labels y."""

    @abstractmethod
    def decision_function(self, X: Any) -> NDArray[Any]:
        """Return the scores: one a row for two classes, else one a class."""

    def _solve(
        self,
        problems: Sequence[Callable[[], Problem]],
        warm: Sequence[Point | None],
        titles: Sequence[str],
        n_jobs: int | None = None,
        finish: Callable[[int, Solution], None] | None = None,
    ) -> list[Solution]:
        """Run the problems as the arguments say."""
        return solve_all(
            problems,
            warm,
            titles,
            solver=self.solver,
            tol=float(self.tol),
            max_iter=int(self.max_iter),
            time_limit=self.time_limit,
            callback=self.callback,
            seed=seed_of(self.random_state),
            n_jobs=n_jobs,
            verbose=bool(self.verbose),
            finish=finish,
        )

    def _keep_runs(self, names: Sequence[Any], solutions: Sequence[Solution]) -> None:
        """Keep what the runs say about themselves; a name is the class that a run is about."""
        self.primal_ = np.array([s.certificate.primal for s in solutions])
        self.dual_ = np.array([s.certificate.dual for s in solutions])
        self.n_iter_ = np.array([s.iterations for s in solutions])
        self.status_ = [s.status.name.lower() for s in solutions]
        self.history_ = [s.history() for s in solutions]
        self.solver_ = solutions[0].solver
        if len({s.solver for s in solutions}) > 1:
            self.solver_ = "; ".join(
                f"{name}: {s.solver}" for name, s in zip(names, solutions, strict=True)
            )

    def _warn(self, names: Sequence[Any], solutions: Sequence[Solution]) -> None:
        """Say in one warning, to whoever called `fit`, which tolerances were not reached."""
        short = [
            (s.certificate.relative_gap, place)
            for place, s in enumerate(solutions)
            if s.status is not Status.CONVERGED
        ]
        if short:
            _, worst = max(short)
            message = solutions[worst].message
            if len(solutions) > 1:
                message = (
                    f"{len(short)} of {len(solutions)} classes did not reach tol; the worst is "
                    f"{names[worst]!r}: {message}"
                )
            warn_of_shortfall(message)

    @property
    def certificates_(self) -> list[Certificate]:
        """One certificate for each problem: a row of ``coef_``, or all classes together."""
        check_is_fitted(self)
        return [
            Certificate(float(p), float(d)) for p, d in zip(self.primal_, self.dual_, strict=True)
        ]

    @property
    def certificate_(self) -> Certificate:
        """The certificate of the whole: one-vs-rest minimises the sum of its objectives."""
        check_is_fitted(self)
        return Certificate(float(self.primal_.sum()), float(self.dual_.sum()))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class with the highest score.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        scores = self.decision_function(X)
        places = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[places]
