"""scikit-learn estimators: shells around problems, run and solutions."""
