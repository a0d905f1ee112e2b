"""What every estimator shares: runs that end with certificates, and labels from scores."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import check_is_fitted

from widemargin.auto.experience import Experience
from widemargin.auto.registry import choice_of
from widemargin.estimators.arguments import seed_of
from widemargin.estimators.checkpoints import Checkpoints
from widemargin.estimators.fit_tasks import IterationTasks
from widemargin.estimators.outside import warn_outside
from widemargin.interrupt import Interrupt
from widemargin.linalg.blas import one_blas_thread
from widemargin.methods.base import Choice
from widemargin.problems.certificate import Certificate, Point
from widemargin.progress import ProgressBar
from widemargin.run import Callback, Record, Solution, Status, run
from widemargin.threads import first_alone


class Solutions(list[Solution]):
    """The answers of one fit; ``signalled`` if it was Ctrl-C that ended it."""

    signalled = False

    def replace_by(self, single: Sequence[Solution | None]) -> type[np.floating[Any]]:
        """Take answers in float32 if there is one for each problem; return the precision."""
        taken = [solution for solution in single if solution is not None]
        if len(taken) != len(self):
            return np.float64
        self[:] = taken
        return np.float32


class CertifiedEstimator(BaseEstimator, metaclass=ABCMeta):
    """Base of all estimators: runs of one or several problems, each with its certificate."""

    tol: float
    solver: str
    max_iter: int
    time_limit: float | None
    n_jobs: int | None
    random_state: Any
    verbose: int
    callback: Callable[[str, Record], object] | None

    _checkpoints: Checkpoints | None = None
    """Where to write down the weights of every step, if anywhere."""

    _tasks: IterationTasks | None = None
    """Who is told of every iteration, if anyone."""

    _tells_iterations = False
    """Whether scikit-learn's callbacks see the iterations of a fit."""

    def _method(self) -> str:
        """Return the solver's name as `choice_of` takes it."""
        return self.solver

    def _gap(self) -> float:
        """Return the relative duality gap to solve to."""
        return float(self.tol)

    def _exactness(self) -> float | None:
        """Return the gap that the folds of a search need, if ``tol`` is theirs too."""
        return None

    def _choice(self, problem: Any, place: int) -> Choice:
        """Return what picks the methods of the run of the problem at a place."""
        return choice_of(self._method(), type(problem))

    def _limits_of_a_run(self) -> tuple[float | None, Callable[[str, Record], object] | None, bool]:
        """Return the time limit and the callback of each run, and whether to show a bar."""
        return self.time_limit, self.callback, bool(self.verbose)

    def _solve(
        self,
        names: Sequence[Any],
        problem: Callable[[int], Any],
        start: Callable[[int, Any], Point | None] = lambda place, problem: None,
        *,
        n_jobs: int | None = None,
        finish: Callable[[int, Any, Solution], Solution] = lambda place, problem, solution: (
            solution
        ),
        interrupt: Interrupt | None = None,
        alike: Sequence[int] = (),
    ) -> Solutions:
        """Run independent problems in threads; the answers do not depend on how many.

        Parameters
        ----------
        names : sequence
            The class that each problem is about.
        problem : callable
            Makes the problem at a place, so that its labels exist only while it is being solved.
        start : callable
            Gives the point to start from, for a place and its problem.
        n_jobs : int, optional
        finish : callable
            Called with the place, the problem and its solution, in the thread that has found it;
            returns the answer to keep.
        interrupt : Interrupt, optional
            Of the work around; if it asks to stop already, the starting points are the answers.
        alike : sequence of int
            Places of problems that are alike in shape, in the order in which the first of them show
            the others what methods take; see `widemargin.auto.experience`.
        """
        time_limit, callback, verbose = self._limits_of_a_run()
        tol, seed = self._gap(), seed_of(self.random_state)
        watch = Interrupt() if interrupt is None else interrupt
        titles = [str(name) for name in names]
        bar = ProgressBar(titles, tol) if verbose else None
        experience = Experience(len(alike))

        def solve(place: int) -> Solution:
            callbacks: list[Callback] = []
            if bar is not None:
                callbacks.append(partial(bar.update, place))
            if callback is not None:
                callbacks.append(partial(callback, titles[place]))
            this = problem(place)
            warm = start(place, this)
            choice = self._choice(this, place)
            if alike:
                experience.show(choice)
            solution = run(
                this,
                choice,
                tol=tol,
                max_iter=int(self.max_iter),
                time_limit=time_limit,
                callbacks=callbacks,
                warm=warm,
                seed=seed + place,
                interrupt=watch,
                keep=self._keeper(this, place, len(names)),
            )
            if alike:
                experience.note(choice, solution.work, solution.status is Status.CONVERGED)
            if self.max_iter == 0 and warm is None:
                solution = _untouched(this, solution)
            return finish(place, this, solution)

        with bar or nullcontext():
            if len(names) == 1:  # the run watches for itself
                with one_blas_thread():
                    solutions = Solutions([solve(0)])
            else:
                with watch, one_blas_thread():
                    work = [partial(solve, place) for place in range(len(names))]
                    threads, alone = effective_n_jobs(n_jobs), lambda: experience.alone
                    solutions = Solutions(first_alone(work, alike, alone, threads, watch))
        solutions.signalled = watch.signalled
        return solutions

    def _keeper(self, problem: Any, place: int, count: int) -> Callable[[Any, Any], object] | None:
        """Return what is called with the weights of every step of a problem, one of so many."""
        tasks = self._tasks
        if tasks is not None and count == 1:

            def tell(w: Any, b: Any) -> None:
                # As the answer would be: the intercept is that of the certificate.
                judged = problem.certify(problem.point_at(w, b))[0]
                tasks.end(judged.w, judged.b)

            return tell
        return None if self._checkpoints is None else partial(self._checkpoints.keep, place)

    def _in_other_words(self, message: str, solutions: Sequence[Solution]) -> str:
        """Return a warning as code around expects it."""
        return message

    def _keep_runs(self, names: Sequence[Any], solutions: Solutions) -> None:
        """Keep what the runs say about themselves, and warn if a tolerance was not reached.

        The last thing that a fit does: a Ctrl-C that ended it goes on from here.
        """
        self.primal_ = np.array([s.certificate.primal for s in solutions])
        self.dual_ = np.array([s.certificate.dual for s in solutions])
        self.rounding_ = np.array([s.certificate.rounding for s in solutions])
        self.n_iter_ = self._iterations(solutions)
        self.status_ = [s.status.name.lower() for s in solutions]
        self.history_ = [s.history() for s in solutions]
        self.solver_ = solutions[0].solver
        if len({s.solver for s in solutions}) > 1:
            self.solver_ = "; ".join(
                f"{name}: {s.solver}" for name, s in zip(names, solutions, strict=True)
            )
        message = _shortfall(names, solutions)
        if solutions.signalled:
            raise KeyboardInterrupt(message)
        if message is not None:
            warn_of_shortfall(self._in_other_words(message, solutions))

    def _iterations(self, solutions: Sequence[Solution]) -> Any:
        return np.array([s.iterations for s in solutions])

    @property
    def certificates_(self) -> list[Certificate]:
        """One certificate for each problem: a row of ``coef_``, or all classes together."""
        return self._certificates()

    def _certificates(self) -> list[Certificate]:
        check_is_fitted(self)
        bounds = zip(self.primal_, self.dual_, self.rounding_, strict=True)
        return [Certificate(float(p), float(d), float(r)) for p, d, r in bounds]

    @property
    def certificate_(self) -> Certificate:
        """The certificate of the whole model: one-vs-rest minimises the sum of its objectives."""
        return Certificate.of_sum(self._certificates())

    def _html_repr(self) -> str:
        """Return scikit-learn's diagram with the certificate above it, for notebooks."""
        from widemargin.estimators.notebook import with_certificate

        return with_certificate(self, estimator_html_repr(self))


