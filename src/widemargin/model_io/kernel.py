"""Kernel models in the package's own format: support vectors, coefficients and the certificate."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from widemargin.data.kernel_matrix import is_precomputed
from widemargin.estimators.kernel_svc import KernelSVC
from widemargin.model_io.errors import ModelFormatError
from widemargin.model_io.labels import classes_in, classes_out, weights_in, weights_out

KERNEL = "kernel"
"""The kind of model that a file's header names."""

_SETTINGS: dict[str, Any] = {
    "kernel": str,
    "loss": str,
    "multi_class": str,
    "decision_function_shape": str,
    "C": float,
    "gamma": lambda gamma: gamma if isinstance(gamma, str) else float(gamma),
    "degree": int,
    "coef0": float,
    "tol": float,
    "fit_intercept": lambda given: None if given is None else bool(given),
    "solver": str,
    "memory": float,
    "max_iter": int,
}
"""Arguments that a file keeps, and their types; the others concern one run on one machine."""

_ARRAYS = ("support", "n_support", "dual_coef", "intercept", "primal", "dual", "rounding", "n_iter")
_VECTORS = "support_vectors"
_PARTS = ("data", "indices", "indptr")


def kernel_contents(
    model: KernelSVC, path: str | os.PathLike[str]
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the header and the arrays of a fitted KernelSVC's file."""
    from widemargin import __version__

    check_is_fitted(model)
    if callable(model.kernel):
        raise ModelFormatError(
            path, "a kernel that is a function cannot be saved: a model file contains no code"
        )
    arrays = {name: np.asarray(getattr(model, f"{name}_")) for name in _ARRAYS}
    vectors = model.support_vectors_
    if sp.issparse(vectors):
        arrays |= {f"{_VECTORS}_{part}": getattr(vectors, part) for part in _PARTS}
    else:
        arrays[_VECTORS] = np.asarray(vectors)
    names = getattr(model, "feature_names_in_", None)
    header: dict[str, Any] = {
        "kind": KERNEL,
        "settings": {name: kind(getattr(model, name)) for name, kind in _SETTINGS.items()},
        "class_weight": weights_out(model.class_weight, path),
        "gamma": float(getattr(model, "gamma_", 1.0)),
        "features": int(model.n_features_in_),
        "feature_names": None if names is None else [str(name) for name in names],
        "status": list(model.status_),
        "solver": model.solver_,
        "version": __version__,
    }
    classes_out(model.classes_, header, arrays, path)
    return header, arrays


def kernel_svc(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> KernelSVC:
    """Return the fitted estimator of a file's header and arrays, or raise a ValueError."""
    settings = {name: kind(header["settings"][name]) for name, kind in _SETTINGS.items()}
    model = KernelSVC(**settings, class_weight=weights_in(header["class_weight"]))
    model._check_arguments()
    model.classes_ = classes_in(header, arrays)
    model.n_features_in_ = _count(header["features"])
    model.support_vectors_ = _vectors(arrays, model.n_features_in_)
    for name in _ARRAYS:
        native = arrays[name].dtype.newbyteorder("=")
        setattr(model, f"{name}_", arrays[name].astype(native))
    model._in_pairs = model.multi_class == "ovo" and model.classes_.size > 2
    _check(model)
    if not is_precomputed(model.kernel):
        model.gamma_ = float(header["gamma"])
        if not (model.gamma_ > 0.0 and np.isfinite(model.gamma_)):
            raise ValueError(f"gamma is {model.gamma_}")
    model.status_ = [str(status) for status in header["status"]]
    model.history_ = [{} for _ in model.status_]
    model.solver_ = str(header["solver"])
    names = header["feature_names"]
    if names is not None:
        if len(names) != model.n_features_in_:
            raise ValueError(f"{len(names)} names of {model.n_features_in_} features")
        model.feature_names_in_ = np.array([str(name) for name in names], dtype=object)
    return model


def _count(value: Any) -> int:
    if not isinstance(value, int) or value < 1:
        raise ValueError(f"{value!r} features")
    return value


def _vectors(arrays: dict[str, NDArray[Any]], features: int) -> Any:
    """Return the support vectors, dense or CSR, checked."""
    if _VECTORS in arrays:
        vectors = arrays[_VECTORS]
        if vectors.ndim != 2 or vectors.shape[1] != features:
            raise ValueError(f"support vectors of shape {vectors.shape}, {features} features")
        values = vectors
    else:
        data, indices, indptr = (arrays[f"{_VECTORS}_{part}"] for part in _PARTS)
        if (
            indptr.ndim != 1
            or indptr.size == 0
            or any(a.dtype.kind != "i" for a in (indices, indptr))
        ):
            raise ValueError("support vectors are no sparse matrix")
        vectors = sp.csr_matrix((data, indices, indptr), shape=(indptr.size - 1, features))
        vectors.check_format(full_check=True)
        values = data
    if values.dtype.kind != "f" or not np.isfinite(values).all():
        raise ValueError("support vectors are not finite numbers")
    return vectors


def _check(model: KernelSVC) -> None:
    """Raise a ValueError if shapes or values do not fit together."""
    wrong = [name for name, shape in _shapes(model).items() if getattr(model, name).shape != shape]
    rows = 0 if is_precomputed(model.kernel) else model.support_.size
    if wrong or model.support_vectors_.shape[0] != rows:
        raise ValueError(f"shapes do not fit together: {', '.join(wrong) or 'support_vectors_'}")
    if not (np.isfinite(model.dual_coef_).all() and np.isfinite(model.intercept_).all()):
        raise ValueError("coefficients are not finite")
    _check_support(model)


def _check_support(model: KernelSVC) -> None:
    support, counts = model.support_, model.n_support_
    if any(a.dtype.kind not in "iu" for a in (support, counts)):
        raise ValueError("support vectors are counted by whole numbers")
    if int(counts.min()) < 0 or int(counts.sum()) != support.size:
        raise ValueError(f"{support.size} support vectors, counted as {counts.tolist()}")
    most = model.n_features_in_ if is_precomputed(model.kernel) else np.inf
    if support.size and not (int(support.min()) >= 0 and int(support.max()) < most):
        raise ValueError("support_ names rows that there are not")


def _shapes(model: KernelSVC) -> dict[str, tuple[int, ...]]:
    """Return the shapes that belong to the classes, the rule and the number of vectors."""
    k, used = model.classes_.size, model.support_.size
    if model.classes_.ndim != 1 or k < 2 or np.unique(model.classes_).size != k:
        raise ValueError(f"{k} classes, or equal ones")
    separate = model.multi_class in ("ovr", "ovo")
    lines = problems = 1 if k == 2 and separate else k
    if model._in_pairs:
        lines, problems = k - 1, k * (k - 1) // 2
    solved = (problems if separate else 1,)
    return {
        "support_": (used,),
        "n_support_": (k,),
        "dual_coef_": (lines, used),
        "intercept_": (problems,),
        **dict.fromkeys(("primal_", "dual_", "rounding_", "n_iter_"), solved),
    }
