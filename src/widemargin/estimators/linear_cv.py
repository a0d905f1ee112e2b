"""What LinearSVCCV and LogisticRegressionCV share: a search over C, then a fit at the best one."""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from widemargin.auto.search import SOLVED_TO, SearchShape, accuracy, small
from widemargin.data.disk_data import opened
from widemargin.data.elsewhere import Elsewhere
from widemargin.data.training_set import TrainingSet, join_intercept, split_intercept
from widemargin.data.validation import check_number, check_positive
from widemargin.estimators.arguments import seed_of
from widemargin.estimators.certified import warn_of_shortfall
from widemargin.estimators.fit_tasks import fit_task
from widemargin.estimators.linear import LinearClassifier, check_data
from widemargin.estimators.linear_scores import Start
from widemargin.estimators.routing import RoutesMetadata
from widemargin.estimators.transformed import Transforms
from widemargin.interrupt import Interrupt
from widemargin.problems.certificate import Certificate
from widemargin.problems.rules import rule_for
from widemargin.selection.folds import Folds
from widemargin.selection.path import check_Cs
from widemargin.selection.progress import SearchBar
from widemargin.selection.scoring import scorer_of
from widemargin.selection.search import (
    CUT_SHORT,
    Driver,
    Limits,
    Search,
    automatic_Cs,
    engine_for,
)
from widemargin.selection.stopping import LARGEST_C, GradientRule

Vector = NDArray[np.float64]

OF_THE_SEARCH = {"time_limit", "verbose", "callback"}
"""Arguments that mean the search here and a single fit elsewhere."""

CERTIFIED = ("error_bound_", "certified_", "band_", "n_solved_")
"""Attributes that only a certified choice leaves."""


