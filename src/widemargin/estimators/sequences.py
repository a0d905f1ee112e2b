"""What SequenceSVC and SequenceCRF share: from sentences to a problem, from weights to labels."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from widemargin.auto.registry import choice_of
from widemargin.data.feature_dicts import PackedNames, sequences_of_dicts, table_of
from widemargin.data.sequences import Sequences, are_feature_dicts, joined_labels, sequences_of
from widemargin.data.validation import check_positive
from widemargin.estimators.arguments import check_limits
from widemargin.estimators.certified import CertifiedClassifier, Solutions
from widemargin.instruction_sets import core
from widemargin.problems.certificate import Point
from widemargin.problems.chain import ChainProblem
from widemargin.problems.sequence import decode
from widemargin.run import Solution

Matrix = NDArray[np.float64]


class SequenceClassifier(CertifiedClassifier):
    """Base of the estimators over chains; the subclasses name the problem."""

    loss_name: ClassVar[str]
    C: float
    boundaries: bool
    warm_start: bool

    @abstractmethod
    def _problem(
        self, sequences: Sequences, codes: Any, cost: Any, classes: int, threads: int
    ) -> ChainProblem:
        """State the problem."""

    @abstractmethod
    def _kind(self) -> type[Any]:
        """Return the class of the problem."""

    @abstractmethod
    def _start(self, problem: Any) -> Point | None:
        """Return the point of the previous fit if it belongs to the problem."""

    @abstractmethod
    def _keep_dual(self, solution: Solution) -> None:
        """Keep the dual variables."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, lengths: Any = None) -> Any:
        """Train on sequences X with labels y.

        Parameters
        ----------
        X : list of arrays or sparse matrices of shape (length, n_features)
            Or one matrix of all rows together with `lengths`, or a list of lists of feature
            dictionaries. An iterator over such lists is read once, and its dictionaries are not
            kept.
        y : list of lists of labels
            Or one flat array with a label for each row.
        sample_weight : array-like of shape (n_sequences,), optional
            A weight of 2 means the same as the sequence given twice.
        lengths : array-like of shape (n_sequences,), optional
            The number of rows of each sequence if X is one matrix.

        Returns
        -------
        self
        """
        self._check_arguments()
        names: PackedNames | None = None
        if lengths is None and are_feature_dicts(X):
            sequences, table = sequences_of_dicts(X, None)
            names = PackedNames(table)
            del table
        else:
            sequences = sequences_of(X, lengths, None)
        named = names is not None
        self._train(sequences, joined_labels(y, sequences.lengths), sample_weight, named)
        del sequences  # the names take as much room
        if names is not None:
            core.return_memory()
            self.feature_names_ = names.unpacked()
        elif hasattr(self, "feature_names_"):
            del self.feature_names_
        return self

    def _train(
        self,
        sequences: Sequences,
        labels: NDArray[Any],
        sample_weight: Any = None,
        named: bool = False,
    ) -> None:
        if labels.size == 0:
            raise ValueError("X has no sequence with any rows")
        classes, codes = np.unique(labels, return_inverse=True)
        del labels  # strings can take as much memory as the features
        if classes.size < 2:
            raise ValueError(f"y must have at least two different labels; it has {classes.size}")
        cost = self._costs(sequences, sample_weight)
        threads = effective_n_jobs(self.n_jobs)
        problem = self._problem(sequences, codes, cost, classes.size, threads)
        del codes
        same = np.array_equal(getattr(self, "classes_", []), classes)
        if named:
            # Reading names leaves much memory free that the C library would keep.
            core.return_memory()
        warm = self._start(problem) if self.warm_start and same else None
        solutions = self._solve(["all"], lambda _: problem, lambda *_: warm)
        self.classes_ = classes
        self.n_features_in_ = sequences.X.shape[1]
        self._keep_weights(solutions[0].w)
        self._keep_dual(solutions[0])
        self._keep_runs(["all"], solutions)

    def _costs(self, sequences: Sequences, sample_weight: Any) -> NDArray[np.float64]:
        weight = np.ones(sequences.count)
        if sample_weight is not None:
            weight = np.asarray(sample_weight, dtype=np.float64)
            good = weight.shape == (sequences.count,) and np.isfinite(weight).all()
            if not good or (weight < 0.0).any() or not weight.any():
                raise ValueError(
                    f"sample_weight must have {sequences.count} finite numbers, one for each "
                    "sequence, none negative and not all zero"
                )
        return float(self.C) * weight[sequences.kept]

    def _keep_weights(self, w: Matrix) -> None:
        d, k = self.n_features_in_, self.classes_.size
        self.coef_ = w[:d, :k].T  # a view: the weights can be larger than all else
        self.transition_ = w[d : d + k, :k].copy()
        self.start_, self.end_ = w[d + k, :k].copy(), w[d + k + 1, :k].copy()

    @property
    def _weights(self) -> Matrix:
        """The fitted weights as one matrix, as problems over chains have it."""
        k = self.classes_.size
        w = np.zeros((self.n_features_in_ + k + 2, -(-k // 4) * 4))
        w[: self.n_features_in_, :k] = self.coef_.T
        w[self.n_features_in_ : -2, :k] = self.transition_
        w[-2, :k], w[-1, :k] = self.start_, self.end_
        return w

    def _iterations(self, solutions: Solutions | Any) -> Any:
        return int(solutions[0].iterations)

    def _sequences(self, X: Any, lengths: Any) -> Sequences:
        """Bring sentences to be labelled into one matrix."""
        check_is_fitted(self)
        if lengths is None and are_feature_dicts(X):
            names = getattr(self, "feature_names_", None)
            if names is None:
                raise ValueError("the model was not trained on feature dictionaries")
            return sequences_of_dicts(X, table_of(names))[0]
        try:
            return sequences_of(X, lengths, self.n_features_in_)
        except ValueError as error:
            if not hasattr(self, "feature_names_"):
                raise
            raise ValueError(f"{error}; the model was trained on feature dictionaries") from error

    def predict(self, X: Any, *, lengths: Any = None) -> Any:
        """Return the labeling with the highest score, by dynamic programming.

        Parameters
        ----------
        X : list of sequences, or one matrix
            As in `fit`.
        lengths : array-like of shape (n_sequences,), optional
            As in `fit`.

        Returns
        -------
        list of ndarray
            One array of labels for each sequence.
        """
        sequences = self._sequences(X, lengths)
        return sequences.split(self.classes_[self._codes(sequences)])

    def _codes(self, sequences: Sequences) -> NDArray[np.int32]:
        if sequences.kept.size == 0:
            return np.zeros(0, dtype=np.int32)
        threads = effective_n_jobs(self.n_jobs)
        return decode(self._weights, sequences.rows(), sequences.first, self.classes_.size, threads)

    def decision_function(self, X: Any, *, lengths: Any = None) -> Any:
        """Return the scores of the labels at each row, without those of transitions.

        Parameters
        ----------
        X, lengths
            As in `predict`.

        Returns
        -------
        list of ndarray of shape (length, n_classes)
        """
        sequences = self._sequences(X, lengths)
        return sequences.split(np.asarray(sequences.X @ self.coef_.T))

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, lengths: Any = None) -> float:
        """Return the share of rows whose label is right; a label unseen in training never is.

        Parameters
        ----------
        X, y, lengths
            As in `fit`.
        sample_weight : array-like of shape (n_sequences,), optional

        Returns
        -------
        float
        """
        sequences = self._sequences(X, lengths)
        if sequences.kept.size == 0:
            raise ValueError("X has no rows to score")
        right = self.classes_[self._codes(sequences)] == joined_labels(y, sequences.lengths)
        weight = None if sample_weight is None else np.repeat(sample_weight, sequences.lengths)
        return float(np.average(right, weights=weight))

    def _check_arguments(self) -> None:
        check_positive("C", self.C)
        check_limits(self)
        choice_of(self._method(), self._kind())
