"""Linear classifiers on the data of a Dask cluster.

Needs dask and distributed: ``pip install 'widemargin[distributed]'``.
"""

from __future__ import annotations

from widemargin.distributed.blocks import ClusterLostError as ClusterLostError
from widemargin.distributed.estimators import DaskLinearSVC as DaskLinearSVC
from widemargin.distributed.estimators import DaskLinearSVCCV as DaskLinearSVCCV
from widemargin.distributed.estimators import DaskLogisticRegression as DaskLogisticRegression
from widemargin.distributed.estimators import DaskLogisticRegressionCV as DaskLogisticRegressionCV

__all__ = [
    "ClusterLostError",
    "DaskLinearSVC",
    "DaskLinearSVCCV",
    "DaskLogisticRegression",
    "DaskLogisticRegressionCV",
]
