"""scikit-learn's callbacks, from version 1.9 on: a fit is a task, each iteration one in it."""

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


class IterationTasks:
    """Tells scikit-learn's callbacks of the iterations of a fit, each a task of its own.

    As in scikit-learn, the task of the next iteration begins when one ends, so that the last one is
    empty.

    Parameters
    ----------
    context : CallbackContext
        Of the fit.
    about : dict
        What every task is told: the estimator, X, y and the metadata.
    """

    def __init__(self, context: Any, about: dict[str, Any]) -> None:
        self._context, self._about = context, about
        self._attributes: Callable[[Any, Any], dict[str, Any]] = lambda w, b: {}
        self._task: Any = None
        self._count = 0

    def begin(self, attributes: Callable[[Any, Any], dict[str, Any]]) -> None:
        """Begin the first iteration; ``attributes`` makes fitted ones from weights."""
        self._attributes = attributes
        self._next(None)

    def end(self, w: Any, b: Any) -> None:
        """End an iteration that came to these weights, and begin the next one."""
        self._end(self._attributes(w, b))

    def close(self, estimator: Any) -> None:
        """End the task that was begun and has no iteration."""
        if self._task is None:
            return
        if self._count == 0:  # one at least, as in scikit-learn
            self._end({})
        self._task.call_on_fit_task_end(estimator=estimator)
        self._attributes = lambda w, b: {}  # the data go with the fit

    def __reduce__(self) -> tuple[Any, ...]:
        """Leave nothing in copies of the estimator that callbacks send to other processes."""
        return type(None), ()

    def _end(self, given: dict[str, Any]) -> None:
        self._task.call_on_fit_task_end(**self._about, reconstruction_attributes=given)
        self._count += 1
        self._next(given)

    def _next(self, given: dict[str, Any] | None) -> None:
        self._task = self._context.subcontext(task_name="iteration")
        self._task.call_on_fit_task_begin(**self._about, reconstruction_attributes=given)


def fit_task(fit: Fit) -> Fit:
    """Tell scikit-learn's callbacks, if any are set, that a fit begins and ends."""

    @functools.wraps(fit)
    def told(self: Any, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> Any:
        listens = "_skl_callbacks" in self.__dict__ or "_parent_callback_ctx" in self.__dict__
        if with_callbacks is None or not listens:
            return fit(self, X, y, sample_weight, **params)

        def work(estimator: Any) -> Any:
            metadata = None if sample_weight is None else {"sample_weight": sample_weight}
            about = {"estimator": estimator, "X": X, "y": y, "metadata": metadata}
            most = max(int(estimator.max_iter), 1) + 1 if estimator._tells_iterations else 0
            context = estimator._init_callback_context(max_subtasks=most)
            context.call_on_fit_task_begin(**about)
            tasks = IterationTasks(context, about)
            if most:
                estimator._tasks = tasks
            try:
                fit(estimator, X, y, sample_weight, **params)
            finally:
                estimator.__dict__.pop("_tasks", None)
            tasks.close(estimator)
            context.call_on_fit_task_end(**about, reconstruction_attributes={})
            return estimator

        return with_callbacks(work)(self)

    return cast(Fit, told)
