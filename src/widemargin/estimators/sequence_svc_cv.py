"""SequenceSVCCV: SequenceSVC with C chosen by cross-validation over sequences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import check_cv

from widemargin.data.sequences import Sequences, are_feature_dicts, joined_labels, sequences_of
from widemargin.data.spans import span_f1
from widemargin.data.validation import check_positive
from widemargin.estimators.sequence_svc import SequenceSVC
from widemargin.run import Record

_SCORES = ("accuracy", "span_f1")


class SequenceSVCCV(SequenceSVC):
    """Train a `SequenceSVC` with C chosen by cross-validation, folds over whole sequences.

    In each fold the values of C are tried from the smallest to the largest, each fit starting from
    the labelings of the one before. The model is then trained on all sequences at the best C.

    Parameters
    ----------
    Cs : array-like of float, default=(0.001, 0.01, 0.1, 1.0)
        Values of C to try.
    cv : int, cross-validation generator or iterable, default=5
        Folds over the sequences.
    scoring : {"accuracy", "span_f1"}, default="accuracy"
        What to compare: the share of rows whose label is right, or the F1 score of spans of BIO
        labels.
    search_tol : float, default=1e-2
        Relative duality gap of the fits of the search.
    cost, boundaries, tol, solver, max_iter, time_limit, n_jobs, random_state, verbose, callback
        As in `SequenceSVC`; the time limit holds for each fit.

    Attributes
    ----------
    C_ : float
        The best C; of equal ones the smallest.
    scores_ : ndarray of shape (folds, len(Cs))
        In the order of ``Cs_``.
    Cs_ : ndarray
        The values of C from the smallest to the largest.
    coef_, transition_, start_, end_, classes_, certificate_, n_iter_, status_, solver_, history_
        As in `SequenceSVC`, of the last fit.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import SequenceSVCCV
    >>> random = np.random.default_rng(0)
    >>> y = [np.cumsum(random.random(8) < 0.3) % 3 for _ in range(100)]  # labels that last
    >>> X = [np.eye(3)[labels] + random.normal(size=(8, 3)) for labels in y]
    >>> model = SequenceSVCCV(Cs=[0.001, 0.1], cv=3).fit(X, y)
    >>> model.C_
    0.1
    """

    def __init__(
        self,
        Cs: Any = (0.001, 0.01, 0.1, 1.0),
        *,
        cv: Any = 5,
        scoring: str = "accuracy",
        search_tol: float = 1e-2,
        cost: Any = "hamming",
        boundaries: bool = True,
        tol: float = 1e-3,
        solver: str = "auto",
        max_iter: int = 10000,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
        callback: Callable[[str, Record], object] | None = None,
    ) -> None:
        super().__init__(
            cost=cost,
            boundaries=boundaries,
            tol=tol,
            solver=solver,
            max_iter=max_iter,
            time_limit=time_limit,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
            callback=callback,
        )
        del self.C, self.warm_start
        self.Cs = Cs
        self.cv = cv
        self.scoring = scoring
        self.search_tol = search_tol

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, lengths: Any = None) -> Any:
        """Choose C and train on all sequences; arguments as in `SequenceSVC.fit`."""
        Cs = self._checked_Cs()
        if lengths is None and are_feature_dicts(X):
            from widemargin.data.feature_dicts import PackedNames, sequences_of_dicts

            sequences, table = sequences_of_dicts(X, None)
            self.feature_names_ = PackedNames(table).unpacked()
        else:
            sequences = sequences_of(X, lengths, None)
        labels = joined_labels(y, sequences.lengths)
        if sample_weight is not None:
            sample_weight = np.asarray(sample_weight, dtype=np.float64)
        folds = list(check_cv(self.cv).split(np.zeros(sequences.count)))
        cut = sequences.split(labels)
        self.scores_ = np.array(
            [self._scored(sequences, cut, sample_weight, fold, Cs) for fold in folds]
        )
        self.Cs_ = np.array(Cs)
        self.C_ = float(Cs[int(np.argmax(self.scores_.mean(axis=0)))])
        best = self._single(self.C_, float(self.tol), False)
        best._train(sequences, labels, sample_weight)
        own = set(self.get_params())
        self.__dict__.update({k: v for k, v in vars(best).items() if k not in own | {"C"}})
        del self.warm_start
        return self

    def _checked_Cs(self) -> list[float]:
        Cs = sorted(float(C) for C in np.atleast_1d(np.asarray(self.Cs, dtype=np.float64)))
        if not Cs:
            raise ValueError("Cs must have one value at least")
        for C in Cs:
            check_positive("Cs", C)
        check_positive("search_tol", self.search_tol)
        if self.scoring not in _SCORES:
            raise ValueError(f"scoring must be one of {', '.join(_SCORES)}; got {self.scoring!r}")
        self._single(Cs[0], float(self.tol), False)._check_arguments()
        return Cs

    def _single(self, C: float, tol: float, warm: bool) -> SequenceSVC:
        """Return the estimator of one C."""
        return SequenceSVC(
            C,
            cost=self.cost,
            boundaries=self.boundaries,
            tol=tol,
            solver=self.solver,
            max_iter=self.max_iter,
            time_limit=self.time_limit,
            warm_start=warm,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
            verbose=self.verbose,
            callback=self.callback,
        )

    def _scored(
        self,
        sequences: Sequences,
        labels: list[NDArray[Any]],
        sample_weight: Any,
        fold: tuple[Any, Any],
        Cs: list[float],
    ) -> list[float]:
        """Return the scores of one fold over the values of C."""
        train, test = fold
        inside, outside = sequences.take(train), sequences.take(test)
        own = np.concatenate([labels[i] for i in train])
        weight = None if sample_weight is None else sample_weight[train]
        right = [labels[i] for i in test]
        model = self._single(Cs[0], float(self.search_tol), True)
        scores = []
        for C in Cs:
            model.set_params(C=C)
            model._train(inside, own, weight)
            found = outside.split(model.classes_[model._codes(outside)])
            if self.scoring == _SCORES[0]:
                scores.append(float(np.mean(np.concatenate(found) == np.concatenate(right))))
            else:
                scores.append(span_f1(right, found))
        return scores