class CertifiedClassifier(ClassifierMixin, CertifiedEstimator):
    """Base of the classifiers: one problem per class, one for two classes, or one for all."""

    class_weight: Any

    @abstractmethod
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Train on examples X with labels y."""

    @abstractmethod
    def decision_function(self, X: Any) -> NDArray[Any]:
        """Return the scores: one per row for two classes, else one per row and class."""

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


def _untouched(problem: Any, solution: Solution) -> Solution:
    """Return the answer of no step at all: the start itself, whose intercept is zero too."""
    if not hasattr(problem, "primal_at"):
        return solution
    cold, before = problem.cold_point(), solution.certificate
    primal = problem.primal_at(cold.w, cold.b)
    certificate = Certificate(primal, before.dual, before.rounding)
    return replace(solution, w=cold.w, b=cold.b, certificate=certificate)


def _shortfall(names: Sequence[Any], solutions: Sequence[Solution]) -> str | None:
    """Return one sentence that says which tolerances were not reached, or None."""
    short = [place for place, s in enumerate(solutions) if s.status is not Status.CONVERGED]
    if not short:
        return None
    worst = max(short, key=lambda place: solutions[place].certificate.relative_gap)
    message = solutions[worst].message
    if len(solutions) == 1:
        return message
    return (
        f"{len(short)} of {len(solutions)} classes did not reach tol; the worst is "
        f"{names[worst]!r}: {message}"
    )


def warn_of_shortfall(message: str) -> None:
    """Warn that a tolerance was not reached, at the line that called the package."""
    warn_outside(message, ConvergenceWarning)
