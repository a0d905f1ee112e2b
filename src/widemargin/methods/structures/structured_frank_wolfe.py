"""Block-coordinate Frank-Wolfe with a cache and pairwise steps, for any structured model.

The same method as `cached_frank_wolfe`, over the user's own oracle (Osokin et al., 2016).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.methods.base import Settings, State, SupportsAll
from widemargin.problems.certificate import Point
from widemargin.problems.structured import Outputs, StructuredProblem

Vector = NDArray[np.float64]


@dataclass(eq=False)
class _Cache:
    """Outputs of one example, with ψ, loss and share each."""

    outputs: list[Any] = field(default_factory=list)
    psi: list[Vector] = field(default_factory=list)
    loss: list[float] = field(default_factory=list)
    share: list[float] = field(default_factory=list)

    def keep_used(self) -> None:
        used = [j for j, share in enumerate(self.share) if share > 0.0]
        for name in ("outputs", "psi", "loss", "share"):
            values = getattr(self, name)
            setattr(self, name, [values[j] for j in used])


@dataclass(eq=False)
class StructuredFrankWolfeState(State):
    """The weights, and the outputs with a share."""

    problem: StructuredProblem
    w: Vector
    caches: list[_Cache]
    gaps: Vector
    random: np.random.Generator

    @property
    def point(self) -> Point:
        """The weights and the outputs with a share."""
        duals = Outputs(
            tuple(tuple(cache.outputs) for cache in self.caches),
            tuple(np.array(cache.share) for cache in self.caches),
        )
        return Point(self.w, None, duals)


class StructuredFrankWolfe(SupportsAll):
    """Maximise the dual, example by example."""

    name = "cached_frank_wolfe"
    serves: ClassVar[type[StructuredProblem]] = StructuredProblem

    def start(
        self, problem: StructuredProblem, warm: Point | None, settings: Settings
    ) -> StructuredFrankWolfeState:
        """Start at w = 0 or at the warm outputs."""
        caches = [_Cache() for _ in range(problem.count)]
        w = np.zeros(problem.width)
        if warm is not None:
            duals = warm.alpha.feasible()
            for i, (outputs, shares) in enumerate(zip(duals.outputs, duals.shares, strict=True)):
                for output, share in zip(outputs, shares, strict=True):
                    psi, loss = problem.plane(i, output)
                    self._add(caches[i], output, psi, loss)
                    caches[i].share[-1] = float(share)
                    w += problem.cost[i] * share * psi
        return StructuredFrankWolfeState(
            problem,
            w,
            caches,
            np.full(problem.count, np.inf),
            np.random.default_rng(settings.seed),
            active=problem.count,
        )

    def advance(self, state: StructuredFrankWolfeState) -> None:
        """Visit every example once."""
        problem = state.problem
        before = state.w.copy()
        old = [list(cache.share) for cache in state.caches]
        for i in state.random.permutation(problem.count):
            self._visit(state, int(i))
            problem.checkpoint()
        self._extrapolate(state, before, old)
        for cache in state.caches:
            cache.keep_used()
        state.passes += 1.0
        linear = sum(
            problem.cost[i] * share * loss
            for i, cache in enumerate(state.caches)
            for share, loss in zip(cache.share, cache.loss, strict=True)
        )
        gap = float(state.gaps.sum())
        primal = linear - 0.5 * float(state.w @ state.w) + gap
        state.expected_gap = gap / primal if primal > 0.0 else np.inf
        state.finished = gap == 0.0

    def _visit(self, state: StructuredFrankWolfeState, i: int) -> None:
        problem, cache, cost = state.problem, state.caches[i], float(state.problem.cost[i])
        output = problem.worst(i, state.w)
        psi, loss = problem.plane(i, output)
        own = [b - float(state.w @ p) for b, p in zip(cache.loss, cache.psi, strict=True)]
        mean = float(np.dot(cache.share, own)) if own else 0.0
        found = loss - float(state.w @ psi)
        state.gaps[i] = max(0.0, cost * (max(found, 0.0) - mean))
        if cost > 0.0 and found > max([0.0, *own]):
            self._add(cache, output, psi, loss)
        for _ in range(2 * len(cache.share) + 2):
            if not self._move(state, cache, cost, 1e-3 * state.gaps[i]):
                break

    @staticmethod
    def _extrapolate(state: StructuredFrankWolfeState, before: Vector, old: list[Any]) -> None:
        """Go on along the change of the last pass, as far as the dual objective grows.

        The shares of an example that leave the simplex are brought back into it, so the step is
        kept only if the dual value at the shares that remain is larger.
        """
        problem, change = state.problem, state.w - before
        moved = [
            np.array(cache.share) - np.array([*past, *[0.0] * (len(cache.share) - len(past))])
            for cache, past in zip(state.caches, old, strict=True)
        ]
        slope = -float(state.w @ change)
        for cost, cache, move in zip(problem.cost, state.caches, moved, strict=True):
            slope += float(cost * (move @ np.array(cache.loss))) if move.size else 0.0
        norm = float(change @ change)
        if not (slope > 0.0 and norm > 0.0):
            return
        gain, w, shares = 0.5 * float(state.w @ state.w), np.zeros_like(state.w), []
        for cost, cache, move in zip(problem.cost, state.caches, moved, strict=True):
            share = np.maximum(np.array(cache.share) + (slope / norm) * move, 0.0)
            share /= max(1.0, float(share.sum()))
            shares.append(share)
            for loss, psi, now, was in zip(cache.loss, cache.psi, share, cache.share, strict=True):
                gain += cost * loss * (now - was)
                w += cost * now * psi
        if gain - 0.5 * float(w @ w) > 0.0:
            state.w = w
            for cache, share in zip(state.caches, shares, strict=True):
                cache.share = share.tolist()

    @staticmethod
    def _add(cache: _Cache, output: Any, psi: Vector, loss: float) -> None:
        cache.outputs.append(output)
        cache.psi.append(psi)
        cache.loss.append(loss)
        cache.share.append(0.0)

    @staticmethod
    def _move(state: StructuredFrankWolfeState, cache: _Cache, cost: float, least: float) -> bool:
        """Move share from the worst output to the best one; the right output has ψ = 0."""
        rest = max(0.0, 1.0 - sum(cache.share))
        value = [b - float(state.w @ p) for b, p in zip(cache.loss, cache.psi, strict=True)]
        values, shares = np.array([*value, 0.0]), np.array([*cache.share, rest])
        up = int(np.argmax(values))
        down = int(np.argmin(np.where(shares > 0.0, values, np.inf)))
        gain = float(values[up] - values[down])
        if up == down or not cost * gain > least:
            return False
        planes = [*cache.psi, np.zeros_like(state.w)]
        direction = planes[up] - planes[down]
        norm = cost * float(direction @ direction)
        wanted = gain / norm if norm > 0.0 else np.inf
        step = min(wanted, float(shares[down]))
        if up < len(value):
            cache.share[up] += step
        if down < len(value):
            cache.share[down] = 0.0 if wanted >= shares[down] else cache.share[down] - step
        state.w += cost * step * direction
        return True
