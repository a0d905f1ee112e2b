"""LIBLINEAR's text models, as its programs ``train`` and ``predict`` (2.x) write and read them.

A model of two classes has one column of weights; a positive score means the first label, any other
score the second. One-vs-rest with k > 2 classes has k columns. With ``bias`` ≥ 0 the last row holds
the weights of a constant feature of that value. Regressions and outlier detectors have one column
and no labels; the score of an outlier detector is taken relative to ``rho``.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from widemargin.data.replacing import replacing
from widemargin.estimators.linear_scores import LinearScores
from widemargin.model_io.container import MAGIC
from widemargin.model_io.errors import ModelFormatError
from widemargin.model_io.model import LinearModel, model_of
from widemargin.model_io.score_model import Scored, ScoreModel, score_model_of

LOSS_OF = {
    "L2R_LR": "logistic",
    "L2R_LR_DUAL": "logistic",
    "L2R_L2LOSS_SVC": "squared_hinge",
    "L2R_L2LOSS_SVC_DUAL": "squared_hinge",
    "L2R_L1LOSS_SVC_DUAL": "hinge",
    "MCSVM_CS": "hinge",
    "L1R_L2LOSS_SVC": "squared_hinge",
    "L1R_LR": "logistic",
}
_SPARSE = ("L1R_L2LOSS_SVC", "L1R_LR")
"""With the 1-norm of the weights as the penalty."""
SCORES_OF = {
    "L2R_L2LOSS_SVR": ("regression", "squared_epsilon_insensitive"),
    "L2R_L2LOSS_SVR_DUAL": ("regression", "squared_epsilon_insensitive"),
    "L2R_L1LOSS_SVR_DUAL": ("regression", "epsilon_insensitive"),
    "ONECLASS_SVM": ("one_class", "hinge"),
}
"""Types that are no classifiers: their kind and loss."""
# Of several types with the same loss, the one that is named first is written.
_TYPE_OF = {loss: kind for kind, loss in reversed(LOSS_OF.items())}
_SCORE_TYPE = {what: kind for kind, what in reversed(SCORES_OF.items())}
_KEYS = ("solver_type", "nr_class", "label", "nr_feature", "bias", "rho")


PathLike = str | os.PathLike[str]


def save_liblinear(model: LinearScores | LinearModel | Scored, path: PathLike) -> None:
    """Write a model that LIBLINEAR's ``predict`` reads.

    An exact intercept is written as a constant feature of value 1: LIBLINEAR's format cannot say
    that it was not penalised. C and the certificates are not part of the format.

    Parameters
    ----------
    model : LinearModel, ScoreModel, or a fitted estimator
        `LinearSVC`, `LogisticRegression`, `LinearSVR` or `LinearOneClassSVM`. The classes of
        a classifier must be integers.
    path : path-like

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from widemargin import LinearSVC, save_liblinear
    >>> X, y = load_iris(return_X_y=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "iris.model")
    ...     save_liblinear(LinearSVC().fit(X, y), path)
    ...     lines = open(path).read().splitlines()
    >>> lines[:3]
    ['solver_type L2R_L2LOSS_SVC', 'nr_class 3', 'label 0 1 2']
    """
    if isinstance(model, Scored):
        _save_scores(score_model_of(model), path)
        return
    model = model_of(model)
    solver = _solver_type(model, path)
    labels = integer_labels(model.classes, path)
    if model.coef.shape[0] == 1:
        labels = labels[::-1]  # the sign of the score refers to the first label
    weights, bias = model.coef.T, -1.0
    if model.intercept_kind != "none" or model.intercept.any():
        bias = model.intercept_scaling if model.intercept_kind == "penalised" else 1.0
        weights = np.vstack([weights, model.intercept / bias])
    if solver == "MCSVM_CS" and weights.shape[1] == 1:
        weights = np.hstack([0.5 * weights, -0.5 * weights])
    with replacing(path, text=True) as file:
        file.write(f"solver_type {solver}\nnr_class {model.classes.size}\n")
        file.write(f"label {' '.join(map(str, labels))}\nnr_feature {model.n_features}\n")
        file.write(f"bias {bias:.17g}\nw\n")
        line = "%.17g " * weights.shape[1] + "\n"
        file.writelines(line % tuple(row) for row in weights.tolist())


def _save_scores(model: ScoreModel, path: PathLike) -> None:
    """Write a regression or an outlier detector: one column of weights, no labels."""
    solver = _SCORE_TYPE[model.kind, model.loss]
    solver = model.solver if SCORES_OF.get(model.solver) == SCORES_OF[solver] else solver
    weights, bias, rho = model.coef, -1.0, ""
    if model.kind == "one_class":
        rho = f"rho {-model.intercept:.17g}\n"
    elif model.intercept_kind != "none" or model.intercept:
        bias = model.intercept_scaling if model.intercept_kind == "penalised" else 1.0
        weights = np.append(weights, model.intercept / bias)
    with replacing(path, text=True) as file:
        file.write(f"solver_type {solver}\nnr_class 2\nnr_feature {model.n_features}\n")
        file.write(f"bias {bias:.17g}\n{rho}w\n")
        file.writelines(f"{value:.17g} \n" for value in weights.tolist())


def _solver_type(model: LinearModel, path: PathLike) -> str:
    if model.loss not in _TYPE_OF:
        raise ModelFormatError(path, f"LIBLINEAR has no model with the loss {model.loss!r}")
    if model.multi_class == "weston_watkins" and model.coef.shape[0] > 1:
        raise ModelFormatError(path, "LIBLINEAR has no Weston-Watkins model")
    if model.multi_class == "multinomial":
        raise ModelFormatError(path, "LIBLINEAR has no multinomial model")
    if model.calibration is not None:
        raise ModelFormatError(path, "LIBLINEAR has no calibration of probabilities")
    if model.multi_class == "crammer_singer":
        return "MCSVM_CS"
    if model.l1_ratio:
        return _sparse_type(model, path)
    own = LOSS_OF.get(model.solver) == model.loss and model.solver not in _SPARSE
    return model.solver if own else _TYPE_OF[model.loss]


def _sparse_type(model: LinearModel, path: PathLike) -> str:
    found = next((kind for kind in _SPARSE if LOSS_OF[kind] == model.loss), None)
    if found is None or model.l1_ratio != 1.0:
        raise ModelFormatError(path, "LIBLINEAR has no elastic net")
    return found


def load_liblinear(path: PathLike) -> LinearModel | ScoreModel:
    """Read a model written by LIBLINEAR's ``train`` or by `save_liblinear`.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    LinearModel or ScoreModel
        A classifier, or a regression or outlier detector. With a penalised intercept if ``bias`` >
        0; C, ε, ν and the certificate are unknown.

    Raises
    ------
    ModelFormatError
        With the line, if the text is not such a model.

    Examples
    --------
    >>> import os, tempfile
    >>> from widemargin import load_liblinear
    >>> text = "solver_type L2R_LR\\nnr_class 2\\nlabel 1 -1\\nnr_feature 2\\nbias -1\\nw\\n"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "liblinear.model")
    ...     _ = open(path, "w").write(text + "0.5\\n-2\\n")
    ...     model = load_liblinear(path)
    >>> model.loss, model.classes, model.coef
    ('logistic', array([-1,  1]), array([[ 0.5, -2. ]]))
    """
    with open(path, "rb") as file:
        header = _read_header(file, path)
        block = file.read()
    solver = header.solver()
    if solver in SCORES_OF:
        return _scores(header, block, solver)
    labels = header.labels()
    features = header.integer("nr_feature", header.values["nr_feature"], 1)
    bias = header.number("bias")
    columns = 1 if len(labels) == 2 and solver != "MCSVM_CS" else len(labels)
    weights = _weights(block, features + (bias >= 0.0), columns, header)
    if len(labels) == 2:
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
        l1_ratio=1.0 if solver in _SPARSE else 0.0,
    )


def _scores(header: _Header, block: bytes, solver: str) -> ScoreModel:
    """Return a model without labels."""
    kind, loss = SCORES_OF[solver]
    features = header.integer("nr_feature", header.values["nr_feature"], 1)
    bias = header.number("bias")
    weights = _weights(block, features + (bias >= 0.0), 1, header)[:, 0]
    intercept = bias * float(weights[features]) if bias > 0.0 else 0.0
    exact = kind == "one_class"
    if exact:
        intercept -= header.number("rho")
    return ScoreModel(
        kind,
        coef=weights[:features],
        intercept=intercept,
        loss=loss,
        intercept_kind="exact" if exact else "penalised" if bias > 0.0 else "none",
        intercept_scaling=bias if bias > 0.0 else 1.0,
        solver=solver,
    )


def integer_labels(classes: NDArray[Any], path: PathLike) -> list[int]:
    """Return the classes as LIBLINEAR writes them to `path`; raise an error if it cannot."""
    for label in classes.tolist():
        fits = isinstance(label, int | float) and not isinstance(label, bool)
        if not fits or not float(label).is_integer() or not -(2**31) <= label < 2**31:
            raise ModelFormatError(
                path, f"LIBLINEAR's labels are 32-bit integers; the model has {label!r}"
            )
    return [int(label) for label in classes.tolist()]


@dataclass(frozen=True)
class _Header:
    """The text before the weights: the value and the line of each key."""

    path: PathLike
    values: dict[str, str]
    lines: dict[str, int]

    def fault(self, key: str, reason: str) -> ModelFormatError:
        return ModelFormatError(self.path, reason, line=self.lines.get(key, self.lines["w"]))

    def integer(self, key: str, text: str, least: int) -> int:
        digits = text[1:] if text[:1] in ("+", "-") else text
        if not (digits.isascii() and digits.isdigit()) or not least <= int(text) < 2**31:
            raise self.fault(key, f"{key} cannot be {text[:40]!r}")
        return int(text)

    def solver(self) -> str:
        solver = self.values["solver_type"]
        if solver not in LOSS_OF and solver not in SCORES_OF:
            raise self.fault("solver_type", f"{solver[:40]!r} is not a solver_type of LIBLINEAR")
        return solver

    def labels(self) -> list[int]:
        count = self.integer("nr_class", self.values["nr_class"], 0)
        if count < 2:
            raise self.fault(
                "nr_class", f"a classifier has at least two classes; nr_class is {count}"
            )
        labels = [self.integer("label", text, -(2**31)) for text in self.values["label"].split()]
        if len(labels) != count:
            raise self.fault("label", f"there are {len(labels)} labels, but nr_class is {count}")
        if len(set(labels)) != count:
            raise self.fault("label", "a label occurs twice")
        return labels

    def number(self, key: str) -> float:
        text = self.values[key]
        if not _is_finite(text):
            raise self.fault(key, f"{key} cannot be {text[:40]!r}")
        return float(text)

    def check_keys(self) -> None:
        """Raise an error for keys that a model of this type lacks, or has too many."""
        solver = self.values.get("solver_type", "")
        foreign = {"label"} if solver in SCORES_OF else set()
        if solver != "ONECLASS_SVM":
            foreign.add("rho")
        for key in _KEYS:
            if key in foreign and key in self.values:
                raise self.fault(key, f"a model of the type {solver} has no {key}")
            if key not in foreign and key not in self.values:
                raise self.fault(key, f"there is no {key} before the weights")


def _read_header(file: IO[bytes], path: PathLike) -> _Header:
    """Read up to the line that announces the weights."""
    header = _Header(path, {}, {})
    values, lines = header.values, header.lines
    line = None
    for line, raw in enumerate(file, start=1):
        text = raw.decode("ascii", errors="replace").strip()
        key, _, value = text.partition(" ")
        if text == "w":
            lines["w"] = line
            if "solver_type" in values:
                header.solver()
            header.check_keys()
            return header
        if not key and values:
            continue
        if key not in _KEYS:
            reason = _no_header(raw, text, bool(values))
            raise ModelFormatError(path, reason, line=line)
        if key in values:
            raise ModelFormatError(path, f"{key} occurs twice", line=line)
        values[key], lines[key] = value.strip(), line
    ends = "the file is truncated: it ends before the weights" if line else "the file is empty"
    raise ModelFormatError(path, ends, line=line)


def _no_header(raw: bytes, text: str, after_keys: bool) -> str:
    if raw.startswith(MAGIC):
        return "this is a widemargin model; load_model reads it"
    what = "unknown text" if after_keys else "this is not a LIBLINEAR model"
    return f"{what}: {text[:40]!r}"


def _is_finite(text: str | bytes) -> bool:
    """Whether a text is a finite number, without the underscores that Python allows."""
    underscore = "_" if isinstance(text, str) else b"_"
    try:
        return underscore not in text and bool(np.isfinite(float(text)))  # type: ignore[operator]
    except ValueError:
        return False


def _weights(block: bytes, rows: int, columns: int, header: _Header) -> NDArray[np.float64]:
    tokens = block.split()
    if len(tokens) == rows * columns and b"_" not in block:
        try:
            values = np.array(list(map(float, tokens)))
        except ValueError:
            values = np.array([np.nan])
        if np.isfinite(values).all():
            return values.reshape(rows, columns)
    raise _weight_fault(block, rows, columns, header)


def _weight_fault(block: bytes, rows: int, columns: int, header: _Header) -> ModelFormatError:
    """Return the error of the first line that is wrong."""
    seen, line = 0, header.lines["w"]
    for text in block.split(b"\n"):
        line += 1
        tokens = text.split()
        bad = next((token for token in tokens if not _is_finite(token)), None)
        if bad is not None:
            reason = f"{bad[:40].decode('ascii', errors='replace')!r} is not a finite number"
        elif tokens and seen == rows:
            reason = f"there are more weights than the {rows} rows that the header promises"
        elif tokens and len(tokens) != columns:
            reason = f"the line should have {columns} weights and has {len(tokens)}"
        else:
            seen += bool(tokens)
            continue
        return ModelFormatError(header.path, reason, line=line)
    reason = f"the file is truncated: it has {seen} of {rows} rows of weights"
    last = header.lines["w"] + block.rstrip().count(b"\n") + 1
    return ModelFormatError(header.path, reason, line=last)
