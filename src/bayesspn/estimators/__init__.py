"""Estimators: the package behind scikit-learn's interface."""
