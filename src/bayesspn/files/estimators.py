"""Fitted estimators as files: a posterior, the parameters of the estimator, and its schema."""

from __future__ import annotations

import os
from collections.abc import Hashable
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

import bayesspn
from bayesspn.arrays import Array
from bayesspn.engine.engines import Engine
from bayesspn.estimators.parameters import check_parameters
from bayesspn.estimators.plans import FitPlan
from bayesspn.files.arrays import ModelFileError
from bayesspn.files.posteriors import graph_from_json, graph_to_json, load_posterior, save_posterior
from bayesspn.graphs import RegionGraph
from bayesspn.tables.cells import shorten
from bayesspn.tables.frames import LIBRARIES
from bayesspn.tables.schema import Schema
from bayesspn.tables.schema_files import schema_from_json, schema_to_json

_ESTIMATORS = ("BayesianSPN", "InfiniteSPN", "SPNClassifier", "SPNImputer", "SPNRegressor")

#: Parameters of version 1 that described the graph, and those that described the engine.
_OLD_GRAPH = ("depth", "partitions", "children", "sums", "leaves", "products")
_OLD_ENGINE = ("address", "shards")


def save_estimator(path: str | os.PathLike[str], estimator: Any, rows: Array | None = None) -> None:
    """Write a fitted estimator to one file, whole or not at all; with its encoded rows if given."""
    parameters = estimator.get_params(deep=False)
    for name, value in parameters.items():
        if isinstance(value, RegionGraph):
            parameters[name] = graph_to_json(value)
        elif isinstance(value, FitPlan):
            parameters[name] = value.to_json()
        elif isinstance(value, Engine):
            parameters[name] = asdict(value)
        elif isinstance(value, os.PathLike):
            parameters[name] = os.fspath(value)
    schema = estimator.schema
    parameters["schema"] = None if schema is None else schema_to_json(schema)
    if not isinstance(estimator.random_state, int):
        parameters["random_state"] = None  # a generator has moved on
    names = getattr(estimator, "feature_names_in_", None)
    more = {
        "estimator": type(estimator).__name__,
        "parameters": parameters,
        "schema": schema_to_json(estimator.schema_),
        "library": estimator._library,
        "plan": None if estimator.plan_ is None else estimator.plan_.to_json(),
        "settling": _settling_to_json(estimator),
        "rhat": estimator.rhat_ if np.isfinite(estimator.rhat_) else None,
        "feature_names": None if names is None else names.tolist(),
        "generation": estimator._generation,
        "bounded": estimator._bounded,
    }
    save_posterior(path, estimator.posterior_, more, estimator.trace_, rows)


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save` of an estimator wrote.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    BayesianSPN, InfiniteSPN, SPNClassifier, SPNImputer or SPNRegressor

    Raises
    ------
    ModelFileError
        If the file is not a model, is damaged, or was written by a newer version.

    Examples
    --------
    >>> import tempfile
    >>> from bayesspn import BayesianSPN, load
    >>> X = np.random.default_rng(0).normal(size=(40, 2))
    >>> model = BayesianSPN(chains=1, burn_in=5, draws=5, random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/model.bspn")
    ...     again = load(f"{folder}/model.bspn")
    >>> bool((again.score_samples(X) == model.score_samples(X)).all())
    True
    """
    posterior, more, trace, rows = load_posterior(path)
    name = os.fspath(path)
    try:
        if more["estimator"] not in _ESTIMATORS:
            raise ModelFileError(f"{name} holds a {more['estimator']}, which this version lacks")
        parameters = _read_parameters(dict(more["parameters"]), posterior.model.graph, name)
        model = getattr(bayesspn, more["estimator"])(**parameters)
        model.schema_ = schema_from_json(more["schema"], name)
        model.rhat_ = float("nan") if more["rhat"] is None else float(more["rhat"])
        plan = more.get("plan")  # files of the first version have none
        model.plan_ = None if plan is None else FitPlan.from_json(plan)
        if more.get("settling") is not None:
            model.settling_ = _settling_from_json(more["settling"], model.schema_)
        model._library = _check_library(more["library"])
        if len(model.schema_) != posterior.model.n_columns:
            raise ValueError("its schema does not fit its model")
        if model._infinite != posterior.model.infinite:
            raise ValueError(f"its model is not that of an estimator named {more['estimator']}")
        model.posterior_ = posterior
        model.trace_ = trace
        check_parameters(model)
        model._restore()
        model._restore_chains(rows, more.get("generation", 0), more.get("bounded", False))
        feature_names = more["feature_names"]
        if feature_names is not None:
            _check_names(feature_names, model.schema_.recorded[: model.n_features_in_])
            model.feature_names_in_ = np.array(feature_names, dtype=object)
    except ModelFileError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ModelFileError(
            f"{name} is damaged ({type(error).__name__}: {error}); fit and save it again"
        ) from error
    return model


def _read_parameters(parameters: dict[str, Any], learned: RegionGraph, name: str) -> dict[str, Any]:
    """Parameters of the constructor; ``learned`` is the graph of the posterior."""
    if parameters["schema"] is not None:
        parameters["schema"] = schema_from_json(parameters["schema"], name)
    if isinstance(parameters.get("graph"), dict):
        parameters["graph"] = graph_from_json(parameters["graph"])
    if isinstance(parameters.get("plan"), dict):
        parameters["plan"] = FitPlan.from_json(parameters["plan"])
    if isinstance(parameters.get("engine"), dict):
        parameters["engine"] = Engine(**parameters["engine"])
    if "depth" in parameters:  # version 1 had a parameter for every number of the graph
        given = [parameters.pop(part) for part in _OLD_GRAPH]
        if any(part != "auto" for part in given):
            parameters["graph"] = learned
        address, shards = (parameters.pop(part, None) for part in _OLD_ENGINE)
        if address is not None or shards is not None:
            parameters["engine"] = Engine(parameters["engine"], address, shards)
    return parameters


def _settling_to_json(estimator: Any) -> list[list[Any]] | None:
    """Positions of columns, errors and spreads; the first row is of whole rows."""
    settling = getattr(estimator, "settling_", None)
    if settling is None:
        return None
    # columns of the model are named by text, whatever names the table has
    names = [str(name) for name in estimator.schema_.names]
    positions = [-1, *(names.index(str(name)) for name in settling.index[1:])]
    cells = settling.to_numpy().tolist()
    return [[position, *row] for position, row in zip(positions, cells, strict=True)]


def _settling_from_json(rows: Any, schema: Schema) -> pd.DataFrame:
    names = [schema.names[row[0]] for row in rows[1:]]
    cells = np.array([row[1:] for row in rows], dtype=np.float64)
    index = pd.Index(["whole rows", *names], dtype=object, tupleize_cols=False)
    return pd.DataFrame(cells, index=index, columns=["error", "spread"])


def _check_library(library: Any) -> str:
    if library not in LIBRARIES:
        raise ValueError(f"library is {shorten(library)}")
    return str(library)


def _check_names(names: Any, expected: tuple[Hashable, ...]) -> None:
    if names != list(expected):
        raise ValueError(f"feature_names is {shorten(names)}")
