"""SequenceModel: a fitted model of sequences without its training data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from widemargin.data.conll import ConllData, conll_data
from widemargin.data.sequences import Sequences, joined_labels, sequences_of
from widemargin.estimators.sequence_crf import SequenceCRF
from widemargin.estimators.sequence_svc import SequenceSVC
from widemargin.estimators.sequences import SequenceClassifier
from widemargin.model_io.container import Arrays
from widemargin.problems.certificate import Certificate

Vector = NDArray[np.float64]

LOSSES: dict[str, type[SequenceSVC] | type[SequenceCRF]] = {
    kind.loss_name: kind for kind in (SequenceSVC, SequenceCRF)
}
"""The estimator of each loss."""

_WEIGHTS = ("coef", "transition", "start", "end")
_TEXTS = ("loss", "solver", "status", "version")


@dataclass(frozen=True, eq=False, repr=False)
class SequenceModel:
    """Weights and labels of a chain, with how they were trained and what was proven.

    Attributes
    ----------
    coef : ndarray of shape (k, n_features)
    transition : ndarray of shape (k, k)
        From the label of a row to that of the next one.
    start, end : ndarray of shape (k,)
    classes : ndarray of shape (k,)
    loss : {"hinge", "logistic"}
        That of `SequenceSVC` or of `SequenceCRF`.
    C : float
    boundaries : bool
        Whether ``start`` and ``end`` were trained.
    cost : ndarray of shape (k, k) or None
        Costs of mistakes; None for the log loss, which has none.
    primal, dual : float
        The certificate, on the training data.
    status, solver, version : str
    feature_names : tuple of str or None
    template : str or None
        In CRF++'s syntax, if the model was trained on a column file.
    columns : int
        Columns of that file before the label; 0 without a template.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import SequenceSVC
    >>> from widemargin import sequence_model_of
    >>> X, y = [np.eye(2), np.eye(2)[::-1]], [["a", "b"], ["b", "a"]]
    >>> model = sequence_model_of(SequenceSVC().fit(X, y))
    >>> model.predict(X)[1].tolist()
    ['b', 'a']
    """

    kind: ClassVar[str] = "sequence"

    coef: Vector
    transition: Vector
    start: Vector
    end: Vector
    classes: NDArray[Any]
    loss: str
    C: float
    boundaries: bool
    primal: float
    dual: float
    cost: Vector | None = None
    status: str = ""
    solver: str = ""
    version: str = ""
    feature_names: tuple[str, ...] | None = None
    template: str | None = None
    columns: int = 0

    def __repr__(self) -> str:
        return (
            f"<SequenceModel: {self.loss}, C {self.C:g}, {self.classes.size} labels, "
            f"{self.n_features} features>"
        )

    def __post_init__(self) -> None:
        for name in _WEIGHTS:
            array = np.array(getattr(self, name), dtype=np.float64, order="C")
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        self._check_shapes()
        self._check_training()

    def _check_shapes(self) -> None:
        k = self.classes.size
        if self.classes.ndim != 1 or k < 2 or len(set(self.classes.tolist())) != k:
            raise ValueError("a model has at least two different labels")
        if self.coef.ndim != 2 or self.coef.shape[0] != k or self.n_features < 1:
            raise ValueError(f"coef has shape {self.coef.shape} for {k} labels")
        for name, shape in (("transition", (k, k)), ("start", (k,)), ("end", (k,))):
            if getattr(self, name).shape != shape:
                raise ValueError(f"{name} has shape {getattr(self, name).shape}, expected {shape}")
        if not all(np.isfinite(getattr(self, name)).all() for name in _WEIGHTS):
            raise ValueError("a weight is not finite")

    def _check_training(self) -> None:
        k = self.classes.size
        if self.cost is not None and np.shape(self.cost) != (k, k):
            raise ValueError(f"cost has shape {np.shape(self.cost)}, expected {(k, k)}")
        if self.feature_names is not None and len(self.feature_names) != self.n_features:
            raise ValueError(f"{len(self.feature_names)} names for {self.n_features} features")
        if not all(isinstance(getattr(self, name), str) for name in _TEXTS):
            raise ValueError(f"{', '.join(_TEXTS)} must be strings")
        if self.loss not in LOSSES:
            raise ValueError(f"loss is {self.loss!r}")
        if not 0.0 < float(self.C) < np.inf:
            raise ValueError("C must be positive")
        if self.template is not None and (self.feature_names is None or self.columns < 1):
            raise ValueError("a template needs the names of the features and the columns")

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.coef.shape[1])

    @property
    def gives_probabilities(self) -> bool:
        """Whether `predict_marginals` answers."""
        return hasattr(LOSSES[self.loss], "predict_marginals")

    @property
    def certificate(self) -> Certificate:
        """What was proven on the training data."""
        return Certificate(self.primal, self.dual)

    def to_estimator(self) -> SequenceClassifier:
        """Return a fitted `SequenceSVC` or `SequenceCRF`, without dual variables."""
        settings: dict[str, Any] = {"boundaries": self.boundaries}
        if self.cost is not None:
            hamming = np.array_equal(self.cost, 1.0 - np.eye(self.classes.size))
            settings["cost"] = "hamming" if hamming else self.cost
        estimator = LOSSES[self.loss](self.C, **settings)
        for name in (*_WEIGHTS, "classes"):
            setattr(estimator, f"{name}_", np.array(getattr(self, name)))
        estimator.n_features_in_ = self.n_features
        estimator.primal_, estimator.dual_ = np.array([self.primal]), np.array([self.dual])
        estimator.rounding_, estimator.history_ = np.zeros(1), [{}]
        estimator.status_, estimator.solver_ = [self.status], self.solver
        estimator.n_iter_ = 0
        if self.feature_names is not None:
            estimator.feature_names_ = np.array(self.feature_names, dtype=object)
        return estimator

    def predict(self, X: Any, *, lengths: Any = None) -> list[NDArray[Any]]:
        """Return the labels of each sequence; X as in `SequenceSVC.predict`."""
        return list(self.to_estimator().predict(X, lengths=lengths))

    def predict_marginals(self, X: Any, *, lengths: Any = None) -> list[Vector]:
        """Return the probability of each label at each row, of a model with log loss."""
        estimator = self.to_estimator()
        if not isinstance(estimator, SequenceCRF):
            raise ValueError("only models with log loss (SequenceCRF) have probabilities")
        return estimator.predict_marginals(X, lengths=lengths)

    def features_of(self, sentences: list[list[list[str]]], path: str = "") -> ConllData:
        """Make the features of sentences of a column file, with or without labels."""
        if self.template is None:
            raise ValueError("the model has no template: it was not trained on a column file")
        width = len(sentences[0][0])
        if width not in (self.columns, self.columns + 1):
            raise ValueError(
                f"{path or 'the file'} has {width} columns; the model was trained on "
                f"{self.columns}, and a label"
            )
        labelled = width == self.columns + 1
        return conll_data(sentences, self.template, self.feature_names, path, labelled)

    def problem(self, X: Any, y: Any, *, lengths: Any = None) -> Any:
        """State the training problem of the model on data, and raise an error for other labels."""
        sequences: Sequences = sequences_of(X, lengths, self.n_features)
        labels = joined_labels(y, sequences.lengths)
        places = {label: place for place, label in enumerate(self.classes.tolist())}
        unknown = sorted({str(label) for label in labels.tolist() if label not in places})
        if unknown:
            raise ValueError(f"the data have the label {unknown[0]}, which the model has not")
        codes = np.array([places[label] for label in labels.tolist()], dtype=np.int32)
        estimator = self.to_estimator()
        cost = np.full(sequences.kept.size, float(self.C))
        return estimator._problem(sequences, codes, cost, self.classes.size, 1)

    @property
    def weights(self) -> Vector:
        """All weights as one matrix, as problems over chains have it."""
        return np.asarray(self.to_estimator()._weights)

    def contents(self) -> tuple[dict[str, Any], Arrays]:
        """Return the header and the arrays of the model's file."""
        arrays: Arrays = {name: getattr(self, name) for name in _WEIGHTS}
        if self.cost is not None:
            arrays["cost"] = np.asarray(self.cost, dtype=np.float64)
        header: dict[str, Any] = {"kind": self.kind}
        for name in (*_TEXTS, "C", "boundaries", "primal", "dual", "template", "columns"):
            header[name] = getattr(self, name)
        header["feature_names"] = None if self.feature_names is None else list(self.feature_names)
        if self.classes.dtype.kind in "UO":
            header["classes"] = self.classes.tolist()
        else:
            arrays["classes"] = self.classes
        return header, arrays

    @classmethod
    def parse(cls, header: dict[str, Any], arrays: Arrays) -> SequenceModel:
        """Return the model of a file's header and arrays."""
        classes = header.pop("classes", None)
        names = header.pop("feature_names")
        if classes is None:
            native = arrays.pop("classes")
            found = native.astype(native.dtype.newbyteorder("="))
        elif not isinstance(classes, list) or not all(isinstance(name, str) for name in classes):
            raise ValueError("labels are neither numbers nor strings")
        else:
            found = np.array(classes)
        if names is not None and not all(isinstance(name, str) for name in names):
            raise ValueError("names of features must be strings")
        return cls(
            **arrays,  # type: ignore[arg-type]
            classes=found,
            feature_names=None if names is None else tuple(names),
            **header,
        )


