"""Campaigns of random attacks: ``python -m tests.fuzz certificates | files | faults``."""
