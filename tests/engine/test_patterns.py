"""Pattern tables: what rows look up is what each of them would have got by itself."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from support import GRAPHS, binary_leaves, mixed_leaves, mixed_table, prior_circuit

from bayesspn.engine import compiled, oracle, patterns
from bayesspn.engine.compiled import CompiledCircuit
from bayesspn.engine.kernels import upward
from bayesspn.engine.kernels.layout import make_leaf_space, make_workspace
from bayesspn.engine.kernels.leaf_values import evaluate_leaves
from bayesspn.engine.row_sums import Address
from bayesspn.graphs import RegionGraph
from bayesspn.leaves.columns import Leaves, describe_column
from bayesspn.numerics.random_numbers import Key
from bayesspn.rows.encoded import EncodedRows, encode_rows

ADDRESS = Address(Key(4).words(), 2)

#: Also with nodes of a region that take several vectors, and with one partition everywhere.
WIDE = GRAPHS | {
    "wide": RegionGraph(2, (2, 1), sums=19, leaves=21, products="shared"),
    "one partition": RegionGraph(2, (1, 1), children=3, sums=2, leaves=3),
}


def few_values(rows: int, seed: int = 0) -> tuple[np.ndarray, Leaves]:
    """Columns of two to four values and missing cells; one that never varies; repeated rows."""
    rng = np.random.default_rng(seed)
    X = np.stack(
        [
            *(rng.random((5, rows)) < 0.3),
            rng.integers(0, 3, rows),
            rng.poisson(0.5, rows).clip(0, 2),
            np.round(rng.normal(size=rows)).clip(-1, 1),
            np.ones(rows),
        ],
        axis=1,
    ).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, -1] = 1.0
    families = [*["bernoulli"] * 5, "categorical", ("poisson", "geometric"), "gaussian", "poisson"]
    columns = [describe_column(f"{d}", X[:, d], names) for d, names in enumerate(families)]
    return X, Leaves(tuple(columns))


def every_row(leaves: Leaves, X: np.ndarray, columns: int) -> np.ndarray:
    """Every combination of values, or of a missing cell, of the first columns of a table."""
    values = [[*np.unique(X[~np.isnan(X[:, d]), d]), np.nan] for d in range(columns)]
    rows = np.array(list(itertools.product(*values)))
    return np.column_stack([rows, np.tile(X[0, columns:], (len(rows), 1))])


def evaluate_rows(program: CompiledCircuit, rows: EncodedRows):
    """Entries of every live region of every distinct row, after the kernels have filled them.

    Yields values and entries (live regions,) row by row.
    """
    (block,) = rows.blocks
    tables = program.tables.with_block(block)
    work = make_workspace(program.geometry, program.plan, program.first_entry[0])
    space = make_leaf_space(tables, program.plan)
    found = block.values(rows.codebook)
    for first in range(0, block.n_rows, program.plan.rows):
        count = min(program.plan.rows, block.n_rows - first)
        evaluate_leaves(
            first,
            count,
            work,
            space,
            program.entries,
            program.geometry,
            tables,
            program.plan,
            program.patterns.feature_rank,
            block.row_start,
            block.row_features,
        )
        upward.evaluate_regions(
            program.entries, work, program.geometry, program.weights, program.plan, count
        )
        for slot in range(count):
            yield found[first + slot], work.entry_of[:, slot]


def level_and_region(program: CompiledCircuit, number: int) -> tuple[int, int]:
    """Level, and region within it, of a region that is numbered over all levels."""
    level = int(np.searchsorted(program.geometry.region_base, number, side="right")) - 1
    return level, number - int(program.geometry.region_base[level])


def check_entry(program: CompiledCircuit, entry: int, expected: np.ndarray) -> None:
    """An entry holds values of nodes, given their logs, but for what it says it may lack."""
    width = program.geometry.width
    held = program.entries.values[entry * width : (entry + 1) * width].astype(np.float64)
    scale, lack = program.entries.marks[2 * entry : 2 * entry + 2].astype(np.float64)
    true = np.exp(expected - np.log(2) * scale)
    assert (held[: len(expected)] <= true * (1 + 2e-5)).all()
    assert (held[: len(expected)] >= true * (1 - 2e-5) - lack).all()
    assert lack < 1e-3
    assert not held[len(expected) :].any()


def check_below(program: CompiledCircuit, values, number: int, entry: int) -> int:
    """Check a small region's entry and those of all regions below; how many were checked."""
    graph = program.circuit.graph
    level, region = level_and_region(program, number)
    first = int(program.patterns.entry[number])
    assert first <= entry < first + program.patterns.size[number]
    check_entry(program, entry, values[level][0, region])
    if level == graph.levels:
        return 1
    assert graph.branching[level] == 1
    below = int(program.geometry.region_base[level + 1]) + region * graph.children
    children = program.entries.below[entry * graph.children : (entry + 1) * graph.children]
    return 1 + sum(
        check_below(program, values, below + c, int(child)) for c, child in enumerate(children)
    )


