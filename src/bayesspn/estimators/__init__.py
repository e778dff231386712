"""Estimators: the package behind scikit-learn's interface."""

from __future__ import annotations

from bayesspn.estimators.averages import GraphAverage
from bayesspn.estimators.classifier import SPNClassifier
from bayesspn.estimators.density import BayesianSPN
from bayesspn.estimators.files import load
from bayesspn.estimators.imputer import SPNImputer
from bayesspn.estimators.infinite import InfiniteSPN
from bayesspn.estimators.questions import Conditional
from bayesspn.estimators.regressor import SPNRegressor
from bayesspn.estimators.selection import GraphSelection, select_graph
from bayesspn.estimators.views import Answer

__all__ = [
    "Answer",
    "BayesianSPN",
    "Conditional",
    "GraphAverage",
    "GraphSelection",
    "InfiniteSPN",
    "SPNClassifier",
    "SPNImputer",
    "SPNRegressor",
    "load",
    "select_graph",
]
