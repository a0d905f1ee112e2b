"""The linear classifiers on the data of a Dask cluster: the local classes, with a client."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from copy import deepcopy
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from widemargin.distributed.blocks import ClusterLostError
from widemargin.distributed.data import DaskData
from widemargin.distributed.partition import matrix_of
from widemargin.estimators.checkpoints import Checkpoints
from widemargin.estimators.linear import LinearClassifier
from widemargin.estimators.linear_svc import LinearSVC
from widemargin.estimators.linear_svc_cv import LinearSVCCV
from widemargin.estimators.logistic_regression import LogisticRegression
from widemargin.estimators.logistic_regression_cv import LogisticRegressionCV

_CLIENT = {"client": None, "worker_timeout": 300.0}
_CHECKPOINTS = {"checkpoint": None, "resume": False}
"""Arguments that the local classes do not have, and their defaults."""


class OnDask:
    """What the classes on Dask share; the class beside it is the local one.

    They take the arguments of the local class, which stay in its one place, and `_own`.
    """

    _own: ClassVar[dict[str, Any]] = {**_CLIENT, **_CHECKPOINTS}
    client: Any
    worker_timeout: float | None
    classes_: Any
    _checkpoints: Checkpoints | None

    def __init__(self, *arguments: Any, **named: Any) -> None:
        for name, default in self._own.items():
            setattr(self, name, named.pop(name, default))
        super().__init__(*arguments, **named)

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        # scikit-learn reads the names of the arguments off the signature.
        local = inspect.signature(cls._local_class().__init__)
        own = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
            for name, default in cls._own.items()
        ]
        cls.__init__ = _with_signature(  # type: ignore[method-assign]
            cls.__init__, local.replace(parameters=[*local.parameters.values(), *own])
        )

    @property
    def client_(self) -> Any:
        """The client: that of the argument, or the present one."""
        if self.client is not None:
            return self.client
        from distributed import default_client

        return default_client()

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Train on the data of a cluster; rows stay on their workers.

        Parameters
        ----------
        X : dask array or dataframe of shape (n_samples, n_features), or list of delayed matrices
            A delayed matrix is an array or a CSR matrix. Partitions are cut into blocks; if their
            lengths are multiples of those of a block, the result has the bits of a fit in memory.
        y : dask array or series, array, or list of delayed arrays of shape (n_samples,)
            Labels, which are brought to the client.
        sample_weight : the same, optional

        Returns
        -------
        self
        """
        limit = self.worker_timeout
        if limit is not None and not limit > 0.0:
            raise ValueError(f"worker_timeout must be positive or None; got {limit!r}")
        data = DaskData(self.client_, X, y, sample_weight, limit)
        if getattr(self, "checkpoint", None) is not None:
            self._checkpoints = Checkpoints(self.checkpoint, bool(self.resume))  # type: ignore[attr-defined]
        try:
            super().fit(data)  # type: ignore[misc]
        except ClusterLostError as error:
            kept = self.__dict__.get("_checkpoints")
            where = f"; the last weights are in {kept.path}" if kept is not None else ""
            raise ClusterLostError(f"{error}{where}") from error.__cause__
        finally:
            self.__dict__.pop("_checkpoints", None)
        return self

    def _lazily(self, method: str, X: Any, columns: int, dtype: Any) -> Any:
        """Apply a method of the local model to every partition, when it is asked for."""
        import dask
        import dask.array as da

        local = self.to_local()
        if isinstance(X, list | tuple):
            return [dask.delayed(_applied)(local, method, part) for part in X]
        if hasattr(X, "to_dask_array"):
            X = X.to_dask_array(lengths=None)
        if not hasattr(X, "map_blocks"):
            return _applied(local, method, X)
        if len(X.chunks[1]) > 1:
            X = X.rechunk({1: -1})
        model = dask.delayed(local)
        pieces = [
            da.from_delayed(
                dask.delayed(_applied)(model, method, part),
                (rows, columns) if columns else (rows,),
                dtype=dtype,
            )
            for part, rows in zip(X.to_delayed().ravel(), X.chunks[0], strict=True)
        ]
        return da.concatenate(pieces)

    def decision_function(self, X: Any) -> Any:
        """Return the signed scores w·x + b, lazily.

        Parameters
        ----------
        X : dask array or dataframe, or list of delayed matrices

        Returns
        -------
        dask array, or list of delayed arrays
        """
        several = self.classes_.size if self.classes_.size > 2 else 0
        return self._lazily("decision_function", X, several, self.coef_.dtype)  # type: ignore[attr-defined]

    def predict(self, X: Any) -> Any:
        """Return the class with the highest score, lazily.

        Parameters
        ----------
        X : dask array or dataframe, or list of delayed matrices

        Returns
        -------
        dask array, or list of delayed arrays
        """
        return self._lazily("predict", X, 0, self.classes_.dtype)

    def to_local(self) -> Any:
        """Return the model as one of the local class, without a cluster."""
        arguments = {
            name: value
            for name, value in self.get_params(deep=False).items()  # type: ignore[attr-defined]
            if name not in self._own
        }
        local = self._local_class()(**arguments)
        for name, value in vars(self).items():
            if name.endswith("_") and not name.startswith("_"):
                setattr(local, name, value)
        return local

    @classmethod
    def _local_class(cls) -> Any:
        """Return the class beside this one."""
        bases = (base for base in cls.__mro__ if issubclass(base, LinearClassifier))
        return next(base for base in bases if not issubclass(base, OnDask))

    def __sklearn_clone__(self) -> Any:
        """Return an unfitted copy with the same client, which cannot be copied."""
        named = self.get_params(deep=False)  # type: ignore[attr-defined]
        client = named.pop("client")
        copies = {name: clone(value, safe=False) for name, value in named.items()}
        copy = type(self)(client=client, **copies)
        if hasattr(self, "_metadata_request"):
            copy._metadata_request = deepcopy(self._metadata_request)  # type: ignore[attr-defined]
        return copy

    def __getstate__(self) -> Any:
        state = dict(super().__getstate__())  # type: ignore[call-overload]
        state["client"] = None  # a connection cannot be kept
        return state


