"""Estimators: the package behind scikit-learn's interface."""

from __future__ import annotations

from bayesspn.estimators.classifier import SPNClassifier
from bayesspn.estimators.density import BayesianSPN
from bayesspn.estimators.imputer import SPNImputer
from bayesspn.estimators.infinite import InfiniteSPN
from bayesspn.estimators.regressor import SPNRegressor
from bayesspn.files.estimators import load
from bayesspn.questions.interface import Conditional
from bayesspn.questions.views import Answer
from bayesspn.selection.averages import GraphAverage
from bayesspn.selection.select import GraphSelection, select_graph

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
