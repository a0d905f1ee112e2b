"""Constants outside auto/machine.py, each with the reason why it is no measurement."""

from __future__ import annotations

REASONS: dict[str, dict[str, str]] = {
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
        "_HAND_OVER": "products of a certificate and of a start, counted",
        "_MOST_LEGS": "prices double: a bound that keeps the loop finite",
    },
    "data/columns.py": {
        "_SPARE": "a bound on the growth of a working set",
    },
    "exact/sparse_weights.py": {"_SCALE_BITS": "a precision far beyond that of the numbers"},
    "methods/newton/_column_steps.py": dict.fromkeys(
        (
            "_INNER_STEPS",
            "_INNER",
            "_SAMPLE",
            "_FORETOLD",
            "_SUFFICIENT",
            "_HALVINGS",
            "_BLIND",
            "_ROUNDING",
        ),
        "part of the algorithm: rules of steps, units of rounding",
    ),
    "methods/newton/_column_sets.py": dict.fromkeys(
        ("_GROWTH", "_MORE", "_TAKEN_OUT"), "growth of working sets, and products counted"
    ),
    "methods/newton/_elastic_net_model.py": dict.fromkeys(
        ("_DAMPING", "_FEW", "_ROUNDS", "_SWEEPS"),
        "relative to rounding, a loan in units of work, and bounds that keep loops finite",
    ),
    "methods/newton/sparse_multinomial.py": {
        "_STEPS": "steps before others change the losses",
        "_DEPTH": "a depth as published",
        "_ROUNDING": "unit roundoffs",
        "_INNER": "a share of a violation",
    },
    "methods/newton/_joint_support.py": {
        "_HALVINGS": "a bound that keeps the loop finite",
        "_INNER": "a share of a violation",
        "_SPARE": "a bound on the growth of a working set",
    },
    "problems/linear.py": {"_EXACT": "a share of a tolerance"},
    "problems/rules.py": {"NEVER": "its exponential is zero"},
    "selection/path.py": {"_SPARSE_VALUES": "the default of an argument"},
    "auto/prediction.py": {"_FEWEST": "steps that a rate needs", "_FARTHEST": "finite logarithms"},
    "auto/prices.py": {"_UNSURE": "a standard deviation of two guessed prices"},
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
    "cli/tune.py": {"_BAR": "characters of a bar"},
    "data/csv_tables.py": {
        "_ROWS_AT_ONCE": "a buffer",
        "_BYTES_AT_ONCE": "a buffer",
        "_CONTROLS": "characters of ASCII",
    },
    "data/gram.py": {"Kernel.degree": "the default of an argument, as scikit-learn's"},
    "data/blocks.py": {
        **dict.fromkeys(("DENSE_VALUES", "SPARSE_VALUES", "HEAD"), "how rows are cut: the bits"),
        **dict.fromkeys(("FEWEST_ROWS", "MOST_ROWS"), "of results depend on it"),
        **dict.fromkeys(("WIDEST_MATRIX", "MATRIX_ROWS", "FEW_ROWS"), "the same"),
        **dict.fromkeys(("SUMS", "MOST_VALUES"), "the same"),
    },
    "data/block_work.py": {"CHUNK": "how vectors are cut: the bits of results depend on it"},
    "data/block_file.py": {"VERSION": "of a format"},
    "data/parquet_tables.py": {"_TILE_ROWS": "a buffer"},
    "data/chunks.py": {"TEXT_BYTES": "a buffer", "CHUNK_BYTES": "a buffer"},
    "data/disk_data.py": dict.fromkeys(
        ("VECTORS", "WAITING", "LARGEST_MATRIX", "_UNITS"), "counts of bytes"
    ),
    "data/elsewhere.py": {"Elsewhere.ndim": "of a matrix"},
    "distributed/blocks.py": {"FAN_IN": "the shape of a tree of tasks"},
    "problems/sequence.py": {"_COLUMNS": "numbers in a line of cache"},
    "data/centring.py": {
        "_SAMPLE": "rows that tell whether columns are far from zero",
        "_FAR": "a ratio of lengths from which digits are lost",
    },
    "data/rows.py": {"COMPENSATED": "a count of operations"},
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
    "estimators/robust_svc_cv.py": {
        "_MOMENT": "seconds that a person waits once Ctrl-C was pressed"
    },
    "methods/coordinate/block_dual_cd.py": {
        "_FINE": "a tolerance at which rounding in W counts",
        "_MOVES": "the dimension of the subspace searched",
        "_SWEEPS_BETWEEN": "sweeps that make one move",
        "_MOST_INNER": "passes without a look at every example",
        "_INNER_GOAL": "a share of the gap",
        "_REFRESH": "additions whose rounding adds up",
        "_MOST_ROUNDS": "sweeps without a look at every example",
        "_LISTED_ROUNDS": "sweeps without a look at every class",
    },
    "methods/coordinate/dual_cd.py": {
        "_SOFT": "a stiffness, in units of the problem's own",
        "_FINE": "a tolerance at which rounding in w counts",
        "_MOST_NARROW": "sweeps without a look at every example",
        "_SETTLED": "sweeps that the first transient takes",
        "_REOPEN": "sweeps over which an intercept is taken to stand still",
        "_REFRESH": "additions whose rounding adds up",
        "_ROUNDING": "unit roundoffs",
        "_DRIFT": "a share of the tolerance",
    },
    "methods/coordinate/_kernel_descent.py": {
        "_MARGIN": "a share of the tolerance",
        "_ALL_DIGITS": "below the rounding of a sum",
        "_INSIDE": "a share of the violation",
    },
    "methods/coordinate/kernel_blocks.py": dict.fromkeys(
        ("_REFRESH", "_INSIDE", "_VISITS"), "rounds of the algorithm, or a share of the gap"
    ),
    "methods/coordinate/kernel_pairs.py": {"_MOST_ROUNDS": "halvings of the tolerance"},
    "methods/coordinate/lanes.py": {
        "_NEGLIGIBLE": "a share of the gap that is allowed",
        "_MOST_NARROW": "sweeps without a look at every example",
    },
    "methods/interior/_robust_preconditioner.py": {"_HEAVY": "a share of the diagonal"},
    "methods/interior/_robust_system.py": {
        "_COARSEST": "an accuracy",
        "_FINEST": "an accuracy",
        "_MOST_PRODUCTS": "a bound that keeps the loop finite",
    },
    "methods/interior/_hinge_path.py": {
        "_TO_BOUNDARY": "the share of the way to the boundary",
        "_CENTRED": "width of the central path's neighbourhood",
    },
    "methods/interior/reduced_robust.py": {
        "KEEP": "a piece of the loss",
        "FLIP": "a piece of the loss",
        "NONE": "a piece of the loss",
        "FIRST_SHARE": "the first guess of how many examples are undecided",
        "_LEAST_PER_WEIGHT": "undecided examples that determine the weights",
        "_MOST": "a share of the examples beyond which nothing is decided",
        "_INSIDE": "a distance from the bounds, relative to them",
        "_ASTRAY": "a factor on the bound of an optimal price",
    },
    "methods/interior/robust.py": {
        "_TO_BOUNDARY": "the share of the way to the boundary",
        "_WEIGHT_OF_CONE": "the weight of one constraint on the central path",
        "_MARGINS": "a first price, in margins",
    },
    "methods/newton/_samples.py": {"SAMPLE_GROWTH": "a ratio", "SAMPLE_ERROR": "multiples of d/m"},
    "methods/newton/_system.py": {
        "_CUT": "a share of the gap that is left, by which a dear direction was worth its price",
        "_DEAR": "a share of the conjugate gradients that are allowed",
        "_FAR": "a multiple of the accuracy that is asked for",
    },
    "methods/newton/lanes.py": {
        "_FEWEST_STEPS": "conjugate gradients that any preconditioner leaves",
        "_FAR": "a multiple of the accuracy that is asked for",
    },
    "methods/newton/unpenalised.py": {
        "_HALVINGS": "halvings after which a step is rounding",
        "_ROUNDING": "a share of the total",
        "_SUFFICIENT": "a share of the predicted decrease",
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
    "methods/newton/_box_model.py": {
        "_ROUNDS": "a bound on a loop",
        "_HALVINGS": "a bound on a loop",
        "_SOLVED": "a share of the gradient",
        "_FLAT": "a share of the largest curvature",
    },
    "methods/newton/bounded.py": {
        "_SOLVED": "a share of the gap",
        "_GOOD_RATE": "a rate",
        "_PATIENCE": "a bound on steps",
    },
    "problems/one_class.py": {"_SUMMED": "unit roundoffs"},
    "methods/coordinate/one_class.py": {
        "_GROWTH": "samples in all cost a seventh of a pass for each over the rows",
        "_LEFT": "a share of the violation, decades a look",
        "_NEAR": "a share of the rows, small beside a look at all",
        "_BAND": "the same where the edge is known from a sample",
        "_FEWEST": "rows whose work costs less than a call",
        "_MOST_PASSES": "a bound on a loop",
        "_MOST_STEPS": "a bound on a loop",
        "_FINE": "a tolerance at which rounding in w counts",
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
    "methods/newton/_line_search.py": {
        "_LEAST_SHARE": "a share of an interval",
        "_HALF": "a share of the objective at zero",
    },
    "methods/newton/multiclass.py": {
        "_LAST_STEP": "rounding, squared",
        "_SOLVED": "a share of the gap",
        "_PATIENCE": "steps without progress that count as none",
        "_CENTRES_PATIENCE": "centres without progress that count as none",
        "_GOOD_RATE": "a rate of convergence",
        "_NARROW": "a factor on an interval",
        "_WARM_WIDTH": "an interval, in margins",
        "_LAST_DIGITS": "unit roundoffs",
    },
    "methods/newton/newton.py": {
        "_PROBED": "the share of the examples that a probe may cost",
        "_LOST_STEPS": "steps before which no rate is known",
        "_LOST_GAP": "a relative gap that proves nothing",
        "_LOST_RATE": "a rate slower than that of steps that get ahead",
        "_SORTED": "a share of the objective below which most examples are put right",
        "_RAISE": "a factor of the costs between stages",
        "_RAISE_GAP": "an accuracy of the stages before the last",
        "_ACCURACY": "a share of the gap asked for",
        "_FEWEST_PROBED": "examples that a share of them can be estimated from",
    },
    "methods/newton/proximal_newton.py": {
        "_SOLVED": "a share of the mismatch",
        "_PATIENCE": "steps without progress that count as none",
        "_GOOD_RATE": "a rate of convergence",
    },
    "methods/published/_dual_correction.py": {"_ROUNDS": "rounds of a correction"},
    "methods/published/_incremental.py": {
        "_REMEMBERED": "averages that an extrapolation looks back to",
        "_FARTHEST": "the length of an extrapolation, in steps before it",
        "_SMALLEST_STEP": "unit roundoffs",
    },
    "methods/published/_plain_sweeps.py": {"_LAST_DIGITS": "unit roundoffs"},
    "methods/published/_step_sizes.py": {
        "SHORTEST": "sweeps of a stage",
        "LONGEST": "sweeps of a stage",
        "NEGLIGIBLE": "a share of the first step",
    },
    "problems/conditional.py": {"_WIDEST": "the range of exponentials"},
    "methods/structures/lbfgs.py": {
        "_MEMORY": "pairs that are kept: the memory of the method",
        "_DECREASE": "a share of the decrease that a step promises",
        "_MOST_TRIALS": "a bound that keeps the loop finite",
    },
    "methods/structures/exponentiated_gradient.py": {
        "_MOST_PARTIAL": "passes without a look at every sentence",
        "_OPEN": "a share of the gap that is allowed",
    },
    "projections/chain.py": {
        "_MOST_HALVINGS": "a bound that keeps the loop finite",
        "_RIDGE": "rounding",
        "_MOST_STEPS": "a bound that keeps the loop finite",
        "_ACCURACY": "an accuracy",
    },
    "methods/structures/cached_frank_wolfe.py": {
        "_BATCHES": "how stale the weights of a batch may be: half a percent of the data",
        "_LARGEST_BATCH": "a share of work for each of many threads",
        "_LINE": "64 bytes, a line of cache, in weights",
        "_OPEN": "a tenth of its share of the tolerance: all such gaps add up to a tenth of it",
    },
    "methods/published/bmrm.py": {"_IDLE": "steps after which a tangent is forgotten"},
    "methods/published/dual_of_dual.py": {"_SHRINK": "a factor on a Lipschitz constant"},
    "methods/published/gs_admm.py": {
        **dict.fromkeys(("_ROUNDS", "_INNER", "_INNER_ON_GRAM"), "steps of a round"),
        **dict.fromkeys(("_STEPS_PER_PRICE", "_POWER_STEPS"), "steps of a search"),
        **dict.fromkeys(("_GOLDEN", "_BEYOND", "_UNEVEN", "_SOLVED"), "a ratio of the algorithm"),
    },
    "methods/newton/_multinomial_system.py": {
        "_FAR": "a multiple of the accuracy",
        "_LOWEST": "a share that changes nothing",
    },
    "methods/newton/multinomial.py": {
        "_LAST_DIGITS": "unit roundoffs",
        "_FREE": "unit roundoffs",
        "_PATIENCE": "steps without progress",
        "_INTERCEPT_STEPS": "a quadratic rate needs no more",
        "_GROWTH": "a ratio of samples",
        "_SAMPLE_ERROR": "a multiple of a statistical error",
    },
    "methods/published/ippa.py": {"IPPA.first_step": "a step size", "_ROUNDS": "rounds of a step"},
    "methods/published/isg.py": {"ISG.first_step": "a step size, in units of the data"},
    "methods/published/kernel_block_frank_wolfe.py": {
        "_REFRESH": "additions whose rounding adds up"
    },
    "methods/published/pegasos.py": {"_JUDGE_EVERY": "epochs between two looks at the gap"},
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
    "problems/multinomial_bounds.py": {"_TERM": "a count of roundings", "_BLOCK": "a buffer"},
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
