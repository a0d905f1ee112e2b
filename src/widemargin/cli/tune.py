"""``widemargin tune``: choose C by cross-validation and train the model at it."""

from __future__ import annotations

import argparse
import base64
import html
import io
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from widemargin.cli.inputs import check_writable, naming
from widemargin.cli.options import (
    CALIBRATIONS,
    COUNT,
    JOINT_RULES,
    NUMBER,
    add_disk_options,
    add_file_arguments,
    add_no_model,
    add_penalty,
    add_problem_options,
    add_run_options,
    adder,
    positive_numbers,
)
from widemargin.cli.output import Output, label_text, percent
from widemargin.cli.parser import Items
from widemargin.cli.training import (
    check_problem,
    fit_and_write,
    note_targets,
    penalty_rows,
    read_training_data,
    settings_of,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from widemargin.cli.inputs import Data
    from widemargin.estimators.linear_cv import LinearClassifierCV

_BAR = 30
"""Width of the bars in the terminal, in characters."""


def add_to(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "tune",
        help="choose C by cross-validation and train at it",
        description="Search over C by cross-validation with warm starts, train at the best C on "
        "all data, and write the model.",
    )
    add_file_arguments(parser)
    add_penalty(add_problem_options(parser))
    add = adder(parser.add_argument_group("search"))
    values = (
        "values of C, separated by commas (default: start from a value that depends on the data, "
        "double until the solution no longer changes)"
    )
    add("--Cs", None, values, type=positive_numbers, action=Items, metavar="C,...")
    add("--folds", 5, "folds of the cross-validation, stratified and shuffled", **COUNT)
    add("--scoring", None, "a scorer of scikit-learn (default: accuracy)", metavar="NAME")
    tol = "tolerance of the search; folds are solved to a relative gap of a tenth of it"
    add("--search-tol", 1e-2, tol, metavar="TOL", **NUMBER)
    certify = (
        "refine C until it is proven that no C in the range has an error lower by more than this; "
        "needs --intercept none or penalised"
    )
    add("--certify", None, certify, metavar="EPSILON", **NUMBER)
    state = "keep what the search has seen in this file, for --continue"
    add("--state", None, state, metavar="FILE")
    more = (
        "go on where the search of --state FILE stopped, with the --search-tol given now and, "
        "with --Cs, the larger values"
    )
    add("--continue", False, more, action="store_true", dest="goes_on")
    probability = (
        "calibrate probabilities on the held-out rows, for predict --proba; needs a hinge loss and "
        "the package's own format"
    )
    add("--probability", None, probability, choices=CALIBRATIONS)
    add = adder(parser)
    add_no_model(add)
    add("--png", None, "also write the plot as a PNG file", metavar="FILE")
    add("--html", None, "also write table and plot as an HTML page", metavar="FILE")
    add_run_options(
        parser,
        tol="relative duality gap of the final model",
        time_limit="of the whole search",
        jobs="threads over folds and classes",
        seed="seed of the folds and of the solver",
    )
    add_disk_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Read, search, train, write, report."""
    output = Output(options)
    check_problem(options)
    _check_search(options)
    data, path = read_training_data(options)
    note_targets(output, data, options.data)
    with naming(options.data):
        _check_folds(options.folds, data)
    estimator = _estimator(options, data)
    fit = _going_on(options, estimator, data) if options.goes_on else None
    places = _Places(None if options.certify or options.Cs is None else len(options.Cs))
    _, seconds = fit_and_write(output, options, estimator, data, path, fit, places.titled)
    if options.state:
        from widemargin.model_io.search_state import save_search

        assert data.y is not None
        save_search(estimator, options.state, data.y, _about(options))
    _report(output, options, estimator, data, path, seconds)
    _draw(options, estimator)
    reached = all(status == "converged" for status in estimator.status_)
    whole = reached and not _cut_short(estimator) and getattr(estimator, "certified_", True)
    return 0 if whole else 1


@dataclass(eq=False)
class _Places:
    """Counts the values of C as their runs are named: "C 2 of 13 (0.1)"."""

    total: int | None
    seen: list[str] = field(default_factory=list)

    def titled(self, title: str) -> str:
        """Return the title to show for a run at one C."""
        if title not in self.seen:
            self.seen.append(title)
        place = str(self.seen.index(title) + 1)
        of = "" if self.total is None else f" of {self.total}"
        return f"C {place}{of} ({title.removeprefix('C=')})"


def _about(options: argparse.Namespace) -> dict[str, Any]:
    """Return what must stay the same when a search goes on."""
    names = ("loss", "multi_class", "intercept", "intercept_scaling", "class_weight", "folds")
    about = {name: getattr(options, name) for name in (*names, "seed", "scoring")}
    sparse = {"penalty": options.penalty, "l1_ratio": options.l1_ratio}
    return about if options.penalty == "l2" else about | sparse


def _going_on(
    options: argparse.Namespace, estimator: LinearClassifierCV, data: Data
) -> Callable[[Any, Any], object]:
    """Return what goes on with the search whose state was kept."""
    import numpy as np

    from widemargin.model_io.search_state import restore_search

    restore_search(estimator, options.state, np.asarray(data.y), _about(options))
    return partial(estimator.continue_search, tol=options.search_tol)


def _check_state(options: argparse.Namespace) -> None:
    """Raise an error for a state that could not be read or written."""
    if options.goes_on and not options.state:
        raise ValueError("--continue needs --state FILE, the state that an earlier tune has kept")
    if options.goes_on and options.certify is not None:
        raise ValueError("--continue goes on with a plain search, without --certify")
    if options.goes_on and not os.path.isfile(options.state):
        raise FileNotFoundError(f"there is no {options.state} to continue from")
    if options.state:
        check_writable(options.state)


def _check_certify(options: argparse.Namespace) -> None:
    """Raise an error for problems whose choice of C cannot be proved."""
    if options.multi_class in JOINT_RULES:
        raise ValueError("--certify needs --multi-class ovr")
    if options.intercept == "exact":
        raise ValueError("--certify needs --intercept penalised or none")
    if options.penalty != "l2":
        raise ValueError("--certify needs --penalty l2")


def _check_search(options: argparse.Namespace) -> None:
    """Raise an error, before any data are read, for what could not be certified or drawn."""
    _check_state(options)
    if options.certify is not None:
        _check_certify(options)
    if options.probability is not None:
        from widemargin.problems.losses import gives_probabilities

        if gives_probabilities(options.loss):
            raise ValueError("--probability is for the hinge losses: the logistic loss has its own")
        if options.format != "own":
            raise ValueError("--probability needs --format own")
    files = [file for file in (options.png, options.html) if file]
    for file in files:
        check_writable(file)
    if files and find_spec("matplotlib") is None:
        raise ValueError("figures need matplotlib: pip install matplotlib")


def _check_folds(folds: int, data: Data) -> None:
    import numpy as np

    if folds < 2:
        raise ValueError("--folds must be 2 or more")
    classes, counts = np.unique(np.asarray(data.y), return_counts=True)
    if counts.min() < folds:
        rarest = label_text(classes[counts.argmin()].item())
        raise ValueError(
            f"--folds {folds} is too many: class {rarest} has only {counts.min()} examples"
        )


def _cut_short(estimator: LinearClassifierCV) -> bool:
    """Whether a limit or Ctrl-C stopped the search early."""
    from widemargin.selection.search import CUT_SHORT

    return estimator.stopped_ in CUT_SHORT


def _estimator(options: argparse.Namespace, data: Data) -> LinearClassifierCV:
    from sklearn.model_selection import StratifiedKFold

    from widemargin.estimators.linear_svc_cv import LinearSVCCV
    from widemargin.estimators.logistic_regression_cv import LogisticRegressionCV
    from widemargin.estimators.scikit_learn_arguments import l1_ratio_of
    from widemargin.problems.losses import gives_probabilities

    settings: dict[str, Any] = {
        "Cs": options.Cs,
        "cv": StratifiedKFold(options.folds, shuffle=True, random_state=options.seed),
        "scoring": options.scoring,
        "search_tol": options.search_tol,
        "certify": options.certify,
        "n_jobs": -1 if options.jobs is None else options.jobs,
        **settings_of(options, data),
    }
    if gives_probabilities(options.loss):
        ratio = l1_ratio_of(settings.pop("penalty"), settings.pop("l1_ratio"))
        settings |= {"l1_ratios": (ratio,), "use_legacy_attributes": False}
        return LogisticRegressionCV(multi_class=options.multi_class, **settings)
    return LinearSVCCV(
        options.loss,
        multi_class=options.multi_class,
        probability=options.probability or False,
        **settings,
    )


def _rows(estimator: LinearClassifierCV) -> list[tuple[str, ...]]:
    """Return the rows of the table; the last column holds the bars."""
    columns = estimator.path_
    means = columns["mean_score"]
    rows: list[tuple[str, ...]] = []
    for place, certificate in enumerate(estimator.certificates_):
        C = float(estimator.Cs_[place])
        rows.append(
            (
                f"{C:.6g}" + (" *" if estimator.C == C else ""),
                f"{means[place]:.4f}",
                f"{columns['std_score'][place]:.4f}",
                f"{certificate.relative_gap:.1e}",
                f"{columns['seconds'][place]:.3f}",
                "█" * max(1, round(_BAR * _share(float(means[place]), means))),
            )
        )
    return rows


def _share(mean: float, means: NDArray[Any]) -> float:
    """Return the length of a bar: from zero, so that small differences look small.

    Scores that are losses, and negative, are compared with the best one.
    """
    best = float(means.max())
    if mean > 0.0:
        return mean / max(best, 1.0 if best <= 1.0 else best)
    return best / mean if best < 0.0 else 0.0


def _summary(estimator: LinearClassifierCV, score: str) -> str:
    text = f"C = {estimator.C:g}, mean {score} {estimator.best_score_:.4f}; {estimator.stopped_}"
    if hasattr(estimator, "error_bound_"):
        text += (
            f"; error {percent(1.0 - estimator.best_score_)}, proven lower bound "
            f"{percent(estimator.error_bound_)} over the range"
        )
    return text


def _report_penalty(
    output: Output, options: argparse.Namespace, estimator: LinearClassifierCV
) -> None:
    for name, value in penalty_rows(options, estimator.coef_):
        output.text(f"{name} {value}")


def _report(
    output: Output,
    options: argparse.Namespace,
    estimator: LinearClassifierCV,
    data: Data,
    path: str,
    seconds: float,
) -> None:
    score = options.scoring or "accuracy"
    output.table(("C", score, "std", "gap", "seconds", ""), _rows(estimator), bars=True)
    output.text(_summary(estimator, score))
    _report_penalty(output, options, estimator)
    if options.no_model and options.format == "liblinear" and options.scoring is None:
        output.text(f"Cross Validation Accuracy = {100.0 * estimator.best_score_:g}%")
    where = "no model written" if options.no_model else f"model {path} ({options.format})"
    output.text(f"{where}, {seconds:.3f} s in all")
    if any(status != "converged" for status in estimator.status_):
        output.note(f"the tolerance was not reached at C = {estimator.C:g}")
    if _cut_short(estimator):
        output.note(f"not all values of C were tried: {estimator.stopped_}")
    if not getattr(estimator, "certified_", True):
        output.note("the choice could not be certified")
    output.result(
        *("data", "format", "loss", "multi_class", "intercept", "penalty", "tol"),
        model=None if options.no_model else path,
        rows=data.X.shape[0],
        features=data.X.shape[1],
        classes=estimator.classes_.tolist(),
        scoring=score,
        folds=estimator.path_["scores"].shape[1],
        C=estimator.C,
        best_score=estimator.best_score_,
        Cs=estimator.Cs_,
        scores=estimator.path_["scores"],
        relative_gaps=[c.relative_gap for c in estimator.certificates_],
        stopped=estimator.stopped_,
        error_bound=getattr(estimator, "error_bound_", None),
        certified=getattr(estimator, "certified_", None),
        status=estimator.status_,
        relative_gap=estimator.certificate_.relative_gap,
        seconds_reading=data.seconds,
        seconds_search=float(estimator.path_["seconds"].sum()),
        seconds=seconds,
    )


def _draw(options: argparse.Namespace, estimator: LinearClassifierCV) -> None:
    from widemargin.data.replacing import replacing

    if not (options.png or options.html):
        return
    image = io.BytesIO()
    estimator.plot().savefig(image, format="png", dpi=150)
    if options.png:
        with replacing(options.png) as file:
            file.write(image.getvalue())
    if options.html:
        with replacing(options.html) as file:
            file.write(_page(options, estimator, image.getvalue()).encode())


def _page(options: argparse.Namespace, estimator: LinearClassifierCV, image: bytes) -> str:
    """Return a self-contained page."""
    score = html.escape(options.scoring or "accuracy")
    cells = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row[:-1]) + "</tr>"
        for row in _rows(estimator)
    )
    title = html.escape(f"Choice of C for {options.data}")
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
        "<style>body{font-family:sans-serif;max-width:50em;margin:2em auto}"
        "td,th{padding:.2em .8em;text-align:right}img{max-width:100%}</style>"
        f"<h1>{title}</h1><p>{html.escape(_summary(estimator, score))}</p>"
        f'<img alt="{score} over C" src="data:image/png;base64,'
        f'{base64.b64encode(image).decode()}">'
        f"<table><tr><th>C</th><th>{score}</th><th>std</th><th>gap</th><th>seconds</th></tr>"
        f"{cells}</table></html>\n"
    )
