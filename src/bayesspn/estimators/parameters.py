"""Parameters that all estimators share: what values they may have."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from bayesspn.engine.engines import resolve_engine
from bayesspn.estimators.defaults import LEAST, LENGTHS
from bayesspn.graphs import RegionGraph
from bayesspn.numerics.checks import check_positive, check_whole

#: Parameters that are a positive number, or "auto" to be learned.
STRENGTHS = ("alpha", "beta", "gamma", "concentration")

#: What may be chosen from a few words.
CHOICES = {"strategy": ("best", "draw"), "handle_unknown": ("warn", "ignore", "error")}


def check_parameters(estimator: Any) -> None:
    """Check the parameters of an estimator, each by itself and those that exclude each other."""
    for name, value in estimator.get_params(deep=False).items():
        if name in LENGTHS and isinstance(value, str) and value == "auto":
            continue
        if name in LEAST:
            check_whole(name, value, LEAST[name])
        elif name in STRENGTHS:
            _check_strength(name, value)
        elif name in CHOICES and value not in CHOICES[name]:
            *words, last = map(repr, CHOICES[name])
            raise ValueError(f"{name} must be {', '.join(words)} or {last}, got {value!r}")
    _check_jobs(estimator.n_jobs)
    _check_schema(estimator.schema)
    if estimator.time_limit is not None:
        check_positive("time_limit", estimator.time_limit)
    _check_plan(estimator.plan)
    engine = resolve_engine(estimator.engine)
    _check_graph(estimator.graph, infinite=estimator._infinite, local=engine.name == "local")
    if not isinstance(estimator.checkpoint, str | os.PathLike | None):
        kind = type(estimator.checkpoint).__name__
        raise TypeError(f"checkpoint must be a path or None, got {kind}")


def _check_jobs(n_jobs: Any) -> None:
    whole = isinstance(n_jobs, int | np.integer) and not isinstance(n_jobs, bool)
    if n_jobs is not None and not (whole and n_jobs):
        raise ValueError(
            f"n_jobs must be None, a number of cores, or -1 for all of them, got {n_jobs!r}"
        )


def _check_strength(name: str, value: Any) -> None:
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not (isinstance(value, str) and value == "auto") and not (number and 0 < value < np.inf):
        raise ValueError(f"{name} must be 'auto' or a positive number, got {value!r}")


def _check_plan(plan: Any) -> None:
    if plan is None:
        return
    from bayesspn.estimators.plans import FitPlan  # slow to import

    if not isinstance(plan, FitPlan):
        kind = type(plan).__name__
        raise TypeError(f"plan must be the plan_ of a fitted estimator or None, got {kind}")


def _check_schema(schema: Any) -> None:
    if schema is None:
        return
    from bayesspn.tables.schema import Schema  # slow to import

    if not isinstance(schema, Schema):
        raise TypeError(f"schema must be a Schema or None, got {type(schema).__name__}")


def _check_graph(graph: Any, *, infinite: bool, local: bool) -> None:
    if isinstance(graph, RegionGraph):
        return
    if not isinstance(graph, str) or graph not in ("auto", "select"):
        raise ValueError(f"graph must be 'auto', 'select' or a RegionGraph, got {graph!r}")
    if graph == "select" and infinite:
        raise ValueError(
            "graph='select' needs the evidence, which cannot be estimated for infinite mixtures "
            "yet; use BayesianSPN or graph='auto'"
        )
    if graph == "select" and not local:
        raise ValueError(
            "graph='select' needs engine='local'; choose the graph on some of the rows by "
            "bayesspn.select_graph"
        )
