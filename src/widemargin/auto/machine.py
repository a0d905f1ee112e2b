"""Every number that was measured on a machine, in one place.

`benchmarks/calibrate.py` measures the prices on the machine at hand and rewrites their defaults
here. Decisions compare sums of these prices and never look at the clock, so only their ratios
matter, and the same data give the same decisions on a busy machine. What methods read in their own
steps is in `widemargin.auto.method_numbers`; `MACHINE` has both. Every layer may read it.
"""

from __future__ import annotations

from dataclasses import dataclass

from widemargin.auto.method_numbers import MethodNumbers


@dataclass(frozen=True)
class Machine(MethodNumbers):
    """Prices in nanoseconds of one core, by operation, and numbers of steps.

    Attributes
    ----------
    dense_value, sparse_value : float
        A stored value read by a product with a vector; dense rows are contiguous, sparse ones
        gather.
    row : float
        What a product costs per row beside its values.
    element : float
        An element of a vector over the examples, in one numpy operation.
    swept_dense_value, swept_sparse_value : float
        A stored value of a row that coordinate descent visits: it is read for the margin and again
        for the update.
    far_dense_value, far_sparse_value : float
        What such a value costs on top where the matrix does not stay in the last-level cache.
    cached_values : int
        Stored values of a matrix that does.
    visit : float
        What a visit of coordinate descent costs beside its values, per unit of the loss's own
        `visit_cost`.
    extrapolation : float
        An extrapolation of coordinate descent, per example and unit of `visit_cost`: 22 to 37 ns
        per example of a hinge, 90 to 120 ns of the logistic loss (nine generated fits; not
        calibrated).
    blas_multiply, tile_multiply : float
        A multiplication and addition in a dense product or a large factorisation; in the compiled
        kernels for matrices that are too small for BLAS.
    class_multiply, tiled_class_multiply : float
        A multiplication in a product of rows with the weights of all classes; with several dense
        rows at a time.
    exponential : float
        A probability of one class: an exponential and its share of their sum.
    block_visit, block_class, block_value, dense_block_value : float
        What a visit of block dual descent costs by itself, for each class, and for each stored
        value and class, of sparse and of dense rows.
    search_example, search_class : float
        What a search over the last moves of block dual descent costs per example that is not at
        rest, and for each class (0.22 to 0.25 us for 3 classes, 0.49 to 0.56 us for 20 on five
        cells of the map, 1.3 us on a sixth where most classes moved; not calibrated).
    far_block_value : float
        What such a value costs on top where the weights of all classes do not stay in the
        second-level cache.
    multinomial_visit : float
        What a visit of multinomial dual descent costs beside products and exponentials.
    transposed_value : float
        A stored value of a copy that is stored column after column: 6 ns for 300 columns, 12 to 16
        for a thousand and more (w8a, 20 newsgroups, generated text; not calibrated).
    column_value, column : float
        A stored value of a product column after column of sparse columns (0.5 to 0.85 ns on six
        random matrices of 500 to 200,000 rows; not calibrated), and what a column costs beside its
        values. Of dense columns it costs as much as row after row.
    changed_column : float
        What changing the weight of a column costs, in products with that column (1.3 to 2.6 on the
        same matrices; not calibrated).
    rounded_term : float
        A term of the rounded multiclass loss, per example and class, in a Newton step.
    scattered_multiply, far_multiply : float
        An addition to a place of a matrix by the indices of two stored values: of one that stays in
        the second-level cache, or does not.
    near_values : int
        Values of a matrix that stays there.
    row_product, sparse_row_product : float
        A multiplication in the matrix of all inner products of rows, dense or sparse.
    small_factor, thin_columns : float
        What a factorisation costs beside its multiplications; columns whose multiplications its
        triangles lose while they are small, on top of a third of the side.
    solve_entry, solve_call : float
        Solving with a Cholesky factor for one vector, per entry of a matrix of its side, and its
        call: 97 to 800 weights, 3 and 20 of them in turn (not calibrated).
    sweep_call, gradient_call, step : float
        What a sweep, a step of conjugate gradients and one of a second-order method cost in Python.
    largest_factorised : int
        Weights (or rows) up to which a matrix of that side is formed: 32 MB, and a factorisation of
        about 0.1 s.
    small_problem : int
        Stored values below which a sweep is so cheap that only the number of Python calls counts.
    tiny_problem : int
        Stored values below which any method takes a few milliseconds.
    polished_rows : int
        Rows up to which the matrix of their products is factorised in about a millisecond (by its
        count of operations, not calibrated).
    tiny_blocks : int
        Dual variables of a joint multiclass problem for which that is so.
    dear_matrix : float
        Products with a matrix in place of which it is formed and factorised.
    rows_of_samples : float
        Rows per weight from which steps on samples lead near the solution.
    least_sweeps, stiff_sweeps, stiff_exponent : float
        Sweeps of coordinate descent for four digits on a shape of stiffness κ are about
        least + stiff κ^exponent (median over generated shapes, see benchmarks/atlas).
    tube_sweeps : float
        How many times as many sweeps the plain loss of a tube takes (median of 27 generated shapes:
        2.8, in the middle half of them 1.9 to 11).
    block_sweeps : float
        How many times as many sweeps block descent takes (mean of 52 recorded runs).
    block_told : float
        Sweeps after which block descent has told how hard a problem is: four steps, of which all
        but the first sweep up to three times over the examples that are not at rest.
    joint_unsure : float
        The factor to which the ratio of what sweeps and Newton steps on a joint problem are
        predicted to cost is known (root mean square over 22 cells of the map that both solved; 2.9
        since the weights of all classes are compared with the examples, but the larger one is kept,
        because it decides before anything was seen).
    pair_passes, pair_steps, pair_steps_per_digit : float
        Products with all rows that a step of descent in pairs costs (median over the 14 problems of
        benchmarks/one_class), and the steps that it takes: so many, and so many more for each digit
        of the tolerance (least squares over the same at four tolerances).
    active_rows : float
        Share of the rows whose dual variables stay inside their bounds where costs are large: only
        these take part in what the rows' own curvature bounds.
    telling_sweeps : float
        Sweeps after which they have told how hard the problem is: where a second-order method costs
        no more than so many, and sweeps are not expected to need fewer, it begins.
    pool : tuple of four floats
        Offset, and weights of three forecasts of what sweeps still cost (their later half, all of
        them, what was expected before), in logarithms: least squares over recorded runs
        (`benchmarks.atlas.fit`), but leaning less on what was expected. They leave a factor of 2.5.
    quasi_pool : tuple of four floats
        The same for the steps of L-BFGS (102 recorded cells); they leave a factor of 2.9.
    evidence : float
        What was spent times what is predicted, as a share of the rival's price squared, from which
        a prediction is believed. Replayed, the regret is flat between 0.1 and 0.2.
    sweeps_error, steps_error, class_error : float
        Standard deviations of the logarithms of what sweeps, and other methods, take over what is
        predicted (52 one-vs-rest problems of generated shapes: 0.9 to 1.2, and 0.3 to 0.9), and of
        what a method takes on two classes of the same fit (0.1 to 0.4).
    newton_steps, newton_stiff_steps, newton_steps_per_digit, sampled_steps : float
        Newton steps, how many more for each digit of the stiffness, the share of them that each
        digit of the tolerance beyond the fourth adds, and their share where samples come first
        (medians likewise).
    sorting_rows, sorting_steps, inexact_sorting_steps, sorting_products : float, pairs of floats
        Where the loss is quadratic on pieces and rows per weight are no more than `sorting_rows`,
        Newton steps with a factor, those by conjugate gradients, and the gradients of a step beyond
        the first are the first number times the stiffness to the second one (least squares over 63,
        65 and 60 generated shapes, which leave factors of 1.7, 1.6 and 1.6).
    proximal_steps, proximal_steps_per_digit, interior_steps, interior_steps_per_digit : float
        Their steps, and how many more per digit of the gap and of the stiffness (likewise).
    newton_products, proximal_products, interior_products : float
        Products with the data in a step beside its matrix, in products over all rows; samples, and
        rows that do not change, are left out (medians likewise).
    newton_matrix, interior_matrix : float
        The matrix of a step as a share of a Gram matrix of all rows: near the solution only rows
        that change are added, or counted (medians likewise).
    corner_rows : float
        Rows per weight that a proximal step forms its matrix of, those apart that the matrix before
        had (chosen among a few values by replaying recorded runs).
    free_steps : float
        Interior point's share of its steps where rows are no more than weights (median likewise).
    proximal_call, interior_call, bounded_call, multiclass_call, multinomial_call : float
        What a step costs in Python, in multiples of `step`.
    gradient_steps, gradient_stiffness : float
        Conjugate gradients of a Newton step with the diagonal are 1 + steps κ^power at stiffness κ
        (55 runs; all of them of a fit come out 1.5 times too many on average, on the safe side, and
        single runs are off by a factor of 1.6 for the logistic loss, 2.5 for the squared hinge).
    quasi_steps, free_quasi_steps : tuples of three floats
        Steps of L-BFGS: the least, the power of the root of the condition number that they grow
        with, and that of the sum of the eigenvalues that the rows add. Least squares over 348 runs
        of generated shapes; single runs are off by a factor of 1.6. Where rows are fewer than
        weights, the third is the power of the mean eigenvalue (141 runs, a factor of 2.5).
    chain_visits, chain_steps : float, tuple of two floats
        Losses and gradients of all sentences that a pass of exponentiated gradients costs (3.6 on
        CoNLL-2000, 4.2 on the OCR words: a visit evaluates a sentence a few times); steps of L-BFGS
        on a chain problem at stiffness κ: the least, times (1 + κ)^power. Set by hand: over 67 runs
        on three sets of sentences, C from 0.01 to 1e6 and features times 0.01 to 1000, the median
        is right and 57 are within a factor of 4; least squares give 16 and 0.29 (not calibrated).
    factor_steps : float
        Steps of L-BFGS that follow a factor of the Hessian: the median over 17 logistic fits of
        generated shapes, of which 14 took one factor and three more.
    products_per_digit, product_vectors : float
        Conjugate gradients of a proximal step per digit of the stiffness (median likewise), and
        vectors over the weights in each.
    multiclass_steps, multiclass_step_products : float
        Newton steps on a joint multiclass problem, and products with the data in each beside its
        system.
    multinomial_steps, multinomial_step_products, multinomial_matrices : float
        The same on a multinomial problem, and the matrices that its steps form in all.
    diagonal_products : float
        How many times the products where there are too many weights for a matrix, and only the
        diagonal preconditions (not calibrated).
    first_columns : int
        Columns of the first working set where weights are sparse; below four times as many, all
        columns are in it. The matrix of so many costs less than the call that forms it.
    matrix_entry : float
        An entry of the matrix of a model of sparse weights, beside what is added to it.
    matrix_sweeps, column_sweeps, mean_column_sweeps, column_steps, column_matrices : float
        Sweeps over the matrix of a model of sparse weights, and over its columns, in a step; the
        steps of a fit by columns; the matrices of the largest working set that one by matrices
        costs. The first is set by hand; the others are medians over 24 shapes drawn at random
        (`benchmarks.column_steps`), with quartiles from 4 to 12, from 4 to 6.5 and from 3 to 5.
        Prices take the mean of the sweeps in a step: the few fits that take many cost the most.
    sweeps_per_round : float
        What incremental sweeps of the robust methods may cost, as a share of a round on the
        undecided examples.
    """

    dense_value: float = 0.47
    sparse_value: float = 1.0
    row: float = 5.0
    element: float = 0.4
    swept_dense_value: float = 0.6
    swept_sparse_value: float = 2.1
    far_dense_value: float = 0.6
    far_sparse_value: float = 1.9
    cached_values: int = 2_000_000
    visit: float = 2.1
    extrapolation: float = 1.2
    blas_multiply: float = 0.032
    tile_multiply: float = 0.09
    class_multiply: float = 0.1
    tiled_class_multiply: float = 0.05
    exponential: float = 3.0
    multinomial_visit: float = 250.0
    block_visit: float = 160.0
    block_class: float = 13.0
    block_value: float = 0.31
    dense_block_value: float = 0.25
    search_example: float = 200.0
    search_class: float = 15.0
    far_block_value: float = 1.1
    transposed_value: float = 13.0
    column_value: float = 0.6
    column: float = 10.0
    changed_column: float = 1.5
    rounded_term: float = 40.0
    scattered_multiply: float = 0.5
    far_multiply: float = 1.3
    near_values: int = 131_072
    row_product: float = 0.06
    sparse_row_product: float = 0.5
    small_factor: float = 5000.0
    thin_columns: float = 60.0
    solve_entry: float = 0.66
    solve_call: float = 1350.0
    sweep_call: float = 20000.0
    gradient_call: float = 25000.0
    step: float = 100000.0

    largest_factorised: int = 2000
    small_problem: int = 20_000
    tiny_problem: int = 2_500
    polished_rows: int = 100
    tiny_blocks: int = 128
    dear_matrix: float = 10.0
    rows_of_samples: float = 50.0

    least_sweeps: float = 4.0
    stiff_sweeps: float = 12.0
    stiff_exponent: float = 0.6
    tube_sweeps: float = 2.8
    block_sweeps: float = 3.0
    block_told: float = 13.0
    joint_unsure: float = 3.8
    pair_passes: float = 4.0
    pair_steps: float = 0.5
    pair_steps_per_digit: float = 0.5
    active_rows: float = 0.45
    telling_sweeps: float = 40.0
    pool: tuple[float, float, float, float] = (-0.4, 0.15, 0.3, 0.4)
    quasi_pool: tuple[float, float, float, float] = (-0.2, 0.3, 0.45, 0.1)
    evidence: float = 0.2
    sweeps_error: float = 1.0
    steps_error: float = 0.7
    class_error: float = 0.35
    newton_steps: float = 4.0
    newton_stiff_steps: float = 1.1
    sorting_steps: tuple[float, float] = (1.8, 0.24)
    inexact_sorting_steps: tuple[float, float] = (1.7, 0.37)
    sorting_products: tuple[float, float] = (3.4, 0.28)
    newton_steps_per_digit: float = 0.15
    sampled_steps: float = 0.8
    sorting_rows: float = 4.0
    proximal_steps: float = 7.0
    proximal_steps_per_digit: float = 3.0
    interior_steps: float = 5.0
    interior_steps_per_digit: float = 1.4
    newton_products: float = 1.7
    proximal_products: float = 2.7
    interior_products: float = 7.0
    newton_matrix: float = 0.45
    interior_matrix: float = 0.75
    corner_rows: float = 2.0
    free_steps: float = 0.7
    proximal_call: float = 1.2
    interior_call: float = 2.0
    bounded_call: float = 2.0
    multiclass_call: float = 3.0
    multinomial_call: float = 3.0
    gradient_steps: float = 2.0
    gradient_stiffness: float = 0.18
    quasi_steps: tuple[float, float, float] = (2.1, 0.54, 0.13)
    free_quasi_steps: tuple[float, float, float] = (3.2, 1.25, 0.25)
    chain_visits: float = 4.0
    chain_steps: tuple[float, float] = (20.0, 0.25)
    factor_steps: float = 9.0
    products_per_digit: float = 4.0
    product_vectors: float = 12.0
    multiclass_steps: float = 36.0
    multiclass_step_products: float = 11.0
    multinomial_steps: float = 7.0
    multinomial_step_products: float = 12.0
    multinomial_matrices: float = 2.0
    diagonal_products: float = 3.0
    first_columns: int = 64
    matrix_entry: float = 4.0
    matrix_sweeps: float = 40.0
    column_sweeps: float = 6.1
    mean_column_sweeps: float = 10.7
    column_steps: float = 5.0
    column_matrices: float = 4.0
    sweeps_per_round: float = 0.3


MACHINE = Machine()
