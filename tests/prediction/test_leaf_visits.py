"""Compiled passes of rows say what the passes in NumPy say."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

import numba
import numpy as np
import pytest
from support import GRAPHS, binary_leaves, mixed_leaves, mixed_table, prior_circuit

from bayesspn import BayesianSPN
from bayesspn.engine import compiled
from bayesspn.engine.kernels import visits
from bayesspn.graphs import RegionGraph
from bayesspn.leaves.columns import Leaves, describe_column
from bayesspn.numerics.threads import limited_threads
from bayesspn.prediction.leaf_visits import leaf_visits, number_cells, rows_together
from bayesspn.prediction.passes import evaluate
from bayesspn.prediction.stacked import StackedCircuits, stack_circuits
from bayesspn.prediction.value_sets import ValueSet


def expected_visits(circuits: StackedCircuits, X: np.ndarray, sets: dict, column: int):
    """The same by `evaluate`; (draws, rows, paths × leaves) and (draws, rows)."""
    factors = {
        other: np.where(np.isnan(X[:, other])[:, None, None, None], logs[None], 0.0)
        for other, logs in sets.items()
    }
    evaluation = evaluate(circuits, X, factors)
    draws = np.arange(circuits.n_draws)[:, None]
    found = evaluation.visits()[draws, circuits.leaf_regions[:, column]]
    flat = np.moveaxis(found, 1, 2).reshape(circuits.n_draws, len(X), -1)
    return flat, evaluation.log_probability


def assert_equal_visits(circuits: StackedCircuits, X: np.ndarray, sets: dict, column: int):
    found, scores = leaf_visits(circuits, number_cells(X, sets), column)
    expected, log_probability = expected_visits(circuits, X, sets, column)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)
    np.testing.assert_allclose(scores, log_probability, rtol=1e-12, atol=1e-10)
    possible = ~np.isneginf(scores)
    np.testing.assert_allclose(found.sum(axis=2), possible, atol=1e-10)
    return scores


@pytest.mark.parametrize("name", GRAPHS)
def test_visits_are_those_of_the_passes_in_numpy(name):
    X = mixed_table(0, 60)
    leaves = mixed_leaves(X)
    circuits = stack_circuits(prior_circuit(seed, GRAPHS[name], leaves) for seed in (1, 2))
    X[0], X[1, 0], X[2, 2], X[3, 6], X[4, 7] = np.nan, 7.0, 5e3, 1e9, -1.0
    given = {4: ValueSet.of([(0.5, 2.0), (5.0, 6.0)]), 2: ValueSet.of([(30.0, np.inf)])}
    sets = {column: circuits.log_mass(column, values) for column, values in given.items()}
    for column in (0, 2, 4, 9):
        unknown = X.copy()
        unknown[:, column] = np.nan
        assert_equal_visits(circuits, unknown, {}, column)
        scores = assert_equal_visits(circuits, unknown, sets, column)
        assert np.isneginf(scores[:, 1]).all() == (column != 0)
        assert np.isneginf(scores[:, 4]).all()


def test_visits_of_networks_with_fewer_components():
    leaves = binary_leaves(5)
    graphs = [RegionGraph(2, (count, 2), sums=3, leaves=2) for count in (1, 3, 2)]
    circuits = stack_circuits(prior_circuit(3, graph, leaves) for graph in graphs)
    X = np.random.default_rng(0).integers(0, 2, (30, 5)).astype(float)
    X[:, 2] = np.nan
    assert_equal_visits(circuits, X, {}, 2)


def extreme_circuits(graph: RegionGraph, seed: int, spread: float) -> StackedCircuits:
    """Log weights over a range of so many nats, some of edges that are never chosen."""
    rng = np.random.default_rng(seed)
    circuits = stack_circuits([prior_circuit(seed, graph, binary_leaves(6))])
    weights = []
    for level in circuits.log_weights:
        log = spread * rng.random(level.shape)
        log[rng.random(level.shape) < 0.2] = -np.inf
        log[..., 0] = np.where(np.isneginf(log).all(axis=-1), 0.0, log[..., 0])
        log -= log.max(axis=-1, keepdims=True)
        weights.append(log - np.log(np.exp(log).sum(axis=-1, keepdims=True)))
    return replace(circuits, log_weights=tuple(weights))


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("spread", [1.0, 100.0, 3000.0])
@pytest.mark.parametrize("kinds", [(0.0, -400.0), (0.0, -1e4, 600.0), (-5.0, -np.inf, -700.0)])
def test_values_that_vanish_are_evaluated_in_the_log_domain(name, spread, kinds):
    graph = GRAPHS[name]
    for seed in range(6):
        rng = np.random.default_rng(seed)
        circuits = extreme_circuits(graph, seed, spread)
        shape = (1, graph.n_paths, graph.leaves)
        # whatever is said of all leaves but those of the first column
        sets = {d: rng.choice(kinds, shape) + rng.normal(size=shape) for d in range(1, 6)}
        assert_equal_visits(circuits, np.full((1, 6), np.nan), sets, 0)


def test_scaled_values_are_kept_only_where_nothing_is_lost():
    graph = RegionGraph(1, 1, leaves=2)
    circuits = stack_circuits([prior_circuit(0, graph, binary_leaves(2))])
    # the best pair of leaves is never chosen, and the others have vanished beside it
    log_weights = np.array([[[[-np.inf, *np.log([0.2, 0.3, 0.5])]]]])
    circuits = replace(circuits, log_weights=(log_weights,))
    for log, trusted in ((-300.0, True), (-1000.0, False)):
        logs = np.array([[0.0, log], [0.0, log]])
        arrays = visits._make_arrays.py_func(compiled.lay_out(graph))
        arrays.leaf_log[:] = logs
        up = circuits.weights[0].ravel()
        assert visits._evaluate_scaled(arrays, compiled.lay_out(graph), up) == trusted
        sets = {d: np.array([[[0.0, log]]]) for d in range(2)}
        assert_equal_visits(circuits, np.full((1, 2), np.nan), sets, 0)


def test_visits_do_not_depend_on_threads():
    X = mixed_table(1, 50)
    circuits = stack_circuits([prior_circuit(1, GRAPHS["shared, deep"], mixed_leaves(X))])
    X[:, 3] = np.nan
    found = []
    for threads in (1, numba.config.NUMBA_NUM_THREADS):
        with limited_threads(threads):
            found.append(leaf_visits(circuits, number_cells(X, {}), 3)[0])
    np.testing.assert_array_equal(*found)


def test_no_rows_and_nothing_known():
    leaves = Leaves((describe_column("x", np.array([0.0, 1.0, 2.0]), "gaussian"),))
    circuits = stack_circuits([prior_circuit(0, RegionGraph(0, leaves=3), leaves)])
    found, scores = leaf_visits(circuits, number_cells(np.empty((0, 1)), {}), 0)
    assert found.shape == (1, 0, 3)
    assert scores.shape == (1, 0)
    found, scores = leaf_visits(circuits, number_cells(np.full((2, 1), np.nan), {}), 0)
    np.testing.assert_allclose(found[0], np.tile(np.exp(circuits.log_weights[0][0, 0]), (2, 1)))
    np.testing.assert_allclose(scores, 0.0, atol=1e-12)


def test_wide_tables_have_fewer_rows_together():
    graph = RegionGraph(2, (8, 1), sums=16, leaves=16, products="shared")
    assert rows_together(graph, 2) == 4096
    assert rows_together(graph, 40) == 781
    assert rows_together(graph, 5000) == 64


@pytest.mark.long
def test_kernels_stay_inside_their_arrays(tmp_path):
    """The other tests of this file again, compiled with checks of every index."""
    command = [sys.executable, "-m", "pytest", "-q", "-m", "not long", __file__]
    environment = os.environ | {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    result = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout[-3000:]


@pytest.mark.parametrize("size", [1.0, 1e6, 1e8, 3e9])
def test_visits_of_absurd_rows_add_up(size):
    X = np.random.default_rng(0).normal(size=(60, 3))
    graph = RegionGraph(2, sums=3, leaves=3)
    model = BayesianSPN(graph=graph, chains=1, burn_in=5, draws=4, random_state=0).fit(X)
    found = evaluate(model.posterior_.drawn, np.array([[size, np.nan, size]])).visits()
    np.testing.assert_allclose(found.sum(axis=-1), 1.0, rtol=1e-9)
