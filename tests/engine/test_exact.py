"""The exact fallback: rows for which single precision is not enough are right all the same."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import GRAPHS, binary_leaves, mixed_leaves, mixed_table, prior_circuit

from bayesspn.engine import compiled, oracle
from bayesspn.engine.compiled import CompiledCircuit
from bayesspn.engine.kernels import exact
from bayesspn.engine.kernels.upward import TOLERANCE
from bayesspn.engine.row_sums import Address
from bayesspn.graphs import RegionGraph
from bayesspn.leaves.densities import DrawnLeaves
from bayesspn.model.circuit import Circuit, pad_circuit
from bayesspn.numerics.random_numbers import Key
from bayesspn.rows.encoded import EncodedRows, encode_rows
from bayesspn.scopes import Scope

ADDRESS = Address(Key(2).words(), 4)


def normalised(log_weights: np.ndarray) -> np.ndarray:
    top = log_weights.max(axis=(2, 3), keepdims=True)
    return log_weights - top - np.log(np.exp(log_weights - top).sum(axis=(2, 3), keepdims=True))


def extreme_weights(graph: RegionGraph, seed: int, spread: float, never: float = 0.0):
    """Log weights over a range of so many nats, some of them of edges that are never chosen."""
    rng = np.random.default_rng(seed)
    weights = []
    for shape in graph.weight_shapes:
        drawn = spread * rng.random(shape)
        drawn[rng.random(shape) < never] = -np.inf
        drawn[:, :, 0, 0] = np.where(np.isinf(drawn).all(axis=(2, 3)), 0.0, drawn[:, :, 0, 0])
        weights.append(normalised(drawn))
    return tuple(weights)


def doubtful(program: CompiledCircuit, rows: EncodedRows) -> np.ndarray:
    """Whether the kernels cannot trust the value at the root, of rows that fit side by side."""
    (block,) = rows.blocks
    assert block.n_rows <= program.plan.rows
    program.run(block, None)
    root = program.first_entry[0] + program.plan.live[0] * program.plan.rows
    root = root + np.arange(block.n_rows)
    held = program.entries.values[root * program.geometry.width]
    return ~(program.entries.marks[2 * root + 1] < TOLERANCE * held)


LEAF_LOGS = st.sampled_from([0.0, -1.0, -50.0, -700.0, -1e5, 600.0, -np.inf])


@pytest.mark.parametrize("name", GRAPHS)
@settings(max_examples=max(20, settings().max_examples // 5))
@given(seed=st.integers(0, 10**6), spread=st.sampled_from([1.0, 100.0, 1e4]), data=st.data())
def test_values_of_one_row_are_those_of_the_oracle(name, seed, spread, data):
    graph = GRAPHS[name]
    base = prior_circuit(1, graph, binary_leaves(4))
    circuit = Circuit(base.scope, extreme_weights(graph, seed, spread, 0.2), base.densities)
    shape = (graph.n_leaf_regions, graph.leaves)
    kinds = data.draw(st.lists(LEAF_LOGS, min_size=1, max_size=4))
    rng = np.random.default_rng(seed)
    at_leaves = rng.choice(kinds, shape) + rng.normal(size=shape)
    expected, _ = oracle.propagate(circuit, at_leaves[None])
    geometry = compiled.lay_out(graph)
    log = compiled.arrange_weights(circuit.log_weights, geometry.width).log
    values = np.full(sum(map(np.size, expected)), np.nan)
    root = exact.evaluate_row(values, at_leaves, log, geometry)
    np.testing.assert_allclose(
        values, np.concatenate([level.ravel() for level in expected]), rtol=1e-12, atol=1e-12
    )
    assert root == values[0]


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("spread", [2.0, 300.0])
def test_edges_are_drawn_by_inversion_of_their_probabilities(name, spread):
    graph = GRAPHS[name]
    base = prior_circuit(1, graph, binary_leaves(4))
    circuit = Circuit(base.scope, extreme_weights(graph, 3, spread, 0.3), base.densities)
    at_leaves = np.random.default_rng(0).normal(size=(graph.n_leaf_regions, graph.leaves))
    levels, products = oracle.propagate(circuit, at_leaves[None])
    geometry = compiled.lay_out(graph)
    log = compiled.arrange_weights(circuit.log_weights, geometry.width).log
    values = np.concatenate([level.ravel() for level in levels])
    chosen = set()
    for level in range(graph.levels):
        for region in range(graph.regions[level]):
            for s in range(graph.nodes[level]):
                terms = circuit.log_weights[level][region, s] + products[level][0, region]
                probability = np.exp(terms - levels[level][0, region, s]).ravel()
                ends = np.cumsum(probability)
                assert ends[-1] == pytest.approx(1.0)
                begins = ends - probability
                for edge in np.flatnonzero(probability > 1e-6):
                    for share in (0.01, 0.5, 0.99):
                        u = begins[edge] + share * probability[edge]
                        drawn = exact.draw_edge(values, log, geometry, level, region, s, u)
                        assert drawn == edge
                        chosen.add((level, edge))
                last = exact.draw_edge(values, log, geometry, level, region, s, 1.0)
                assert probability[last] > 0
    assert len(chosen) >= graph.levels


def two_regions(log_odds: float, log_weight: float) -> Circuit:
    """Two columns, a child region for each, whose second leaves are for zeros.

    The first leaves find a one e^log_odds times as probable as the second ones, but products with
    first leaves have weights of e^log_weight.
    """
    leaves = binary_leaves(2)
    graph = RegionGraph(1, 1, leaves=2)
    scope = Scope(graph, (np.array([[0, 1]], dtype=np.int8),))
    ones = np.array([-1.0, -1.0 - log_odds])
    eta = np.stack([np.log(-np.expm1(ones)), ones], axis=-1)
    densities = DrawnLeaves(
        leaves, (np.tile(eta, (2, 1, 1, 1)),), (np.zeros((2, 1, 2)),), np.zeros((0, 1, 1, 2))
    )
    weights = np.full((1, 1, 1, 4), log_weight)
    weights[0, 0, 0, 3] = 0.0
    return Circuit(scope, (normalised(weights),), densities)


ROWS = np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [1.0, np.nan]])


def test_rows_that_only_dropped_leaves_explain_are_evaluated_again():
    circuit = two_regions(log_odds=100.0, log_weight=-400.0)
    rows = encode_rows(circuit.densities.leaves, ROWS)
    program = CompiledCircuit(circuit, rows, np.float64)
    # where there is a one, all that counts is a leaf that is e^-100 of its region's largest
    assert doubtful(program, rows).tolist() == [True, True, True, False, True]
    expected = oracle.log_likelihood(circuit, ROWS)
    np.testing.assert_allclose(expected[:4], [-202, -101, -101, 0], atol=1.0)
    np.testing.assert_allclose(
        compiled.log_likelihood(circuit, rows), expected, rtol=1e-12, atol=1e-6
    )


def test_rows_that_are_explained_well_are_not():
    circuit = two_regions(log_odds=30.0, log_weight=-5.0)
    rows = encode_rows(circuit.densities.leaves, ROWS)
    assert not doubtful(CompiledCircuit(circuit, rows, np.float64), rows).any()
    np.testing.assert_allclose(
        compiled.log_likelihood(circuit, rows),
        oracle.log_likelihood(circuit, ROWS),
        rtol=1e-6,
        atol=1e-6,
    )


@pytest.mark.parametrize(
    ("log_odds", "log_weight"), [(100.0, -100.7), (90.0, -91.0), (42.0, -43.0)]
)
def test_trees_of_doubtful_rows_are_drawn_as_the_oracle_does(log_odds, log_weight):
    """Weights and leaves nearly balance, so that all four products are chosen."""
    circuit = two_regions(log_odds, log_weight)
    X = np.repeat(ROWS, 200, axis=0)
    rows = encode_rows(circuit.densities.leaves, X)
    assert doubtful(CompiledCircuit(circuit, rows, np.float64), rows).any()
    edges, scores = compiled.draw_trees(circuit, rows, ADDRESS)
    expected = oracle.draw_trees(circuit, X, np.arange(len(X)), ADDRESS)
    np.testing.assert_array_equal(edges, expected)
    np.testing.assert_allclose(scores, oracle.log_likelihood(circuit, X), rtol=1e-9, atol=1e-6)
    assert len(np.unique(edges)) > 1


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("spread", [200.0, 2_000.0])
def test_row_passes_with_extreme_weights_are_those_of_the_oracle(name, spread):
    X = mixed_table(7, 200)
    leaves = mixed_leaves(X)
    rows = encode_rows(leaves, X)
    base = prior_circuit(7, GRAPHS[name], leaves)
    circuit = Circuit(
        base.scope, extreme_weights(GRAPHS[name], 5, spread, never=0.2), base.densities
    )
    expected = oracle.row_pass(circuit, rows, ADDRESS)
    actual = compiled.row_pass(circuit, rows, ADDRESS)
    for a, b in zip(
        expected.edge_counts + expected.statistics,
        actual.edge_counts + actual.statistics,
        strict=True,
    ):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_allclose(
        compiled.log_likelihood(circuit, rows),
        oracle.log_likelihood(circuit, X),
        rtol=1e-7,
        atol=1e-5,
    )


@given(
    name=st.sampled_from(sorted(GRAPHS)),
    seed=st.integers(0, 10**6),
    spread=st.floats(0, 3_000),
    never=st.sampled_from([0.0, 0.3]),
    sharpness=st.floats(0.1, 300),
)
def test_any_weights_and_leaves_score_as_the_oracle_does(name, seed, spread, never, sharpness):
    leaves = binary_leaves(5)
    base = prior_circuit(seed, GRAPHS[name], leaves)
    eta = tuple(sharpness * values for values in base.densities.eta)
    total = [np.logaddexp.reduce(values, axis=-1) for values in eta]
    densities = DrawnLeaves(
        leaves,
        tuple(values - sums[..., None] for values, sums in zip(eta, total, strict=True)),
        base.densities.log_partition,
        base.densities.log_mixing,
    )
    circuit = Circuit(base.scope, extreme_weights(GRAPHS[name], seed, spread, never), densities)
    X = np.random.default_rng(seed).integers(0, 2, (40, 5)).astype(float)
    X[::7, 2] = np.nan
    rows = encode_rows(leaves, X)
    np.testing.assert_allclose(
        compiled.log_likelihood(circuit, rows),
        oracle.log_likelihood(circuit, X),
        rtol=2e-6,
        atol=2e-5,
    )


def test_partitions_that_are_never_chosen_change_nothing():
    X = mixed_table(7, 120)
    leaves = mixed_leaves(X)
    rows = encode_rows(leaves, X)
    circuit = prior_circuit(7, GRAPHS["shared, deep"], leaves)
    padded = pad_circuit(circuit, 5)
    assert np.isneginf(padded.log_weights[0]).any()
    np.testing.assert_allclose(
        compiled.log_likelihood(padded, rows), compiled.log_likelihood(circuit, rows), rtol=1e-6
    )
    edges, _ = compiled.draw_trees(padded, rows, ADDRESS)
    np.testing.assert_array_equal(edges, compiled.draw_trees(circuit, rows, ADDRESS)[0])
