"""Numbers measured on a machine that the methods read themselves: see `widemargin.auto.machine`.

They say how much a call does, how much memory is kept, and from which size on a method does one
thing rather than another within its own steps. This module imports nothing: `Machine` has them too.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class MethodNumbers:
    """Sizes, shares and counts at which the methods change what they do.

    Attributes
    ----------
    call : float
        Nanoseconds of one compiled call. Longer work is cut into such calls, with a checkpoint
        after each, so that interrupts and time limits are seen.
    hand_out : float
        Nanoseconds of work from which threads share it: to wake one and to wait for it takes some
        fifty microseconds.
    seek_bytes : int
        Bytes that a disk reads in the time that it takes to begin at another place.
    kernel_block, kernel_steps : int
        Entries of a kernel matrix, or scores, that are computed at once; entries that the steps of
        one call read.
    kernel_work, kernel_factor : float
        Multiplications of one compiled call on the rows of a kernel matrix: some 30 ms; passes over
        it, per row, that its eigenvalues and vectors cost.
    most_kept, most_matrices : int
        Values that a method keeps beside the data, as scores or rows, and as matrices: 160 and
        480 MB.
    largest_robust, largest_multiclass, largest_averaged : int
        Sides up to which the matrix of the robust interior point, of all classes together and of
        the mean of lanes is factorised: about 1 s, 20 ms and 10 ms.
    blas_side, blas_density, blas_rows : int, float, int
        Weights and share of stored values from which a Gram matrix is left to BLAS, whose kernels
        then make up for the zeros, and rows per block of it.
    tile_density : float
        The share of stored values from which the compiled kernel works by tiles, as
        core/kernels/gram.hpp does.
    largest_copy : int
        Bytes of a dense copy of sparse rows, at most: 256 MB, next to what a fit itself takes.
    small_weights, small_step, small_values : int, float, int
        Weights, and nanoseconds of a Newton step with a factor, up to which it is one compiled
        call; beyond, its matrix may rather follow the few rows that change. For multinomial steps,
        rows times the weights of all classes up to which they are.
    small_call, small_steps : float
        What such a step costs in Python, as a share of `step`; what the steps of one call may come
        to, in multiples of it: asking the policy after a call then adds about a tenth.
    formed_products, formed_anyway : float
        A matrix is formed where it costs no more than so many products with it, or so many
        nanoseconds.
    tried_instead, fewest_products, largest_products : float, int, int
        Share of what a matrix and its factor cost that conjugate gradients with the diagonal, or
        L-BFGS, may spend instead (over recorded runs 0.5 is better than 0.25 and 1); products that
        it has to pay for; and at most where the matrix is too large to be formed.
    most_products, stale_products : int
        Conjugate gradients of a Newton step at most (twice as many, and the matrix is formed from
        then on), and after which a factor is renewed from a sample.
    factor_rows, few_changes : float
        Rows per weight of that sample; rows come and gone, as a share of those there, up to which a
        matrix follows them.
    many_rows : int
        Rows per weight from which samples tell about the rest, however clean the labels.
    sample_rows, last_sample_rows, least_sample : int
        Rows per weight of the smallest sample of all, and of the largest, which is a third of the
        rows instead of a quarter if it would have fewer; the fewest rows of a sample.
    sampled_step : float
        Nanoseconds of a step on all rows from which the first steps of a loss with second
        derivatives are taken on samples: there are few, and going on to more rows costs a few
        steps in Python (28 fits of 2,200 to 20,000 rows: 0.64 to 1.06 of the time without samples
        below it, 0.84 to 1.06 above).
    clean_sparse, clean : float
        The loss of sampled examples at their first visit, as a share of that at w = 0, up to which
        sweeps lead nearer than samples: for losses that leave examples alone (0.46 where they did,
        0.65 where not), and for others (0.25 and 0.45).
    lane_sample, lane_products, lane_renewal : int
        Rows per weight of the matrix that preconditions all lanes, conjugate gradients at most, and
        those above which it is made anew.
    multiclass_products, multinomial_products : int
        Conjugate gradients of a multiclass Newton step at most, and of a multinomial one.
    joint_products : float
        Those that a multiclass step takes (43 steps of one run: median 7, mean 9; not calibrated).
    easy_products : int
        Products per step of the robust interior point up to which the simpler preconditioner is the
        better one.
    extrapolate_after, search_after : int
        Visited values per weight after which an extrapolation of coordinate descent, and a search
        over the last moves of block descent, is worth its price.
    large_weights, many_classes : int
        Weights of all classes from which such a search costs as much as a sweep; classes up to
        which a pass over all of them costs no more than one over a few.
    block_products, most_lanes : int
        Stored values times classes that one call of block descent visits at most; lanes of one
        sweep: the weights of a feature are one line of cache.
    working_set, largest_working_set, joint_set : int
        Examples that join a working set of kernel dual descent at a time at most, and its members
        at most: their matrix is 16 MB; members in a joint multiclass problem, where smaller sets
        have to be solved again and again: 7 sets for 86 of 256 on digits.
    newton_vectors, proximal_vectors, interior_vectors : float
        Operations on vectors over the examples in one step of the second-order methods, the line
        search's among them.
    copied_columns, copy_saves : float
        Products that a copy of some columns as rows costs (3 to 4 on w8a and 20 newsgroups), and
        the share of work on columns where they are that a copy saves (0.3 to 0.6 there).
    quasi_pairs : int
        Moves that L-BFGS remembers, as SciPy's does.
    averaged_gap : float
        The gap of cached Frank-Wolfe at the average of many passes, as a share of what the visits
        of the last one saw: 0.59 to 0.62 on the OCR words (not calibrated).
    fold_lanes, lane_classes, lane_sweeps : int
        Folds that are solved side by side at most; classes from which side by side is faster than
        one by one; sweeps after which the classes that are not done go on alone.
    coarse_steps, examples_per_step : int
        Sweeps or steps of a search at a C that is out of the question; visits of an incremental
        method in one step, so that Python's share stays small.
    written_value : float
        A stored value written to a text file, in nanoseconds.
    """

    call: float = 2e7
    hand_out: float = 2e5
    seek_bytes: int = 65_536
    kernel_block: int = 4_000_000
    kernel_steps: int = 20_000_000
    kernel_work: float = 3e8
    kernel_factor: float = 4.0
    most_kept: int = 20_000_000
    most_matrices: int = 60_000_000
    largest_robust: int = 4000
    largest_multiclass: int = 1100
    largest_averaged: int = 1000
    blas_side: int = 96
    blas_density: float = 0.22
    blas_rows: int = 256
    tile_density: float = 0.33
    largest_copy: int = 2**28
    small_weights: int = 128
    small_step: float = 6.5e5
    small_values: int = 40_000
    small_call: float = 0.25
    small_steps: float = 8.0
    formed_products: float = 4.0
    formed_anyway: float = 5e6
    tried_instead: float = 0.5
    fewest_products: int = 8
    largest_products: int = 100
    most_products: int = 30
    stale_products: int = 12
    factor_rows: int = 20
    few_changes: float = 0.3
    many_rows: int = 200
    sample_rows: int = 10
    last_sample_rows: int = 50
    least_sample: int = 500
    sampled_step: float = 5e5
    clean_sparse: float = 0.5
    clean: float = 0.3
    lane_sample: int = 30
    lane_products: int = 60
    lane_renewal: int = 4
    multiclass_products: int = 100
    joint_products: float = 8.0
    multinomial_products: int = 200
    easy_products: int = 60
    extrapolate_after: int = 16
    search_after: int = 8
    large_weights: int = 200_000
    many_classes: int = 32
    block_products: int = 24_000_000
    working_set: int = 128
    largest_working_set: int = 2048
    joint_set: int = 512
    most_lanes: int = 8
    newton_vectors: float = 90.0
    copied_columns: float = 4.0
    copy_saves: float = 0.5
    quasi_pairs: int = 10
    proximal_vectors: float = 15.0
    interior_vectors: float = 400.0
    averaged_gap: float = 0.6
    fold_lanes: int = 16
    lane_classes: int = 3
    lane_sweeps: int = 12
    coarse_steps: int = 12
    written_value: float = 50.0
    examples_per_step: int = 16_384