def _with_signature(function: Callable[..., Any], signature: inspect.Signature) -> Any:
    """Return a function that says what it takes."""

    def __init__(self: Any, *arguments: Any, **named: Any) -> None:  # noqa: N807 - becomes one
        function(self, *arguments, **named)

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    return __init__


class Probabilities:
    """Lazy probabilities."""

    _lazily: Callable[..., Any]
    classes_: Any

    def predict_proba(self, X: Any) -> Any:
        """Return the probability of each class, lazily.

        Parameters
        ----------
        X : dask array or dataframe, or list of delayed matrices

        Returns
        -------
        dask array, or list of delayed arrays
        """
        return self._lazily("predict_proba", X, self.classes_.size, np.float64)


class DaskLinearSVC(OnDask, LinearSVC):  # type: ignore[misc]
    """Linear support vector machine on the data of a Dask cluster.

    The problem, the solver and the certificate are those of `widemargin.LinearSVC`; rows stay on
    their workers. A worker that dies is a partition computed again.

    Parameters
    ----------
    loss, penalty, l1_ratio, C, tol, fit_intercept, intercept_scaling, class_weight, multi_class, \
solver, max_iter, time_limit, warm_start, random_state, verbose, callback, dual
        As in `LinearSVC`; "auto" chooses "newton" or, for the hinge, "proximal_newton". Needs
        ``penalty="l2"`` and ``multi_class="ovr"``.
    n_jobs : int, optional
        Number of threads of the client, for vectors over the examples.
    client : Client, optional
        By default the present one.
    worker_timeout : float or None, default=300.0
        Seconds that `fit` waits for a worker while the cluster has none. Then it raises
        `ClusterLostError`, which names the last checkpoint. None waits without a limit.
    checkpoint : path, optional
        File to write the weights to after every step.
    resume : bool, default=False
        Start from the weights in `checkpoint`, if the file exists.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from widemargin.dask import DaskLinearSVC
    >>> X = da.random.default_rng(0).standard_normal((2000, 5), chunks=(500, 5))
    >>> y = (X[:, 0] > 0).astype(int)
    >>> with Client(processes=False, dashboard_address=None):
    ...     model = DaskLinearSVC().fit(X, y)
    >>> model.status_
    ['converged']
    >>> model.to_local()
    LinearSVC()
    """


