"""Multiclass problems: Weston-Watkins and Crammer-Singer, their dual, their certificate."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from widemargin.auto.machine import MACHINE
from widemargin.data.blocked_rows import BlockedRows
from widemargin.data.rows import Rows
from widemargin.data.training_set import TrainingSet
from widemargin.instruction_sets import core
from widemargin.problems.certificate import Certificate, Point
from widemargin.problems.compressed_duals import (
    CompressedDuals,
    kept_in_sum,
    residual_error,
    residual_of,
    without_residual,
)
from widemargin.problems.losses import trains_jointly
from widemargin.problems.margins import Bound
from widemargin.problems.multiclass_bounds import (
    Setting,
    compensated_losses,
    compensated_quadratic,
    loss_error,
    quadratic_error,
)
from widemargin.problems.multiclass_passes import BlockedPasses, Passes, WholePasses
from widemargin.problems.problem import OnRows
from widemargin.problems.rounding import (
    ACCURACY,
    growth,
    half_square_error,
    upper_norm,
    worth_repeating,
)

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

RULES = ("weston_watkins", "crammer_singer")


@dataclass(frozen=True, eq=False)
class MulticlassProblem(OnRows):
    """All classes at once: min ½‖W‖² + Σ c_i ℓ_i, over labelled, weighted rows.

    With the margins m_ij = (w_y − w_j)·x_i + b_y − b_j of example i, whose class is y, over its
    rivals j: ℓ_i = Σ_j max(0, 1 − m_ij) for Weston-Watkins, max_j max(0, 1 − m_ij) for
    Crammer-Singer. A point has w of shape (k, d), b of shape (k,), and as alpha the sparse array β
    of shape (n, k).

    Attributes
    ----------
    rows : Rows
        With a constant feature if the intercept is penalised.
    label : ndarray of int32, shape (n,)
        The class of each example, from 0 to k − 1.
    cost : ndarray of shape (n,)
        c_i = C · sample weight · class weight.
    classes : int
        k.
    rule : {"weston_watkins", "crammer_singer"}
    free_intercept : bool
        Whether unpenalised b are part of the problem; the dual then has r(β) = 0, see `residual`.
    """

    kind: ClassVar[str] = "multiclass problems"

    label: NDArray[np.int32]
    cost: Vector
    classes: int
    rule: str
    free_intercept: bool
    _kept: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, data: TrainingSet, rule: str) -> MulticlassProblem:
        """State the problem of all classes at once."""
        label, k = data.codes.astype(np.int32), int(data.classes.size)
        return cls(data.rows, label, data.cost, k, rule, data.free_intercept)

    @property
    def core(self) -> core.MulticlassCore:
        """The compiled loops over the data."""
        if "core" not in self._kept:
            self._kept["core"] = core.MulticlassCore(
                self.rows.view, self.label, self.cost, self.rows.norms, self.classes, self.rule
            )
        return self._kept["core"]

    @property
    def passes(self) -> Passes:
        """Passes over the examples."""
        blocked = isinstance(self.rows, BlockedRows)
        return BlockedPasses(self) if blocked else WholePasses(self)

    @property
    def stride(self) -> int:
        """Classes, and padding up to whole vector registers."""
        return int(core.padded_classes(self.classes))

    def over(self, rows: Rows) -> MulticlassProblem:
        """Return the same problem on other rows of the same examples."""
        return replace(self, rows=rows, _kept={})

    def rescaled(self, factor: float) -> MulticlassProblem:
        """Return the problem with all costs multiplied: another C."""
        return replace(self, cost=factor * self.cost, _kept={})

    def cold_point(self) -> Point:
        """Return W = 0, b = 0, β = 0."""
        return Point(
            np.zeros((self.classes, self.rows.weights)),
            np.zeros(self.classes),
            sp.csr_array((self.rows.count, self.classes)),
        )

    def interleaved(self, w: Matrix) -> Matrix:
        """Return the weights with the classes of a feature side by side, padded by zeros.

        Weights that lie so already are not copied.
        """
        if self.classes == self.stride and w.T.flags.c_contiguous:
            return w.T
        out = np.zeros((self.rows.weights, self.stride))
        out[:, : self.classes] = w.T
        return out

    def pieces(self) -> Iterator[tuple[int, int]]:
        """Yield row ranges short enough for one compiled call, with a checkpoint after each."""
        return self.rows.pieces(self.rows.size.block_product(self.stride))

    def descent_at_zero(self) -> tuple[Matrix, Vector]:
        """Return minus the gradient of Σ c_i ℓ_i at W = 0 and b = 0, to W and to b.

        Of the subgradients of Crammer-Singer, where all rivals tie, the one in which they share
        the cost evenly.
        """
        k = self.classes
        share = 1.0 if self.rule == "weston_watkins" else 1.0 / (k - 1)
        if self.rows.blocked:
            even = np.tile(share * self.cost[:, None], k)
            even[np.arange(self.rows.count), self.label] = 0.0
            beta = CompressedDuals.of(even)
            w = self.losses_and_combination(np.zeros((k, self.rows.weights)), np.zeros(k), beta)[1]
            return w[:, :k].T, residual_of(beta, self.label, k)
        own, mass = np.zeros((k, self.rows.weights)), np.zeros(k)
        for j in range(k):
            chosen = np.flatnonzero(self.label == j)
            own[j] = self.rows.take(chosen).combine(self.cost[chosen])
            mass[j] = self.cost[chosen].sum()
        return share * (k * own - own.sum(axis=0)), share * (k * mass - mass.sum())

    def in_range(self, alpha: Any) -> CompressedDuals:
        """Return β brought into the range of the rule, example by example; without zeros."""
        beta = CompressedDuals.of(alpha)
        core.make_feasible(self.rule, *beta, self.label, self.cost, self.classes)
        if self.setting.joint:
            kept_in_sum(beta, self.cost)
        return beta if beta.values.all() else CompressedDuals.of(beta.sparse(self.classes))

    def feasible(self, alpha: Any) -> tuple[CompressedDuals, Vector]:
        """Return a dual-feasible β near the given one, and what is left of its residual."""
        beta = self.in_range(alpha)
        if not self.free_intercept:
            return beta, np.zeros(self.classes)
        return beta, without_residual(beta, self.label, self.classes)

    def losses_and_combination(
        self, w: Matrix, b: Vector, beta: CompressedDuals, out: Matrix | None = None
    ) -> tuple[float, Matrix]:
        """Return Σ c_i ℓ_i, and the weights that β stands for, from one pass over the data.

        The weights are written to `out` if it is given.
        """
        weights = self.interleaved(w)
        start = np.full(self.stride, -1e300)
        start[: self.classes] = b
        combination = np.zeros((self.rows.weights, self.stride)) if out is None else out
        combination[:] = 0.0
        return self.passes.sums(weights, start, beta, combination), combination

    def primal_at(self, w: Matrix, b: Vector) -> float:
        """Return P at any weights and intercepts, from above, rounding included."""
        b = b if self.free_intercept else np.zeros(self.classes)
        loss = compensated_losses(self.rows, self.setting, w, b)
        squared = 2.0 * _half_square(w)
        error = half_square_error(squared, w.size)
        return Bound(0.5 * squared + loss.value, error + loss.allowance).upper

    def point_at(self, w: Matrix, b: Vector) -> Point:
        """Return the point with these weights and the dual variables that belong to them."""
        b = b if self.free_intercept else np.zeros(self.classes)
        whole = None
        if self.rows.blocked:
            start = np.zeros(self.stride)
            start[: self.classes] = b
            whole = self.passes.scores(self.interleaved(w), start)[:, : self.classes]
        parts = []
        step = max(1, MACHINE.kernel_block // self.classes)
        for begin in range(0, self.rows.count, step):
            chosen = np.arange(begin, min(begin + step, self.rows.count))
            y, cost = self.label[chosen], self.cost[chosen]
            if whole is None:
                rows = self.rows.take(chosen)
                scores = np.stack([rows.scores(np.ascontiguousarray(v)) for v in w], axis=1) + b
            else:
                scores = whole[chosen]
            places = np.arange(chosen.size)
            slack = 1.0 - scores[places, y][:, None] + scores
            slack[places, y] = 0.0
            if self.rule == "crammer_singer":
                first = slack.argmax(axis=1)
                hit = slack[places, first] > 0.0
                part = sp.csr_array(
                    (cost[hit], (places[hit], first[hit])), shape=(chosen.size, self.classes)
                )
            else:
                part = sp.csr_array((slack > 0.0) * cost[:, None])
            parts.append(part)
        return Point(w, b, sp.vstack(parts, format="csr"))

    @property
    def setting(self) -> Setting:
        """What the losses depend on beside the scores."""
        return Setting(self.label, self.cost, self.classes, self.rule == "crammer_singer")

    def certify(self, point: Point, accuracy: float = ACCURACY) -> tuple[Point, Certificate]:
        """Turn any point into a feasible one and compute its certificate from the data.

        β is brought into its range and, where intercepts are free, rid of its residual; then it is
        scaled by the factor that raises D most. One pass over the data, and one per class in
        compensated sums where rounding would cost more than `accuracy`.
        """
        # 1) a feasible dual point, and everything the data have to say about (W, b, β)
        beta, _ = self.feasible(point.alpha)
        # Only differences of intercepts count: of all that are the same, take those that sum to 0.
        b = point.b - np.mean(point.b) if self.free_intercept else np.zeros(self.classes)
        w = point.w
        if self.classes == 2:
            # What is kept of two classes is the difference between them.
            w, b = both_classes(one_for_two(w)), both_classes(one_for_two(b))
        here = [self.rows.intercept_here(v, float(c)) for v, c in zip(w, b, strict=True)]
        at, off = np.array([h[0] for h in here]), max(h[1] for h in here)
        if "scratch" not in self._kept:
            self._kept["scratch"] = np.empty((self.rows.weights, self.stride))
        losses, combination = self.losses_and_combination(w, at, beta, out=self._kept["scratch"])
        # 2) dual variables at their best multiple
        squared = 2.0 * _half_square(combination)
        scale = self._best_scale(beta, float(beta.values.sum()), squared)
        if scale != 1.0:
            beta.values[:] *= scale
            squared *= scale * scale
            beta = self.in_range(beta.sparse(self.classes))
        # 3) both values, and what rounding can be worth
        size, setting, weights = self.scale, self.setting, 2.0 * _half_square(w)
        length = upper_norm(weights, w.size)
        loss = Bound(losses, loss_error(size, setting, length, at, off, losses))
        quadratic = Bound(0.5 * squared, quadratic_error(size, beta, setting, squared))
        proof = self._proof(weights, loss, quadratic, beta)
        allowed = accuracy * abs(proof.primal)
        if worth_repeating(proof.rounding, proof.gap - proof.rounding, allowed):
            loss = compensated_losses(self.rows, setting, w, b)
            quadratic = compensated_quadratic(self.rows, beta, setting)
            better = self._proof(weights, loss, quadratic, beta)
            proof = min(proof, better, key=lambda known: known.gap)
        return Point(w, b, beta.sparse(self.classes)), proof

    def _proof(
        self, weights: float, loss: Bound, quadratic: Bound, beta: CompressedDuals
    ) -> Certificate:
        """Return the certificate, the residual of free intercepts priced."""
        count = self.rows.weights * self.classes
        primal = Bound(
            0.5 * weights + loss.value, loss.allowance + half_square_error(weights, count)
        )
        linear = float(beta.values.sum())
        below = growth(beta.values.size + 8.0) * linear + quadratic.allowance
        below += self._price(beta, primal.value + primal.allowance)
        return Certificate.bounds(*primal, linear - quadratic.value, below)

    def _best_scale(self, beta: CompressedDuals, linear: float, quadratic: float) -> float:
        """Return argmax over feasible t of D(tβ)."""
        if not (linear > 0.0 and quadratic > 0.0):  # nor for numbers that are none
            return 1.0
        scale = linear / quadratic
        # Near the optimum the best multiple is one, up to what rounding and tolerance leave.
        if scale <= 1.0 or 0.5 * (scale - 1.0) * (scale - 1.0) * quadratic <= 1e-12 * linear:
            return min(scale, 1.0)
        if self.rule == "crammer_singer":
            used: Any = np.bincount(beta.owners, beta.values, self.rows.count)
            cost = self.cost
        else:
            used, cost = beta.values, self.cost[beta.owners]
        taken = used > 0.0
        return max(1.0, min(scale, float((cost[taken] / used[taken]).min())))

    def _price(self, beta: CompressedDuals, upper: float) -> float:
        """Bound what a residual can be worth: D(β) minus it is a lower bound on P still.

        Some optimal intercepts, in order of size, have steps of at most 1 + R between neighbours,
        with R = max‖x_i‖ √2 ‖W*‖ above every difference of scores: a larger step could be made
        smaller without raising a loss. So b*·r ≤ ½ (k − 1)(1 + R) ‖r‖₁, with ‖W*‖² ≤ 2P.
        Twice the P is taken: rounding the weights to float32 may raise P that far.
        """
        if not self.free_intercept or beta.values.size == 0:
            return 0.0
        residual = residual_of(beta, self.label, self.classes)
        size = float(np.abs(residual).sum()) + self.classes * residual_error(beta)
        if size == 0.0:
            return 0.0
        reach = (float(np.sqrt(self.rows.norms.max())) + 1e-150) * 2.0 * float(np.sqrt(2.0 * upper))
        return (1.0 + 1e-6) * 0.5 * (self.classes - 1) * (1.0 + reach) * size


def check_rule(multi_class: Any, loss: Any, others: tuple[str, ...] = ()) -> str:
    """Return the multiclass rule, or raise an error for ``multi_class``."""
    rules = ("ovr", *others, *RULES)
    if not isinstance(multi_class, str) or multi_class not in rules:
        names = ", ".join(map(repr, rules))
        raise ValueError(f"multi_class must be one of {names}; got {multi_class!r}")
    if multi_class != "ovr" and not trains_jointly(loss):
        raise ValueError(f"multi_class={multi_class!r} needs loss='hinge'; got loss={loss!r}")
    return multi_class


def both_classes(values: NDArray[Any]) -> NDArray[Any]:
    """Return one row per class, where two classes share one: their difference, split in halves."""
    return np.concatenate([-0.5 * values, 0.5 * values]) if values.shape[0] == 1 else values


def one_for_two(values: Any) -> Any:
    """Undo `both_classes`."""
    return values[1:2] - values[0:1] if values.shape[0] == 2 else values


def _half_square(w: Matrix) -> float:
    flat = w.ravel(order="K")
    return 0.5 * float(flat @ flat)
