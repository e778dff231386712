"""The compiled row pass against the oracle, and what must not change its answers."""

from __future__ import annotations

import os
import subprocess
import sys

import numba
import numpy as np
import pytest
from support import GRAPHS, binary_leaves, mixed_leaves, mixed_table, prior_circuit

from bayesspn.engine import compiled, oracle
from bayesspn.engine.row_sums import Address, add_row_sums
from bayesspn.graphs import RegionGraph
from bayesspn.inference.prior import draw_prior_circuit, draw_rows
from bayesspn.leaves.columns import Leaves, describe_column
from bayesspn.model.circuit import Circuit
from bayesspn.model.generative import Model, draw_hyper
from bayesspn.numerics.random_numbers import Key
from bayesspn.rows.encoded import EncodedRows, encode_rows, encode_shard

ADDRESS = Address(Key(11).words(), 5)


def assert_same_sums(left, right):
    for a, b in zip(
        left.edge_counts + left.statistics, right.edge_counts + right.statistics, strict=True
    ):
        np.testing.assert_array_equal(a, b)
    assert left.fixed_log_likelihood == right.fixed_log_likelihood


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", GRAPHS)
def test_compiled_pass_equals_oracle(name, seed):
    # A uniform within rounding of a boundary could send a row elsewhere: with 300 rows, a handful
    # of draws each and relative errors of 1e-6, the chance is below 1e-2 over all these cases;
    # seeds are fixed.
    X = mixed_table(seed, rows=300)
    leaves = mixed_leaves(X)
    rows = encode_rows(leaves, X)
    assert rows.codebook.dense.size
    assert rows.codebook.tabulated.size
    circuit = prior_circuit(seed, GRAPHS[name], leaves)
    expected = oracle.row_pass(circuit, rows, ADDRESS)
    actual = compiled.row_pass(circuit, rows, ADDRESS)
    for a, b in zip(expected.edge_counts, actual.edge_counts, strict=True):
        np.testing.assert_array_equal(a, b)
    for a, b in zip(expected.statistics, actual.statistics, strict=True):
        np.testing.assert_array_equal(a, b)
    exact = oracle.log_likelihood(circuit, X)
    assert expected.log_likelihood == pytest.approx(exact.sum(), abs=300 * 2.0**-21)
    assert actual.log_likelihood == pytest.approx(exact.sum(), rel=2e-6)
    np.testing.assert_allclose(compiled.log_likelihood(circuit, rows), exact, rtol=1e-7, atol=2e-6)


@pytest.mark.parametrize("name", ["cross, deep", "shared, deep"])
def test_identical_rows_are_evaluated_once_and_drawn_one_by_one(name):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (500, 4)).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    leaves = binary_leaves(4)
    rows = encode_rows(leaves, X)
    assert sum(block.n_rows for block in rows.blocks) <= 3**4
    circuit = prior_circuit(1, GRAPHS[name], leaves)
    expected = oracle.row_pass(circuit, rows, ADDRESS)
    actual = compiled.row_pass(circuit, rows, ADDRESS)
    for a, b in zip(
        expected.edge_counts + expected.statistics,
        actual.edge_counts + actual.statistics,
        strict=True,
    ):
        np.testing.assert_array_equal(a, b)


def test_draws_do_not_depend_on_threads_blocks_or_shards():
    X = mixed_table(3, rows=3_000)  # enough for every kernel to use its threads
    leaves = mixed_leaves(X)
    circuit = prior_circuit(2, GRAPHS["shared, deep"], leaves)
    whole = encode_rows(leaves, X)
    expected = compiled.row_pass(circuit, whole, ADDRESS)
    assert numba.get_num_threads() == 1
    numba.set_num_threads(numba.config.NUMBA_NUM_THREADS)
    assert_same_sums(compiled.row_pass(circuit, whole, ADDRESS), expected)
    small = encode_rows(leaves, X, block_rows=37)
    assert_same_sums(compiled.row_pass(circuit, small, ADDRESS), expected)
    for shards in (2, 7):
        parts = [compiled.row_pass(circuit, part, ADDRESS) for part in small.split(shards)]
        assert_same_sums(add_row_sums(parts), expected)


