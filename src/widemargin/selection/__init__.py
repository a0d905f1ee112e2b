"""Choosing C: paths by warm starts, cross-validation over one shared X, certified choices."""
