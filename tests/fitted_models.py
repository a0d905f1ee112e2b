"""Fitted models for the tests of model files."""

import numpy as np
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.preprocessing import scale

from widemargin import LinearSVC

IRIS = load_iris(return_X_y=True)
CANCER = (scale(load_breast_cancer().data), load_breast_cancer().target)


# What LIBLINEAR 2.3's `train -s 2 -B 1` and `train -s 3` wrote for two small files.
LIBLINEAR_THREE = """\
solver_type L2R_L2LOSS_SVC
nr_class 3
label 1 3 2
nr_feature 2
bias 1
w
0.88524963515289867 -0.70324189526184544 -0.006187693365417718 
-0.41853237393730119 -0.48379052369077308 0.78721210037813683 
0.015658959279877122 0.059850374064837897 -0.90202818838088683 
"""  # noqa: W291 - LIBLINEAR ends its lines so
LIBLINEAR_TWO = """\
solver_type L2R_L1LOSS_SVC_DUAL
nr_class 2
label 3 -1
nr_feature 2
bias -1
w
0.76866896825921338 
0.15373379365184267 
"""  # noqa: W291


def fitted(classes="numbers", data=IRIS, make=LinearSVC, **settings):
    X, y = data
    names = {
        "numbers": np.arange(3),
        "strings": np.array(["Rose", "lily", "τulip"]),
        "objects": np.array(["Rose", "lily", "τulip"], dtype=object),
        "bytes": np.arange(3, dtype=np.uint8),
        "floats": np.array([-1.0, 0.0, 2.0], dtype=np.float32),
        "booleans": np.array([False, True]),
    }[classes]
    return make(**settings).fit(X, names[y])
