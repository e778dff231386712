"""Leaf tables: reference and deviations, dense columns and all, are the leaves' log densities."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support import GRAPHS, binary_leaves, mixed_leaves, mixed_table, prior_circuit

from bayesspn.engine import features, oracle
from bayesspn.engine.compiled import CompiledCircuit
from bayesspn.engine.kernels.layout import LeafTables, make_leaf_space
from bayesspn.engine.kernels.leaf_values import fill_dense, sum_leaves_of_row
from bayesspn.engine.leaf_tables import CircuitTables, tabulate
from bayesspn.inference.circuits import predictive_circuit
from bayesspn.inference.prior import prior_state
from bayesspn.leaves.columns import Leaves, describe_column
from bayesspn.model.circuit import Circuit
from bayesspn.model.generative import Model, draw_hyper
from bayesspn.rows.encoded import EncodedRows, RowBlock, encode_rows, encode_shard

WIDTH = 16

#: Rounding of leaf sums: of logs of several hundred in single precision. In double precision what
#: remains is that drawn families of a dense column are added as single numbers of at most 1.
PRECISION = {np.float64: 1e-6, np.float32: 2e-3}


def predictive(name: str, leaves: Leaves) -> Circuit:
    """A network with parameters integrated out."""
    rng = np.random.default_rng(3)
    model = Model(GRAPHS[name], leaves)
    return predictive_circuit(model, prior_state(rng, model, draw_hyper(rng, model)))


def tempered(circuit: Circuit, power: float) -> Circuit:
    return replace(circuit, densities=replace(circuit.densities, power=power))


CIRCUITS = {
    "drawn": lambda name, leaves: prior_circuit(3, GRAPHS[name], leaves),
    "tempered": lambda name, leaves: tempered(prior_circuit(3, GRAPHS[name], leaves), 0.4),
    "predictive": predictive,
}


def leaf_logs(
    made: CircuitTables, encoded: EncodedRows, tables: LeafTables, block: RowBlock, rows: range
) -> np.ndarray:
    """What the tables say of rows of a block; (rows, leaf regions, width)."""
    program = CompiledCircuit(made.circuit, encoded, made.constant.dtype.type)
    logs = np.empty((len(rows), *tables.constant.shape))
    # that of the kernels: types of this module would stay in the cache of compiled code
    space, cap = make_leaf_space(tables, program.plan), program.plan.rows
    for place, row in enumerate(rows):
        fill_dense(row, 1, space, tables.dense, cap)
        cells = block.row_start, block.row_features
        sum_leaves_of_row(logs[place], row, 0, cap, space, tables, *cells)
    return logs


def check_rows(made: CircuitTables, rows: EncodedRows, tolerance: float) -> None:
    leaves = made.circuit.graph.leaves
    for block in rows.blocks:
        logs = leaf_logs(made, rows, made.with_block(block), block, range(block.n_rows))
        expected = oracle.leaf_values(made.circuit, block.values(rows.codebook))
        # log densities of −20,000 have no more digits in single precision
        digits = np.finfo(made.constant.dtype).eps
        np.testing.assert_allclose(logs[..., :leaves], expected, rtol=digits, atol=tolerance)
        # what is padding is as good as nothing, whatever is added to it
        assert (logs[..., leaves:] < -1e29).all()
        assert logs[..., leaves:].size


@pytest.mark.parametrize("dtype", PRECISION)
@pytest.mark.parametrize("kind", CIRCUITS)
@pytest.mark.parametrize("name", ["mixture", "cross, deep", "shared, deep"])
def test_tables_add_up_to_the_leaves_of_every_row(name, kind, dtype):
    X = mixed_table(2, 150)
    X[0] = np.nan
    leaves = mixed_leaves(X)
    rows = encode_rows(leaves, X, block_rows=64)
    assert rows.codebook.dense.size
    circuit = CIRCUITS[kind](name, leaves)
    made = tabulate(circuit, rows.codebook, WIDTH, dtype)
    assert made.constant.dtype == made.deviations.dtype == dtype
    check_rows(made, rows, PRECISION[dtype])


def test_the_constant_is_a_row_of_reference_codes():
    X = np.random.default_rng(0).integers(0, 3, (60, 4)).astype(float)
    X[:40, 1] = np.nan
    leaves = Leaves(tuple(describe_column(f"{d}", X[:, d], "categorical") for d in range(4)))
    codebook = encode_rows(leaves, X).codebook
    values = [np.append(codebook.values[d], np.nan)[codebook.reference[d]] for d in range(4)]
    assert np.isnan(values[1])
    circuit = prior_circuit(1, GRAPHS["cross, deep"], leaves)
    made = tabulate(circuit, codebook, WIDTH, np.float64)
    expected = oracle.leaf_values(circuit, np.array([values]))[0]
    leaves_of = circuit.graph.leaves
    np.testing.assert_allclose(np.log(2) * made.constant[:, :leaves_of], expected, atol=1e-12)
    reference = codebook.feature_base[:-1] + codebook.reference
    assert not made.deviations[reference].any()
    assert (
        made.feature_column.tolist() == np.repeat(range(4), np.diff(codebook.feature_base)).tolist()
    )


@pytest.mark.parametrize("first", [0, 17, 90])
def test_some_rows_of_a_block_have_the_dense_columns_of_these_rows(first):
    X = mixed_table(2, 120)
    leaves = mixed_leaves(X)
    rows = encode_rows(leaves, X)
    circuit = prior_circuit(3, GRAPHS["cross"], leaves)
    made = tabulate(circuit, rows.codebook, WIDTH, np.float64)
    (block,) = rows.blocks
    some = range(first, min(first + 40, block.n_rows))
    logs = leaf_logs(made, rows, made.with_block(block), block, some)
    expected = oracle.leaf_values(circuit, X[some.start : some.stop])
    np.testing.assert_allclose(logs[..., : circuit.graph.leaves], expected, rtol=1e-9, atol=3e-7)


@pytest.mark.parametrize("kind", CIRCUITS)
def test_features_that_are_not_kept_give_the_same_bits(kind, monkeypatch):
    X = mixed_table(2, 120)
    leaves = mixed_leaves(X)
    rows = encode_rows(leaves, X)
    (block,) = rows.blocks
    made = tabulate(CIRCUITS[kind]("cross", leaves), rows.codebook, WIDTH, np.float64)
    some = range(10, 60)
    kept = leaf_logs(made, rows, made.with_block(block), block, some)
    monkeypatch.setattr(features, "_FEW_ROWS", 0)
    monkeypatch.setattr(features, "_FEW_NUMBERS", 0)
    np.testing.assert_array_equal(leaf_logs(made, rows, made.with_block(block), block, some), kept)


def test_tables_without_dense_columns_have_the_tabulated_ones_only():
    X = mixed_table(2, 120)
    leaves = mixed_leaves(X)
    rows = encode_rows(leaves, X)
    circuit = prior_circuit(3, GRAPHS["cross"], leaves)
    made = tabulate(circuit, rows.codebook, WIDTH, np.float64)
    (block,) = rows.blocks
    hidden = X.copy()
    hidden[:, rows.codebook.dense] = np.nan
    logs = leaf_logs(made, rows, made.without_dense(), block, range(block.n_rows))
    expected = oracle.leaf_values(circuit, hidden)
    np.testing.assert_allclose(
        logs[..., : circuit.graph.leaves], expected, rtol=0, atol=PRECISION[np.float64]
    )


def test_values_that_no_leaf_allows_have_density_zero():
    leaves = binary_leaves(3)
    X = np.array([[0.0, 1.0, 1.0], [2.0, 1.0, np.nan], [0.0, -1.0, 0.5], [np.nan, 0.0, 0.0]])
    rows = encode_rows(leaves, X)
    circuit = prior_circuit(3, GRAPHS["cross, deep"], leaves)
    made = tabulate(circuit, rows.codebook, WIDTH, np.float64)
    check_rows(made, rows, 1e-12)
    (block,) = rows.blocks
    logs = leaf_logs(made, rows, made.with_block(block), block, range(4))
    impossible = np.isneginf(logs[..., : circuit.graph.leaves]).any(axis=(1, 2))
    assert impossible.tolist() == [False, True, True, False]


def test_categories_that_do_not_occur_have_their_densities_as_well():
    X = np.array([[0.0], [3.0], [3.0], [np.nan]])
    leaves = Leaves((describe_column("c", X[:, 0], "categorical", n_categories=6),))
    codebook = encode_rows(leaves, X).codebook
    circuit = prior_circuit(3, GRAPHS["mixture"], leaves)
    every = np.append(np.arange(6.0), np.nan)[:, None]
    made = tabulate(circuit, codebook, WIDTH, np.float64)
    check_rows(made, encode_shard(codebook, every, np.arange(7)), 1e-12)