class DaskLogisticRegression(Probabilities, OnDask, LogisticRegression):  # type: ignore[misc]
    """Logistic regression on the data of a Dask cluster.

    The problem, the solver and the certificate are those of `widemargin.LogisticRegression`; rows
    stay on their workers. A worker that dies is a partition computed again.

    Parameters
    ----------
    penalty, C, l1_ratio, dual, tol, fit_intercept, intercept_scaling, multi_class, class_weight, \
solver, max_iter, time_limit, warm_start, random_state, verbose, callback
        As in `LogisticRegression`; "auto" chooses "newton". Needs ``penalty="l2"``.
    n_jobs : int, optional
        Number of threads of the client, for vectors over the examples.
    client : Client, optional
        By default the present one.
    worker_timeout : float or None, default=300.0
        Seconds that `fit` waits for a worker while the cluster has none. Then it raises
        `ClusterLostError`, which names the last checkpoint. None waits without a limit.
    checkpoint : path, optional
        File to write the weights to after every step.
    resume : bool, default=False
        Start from the weights in `checkpoint`, if the file exists.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from widemargin.dask import DaskLogisticRegression
    >>> X = da.random.default_rng(0).standard_normal((2000, 5), chunks=(500, 5))
    >>> y = (X[:, 0] > 0).astype(int)
    >>> with Client(processes=False, dashboard_address=None):
    ...     model = DaskLogisticRegression().fit(X, y)
    ...     model.predict_proba(X[:3]).compute().shape
    (3, 2)
    """


class DaskLinearSVCCV(OnDask, LinearSVCCV):  # type: ignore[misc]
    """Linear support vector machine on a Dask cluster, C chosen by cross-validation.

    The search is that of `widemargin.LinearSVCCV`; rows stay on their workers, and each fold is a
    selection of them. Folds and classes are solved one after the other, each on all workers.

    Parameters
    ----------
    loss, Cs, cv, scoring, search_tol, certify, probability, tol, fit_intercept, \
intercept_scaling, class_weight, solver, max_iter, time_limit, random_state, verbose, callback
        As in `LinearSVCCV`. ``scoring`` must be the name of a score.
    penalty, l1_ratio, multi_class, transformer
        As in `LinearSVCCV`; on a cluster only the defaults are supported.
    n_jobs : int, optional
        Number of threads of the client, for vectors over the examples.
    client : Client, optional
        By default the present one.
    worker_timeout : float or None, default=300.0
        Seconds that `fit` waits for a worker while the cluster has none. Then it raises
        `ClusterLostError`, which names the last checkpoint. None waits without a limit.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from widemargin.dask import DaskLinearSVCCV
    >>> X = da.random.default_rng(0).standard_normal((2000, 5), chunks=(500, 5))
    >>> y = (X[:, 0] > 0).astype(int)
    >>> with Client(processes=False, dashboard_address=None):
    ...     model = DaskLinearSVCCV(Cs=[0.01, 0.1], cv=3).fit(X, y)
    >>> model.scores_.shape
    (2, 3)
    """

    _own: ClassVar[dict[str, Any]] = _CLIENT


class DaskLogisticRegressionCV(Probabilities, OnDask, LogisticRegressionCV):  # type: ignore[misc]
    """Logistic regression on a Dask cluster, C chosen by cross-validation.

    The search is that of `widemargin.LogisticRegressionCV`; rows stay on their workers, and each
    fold is a selection of them. Folds are solved one after the other, each on all workers.

    Parameters
    ----------
    client : Client, optional
        By default the present one.
    worker_timeout : float or None, default=300.0
        Seconds that `fit` waits for a worker while the cluster has none. Then it raises
        `ClusterLostError`, which names the last checkpoint. None waits without a limit.
    n_jobs : int, optional
        Number of threads of the client, for vectors over the examples.
    **arguments
        Those of `LogisticRegressionCV`. ``penalty`` must be "l2", ``transformer`` None, and
        ``scoring`` the name of a score.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from widemargin.dask import DaskLogisticRegressionCV
    >>> X = da.random.default_rng(0).standard_normal((2000, 5), chunks=(500, 5))
    >>> y = (X[:, 0] > 0).astype(int)
    >>> with Client(processes=False, dashboard_address=None):
    ...     model = DaskLogisticRegressionCV(Cs=[0.01, 0.1], cv=3).fit(X, y)
    >>> model.status_
    ['converged']
    """

    _own: ClassVar[dict[str, Any]] = _CLIENT


def _applied(model: Any, method: str, part: Any) -> Any:
    """Apply a method of a local model to a partition."""
    return getattr(model, method)(matrix_of(part))
