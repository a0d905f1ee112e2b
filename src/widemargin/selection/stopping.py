"""Where a search over C begins, and when it has seen enough: the rules of WARM."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from widemargin.data.training_set import TrainingSet
from widemargin.problems.losses import Loss
from widemargin.problems.multinomial import MultinomialProblem
from widemargin.problems.rules import joint_problem

Vector = NDArray[np.float64]

LARGEST_C = 2.0**10
"""Where the automatic search ends at the latest."""

PATIENCE = 3
"""Consecutive values of C at which the solution before is still good, after which it ends."""


def first_C(data: TrainingSet, positive: int, loss: Loss) -> float:
    """Return the power of two from which an automatic search starts.

    Below it, solutions of the smooth losses are the same but for their length; the hinge's is
    exactly C Σ y_j x_j as long as no margin has reached one.

    Parameters
    ----------
    data : TrainingSet
        At C = 1.
    positive : int
        The positive class of a one-vs-rest problem.
    loss : Loss
    """
    rows, signs, weight = data.rows, data.signs(positive), data.cost
    if not loss.smooth:
        margins = signs * rows.scores(rows.combine(weight, signs))
        bound = 1.0 / max(float(margins.max(initial=0.0)), 1e-300)
    else:
        # No dual variable is above slope · c while margins are positive.
        slope = 1.0 if loss.bounded else loss.slope_at_zero
        largest = float(rows.norms.max(initial=0.0))
        bound = 1.0 / max(slope * float(weight.sum()) * largest, 1e-300)
    return _power_of_two(bound)


def smallest_joint_C(data: TrainingSet, rule: str) -> float:
    """Return the same where all classes are trained at once.

    As long as no margin has reached one, every dual variable of Weston-Watkins is at its bound; for
    Crammer-Singer the rivals of an example are taken to share its cost evenly.

    Parameters
    ----------
    data : TrainingSet
        At C = 1.
    rule : {"weston_watkins", "crammer_singer", "multinomial"}
    """
    problem = replace(joint_problem(data, rule), free_intercept=False)
    if isinstance(problem, MultinomialProblem):
        # Scores then differ by less than about one: no probability is far from even.
        largest = float(problem.rows.norms.max(initial=0.0))
        return _power_of_two(1.0 / max(float(problem.cost.sum()) * largest, 1e-300))
    rows, label = problem.rows, problem.label
    w, _ = problem.descent_at_zero()
    own, lowest = np.empty(rows.count), np.full(rows.count, np.inf)
    for j in range(problem.classes):
        scores, mine = rows.scores(w[j]), label == j
        own[mine] = scores[mine]
        np.minimum(lowest, scores, out=lowest, where=~mine)
    return _power_of_two(1.0 / max(float((own - lowest).max(initial=0.0)), 1e-300))


def _power_of_two(bound: float) -> float:
    return float(2.0 ** np.clip(math.floor(math.log2(bound)), -60, 9))


@dataclass
class GradientRule:
    """Stop after three values of C in a row at which the solution before passes already.

    It passes where ‖∇f(w; C)‖ ≤ ε max(min(n₊, n₋), 1)/n ‖∇f(0; C)‖ in every fold and class: the
    inequality by which LIBLINEAR ends a fit. Where classes are trained at once, the rarest one's
    share stands for min(n₊, n₋)/n.
    """

    epsilon: float
    passed: int = 0

    def enough(self, ratios: Vector, shares: Vector) -> bool:
        """Take note of one C, and tell whether it was the last one to look at.

        Parameters
        ----------
        ratios : ndarray
            ‖∇f(w; C)‖ / ‖∇f(0; C)‖ of each problem.
        shares : ndarray
            max(min(n₊, n₋), 1)/n of each problem.
        """
        good = bool(np.all(ratios <= self.epsilon * shares))
        self.passed = self.passed + 1 if good else 0
        return self.passed >= PATIENCE