def sequence_model_of(
    estimator: SequenceClassifier | SequenceModel,
    *,
    template: str | None = None,
    columns: int = 0,
    feature_names: Any = None,
) -> SequenceModel:
    """Return the model of a fitted `SequenceSVC`, `SequenceSVCCV` or `SequenceCRF`.

    Parameters
    ----------
    estimator : fitted estimator, or SequenceModel
    template : str, optional
        In CRF++'s syntax, if the features came from a column file.
    columns : int
        Columns of that file before the label.
    feature_names : sequence of str, optional
        By default those of the feature dictionaries that the estimator was trained on.

    Returns
    -------
    SequenceModel

    Examples
    --------
    >>> from widemargin import SequenceSVC, sequence_model_of
    >>> words = [[{"word": "the"}, {"word": "dog"}], [{"word": "a"}, {"word": "cat"}]]
    >>> model = sequence_model_of(SequenceSVC().fit(words, [["DET", "NOUN"], ["DET", "NOUN"]]))
    >>> model.feature_names
    ('word=the', 'word=dog', 'word=a', 'word=cat')
    """
    from widemargin import __version__

    if isinstance(estimator, SequenceModel):
        return estimator
    check_is_fitted(estimator)
    names = getattr(estimator, "feature_names_", None) if feature_names is None else feature_names
    k = estimator.classes_.size
    certificate = estimator.certificate_
    return SequenceModel(
        coef=estimator.coef_,
        transition=estimator.transition_,
        start=estimator.start_,
        end=estimator.end_,
        classes=estimator.classes_,
        loss=estimator.loss_name,
        C=float(estimator.C_ if hasattr(estimator, "C_") else estimator.C),
        boundaries=bool(estimator.boundaries),
        primal=certificate.primal,
        dual=certificate.dual,
        cost=estimator._mistakes(k) if isinstance(estimator, SequenceSVC) else None,
        status=estimator.status_[0],
        solver=estimator.solver_,
        version=__version__,
        feature_names=None if names is None else tuple(str(name) for name in names),
        template=template,
        columns=columns,
    )
