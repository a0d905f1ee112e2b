"""What LinearSVCCV and LogisticRegressionCV share: a search over C, then a fit at the best one."""

from __future__ import annotations

import math
from contextlib import ExitStack
from typing import Any, ClassVar

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from widemargin.data.validation import (
    check_every_class,
    check_sample_weight,
    class_costs,
    encode_labels,
    validate_rows,
)
from widemargin.estimators.arguments import check_number, check_positive, seed_of
from widemargin.estimators.linear import LinearClassifier
from widemargin.estimators.warn import warn_of_shortfall
from widemargin.methods.auto_binary import SMALL_PROBLEM
from widemargin.methods.stacked_newton import LARGEST_FACTORISED
from widemargin.problems.certificate import Certificate
from widemargin.selection.folds import Engine, Folds, StackedFolds
from widemargin.selection.laned_folds import FEWEST_CLASSES, MOST_WEIGHTS, LanedFolds
from widemargin.selection.path import check_Cs
from widemargin.selection.progress import SearchBar
from widemargin.selection.scoring import scorer_of
from widemargin.selection.search import CUT_SHORT, Coarse, Limits, Search, automatic_Cs, go_on
from widemargin.selection.separate_folds import SeparateFolds
from widemargin.selection.splits import check_splits, splits_of
from widemargin.selection.stopping import LARGEST_C, GradientRule

Vector = NDArray[np.float64]

SOLVED_TO = 0.1
"""The folds are solved to this times ``search_tol``."""

SMALL_TOL = 1e-7
"""The folds of small problems are solved to at most this."""

OF_THE_SEARCH = {"time_limit", "verbose", "callback"}
"""Arguments that mean the search here and a single fit elsewhere."""

COARSE = 10.0
"""Times ``search_tol``: what is enough where C is beyond the best one and the score far below."""

COARSE_STEPS = 12
"""Sweeps or steps at most, in such a case."""

FAR_BELOW = 0.002
"""Accuracy below the best one by which a C is out of the question, and five examples more."""

CERTIFIED = ("error_bound_", "certified_", "band_", "n_solved_")
"""Attributes that only a certified choice leaves."""


