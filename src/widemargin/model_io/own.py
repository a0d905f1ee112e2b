"""The package's own model format: `save_model` and `load_model`; see `container` for the bytes."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from widemargin.estimators.linear_scores import LinearScores
from widemargin.estimators.sequences import SequenceClassifier
from widemargin.model_io.container import MAGIC, SCHEMA, Arrays, read_container, write_container
from widemargin.model_io.errors import ModelFormatError
from widemargin.model_io.model import LinearModel, model_of
from widemargin.model_io.sequence_model import SequenceModel, sequence_model_of
from widemargin.problems.calibration import Calibration

__all__ = ["MAGIC", "SCHEMA", "load_model", "save_model"]


def save_model(
    model: LinearScores | LinearModel | SequenceClassifier | SequenceModel,
    path: str | os.PathLike[str],
) -> None:
    """Write a model in the package's own format.

    The file is written under a temporary name and renamed, so that no reader sees half of it.

    Parameters
    ----------
    model : LinearModel, SequenceModel, or a fitted estimator
        Linear estimators, `SequenceSVC` and `SequenceCRF`.
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
        "class_weight": _weights_out(model.class_weight, path),
        "status": list(model.status),
        "solver": model.solver,
        "feature_names": None if model.feature_names is None else list(model.feature_names),
        "version": model.version,
    }
    if model.multi_class != "ovr":
        header["multi_class"] = model.multi_class
    if model.calibration is not None:
        header["calibration"] = model.calibration.method
        arrays["calibration_values"] = model.calibration.values
        arrays["calibration_lengths"] = np.asarray(model.calibration.lengths, dtype=np.int64)
    if model.classes.dtype.kind in "UO":
        values = model.classes.tolist()
        if not all(isinstance(value, str) for value in values):
            raise ModelFormatError(path, "classes must be all numbers or all strings to be saved")
        header["classes"] = values
        header["classes_are_objects"] = model.classes.dtype.kind == "O"
    else:
        arrays["classes"] = model.classes
    return header, arrays


def load_model(path: str | os.PathLike[str]) -> LinearModel | SequenceModel:
    """Read a model that `save_model` wrote.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    LinearModel or SequenceModel

    Raises
    ------
    ModelFormatError
        If the file is not a model, has a newer schema, is truncated or corrupt.
    """
    header, arrays = read_container(path)
    try:
        if header.pop("kind", "linear") == SequenceModel.kind:
            return SequenceModel.parse(header, arrays)
        return _parse(header, arrays)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ModelFormatError(path, f"the file's content is invalid: {error}") from error


def _parse(header: dict[str, Any], arrays: Arrays) -> LinearModel:
    as_objects = header.pop("classes_are_objects", False)
    classes = header.pop("classes", None)
    if classes is None:
        native = arrays.pop("classes")
        classes = native.astype(native.dtype.newbyteorder("="))
    elif not isinstance(classes, list) or not all(isinstance(name, str) for name in classes):
        raise ValueError("classes are neither numbers nor strings")
    else:
        classes = np.array(classes, dtype=object if as_objects else str)
    names, method = header.pop("feature_names"), header.pop("calibration", None)
    tables = [arrays.pop(f"calibration_{name}", None) for name in ("values", "lengths")]
    return LinearModel(
        **arrays,  # type: ignore[arg-type]
        classes=classes,
        class_weight=_weights_in(header.pop("class_weight")),
        status=tuple(header.pop("status")),
        feature_names=None if names is None else tuple(names),
        calibration=None if method is None else Calibration(method, *map(np.array, tables)),
        **header,
    )


def _weights_out(weights: Any, path: str | os.PathLike[str]) -> Any:
    """Return pairs instead of a dict: JSON's keys are strings, labels may be numbers."""
    if not isinstance(weights, dict):
        return weights
    labels = [key.item() if isinstance(key, np.generic) else key for key in weights]
    if not all(isinstance(label, str | int | float) for label in labels):
        raise ModelFormatError(path, "class_weight must name classes by number or string")
    return [[label, float(weight)] for label, weight in zip(labels, weights.values(), strict=True)]


def _weights_in(weights: Any) -> Any:
    return dict(weights) if isinstance(weights, list) else weights
