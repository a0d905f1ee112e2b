"""``widemargin predict``: labels, scores or probabilities for the examples of a file."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from widemargin.cli.inputs import (
    add_data_arguments,
    check_writable,
    fit_width,
    read_data,
    read_model,
)
from widemargin.cli.output import Output, add_output_arguments, label_text, percent

if TYPE_CHECKING:
    from numpy.typing import NDArray


def add_to(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "predict",
        help="apply a model",
        description="Predict the class of every example: one line each, as LIBLINEAR's predict. "
        "Prints the accuracy if the file has labels.",
    )
    parser.add_argument("data", help="LIBSVM's format, CSV or Parquet, with or without labels")
    parser.add_argument("model", help="a model of widemargin or of LIBLINEAR")
    parser.add_argument("-o", "--output", metavar="FILE", help="predictions (default: stdout)")
    columns = parser.add_mutually_exclusive_group()
    columns.add_argument("--proba", action="store_true", help="add probabilities (logistic loss)")
    columns.add_argument("--scores", action="store_true", help="add the scores w·x + b")
    add_data_arguments(parser)
    add_output_arguments(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Read both files, predict, write, report."""
    from widemargin.data.replacing import replacing

    printed = options.output is None and not options.json
    output = Output(options, tables_on_stderr=printed)
    if options.output is not None:
        check_writable(options.output)
    model = read_model(options.model, ("widemargin predict DATA MODEL", options.data))
    if options.proba and model.loss != "logistic":
        raise ValueError(
            f"--proba is for the logistic loss; {options.model} was trained with {model.loss}"
        )
    data = read_data(options.data, options, model)
    width = data.X.shape[1]
    if width > model.n_features:
        output.note(f"features beyond the model's {model.n_features} are ignored")
    elif width < model.n_features:
        output.note(
            f"{options.data} shows {width} features, the model has {model.n_features}: "
            "the others are taken as zero"
        )
    began = time.perf_counter()
    scores = model.decision_function(fit_width(data.X, model.n_features))
    labels = model.classes_of(scores)
    extra: NDArray[Any] | None = None
    if options.proba:
        extra = model.probabilities_of(scores)
    elif options.scores:
        extra = scores.reshape(len(labels), -1)
    seconds = time.perf_counter() - began

    heading = None
    if extra is not None:
        columns = model.classes if extra.shape[1] > 1 else model.classes[1:]
        heading = " ".join(["labels", *map(label_text, columns.tolist())])
    if options.output is not None:
        with replacing(options.output, text=True) as file:
            file.writelines(_lines(labels, extra, heading))
    elif printed:
        sys.stdout.writelines(_lines(labels, extra, heading))

    known = data.y is not None and _comparable(data.y, model.classes)
    accuracy = float((labels == data.y).mean()) if known else None
    rows: list[tuple[str, str]] = [("rows", f"{len(labels):,}")]
    if accuracy is not None:
        right = round(accuracy * len(labels))
        rows.append(("accuracy", f"{percent(accuracy)} ({right:,} of {len(labels):,})"))
    rows += [
        ("seconds reading", f"{data.seconds:.3f}"),
        ("seconds predicting", f"{seconds:.3f}"),
    ]
    if options.output is not None:
        rows.append(("predictions", options.output))
    output.table(("", ""), rows, text_columns=2)
    result: dict[str, Any] = {
        "command": "predict",
        "data": options.data,
        "model": options.model,
        "rows": len(labels),
        "classes": model.classes,
        "accuracy": accuracy,
        "seconds_reading": data.seconds,
        "seconds_predicting": seconds,
        "output": options.output,
    }
    if options.output is None:
        result["labels"] = labels
        if extra is not None:
            result["probabilities" if options.proba else "scores"] = extra
    output.result(result)
    return 0


def _comparable(y: NDArray[Any], classes: NDArray[Any]) -> bool:
    """Whether the file's labels are the model's: files to be predicted often hold zeros instead."""
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
