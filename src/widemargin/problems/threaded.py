"""Losses of many examples, computed by threads, with sums in a fixed order.

Vectors over the examples are cut into chunks of a fixed length, whatever the number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.data.block_work import CHUNK, Threads, Tree
from widemargin.data.cached import cached_property
from widemargin.instruction_sets import core
from widemargin.problems.losses import CompiledLoss, DualSums, Line, Loss, LossSums
from widemargin.problems.rounding import UNIT

Vector = NDArray[np.float64]


def chunks_of(count: int, width: int = 1) -> list[slice]:
    """Cut examples with so many numbers each into chunks."""
    step = max(1, CHUNK // width)
    return [slice(begin, min(begin + step, count)) for begin in range(0, count, step)]


def summed(threads: Threads, chunks: list[slice], part: Callable[[slice], Any]) -> Any:
    """Return the sum of what the chunks come to."""
    if len(chunks) <= 1:
        return part(chunks[0] if chunks else slice(0, 0))
    tree = Tree()
    threads.each(len(chunks), lambda place: tree.add(place, part(chunks[place])))
    return tree.total()


def filled(threads: Threads, chunks: list[slice], part: Callable[[slice], None]) -> None:
    """Let every chunk be filled in."""
    threads.each(len(chunks), lambda place: part(chunks[place]))


def _summed(threads: Threads, count: int, part: Callable[[slice], Any]) -> Any:
    return summed(threads, chunks_of(count), part)


@dataclass(frozen=True, eq=False)
class ThreadedLoss(Loss):
    """A loss whose sums over the examples are shared out among threads."""

    inner: Loss
    threads: Threads

    @staticmethod
    def of(inner: Loss, threads: Threads) -> ThreadedLoss:
        """Share out the work of a loss."""
        kind = CompiledThreadedLoss if type(inner) is CompiledLoss else ThreadedLoss
        traits = {field.name: getattr(inner, field.name) for field in fields(Loss)}
        return kind(**traits, inner=inner, threads=threads)

    @property
    def compiled(self) -> bool:  # type: ignore[override]
        """Whether coordinate descent and the other compiled loops know it."""
        return self.inner.compiled

    def total(self, y: Vector, cost: Vector, scores: Vector, b: float) -> float:
        """Return Σ c_i ℓ(y_i (scores_i + b))."""
        return float(
            _summed(
                self.threads, y.size, lambda at: self.inner.total(y[at], cost[at], scores[at], b)
            )
        )

    def dual_total(self, alpha: Vector, cost: Vector) -> float:
        """Return Σ φ_i(α_i)."""
        return float(
            _summed(self.threads, cost.size, lambda at: self.inner.dual_total(alpha[at], cost[at]))
        )

    def sums(
        self, y: Vector, cost: Vector, scores: Vector, b: float, reach: float = 0.0
    ) -> LossSums:
        """Return the total loss, and how fast it can grow within `reach` of the margins."""
        return LossSums(
            *_summed(
                self.threads,
                y.size,
                lambda at: tuple(self.inner.sums(y[at], cost[at], scores[at], b, reach)),
            )
        )

    def dual_sums(self, y: Vector, cost: Vector, alpha: Vector) -> DualSums:
        """Return Σ φ_i(α_i) and the sums that bound its rounding."""
        chunks = chunks_of(y.size)
        parts: list[Any] = [None] * len(chunks)

        def part(place: int) -> None:
            at = chunks[place]
            parts[place] = self.inner.dual_sums(y[at], cost[at], alpha[at])

        self.threads.each(len(chunks), part)
        tree = Tree()
        for place, sums in enumerate(parts):
            tree.add(place, (sums.value, sums.size, sums.linear, sums.squares))
        value, size, linear, squares = tree.total()
        residual = _rounded_residual([sums.residual for sums in parts])
        return DualSums(value, size, linear, squares, residual)

    def intercept_reach(self, up: float, down: float) -> float:
        """Bound optimal intercepts where all scores are zero."""
        return self.inner.intercept_reach(up, down)

    def terms(self, y: Vector, cost: Vector, scores: Vector, b: float) -> tuple[Vector, Vector]:
        """Return the dual variables and the curvatures that belong to the scores."""
        alpha, curvature = np.empty_like(scores), np.empty_like(scores)

        def part(at: slice) -> None:
            self.inner.fill_terms(y[at], cost[at], scores[at], b, alpha[at], curvature[at])

        self.threads.pieces(y.size, part)
        return alpha, curvature

    def duals(self, y: Vector, cost: Vector, scores: Vector, b: float) -> Vector:
        """Return the dual variables that belong to the scores."""
        alpha = np.empty_like(scores)

        def part(at: slice) -> None:
            alpha[at] = self.inner.duals(y[at], cost[at], scores[at], b)

        self.threads.pieces(y.size, part)
        return alpha

    def best_intercept(self, y: Vector, cost: Vector, scores: Vector, b: float) -> float:
        """Return the b that minimises the total for these scores, searching from b."""
        return self.inner.best_intercept(y, cost, scores, b)

    def derivatives_along(self, line: Line, t: float) -> tuple[float, float]:
        """Return both derivatives of the total along a line."""
        first, second = _summed(
            self.threads,
            line.y.size,
            lambda at: tuple(self.inner.derivatives_along(_part(line, at), t)),
        )
        return float(first), float(second)

    def linearised_move(self, line: Line, step: float) -> None:
        """Move the scores, and turn the slopes into dual variables."""
        self.threads.pieces(
            line.y.size, lambda at: self.inner.linearised_move(_part(line, at), step)
        )

    def clip(self, alpha: Vector, cost: Vector) -> Vector:
        """Return the point of the dual variables' ranges that is nearest to α, as a new array."""
        clipped = np.empty_like(alpha)

        def part(at: slice) -> None:
            clipped[at] = self.inner.clip(alpha[at], cost[at])

        self.threads.pieces(alpha.size, part)
        return clipped

    def balance(self, alpha: Vector, y: Vector, cost: Vector) -> Vector:
        """Return the nearest point of the ranges with Σ α_i y_i = 0, as a new array."""
        balanced = np.empty(alpha.size)

        def part(at: slice) -> None:
            balanced[at] = alpha[at]

        self.threads.pieces(alpha.size, part)
        core.project_box_equality(balanced, y, self.upper(cost), self.threads.count)
        return balanced

    def middle(self, cost: Vector) -> Vector:
        """Return the middle of the dual variables' ranges, where they are bounded."""
        middle = np.empty_like(cost)

        def part(at: slice) -> None:
            middle[at] = self.inner.middle(cost[at])

        self.threads.pieces(cost.size, part)
        return middle

    def largest_share(self, alpha: Vector, cost: Vector) -> float:
        """Return the largest α_i / c_i; examples without cost have none."""
        shares: list[float] = []

        def part(at: slice) -> None:
            shares.append(self.inner.largest_share(alpha[at], cost[at]))

        self.threads.pieces(alpha.size, part)
        return float(np.fmax.reduce(shares))


