"""Estimators: the package behind scikit-learn's interface."""

from __future__ import annotations

from bayesspn.estimators.density import BayesianSPN, load

__all__ = ["BayesianSPN", "load"]
