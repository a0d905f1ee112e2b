"""ScoreModel: a fitted regression or outlier detector without its training data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

from widemargin.data.validation import check_consistent
from widemargin.estimators.linear_one_class_svm import LinearOneClassSVM
from widemargin.estimators.linear_regressor import LinearRegressor
from widemargin.model_io.container import Arrays
from widemargin.problems.certificate import Certificate

Vector = NDArray[np.float64]

KINDS = ("regression", "one_class")
INTERCEPTS = ("exact", "penalised", "none")
_NUMBERS = ("intercept", "epsilon", "C", "nu", "intercept_scaling", "primal", "dual")
_TEXTS = ("loss", "intercept_kind", "status", "solver", "version")


@dataclass(frozen=True, eq=False, repr=False)
class ScoreModel:
    """One vector of weights whose score w·x + b is the answer, or whose sign is.

    Attributes
    ----------
    kind : {"regression", "one_class"}
        Whether `predict` returns the scores, or 1 for inliers and −1 for outliers.
    coef : ndarray of shape (n_features,)
    intercept : float
        Of an outlier detector, minus its ρ.
    loss : str
        "epsilon_insensitive" or "squared_epsilon_insensitive"; "hinge" for one class.
    epsilon : float or None
        Half-width of the tube; None if unknown: LIBLINEAR's files do not contain it.
    C : float or None
    nu : float or None
        Of an outlier detector.
    intercept_kind : {"exact", "penalised", "none"}
    intercept_scaling : float
    primal, dual : float or None
        The certificate, on the training data.
    status, solver, version : str
    feature_names : tuple of str or None

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from widemargin import LinearSVR, score_model_of
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = score_model_of(LinearSVR(epsilon=5.0, C=100.0).fit(X, y))
    >>> model
    <ScoreModel: regression, epsilon_insensitive, 10 features, intercept exact>
    """

    kind: str
    coef: Vector
    intercept: float
    loss: str
    epsilon: float | None = None
    C: float | None = None
    nu: float | None = None
    intercept_kind: str = "exact"
    intercept_scaling: float = 1.0
    primal: float | None = None
    dual: float | None = None
    status: str = ""
    solver: str = ""
    version: str = ""
    feature_names: tuple[str, ...] | None = None

    def __repr__(self) -> str:
        return (
            f"<ScoreModel: {self.kind}, {self.loss}, {self.n_features} features, "
            f"intercept {self.intercept_kind}>"
        )

    def __post_init__(self) -> None:
        coef = np.array(self.coef, dtype=np.float64, order="C")
        coef.flags.writeable = False
        object.__setattr__(self, "coef", coef)
        self._check_numbers()
        self._check_training()

    def _check_numbers(self) -> None:
        if self.coef.ndim != 1 or self.coef.size == 0:
            raise ValueError(f"coef must have shape (n_features,); it has {self.coef.shape}")
        for name in _NUMBERS:
            value = getattr(self, name)
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if value is not None and not number:
                raise ValueError(f"{name} must be a number")
        if not (np.isfinite(self.coef).all() and np.isfinite(self.intercept)):
            raise ValueError("a weight is not finite")
        ranges = {"C": (1e-300, 1e300), "epsilon": (0.0, 1e300), "nu": (1e-300, 1.0)}
        for name, (least, most) in {**ranges, "intercept_scaling": ranges["C"]}.items():
            value = getattr(self, name)
            if value is not None and not least <= value <= most:
                raise ValueError(f"{name} must lie between {least:g} and {most:g}")

    def _check_training(self) -> None:
        if not all(isinstance(getattr(self, name), str) for name in _TEXTS):
            raise ValueError(f"{', '.join(_TEXTS)} must be strings")
        for name, known in (("kind", KINDS), ("intercept_kind", INTERCEPTS)):
            if getattr(self, name) not in known:
                raise ValueError(f"{name} is {getattr(self, name)!r}")
        if self.feature_names is not None and len(self.feature_names) != self.n_features:
            raise ValueError(f"{len(self.feature_names)} names for {self.n_features} features")

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.coef.size)

    @property
    def certificate(self) -> Certificate | None:
        """The certificate, if it is known."""
        if self.primal is None or self.dual is None:
            return None
        return Certificate(self.primal, self.dual)

    def decision_function(self, X: Any) -> Vector:
        """Return the scores w·x + b."""
        names = tuple(map(str, getattr(X, "columns", ())))
        if self.feature_names is not None and names and names != self.feature_names:
            raise ValueError(
                "the columns of X differ from those the model was trained on, or in their order: "
                "pass X[list(model.feature_names)]"
            )
        check_consistent(X)
        X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
        if X.shape[1] != self.n_features:
            raise ValueError(
                f"X has {X.shape[1]} features, but the model was trained on {self.n_features}"
            )
        return np.asarray(safe_sparse_dot(X, self.coef, dense_output=True) + self.intercept)

    def predict(self, X: Any) -> Vector:
        """Return the predicted targets, or 1 for inliers and −1 for outliers."""
        return self.answers_of(self.decision_function(X))

    def answers_of(self, scores: Vector) -> Vector:
        """Return what scores predict."""
        if self.kind == "regression":
            return scores
        # LIBLINEAR's models leave their edge out.
        inside = scores >= 0.0 if self.version else scores > 0.0
        return np.where(inside, 1.0, -1.0)

    def contents(self) -> tuple[dict[str, Any], Arrays]:
        """Return the header and the arrays of the model's file."""
        header = {name: getattr(self, name) for name in (*_TEXTS, *_NUMBERS)}
        names = self.feature_names
        header["kind"] = self.kind
        header["feature_names"] = None if names is None else list(names)
        return header, {"coef": self.coef}

    @classmethod
    def parse(cls, kind: str, header: dict[str, Any], arrays: Arrays) -> ScoreModel:
        """Undo `contents`."""
        names = header.pop("feature_names")
        names = None if names is None else tuple(map(str, names))
        return cls(kind, **header, **arrays, feature_names=names)  # type: ignore[arg-type]


Scored: TypeAlias = LinearRegressor | LinearOneClassSVM | ScoreModel
"""What has a `ScoreModel`."""


def score_model_of(estimator: Scored) -> ScoreModel:
    """Return the model of a fitted regression or outlier detector.

    Parameters
    ----------
    estimator : LinearSVR, LinearSVRCV, LinearOneClassSVM or ScoreModel

    Returns
    -------
    ScoreModel

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from widemargin import LinearSVR, score_model_of
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = score_model_of(LinearSVR(epsilon=10.0, C=100.0).fit(X, y))
    >>> model
    <ScoreModel: regression, epsilon_insensitive, 10 features, intercept exact>
    >>> model.predict(X[:2]).round()
    array([183.,  78.])
    """
    from widemargin import __version__

    if isinstance(estimator, ScoreModel):
        return estimator
    if not isinstance(estimator, LinearRegressor | LinearOneClassSVM):
        raise TypeError(
            f"expected a fitted LinearSVR or LinearOneClassSVM; got {type(estimator).__name__}"
        )
    check_is_fitted(estimator)
    names = getattr(estimator, "feature_names_in_", None)
    return ScoreModel(
        "regression" if isinstance(estimator, LinearRegressor) else "one_class",
        coef=estimator.coef_.ravel(),
        intercept=float(estimator.intercept_[0]),
        primal=float(estimator.primal_[0]),
        dual=float(estimator.dual_[0]),
        status=estimator.status_[0],
        solver=estimator.solver_,
        version=__version__,
        feature_names=None if names is None else tuple(str(name) for name in names),
        **estimator._description(),
    )
