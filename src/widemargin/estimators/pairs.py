"""One-vs-one models: an answer per pair, coefficients in scikit-learn's layout, and votes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from widemargin.estimators.certified import CertifiedEstimator, Solutions
from widemargin.problems.kernel import KernelProblem
from widemargin.problems.kernel_pairs import KernelPairsProblem, pairs_of
from widemargin.run import Solution, Status

Matrix = NDArray[np.float64]
Places = NDArray[np.int64]


def _answers(problem: KernelPairsProblem, solution: Solution) -> Sequence[Solution]:
    """Return one answer per pair, with its own certificate."""
    parts = zip(problem.split(solution.point), problem.certificates(solution.point), strict=True)
    return [
        replace(
            solution,
            w=point.w,
            b=point.b,
            alpha=point.alpha,
            certificate=certificate,
            status=Status.CONVERGED
            if certificate.relative_gap <= solution.tol
            else solution.status,
        )
        for point, certificate in parts
    ]


def answers_of_pairs(
    estimator: CertifiedEstimator,
    names: Sequence[str],
    problems: Sequence[KernelPairsProblem],
    grouped: Solutions,
) -> Solutions:
    """Return one answer per pair from those of groups of pairs.

    The certificate of a group is about a sum, in which the gap of a small objective hides: such
    pairs are solved further, each alone.
    """
    solutions = Solutions(
        one
        for problem, solution in zip(problems, grouped, strict=True)
        for one in _answers(problem, solution)
    )
    solutions.signalled = grouped.signalled
    _finish(estimator, names, [part for one in problems for part in one.parts], solutions)
    return solutions


def _finish(
    estimator: CertifiedEstimator,
    names: Sequence[str],
    parts: Sequence[KernelProblem],
    solutions: Solutions,
) -> None:
    """Go on with pairs that are short of the tolerance although their group has converged."""
    rest = []
    for place, solution in enumerate(solutions):
        solved = solution.certificate.relative_gap <= solution.tol
        if solution.status is Status.CONVERGED and not solved:
            ended = _hidden_end(estimator, solution, solutions.signalled)
            if ended is None:
                rest.append(place)
            else:
                solutions[place] = replace(solution, status=ended)
    if not rest:
        return
    alone = [KernelPairsProblem((parts[place],)) for place in rest]
    starts = [alone[i].joined([solutions[place].point]) for i, place in enumerate(rest)]
    again = estimator._solve(
        [names[place] for place in rest], lambda i: alone[i], lambda i, _: starts[i]
    )
    solutions.signalled = again.signalled
    for problem, place, solution in zip(alone, rest, again, strict=True):
        (solutions[place],) = _answers(problem, solution)


def _hidden_end(
    estimator: CertifiedEstimator, solution: Solution, signalled: bool
) -> Status | None:
    """Return the limit that ended a run whose sum has converged all the same, or None."""
    if signalled:
        return Status.INTERRUPTED
    if estimator.time_limit is not None and solution.seconds >= float(estimator.time_limit):
        return Status.TIME_LIMIT
    return Status.ITERATION_LIMIT if solution.iterations >= int(estimator.max_iter) else None


def pair_layout(coefficients: Sequence[Matrix], counts: Places) -> tuple[NDArray[np.intp], Matrix]:
    """Return the examples in use and their coefficients as `sklearn.svm.SVC` keeps them.

    Parameters
    ----------
    coefficients : sequence of ndarrays
        Of every pair: first those of the examples of one class, then those of the other.
    counts : ndarray of shape (k,)
        Examples of each class, which come class by class.

    Returns
    -------
    support : ndarray of shape (n_support,)
    dual_coef : ndarray of shape (k − 1, n_support)
        An example's coefficients against the other classes, in their order.
    """
    classes = counts.size
    ends = np.cumsum(counts)
    begins = ends - counts
    table = np.zeros((classes - 1, int(ends[-1])))
    for (first, second), own in zip(pairs_of(classes), coefficients, strict=True):
        table[second - 1, begins[first] : ends[first]] = own[: counts[first]]
        table[first, begins[second] : ends[second]] = own[counts[first] :]
    support = np.flatnonzero(table.any(axis=0))
    return support, np.ascontiguousarray(table[:, support])


def pair_scores(block: Matrix, dual_coef: Matrix, intercept: Matrix, n_support: Places) -> Matrix:
    """Return the score of every pair; positive is for the first of its classes.

    Parameters
    ----------
    block : ndarray of shape (m, n_support)
        The kernel between the examples and those in use.
    dual_coef, intercept, n_support
        As `pair_layout` and `sklearn.svm.SVC` have them.
    """
    scores = np.empty((block.shape[0], intercept.size))
    for place, (rows, columns) in enumerate(_columns(n_support)):
        scores[:, place] = intercept[place]
        for row, part in zip(rows, columns, strict=True):
            scores[:, place] += block[:, part] @ dual_coef[row, part]
    return scores


def _columns(n_support: Places) -> Iterator[tuple[tuple[int, int], tuple[slice, slice]]]:
    ends = np.cumsum(n_support)
    stretch = [slice(int(e - c), int(e)) for e, c in zip(ends, n_support, strict=True)]
    for first, second in pairs_of(n_support.size):
        yield (second - 1, first), (stretch[first], stretch[second])


def votes_of(scores: Matrix, classes: int) -> Matrix:
    """Return how many pairs each class wins."""
    votes = np.zeros((scores.shape[0], classes))
    for place, (first, second) in enumerate(pairs_of(classes)):
        wins = scores[:, place] > 0.0
        votes[:, first] += wins
        votes[:, second] += ~wins
    return votes


def scores_of_classes(scores: Matrix, classes: int) -> Matrix:
    """Return one score a class: its votes, and a share of one vote by how clearly it won.

    The sums of a class's scores, squeezed to less than half a vote, order classes with equal votes;
    scikit-learn does the same.
    """
    sums = np.zeros((scores.shape[0], classes))
    for place, (first, second) in enumerate(pairs_of(classes)):
        sums[:, first] += scores[:, place]
        sums[:, second] -= scores[:, place]
    return votes_of(scores, classes) + sums / (3.0 * (np.abs(sums) + 1.0))