@dataclass(frozen=True, eq=False)
class CompiledThreadedLoss(ThreadedLoss):
    """The same for a loss whose formulas are in core/losses: one call for all chunks."""

    @cached_property
    def _shared(self) -> core.LossThreads:
        return core.LossThreads(self.name, self.threads.pool, CHUNK)

    def total(self, y: Vector, cost: Vector, scores: Vector, b: float) -> float:
        """Return Σ c_i ℓ(y_i (scores_i + b))."""
        return self._shared.total(y, cost, scores, b)

    def dual_total(self, alpha: Vector, cost: Vector) -> float:
        """Return Σ φ_i(α_i)."""
        return self._shared.dual_total(alpha, cost)

    def sums(
        self, y: Vector, cost: Vector, scores: Vector, b: float, reach: float = 0.0
    ) -> LossSums:
        """Return the total loss, and how fast it can grow within `reach` of the margins."""
        return LossSums(*self._shared.sums(y, cost, scores, b, reach))

    def dual_sums(self, y: Vector, cost: Vector, alpha: Vector) -> DualSums:
        """Return Σ φ_i(α_i) and the sums that bound its rounding."""
        value, size, linear, squares, residuals = self._shared.dual_sums(y, cost, alpha)
        return DualSums(value, size, linear, squares, _rounded_residual(residuals))

    def terms(self, y: Vector, cost: Vector, scores: Vector, b: float) -> tuple[Vector, Vector]:
        """Return the dual variables and the curvatures that belong to the scores."""
        alpha, curvature = np.empty_like(scores), np.empty_like(scores)
        self._shared.terms(y, cost, scores, b, alpha, curvature)
        return alpha, curvature

    def best_intercept(self, y: Vector, cost: Vector, scores: Vector, b: float) -> float:
        """Return the b that minimises the total for these scores, searching from b."""
        return self._shared.best_intercept(y, cost, scores, b)

    def derivatives_along(self, line: Line, t: float) -> tuple[float, float]:
        """Return both derivatives of the total along a line."""
        return self._shared.derivatives_along(*line, t)

    def linearised_move(self, line: Line, step: float) -> None:
        """Move the scores, and turn the slopes into dual variables."""
        self._shared.linearised_move(*line, step)

    def clip(self, alpha: Vector, cost: Vector) -> Vector:
        """Return the point of the dual variables' ranges that is nearest to α, as a new array."""
        clipped = np.empty_like(alpha)
        self._shared.clip(alpha, cost, clipped)
        return clipped


def _rounded_residual(residuals: list[float]) -> float:
    """Return the sum of the chunks' residuals, each rounded once more than in one sum over all."""
    rounded = 4.0 * UNIT * math.fsum(abs(residual) for residual in residuals)
    residual = math.fsum(residuals)
    return residual + math.copysign(rounded, residual)


def _part(line: Line, at: slice) -> Line:
    return line._replace(
        y=line.y[at], cost=line.cost[at], scores=line.scores[at], slopes=line.slopes[at]
    )


def threaded_corner(y: Vector, cost: Vector, threads: Threads) -> core.CornerThreads:
    """Return the hinge with its corner rounded: what `BinaryCore` computes of it, shared out."""
    return core.CornerThreads(y, cost, threads.pool, CHUNK)
