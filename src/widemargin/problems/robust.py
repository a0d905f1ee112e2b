"""The robust problem: the largest expected hinge loss within a Wasserstein ball (DRSVM eq. 1).

    min  ε λ + Σ p_i max(1 − m_i, 1 + m_i − κ λ, 0) + c/2 ‖w‖²   over  ‖w‖ ≤ λ,
    m_i = y_i (w·x_i + b),

its dual, and certificates from any point. λ is not part of a point: for given weights the best one
is a quantile of the margins.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from widemargin.data.training_set import TrainingSet
from widemargin.problems.certificate import Certificate, Point
from widemargin.problems.margins import Bound
from widemargin.problems.norms import DualBall
from widemargin.problems.problem import OnRows
from widemargin.problems.robust_bounds import (
    Ball,
    dual_bound,
    farthest_intercept,
    gain_at_radius_zero,
    inside_factor,
    losses_bound,
    moved,
    residual_of,
    upper_length,
    within,
)
from widemargin.problems.rounding import (
    ACCURACY,
    ScoreError,
    half_square_error,
    upper_norm,
    worth_repeating,
)

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RobustProblem(OnRows):
    """Hinge loss over labelled rows, under every distribution within `radius` of theirs.

    Attributes
    ----------
    rows : Rows
    y : ndarray of shape (n,)
        Labels, −1 or +1.
    weight : ndarray of shape (n,)
        Probabilities p_i, summing to one.
    radius : float
        ε, how far mass may be moved.
    label_cost : float
        κ, the price of flipping a label; infinite if labels are trusted.
    norm : {1, 2, inf}
        Of w; features move at the price of its dual norm.
    l2 : float
        c, of the penalty c/2 ‖w‖².
    free_intercept : bool
    """

    kind: ClassVar[str] = "robust problems"

    y: Vector
    weight: Vector
    radius: float
    label_cost: float
    norm: float
    l2: float
    free_intercept: bool

    @classmethod
    def of(
        cls,
        data: TrainingSet,
        positive: int,
        radius: float,
        label_cost: float,
        norm: float,
        l2: float = 0.0,
    ) -> RobustProblem:
        """State the one-vs-rest problem of a class, the costs as probabilities."""
        weight, free = data.cost / data.cost.sum(), data.free_intercept
        return cls(data.rows, data.signs(positive), weight, radius, label_cost, norm, l2, free)

    @property
    def flips(self) -> bool:
        """Whether labels can be flipped: not when they are trusted or nothing may move."""
        return bool(np.isfinite(self.label_cost)) and self.radius > 0.0

    def cold_point(self) -> Point:
        """Return w = 0, b = 0 and dual variables zero; those have a row each for keep and flip."""
        return Point(np.zeros(self.rows.weights), 0.0, np.zeros((2, self.rows.count)))

    def subproblem(self, subset: NDArray[np.int64]) -> RobustProblem:
        """Return the problem on some examples, their weights raised to sum to one."""
        weight = self.weight[subset]
        weight /= weight.sum()
        return replace(self, rows=self.rows.take(subset), y=self.y[subset], weight=weight)

    def losses(self, margins: Vector, price: float) -> Vector:
        """Return max(1 − m, 1 + m − κλ, 0) for λ = price."""
        losses = np.maximum(1.0 - margins, 0.0)
        if self.flips:
            np.maximum(losses, 1.0 + margins - self.label_cost * price, out=losses)
        return losses

    def best_price(self, margins: Vector, length: float) -> float:
        """Return the λ ≥ ‖w‖ that minimises the objective for these margins, exactly.

        The slope in λ is ε − κ (weight of the examples whose label it pays to flip), and example i
        is one of them while κλ < min(2 m_i, 1 + m_i): λ is a quantile of those thresholds.
        """
        if not self.flips:
            return length
        thresholds = np.minimum(2.0 * margins, 1.0 + margins) / self.label_cost
        above = np.flatnonzero(thresholds > length)
        most = self.radius / self.label_cost
        if float(self.weight[above].sum()) <= most:
            return length
        order = above[np.argsort(-thresholds[above], kind="stable")]
        heavier = np.cumsum(self.weight[order]) > most
        if not heavier.any():
            return length
        return float(thresholds[order[int(np.argmax(heavier))]])

    def best_intercept(self, scores: Vector, price: float) -> float:
        """Return the b that minimises the objective for this λ, exactly: a weighted median.

        Each example's loss is a valley in b; its slope climbs from −p to p at one or two kinks.
        """
        if self.flips:
            raised = self.label_cost * price
            low, high = min(1.0, 0.5 * raised), max(raised - 1.0, 0.5 * raised)
            kinks = np.concatenate([self.y * low - scores, self.y * high - scores])
            climbs = np.concatenate([self.weight, self.weight])
            slope = -1.0
        else:
            kinks, climbs = self.y - scores, self.weight
            slope = -float(self.weight[self.y > 0.0].sum())
        order = np.argsort(kinks, kind="stable")
        after = slope + np.cumsum(climbs[order])
        return float(kinks[order[min(int(np.argmax(after >= 0.0)), order.size - 1)]])

    def worst_loss(self, w: Vector, b: float, scores: Vector) -> tuple[float, float]:
        """Return the largest expected loss within the ball, and its λ."""
        length = upper_length(w, self.norm)
        margins = self.y * (scores + b)
        price = self.best_price(margins, length)
        return self.radius * price + float(self.weight @ self.losses(margins, price)), price

    def primal(self, w: Vector, b: float, scores: Vector) -> float:
        """Return P at the best λ, for weights whose scores are known."""
        return self.worst_loss(w, b, scores)[0] + 0.5 * self.l2 * float(w @ w)

    def point_at(self, w: Vector, b: float) -> Point:
        """Return the point with these weights and dual variables read off their margins."""
        scores = self.rows.scores(w)
        b = b if self.free_intercept else 0.0
        margins = self.y * (scores + b)
        price = self.worst_loss(w, b, scores)[1]
        flipped = np.full_like(margins, -1.0)
        if self.flips:
            flipped = 1.0 + margins - self.label_cost * price
        kept = 1.0 - margins
        alpha = np.zeros((2, margins.size))
        alpha[0] = np.where((kept > 0.0) & (kept >= flipped), self.weight, 0.0)
        alpha[1] = np.where((flipped > 0.0) & (flipped > kept), self.weight, 0.0)
        return Point(w, b, alpha)

    def feasible(self, alpha: Vector) -> Vector:
        """Return dual variables near α with 0 ≤ keep, flip, keep + flip ≤ p, and Σ ± y = 0.

        Lowering the heavier side of the last sum by a factor keeps the rest.
        """
        feasible = np.array(alpha, dtype=np.float64)
        if not self.flips:
            feasible[1] = 0.0
        feasible = within(feasible, self.weight)
        if self.free_intercept:
            positive = self.y > 0.0
            up = float(feasible[0, positive].sum() + feasible[1, ~positive].sum())
            down = float(feasible[1, positive].sum() + feasible[0, ~positive].sum())
            if up > down:
                feasible[0, positive] *= down / up
                feasible[1, ~positive] *= down / up
            elif down > up:
                feasible[1, positive] *= up / down
                feasible[0, ~positive] *= up / down
        return feasible

    @property
    def ball(self) -> Ball:
        """The parts of the problem that its dual's constraint is made of."""
        return Ball(self.radius, self.label_cost if self.flips else 0.0, self.norm, self.l2)

    def certify(self, point: Point, accuracy: float = ACCURACY) -> tuple[Point, Certificate]:
        """Turn any point into a feasible one and compute its certificate from the data.

        One pass over the data, and another in compensated sums where rounding would cost more than
        `accuracy`.
        """
        # 1) dual variables within their ranges, and everything the data have to say
        alpha = self.feasible(np.asarray(point.alpha))
        scores, v = self.rows.scores_and_combination(point.w, alpha[0] - alpha[1], self.y)
        # 2) λ and, if free, b are the best for w; the dual variables' best feasible multiple
        b = self._best_intercept(point, scores)
        factor = self._best_scale(alpha, v)[0]
        scaled = factor * alpha
        alpha = within(scaled, self.weight)
        v = factor * v
        # 3) both values, and what rounding can be worth
        primal = self._primal_bound(point.w, b, scores, False)
        inside, proof = self._proof(primal, alpha, v, (False, moved(alpha, scaled)))
        allowed = accuracy * abs(primal.value)
        if worth_repeating(proof.rounding, proof.gap - proof.rounding, allowed):
            at, low, _ = self.rows.exact_intercept_here(point.w, b)
            primal = self._primal_bound(
                point.w, b, self.rows.compensated_scores(point.w, (at, low)), True
            )
            v = self.rows.compensated_combination(alpha[0] - alpha[1], self.y)
            other, better = self._proof(primal, alpha, v, (True, 0.0))
            if better.gap < proof.gap:
                inside, proof = other, better
        return Point(point.w, b, inside), proof

    def primal_at(self, w: Vector, b: float) -> float:
        """Return P at any weights and intercept, from above, rounding included."""
        b = b if self.free_intercept else 0.0
        at, low, _ = self.rows.exact_intercept_here(w, b)
        scores = self.rows.compensated_scores(w, (at, low))
        return self._primal_bound(w, b, scores, True).upper

    def _primal_bound(self, w: Vector, b: float, scores: Vector, compensated: bool) -> Bound:
        """Return P at an intercept; compensated scores have it added already."""
        size, squared = self.scale, float(w @ w)
        at, off = self.rows.intercept_here(w, b)
        if compensated:
            off, kind = self.rows.exact_intercept_here(w, b)[2], ScoreError.compensated
        else:
            kind = ScoreError.plain
        error = kind(size, upper_norm(squared, w.size), at, off)
        margins = self.y * (scores + (0.0 if compensated else at))
        price = self.best_price(margins, upper_length(w, self.norm))
        spread = upper_norm(float(margins @ margins), margins.size)
        losses = self.losses(margins, price)
        value, allowance = losses_bound(
            losses, self.weight, price, self.ball, (error, size, spread)
        )
        allowance += self.l2 * half_square_error(squared, w.size + 4.0)
        return Bound(value + 0.5 * self.l2 * squared, allowance)

    def _proof(
        self, primal: Bound, alpha: Vector, v: Vector, product: tuple[bool, float]
    ) -> tuple[Vector, Certificate]:
        """Return dual variables and the certificate; those that bound nothing give way to zero."""
        upper = primal.value + primal.allowance
        if self.radius == 0.0 and self.l2 == 0.0:
            gain = gain_at_radius_zero(
                self.rows, self.y, alpha[0], self.weight, self.free_intercept
            )
            return alpha if gain > 0.0 else np.zeros_like(alpha), Certificate.bounds(
                *primal, gain, 0.0
            )
        inside, dual = self._inside(alpha, v, product)
        residual = residual_of(inside, self.y) if self.free_intercept else 0.0
        price = 0.0
        if residual > 0.0:
            longest = float(np.sqrt(self.rows.norms.max())) * (1.0 + 1e-6) + 1e-150
            if self.norm == np.inf:
                longest *= float(np.sqrt(self.rows.longest + 1.0))
            price = (1.0 + 1e-6) * residual * farthest_intercept(upper, self.ball, longest)
        if dual.value - dual.allowance - price > 0.0:
            return inside, Certificate.bounds(*primal, dual.value, dual.allowance + price)
        # No loss is negative.
        return np.zeros_like(alpha), Certificate.bounds(*primal, 0.0, 0.0)

    def _inside(
        self, alpha: Vector, v: Vector, product: tuple[bool, float]
    ) -> tuple[Vector, Bound]:
        """Return dual variables that are feasible whatever rounding did, with their dual value."""
        dual = dual_bound(alpha, v, self.ball, self.scale, product)
        if dual.value > -np.inf:
            return alpha, dual
        short = 1.0 - inside_factor(alpha, v, self.ball, self.scale, product)
        for shrink in (short, 2.0 * short, max(2.0 * short, 1e-6)):
            factor = 1.0 - min(shrink, 1.0)
            inside = within(factor * alpha, self.weight)
            off = product[1] + moved(inside, factor * alpha)
            dual = dual_bound(inside, factor * v, self.ball, self.scale, (product[0], off))
            if dual.value > -np.inf:
                # What rounding took away counts as rounding: exact sums would give it back.
                lost = max(0.0, float(alpha.sum()) - float(inside.sum()))
                return inside, Bound(dual.value + lost, dual.allowance + lost)
        return inside, dual

    def _best_intercept(self, point: Point, scores: Vector) -> float:
        """Return the best intercept at hand."""
        if not self.free_intercept:
            return 0.0
        b = float(point.b)
        loss, price = self.worst_loss(point.w, b, scores)
        for _ in range(4):
            # By turns: the best b for λ, the best λ for b.
            other = self.best_intercept(scores, price)
            better, other_price = self.worst_loss(point.w, other, scores)
            if better >= loss:
                break
            b, loss, price = other, better, other_price
        return b

    def _best_scale(self, alpha: Vector, v: Vector) -> tuple[float, float]:
        """Return the multiple t of the dual variables with the largest dual value, and the value.

        D(t) = t Σ(keep + flip) − dist²(t v, μB)/(2c) with μ = ε − t κ Σ flip ≥ 0; without the
        penalty, c = 0, the distance must be zero.
        """
        total = alpha.sum(axis=0)
        gain = float(total.sum())
        if not (gain > 0.0 and np.isfinite(v).all()):
            return 0.0, 0.0
        used = total > 0.0
        most = float(np.min(self.weight[used] / total[used], initial=np.inf))
        flipped = float(alpha[1].sum()) * self.label_cost if self.flips else 0.0
        ball = DualBall.around(v, self.norm)
        if self.l2 == 0.0:
            need = ball.length + flipped
            if self.radius == 0.0:
                return most, most * gain
            scale = min(most, self.radius / need) if need > 0.0 else most
            return scale, scale * gain
        if flipped > 0.0:
            most = min(most, self.radius / flipped)

        def value(t: float) -> float:
            if t <= 0.0:
                return 0.0
            squared = ball.squared_distance(max(self.radius / t - flipped, 0.0))
            return t * gain - 0.5 * t * t * squared / self.l2

        inner = minimize_scalar(
            lambda t: -value(t), bounds=(0.0, most), method="bounded", options={"xatol": 1e-9}
        )
        scale = max((float(inner.x), min(1.0, most), most), key=value)
        return scale, value(scale)
