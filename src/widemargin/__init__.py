"""widemargin: large-margin linear classifiers, trained fast and returned with a certificate."""

from widemargin.estimators.linear_svc import LinearSVC
from widemargin.estimators.logistic_regression import LogisticRegression
from widemargin.kernels import available_kernels, kernels_in_use
from widemargin.problems.certificate import Certificate

__version__ = "0.1.0"

__all__ = [
    "Certificate",
    "LinearSVC",
    "LogisticRegression",
    "available_kernels",
    "kernels_in_use",
]