def test_taken_rows_are_those_of_a_table_of_their_own():
    X = mixed_table(4, rows=120)
    rows = encode_rows(mixed_leaves(X), X, block_rows=32)
    wanted = np.random.default_rng(0).random(len(X)) < 0.4
    taken = rows.take(wanted)
    assert taken.n_rows == wanted.sum()
    np.testing.assert_array_equal(taken.values(np.flatnonzero(wanted)), X[wanted])
    alone = encode_shard(rows.codebook, X[wanted], np.flatnonzero(wanted))
    circuit = prior_circuit(2, GRAPHS["shared, deep"], rows.codebook.leaves)
    one, two = (compiled.row_pass(circuit, part, ADDRESS) for part in (taken, alone))
    for a, b in zip(
        one.edge_counts + one.statistics, two.edge_counts + two.statistics, strict=True
    ):
        np.testing.assert_array_equal(a, b)
    assert rows.take(np.zeros(len(X), dtype=bool)).n_rows == 0


def test_order_of_rows_only_changes_which_random_numbers_they_get():
    X = mixed_table(4, rows=200)
    leaves = mixed_leaves(X)
    circuit = prior_circuit(3, GRAPHS["cross, deep"], leaves)
    rows = encode_rows(leaves, X)
    order = np.random.default_rng(0).permutation(len(X))
    shuffled = encode_rows(leaves, X[order])
    np.testing.assert_array_equal(
        compiled.log_likelihood(circuit, shuffled), compiled.log_likelihood(circuit, rows)[order]
    )
    # rows that keep their numbers keep their draws, wherever they stand
    renumbered = EncodedRows(
        shuffled.codebook,
        tuple(
            type(block)(**{**block.__dict__, "copy_ids": order[block.copy_ids]})
            for block in shuffled.blocks
        ),
    )
    assert_same_sums(
        compiled.row_pass(circuit, renumbered, ADDRESS), compiled.row_pass(circuit, rows, ADDRESS)
    )


def test_order_of_columns_does_not_change_densities():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (50, 6)).astype(float)
    leaves = binary_leaves(6)
    circuit = prior_circuit(5, GRAPHS["cross, deep"], leaves)
    order = rng.permutation(6)
    scope = type(circuit.scope)(circuit.graph, tuple(y[:, order] for y in circuit.scope.y))
    densities = type(circuit.densities)(
        leaves,
        tuple(eta[order] for eta in circuit.densities.eta),
        tuple(a[order] for a in circuit.densities.log_partition),
        circuit.densities.log_mixing,
    )
    permuted = Circuit(scope, circuit.log_weights, densities)
    np.testing.assert_allclose(
        compiled.log_likelihood(permuted, encode_rows(leaves, X[:, order])),
        compiled.log_likelihood(circuit, encode_rows(leaves, X)),
        rtol=1e-6,
    )


def sharpened(circuit: Circuit, factor: float) -> Circuit:
    """The same network with log weights and log probabilities multiplied: everything extreme."""

    def sharpen(values, axes):
        values = factor * values
        top = values.max(axis=axes, keepdims=True)
        return values - top - np.log(np.exp(values - top).sum(axis=axes, keepdims=True))

    densities = type(circuit.densities)(
        circuit.densities.leaves,
        tuple(sharpen(eta, -1) for eta in circuit.densities.eta),
        circuit.densities.log_partition,
        circuit.densities.log_mixing,
    )
    return Circuit(circuit.scope, tuple(sharpen(w, (2, 3)) for w in circuit.log_weights), densities)


@pytest.mark.parametrize("factor", [20.0, 100.0])
@pytest.mark.parametrize("name", ["cross, deep", "shared, deep"])
def test_extreme_rows_keep_finite_correct_values(name, factor):
    leaves = binary_leaves(8)
    circuit = sharpened(prior_circuit(7, GRAPHS[name], leaves), factor)
    X = np.random.default_rng(1).integers(0, 2, (200, 8)).astype(float)
    rows = encode_rows(leaves, X)
    expected = oracle.row_pass(circuit, rows, ADDRESS)
    exact = oracle.log_likelihood(circuit, X)
    assert exact.min() < -1000.0 * factor / 100
    actual = compiled.row_pass(circuit, rows, ADDRESS)
    # the pass adds leaves up in single precision, here with terms of several thousand nats
    assert actual.log_likelihood == pytest.approx(exact.sum(), rel=1e-5)
    np.testing.assert_allclose(compiled.log_likelihood(circuit, rows), exact, rtol=1e-6, atol=1e-5)
    for a, b in zip(expected.edge_counts, actual.edge_counts, strict=True):
        np.testing.assert_array_equal(a, b)


