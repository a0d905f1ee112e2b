"""The tables of the pages "Coming from ...": every argument and attribute of both classes.

Names and defaults are read from both classes, the notes are below. ``python
docs/_extensions/argument_tables.py`` writes the tables into the pages; a test holds them to it.
"""

from __future__ import annotations

import inspect
import warnings
from pathlib import Path
from typing import Any

import sklearn.linear_model
import sklearn.svm

import widemargin

GUIDE = Path(__file__).parents[1] / "guide"
BEGIN, END = "<!-- begin: tables -->\n", "<!-- end: tables -->\n"
PAGES = {
    GUIDE / "coming_from_linearsvc.md": ("LinearSVC", "LogisticRegression", "LogisticRegressionCV"),
    GUIDE / "coming_from_svc.md": ("KernelSVC",),
}
THEIRS = {"KernelSVC": "SVC"}
"""Names of scikit-learn's classes where they differ from ours."""

NOTES = {
    "C": "`C` times the weights of an example must be 0 or lie between 1e-50 and 1e50",
    "C LogisticRegression": "`np.inf`: no penalty; separable classes are recognised",
    "Cs": "None: a search from the data's own smallest C",
    "penalty": '`"l1"` and `"elasticnet"`: smooth losses, see [Sparse models](sparse_models.md)',
    "penalty LinearSVC": '`loss` comes first here; `LinearSVC("l2", "hinge")` is understood',
    "penalty LogisticRegression": "deprecated as there; None: `C=np.inf`",
    "penalty LogisticRegressionCV": "deprecated as there",
    "l1_ratio": "see [Sparse models](sparse_models.md)",
    "l1_ratios": "one search for each",
    "dual": "no effect on the model; what LIBLINEAR does not have is an error, as there",
    "loss": 'with `dual="auto"` any loss and penalty but the hinge with the 1-norm',
    "tol": "the relative duality gap, (P − D)/P",
    "multi_class": 'also `"weston_watkins"`',
    "multi_class LogisticRegression": '`"ovr"`: one-vs-rest, scikit-learn\'s of old',
    "multi_class LogisticRegressionCV": '`"ovr"`: one-vs-rest, scikit-learn\'s of old',
    "fit_intercept": 'True: exact; `"penalised"`: a constant feature, as LIBLINEAR\'s',
    "intercept_scaling": "no effect on an exact intercept",
    "class_weight": "a class that is not in y is an error, unless every class is named",
    "solver": 'scikit-learn\'s names: `"auto"` with their limits, see above',
    "solver LinearSVC": "a name from [Which solver](which_solver.md)",
    "max_iter": "sweeps or steps, over all methods that run",
    "verbose": "a progress bar",
    "random_state": "two fits agree bit for bit",
    "n_jobs": "threads over the classes (and folds), on one shared X",
    "warm_start": "from the weights, and the dual variables if there are as many rows",
    "coef_bounds": "bounds on the coefficients, see [Bounds on coefficients](bounds.md)",
    "positive": "no negative coefficients",
    "time_limit": "seconds",
    "callback": "called at every check of the certificate, see [Long fits](long_fits.md)",
    "scoring": "accuracy, with a warning that this will change",
    "use_legacy_attributes": "True, with a warning that this will change",
    "cv": "as there",
    "refit": "as there",
    "search_tol": "tolerance of the search, see [Choosing C](choosing_c.md)",
    "transformer": "fitted within each fold, see [Choosing C](choosing_c.md)",
    "certify": "a proof that no other C is better by more than this",
    "coef_": "float32 if X is, unless that would lose `tol`",
    "n_iter_": "the shapes of scikit-learn",
    "n_iter_ LogisticRegression": "one entry per problem",
    "dual_coef_": "αᵢ yᵢ, shape (1, n) or (k, n), in the order of the rows of X",
    "support_": "rows whose dual variable is not zero for some class",
    "n_support_": "how many of them in each class",
    "certificate_": "primal, dual and gap of the whole model",
    "certificates_": "one per problem; in the CV classes one per C",
    "primal_": "the primal values, an array",
    "dual_": "the dual values, an array",
    "rounding_": "what the gaps allow for rounding, an array",
    "status_": '`"converged"`, `"iteration_limit"`, `"time_limit"`, `"interrupted"`, '
    '`"stalled"`, `"no_optimum"`, `"no_proof"`',
    "solver_": "which methods ran, and why",
    "history_": "what every check saw",
    "best_score_": "the best mean score",
    "path_": "columns over the values of C",
    "stopped_": "why the search ended",
    "fold_coef_": "the folds' weights at the last C",
    "fold_intercept_": "the folds' intercepts at the last C",
    "C KernelSVC": "the same",
    "kernel": '`"sigmoid"` is an error: it is not positive definite, so there is no certificate',
    "gamma": "the same",
    "cache_size": "`memory`, in megabytes",
    "memory": "`cache_size`: megabytes of the kernel matrix to keep",
    "shrinking": "examples that do not matter are left out in any case",
    "probability": "wrap it in `CalibratedClassifierCV`, as scikit-learn 1.9 advises",
    "break_ties": "one-vs-rest has no ties of votes; for one-vs-one the first class wins",
    "decision_function_shape": 'for `multi_class="ovo"`',
    "loss KernelSVC": '`"hinge"` is that of SVC',
    "multi_class KernelSVC": '`"ovo"` is the rule of SVC, see [Kernels](kernels.md)',
    "fit_intercept KernelSVC": "None: yes, as SVC, but not for the joint rules",
    "max_iter KernelSVC": "rounds; `-1`, no limit, is an error",
    "n_jobs KernelSVC": "threads over the classes or pairs",
    "solver KernelSVC": "a name from [Which solver](which_solver.md)",
    "coef_ KernelSVC": 'for `kernel="linear"` use `LinearSVC("hinge")`',
    "support_ KernelSVC": "the same order, class by class",
    "n_support_ KernelSVC": "the same",
    "dual_coef_ KernelSVC": 'the same for two classes and `"ovo"`; else a row per class',
    "n_iter_ KernelSVC": "rounds",
    "gamma_": "the number behind `gamma`",
    "class_weight_": "factors on C per class; `class_weight` here",
    "fit_status_": "`status_`",
    "shape_fit_": "shape of X in training; `n_features_in_`",
    "probA_": "parameter of `probability=True`",
    "probB_": "parameter of `probability=True`",
}


