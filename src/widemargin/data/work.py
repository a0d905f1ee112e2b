"""How much work an operation on rows is, in nanoseconds of the machine's prices.

One formula for each operation: what a run has spent and what it is predicted to spend are counted
in the same currency. Nothing here looks at the clock.
"""

from __future__ import annotations

from dataclasses import dataclass

from widemargin.auto.machine import MACHINE
from widemargin.data.cached import cached_property
from widemargin.data.quick_init import quick_init


@dataclass
class Meter:
    """Adds up the work of a run."""

    nanoseconds: float = 0.0

    def add(self, nanoseconds: float) -> None:
        """Count work that was done."""
        self.nanoseconds += nanoseconds


@quick_init
@dataclass(frozen=True)
class Size:
    """Counts of a matrix: what the work on it depends on."""

    rows: int
    weights: int
    values: int

    @cached_property
    def mean(self) -> float:
        """Stored values per row."""
        return self.values / max(1, self.rows)

    @cached_property
    def dense(self) -> bool:
        """Whether every value is stored, up to a constant feature."""
        return self.values >= self.rows * (self.weights - 1) > 0

    def product(self, share: float = 1.0) -> float:
        """Price X w or Xᵀα, over a share of the rows."""
        value = MACHINE.dense_value if self.dense else MACHINE.sparse_value
        return share * (value * self.values + MACHINE.row * self.rows)

    def column_product(self, share: float = 1.0) -> float:
        """Price Xᵀα column after column, over a share of the columns: no row has a price there."""
        value = MACHINE.dense_value if self.dense else MACHINE.column_value
        return share * (value * self.values + MACHINE.column * self.weights)

    def column_sweep(self, visited: float, changed: float) -> float:
        """Price a sweep over a share of the columns of a model, some of which change."""
        return MACHINE.sweep_call + self.column_product(visited + MACHINE.changed_column * changed)

    def curved_product(self, used: float) -> float:
        """Price a product with Σ h_i x_i x_iᵀ: rows whose h_i is zero are left out."""
        return self.product(2.0 * used / max(1, self.rows))

    def extrapolation(self, visit_cost: float) -> float:
        """Price an extrapolation of coordinate descent along the last moves of all examples."""
        return MACHINE.extrapolation * visit_cost * self.rows

    def sweep(self, visit_cost: float, visits: float | None = None) -> float:
        """Price visits of coordinate descent, by default one to every row.

        `visit_cost` is the loss's own: what a step takes beside its row.
        """
        value, far = MACHINE.swept_sparse_value, MACHINE.far_sparse_value
        if self.dense:
            value, far = MACHINE.swept_dense_value, MACHINE.far_dense_value
        value += far * max(0.0, 1.0 - MACHINE.cached_values / max(1, self.values))
        visit = value * self.mean + MACHINE.visit * visit_cost
        return visit * (self.rows if visits is None else visits)

    def gradient_step(self, one_call: bool = False) -> float:
        """Price a step of conjugate gradients with the matrix I + Σ h_i x_i x_iᵀ.

        In one call with others, or called from Python.
        """
        vectors = MACHINE.product_vectors * MACHINE.element * self.weights
        return (0.0 if one_call else MACHINE.gradient_call) + self.product(2.0) + vectors

    def quasi_newton_step(self) -> float:
        """Price a step of L-BFGS."""
        pairs = 4.0 * MACHINE.quasi_pairs * MACHINE.element * self.weights
        return MACHINE.step + self.product(2.0) + self.vectors(MACHINE.newton_vectors) + pairs

    @property
    def short_gradients(self) -> bool:
        """Whether all conjugate gradients of a Newton step can be one call: it is short."""
        return MACHINE.largest_products * self.gradient_step(True) <= MACHINE.call

    def factor_step(self) -> float:
        """Price a Newton step in one call, with a matrix and its factor."""
        return self._factor_step

    @cached_property
    def _factor_step(self) -> float:
        return MACHINE.sweep_call + self.product(3.0) + self.gram() + factor(self.weights)

    @cached_property
    def has_short_steps(self) -> bool:
        """Whether such a step is so short that calls one by one would cost more."""
        return self.weights <= MACHINE.small_weights and self.factor_step() <= MACHINE.small_step

    def short_newton_step(self, products: float) -> float:
        """Price a Newton step in one call, with so many conjugate gradients."""
        rest = self.product(3.0) + self.vectors(MACHINE.newton_vectors)
        return MACHINE.sweep_call + rest + products * self.gradient_step(True)

    def gram_by_blas(self, side: int) -> bool:
        """Whether a Gram matrix of this side is left to BLAS."""
        return side >= MACHINE.blas_side and self.mean >= MACHINE.blas_density * side

    def gram(self, used: float | None = None) -> float:
        """Price Σ h_i x_i x_iᵀ over the rows whose h_i is not zero, by default all."""
        rows = self.rows if used is None else used
        share = self.mean / max(1, self.weights)
        if self.gram_by_blas(self.weights):
            return rows * self.weights**2 * MACHINE.blas_multiply
        if self.dense or share > MACHINE.tile_density:
            return rows * self.weights * (self.weights + 8.0) * MACHINE.tile_multiply
        near = self.weights**2 <= MACHINE.near_values
        multiply = MACHINE.scattered_multiply if near else MACHINE.far_multiply
        return rows * self.mean * (self.mean + 4.0) * multiply

    def block_sweep(self, stride: int, visits: float | None = None) -> float:
        """Price visits of block dual descent over classes in `stride`, by default to every row."""
        value = MACHINE.dense_block_value if self.dense else MACHINE.block_value
        if self.weights * stride > MACHINE.near_values:
            value += MACHINE.far_block_value
        visit = MACHINE.block_visit + (MACHINE.block_class + value * self.mean) * stride
        return visit * (self.rows if visits is None else visits)

    def block_product(self, stride: int, count: float = 1.0) -> float:
        """Price products of all rows with the weights of all classes."""
        return count * (MACHINE.class_multiply * self.values * stride + MACHINE.row * self.rows)

    def block_terms(self, stride: int) -> float:
        """Price the terms of a rounded multiclass loss at given scores, and solving with them."""
        return MACHINE.rounded_term * self.rows * stride

    def class_product(self, stride: int, count: float = 1.0) -> float:
        """Price products of all rows, several at a time, with the weights of all classes."""
        multiply = MACHINE.tiled_class_multiply if self.dense else MACHINE.class_multiply
        return count * (multiply * self.values * stride + MACHINE.row * self.rows)

    def softmax(self, stride: int, count: float = 1.0) -> float:
        """Price the probabilities of all classes at given scores."""
        return count * self.rows * (MACHINE.exponential * stride + MACHINE.row)

    def class_pass(self, stride: int) -> float:
        """Price a product with the weights of all classes, and probabilities."""
        return self.class_product(stride) + self.softmax(stride)

    def multinomial_sweep(self, stride: int) -> float:
        """Price a visit of multinomial dual descent to every row."""
        visit = 2.0 * MACHINE.class_multiply * self.mean * stride
        return self.rows * (visit + 3.0 * MACHINE.exponential * stride + MACHINE.multinomial_visit)

    def row_gram(self) -> float:
        """Price the matrix of all inner products x_i · x_j."""
        product = MACHINE.row_product if self.dense else MACHINE.sparse_row_product
        return product * self.rows * self.values

    def vectors(self, count: float) -> float:
        """Price so many operations on vectors over the rows."""
        return count * MACHINE.element * self.rows


def factor(side: int) -> float:
    """Price the Cholesky factorisation of a matrix, and a solution with it."""
    columns = side / 3.0 + MACHINE.thin_columns
    return MACHINE.small_factor + MACHINE.blas_multiply * side * side * columns


def solve(side: int) -> float:
    """Price solving with a Cholesky factor that is there."""
    return MACHINE.solve_call + MACHINE.solve_entry * side * side
