"""Random nasty problems, every solver: is each certificate true, in exact arithmetic?"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from tests.fuzz.blocks import fit_from_disk, fit_in_blocks
from tests.fuzz.children import Outcome
from tests.fuzz.judges import untrue
from tests.fuzz.nasty import Data, Random, data_of
from tests.fuzz.problems import KINDS

from widemargin import Certificate, LogisticRegression

LIMIT = 20.0
"""CPU seconds that a case may take; a fit has a limit of a fraction of a second per class."""
_OF_SEQUENCES = ("sequence", "conditional")
_IN_FOLDS = ("search", "lanes", "regression search", "robust search")


@dataclass(frozen=True, eq=False)
class Drawn:
    """A model to fit and the data to fit it on."""

    row: str
    kind: str
    model: Any
    data: Data


def draw(seed: int, number: int) -> Drawn:
    """Return the problem of a case."""
    random = np.random.default_rng([seed, number])
    shares = np.array([kind.share for kind in KINDS.values()])
    name = str(random.choice(list(KINDS), p=shares / shares.sum()))
    kind = KINDS[name]
    classes = int(random.integers(kind.classes[0], kind.classes[1] + 1))
    data = data_of(random, classes)
    settings = {
        "tol": float(random.choice([1e-2, 1e-4, 1e-4, 1e-8, 1e-12])),
        "max_iter": int(random.choice([1, 5, 30, 150])),
        # Many short fits find more than few long ones.
        "time_limit": kind.seconds if random.random() < 0.95 else 0.3,
        "random_state": int(random.integers(1000)),
    }
    model = kind.make(random, settings, classes)
    # The judges of pairs of classes fit each alone, and know nothing of the others.
    if "kernel" not in name and "class_weight" in model.get_params() and random.random() < 0.2:
        model.set_params(class_weight="balanced")
    loss = "" if name == "robust" else getattr(model, "loss", "")
    loss = "logistic" if isinstance(model, LogisticRegression) else loss
    rule = getattr(model, "multi_class", "") if "joint" in name else ""
    words = (name, loss, rule, getattr(model, "solver", ""))
    return Drawn(" ".join(filter(None, words)), name, model, _laid_out(random, name, data))


def _laid_out(random: Random, name: str, data: Data) -> Data:
    """Return the data as the estimator takes them."""
    if name == "structured":
        X = data.X.toarray() if hasattr(data.X, "toarray") else np.asarray(data.X)
        return replace(data, X=X, y=np.unique(data.y, return_inverse=True)[1])
    if name.startswith("regression"):
        data = _twice(data) if name in _IN_FOLDS else data
        return replace(data, y=_targets(random, data.y.size))
    if name in _IN_FOLDS:  # every fold needs every class
        return _twice(data)
    if name == "kernel features":
        X = data.X.toarray() if hasattr(data.X, "toarray") else np.asarray(data.X)
        return replace(data, X=np.rint(np.clip(X, -9.0, 9.0)[:, :9]).astype(np.float64))
    if name not in _OF_SEQUENCES:
        return data
    cuts = np.flatnonzero(random.random(data.y.size - 1) < 0.4) + 1
    X = data.X.toarray() if hasattr(data.X, "toarray") else np.asarray(data.X)
    weight = data.sample_weight
    if weight is not None:
        weight = np.maximum(weight[np.concatenate([[0], cuts])], 1e-12)
    return replace(data, X=np.split(X, cuts), y=np.split(data.y, cuts), sample_weight=weight)


def _twice(data: Data) -> Data:
    """Return all examples twice, so that halves have every class."""
    X = sp.vstack([data.X] * 2, "csr") if sp.issparse(data.X) else np.concatenate([data.X] * 2)
    weight = None if data.sample_weight is None else np.tile(data.sample_weight, 2)
    return replace(data, X=X, y=np.tile(data.y, 2), sample_weight=weight)


def _targets(random: Random, count: int) -> Any:
    """Return targets of any scale, some far from zero, some repeated."""
    y = random.normal(size=count) * 10.0 ** random.uniform(-8.0, 8.0)
    if random.random() < 0.2:
        y = np.round(y)
    if random.random() < 0.3:
        y = y + 2.0 ** random.integers(0, 41)
    return y


def case(seed: int, number: int) -> Outcome:
    """Fit the model of a case and judge what it says about itself."""
    drawn = draw(seed, number)
    model, data = drawn.model, drawn.data
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        try:
            _FITS.get(drawn.kind, _fit)(model, data)
        except ValueError as error:
            if str(error).startswith("solver '"):
                return Outcome(drawn.row, "refused")
            return _failed(drawn, f"{type(error).__name__}: {error}")
        except Exception as error:
            return _failed(drawn, f"{type(error).__name__}: {error}")
        short = any(status != "converged" for status in model.status_)
        told = any(issubclass(one.category, ConvergenceWarning) for one in caught)
    fault = _fault(model, short, told) or untrue(drawn.kind, model, data)
    if fault:
        return _failed(drawn, fault)
    return Outcome(drawn.row, "fell short" if short else "true")


def _fit(model: Any, data: Data) -> None:
    model.fit(data.X, data.y, data.sample_weight)


def _fit_features(model: Any, data: Data) -> None:
    X = data.X @ data.X.T if model.kernel == "precomputed" else data.X
    model.fit(X, data.y, data.sample_weight)


_FITS = {"kernel features": _fit_features, "blocks": fit_in_blocks, "disk": fit_from_disk}
"""Kinds whose rows are not simply given."""


def _failed(drawn: Drawn, what: str) -> Outcome:
    text = " ".join(f"{what} [{drawn.model} on {drawn.data.story}]".split())
    return Outcome(drawn.row, "failed", text)


def _fault(model: Any, short: bool, told: bool) -> str:
    """Say what can be seen to be wrong without a proof."""
    kept = getattr(model, "dual_coef_", 0.0)
    dual = kept.data if hasattr(kept, "data") else kept
    numbers = {
        **{name: getattr(model, name, 0.0) for name in ("coef_", "intercept_", "primal_", "dual_")},
        "dual_coef_": np.asarray(dual),
    }
    for name, values in numbers.items():
        if name != "dual_" and not np.isfinite(np.asarray(values, dtype=float)).all():
            return f"{name} is not finite"
    if np.isnan(model.dual_).any():
        return "dual_ is NaN"
    if short and not told:
        return f"status {model.status_} without a warning"
    for status, primal, dual in zip(model.status_, model.primal_, model.dual_, strict=True):
        least = getattr(model, "_least", 0.0)
        gap = Certificate(float(primal), float(dual), least=least).relative_gap
        if status == "converged" and not gap <= model.tol:
            return f"converged with a relative gap of {gap:.1e}"
    return ""
