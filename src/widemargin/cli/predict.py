"""``widemargin predict``: labels, scores or probabilities of the examples in a file."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from widemargin.cli import scores, sequences
from widemargin.cli.inputs import check_writable, fit_width, read_any_model, read_data
from widemargin.cli.options import add_data_options, add_disk_options, add_output_options
from widemargin.cli.output import Output, label_text, percent

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from widemargin.cli.inputs import Data
    from widemargin.model_io import LinearModel


def add_to(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "predict",
        help="apply a model",
        description="Predict the class of every example, one line each, as LIBLINEAR's predict "
        "does. Prints the accuracy if the file has labels.",
    )
    data = "LIBSVM format, CSV or Parquet, or words in columns; with or without labels"
    parser.add_argument("data", help=data)
    parser.add_argument("model", help="a widemargin or LIBLINEAR model")
    place = "predictions, as the third file of LIBLINEAR's predict (default: stdout)"
    parser.add_argument("written", nargs="?", metavar="output", help=place)
    parser.add_argument("-o", "--output", metavar="FILE", help="the same, as an option")
    columns = parser.add_mutually_exclusive_group()
    columns.add_argument(
        "--proba",
        action="store_true",
        help="add probabilities (logistic loss, or a model of tune --probability)",
    )
    columns.add_argument("--scores", action="store_true", help="add the scores w·x + b")
    parser.add_argument(
        "--pad",
        action="store_true",
        help="accept a LIBSVM file of another width than the model's: missing features are zero, "
        "further ones are dropped",
    )
    add_data_options(parser)
    add_disk_options(parser)
    add_output_options(parser)
    parser.set_defaults(run=run)


@dataclass(frozen=True, eq=False)
class _Predictions:
    """Labels, with scores or probabilities beside them if asked for."""

    labels: NDArray[Any]
    extra: NDArray[Any] | None
    accuracy: float | None
    seconds: float


def run(options: argparse.Namespace) -> int:
    """Read both files, predict, write, report."""
    from widemargin.model_io import LinearModel, ScoreModel

    if options.written is not None:
        if options.output is not None:
            raise ValueError("the predictions have two files: give one, or --output")
        options.output = options.written
    printed = options.output is None and not options.json
    output = Output(options, tables_on_stderr=printed)
    if options.output is not None:
        check_writable(options.output)
    model = read_any_model(options.model, ("widemargin predict DATA MODEL", options.data))
    if isinstance(model, ScoreModel):
        return scores.predict(options, output, model)
    if not isinstance(model, LinearModel):
        return sequences.predict(options, output, model)
    if options.proba and not model.gives_probabilities:
        raise ValueError(
            f"--proba is for the logistic loss, and for models of tune --probability; "
            f"{options.model} was trained with {model.loss}"
        )
    data = read_data(options.data, options, model)
    _check_width(output, options, data.X.shape[1], model.n_features)
    found = _predict(model, data, options)
    if options.output is not None or printed:
        _write(model, found, options.output)
    _report(output, options, model, data, found)
    return 0


def _check_width(output: Output, options: argparse.Namespace, width: int, features: int) -> None:
    if width == features:
        return
    drops = width > features
    if not options.pad:
        rest = "leave out those beyond" if drops else "take the missing ones as zero"
        raise ValueError(
            f"{options.data} has {width} features, the model has {features}; --pad to {rest}"
        )
    rest = f"those beyond {features} are left out" if drops else "the others are taken as zero"
    output.note(f"{options.data} has {width} features, the model has {features}: {rest}")


def _predict(model: LinearModel, data: Data, options: argparse.Namespace) -> _Predictions:
    began = time.perf_counter()
    scores = model.decision_function(fit_width(data.X, model.n_features))
    labels = model.classes_of(scores)
    extra: NDArray[Any] | None = None
    if options.proba:
        extra = model.probabilities_of(scores)
    elif options.scores:
        extra = scores.reshape(len(labels), -1)
    seconds = time.perf_counter() - began
    known = data.y is not None and _comparable(data.y, model.classes)
    accuracy = float((labels == data.y).mean()) if known else None
    return _Predictions(labels, extra, accuracy, seconds)


def _write(model: LinearModel, found: _Predictions, path: str | None) -> None:
    from widemargin.data.replacing import replacing

    heading = None
    if found.extra is not None:
        columns = model.classes if found.extra.shape[1] > 1 else model.classes[1:]
        heading = " ".join(["labels", *map(label_text, columns.tolist())])
    lines = _lines(found.labels, found.extra, heading)
    if path is None:
        sys.stdout.writelines(lines)
    else:
        with replacing(path, text=True) as file:
            file.writelines(lines)


def _report(
    output: Output,
    options: argparse.Namespace,
    model: LinearModel,
    data: Data,
    found: _Predictions,
) -> None:
    count, accuracy = len(found.labels), found.accuracy
    rows: list[tuple[str, str]] = [("rows", f"{count:,}")]
    if accuracy is not None:
        right = round(accuracy * count)
        rows.append(("accuracy", f"{percent(accuracy)} ({right:,} of {count:,})"))
    rows.append(("seconds reading", f"{data.seconds:.3f}"))
    rows.append(("seconds predicting", f"{found.seconds:.3f}"))
    printed: dict[str, Any] = {}
    if options.output is not None:
        rows.append(("predictions", options.output))
    else:
        printed["labels"] = found.labels
        if found.extra is not None:
            printed["probabilities" if options.proba else "scores"] = found.extra
    output.table(("", ""), rows, text_columns=2)
    output.result(
        *("data", "model", "output"),
        rows=count,
        classes=model.classes,
        accuracy=accuracy,
        seconds_reading=data.seconds,
        seconds_predicting=found.seconds,
        **printed,
    )


def _comparable(y: NDArray[Any], classes: NDArray[Any]) -> bool:
    """Whether the file's labels are the model's: files to be predicted often have zeros instead."""
    same_kind = (y.dtype.kind in "UO") == (classes.dtype.kind in "UO")
    return same_kind and not set(y.tolist()).isdisjoint(classes.tolist())


def _lines(labels: NDArray[Any], extra: NDArray[Any] | None, heading: str | None) -> Iterator[str]:
    if heading is not None:
        yield heading + "\n"
    texts = {label: label_text(label) for label in set(labels.tolist())}
    if extra is None:
        for label in labels.tolist():
            yield texts[label] + "\n"
        return
    for label, row in zip(labels.tolist(), extra.tolist(), strict=True):
        yield " ".join([texts[label], *(f"{value:.17g}" for value in row)]) + "\n"