@pytest.mark.parametrize("name", [name for name in WIDE if name != "mixture"])
def test_rows_look_up_the_values_that_they_have_by_themselves(name, monkeypatch):
    monkeypatch.setattr(patterns, "_ROWS_PER_PATTERN", 1)  # so that more than leaf regions is small
    X, leaves = few_values(200)
    rows = encode_rows(leaves, X)
    circuit = prior_circuit(3, WIDE[name], leaves)
    program = CompiledCircuit(circuit, rows, np.float64)
    live = program.plan.live
    small = np.flatnonzero((live >= 0) & (program.patterns.size > 0))
    other = np.flatnonzero((live >= 0) & (program.patterns.size == 0))
    assert len(small)
    checked = 0
    for row, entry_of in evaluate_rows(program, rows):
        values, _ = oracle.evaluate(circuit, row[None])
        for number in other:
            level, region = level_and_region(program, number)
            check_entry(program, int(entry_of[live[number]]), values[level][0, region])
        for number in small:
            checked += check_below(program, values, number, int(entry_of[live[number]]))
    # every region that is small was looked at for every row
    assert checked == (program.patterns.size > 0).sum() * sum(b.n_rows for b in rows.blocks)


def test_every_pattern_has_one_entry_and_every_entry_a_pattern(monkeypatch):
    monkeypatch.setattr(patterns, "_ROWS_PER_PATTERN", 1)
    X, leaves = few_values(300)
    X = every_row(leaves, X, 7)
    rows = encode_rows(leaves, X)
    assert sum(block.n_rows for block in rows.blocks) == len(X) == 3**5 * 4 * 4
    circuit = prior_circuit(6, GRAPHS["shared, deep"], leaves)
    program = CompiledCircuit(circuit, rows, np.float64)
    scopes = np.concatenate(circuit.scope.region_scopes)
    sizes = {}
    entries: dict[int, dict[tuple[float, ...], set[int]]] = {}
    for row, entry_of in evaluate_rows(program, rows):
        for number in np.flatnonzero((program.plan.live >= 0) & (program.patterns.size > 0)):
            cells = tuple(np.nan_to_num(row[scopes[number]], nan=-9.0))
            found = entries.setdefault(int(number), {}).setdefault(cells, set())
            found.add(int(entry_of[program.plan.live[number]]))
            sizes[int(number)] = int(program.patterns.size[number])
    assert max(sizes.values()) > 30
    for number, by_cells in entries.items():
        used = [entry for found in by_cells.values() for entry in found]
        first = int(program.patterns.entry[number])
        assert sorted(used) == list(range(first, first + sizes[number]))


