"""Metadata of a search: groups go to the splitter, weights to the scorer, as in scikit-learn.

With ``sklearn.set_config(enable_metadata_routing=True)`` what goes where is what splitter and
scorer request; without it, ``groups`` is for the splitter and ``sample_weight`` for the scorer.
"""

from __future__ import annotations

from typing import Any, ClassVar

import sklearn
from sklearn.metrics import get_scorer
from sklearn.utils.metadata_routing import (
    UNUSED,
    MetadataRouter,
    MethodMapping,
    process_routing,
)

from widemargin.estimators.future_changes import not_given


def routing_enabled() -> bool:
    """Whether scikit-learn's metadata routing is switched on."""
    return bool(sklearn.get_config().get("enable_metadata_routing", False))


class RoutesMetadata:
    """What a classifier that cross-validates itself says about its metadata."""

    cv: Any
    scoring: Any

    # The scorer asks for weights, not the classifier itself.
    __metadata_request__score: ClassVar[dict[str, str]] = {"sample_weight": UNUSED}

    def get_metadata_routing(self) -> MetadataRouter:
        """Return what goes where; see scikit-learn's guide on metadata routing."""
        router = MetadataRouter(owner=self).add_self_request(self)
        router.add(
            splitter=self.cv, method_mapping=MethodMapping().add(caller="fit", callee="split")
        )
        return router.add(
            scorer=self._get_scorer(),
            method_mapping=MethodMapping()
            .add(caller="fit", callee="score")
            .add(caller="score", callee="score"),
        )

    def _get_scorer(self) -> Any:
        """Return the scorer, as a callable of estimator, X and y."""
        scoring = self._scoring()
        return get_scorer("accuracy" if scoring is None else scoring)

    def _scoring(self) -> Any:
        """Return the score that was given, or None."""
        return None if not_given(self.scoring) else self.scoring

    def _routed(
        self, sample_weight: Any, params: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return what `fit` gives to the splitter and to the scorer."""
        if routing_enabled():
            routed = process_routing(self, "fit", sample_weight=sample_weight, **params)
            return dict(routed.splitter.split), dict(routed.scorer.score)
        groups = params.pop("groups", None)
        refuse_params(params, self, "fit")
        return {"groups": groups}, {"sample_weight": sample_weight}

    def score(self, X: Any, y: Any, sample_weight: Any = None, **score_params: Any) -> float:
        """Return the score of rows by the score that the search used.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
        **score_params : dict
            For the scorer; needs scikit-learn's metadata routing.

        Returns
        -------
        float
        """
        given = {} if sample_weight is None else {"sample_weight": sample_weight}
        if routing_enabled():
            routed = process_routing(self, "score", **given, **score_params)
            given = dict(routed.scorer.score)
        else:
            refuse_params(score_params, self, "score")
        return float(self._get_scorer()(self, X, y, **given))


def refuse_params(params: dict[str, Any], owner: Any, method: str) -> None:
    """Raise an error for metadata that go nowhere without routing."""
    if params:
        raise ValueError(
            f"passing {', '.join(sorted(params))} to {type(owner).__name__}.{method} is only "
            "supported if enable_metadata_routing=True, which is set by "
            "sklearn.set_config(enable_metadata_routing=True)"
        )
