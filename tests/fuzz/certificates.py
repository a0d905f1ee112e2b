"""Random nasty problems, every solver: is each certificate true, in exact arithmetic?"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from tests.fuzz.children import Outcome
from tests.fuzz.nasty import Data, Random, data_of

from widemargin import KernelSVC, LinearSVC, LogisticRegression, RobustSVC, verify_exactly
from widemargin.exact.verdict import ExactCertificate, ExactReport

BINARY = {
    "hinge": (
        *("auto", "dual_cd", "proximal_newton", "interior_point", "bmrm_qp", "bmrm_ls"),
        *("pragam", "pegasos", "pegasos_n"),
    ),
    "squared_hinge": ("auto", "dual_cd", "newton", "dual_of_dual", "bmrm_qp", "bmrm_ls"),
    "logistic": ("auto", "dual_cd", "newton", "bmrm_qp", "bmrm_ls"),
}
JOINT = (
    *("auto", "block_dual_cd", "proximal_newton", "walrus", "shark", "frank_wolfe"),
    *("block_frank_wolfe", "oblivious_frank_wolfe", "away_frank_wolfe", "pairwise_frank_wolfe"),
)
MULTINOMIAL = ("auto", "dual_cd", "newton")
ROBUST = ("auto", "interior_point", "hybrid", "isg", "ippa", "gs_admm")
KERNEL = {"hinge": ("auto", "dual_cd"), "squared_hinge": ("auto", "dual_cd", "dual_of_dual")}
KINDS = ("binary", "binary", "binary", "ovr", "joint", "multinomial", "robust", "kernel")
SLOW = ("robust", "kernel")
"""Kinds whose methods take long steps."""
LIMIT = 20.0
"""Seconds that a case may take; a fit has a limit of 0.3 s per class."""


@dataclass(frozen=True, eq=False)
class Drawn:
    """A model to fit and the data to fit it on."""

    kind: str
    model: Any
    data: Data


def draw(seed: int, number: int) -> Drawn:
    """Return the problem of a case."""
    random = np.random.default_rng([seed, number])
    kind = str(random.choice(KINDS))
    least = 3 if kind == "multinomial" else 2
    classes = 2 if kind == "binary" else int(random.integers(least, 5))
    data = data_of(random, classes)
    limits = {
        "tol": float(random.choice([1e-2, 1e-4, 1e-4, 1e-8, 1e-12])),
        "max_iter": int(random.choice([1, 5, 30, 150])),
        # Many short fits find more than few long ones.
        "time_limit": 0.03 if kind in SLOW and random.random() < 0.9 else 0.3,
        "random_state": int(random.integers(1000)),
    }
    special = {
        "joint": _joint,
        "multinomial": _multinomial,
        "robust": _robust,
        "kernel": _kernel,
    }
    model = special.get(kind, _binary)(random, limits)
    if random.random() < 0.2:
        model.set_params(class_weight="balanced")
    name = getattr(model, "loss", "") if kind != "robust" else ""
    name = "logistic" if isinstance(model, LogisticRegression) else name
    return Drawn(" ".join(filter(None, (kind, name, model.solver))), model, data)


def _intercept(random: Random) -> dict[str, Any]:
    kind = [True, True, False, "penalised"][random.integers(4)]
    if kind != "penalised":
        return {"fit_intercept": kind}
    return {"fit_intercept": kind, "intercept_scaling": float(random.choice([1.0, 0.3, 1e3]))}


def _binary(random: Random, limits: dict[str, Any]) -> Any:
    loss = str(random.choice(list(BINARY)))
    settings = {
        "C": float(10.0 ** random.uniform(-6.0, 6.0)),
        "solver": str(random.choice(BINARY[loss])),
        **_intercept(random),
        **limits,
    }
    if loss == "logistic":
        return LogisticRegression(multi_class="ovr", **settings)
    return LinearSVC(loss, **settings)


def _multinomial(random: Random, limits: dict[str, Any]) -> Any:
    return LogisticRegression(
        C=float(10.0 ** random.uniform(-6.0, 6.0)),
        solver=str(random.choice(MULTINOMIAL)),
        **_intercept(random),
        **limits,
    )


def _joint(random: Random, limits: dict[str, Any]) -> Any:
    return LinearSVC(
        "hinge",
        C=float(10.0 ** random.uniform(-6.0, 6.0)),
        multi_class=str(random.choice(["weston_watkins", "crammer_singer"])),
        solver=str(random.choice(JOINT)),
        **_intercept(random),
        **limits,
    )


def _robust(random: Random, limits: dict[str, Any]) -> Any:
    return RobustSVC(
        radius=float(random.choice([0.0, 1e-6, 0.01, 0.1, 1.0, 100.0])),
        label_cost=float(random.choice([np.inf, np.inf, 0.1, 1.0, 10.0])),
        norm=float(random.choice([1.0, 2.0, np.inf])),
        l2=float(random.choice([0.0, 0.0, 1e-3, 1.0])),
        solver=str(random.choice(ROBUST)),
        fit_intercept=bool(random.integers(2)),
        **limits,
    )


def _kernel(random: Random, limits: dict[str, Any]) -> Any:
    loss = str(random.choice(list(KERNEL)))
    return KernelSVC(
        "linear",
        loss,
        C=float(10.0 ** random.uniform(-3.0, 3.0)),
        solver=str(random.choice(KERNEL[loss])),
        fit_intercept=bool(random.integers(2)),
        **limits,
    )


def case(seed: int, number: int) -> Outcome:
    """Fit the model of a case and judge what it says about itself."""
    drawn = draw(seed, number)
    model, data = drawn.model, drawn.data
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        try:
            model.fit(data.X, data.y, data.sample_weight)
        except ValueError as error:
            if str(error).startswith("solver '"):
                return Outcome(drawn.kind, "refused")
            return _failed(drawn, f"{type(error).__name__}: {error}")
        except Exception as error:
            return _failed(drawn, f"{type(error).__name__}: {error}")
        short = any(status != "converged" for status in model.status_)
        told = any(issubclass(one.category, ConvergenceWarning) for one in caught)
    fault = _fault(model, short, told) or _untrue(drawn)
    if fault:
        return _failed(drawn, fault)
    return Outcome(drawn.kind, "fell short" if short else "true")


def _failed(drawn: Drawn, what: str) -> Outcome:
    text = " ".join(f"{what} [{drawn.model} on {drawn.data.story}]".split())
    return Outcome(drawn.kind, "failed", text)


def _fault(model: Any, short: bool, told: bool) -> str:
    """Say what can be seen to be wrong without a proof."""
    dual = model.dual_coef_.data if hasattr(model.dual_coef_, "data") else model.dual_coef_
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
    for status, certificate in zip(model.status_, model.certificates_, strict=True):
        if status == "converged" and not certificate.relative_gap <= model.tol:
            return f"converged with a relative gap of {certificate.relative_gap:.1e}"
    return ""


def _untrue(drawn: Drawn) -> str:
    """Say which claim does not hold in exact arithmetic."""
    model, data = drawn.model, drawn.data
    if isinstance(model, KernelSVC):
        return _untrue_kernel(model, data)
    report = verify_exactly(model, data.X, data.y, data.sample_weight)
    for problem in report.problems:
        if problem.verdict != "true":
            return f"{_size(problem)}: {problem}"
    return _untrue_sum(model, report)


def _size(problem: ExactCertificate) -> str:
    """Say how far a claim is from the truth, relative to the objective."""
    P = problem.exact_primal.upper
    over = [P - Fraction(problem.primal), Fraction(problem.dual) - problem.exact_dual.lower]
    share = float(max(over) / P) if P > 0 else float("inf")
    return "untrue by rounding" if share < 1e-9 else f"untrue by {share:.0e} of the objective"


def _untrue_sum(model: Any, report: ExactReport) -> str:
    """Say whether the sum of true certificates is rounded the wrong way."""
    whole = model.certificate_
    primal = sum((p.exact_primal.lower for p in report.problems), Fraction(0))
    dual = sum((p.exact_dual.upper for p in report.problems), Fraction(0))
    if not (whole.primal >= primal and whole.dual <= dual):
        return f"the certificate of the whole model is not true: {whole}"
    return ""


def _untrue_kernel(model: KernelSVC, data: Data) -> str:
    """Compare with a linear model, whose exact bounds enclose the same optimum.

    A kernel model does not keep its dual variables. What it claims is false where its dual value is
    above an objective that is attained, or its primal value below a bound that is proved.
    """
    linear = LinearSVC(
        model.loss,
        C=model.C,
        tol=1e-7,
        fit_intercept=model.fit_intercept,
        class_weight=model.class_weight,
        time_limit=0.1,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        linear.fit(data.X, data.y, data.sample_weight)
    report = verify_exactly(linear, data.X, data.y, data.sample_weight)
    claims: list[tuple[NDArray[Any], NDArray[Any]]] = list(
        zip(model.primal_, model.dual_, strict=True)
    )
    for (primal, dual), problem in zip(claims, report.problems, strict=True):
        if not dual <= problem.exact_primal.upper:
            return (
                f"dual {float(dual)!r} above an objective of {float(problem.exact_primal.upper)!r}"
            )
        if not primal >= problem.exact_dual.lower:
            return f"primal {float(primal)!r} below the bound {float(problem.exact_dual.lower)!r}"
    return ""
