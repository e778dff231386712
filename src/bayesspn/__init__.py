"""Bayesian sum-product networks: the joint distribution of a table, with honest uncertainty.

>>> import numpy as np
>>> import pandas as pd
>>> from bayesspn import BayesianSPN
>>> rng = np.random.default_rng(0)
>>> length = rng.normal(170.0, 10.0, size=50)
>>> table = pd.DataFrame({"length": length, "tall": pd.array(length > 170.0, dtype="boolean")})
>>> table.loc[0, "tall"] = pd.NA  # a missing cell
>>> model = BayesianSPN(chains=2, burn_in=100, draws=20, random_state=0).fit(table)
>>> model.score_samples(table).shape
(50,)

Below the estimators, the flow is columns → encoded rows → chains → posterior → answers, with
`describe_column`, `encode_rows`, `start_chain`, `run_chains` and `merge_chains`.
"""

from __future__ import annotations

from importlib import import_module as _import_module
from pathlib import Path as _Path
from typing import TYPE_CHECKING, Any

from bayesspn.numerics.compilation import drop_stale_code as _drop_stale_code

_drop_stale_code(_Path(__file__).parent)  # before anything compiled is looked up

if TYPE_CHECKING:
    from bayesspn.engine.engines import Engine
    from bayesspn.estimators.classifier import SPNClassifier
    from bayesspn.estimators.density import BayesianSPN
    from bayesspn.estimators.imputer import SPNImputer
    from bayesspn.estimators.infinite import InfiniteSPN
    from bayesspn.estimators.plans import FitPlan
    from bayesspn.estimators.pooling import PooledEstimate, pool_estimates
    from bayesspn.estimators.regressor import SPNRegressor
    from bayesspn.files.estimators import load
    from bayesspn.files.networks import write_network
    from bayesspn.graphs import RegionGraph
    from bayesspn.inference.chains import Chain, run_chain, run_chains, start_chain
    from bayesspn.leaves.columns import Column, Leaves, describe_column
    from bayesspn.model.explicit import SPN
    from bayesspn.model.generative import Learned, Model
    from bayesspn.numerics.random_numbers import Key
    from bayesspn.prediction.posterior import Posterior, merge_chains
    from bayesspn.questions.interface import Conditional
    from bayesspn.questions.uncertainty import Answer
    from bayesspn.rows.encoded import EncodedRows, encode_rows
    from bayesspn.scopes import Scope
    from bayesspn.selection.averages import GraphAverage
    from bayesspn.selection.select import GraphSelection, select_graph
    from bayesspn.versions import show_versions

__version__ = "0.1.0"

__all__ = [
    "SPN",
    "Answer",
    "BayesianSPN",
    "Chain",
    "Column",
    "Conditional",
    "EncodedRows",
    "Engine",
    "FitPlan",
    "GraphAverage",
    "GraphSelection",
    "InfiniteSPN",
    "Key",
    "Learned",
    "Leaves",
    "Model",
    "PooledEstimate",
    "Posterior",
    "RegionGraph",
    "SPNClassifier",
    "SPNImputer",
    "SPNRegressor",
    "Scope",
    "describe_column",
    "encode_rows",
    "load",
    "merge_chains",
    "pool_estimates",
    "run_chain",
    "run_chains",
    "select_graph",
    "show_versions",
    "start_chain",
    "write_network",
]

#: Where names live. They are imported when they are asked for: scikit-learn, pandas and what
#: compiles take seconds, for which the help of the command line must not wait.
_MODULES = {
    "engine.engines": ("Engine",),
    "estimators.classifier": ("SPNClassifier",),
    "estimators.density": ("BayesianSPN",),
    "estimators.imputer": ("SPNImputer",),
    "estimators.infinite": ("InfiniteSPN",),
    "estimators.plans": ("FitPlan",),
    "estimators.pooling": ("PooledEstimate", "pool_estimates"),
    "estimators.regressor": ("SPNRegressor",),
    "files.estimators": ("load",),
    "files.networks": ("write_network",),
    "graphs": ("RegionGraph",),
    "inference.chains": (
        "Chain",
        "run_chain",
        "run_chains",
        "start_chain",
    ),
    "leaves.columns": (
        "Column",
        "Leaves",
        "describe_column",
    ),
    "model.explicit": ("SPN",),
    "model.generative": ("Learned", "Model"),
    "numerics.random_numbers": ("Key",),
    "prediction.posterior": ("Posterior", "merge_chains"),
    "questions.interface": ("Conditional",),
    "questions.uncertainty": ("Answer",),
    "rows.encoded": (
        "EncodedRows",
        "encode_rows",
    ),
    "scopes": ("Scope",),
    "selection.averages": ("GraphAverage",),
    "selection.select": (
        "GraphSelection",
        "select_graph",
    ),
    "versions": ("show_versions",),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(_import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
