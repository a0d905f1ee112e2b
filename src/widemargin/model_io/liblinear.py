"""LIBLINEAR's text models, as its programs ``train`` and ``predict`` (2.x) write and read them.

A model of two classes has one column of weights; a positive score means the first label, anything
else the second. One-vs-rest of k > 2 classes has k columns. With ``bias`` ≥ 0 a last row holds the
weights of a constant feature of that value.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.data.replacing import replacing
from widemargin.estimators.linear_scores import LinearScores
from widemargin.model_io.errors import ModelFormatError
from widemargin.model_io.model import LinearModel, model_of
from widemargin.model_io.own import MAGIC

LOSS_OF = {
    "L2R_LR": "logistic",
    "L2R_LR_DUAL": "logistic",
    "L2R_L2LOSS_SVC": "squared_hinge",
    "L2R_L2LOSS_SVC_DUAL": "squared_hinge",
    "L2R_L1LOSS_SVC_DUAL": "hinge",
    "MCSVM_CS": "hinge",
    # These predict as well as the others; nothing here trains or certifies them.
    "L1R_L2LOSS_SVC": "squared_hinge_l1",
    "L1R_LR": "logistic_l1",
}
_NO_CLASSIFIER = (
    "L2R_L2LOSS_SVR",
    "L2R_L2LOSS_SVR_DUAL",
    "L2R_L1LOSS_SVR_DUAL",
    "ONECLASS_SVM",
)
_TYPE_OF = {
    "logistic": "L2R_LR",
    "squared_hinge": "L2R_L2LOSS_SVC",
    "hinge": "L2R_L1LOSS_SVC_DUAL",
    "squared_hinge_l1": "L1R_L2LOSS_SVC",
    "logistic_l1": "L1R_LR",
}
_KEYS = ("solver_type", "nr_class", "label", "nr_feature", "bias")


def save_liblinear(model: LinearScores | LinearModel, path: str | os.PathLike[str]) -> None:
    """Write a model that LIBLINEAR's ``predict`` reads.

    An exact intercept is written as a constant feature of value 1; LIBLINEAR's format has no way
    to say that it was not penalised. Neither C nor the certificates are part of the format.

    Parameters
    ----------
    model : LinearModel, or a fitted LinearSVC or LogisticRegression
        Its classes must be integers.
    path : path-like
    """
    model = model_of(model)
    if model.loss not in _TYPE_OF:
        raise ModelFormatError(path, f"LIBLINEAR has no model with the loss {model.loss!r}")
    if model.multi_class == "weston_watkins" and model.coef.shape[0] > 1:
        raise ModelFormatError(path, "LIBLINEAR has no model of Weston and Watkins")
    solver = model.solver if LOSS_OF.get(model.solver) == model.loss else _TYPE_OF[model.loss]
    if model.multi_class == "crammer_singer":
        solver = "MCSVM_CS"
    labels = integer_labels(model.classes, path)
    if model.coef.shape[0] == 1:
        labels = labels[::-1]  # the sign of the score refers to the first label
    weights, bias = model.coef.T, -1.0
    if model.intercept_kind != "none":
        bias = model.intercept_scaling if model.intercept_kind == "penalised" else 1.0
        weights = np.vstack([weights, model.intercept / bias])
    elif model.intercept.any():
        bias, weights = 1.0, np.vstack([weights, model.intercept])
    if solver == "MCSVM_CS" and weights.shape[1] == 1:
        weights = np.hstack([0.5 * weights, -0.5 * weights])
    with replacing(path, text=True) as file:
        file.write(f"solver_type {solver}\n")
        file.write(f"nr_class {model.classes.size}\n")
        file.write(f"label {' '.join(map(str, labels))}\n")
        file.write(f"nr_feature {model.n_features}\n")
        file.write(f"bias {bias:.17g}\n")
        file.write("w\n")
        line = "%.17g " * weights.shape[1] + "\n"
        file.writelines(line % tuple(row) for row in weights.tolist())


def load_liblinear(path: str | os.PathLike[str]) -> LinearModel:
    """Read a classifier that LIBLINEAR's ``train``, or `save_liblinear`, wrote.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    LinearModel
        With a penalised intercept if ``bias`` > 0; C and the certificate are not known.

    Raises
    ------
    ModelFormatError
        With the line, if the text is not such a model.
    """
    with open(path, "rb") as file:
        content = file.read()
    if content.startswith(MAGIC):
        raise ModelFormatError(path, "this is a widemargin model; load_model reads it")
    header, lines, start = _header(content, path)

    def fail(key: str, reason: str) -> ModelFormatError:
        return ModelFormatError(path, reason, line=lines.get(key, lines["w"]))

    for key in _KEYS:
        if key not in header:
            raise fail(key, f"there is no {key} before the weights")
    solver = header["solver_type"]
    if solver in _NO_CLASSIFIER:
        raise fail("solver_type", f"{solver} is not a classifier")
    if solver not in LOSS_OF:
        raise fail("solver_type", f"{solver[:40]!r} is not a solver_type of LIBLINEAR")

    def number(key: str, text: str, least: int) -> int:
        digits = text[1:] if text[:1] in ("+", "-") else text
        if not (digits.isascii() and digits.isdigit()) or not least <= int(text) < 2**31:
            raise fail(key, f"{key} cannot be {text[:40]!r}")
        return int(text)

    count = number("nr_class", header["nr_class"], 0)
    if count < 2:
        raise fail("nr_class", f"a classifier has at least two classes; nr_class is {count}")
    features = number("nr_feature", header["nr_feature"], 1)
    labels = [number("label", text, -(2**31)) for text in header["label"].split()]
    if len(labels) != count:
        raise fail("label", f"there are {len(labels)} labels, but nr_class is {count}")
    if len(set(labels)) != count:
        raise fail("label", "a label occurs twice")
    try:
        bias = float(header["bias"])
    except ValueError:
        bias = np.nan
    if not np.isfinite(bias):
        raise fail("bias", f"bias cannot be {header['bias'][:40]!r}")

    columns = 1 if count == 2 and solver != "MCSVM_CS" else count
    weights = _weights(content[start:], features + (bias >= 0.0), columns, lines["w"], path)
    if count == 2:
        if solver == "MCSVM_CS":
            # The two columns are each other's negatives; their difference is the score.
            weights = weights[:, :1] - weights[:, 1:]
        labels = labels[::-1]
    return LinearModel(
        coef=weights[:features].T,
        intercept=bias * weights[features] if bias > 0.0 else np.zeros(weights.shape[1]),
        classes=np.array(labels, dtype=np.int64),
        loss=LOSS_OF[solver],
        intercept_kind="penalised" if bias > 0.0 else "none",
        intercept_scaling=bias if bias > 0.0 else 1.0,
        solver=solver,
        multi_class="crammer_singer" if solver == "MCSVM_CS" else "ovr",
    )


def integer_labels(classes: NDArray[Any], path: str | os.PathLike[str]) -> list[int]:
    """Return the classes as LIBLINEAR writes them, or refuse them on behalf of the file.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
    path : path-like
        The file that was to hold them.

    Returns
    -------
    list of int
    """
    for label in classes.tolist():
        fits = isinstance(label, int | float) and not isinstance(label, bool)
        if not fits or not float(label).is_integer() or not -(2**31) <= label < 2**31:
            raise ModelFormatError(
                path, f"LIBLINEAR's labels are integers of 32 bits; the model has {label!r}"
            )
    return [int(label) for label in classes.tolist()]


def _header(
    content: bytes, path: str | os.PathLike[str]
) -> tuple[dict[str, str], dict[str, int], int]:
    """Return the header's values, the lines they stand on, and where the weights begin."""
    header: dict[str, str] = {}
    lines: dict[str, int] = {}
    position, line = 0, 0
    while position < len(content):
        end = content.find(b"\n", position)
        end = len(content) if end < 0 else end
        text = content[position:end].decode("ascii", errors="replace").strip()
        position, line = end + 1, line + 1
        key, _, value = text.partition(" ")
        if key == "w" and not value:
            lines["w"] = line
            return header, lines, position
        if not key and header:
            continue
        if key not in _KEYS:
            what = "this is not a model of LIBLINEAR" if not header else "unknown text"
            raise ModelFormatError(path, f"{what}: {text[:40]!r}", line=line)
        if key in header:
            raise ModelFormatError(path, f"{key} occurs twice", line=line)
        header[key], lines[key] = value.strip(), line
    if not header:
        raise ModelFormatError(path, "the file is empty")
    raise ModelFormatError(path, "the file is cut short: it ends before the weights", line=line)