@pytest.mark.parametrize("name", WIDE)
@pytest.mark.parametrize("most", [1, 30, 1024])
def test_regions_with_few_combinations_of_codes_are_small(name, most, monkeypatch):
    monkeypatch.setattr(patterns, "_MOST_PATTERNS", most)
    X, leaves = few_values(400)
    graph = WIDE[name]
    circuit = prior_circuit(3, graph, leaves)
    codebook = encode_rows(leaves, X).codebook
    laid_out = patterns.lay_out_patterns(
        compiled.lay_out(graph), circuit.scope, codebook, n_rows=8 * 1024
    )
    occurring = [len(np.unique(np.nan_to_num(X[:, d], nan=-9.0))) for d in range(X.shape[1])]
    expected = []
    for level, scopes in enumerate(circuit.scope.region_scopes):
        composed = all(count == 1 for count in graph.branching[level:])
        for columns in scopes:
            size = int(np.prod([occurring[d] for d in np.flatnonzero(columns)]))
            expected.append(size if size <= most and composed else 0)
    assert laid_out.size.tolist() == expected
    first = np.cumsum([0, *expected[:-1]])
    np.testing.assert_array_equal(laid_out.entry, first)


def test_regions_with_dense_columns_are_never_small():
    X = mixed_table(1, 300)
    leaves = mixed_leaves(X)
    rows = encode_rows(leaves, X)
    assert rows.codebook.dense.size
    for graph in GRAPHS.values():
        circuit = prior_circuit(3, graph, leaves)
        program = CompiledCircuit(circuit, rows, np.float64)
        for level, scopes in enumerate(circuit.scope.region_scopes):
            base = program.geometry.region_base[level]
            size = program.patterns.size[base : base + len(scopes)]
            assert not size[scopes[:, rows.codebook.dense].any(axis=1)].any()


def test_one_pattern_needs_several_rows():
    X, leaves = few_values(400)
    graph = GRAPHS["shared, deep"]
    codebook = encode_rows(leaves, X).codebook
    circuit = prior_circuit(3, graph, leaves)
    sizes = [
        patterns.lay_out_patterns(compiled.lay_out(graph), circuit.scope, codebook, rows).size.max()
        for rows in (0, 8, 80, 800, 8_000, 800_000)
    ]
    assert sizes == sorted(sizes)
    assert sizes[0] == sizes[1] == 1
    assert 1 < sizes[2] <= 10
    assert 100 < sizes[-1] <= 1024


@pytest.mark.parametrize("name", WIDE)
def test_tables_change_no_bit_of_any_sum(name, monkeypatch):
    X, leaves = few_values(2_000)
    rows = encode_rows(leaves, X)
    circuit = prior_circuit(8, WIDE[name], leaves)
    sums = []
    for most in (1, 20, 1024):
        monkeypatch.setattr(patterns, "_MOST_PATTERNS", most)
        sums.append(compiled.row_pass(circuit, rows, ADDRESS))
    for other in sums[1:]:
        assert other.fixed_log_likelihood == sums[0].fixed_log_likelihood
        for a, b in zip(
            sums[0].edge_counts + sums[0].statistics,
            other.edge_counts + other.statistics,
            strict=True,
        ):
            np.testing.assert_array_equal(a, b)


def test_rows_that_are_all_alike_are_one_pattern_of_the_root():
    leaves = binary_leaves(6)
    X = np.tile([1.0, 0.0, np.nan, 1.0, 1.0, 0.0], (50, 1))
    rows = encode_rows(leaves, X)
    graph = RegionGraph(2, 1, sums=3, leaves=4)
    circuit = prior_circuit(1, graph, leaves)
    program = CompiledCircuit(circuit, rows, np.float64)
    assert program.patterns.size.tolist() == [1] * sum(graph.regions)
    assert not len(program.plan.region)
    np.testing.assert_allclose(
        compiled.log_likelihood(circuit, rows), oracle.log_likelihood(circuit, X), rtol=1e-6
    )
    expected = oracle.row_pass(circuit, rows, ADDRESS)
    for a, b in zip(
        compiled.row_pass(circuit, rows, ADDRESS).edge_counts, expected.edge_counts, strict=True
    ):
        np.testing.assert_array_equal(a, b)
