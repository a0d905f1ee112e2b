"""Coordinate descent on the dual."""