def _weights(
    block: bytes, rows: int, columns: int, line: int, path: str | os.PathLike[str]
) -> NDArray[np.float64]:
    tokens = block.split()
    if len(tokens) == rows * columns and b"_" not in block:
        try:
            values = np.array(list(map(float, tokens)))
        except ValueError:
            values = np.array([np.nan])
        if np.isfinite(values).all():
            return values.reshape(rows, columns)
    # Something is wrong: find the first line that is.
    seen = 0
    for offset, text in enumerate(block.split(b"\n"), start=1):
        for token in text.split():
            try:
                good = b"_" not in token and np.isfinite(float(token))
            except ValueError:
                good = False
            if not good:
                shown = token[:40].decode("ascii", errors="replace")
                raise ModelFormatError(
                    path, f"{shown!r} is not a finite number", line=line + offset
                )
        width = len(text.split())
        if width and (width != columns or seen == rows):
            reason = (
                f"there are more weights than the {rows} rows that the header promises"
                if seen == rows
                else f"there should be {columns} weights on the line, there are {width}"
            )
            raise ModelFormatError(path, reason, line=line + offset)
        seen += width > 0
    raise ModelFormatError(
        path,
        f"the file is cut short: it has {seen} of {rows} rows of weights",
        line=line + block.rstrip().count(b"\n") + 1,
    )
