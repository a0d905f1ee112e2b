"""Sequences on the command line: ``train --task sequence``, and their part of the other commands.

Files have one word per line with its columns, the last one the label, and empty lines between
sentences, as those of CoNLL and CRF++.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from widemargin.cli import one_class, scores
from widemargin.cli.fitting import certificate_rows, note_shortfall, timed
from widemargin.cli.inputs import model_path
from widemargin.cli.options import (
    NUMBER,
    add_file_arguments,
    add_output_options,
    add_solver_options,
    adder,
)
from widemargin.cli.output import Output, label_text, percent
from widemargin.cli.progress import following

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from widemargin.data.conll import ConllData
    from widemargin.estimators.sequences import SequenceClassifier
    from widemargin.model_io import SequenceModel

COMMAND = "train --task sequence"

_LOSSES = ("hinge", "logistic")

_NOT_FOR_SEQUENCES: dict[str, Any] = {
    "data_format": "auto",
    "label": None,
    "header": "auto",
    "index_base": "auto",
    "pad": False,
    "scores": False,
    "loss": None,
    "multi_class": None,
    "intercept": None,
    "intercept_scaling": None,
    "class_weight": None,
    "exact": False,
    "epsilon": None,
}
"""Options of ``predict`` and ``certify`` that are for other models, with their defaults."""


def add_to(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        COMMAND,
        description="Train a sequence model (a chain of labels) on a column file to a certified "
        "accuracy and write the model. predict and certify take the model as any other.",
    )
    add_file_arguments(parser, "one word per line, the label last; empty lines between")
    add = adder(parser.add_argument_group("problem"))
    template = "feature templates in CRF++'s syntax (default: its example for chunking)"
    add("--template", None, template, metavar="FILE")
    loss = "hinge: max-margin (SequenceSVC); logistic: conditional random field (SequenceCRF)"
    add("--loss", "hinge", loss, choices=_LOSSES)
    add("-C", 1.0, "weight of the losses in the objective", **NUMBER)
    ends = "whether the first and the last label of a sentence have weights"
    add("--boundaries", "yes", ends, choices=("yes", "no"))
    seed = "seed of the order in which sentences are visited"
    add_solver_options(parser, 1e-3, time_limit="for the fit", jobs="threads", seed=seed)
    add_output_options(parser, checks=True)
    parser.set_defaults(run=train, command="train", max_iter=10000)


def asked_for(words: list[str]) -> list[str]:
    """Return the words with a command and its task as one, if another task is asked for."""
    for place, word in enumerate(words):
        task, rest = word.partition("=")[2], words[place + 1 :]
        if word == "--task":
            task, rest = "".join(words[place + 1 : place + 2]), words[place + 2 :]
        elif not word.startswith("--task="):
            continue
        command = f"{words[0]} --task {task}"
        if command in (COMMAND, *scores.COMMANDS, one_class.COMMAND):
            return [command, *words[1:place], *rest]
    return words


def train(options: argparse.Namespace) -> int:
    """Read, train, write, report."""
    from widemargin.data.conll import load_conll
    from widemargin.data.templates import CHUNKING_TEMPLATE
    from widemargin.model_io import save_model, sequence_model_of

    output = Output(options)
    path = model_path(options)
    estimator = _estimator(options)
    estimator._check_arguments()
    template = CHUNKING_TEMPLATE if options.template is None else _text(options.template)
    began = time.perf_counter()
    data = load_conll(options.data, template)
    reading = time.perf_counter() - began
    fit = partial(estimator.fit, data.X, data.y, lengths=data.lengths)
    seconds = timed(output, options, estimator, fit)
    columns = len(data.sentences[0][0]) - 1
    model = sequence_model_of(
        estimator, template=template, columns=columns, feature_names=data.feature_names
    )
    save_model(model, path)
    found = estimator.predict(data.X, lengths=data.lengths)
    _report_training(output, options, model, data, found, path, (reading, seconds))
    return 0 if model.status == "converged" else 1


def _estimator(options: argparse.Namespace) -> SequenceClassifier:
    from widemargin.model_io.sequence_model import LOSSES

    return LOSSES[options.loss](
        options.C,
        boundaries=options.boundaries == "yes",
        tol=options.tol,
        solver=options.solver,
        max_iter=options.max_iter,
        time_limit=options.time_limit,
        n_jobs=-1 if options.jobs is None else options.jobs,
        random_state=options.seed,
    )


def _text(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        try:
            return file.read()
        except UnicodeDecodeError as error:
            raise ValueError(f"{path}: not a text file: {error}") from None


def _scores(data: ConllData, found: list[NDArray[Any]]) -> dict[str, float | None]:
    """Return token accuracy, and the F1 score of spans if the labels are BIO labels."""
    import numpy as np

    from widemargin.data.spans import are_bio, span_f1

    right = np.split(data.y, np.cumsum(data.lengths)[:-1])
    accuracy = float(np.mean(np.concatenate(found) == data.y))
    return {
        "token_accuracy": accuracy,
        "span_f1": span_f1(right, found) if are_bio(data.y) else None,
    }


def _score_rows(scores: dict[str, float | None]) -> list[tuple[str, str]]:
    names = {"token_accuracy": "token accuracy", "span_f1": "span F1"}
    return [
        (names[name], percent(value) if name == "token_accuracy" else f"{100 * value:.2f}")
        for name, value in scores.items()
        if value is not None
    ]


def _report_training(
    output: Output,
    options: argparse.Namespace,
    model: SequenceModel,
    data: ConllData,
    found: list[NDArray[Any]],
    path: str,
    seconds: tuple[float, float],
) -> None:
    certificate, scores = model.certificate, _scores(data, found)
    output.table(
        ("", ""),
        [
            ("sentences", f"{data.lengths.size:,}"),
            ("words", f"{int(data.lengths.sum()):,}"),
            ("features", f"{model.n_features:,}"),
            ("labels", f"{model.classes.size}"),
            ("loss", f"{options.loss}, C = {options.C:g}"),
            ("solver", model.solver),
            *certificate_rows(certificate, options.tol),
            *((f"training {name}", value) for name, value in _score_rows(scores)),
            ("seconds reading", f"{seconds[0]:.3f}"),
            ("seconds training", f"{seconds[1]:.3f}"),
            ("model", path),
        ],
        text_columns=2,
    )
    note_shortfall(output, model.status, certificate.relative_gap, options.tol)
    output.result(
        *("data", "template", "loss", "C", "tol"),
        model=path,
        sentences=data.lengths.size,
        words=int(data.lengths.sum()),
        features=model.n_features,
        classes=model.classes,
        solver=model.solver,
        status=model.status,
        primal=certificate.primal,
        dual=certificate.dual,
        relative_gap=certificate.relative_gap,
        seconds_reading=seconds[0],
        seconds_training=seconds[1],
        **{f"training_{name}": value for name, value in scores.items()},
    )


def _check_options(options: argparse.Namespace, path: str) -> None:
    """Raise an error for options that have no meaning for sequences."""
    for name, default in _NOT_FOR_SEQUENCES.items():
        if getattr(options, name, default) != default:
            option = name.replace("_", "-")
            raise ValueError(f"--{option} is not for sequences, and {path} is a sequence model")


def _read(model: SequenceModel, path: str) -> tuple[ConllData, float]:
    from widemargin.data.conll import read_columns

    began = time.perf_counter()
    data = model.features_of(read_columns(path), path)
    return data, time.perf_counter() - began


def predict(options: argparse.Namespace, output: Output, model: SequenceModel) -> int:
    """Label the words of a file, one per line, with empty lines between sentences."""
    import numpy as np

    from widemargin.data.replacing import replacing

    _check_options(options, options.model)
    if options.proba and not model.gives_probabilities:
        raise ValueError(f"--proba needs a model trained with --loss logistic; {options.model}'s "
                         f"loss is {model.loss}")  # fmt: skip
    data, reading = _read(model, options.data)
    began = time.perf_counter()
    found = model.predict(data.X, lengths=data.lengths)
    extra = model.predict_marginals(data.X, lengths=data.lengths) if options.proba else None
    seconds = time.perf_counter() - began
    lines = _lines(model, found, extra)
    if options.output is not None:
        with replacing(options.output, text=True) as file:
            file.writelines(lines)
    elif not options.json:
        sys.stdout.writelines(lines)
    scores = _scores(data, found) if data.y.size else {}
    times = [("seconds reading", f"{reading:.3f}"), ("seconds predicting", f"{seconds:.3f}")]
    words = int(data.lengths.sum())
    rows = [("sentences", f"{data.lengths.size:,}"), ("words", f"{words:,}")]
    output.table(("", ""), [*rows, *_score_rows(scores), *times], text_columns=2)
    printed: dict[str, Any] = {}
    if options.output is None:
        printed["labels"] = [labels.tolist() for labels in found]
        if extra is not None:
            printed["probabilities"] = [np.asarray(part).tolist() for part in extra]
    output.result(
        *("data", "model", "output"),
        sentences=data.lengths.size,
        words=words,
        classes=model.classes,
        seconds_reading=reading,
        seconds_predicting=seconds,
        **scores,
        **printed,
    )
    return 0


def _lines(
    model: SequenceModel, found: list[NDArray[Any]], extra: list[NDArray[Any]] | None
) -> Iterator[str]:
    if extra is not None:
        yield " ".join(["labels", *map(label_text, model.classes.tolist())]) + "\n"
    for place, labels in enumerate(found):
        if place:
            yield "\n"
        for t, label in enumerate(labels.tolist()):
            beside = [] if extra is None else [f"{value:.17g}" for value in extra[place][t]]
            yield " ".join([label_text(label), *beside]) + "\n"


def certify(options: argparse.Namespace, output: Output, model: SequenceModel) -> int:
    """Compute the objective at the model's weights, and search for a bound on the optimum."""
    from widemargin.cli.certify import bounds_of

    _check_options(options, options.model)
    if options.C is not None:
        model = replace(model, C=options.C)
    data, _ = _read(model, options.data)
    if not data.y.size:
        raise ValueError(f"{options.data} has no labels")
    problem = model.problem(data.X, data.y, lengths=data.lengths)
    with following(output, options.tol) as callback:
        finding = bounds_of(problem, model.weights, None, options, "all", callback)
    if not finding.finished:
        output.note("interrupted: these are the bounds found so far")
    certificate = finding.certificate
    proved = certificate.relative_gap <= options.tol
    output.table(
        ("primal", "dual", "gap", "relative gap", "best objective found"),
        [
            (
                certificate.primal,
                certificate.dual,
                f"{certificate.gap:.3e}",
                f"{certificate.relative_gap:.2e}",
                finding.best_primal,
            )
        ],
        title=f"{options.model}: sequences, {model.loss}, C = {model.C:g}",
        text_columns=0,
    )
    output.text(
        f"The objective {'is' if proved else 'is not'} proven to be within "
        f"{100 * options.tol:g} % of the optimum (relative gap {certificate.relative_gap:.2e}, "
        f"tol {options.tol:g})."
    )
    output.result(
        *("model", "data", "tol"),
        loss=model.loss,
        C=model.C,
        primal=certificate.primal,
        dual=certificate.dual,
        relative_gap=certificate.relative_gap,
        best_primal=finding.best_primal,
        certified=proved,
    )
    return 0 if proved else 1
