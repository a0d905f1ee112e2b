"""What a search over C has seen, as a file: from it `continue_search` goes on another day.

The file is numpy's ``.npz`` without pickled objects: the arrays of the search, and a text in JSON
that says what was searched.
"""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.data.replacing import replacing
from widemargin.estimators.linear_cv import LinearClassifierCV
from widemargin.model_io.errors import ModelFormatError

SCHEMA = 1
_ARRAYS = ("Cs_", "fold_coef_", "fold_intercept_", "coef_", "intercept_")
_COLUMNS = ("scores", "primal", "dual", "passes", "seconds", "iterations")
_PATHS = "coefs_paths_"


def save_search(
    estimator: LinearClassifierCV,
    path: str | os.PathLike[str],
    y: NDArray[Any],
    settings: dict[str, Any],
) -> None:
    """Write the state of a search.

    Parameters
    ----------
    estimator : LinearSVCCV, or LogisticRegressionCV with ``use_legacy_attributes=False``
        Fitted, without a transformer.
    path : path-like
    y : ndarray of shape (n,)
        The labels, to recognise the data by.
    settings : dict
        What the search was about, of JSON's types.
    """
    arrays = {name: np.asarray(getattr(estimator, name)) for name in _ARRAYS}
    arrays |= {f"path_{name}": np.asarray(estimator.path_[name]) for name in _COLUMNS}
    if hasattr(estimator, _PATHS):
        arrays[_PATHS] = getattr(estimator, _PATHS)
    header = {
        "schema": SCHEMA,
        "kind": type(estimator).__name__,
        "settings": settings,
        "data": _fingerprint(y),
        "certified": hasattr(estimator, "certified_"),
    }
    text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    with replacing(path) as file:
        np.savez_compressed(file, **{"header": text, **arrays})  # type: ignore[arg-type]


def restore_search(
    estimator: LinearClassifierCV,
    path: str | os.PathLike[str],
    y: NDArray[Any],
    settings: dict[str, Any],
) -> None:
    """Give an estimator what `save_search` wrote, so that `continue_search` can go on.

    Raises
    ------
    ModelFormatError
        If the file is no such state, or is damaged.
    ValueError
        If it belongs to other data or to another search.
    """
    header, arrays = _read(path)
    if header["kind"] != type(estimator).__name__ or header["settings"] != settings:
        before = header["settings"] if isinstance(header["settings"], dict) else {}
        names = [name for name in before | settings if before.get(name) != settings.get(name)]
        raise ValueError(f"{path} is the state of another search: {', '.join(names) or 'the loss'}")
    if header["certified"]:
        raise ValueError(f"{path} is the state of a certified search, which cannot be continued")
    if header["data"] != _fingerprint(y):
        raise ValueError(f"{path} is the state of a search on other data")
    for name in _ARRAYS:
        setattr(estimator, name, arrays[name])
    if _PATHS in arrays:
        setattr(estimator, _PATHS, arrays[_PATHS])
    estimator.classes_ = np.unique(y)
    estimator.path_ = {name: arrays[f"path_{name}"] for name in _COLUMNS}


def _read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        header = json.loads(arrays.pop("header").tobytes())
        count = arrays["Cs_"].size
        whole = all(len(arrays[f"path_{name}"]) == count for name in _COLUMNS)
        if not (whole and count > 0 and {"kind", "settings", "data", "certified"} <= set(header)):
            raise ValueError
    except (ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise ModelFormatError(path, "this is not the state of a search, or damaged") from error
    if header["schema"] != SCHEMA:
        raise ModelFormatError(path, f"the state has schema {header['schema']}, not {SCHEMA}")
    return header, arrays


def _fingerprint(y: NDArray[Any]) -> list[Any]:
    """Return number and digest of the labels."""
    text = "\n".join(map(str, np.asarray(y).tolist())).encode()
    return [int(np.size(y)), hashlib.sha256(text).hexdigest()]