class LinearClassifierCV(RoutesMetadata, Transforms):
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
        return float(np.ravel(getattr(self, "C_", 1.0))[0])

    _single: ClassVar[Any]
    """The classifier at one C."""

    _keeps_weights: ClassVar[bool] = False
    """Whether the folds' weights at every C are part of the answer."""

    def _limits_of_a_run(self) -> tuple[None, None, bool]:
        """What bounds and shows the search is not the last fit's."""
        return None, None, False

    @fit_task
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> Any:
        """Choose C by cross-validation, then train on all examples at that C.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), DiskData, or files
            Data that are not in memory are read fold by fold.
        y : array-like of shape (n_samples,)
            Not needed if X has its own.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the examples, in training and in the scores of those held out.
        **params : dict
            ``groups`` for the splitter. ``label`` as in `LinearSVC.fit`, if X names files. With
            scikit-learn's metadata routing, whatever splitter and scorer request.

        Returns
        -------
        self
        """
        self._search(X, y, sample_weight, **params)
        return self

    def _search(self, X: Any, y: Any, sample_weight: Any, **params: Any) -> None:
        """Choose C, then train at it."""
        folds, metadata = self._folds(X, y, sample_weight, params)
        for name in CERTIFIED:
            self.__dict__.pop(name, None)
        Cs = automatic_Cs(folds) if self.Cs is None else check_Cs(self.Cs)
        if self.certify is not None:
            self._choose_with_proof(folds, metadata, list(Cs), float(self.certify))
            return
        search = Search(keeps_weights=self._keeps_weights and folds.even)
        driver = self._driver(folds, metadata, search, float(self.search_tol))
        self._choose(driver, Cs, float(self.search_tol))

    def continue_search(
        self, X: Any, y: Any, *, tol: float, sample_weight: Any = None, **params: Any
    ) -> Any:
        """Go on where the search stopped, with a stricter tolerance (WARM, §III.3).

        The fold solutions at the last C are the start; that C and larger ones are looked at with
        the new tolerance, for the folds' problems and for the rule that ends the search. With a
        grid ``Cs`` these are its values that were not looked at. What was seen before stays part
        of the choice.

        Parameters
        ----------
        X, y, sample_weight, params
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
        folds, metadata = self._folds(X, y, sample_weight, params)
        shapes = [np.shape(weights) for weights in folds.empty_weights()]
        same = [np.shape(weights) for weights in self.fold_coef_] == shapes
        if not same or not np.array_equal(self.classes_, folds.data.classes):
            raise ValueError("continue_search needs the data that the search was begun on")
        driver = self._driver(folds, metadata, self._seen(folds), float(tol))
        last = driver.search.Cs[-1]
        own = folds.own_intercepts(self.fold_coef_, self.fold_intercept_)
        driver.engine.restart(last, self.fold_coef_, own)
        # The last C comes again, to be solved to the stricter tolerance.
        if self.Cs is None:
            count = max(0, math.floor(math.log2(LARGEST_C / last) + 1e-9))
            Cs = last * 2.0 ** np.arange(count + 1)
        else:
            given = check_Cs(self.Cs)
            Cs = np.append(last, given[given > last])
        self._choose(driver, Cs, float(tol))
        return self

    def _folds(
        self, X: Any, y: Any, sample_weight: Any, params: dict[str, Any]
    ) -> tuple[Folds, dict[str, Any]]:
        """Return the folds, and what the scorer gets beside the rows held out."""
        self._check_arguments()
        label = params.pop("label", None)
        # With a transformer, a list of strings is a list of documents.
        if label is not None or self.transformer is None:
            X = opened(X, label)
        if isinstance(X, Elsewhere):
            self._check_elsewhere()
        to_splitter, to_scorer = self._routed(sample_weight, params)
        data = self._training_set(X, y, sample_weight, 1.0)
        if to_scorer.get("sample_weight") is not None:
            to_scorer["sample_weight"] = data.weight
        groups = to_splitter.pop("groups", None)
        rule = rule_for(self._rule(), data.classes.size)
        check_data(data, rule, self._l1_ratio())
        if self.certify is not None and rule != "ovr":
            raise ValueError(
                "a certified choice needs multi_class='ovr': the bound on the solution's "
                "distance is that of binary problems"
            )
        own = self._transformed(X, data)
        folds = Folds.of(data, self.cv, groups, self._loss(), rule, own, **to_splitter)
        if self.certify is not None or getattr(self, "probability", False):
            folds.check_every_class()
        return replace(folds, l1_ratio=self._l1_ratio()), to_scorer

    def _check_arguments(self) -> None:
        super()._check_arguments()
        check_positive("search_tol", self.search_tol)
        self._check_transformer()
        if self.certify is not None:
            check_number("certify", self.certify, lambda v: 0.0 < v < 1.0, "between 0 and 1")
            if self._l1_ratio():
                raise ValueError(
                    "a certified choice needs penalty='l2': the bound on the solution's distance "
                    "is that of the squared norm"
                )
            if self._scoring() not in (None, "accuracy"):
                raise ValueError("a certified choice bounds errors; it needs scoring='accuracy'")
            if not isinstance(self._intercept(), str) and self._intercept():
                raise ValueError(
                    "a certified choice needs fit_intercept='penalised' or False: the bound on the "
                    "solution's distance does not hold for an intercept that is not penalised"
                )
        if self.Cs is not None:
            check_Cs(self.Cs)

    def _check_elsewhere(self) -> None:
        """Raise an error for what needs data in memory."""
        needs = {
            "a transformer": self.transformer is not None,
            "a callable scoring": callable(self.scoring),
            "a certified choice": self.certify is not None,
        }
        for name, wanted in needs.items():
            if wanted:
                raise ValueError(f"{name} needs data in memory")

    def _folds_kept(self) -> int:
        """Return how many folds are solved side by side."""
        cv = 5 if self.cv is None else self.cv
        if isinstance(cv, int):
            return cv
        return len(cv) if hasattr(cv, "__len__") else int(getattr(cv, "n_splits", 5))

    def _shape(self, folds: Folds) -> SearchShape:
        count, lines = folds.shape
        return SearchShape(
            folds.data.rows.size,
            count,
            lines,
            folds.loss.smooth and folds.loss.compiled and not folds.l1_ratio,
            folds.data.free_intercept,
            joint=folds.rule != "ovr",
            counted=self._scoring() in (None, "accuracy"),
            certified=self.certify is not None,
            shared=folds.own is None,
            elsewhere=folds.data.rows.elsewhere,
            whole=folds.whole,
        )

    def _driver(self, folds: Folds, metadata: dict[str, Any], search: Search, tol: float) -> Driver:
        shape = self._shape(folds)
        engine = engine_for(folds, shape, self._method())
        scorer, of_fold = scorer_of(
            folds,
            self._scoring(),
            lambda fold, w, b: self._fitted(folds, fold, w, b),
            engine.weights,
            getattr(self, "_probabilities", None),
            metadata,
        )
        limits = Limits(
            accuracy(shape, tol, self._exactness()),
            int(self.max_iter),
            self.time_limit,
            effective_n_jobs(self.n_jobs),
            seed_of(self.random_state),
            self.callback,
        )
        # A callable sees one fold after the other, as in scikit-learn, where nothing waits for it.
        waits = self.Cs is None or self.certify is not None or not search.keeps_weights
        return Driver(engine, scorer, limits, search, later=None if waits else of_fold)

    def _bar(self, folds: Folds, Cs: Any) -> Any:
        """Return a progress bar for so many values of C if one is to be shown, as a context."""
        values = None if Cs is None else check_Cs(Cs).size
        return SearchBar(len(folds.splits), values) if self.verbose else nullcontext()

    def _choose(self, driver: Driver, Cs: Iterable[float], tol: float) -> None:
        """Look at values of C, then train at the best one."""
        with self._bar(driver.engine.folds, self.Cs) as bar:
            driver.told = bar and bar.told
            search = driver.go_on(Cs, GradientRule(tol) if self.Cs is None else None)
        best = search.best
        gap = Certificate(search.primal[best].sum(), search.dual[best].sum()).relative_gap
        if gap > SOLVED_TO * tol and search.reason not in CUT_SHORT:
            warn_of_shortfall(
                f"the folds reached a gap of {gap:.1g} at C = {search.Cs[best]:g}, where "
                f"search_tol asks for {SOLVED_TO * tol:g}; raise max_iter to come nearer"
            )
        self._finish(driver)

    def _choose_with_proof(
        self, folds: Folds, metadata: dict[str, Any], Cs: list[float], epsilon: float
    ) -> None:
        """Look at values of C until no other one can be much better, then train at the best one."""
        from widemargin.selection.certified import certified_choice

        search = Search(keeps_weights=self._keeps_weights and folds.even)
        driver = self._driver(folds, metadata, search, 1e-2)
        with self._bar(folds, None) as bar:
            driver.told = bar and bar.told
            result = certified_choice(driver, Cs, epsilon)
        self.error_bound_, self.certified_ = result.bound, result.certified
        self.band_, self.n_solved_ = result.band, result.solved
        self._finish(driver)

    def _fitted(self, folds: Folds, fold: int, w: Vector, b: Vector) -> LinearClassifier:
        """Return a classifier at one fold's weights, for scorers that ask it themselves."""
        estimator = self._unfitted()
        rows = folds.rows_of(fold)
        coef, intercept = split_intercept(w, b, folds.data.scaling, rows.shift)
        estimator.classes_ = folds.data.classes
        estimator.coef_ = np.ascontiguousarray(coef)
        estimator.intercept_ = np.asarray(intercept, dtype=np.float64)
        estimator.n_features_in_ = rows.features
        return estimator

    def _unfitted(self) -> LinearClassifier:
        """Return the classifier at one C with the arguments that it shares with the search."""
        shared = self._single().get_params().keys() & self.get_params().keys()
        settings = {name: getattr(self, name) for name in shared - OF_THE_SEARCH}
        estimator: LinearClassifier = self._single(**settings)
        return estimator

    def _at_best(self) -> LinearClassifier:
        """Return the classifier at the C that was chosen, unfitted."""
        return self._unfitted().set_params(C=self.C)

    def _seen(self, folds: Folds) -> Search:
        columns, data = self.path_, folds.data
        return Search(
            [float(C) for C in self.Cs_],
            list(columns["scores"]),
            list(columns["primal"]),
            list(columns["dual"]),
            list(columns["passes"]),
            list(columns["seconds"]),
            list(columns["iterations"]),
            self._seen_weights(folds),
            keeps_weights=self._keeps_weights and folds.even,
            start=join_intercept(self.coef_, self.intercept_, data.scaling, data.rows.shift),
        )

    def _seen_weights(self, folds: Folds) -> list[tuple[Any, Vector] | None]:
        """Return the folds' weights at every C that was looked at, as problems have them."""
        return [None] * len(self.Cs_)

    def _finish(self, driver: Driver) -> None:
        """Keep what the search has seen and train at the best C."""
        search, engine = driver.search, driver.engine
        best = search.best
        if np.isnan(search.scores[best]).any():
            raise ValueError(f"scoring={self.scoring!r} gave no number at any C")
        scores = np.array(search.scores)
        self.Cs_ = np.array(search.Cs)
        self.C_ = float(search.Cs[best])
        self.best_score_ = search.best_score
        self.stopped_ = search.reason
        self.path_ = {
            "C": self.Cs_,
            "scores": scores,
            "mean_score": scores.mean(axis=1),
            "std_score": scores.std(axis=1),
            "iterations": np.array(search.iterations),
            "primal": np.array(search.primal),
            "dual": np.array(search.dual),
            "passes": np.array(search.passes),
            "seconds": np.array(search.seconds),
        }
        data, watch = engine.folds.data.at(self.C_), driver.watch
        self.fold_coef_, own = engine.weights()
        self.fold_intercept_ = engine.folds.given_intercepts(self.fold_coef_, own)
        self._learn_from(driver)
        try:
            # The means over the folds are the start, which lies between their solutions; after
            # Ctrl-C they are the answer.
            self._train_at_best(driver, data, watch if watch.signalled else None)
        finally:
            self._publish(search, engine.folds)

    def _learn_from(self, driver: Driver) -> None:
        """Take from the folds at the best C whatever the class wants of them."""

    def _train_at_best(self, driver: Driver, data: TrainingSet, watch: Interrupt | None) -> None:
        anew = watch is None and small(self._shape(driver.engine.folds))
        start = None if anew else driver.search.start
        self._train(data, None if start is None else Start(*start), watch)

    def _publish(self, search: Search, folds: Folds) -> None:
        """Set the attributes of the search in the shapes that the class documents."""
        self.scores_: Any = self.path_["scores"]

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
        return search_figure(self.Cs_, self.path_["scores"], self.C, getattr(self, "band_", None))
