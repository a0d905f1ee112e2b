"""scikit-learn's callbacks, from version 1.9 on: a fit is one task, with a begin and an end."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # before scikit-learn 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing to support."""

    with_callbacks = None

Fit = TypeVar("Fit", bound=Callable[..., Any])


def fit_task(fit: Fit) -> Fit:
    """Tell scikit-learn's callbacks, if any are set, that a fit begins and ends."""

    @functools.wraps(fit)
    def told(self: Any, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> Any:
        listens = "_skl_callbacks" in self.__dict__ or "_parent_callback_ctx" in self.__dict__
        if with_callbacks is None or not listens:
            return fit(self, X, y, sample_weight, **params)

        def work(estimator: Any) -> Any:
            metadata = None if sample_weight is None else {"sample_weight": sample_weight}
            context = estimator._init_callback_context(max_subtasks=0)
            context.call_on_fit_task_begin(estimator=estimator, X=X, y=y, metadata=metadata)
            fit(estimator, X, y, sample_weight, **params)
            context.call_on_fit_task_end(
                estimator=estimator, X=X, y=y, metadata=metadata, reconstruction_attributes={}
            )
            return estimator

        return with_callbacks(work)(self)

    return cast(Fit, told)
