"""WARM: warm start for parameter selection of linear classifiers, its tables and figures."""
