"""Where a search over C begins, and when it has seen enough: the rules of WARM."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.data.rows import Rows
from widemargin.problems.losses import Loss
from widemargin.problems.multiclass import MulticlassProblem

Vector = NDArray[np.float64]

LARGEST_C = 2.0**10
"""Where the automatic search ends at the latest."""

PATIENCE = 3
"""Consecutive values of C at which the solution before is still good, after which it ends."""


def smallest_C(rows: Rows, signs: Vector, weight: Vector, loss: Loss) -> float:
    """Return the power of two from which an automatic search starts.

    Below it, solutions of the smooth losses are the same but for their length; the hinge's is
    exactly C Σ y_j x_j as long as no margin has reached one.

    Parameters
    ----------
    rows : Rows
    signs : ndarray of shape (n,)
        Labels, −1 or +1.
    weight : ndarray of shape (n,)
        Costs at C = 1.
    loss : Loss
    """
    if loss.name == "hinge":
        margins = signs * rows.scores(rows.combine(weight, signs))
        bound = 1.0 / max(float(margins.max(initial=0.0)), 1e-300)
    else:
        slope = 1.0 if loss.name == "logistic" else 2.0
        largest = float(rows.norms.max(initial=0.0))
        bound = 1.0 / max(slope * float(weight.sum()) * largest, 1e-300)
    return _power_of_two(bound)


def smallest_joint_C(
    rows: Rows, codes: NDArray[Any], weight: Vector, classes: int, rule: str
) -> float:
    """Return the same where all classes are trained at once.

    As long as no margin has reached one, every dual variable of Weston-Watkins is at its bound; for
    Crammer-Singer the rivals of an example are taken to share its cost evenly.

    Parameters
    ----------
    rows : Rows
    codes : ndarray of shape (n,)
        Each example's place among the classes.
    weight : ndarray of shape (n,)
        Costs at C = 1.
    classes : int
    rule : {"weston_watkins", "crammer_singer"}
    """
    label = codes.astype(np.int32)
    w, _ = MulticlassProblem(rows, label, weight, classes, rule, False).descent_at_zero()
    own, lowest = np.empty(rows.count), np.full(rows.count, np.inf)
    for j in range(classes):
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
