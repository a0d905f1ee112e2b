"""The constraint ‖w‖ ≤ λ inside an interior point: one class per norm.

Each keeps its own slacks and multipliers, adds its block to the matrix in (w, λ), gives its part of
the right-hand side, and recovers its own step. The blocks are diagonal but for one rank; slacks
carry their own residuals, so that a slack near zero keeps its digits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


class NormCone(Protocol):
    """What the interior point asks of ‖w‖ ≤ λ."""

    in_range: bool
    """Whether floating point holds the numbers of the step that was prepared."""

    @property
    def degree(self) -> int:
        """How many products of slack and multiplier there are."""

    def multipliers(self) -> tuple[Vector, float]:
        """Return what the constraint contributes to the conditions of w and of λ."""

    def gap(self) -> float:
        """Return the sum of the products of slacks and multipliers."""

    def prepare(self, w: Vector, price: float) -> None:
        """Compute what one step needs at (w, λ)."""

    def add_to(self, matrix: Matrix, place: int) -> None:
        """Add the block; λ is row `place`, the weights come first."""

    def product(self, dw: Vector, dprice: float) -> tuple[Vector, float]:
        """Return the block times (dw, dλ)."""

    def solve_with(
        self, diagonal: Vector, corner: float, right: Vector, right_price: float
    ) -> tuple[Vector, float]:
        """Solve with the block plus a diagonal, `corner` for λ."""

    def pull(self, target: float, corrects: bool) -> tuple[Vector, float]:
        """Return the right-hand sides of w and λ for products equal to `target`."""

    def direct(self, dw: Vector, dprice: float) -> tuple[float, float]:
        """Compute the own step; return the largest relative falls of slacks and multipliers."""

    def gap_after(self, slack_length: float, multiplier_length: float) -> float:
        """Return the gap that these lengths of the own step would leave."""

    def move(self, slack_length: float, multiplier_length: float) -> None:
        """Take the own step."""


class _Pairs:
    """Slacks in two rows, upper − w and upper + w, with multipliers; upper is λ or t."""

    def __init__(self, w: Vector, upper: Vector | float, multiplier: float) -> None:
        self.slack = np.stack([upper - w, upper + w])
        self.multiplier = np.full((2, w.size), multiplier)
        self.d_slack = np.zeros_like(self.slack)
        self.d_multiplier = np.zeros_like(self.slack)

    def prepare(self, w: Vector, upper: Vector | float) -> None:
        self.ratio = self.multiplier / self.slack
        self.residual = np.stack([upper - w, upper + w]) - self.slack
        self.total = self.ratio.sum(axis=0)
        self.difference = self.ratio[1] - self.ratio[0]

    def gap(self) -> float:
        """Return Σ slack · multiplier."""
        return float(np.vdot(self.slack, self.multiplier))

    def aim(self, target: float, corrects: bool) -> None:
        products = target - self.multiplier * self.slack
        if corrects:
            products -= self.d_slack * self.d_multiplier
        self.q = products / self.slack - self.ratio * self.residual

    def direct(self, dw: Vector, dupper: Vector | float) -> tuple[float, float]:
        change = np.stack([dupper - dw, dupper + dw])
        self.d_slack = change + self.residual
        self.d_multiplier = self.q - self.ratio * change
        return (
            float(np.max(-self.d_slack / self.slack)),
            float(np.max(-self.d_multiplier / self.multiplier)),
        )

    def gap_after(self, slack_length: float, multiplier_length: float) -> float:
        slack = self.slack + slack_length * self.d_slack
        return float(np.vdot(slack, self.multiplier + multiplier_length * self.d_multiplier))

    def move(self, slack_length: float, multiplier_length: float) -> None:
        self.slack = self.slack + slack_length * self.d_slack
        self.multiplier = self.multiplier + multiplier_length * self.d_multiplier


class BoxCone(_Pairs):
    """‖w‖_∞ ≤ λ: λ − w_j ≥ 0 and λ + w_j ≥ 0."""

    in_range = True

    def __init__(self, w: Vector, price: float, share: float) -> None:
        super().__init__(w, price, share / (2 * w.size))
        self.degree = 2 * w.size

    def multipliers(self) -> tuple[Vector, float]:
        """Return (u₋ − u₊, Σ(u₊ + u₋))."""
        u = self.multiplier
        return u[1] - u[0], float(u.sum())

    def add_to(self, matrix: Matrix, place: int) -> None:
        """Add a diagonal and a border."""
        d = self.total.size
        np.einsum("ii->i", matrix)[:d] += self.total
        matrix[:d, place] += self.difference
        matrix[place, :d] += self.difference
        matrix[place, place] += self.total.sum()

    def product(self, dw: Vector, dprice: float) -> tuple[Vector, float]:
        """Multiply by the diagonal and the border."""
        price = float(self.difference @ dw) + float(self.total.sum()) * dprice
        return self.total * dw + self.difference * dprice, price

    def solve_with(
        self, diagonal: Vector, corner: float, right: Vector, right_price: float
    ) -> tuple[Vector, float]:
        """Eliminate the weights."""
        held = 1.0 / (diagonal + self.total)
        # Σ total − Σ difference² held, as a sum of terms that are not negative
        left = held * (diagonal * self.total + 4.0 * self.ratio[0] * self.ratio[1])
        price = right_price - float(self.difference @ (held * right))
        price /= corner + float(left.sum())
        return held * (right - self.difference * price), price

    def pull(self, target: float, corrects: bool) -> tuple[Vector, float]:
        """Return the right-hand sides."""
        self.aim(target, corrects)
        return self.q[1] - self.q[0], float(self.q.sum())


class SumCone:
    """‖w‖_1 ≤ λ: t_j ≥ |w_j| and Σ t_j ≤ λ, with t eliminated: a diagonal plus one rank."""

    in_range = True

    def __init__(self, w: Vector, price: float, share: float) -> None:
        self.degree = 2 * w.size + 1
        self.t = np.abs(w) + (price - float(np.abs(w).sum())) / (2 * w.size)
        self.pairs = _Pairs(w, self.t, 0.5 * share)
        self.slack = price - float(self.t.sum())
        self.multiplier = share
        self.d_slack = self.d_multiplier = 0.0

    def multipliers(self) -> tuple[Vector, float]:
        """Return (u₋ − u₊, u₀)."""
        u = self.pairs.multiplier
        return u[1] - u[0], self.multiplier

    def gap(self) -> float:
        """Return Σ slack · multiplier."""
        return self.pairs.gap() + self.slack * self.multiplier

    def prepare(self, w: Vector, price: float) -> None:
        """Take the ratios at (w, λ), and eliminate t."""
        pairs = self.pairs
        pairs.prepare(w, self.t)
        self.residual = price - float(self.t.sum()) - self.slack
        self.residual_t = self.multiplier - pairs.multiplier.sum(axis=0)
        self.diagonal = 4.0 * pairs.ratio[0] * pairs.ratio[1] / pairs.total
        self.rho = pairs.difference / pairs.total
        self.tau = self.slack / self.multiplier + float((1.0 / pairs.total).sum())

    def add_to(self, matrix: Matrix, place: int) -> None:
        """Add 4 D₊D₋/(D₊ + D₋) and (ρ, 1)(ρ, 1)ᵀ/τ."""
        d = self.rho.size
        matrix[:d, :d] += np.outer(self.rho, self.rho / self.tau)
        np.einsum("ii->i", matrix)[:d] += self.diagonal
        matrix[:d, place] += self.rho / self.tau
        matrix[place, :d] += self.rho / self.tau
        matrix[place, place] += 1.0 / self.tau

    def product(self, dw: Vector, dprice: float) -> tuple[Vector, float]:
        """Multiply by the diagonal and the rank."""
        rank = (float(self.rho @ dw) + dprice) / self.tau
        return self.diagonal * dw + rank * self.rho, rank

    def solve_with(
        self, diagonal: Vector, corner: float, right: Vector, right_price: float
    ) -> tuple[Vector, float]:
        """Eliminate the weights, with what the rank contributes as an unknown of its own."""
        held = 1.0 / (diagonal + self.diagonal)
        leaning = held * self.rho
        rank = corner * float(leaning @ right) + right_price
        rank /= corner * (float(leaning @ self.rho) + self.tau) + 1.0
        dw = held * right - leaning * rank
        return dw, self.tau * rank - float(self.rho @ dw)

    def pull(self, target: float, corrects: bool) -> tuple[Vector, float]:
        """Return the right-hand sides."""
        pairs = self.pairs
        pairs.aim(target, corrects)
        product = target - self.multiplier * self.slack
        if corrects:
            product -= self.d_slack * self.d_multiplier
        self.phi = pairs.q.sum(axis=0) - self.residual_t
        # The change of the sum's multiplier at dw = 0, dλ = 0.
        self.start = (
            product / self.multiplier - self.residual + float((self.phi / pairs.total).sum())
        ) / self.tau
        return pairs.q[1] - pairs.q[0] - self.rho * (self.phi - self.start), self.start

    def direct(self, dw: Vector, dprice: float) -> tuple[float, float]:
        """Recover t, then the own step."""
        self.d_multiplier = self.start - (dprice + float(self.rho @ dw)) / self.tau
        self.d_t = (self.phi - self.d_multiplier) / self.pairs.total - self.rho * dw
        self.d_slack = dprice - float(self.d_t.sum()) + self.residual
        slack, multiplier = self.pairs.direct(dw, self.d_t)
        return (
            max(slack, -self.d_slack / self.slack),
            max(multiplier, -self.d_multiplier / self.multiplier),
        )

    def gap_after(self, slack_length: float, multiplier_length: float) -> float:
        """Return the gap after a step."""
        slack = self.slack + slack_length * self.d_slack
        multiplier = self.multiplier + multiplier_length * self.d_multiplier
        return self.pairs.gap_after(slack_length, multiplier_length) + slack * multiplier

    def move(self, slack_length: float, multiplier_length: float) -> None:
        """Take the step."""
        self.pairs.move(slack_length, multiplier_length)
        self.t = self.t + slack_length * self.d_t
        self.slack += slack_length * self.d_slack
        self.multiplier += multiplier_length * self.d_multiplier


class RoundCone:
    """‖w‖_2 ≤ λ: the second-order cone with the scaling of Nesterov and Todd.

    The scaling W takes (λ, w) and its multipliers to the same vector ν; the block is W⁻².
    """

    degree = 1

    def __init__(self, w: Vector, price: float, share: float) -> None:
        self.x = np.concatenate([[price], w])
        self.z = np.zeros(w.size + 1)
        self.z[0] = share
        self.dx = self.dz = np.zeros_like(self.x)

    def multipliers(self) -> tuple[Vector, float]:
        """Return the multipliers of w and of λ."""
        return self.z[1:], float(self.z[0])

    def gap(self) -> float:
        """Return (λ, w) · multipliers."""
        return float(self.x @ self.z)

    def prepare(self, w: Vector, price: float) -> None:
        """Find the scaling at (w, λ)."""
        self.x = np.concatenate([[price], w])
        long, short = np.sqrt(_determinant(self.x)), np.sqrt(_determinant(self.z))
        self.size = float(np.sqrt(long / short))
        # The block has size⁻².
        self.in_range = 1e-150 < self.size < 1e150
        if not self.in_range:
            return
        x, z = self.x / long, self.z / short
        half = np.sqrt(0.5 * (1.0 + float(x @ z)))
        self.centre = (x - z) / (2.0 * half)
        self.centre[0] = (x[0] + z[0]) / (2.0 * half)
        self.nu = self._scale(self.z)

    def _scale(self, v: Vector) -> Vector:
        """Return W v."""
        inner = float(self.centre[1:] @ v[1:])
        out = v + (v[0] + inner / (1.0 + self.centre[0])) * self.centre
        out[0] = self.centre[0] * v[0] + inner
        return self.size * out

    def _unscale(self, v: Vector) -> Vector:
        """Return W⁻¹ v."""
        inner = float(self.centre[1:] @ v[1:])
        out = v + (inner / (1.0 + self.centre[0]) - v[0]) * self.centre
        out[0] = self.centre[0] * v[0] - inner
        return out / self.size

    def add_to(self, matrix: Matrix, place: int) -> None:
        """Add W⁻² = (2 c cᵀ − J)/η², c the reflected centre."""
        d = self.x.size - 1
        factor = self.size**-2
        c0, c = float(self.centre[0]), self.centre[1:]
        matrix[:d, :d] += np.outer(2.0 * factor * c, c)
        np.einsum("ii->i", matrix)[:d] += factor
        matrix[:d, place] -= 2.0 * factor * c0 * c
        matrix[place, :d] -= 2.0 * factor * c0 * c
        matrix[place, place] += factor * (2.0 * c0 * c0 - 1.0)

    def product(self, dw: Vector, dprice: float) -> tuple[Vector, float]:
        """Multiply by W⁻²."""
        factor = self.size**-2
        c0, c = float(self.centre[0]), self.centre[1:]
        inner = 2.0 * factor * (c0 * dprice - float(c @ dw))
        return factor * dw - inner * c, c0 * inner - factor * dprice

    def solve_with(
        self, diagonal: Vector, corner: float, right: Vector, right_price: float
    ) -> tuple[Vector, float]:
        """Eliminate the weights, with c·(λ, −w) as an unknown of its own."""
        factor = self.size**-2
        c0, c = float(self.centre[0]), self.centre[1:]
        held = 1.0 / (diagonal + factor)
        own = 1.0 + 2.0 * factor * float(c @ (held * c))
        first = -float(c @ (held * right))
        # own t − c0 λ = first,  2 factor c0 t + (corner − factor) λ = right. As c0² = 1 + ‖c‖², the
        # determinant is a sum of numbers that are not negative.
        curved = 1.0 + 2.0 * float(c @ (diagonal * held * c))
        determinant = max(own * corner + factor * curved, 1e-300)
        inner = (first * (corner - factor) + c0 * right_price) / determinant
        price = (own * right_price - 2.0 * factor * c0 * first) / determinant
        return held * (right + 2.0 * factor * inner * c), price

    def leaning(self) -> Vector:
        """Return the direction of the rank, in the weights."""
        return self.centre[1:]

    def pull(self, target: float, corrects: bool) -> tuple[Vector, float]:
        """Return the right-hand sides."""
        nu = self.nu
        right = -_jordan(nu, nu)
        right[0] += target
        if corrects:
            right -= _jordan(self._unscale(self.dx), self._scale(self.dz))
        solved = np.empty_like(nu)
        solved[0] = (nu[0] * right[0] - float(nu[1:] @ right[1:])) / _determinant(nu)
        solved[1:] = (right[1:] - solved[0] * nu[1:]) / nu[0]
        self.q = self._unscale(solved)
        return self.q[1:], float(self.q[0])

    def direct(self, dw: Vector, dprice: float) -> tuple[float, float]:
        """Compute the own step."""
        self.dx = np.concatenate([[dprice], dw])
        self.dz = self.q - self._unscale(self._unscale(self.dx))
        return _fall(self.x, self.dx), _fall(self.z, self.dz)

    def gap_after(self, slack_length: float, multiplier_length: float) -> float:
        """Return the gap after a step."""
        return float((self.x + slack_length * self.dx) @ (self.z + multiplier_length * self.dz))

    def move(self, slack_length: float, multiplier_length: float) -> None:
        """Take the step."""
        self.x = self.x + slack_length * self.dx
        self.z = self.z + multiplier_length * self.dz


def _determinant(x: Vector) -> float:
    """Return x₀² − ‖x₁‖² as a product."""
    length = float(np.linalg.norm(x[1:]))
    return max((float(x[0]) - length) * (float(x[0]) + length), 1e-300)


def _jordan(x: Vector, y: Vector) -> Vector:
    product = x[0] * y + y[0] * x
    product[0] = x @ y
    return product


def _fall(x: Vector, dx: Vector) -> float:
    """Return one over the longest step that stays in the cone; zero if none leaves it."""
    a = float(dx[0] ** 2 - dx[1:] @ dx[1:])
    b = float(x[0] * dx[0] - x[1:] @ dx[1:])
    c = _determinant(x)
    # The step t solves a t² + 2 b t + c = 0; its inverse is the largest root of c r² + 2 b r + a.
    squared = b * b - a * c
    if squared <= 0.0:
        return max(0.0, -float(dx[0] / x[0]))
    root = np.sqrt(squared)
    largest = (root - b) / c if b <= 0.0 else -a / (b + root)
    return max(0.0, float(largest), -float(dx[0] / x[0]))


CONES: dict[float, Callable[[Vector, float, float], NormCone]] = {
    1.0: SumCone,
    2.0: RoundCone,
    np.inf: BoxCone,
}