def test_density_of_minus_5000_nats_is_right():
    X = np.array([[0.0], [1.0], [2.0], [400.0]])
    leaves = Leaves((describe_column("x", X[:3, 0], "gaussian"),))
    rng = np.random.default_rng(0)
    model = Model(RegionGraph(0, leaves=2), leaves)
    circuit = draw_prior_circuit(rng, model, draw_hyper(rng, model))
    expected = oracle.log_likelihood(circuit, X)
    assert expected[3] < -5000
    np.testing.assert_allclose(
        compiled.log_likelihood(circuit, encode_rows(leaves, X)), expected, rtol=1e-6
    )


def test_what_the_rows_of_a_query_share_is_evaluated_once():
    leaves = binary_leaves(32)
    graph = RegionGraph(4, (2, 1, 1, 1), sums=3, leaves=3, products="shared")
    circuit = prior_circuit(3, graph, leaves)
    X = np.full((6, 32), np.nan)
    X[:, 3:9] = 1.0
    X[:3, 20] = 1.0
    X[3:, 20] = 0.0
    rows = encode_rows(leaves, X)
    program = compiled.CompiledCircuit(circuit, rows, np.float64)
    # the root, and the column's own regions below each of its two partitions
    assert len(program.plan.region) == 1 + 2 * graph.depth
    np.testing.assert_allclose(
        compiled.log_likelihood(circuit, rows), oracle.log_likelihood(circuit, X), rtol=1e-6
    )


def test_values_without_support_have_density_zero():
    leaves = Leaves(
        (describe_column("n", np.array([0.0, 3.0]), "poisson"), *binary_leaves(1).columns)
    )
    circuit = prior_circuit(0, RegionGraph(1, 2, leaves=3), leaves)
    X = np.array([[-1.0, 0.0], [2.0, 0.0], [0.5, 1.0], [np.nan, 1.0], [1.0, 7.0]])
    scores = compiled.log_likelihood(circuit, encode_rows(leaves, X))
    np.testing.assert_array_equal(np.isneginf(scores), [True, False, True, False, True])


def test_frequencies_of_drawn_trees_match_their_probabilities():
    """10,000 copies of one row; 4.5 standard errors: false alarm below 1e-3 over all edges."""
    leaves = binary_leaves(3)
    graph = RegionGraph(1, 2, leaves=2)
    circuit = prior_circuit(9, graph, leaves)
    X = np.tile([[1.0, 0.0, np.nan]], (10_000, 1))
    sums = compiled.row_pass(circuit, encode_rows(leaves, X), ADDRESS)
    _, products = oracle.evaluate(circuit, X[:1])
    joint = np.exp(circuit.log_weights[0][0, 0] + products[0][0, 0])
    probability = joint / joint.sum()
    error = np.sqrt(probability * (1 - probability) / len(X)) + 1e-9
    frequency = sums.edge_counts[0][0, 0] / len(X)
    assert (np.abs(frequency - probability) < 4.5 * error).all()


@pytest.mark.long
def test_kernels_stay_inside_their_arrays(tmp_path):
    """The other tests of this file again, compiled with checks of every index."""
    command = [sys.executable, "-m", "pytest", "-q", "-m", "not long", __file__]
    environment = os.environ | {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    result = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout[-3000:]


@pytest.mark.long
def test_a_million_rows_and_1556_columns_work():
    rng = np.random.default_rng(0)
    leaves = binary_leaves(10)
    graph = RegionGraph(1, 2, leaves=4)
    model = Model(graph, leaves)
    circuit = draw_prior_circuit(rng, model, draw_hyper(rng, model))
    X = draw_rows(rng, circuit, 1_000_000)
    sums = compiled.row_pass(circuit, encode_rows(leaves, X), ADDRESS)
    assert sums.edge_counts[0].sum() == len(X)
    entropy = sums.log_likelihood / len(X)
    # E over X of −log p is the entropy: compare with a second, independent table
    other = compiled.log_likelihood(circuit, encode_rows(leaves, draw_rows(rng, circuit, 100_000)))
    assert abs(entropy - other.mean()) < 5 * other.std() / np.sqrt(len(other))
    wide = (rng.random((500, 1556)) < 0.02).astype(float)
    leaves = binary_leaves(1556)
    circuit = prior_circuit(
        0, RegionGraph(3, (2, 1, 1), sums=4, leaves=4, products="shared"), leaves
    )
    rows = encode_rows(leaves, wide)
    np.testing.assert_allclose(
        compiled.log_likelihood(circuit, rows), oracle.log_likelihood(circuit, wide), rtol=1e-6
    )