class LinearClassifierCV(LinearClassifier):
    """Base of the classifiers that choose C; the subclasses name the loss."""

    Cs: Any
    cv: Any
    scoring: Any
    search_tol: float
    certify: float | None
    warm_start = False

    @property
    def C(self) -> float:  # type: ignore[override]
        """The C that was chosen, as the classifiers at a fixed C call it."""
        return float(getattr(self, "C_", 1.0))

    _single: ClassVar[Any]
    """The classifier at one C."""

    def _at(self, C: float) -> LinearClassifier:
        """Return the unfitted classifier at one C; what bounds and shows the search is not its."""
        shared = self._single().get_params().keys() & self.get_params().keys()
        settings = {name: getattr(self, name) for name in shared - OF_THE_SEARCH}
        if self._rule() != "ovr":  # one problem, with nothing to do side by side
            settings["n_jobs"] = None
        return self._single(C=C, **settings)

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Any:
        """Choose C by cross-validation, then train on all examples at that C.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the examples, in training and in the scores of those held out.
        groups : array-like of shape (n_samples,), optional
            Given to the splitter.

        Returns
        -------
        self
        """
        data = self._data(X, y, sample_weight, groups)
        y = data.classes[data.codes]  # as it was checked, once
        for name in CERTIFIED:
            self.__dict__.pop(name, None)
        if self.certify is not None:
            self._certified(data, X, y, sample_weight)
            return self
        engine, search = self._engine(data), Search()
        Cs = automatic_Cs(engine) if self.Cs is None else iter(check_Cs(self.Cs))
        rule = GradientRule(float(self.search_tol)) if self.Cs is None else None
        self._look(data, engine, search, Cs, rule, float(self.search_tol), X, y)
        self._finish(data, engine, search, X, y, sample_weight)
        return self

    def continue_search(
        self, X: Any, y: Any, *, tol: float, sample_weight: Any = None, groups: Any = None
    ) -> Any:
        """Go on where the search stopped, with a stricter tolerance (WARM, §III.3).

        The fold solutions at the last C are the start; that C and larger ones are looked at with
        the new tolerance, for the folds' problems and for the rule that ends the search. With a
        grid ``Cs`` these are its values that were not looked at. What was seen before stays part
        of the choice.

        Parameters
        ----------
        X, y, sample_weight, groups
            As in `fit`; the data are not kept in between.
        tol : float
            In place of ``search_tol``.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        check_positive("tol", tol)
        if hasattr(self, "certified_"):
            raise ValueError("continue_search goes on with a plain search, not a certified one")
        data = self._data(X, y, sample_weight, groups)
        if self.fold_coef_.shape != (
            len(data.splits),
            len(data.positives),
            data.rows.weights,
        ) or not np.array_equal(self.classes_, data.classes):
            raise ValueError("continue_search needs the data that the search was begun on")
        y = data.classes[data.codes]
        engine, search = self._engine(data), self._seen()
        last = search.Cs[-1]
        engine.restart(last, self.fold_coef_, self.fold_intercept_)
        if self.Cs is None:
            count = max(0, math.floor(math.log2(LARGEST_C / last) + 1e-9))
            Cs, rule = last * 2.0 ** np.arange(count + 1), GradientRule(float(tol))
        else:
            given = check_Cs(self.Cs)
            Cs, rule = np.append(last, given[given > last]), None
        # The last C comes again, to be solved to the stricter tolerance.
        self._look(data, engine, search, iter(Cs), rule, float(tol), X, y)
        self._finish(data, engine, search, X, y, sample_weight)
        return self

    def _data(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> Folds:
        loss = self._loss()
        self._check_arguments()
        rows, y = validate_rows(self, X, y)
        weight = check_sample_weight(sample_weight, rows.count)
        classes, codes = encode_labels(y)
        cost = class_costs(1.0, classes, codes, self.class_weight, weight)
        check_every_class(classes, codes, cost)
        if isinstance(self.fit_intercept, str):
            rows = rows.with_constant(float(self.intercept_scaling))
            free = False
        else:
            free = bool(self.fit_intercept)
        splits = splits_of(self.cv, np.asarray(y), groups)
        folds = Folds(
            rows, classes, codes, splits, weight, self.class_weight, loss, free, self._rule()
        )
        check_splits(folds)
        return folds

    def _check_arguments(self) -> None:
        super()._check_arguments()
        check_positive("search_tol", self.search_tol)
        if self.certify is not None:
            check_number("certify", self.certify, lambda v: 0.0 < v < 1.0, "between 0 and 1")
            if self.scoring not in (None, "accuracy"):
                raise ValueError(
                    "a certified choice bounds the rate of errors; it needs scoring='accuracy'"
                )
            if self._rule() != "ovr":
                raise ValueError(
                    "a certified choice needs multi_class='ovr': the bound on the solution's "
                    "distance is that of binary problems"
                )
            if not isinstance(self.fit_intercept, str) and self.fit_intercept:
                raise ValueError(
                    "a certified choice needs fit_intercept='penalised' or False: the bound on the "
                    "solution's distance does not hold for an intercept that is not penalised"
                )
        if self.Cs is not None:
            check_Cs(self.Cs)

    def _engine(self, folds: Folds) -> Engine:
        # Where weights are many, coordinate descent takes fewer passes than conjugate gradients do,
        # and the folds' weights side by side would not stay in cache.
        few = folds.rows.weights <= LARGEST_FACTORISED
        if folds.loss.smooth and (self.solver == "newton" or (self.solver == "auto" and few)):
            return StackedFolds(folds)
        if (
            folds.loss.smooth
            and not folds.free_intercept
            and self.solver in ("auto", "dual_cd")
            and folds.rows.weights * len(folds.splits) <= MOST_WEIGHTS / len(folds.positives)
            and len(folds.positives) >= FEWEST_CLASSES
            and self.certify is None
        ):
            return LanedFolds(folds)
        return SeparateFolds(folds, self.solver)

    def _limits(self, folds: Folds, tol: float) -> Limits:
        # Where digits cost nothing, they keep the choice from depending on where a run ended.
        together = 1 if folds.rule == "ovr" else int(folds.classes.size)
        small = folds.rows.view.nonzeros * together <= SMALL_PROBLEM
        counted = self.scoring in (None, "accuracy") and self.certify is None
        n = folds.rows.count
        return Limits(
            min(SOLVED_TO * tol, SMALL_TOL) if small else SOLVED_TO * tol,
            tol,
            int(self.max_iter),
            self.time_limit,
            effective_n_jobs(self.n_jobs),
            seed_of(self.random_state),
            self.callback,
            Coarse(min(COARSE * tol, 0.5), min(int(self.max_iter), COARSE_STEPS), FAR_BELOW + 5 / n)
            if counted and not small
            else None,
        )

    def _look(
        self,
        folds: Folds,
        engine: Engine,
        search: Search,
        Cs: Any,
        rule: GradientRule | None,
        tol: float,
        X: Any,
        y: Any,
    ) -> None:
        probabilities = getattr(self, "_probabilities", None)
        scorer = scorer_of(
            folds,
            self.scoring,
            np.asarray(y),
            X,
            lambda w, b: self._fitted(folds, w, b),
            engine.weights,
            probabilities,
        )
        with ExitStack() as stack:
            told = None
            if self.verbose:
                values = None if self.Cs is None else check_Cs(self.Cs).size
                told = stack.enter_context(SearchBar(len(folds.splits), values)).told
            go_on(search, engine, Cs, scorer, self._limits(folds, tol), rule=rule, told=told)
        best = search.best
        gap = Certificate(search.primal[best].sum(), search.dual[best].sum()).relative_gap
        if gap > SOLVED_TO * tol and search.reason not in CUT_SHORT:
            warn_of_shortfall(
                f"the folds reached a gap of {gap:.1g} at C = {search.Cs[best]:g}, where "
                f"search_tol asks for {SOLVED_TO * tol:g}; raise max_iter to come nearer"
            )

    def _fitted(self, folds: Folds, w: Vector, b: Vector) -> LinearClassifier:
        """Return a classifier at one fold's weights, for scorers that ask it themselves."""
        estimator = self._at(1.0)
        estimator.classes_ = folds.classes
        estimator.coef_ = np.ascontiguousarray(w[:, : folds.rows.features])
        estimator.intercept_ = self._intercepts(w, b)
        estimator.n_features_in_ = folds.rows.features
        return estimator

    def _intercepts(self, w: Vector, b: Vector) -> Vector:
        if isinstance(self.fit_intercept, str):
            return w[:, -1] * float(self.intercept_scaling)
        return np.asarray(b, dtype=np.float64)

    def _seen(self) -> Search:
        columns = self.path_
        w = self.coef_
        if isinstance(self.fit_intercept, str):
            w = np.column_stack([w, self.intercept_ / float(self.intercept_scaling)])
        return Search(
            [float(C) for C in self.Cs_],
            list(self.scores_),
            list(columns["primal"]),
            list(columns["dual"]),
            list(columns["passes"]),
            list(columns["seconds"]),
            start=(w, self.intercept_),
        )

    def _finish(
        self, folds: Folds, engine: Engine, search: Search, X: Any, y: Any, sample_weight: Any
    ) -> None:
        """Keep what the search has seen and train at the best C."""
        best = search.best
        if np.isnan(search.scores[best]).any():
            raise ValueError(f"scoring={self.scoring!r} gave no number at any C")
        self.Cs_ = np.array(search.Cs)
        self.scores_ = np.array(search.scores)
        self.C_ = float(search.Cs[best])
        self.best_score_ = search.best_score
        self.stopped_ = search.reason
        self.path_ = {
            "C": self.Cs_,
            "mean_score": self.scores_.mean(axis=1),
            "std_score": self.scores_.std(axis=1),
            "primal": np.array(search.primal),
            "dual": np.array(search.dual),
            "passes": np.array(search.passes),
            "seconds": np.array(search.seconds),
        }
        self.fold_coef_, self.fold_intercept_ = engine.weights()
        assert search.start is not None
        self._train(folds, *search.start, X, y, sample_weight)

    def _train(
        self, folds: Folds, w: Vector, b: Vector, X: Any, y: Any, sample_weight: Any
    ) -> None:
        """Train at the chosen C, starting between the folds' solutions there."""
        final = self._fitted(folds, w, b)
        final.set_params(C=self.C_, warm_start=True)
        final.dual_coef_ = np.empty((w.shape[0], 0))
        final.fit(X, y, sample_weight=sample_weight)
        for name in (
            "classes_",
            "coef_",
            "intercept_",
            "dual_coef_",
            "support_",
            "primal_",
            "dual_",
            "n_iter_",
            "status_",
            "history_",
            "solver_",
        ):
            setattr(self, name, getattr(final, name))

    @property
    def certificates_(self) -> list[Certificate]:
        """For each C the certificate of the folds: of the sum of their objectives."""
        check_is_fitted(self)
        return [
            Certificate(float(p.sum()), float(d.sum()))
            for p, d in zip(self.path_["primal"], self.path_["dual"], strict=True)
        ]

    def plot(self) -> Any:
        """Draw the scores over C, or the errors with their proven band; return the figure."""
        from widemargin.selection.figures import search_figure

        check_is_fitted(self)
        return search_figure(self.Cs_, self.scores_, self.C_, getattr(self, "band_", None))

    def _certified(self, folds: Folds, X: Any, y: Any, sample_weight: Any) -> None:
        from widemargin.selection.certified import certified_choice

        assert self.certify is not None
        engine = self._engine(folds)
        values = None if self.Cs is None else check_Cs(self.Cs)
        with ExitStack() as stack:
            told = None
            if self.verbose:
                told = stack.enter_context(SearchBar(len(folds.splits), None)).told
            result = certified_choice(
                folds, engine, values, float(self.certify), self._limits(folds, 1e-2), told
            )
        self.error_bound_, self.certified_ = result.bound, result.certified
        self.band_, self.n_solved_ = result.band, result.solved
        self._finish(folds, engine, result.search, X, y, sample_weight)
