"""Measurements of widemargin against its rivals, each run as ``python -m benchmarks.<name>``."""
