"""Accumulation: statistics are sums over visited leaves, and nothing but that."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
import pytest
from support import GRAPHS, mixed_leaves, mixed_table, prior_circuit

from bayesspn.engine import accumulation, compiled, features, oracle
from bayesspn.engine.accumulation import Accumulator
from bayesspn.engine.leaf_tables import tabulate
from bayesspn.engine.row_sums import Address
from bayesspn.graphs import RegionGraph
from bayesspn.leaves.columns import Leaves, describe_column
from bayesspn.model.circuit import Circuit
from bayesspn.numerics.random_numbers import Key
from bayesspn.rows.encoded import EncodedRows, encode_rows, encode_shard

ADDRESS = Address(Key(6).words(), 3)


def described(X: np.ndarray, families: list) -> Leaves:
    columns = [describe_column(f"{d}", X[:, d], names) for d, names in enumerate(families)]
    return Leaves(tuple(columns))


def holes(rng: np.random.Generator, X: np.ndarray, share: float) -> np.ndarray:
    X = X.astype(float)
    X[1:][rng.random(X[1:].shape) < share] = np.nan
    return X


def categorical_table(rows: int = 150) -> tuple[np.ndarray, Leaves]:
    """Columns of two and of four categories, one mostly missing; many rows are the same."""
    rng = np.random.default_rng(1)
    draws = [rng.integers(0, most, rows) for most in (2, 4, 4, 2)]
    X = holes(rng, np.stack(draws, axis=1), 0.2)
    X[5:, 3] = np.nan
    return X, described(X, ["bernoulli", "categorical", "categorical", "bernoulli"])


def tabulated_table(rows: int = 150) -> tuple[np.ndarray, Leaves]:
    """Numbers of few values, one with none but its commonest; many rows are the same."""
    rng = np.random.default_rng(2)
    X = np.stack(
        [rng.poisson(1, rows), np.round(rng.normal(size=rows)), np.full(rows, 3.5)], axis=1
    )
    X = holes(rng, X, 0.2)
    X[:, 2] = 3.5
    return X, described(X, ["poisson", "gaussian", "exponential"])


def dense_table(rows: int = 150) -> tuple[np.ndarray, Leaves]:
    """Numbers that hardly recur."""
    rng = np.random.default_rng(3)
    X = np.stack([rng.normal(size=rows), rng.exponential(size=rows)], axis=1)
    return (X := holes(rng, X, 0.2)), described(X, ["gaussian", ("exponential", "lognormal")])


def mixing_table(rows: int = 150) -> tuple[np.ndarray, Leaves]:
    """Columns that mix families, some of which share a group with plain columns."""
    rng = np.random.default_rng(4)
    counts, other = rng.poisson(2, rows).clip(0, 3), rng.integers(0, 4, rows)
    X = holes(rng, np.stack([counts, other, counts[::-1]], axis=1), 0.2)
    families = [("poisson", "categorical"), "categorical", ("categorical", "geometric", "poisson")]
    return X, described(X, families)


def every_table(rows: int = 150) -> tuple[np.ndarray, Leaves]:
    """All of it side by side."""
    X = mixed_table(5, rows)
    return X, mixed_leaves(X)


TABLES = {
    "categorical": categorical_table,
    "tabulated": tabulated_table,
    "dense": dense_table,
    "mixing": mixing_table,
    "every kind": every_table,
}


class Trees(NamedTuple):
    """Trees of every row by row number, drawn without any regard to the circuit."""

    edges: np.ndarray
    regions: np.ndarray
    nodes: np.ndarray


def random_trees(graph: RegionGraph, rows: int, seed: int = 0) -> Trees:
    rng = np.random.default_rng(seed)
    level_of = np.repeat(range(graph.levels), [graph.children**k for k in range(graph.levels)])
    most = [graph.branching[level] * graph.n_products[level] for level in level_of]
    edges = rng.integers(0, most, (rows, len(most)))
    return Trees(edges, *oracle.decode_trees(graph, edges)[1:])


def accumulate(circuit: Circuit, rows: EncodedRows, trees: Trees) -> Accumulator:
    """Add up all blocks."""
    geometry = compiled.lay_out(circuit.graph)
    tables = tabulate(circuit, rows.codebook, geometry.width, np.float32)
    sums = Accumulator(circuit, rows.codebook, tables)
    for block in rows.blocks:
        leaf_nodes = trees.regions * circuit.graph.leaves + trees.nodes
        sums.add(block, leaf_nodes[block.copy_ids].astype(np.int32), ADDRESS)
    sums.finish()
    return sums


def add_naively(circuit: Circuit, X: np.ndarray, trees: Trees) -> list[np.ndarray]:
    """Cell by cell and leaf by leaf, in floats: per group (g, slots, leaf nodes)."""
    graph, leaves = circuit.graph, circuit.densities.leaves
    families = oracle.draw_cell_families(
        circuit, X, trees.regions, trees.nodes, np.arange(len(X)), ADDRESS
    )
    sums = [
        np.zeros((len(group), group.n_slots, graph.n_leaf_regions * graph.leaves))
        for group in leaves.groups
    ]
    for d, column in enumerate(leaves.columns):
        for m, family in enumerate(column.likelihoods):
            group, position = leaves.places[d][m]
            for row in np.flatnonzero(families[:, d] == m):
                (statistics,), _ = column.features(m, X[[row], d])
                cell = statistics if family.one_hot else [1.0, *statistics]
                for region, node in zip(trees.regions[row], trees.nodes[row], strict=True):
                    sums[group][position, :, region * graph.leaves + node] += cell
    return sums


def check_sums(circuit: Circuit, X: np.ndarray, rows: EncodedRows, trees: Trees) -> None:
    sums = accumulate(circuit, rows, trees)
    naive = add_naively(circuit, X, trees)
    for group, actual, expected, exponents in zip(
        rows.codebook.leaves.groups, sums.totals, naive, rows.codebook.exponents, strict=True
    ):
        if group.family.one_hot:
            np.testing.assert_array_equal(actual, expected)
            continue
        np.testing.assert_array_equal(actual[:, 0], expected[:, 0])
        unscaled = np.ldexp(actual.astype(np.float64), -exponents[:, :, None])
        largest = np.maximum(np.abs(expected).max(axis=2, keepdims=True), 1e-300)
        np.testing.assert_allclose(unscaled / largest, expected / largest, rtol=0, atol=1e-12)
    visits = np.zeros(circuit.graph.n_leaf_regions * circuit.graph.leaves)
    np.add.at(visits, trees.regions * circuit.graph.leaves + trees.nodes, 1)
    np.testing.assert_array_equal(sums.visits, visits)


@pytest.mark.parametrize("name", ["mixture", "cross, deep", "shared, three children"])
@pytest.mark.parametrize("table", TABLES)
def test_statistics_are_sums_over_visited_leaves(table, name):
    X, leaves = TABLES[table]()
    graph = GRAPHS[name]
    circuit = prior_circuit(2, graph, leaves)
    trees = random_trees(graph, len(X))
    for block_rows in (40, 4096):
        check_sums(circuit, X, encode_rows(leaves, X, block_rows=block_rows), trees)


@pytest.mark.parametrize("table", ["categorical", "tabulated", "mixing"])
def test_copies_of_a_row_are_added_one_by_one(table):
    X, leaves = TABLES[table]()
    X = X[np.random.default_rng(0).integers(0, 12, 500)]
    X[0] = TABLES[table]()[0][0]
    rows = encode_rows(leaves, X)
    assert sum(block.n_rows for block in rows.blocks) <= 13
    graph = GRAPHS["cross, deep"]
    circuit = prior_circuit(2, graph, leaves)
    check_sums(circuit, X, rows, random_trees(graph, len(X)))
    # one leaf for all of them, and the same leaf twice in a tree
    alike = random_trees(graph, len(X))
    alike = Trees(*(np.repeat(part[:1], len(X), axis=0) for part in alike))
    check_sums(circuit, X, rows, alike)


def test_rows_without_observed_cells_add_nothing_but_visits():
    X, leaves = every_table()
    nothing = np.full_like(X, np.nan)
    rows = encode_shard(encode_rows(leaves, X).codebook, nothing, np.arange(len(X)))
    graph = GRAPHS["shared, deep"]
    sums = accumulate(prior_circuit(2, graph, leaves), rows, random_trees(graph, len(X)))
    assert not any(total.any() for total in sums.totals)
    assert sums.visits.sum() == len(X) * graph.n_visited_leaves


@pytest.mark.parametrize("table", TABLES)
def test_statistics_that_are_not_kept_between_sweeps_are_the_same(table, monkeypatch):
    X, leaves = TABLES[table]()
    graph = GRAPHS["cross, deep"]
    circuit = prior_circuit(2, graph, leaves)
    trees = random_trees(graph, len(X))
    rows = encode_rows(leaves, X)
    kept = accumulate(circuit, rows, trees).totals
    again = accumulate(circuit, rows, trees).totals
    monkeypatch.setattr(features, "_FEW_ROWS", 0)
    monkeypatch.setattr(features, "_FEW_NUMBERS", 0)
    anew = accumulate(circuit, encode_rows(leaves, X), trees).totals
    for one, two, three in zip(kept, again, anew, strict=True):
        np.testing.assert_array_equal(one, two)
        np.testing.assert_array_equal(one, three)


@pytest.mark.parametrize("table", TABLES)
def test_threads_add_up_to_the_same(table, monkeypatch):
    X, leaves = TABLES[table]()
    X = np.concatenate([X, X[::-1]])  # copies where nothing is dense
    graph = GRAPHS["shared, deep"]
    circuit = prior_circuit(2, graph, leaves)
    trees = random_trees(graph, len(X))
    alone = accumulate(circuit, encode_rows(leaves, X), trees).totals
    monkeypatch.setattr(accumulation, "_ROWS_PER_TASK", 1)
    numba.set_num_threads(numba.config.NUMBA_NUM_THREADS)
    together = accumulate(circuit, encode_rows(leaves, X), trees).totals
    for one, two in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one, two)


def test_families_of_tempered_densities_are_drawn_by_their_powers():
    """Cells of mixed columns go to families in proportion to ω f^power, which the oracle says."""
    X, leaves = every_table(400)
    graph = GRAPHS["cross, deep"]
    circuit = prior_circuit(2, graph, leaves)
    trees = random_trees(graph, len(X))
    rows = encode_rows(leaves, X)
    chosen = []
    for power in (1.0, 0.3, 0.0):
        densities = type(circuit.densities)(
            leaves,
            circuit.densities.eta,
            circuit.densities.log_partition,
            circuit.densities.log_mixing,
            power,
        )
        tempered = Circuit(circuit.scope, circuit.log_weights, densities)
        check_sums(tempered, X, rows, trees)
        chosen.append(accumulate(tempered, rows, trees).totals)
    assert any((a != b).any() for a, b in zip(chosen[0], chosen[1], strict=True))
    assert any((a != b).any() for a, b in zip(chosen[1], chosen[2], strict=True))
