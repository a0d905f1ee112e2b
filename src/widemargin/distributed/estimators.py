"""DaskLinearSVC and DaskLogisticRegression: the local classes on the data of a cluster."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from widemargin.distributed.blocks import ClusterLostError
from widemargin.distributed.data import DaskData
from widemargin.distributed.partition import matrix_of
from widemargin.estimators.checkpoints import Checkpoints
from widemargin.estimators.linear_svc import LinearSVC
from widemargin.estimators.logistic_regression import LogisticRegression

_OWN = ("client", "checkpoint", "resume")
"""Arguments that the local classes do not have."""


class OnDask:
    """What the classes on Dask share; the class beside it is the local one."""

    client: Any
    checkpoint: str | os.PathLike[str] | None
    resume: bool
    classes_: Any
    _checkpoints: Checkpoints | None

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
        data = DaskData(self.client_, X, y, sample_weight)
        if self.checkpoint is not None:
            self._checkpoints = Checkpoints(self.checkpoint, bool(self.resume))
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
        kind = self._local_class()
        arguments = {
            name: value
            for name, value in self.get_params(deep=False).items()  # type: ignore[attr-defined]
            if name not in _OWN
        }
        local = kind(**arguments)
        for name, value in vars(self).items():
            if name.endswith("_") and not name.startswith("_"):
                setattr(local, name, value)
        return local

    def _local_class(self) -> Any:
        raise NotImplementedError

    def __getstate__(self) -> Any:
        state = dict(super().__getstate__())  # type: ignore[call-overload]
        state["client"] = None  # a connection cannot be kept
        return state


class DaskLinearSVC(OnDask, LinearSVC):  # type: ignore[misc]
    """Linear support vector machine on the data of a Dask cluster.

    The problem, the solver and the certificate are those of `widemargin.LinearSVC`; rows stay on
    their workers. A worker that dies is a partition computed again.

    Parameters
    ----------
    loss, C, tol, fit_intercept, intercept_scaling, class_weight, solver, max_iter, time_limit,
    warm_start, random_state, verbose, callback
        As in `LinearSVC`; "auto" chooses "newton" or, for the hinge, "proximal_newton".
    n_jobs : int, optional
        Number of threads of the client, for vectors over the examples.
    client : Client, optional
        By default the present one.
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

    def __init__(
        self,
        loss: str = "squared_hinge",
        *,
        C: float = 1.0,
        tol: float = 1e-4,
        fit_intercept: bool | str = True,
        intercept_scaling: float = 1.0,
        class_weight: Any = None,
        solver: str = "auto",
        max_iter: int = 1000,
        time_limit: float | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
        callback: Callable[..., object] | None = None,
        client: Any = None,
        checkpoint: str | os.PathLike[str] | None = None,
        resume: bool = False,
    ) -> None:
        super().__init__(
            loss,
            C=C,
            tol=tol,
            fit_intercept=fit_intercept,
            intercept_scaling=intercept_scaling,
            class_weight=class_weight,
            solver=solver,
            max_iter=max_iter,
            time_limit=time_limit,
            warm_start=warm_start,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
            callback=callback,
        )
        self.client = client
        self.checkpoint = checkpoint
        self.resume = resume

    def _local_class(self) -> Any:
        return LinearSVC


class DaskLogisticRegression(OnDask, LogisticRegression):  # type: ignore[misc]
    """Logistic regression on the data of a Dask cluster; three or more classes one-vs-rest.

    The problem, the solver and the certificate are those of `widemargin.LogisticRegression`; rows
    stay on their workers. A worker that dies is a partition computed again.

    Parameters
    ----------
    C, tol, fit_intercept, intercept_scaling, class_weight, solver, max_iter, time_limit,
    warm_start, random_state, verbose, callback
        As in `LogisticRegression`; "auto" chooses "newton".
    n_jobs : int, optional
        Number of threads of the client, for vectors over the examples.
    client : Client, optional
        By default the present one.
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

    def __init__(
        self,
        *,
        C: float = 1.0,
        tol: float = 1e-4,
        fit_intercept: bool | str = True,
        intercept_scaling: float = 1.0,
        class_weight: Any = None,
        solver: str = "auto",
        max_iter: int = 1000,
        time_limit: float | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
        callback: Callable[..., object] | None = None,
        client: Any = None,
        checkpoint: str | os.PathLike[str] | None = None,
        resume: bool = False,
    ) -> None:
        super().__init__(
            C=C,
            tol=tol,
            fit_intercept=fit_intercept,
            intercept_scaling=intercept_scaling,
            class_weight=class_weight,
            multi_class="ovr",
            solver=solver,
            max_iter=max_iter,
            time_limit=time_limit,
            warm_start=warm_start,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
            callback=callback,
        )
        self.client = client
        self.checkpoint = checkpoint
        self.resume = resume

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

    def to_local(self) -> Any:
        """Return the model as one of the local class, without a cluster."""
        return super().to_local().set_params(multi_class="ovr")

    def _local_class(self) -> Any:
        return LogisticRegression


def _applied(model: Any, method: str, part: Any) -> Any:
    """Apply a method of a local model to a partition."""
    return getattr(model, method)(matrix_of(part))
