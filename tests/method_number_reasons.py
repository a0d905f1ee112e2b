"""Constants of the methods, each with the reason why it is no measurement."""

from __future__ import annotations

REASONS_OF_METHODS: dict[str, dict[str, str]] = {
    "methods/newton/_column_steps.py": dict.fromkeys(
        (
            "_INNER_STEPS",
            "_INNER",
            "_IN_SIGHT",
            "_SAMPLE",
            "_FORETOLD",
            "_SUFFICIENT",
            "_HALVINGS",
            "_BLIND",
            "_REDUCED",
            "_WIDER",
            "_ROUNDING",
        ),
        "part of the algorithm: rules of steps, units of rounding",
    ),
    "methods/newton/_column_sets.py": dict.fromkeys(
        ("_EXACT", "_GROWTH", "_LEFT_OUT", "_MORE", "_TAKEN_OUT"),
        "accuracies, growth of working sets, and products counted",
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
    "methods/coordinate/_face_steps.py": {
        "_ROUNDS": "a bound that keeps a loop finite",
        "_FALL": "a share of a gap",
        "_MOVED": "what so many rounds can mend",
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
    "methods/newton/_metric.py": {
        "_FEW": "steps that tell a rate, and that any factor leaves",
        "_LEAST_GAP": "rounding",
    },
    "methods/newton/_opening.py": {
        "_PROBED": "the share of the examples that a probe may cost",
        "_FEWEST_PROBED": "examples that a share of them can be estimated from",
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
    "methods/newton/_line_search.py": {
        "_LEAST_SHARE": "a share of an interval",
        "_HALF": "a share of the objective at zero",
    },
    "methods/newton/_multiclass_system.py": {"_INEXACT": "a share of the gradient"},
    "methods/newton/multiclass.py": {
        "_LAST_STEP": "rounding, squared",
        "_SOLVED": "a share of the gap",
        "_PATIENCE": "steps without progress that count as none",
        "_CENTRES_PATIENCE": "centres without progress that count as none",
        "_GOOD_RATE": "a rate of convergence",
        "_NARROW": "a factor on an interval",
        "_WARM_WIDTH": "an interval, in margins",
        "_WIDER": "a factor on an interval",
        "_LAST_DIGITS": "unit roundoffs",
    },
    "methods/newton/_full_costs.py": {
        "RAISE": "a factor of the costs between stages",
        "_LOST_STEPS": "steps before which no rate is known",
        "_LOST_GAP": "a relative gap that proves nothing",
        "_LOST_RATE": "a rate slower than that of steps that get ahead",
    },
    "methods/newton/newton.py": {
        "_SORTED": "a share of the objective below which most examples are put right",
        "_RAISE_GAP": "an accuracy of the stages before the last",
        "_ACCURACY": "a share of the gap asked for",
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
    "methods/structures/lbfgs.py": {
        "_MEMORY": "pairs that are kept: the memory of the method",
        "_DECREASE": "a share of the decrease that a step promises",
        "_MOST_TRIALS": "a bound that keeps the loop finite",
    },
    "methods/structures/exponentiated_gradient.py": {
        "_LARGEST_BATCH": "a share of work for each of a few threads",
        "_MOST_PARTIAL": "passes without a look at every sentence",
        "_OPEN": "a share of the gap that is allowed",
    },
    "methods/structures/_passes.py": {
        "_BATCHES": "how stale the weights of a batch may be: a fifth of a percent of the data",
    },
    "methods/structures/cached_frank_wolfe.py": {
        "_LARGEST_BATCH": "a share of work for each of a few threads",
        "_LINE": "64 bytes, a line of cache, in weights",
        "_MOST_SETTLING": "ends passes that rounding keeps from their goal",
        "_OPEN": "a tenth of its share of the tolerance: all such gaps add up to a tenth of it",
        "_SURE": "a margin for the certified gap; where it is not enough the run goes on",
        **dict.fromkeys(("_HALF", "_STALLED"), "a share of the gap that was seen before"),
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
    "methods/published/block_frank_wolfe.py": {
        "AwayFrankWolfe.steps_per_class": "a count of steps"
    },
    "methods/published/kernel_block_frank_wolfe.py": {
        "_REFRESH": "additions whose rounding adds up",
        "KernelAwayFrankWolfe.steps_per_class": "a count of steps",
    },
    "methods/published/pegasos.py": {"_JUDGE_EVERY": "epochs between two looks at the gap"},
}
