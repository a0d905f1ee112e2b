"""Constants outside auto/machine.py, each with the reason why it is no measurement."""

from __future__ import annotations

from method_number_reasons import REASONS_OF_METHODS

REASONS: dict[str, dict[str, str]] = {
    **REASONS_OF_METHODS,
    "report/certificate.py": {"MOST_PICTURES": "what fits on a page"},
    "report/charts.py": dict.fromkeys(
        ("WIDTH", "HEIGHT", "LEFT", "RIGHT", "TOP", "BOTTOM"), "a length of a drawing"
    ),
    "report/quality.py": dict.fromkeys(("MOST_CLASSES", "_BINS"), "what fits on a page"),
    "report/robust.py": dict.fromkeys(("_RADII", "_MOST_CLASSES"), "what fits on a page"),
    "report/rows.py": dict.fromkeys(("MOST_DRAWN", "_BINS", "_HARDEST"), "what fits on a page"),
    "report/trace.py": {
        "ENOUGH": "points that make a picture",
        "QUICK": "seconds that a page may take: a contract with its reader",
    },
    "report/weights.py": dict.fromkeys(("MOST_CLASSES", "_TOP"), "what fits on a page"),
    "auto/contest.py": {
        "_LOAN": "the factor of the bound on regret",
        "_MOST_LEGS": "loans double: a bound that keeps the loop finite",
    },
    "auto/sparse_weights.py": {
        "_COUNTED_AT": "the tolerance of the fits that were counted, in the median",
        "_HAND_OVER": "products of a certificate and of a start, counted",
        "_MOST_LEGS": "prices double: a bound that keeps the loop finite",
    },
    "data/columns.py": {"_SPARE": "a bound on the growth of a working set"},
    "exact/sparse_weights.py": {"_SCALE_BITS": "a precision far beyond that of the numbers"},
    "problems/linear.py": {"_EXACT": "a share of a tolerance"},
    "problems/rules.py": {"NEVER": "its exponential is zero"},
    "selection/path.py": {"_SPARSE_VALUES": "the default of an argument"},
    "auto/prediction.py": {
        "_FEWEST": "steps that a rate needs",
        "_FARTHEST": "finite logarithms",
        "_SATURATED": "D below a tenth of P",
        "_PUT_RIGHT": "a share of the misplaced examples, between those of two kinds of fits",
        "_MOST_OUTSIDE": "a share of the rows: the others are few",
        "_STANDING": "a share of the misplaced examples above which sweeps never won",
        "_TELLING": "sweeps that such a share needs",
    },
    "auto/prices.py": {
        "_UNSURE": "a standard deviation of two guessed prices",
        "_LEADS": "most of the norms",
        "_LOOK": "a share that does not matter",
    },
    "auto/robust_stages.py": {
        "_PATIENCE": "steps without progress that count as none",
        "_STAGE": "the sweeps of a stage, twice SHORTEST",
    },
    "auto/search.py": {
        "SOLVED_TO": "an accuracy, relative to the argument search_tol",
        "_SMALL_TOL": "an accuracy",
        "_COARSE": "an accuracy, relative to the argument search_tol",
        "_FAR_BELOW": "a difference of accuracies that no fold explains",
        "_EXAMPLES_BELOW": "a number of examples that no fold explains",
    },
    "cli/demo.py": dict.fromkeys(
        ("_TOL", "_C", "_FOLDS", "_COSTS", "_ITERATIONS"), "what the demo asks for"
    ),
    "cli/main.py": dict.fromkeys(
        ("OK", "NOT_REACHED", "BAD_INPUT", "INTERNAL", "INTERRUPTED"), "an exit code"
    ),
    "cli/training.py": dict.fromkeys(
        ("_MANY_NUMBERS", "_ROWS_OF_A_CLASS"), "when a hint is given; it changes nothing"
    ),
    "cli/tune.py": {"_BAR": "characters of a bar"},
    "data/csv_tables.py": {
        "_ROWS_AT_ONCE": "a buffer",
        "_BYTES_AT_ONCE": "a buffer",
        "_CONTROLS": "characters of ASCII",
    },
    "data/gram.py": {"Kernel.degree": "the default of an argument, as scikit-learn's"},
    "data/blocks.py": {
        **dict.fromkeys(("DENSE_VALUES", "SPARSE_VALUES", "HEAD", "SUMS"), "how rows are cut"),
        **dict.fromkeys(("FEWEST_ROWS", "MOST_ROWS", "MOST_VALUES"), "bits depend on it"),
        **dict.fromkeys(("WIDEST_MATRIX", "MATRIX_ROWS", "FEW_ROWS"), "the same"),
    },
    "data/block_work.py": {
        "CHUNK": "how vectors are cut: the bits of results depend on it",
        "PIECE": "a buffer",
    },
    "data/block_file.py": {"VERSION": "of a format"},
    "data/chunks.py": dict.fromkeys(("TEXT_BYTES", "CHUNK_BYTES", "PART_BYTES"), "a buffer"),
    "data/parquet_tables.py": {"STRING_BYTES": "a count of bytes"},
    "data/parquet_parts.py": {
        "BUFFER": "a buffer",
        "PAGE": "of a format, as its writers' defaults",
        "SHARE": "a count of buffers",
    },
    "data/disk_data.py": dict.fromkeys(
        ("VECTORS", "WAITING", "GROUPS", "LARGEST_MATRIX", "_UNITS"), "counts of bytes"
    ),
    "data/elsewhere.py": {"Elsewhere.ndim": "of a matrix"},
    "distributed/blocks.py": {"FAN_IN": "the shape of a tree of tasks"},
    "distributed/estimators.py": {"_CLIENT": "the default of an argument, in seconds"},
    "problems/sequence.py": {"_COLUMNS": "numbers in a line of cache"},
    "data/centring.py": {
        "_SAMPLE": "rows that tell whether columns are far from zero",
        "_FAR": "a ratio of lengths from which digits are lost",
    },
    "data/rows.py": {
        "COMPENSATED": "a count of operations",
        "_LONG": "a share of the memory that does not matter",
    },
    "data/semidefinite.py": {
        "_ROWS_OF_A_BLOCK": "a buffer: no second matrix is made",
        "_SAMPLE": "what the documentation promises to look at",
    },
    "data/svmlight.py": {"_BLOCK_BYTES": "a buffer", "_LOOKED_AT_BYTES": "a buffer"},
    "data/tables.py": {"_LARGEST_TABLE": "cells of a table that nobody wants written"},
    "data/training_set.py": dict.fromkeys(("_SMALLEST_COST", "_LARGEST_COST"), "squares in range"),
    "data/validation.py": {"_MOST_FEATURES": "the addresses that processors have"},
    "exact/balls.py": {"_PRECISION": "digits that the documentation promises"},
    "exact/rest.py": {"_MOST_WEIGHTS": "a bound on the judge's memory and time"},
    "exact/losses.py": {"_MORE_BITS": "digits that nobody can run out of"},
    "estimators/worst_case.py": {"_FAR": "a share of a supremum that is not attained"},
    "estimators/named_solvers.py": {
        "_LARGEST_VALUE": "a limit of scikit-learn's",
        "SMALLEST_GAP": "a relative gap, far above rounding",
    },
    "linalg/blas.py": {"_WORKSPACE": "a buffer of OpenBLAS"},
    "linalg/cholesky.py": {
        "LIFT": "the policy for jitter, far above rounding and far below curvature",
        "JITTERS": "the policy for jitter, in units of rounding",
    },
    "linalg/conjugate_gradients.py": {
        "_FAR_ENOUGH": "a share of the decrease that a Newton step promises",
        "_LOST": "the share at which rounding wins",
    },
    "linalg/spectrum.py": {
        "_MOST": "rows that tell about the others",
        "_FEWEST": "rows that tell nothing",
    },
    "estimators/robust_svc_cv.py": {
        "_MOMENT": "seconds that a person waits once Ctrl-C was pressed"
    },
    "problems/unpenalised_multinomial.py": {"_LARGEST": "a promised size"},
    "problems/curvature_of_classes.py": {"_BLOCK": "a buffer"},
    "problems/curvature_bounds.py": {
        "_RANK": "a share of the largest pivot",
        "_TINY": "far above the smallest normal number",
        "_DENOMINATORS": "fractions that are looked for",
        "_LARGEST_FACTOR": "a number whose products with half a number are exact",
        "_SPLIT": "Dekker's constant",
    },
    "model_io/search_state.py": {"SCHEMA": "a version of a format"},
    "model_io/_skl2onnx.py": dict.fromkeys(("_DOUBLE", "_STRING"), "part of a format"),
    "model_io/onnx.py": {"OPSET": "a version of a format"},
    "problems/calibration.py": {"_STEPS": "the paper's bound", "_SHORTEST": "the paper's shortest"},
    "problems/support.py": {
        "_WIDEST": "a distance of margins from one",
        "_TINY": "a share of the cost",
        "_STEPS": "a bound that keeps the loop finite",
        "_ROUNDING": "unit roundoffs",
    },
    "data/coefficient_bounds.py": {"_LARGEST": "the range of floating point"},
    "problems/one_class.py": {"_SUMMED": "unit roundoffs"},
    "problems/sparse_weights.py": {
        "_BALANCED": "units in the last place, as a search for the best intercept leaves them",
        "_ROUGH": "a share of the accuracy",
    },
    "problems/one_class_support.py": {
        "_TINY": "a share of the cost",
        "_ROUNDS": "a bound on a loop",
    },
    "estimators/linear_one_class_svm.py": {
        "_LAST_DIGITS": "a relative gap",
        "_EDGE": "a share of the tolerance",
    },
    "problems/tube_support.py": {"_TINY": "a share of the cost", "_ROUNDS": "a bound on a loop"},
    "problems/unpenalised.py": {"_RANK": "a share of the largest eigenvalue"},
    "problems/conditional.py": {
        "_WIDEST": "the range of exponentials",
        "_IN_LOGARITHMS": "roundings, counted",
    },
    "projections/chain.py": {
        **dict.fromkeys(("_MOST_HALVINGS", "_MOST_STEPS"), "a bound that keeps the loop finite"),
        "_RIDGE": "rounding",
        "_ACCURACY": "an accuracy",
    },
    "model_io/container.py": {
        "SCHEMA": "the version of a format",
        "_DIGEST": "the bytes of a checksum",
        "_ALIGNMENT": "the bytes of a format",
    },
    "problems/formula_loss.py": {"_FARTHEST": "a bound that keeps the loop finite"},
    "problems/softmax.py": {
        "_MOST_ROUNDS": "a bound that keeps the loop finite",
        "_FAR": "a bound on a change of logarithms",
    },
    "problems/norms.py": {"NORMS": "the norms 1, 2 and infinity"},
    "problems/kernel_products.py": {"_ROWS": "a buffer"},
    "problems/lane_bounds.py": {
        "_RESCALED": "roundings",
        "_SAFE": "covers the rounding of a bound",
    },
    "problems/multinomial_bounds.py": {"_TERM": "a count of roundings"},
    "problems/multiclass_bounds.py": {"_BLOCK": "a buffer"},
    "problems/robust_bounds.py": {
        "_INSIDE": "a factor far above rounding",
        "_LARGEST_SYSTEM": "the memory that a proof may take",
    },
    "problems/rounding.py": {
        "ROUNDING_SHARE": "a share of the tolerance",
        "UNIT": "the unit roundoff",
        "UNDERFLOW": "the smallest normal number",
        "ACCURACY": "an accuracy",
        "_SAFE": "a factor that covers the rounding of a bound",
        "_CHAINS": "the running sums of core/kernels/chains.hpp",
    },
    "given_way.py": {"_HARDLY": "decides about time only: a gap that is hardly smaller"},
    "selection/certified.py": {
        "_NARROWEST": "an interval of ln C that holds a tie",
        "_MOST": "a bound that keeps the loop finite",
        "_FIRST_TOL": "an accuracy",
        "_LAST_TOL": "an accuracy",
    },
    "selection/error_bounds.py": {"_ROUNDING": "unit roundoffs", "_MOST_HALVINGS": "ends a loop"},
    "selection/search.py": {"Limits.max_iter": "the default of an argument"},
    "selection/stopping.py": {"LARGEST_C": "where WARM's search ends", "PATIENCE": "WARM's rule"},
}
"""By file and name: why it is no measurement."""