def theirs(name: str) -> Any:
    """Return scikit-learn's class of that name."""
    module = sklearn.svm if "SVC" in name else sklearn.linear_model
    return getattr(module, THEIRS.get(name, name))


def fitted(make: Any) -> set[str]:
    """Return the names of the attributes that a fit leaves."""
    X, y = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]], [0, 1, 0, 1, 0, 1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make(**({"cv": 2} if make.__name__.endswith("CV") else {})).fit(X, y)
        return {name for name in dir(model) if name.endswith("_") and not name.startswith("_")}


def note(name: str, owner: str) -> str:
    """Return what there is to say."""
    return NOTES.get(f"{name} {owner}", NOTES.get(name, "the same"))


def table(name: str) -> str:
    """Return the tables of one class."""
    ours, other = getattr(widemargin, name), theirs(name)
    mine = inspect.signature(ours).parameters
    given = inspect.signature(other).parameters
    title = f"{other.__name__} and {name}" if name in THEIRS else name
    lines = [f"### {title}", "", "| argument | scikit-learn | here | |", "|---|---|---|---|"]
    for argument in [*given, *(extra for extra in mine if extra not in given)]:
        default = f"`{given[argument].default!r}`" if argument in given else "none"
        here = f"`{mine[argument].default!r}`" if argument in mine else "none"
        lines.append(f"| `{argument}` | {default} | {here} | {note(argument, name)} |")
    lines += ["", "| attribute | scikit-learn | here | |", "|---|---|---|---|"]
    known, kept = fitted(other), fitted(ours)
    for attribute in sorted(known | kept):
        there, here = ("yes" if attribute in names else "no" for names in (known, kept))
        lines.append(f"| `{attribute}` | {there} | {here} | {note(attribute, name)} |")
    return "\n".join(lines) + "\n"


def page(path: Path) -> str:
    """Return a page with the tables of today."""
    text = path.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    return before + BEGIN + "\n" + "\n".join(map(table, PAGES[path])) + "\n" + END + after


if __name__ == "__main__":
    for path in PAGES:
        path.write_text(page(path), encoding="utf-8")
