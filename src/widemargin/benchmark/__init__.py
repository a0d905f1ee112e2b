"""Benchmarks: run methods and other libraries on the same problems and compare their curves."""

from widemargin.benchmark.compare import Comparison as Comparison
from widemargin.benchmark.compare import compare as compare
