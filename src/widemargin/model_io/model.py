"""LinearModel: a fitted classifier without its training data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_array
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

from widemargin.data.elsewhere import Elsewhere
from widemargin.data.validation import check_consistent
from widemargin.estimators.calibrated import calibration_of
from widemargin.estimators.linear import LinearClassifier
from widemargin.estimators.linear_scores import LinearScores
from widemargin.estimators.linear_svc import LinearSVC
from widemargin.estimators.logistic_regression import LogisticRegression
from widemargin.problems.calibration import Calibration
from widemargin.problems.certificate import Certificate
from widemargin.problems.losses import LOSSES, gives_probabilities
from widemargin.problems.probabilities import probabilities
from widemargin.problems.rules import ALL_RULES, default_rule

Vector = NDArray[np.float64]

INTERCEPTS = ("exact", "penalised", "none")


def _frozen(values: Any) -> Vector:
    array = np.array(values, dtype=np.float64, order="C")
    array.flags.writeable = False
    return array


def _check_classes(classes: NDArray[Any], k: int) -> None:
    if classes.ndim != 1 or classes.size < 2:
        raise ValueError("a model has at least two classes")
    if len(set(classes.tolist())) != classes.size:
        raise ValueError("a class is named twice")
    if k != classes.size and (k, classes.size) != (1, 2):
        raise ValueError(f"{classes.size} classes do not go with {k} rows of coef")


@dataclass(frozen=True, eq=False, repr=False)
class LinearModel:
    """Weights, intercepts and classes, with how they were trained and what was proven.

    Attributes
    ----------
    coef : ndarray of shape (k, n_features)
        One row for two classes, whose score is positive for ``classes[1]``; else one per class.
    intercept : ndarray of shape (k,)
    classes : ndarray of shape (n_classes,)
        Numbers or strings. A score of zero means ``classes[0]``; ties go to the first class. Not
        necessarily sorted: a model read from LIBLINEAR keeps LIBLINEAR's order, so that ties are
        resolved as LIBLINEAR does.
    loss : str
        "hinge", "squared_hinge", "logistic", "robust_hinge", or another name for models trained
        elsewhere.
    multi_class : {"ovr", "weston_watkins", "crammer_singer", "multinomial"}
        Whether the classes were trained one-vs-rest or jointly.
    C : float or None
        None if unknown: LIBLINEAR's files do not contain it.
    intercept_kind : {"exact", "penalised", "none"}
    intercept_scaling : float
        Value of the constant feature behind a penalised intercept.
    class_weight : dict, "balanced" or None
    l1_ratio : float
        ρ in the penalty ρ‖w‖₁ + ½(1 − ρ)‖w‖².
    primal, dual : ndarray of shape (k,), or (1,) if the classes were trained jointly, or None
        Certificates of the problems, on the training data.
    status : tuple of str
        How the run of each problem ended.
    solver : str
        The solver; for a model trained by LIBLINEAR, its ``solver_type``.
    feature_names : tuple of str or None
    version : str
        Version of widemargin that trained the model; empty if it was trained elsewhere.
    calibration : Calibration or None
        From scores to probabilities, if a search has calibrated them.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from widemargin import LinearSVC
    >>> from widemargin.model_io import model_of
    >>> X, y = load_iris(return_X_y=True)
    >>> model = model_of(LinearSVC().fit(X, y))
    >>> model.coef.shape, int(model.predict(X[:1])[0])
    ((3, 4), 0)
    """

    coef: Vector
    intercept: Vector
    classes: NDArray[Any]
    loss: str
    C: float | None = None
    intercept_kind: str = "exact"
    intercept_scaling: float = 1.0
    class_weight: dict[Any, float] | str | None = None
    primal: Vector | None = None
    dual: Vector | None = None
    status: tuple[str, ...] = field(default=())
    solver: str = ""
    feature_names: tuple[str, ...] | None = None
    version: str = ""
    multi_class: str = "ovr"
    calibration: Calibration | None = None
    l1_ratio: float = 0.0

    def __repr__(self) -> str:
        C = "unknown" if self.C is None else f"{self.C:g}"
        return (
            f"<LinearModel: {self.loss}, C {C}, {self.classes.size} classes ({self.multi_class}), "
            f"{self.n_features} features, intercept {self.intercept_kind}>"
        )

    def __post_init__(self) -> None:
        put = lambda name, value: object.__setattr__(self, name, value)  # noqa: E731
        put("coef", _frozen(self.coef))
        put("intercept", _frozen(self.intercept))
        classes = np.array(self.classes)
        classes.flags.writeable = False
        put("classes", classes)
        for name in ("primal", "dual"):
            value = getattr(self, name)
            put(name, None if value is None else _frozen(value))
        self._check()
        k, calibration = self.coef.shape[0], self.calibration
        if calibration is not None and len(calibration.lengths) != k:
            raise ValueError(f"{len(calibration.lengths)} calibrations for {k} rows of coef")

    def _check(self) -> None:
        if self.coef.ndim != 2 or 0 in self.coef.shape:
            raise ValueError(f"coef must have shape (k, n_features); it has {self.coef.shape}")
        k = self.coef.shape[0]
        if self.intercept.shape != (k,):
            raise ValueError(f"intercept has shape {self.intercept.shape}, coef has {k} rows")
        _check_classes(self.classes, k)
        if not (np.isfinite(self.coef).all() and np.isfinite(self.intercept).all()):
            raise ValueError("a weight is not finite")
        self._check_training()
        for name in ("primal", "dual"):
            value = getattr(self, name)
            if value is not None and value.shape != (self.problems,):
                raise ValueError(f"{name} has shape {value.shape}, coef has {k} rows")
        if self.feature_names is not None and len(self.feature_names) != self.n_features:
            raise ValueError(f"{len(self.feature_names)} names for {self.n_features} features")

    def _check_training(self) -> None:
        if not all(isinstance(text, str) for text in (self.loss, self.solver, self.version)):
            raise ValueError("loss, solver and version must be strings")
        for name, known in (("multi_class", ALL_RULES), ("intercept_kind", INTERCEPTS)):
            if getattr(self, name) not in known:
                raise ValueError(f"{name} is {getattr(self, name)!r}")
        if len(self.status) not in (0, self.problems):
            raise ValueError(f"status has {len(self.status)} entries for {self.problems} problems")
        if not all(isinstance(text, str) for text in self.status):
            raise ValueError("status must be strings")
        if not 0.0 < self.intercept_scaling < np.inf:
            raise ValueError("intercept_scaling must be positive")
        if not 0.0 <= self.l1_ratio <= 1.0:
            raise ValueError("l1_ratio must be between 0 and 1")
        if self.C is not None and not 0.0 < self.C < np.inf:
            raise ValueError("C must be positive")

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.coef.shape[1])

    @property
    def gives_probabilities(self) -> bool:
        """Whether `probabilities_of` answers."""
        return self.calibration is not None or gives_probabilities(self.loss)

    @property
    def problems(self) -> int:
        """Number of problems that were solved: one per row of ``coef``, or one for all classes."""
        return int(self.coef.shape[0]) if self.multi_class == "ovr" else 1

    @property
    def certificates(self) -> list[Certificate]:
        """The certificate of each problem; empty if there are none."""
        if self.primal is None or self.dual is None:
            return []
        return [
            Certificate(float(p), float(d)) for p, d in zip(self.primal, self.dual, strict=True)
        ]

    def decision_function(self, X: Any) -> Vector:
        """Return the scores w·x + b: shape (n,) if ``coef`` has one row, else (n, k).

        A data frame must have the columns that the model was trained on, in the same order.
        """
        names = tuple(map(str, getattr(X, "columns", ())))
        if self.feature_names is not None and names and names != self.feature_names:
            raise ValueError(
                "the columns of X differ from those the model was trained on, or in their order: "
                "pass X[list(model.feature_names)]"
            )
        if isinstance(X, Elsewhere):
            return np.concatenate([self.decision_function(block) for block in X.matrices()])
        check_consistent(X)
        X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
        if X.shape[1] != self.n_features:
            raise ValueError(
                f"X has {X.shape[1]} features, but the model was trained on {self.n_features}"
            )
        scores = safe_sparse_dot(X, self.coef.T, dense_output=True) + self.intercept
        return scores.ravel() if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each row."""
        return self.classes_of(self.decision_function(X))

    def classes_of(self, scores: Vector) -> NDArray[Any]:
        """Return the class that each row of scores predicts."""
        places = (scores > 0.0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes[places]

    def probabilities_of(self, scores: Vector) -> Vector:
        """Return probabilities, one column per class, of a logistic or a calibrated model."""
        if self.calibration is not None:
            return self.calibration.probabilities(scores)
        if not gives_probabilities(self.loss):
            raise ValueError(
                f"a model has probabilities if its loss is logistic or if it was calibrated; this "
                f"one's loss is {self.loss}"
            )
        return probabilities(scores, joint=self.multi_class != "ovr")

    def to_estimator(self) -> LinearClassifier:
        """Return a fitted `LinearSVC` or `LogisticRegression`.

        Its classes are sorted, as scikit-learn expects. A model has no dual variables, so
        ``dual_coef_`` has no columns; a calibration is left out. With ``warm_start=True`` a fit
        continues from the weights.
        """
        estimator = self._unfitted()
        k = self.coef.shape[0]
        order = np.argsort(self.classes)
        sign = -1.0 if k == 1 and order[0] == 1 else 1.0
        rows = np.zeros(1, dtype=np.intp) if k == 1 else order
        # One certificate per row, or one for all of them.
        solved = rows if self.multi_class == "ovr" else np.zeros(1, dtype=np.intp)
        unknown = np.full(solved.size, np.nan)
        estimator.classes_ = self.classes[order]
        estimator.coef_ = sign * self.coef[rows]
        estimator.intercept_ = sign * self.intercept[rows]
        estimator.n_features_in_ = self.n_features
        estimator.dual_coef_ = np.empty((k, 0))
        estimator.support_ = np.empty(0, dtype=np.intp)
        estimator.n_support_ = np.zeros(self.classes.size, dtype=np.intp)
        estimator.primal_ = unknown if self.primal is None else self.primal[solved]
        estimator.dual_ = unknown if self.dual is None else self.dual[solved]
        estimator.rounding_ = np.zeros(solved.size)
        estimator.n_iter_ = np.zeros(solved.size, dtype=np.intp)
        status = self.status or ("loaded",) * self.problems
        estimator.status_ = [status[place] for place in solved]
        estimator.history_ = [{} for _ in solved]
        estimator.solver_ = self.solver
        if self.feature_names is not None:
            estimator.feature_names_in_ = np.array(self.feature_names, dtype=object)
        return estimator

    def _unfitted(self) -> LinearClassifier:
        """Return the estimator that trains models of this kind, with its arguments set."""
        k = 1 if self.classes.size == 2 else self.classes.size
        if self.loss not in LOSSES or self.coef.shape[0] != k:
            raise ValueError(f"no estimator here trains a model of the kind {self.loss!r}")
        settings: dict[str, Any] = {
            "C": 1.0 if self.C is None else self.C,
            "fit_intercept": {"exact": True, "none": False}.get(self.intercept_kind, "penalised"),
            "intercept_scaling": self.intercept_scaling,
            "class_weight": self.class_weight,
        }
        if self.l1_ratio:
            settings["l1_ratio"] = self.l1_ratio
        if gives_probabilities(self.loss):
            rule = default_rule(self.loss) if self.classes.size == 2 else self.multi_class
            return LogisticRegression(multi_class=rule, **settings)
        penalty = "elasticnet" if self.l1_ratio else "l2"
        return LinearSVC(self.loss, penalty, multi_class=self.multi_class, **settings)


def model_of(estimator: LinearScores | LinearModel) -> LinearModel:
    """Return the model of a fitted linear estimator.

    Parameters
    ----------
    estimator : LinearSVC, LogisticRegression, RobustSVC or LinearModel

    Returns
    -------
    LinearModel

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> from widemargin import LinearSVC, model_of
    >>> model = model_of(LinearSVC(C=10.0).fit(X, y))
    >>> model.loss, model.C, model.coef.shape
    ('squared_hinge', 10.0, (3, 4))
    >>> model.predict(X[:3])
    array([0, 0, 0])
    """
    if isinstance(estimator, LinearModel):
        return estimator
    if not isinstance(estimator, LinearScores):
        kind = type(estimator)
        raise TypeError(
            "expected a fitted linear estimator of widemargin (of a pipeline, its last step); got "
            f"{kind.__module__.split('.')[0]}'s {kind.__name__}"
        )
    check_is_fitted(estimator)
    if hasattr(estimator, "transformer_"):
        raise TypeError(
            "a model file holds weights alone, and this estimator has a transformer before them: "
            "save it with pickle, joblib or skops, or convert it with skl2onnx"
        )
    return linear_part(estimator)


def linear_part(estimator: LinearScores) -> LinearModel:
    """Return the model of a fitted linear estimator, behind its transformer if it has one."""
    from widemargin import __version__

    behind = hasattr(estimator, "transformer_")
    names = None if behind else getattr(estimator, "feature_names_in_", None)
    weight = estimator.class_weight
    return LinearModel(
        coef=estimator.coef_.toarray() if sp.issparse(estimator.coef_) else estimator.coef_,
        intercept=estimator.intercept_,
        classes=estimator.classes_,
        class_weight=dict(weight) if isinstance(weight, dict) else weight,
        primal=estimator.primal_,
        dual=estimator.dual_,
        status=tuple(estimator.status_),
        solver=estimator.solver_,
        feature_names=None if names is None else tuple(str(name) for name in names),
        version=__version__,
        calibration=calibration_of(estimator),
        **estimator._description(),
    )
