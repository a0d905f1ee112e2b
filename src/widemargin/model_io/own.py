"""The package's own model format: `save_model` and `load_model`; see `container` for the bytes."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from widemargin.estimators.kernel_svc import KernelSVC
from widemargin.estimators.linear_scores import LinearScores
from widemargin.estimators.sequences import SequenceClassifier
from widemargin.model_io.container import MAGIC, SCHEMA, Arrays, read_container, write_container
from widemargin.model_io.errors import ModelFormatError
from widemargin.model_io.kernel import KERNEL, kernel_contents, kernel_svc
from widemargin.model_io.labels import classes_in, classes_out, weights_in, weights_out
from widemargin.model_io.model import LinearModel, model_of
from widemargin.model_io.score_model import KINDS, Scored, ScoreModel, score_model_of
from widemargin.model_io.sequence_model import SequenceModel, sequence_model_of
from widemargin.problems.calibration import Calibration

__all__ = ["MAGIC", "SCHEMA", "load_model", "save_model"]


def save_model(
    model: LinearScores | LinearModel | SequenceClassifier | SequenceModel | KernelSVC | Scored,
    path: str | os.PathLike[str],
) -> None:
    """Write a model in the package's own format.

    The file is written under a temporary name and renamed, so that no reader sees half of it.

    Parameters
    ----------
    model : LinearModel, SequenceModel, ScoreModel, or a fitted estimator
        Linear estimators, `SequenceSVC`, `SequenceCRF` and `KernelSVC`.
    path : path-like

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from widemargin import LinearSVC
    >>> from widemargin.model_io import load_model, save_model
    >>> X, y = load_iris(return_X_y=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "iris.model")
    ...     save_model(LinearSVC().fit(X, y), path)
    ...     load_model(path).loss
    'squared_hinge'
    """
    if isinstance(model, SequenceClassifier | SequenceModel):
        header, arrays = sequence_model_of(model).contents()
    elif isinstance(model, KernelSVC):
        header, arrays = kernel_contents(model, path)
    elif isinstance(model, Scored):
        header, arrays = score_model_of(model).contents()
    else:
        header, arrays = _contents(model_of(model), path)
    write_container(path, header, arrays)


def _contents(model: LinearModel, path: str | os.PathLike[str]) -> tuple[dict[str, Any], Arrays]:
    """Return the header and the arrays of a model's file."""
    arrays: Arrays = {"coef": model.coef, "intercept": model.intercept}
    if model.primal is not None and model.dual is not None:
        arrays |= {"primal": model.primal, "dual": model.dual}
    header: dict[str, Any] = {
        "loss": model.loss,
        "C": model.C,
        "intercept_kind": model.intercept_kind,
        "intercept_scaling": model.intercept_scaling,
        "class_weight": weights_out(model.class_weight, path),
        "status": list(model.status),
        "solver": model.solver,
        "feature_names": None if model.feature_names is None else list(model.feature_names),
        "version": model.version,
    }
    if model.multi_class != "ovr":
        header["multi_class"] = model.multi_class
    if model.l1_ratio:
        header["l1_ratio"] = model.l1_ratio
    if model.calibration is not None:
        header["calibration"] = model.calibration.method
        arrays["calibration_values"] = model.calibration.values
        arrays["calibration_lengths"] = np.asarray(model.calibration.lengths, dtype=np.int64)
    classes_out(model.classes, header, arrays, path)
    return header, arrays


def load_model(
    path: str | os.PathLike[str],
) -> LinearModel | SequenceModel | ScoreModel | KernelSVC:
    """Read a model that `save_model` wrote.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    LinearModel, SequenceModel or ScoreModel, or a fitted KernelSVC

    Raises
    ------
    ModelFormatError
        If the file is not a model, has a newer schema, is truncated or corrupt.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from widemargin import LinearSVC, load_model, save_model
    >>> X, y = load_iris(return_X_y=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "iris.model")
    ...     save_model(LinearSVC().fit(X, y), path)
    ...     model = load_model(path)
    >>> print(model.certificates[0])
    primal ..., dual ..., within ... % of the optimum
    >>> model.to_estimator().predict(X[:3])
    array([0, 0, 0])
    """
    header, arrays = read_container(path)
    try:
        kind = header.pop("kind", "linear")
        if kind == SequenceModel.kind:
            return SequenceModel.parse(header, arrays)
        if kind == KERNEL:
            return kernel_svc(header, arrays)
        if kind in KINDS:
            return ScoreModel.parse(kind, header, arrays)
        return _parse(header, arrays)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ModelFormatError(path, f"the file's content is invalid: {error}") from error


def _parse(header: dict[str, Any], arrays: Arrays) -> LinearModel:
    classes = classes_in(header, arrays)
    names, method = header.pop("feature_names"), header.pop("calibration", None)
    tables = [arrays.pop(f"calibration_{name}", None) for name in ("values", "lengths")]
    return LinearModel(
        **arrays,  # type: ignore[arg-type]
        classes=classes,
        class_weight=weights_in(header.pop("class_weight")),
        status=tuple(header.pop("status")),
        feature_names=None if names is None else tuple(names),
        calibration=None if method is None else Calibration(method, *map(np.array, tables)),
        **header,
    )
