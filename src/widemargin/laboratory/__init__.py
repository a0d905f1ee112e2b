"""The laboratory: run methods and rivals on the same problems, and look at their curves."""

from widemargin.laboratory.compare import Comparison as Comparison
from widemargin.laboratory.compare import compare as compare
