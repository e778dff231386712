"""Encoded rows: nothing is lost, identical rows are held once, sums are exact."""

import math
from fractions import Fraction

import numpy as np
import pytest

from bayesspn.leaves.columns import Leaves, describe_column
from bayesspn.rows.encoded import encode_rows

ROWS = 500


def make_leaves(X, families):
    return Leaves(
        tuple(describe_column(f"column {d}", X[:, d], names) for d, names in enumerate(families))
    )


def mixed_table(rows=ROWS, missing=0.15, seed=0):
    """Tabulated and dense columns of every kind, with missing cells."""
    rng = np.random.default_rng(seed)
    X = np.stack(
        [
            rng.integers(0, 2, rows),
            rng.integers(0, 4, rows),
            rng.poisson(4.0, rows),
            rng.geometric(0.3, rows) - 1,
            np.round(rng.standard_normal(rows), 1),
            rng.standard_normal(rows),
            rng.lognormal(1.0, 0.5, rows),
            rng.exponential(3.0, rows),
        ],
        axis=1,
    ).astype(float)
    X[rng.random(X.shape) < missing] = np.nan
    families = [
        "bernoulli",
        "categorical",
        "poisson",
        ("geometric", "poisson"),
        "gaussian",
        "gaussian",
        ("lognormal", "gaussian", "exponential"),
        "exponential",
    ]
    return X, make_leaves(X, families)


def discrete_table(rows=ROWS, missing=0.1, seed=1):
    """Few columns with few values: many identical rows."""
    rng = np.random.default_rng(seed)
    X = np.stack(
        [
            rng.random(rows) < 0.2,
            rng.integers(0, 3, rows),
            rng.poisson(0.3, rows),
            np.round(rng.random(rows)),
        ],
        axis=1,
    ).astype(float)
    X[rng.random(X.shape) < missing] = np.nan
    return X, make_leaves(X, ["bernoulli", "categorical", "poisson", "gaussian"])


def decode(encoded):
    """The table in its own order, from the blocks alone."""
    X = np.full((encoded.n_rows, len(encoded.codebook.values)), -12345.0)
    for block in encoded.blocks:
        copies = np.diff(block.copy_start)
        X[block.copy_ids] = np.repeat(block.values(encoded.codebook), copies, axis=0)
    return X


def row_ids(encoded):
    return np.concatenate([np.empty(0, int), *(block.copy_ids for block in encoded.blocks)])


TABLES = {
    "mixed": mixed_table,
    "mixed, nothing missing": lambda: mixed_table(missing=0.0),
    "mixed, mostly missing": lambda: mixed_table(missing=0.9),
    "discrete": discrete_table,
    "one row": lambda: mixed_table(rows=1, missing=0.0),
}


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("block_rows", [1, 7, 4096])
def test_decoding_gives_the_table_back(table, block_rows):
    X, leaves = TABLES[table]()
    encoded = encode_rows(leaves, X, block_rows=block_rows)
    assert encoded.n_rows == len(X)
    np.testing.assert_array_equal(decode(encoded), X)
    np.testing.assert_array_equal(np.sort(row_ids(encoded)), np.arange(len(X)))


@pytest.mark.parametrize("seed", range(20))
def test_random_tables_decode_to_themselves(seed):
    rng = np.random.default_rng([2, seed])
    rows, columns = rng.integers(1, 80), rng.integers(1, 6)
    X = rng.integers(0, rng.integers(2, 90), (rows, columns)).astype(float)
    X[rng.random(X.shape) < rng.random()] = np.nan
    X[rng.integers(rows)] = rng.integers(0, 5, columns)  # no column is all missing
    names = rng.choice(["categorical", "poisson", "geometric", "gaussian"], columns)
    leaves = make_leaves(X, names.tolist())
    encoded = encode_rows(leaves, X, block_rows=int(rng.integers(1, 40)))
    np.testing.assert_array_equal(decode(encoded), X)


def test_columns_with_many_values_are_dense_and_others_tabulated():
    X, leaves = mixed_table()
    codebook = encode_rows(leaves, X).codebook
    assert codebook.dense.tolist() == [5, 6, 7]
    assert codebook.tabulated.tolist() == [0, 1, 2, 3, 4]
    for d in codebook.tabulated:
        observed = np.unique(X[~np.isnan(X[:, d]), d])
        assert np.isin(observed, codebook.values[d]).all()
        assert codebook.feature_base[d + 1] - codebook.feature_base[d] == (
            codebook.values[d].size + 1
        )
    for d in codebook.dense:
        assert codebook.feature_base[d + 1] == codebook.feature_base[d]


def test_codes_of_a_categorical_column_are_its_categories():
    X = np.array([[0.0], [3.0], [3.0], [np.nan]])  # categories 1 and 2 do not occur
    column = describe_column("c", X[:, 0], "categorical", n_categories=6)
    encoded = encode_rows(Leaves((column,)), X)
    np.testing.assert_array_equal(encoded.codebook.values[0], np.arange(6))
    (block,) = encoded.blocks
    np.testing.assert_array_equal(block.codes(encoded.codebook, 0), [0, 3, 6])


def test_identical_rows_are_held_once():
    X, leaves = discrete_table()
    encoded = encode_rows(leaves, X, block_rows=16)
    distinct, counts = np.unique(np.nan_to_num(X, nan=-1), axis=0, return_counts=True)
    assert len(distinct) < len(X) / 4
    assert sum(block.n_rows for block in encoded.blocks) == len(distinct)
    held = np.concatenate([block.values(encoded.codebook) for block in encoded.blocks])
    assert len(np.unique(np.nan_to_num(held, nan=-1), axis=0)) == len(distinct)
    copies = np.concatenate([np.diff(block.copy_start) for block in encoded.blocks])
    np.testing.assert_array_equal(np.sort(copies), np.sort(counts))


def test_rows_of_more_than_256_codes_are_told_apart():
    # code 300 and code 44 have the same low byte
    X = np.arange(2400.0)[:, None] % 400
    leaves = make_leaves(X, ["poisson"])
    encoded = encode_rows(leaves, X)
    assert encoded.codebook.dense.size == 0
    assert sum(block.n_rows for block in encoded.blocks) == 400
    np.testing.assert_array_equal(decode(encoded), X)


@pytest.mark.parametrize("block_rows", [1, 16, 33])
def test_blocks_hold_at_most_the_rows_asked_for(block_rows):
    X, leaves = discrete_table()
    blocks = encode_rows(leaves, X, block_rows=block_rows).blocks
    assert all(block.n_rows == block_rows for block in blocks[:-1])
    assert 1 <= blocks[-1].n_rows <= block_rows


@pytest.mark.parametrize("table", [mixed_table, discrete_table])
def test_row_and_column_lists_hold_the_same_cells(table):
    X, leaves = table()
    encoded = encode_rows(leaves, X, block_rows=50)
    codebook = encoded.codebook
    for block in encoded.blocks:
        rows = np.repeat(np.arange(block.n_rows), np.diff(block.row_start))
        by_row = {(int(r), int(f)) for r, f in zip(rows, block.row_features, strict=True)}
        columns = np.repeat(np.arange(X.shape[1]), np.diff(block.column_start))
        features = codebook.feature_base[columns] + block.column_codes
        by_column = {(int(r), int(f)) for r, f in zip(block.column_rows, features, strict=True)}
        assert by_row == by_column
        assert len(by_row) == len(block.row_features) == len(block.column_codes)
        # the reference code is the one that is left out
        assert not (block.column_codes == codebook.reference[columns]).any()


@pytest.mark.parametrize("shards", [1, 2, 3, 100])
def test_split_covers_every_row_once(shards):
    X, leaves = mixed_table()
    encoded = encode_rows(leaves, X, block_rows=64)
    parts = encoded.split(shards)
    assert len(parts) == shards
    assert sum(part.n_rows for part in parts) == len(X)
    everything = np.concatenate([row_ids(part) for part in parts])
    np.testing.assert_array_equal(np.sort(everything), np.arange(len(X)))
    assert all(part.codebook is encoded.codebook for part in parts)


@pytest.mark.parametrize("table", [mixed_table, discrete_table])
def test_scaled_statistics_add_up_to_the_true_totals(table):
    """Every cell is rounded to half a unit of 2^-61 of the column's total, and sums are exact."""
    X, leaves = table()
    codebook = encode_rows(leaves, X).codebook
    for d, column in enumerate(leaves.columns):
        observed = X[~np.isnan(X[:, d]), d]
        for m, family in enumerate(column.likelihoods):
            group, position = leaves.places[d][m]
            exponents = codebook.exponents[group][position]
            scaled = codebook.scaled_statistics(d, m, X[:, d])
            assert scaled.dtype == np.int64
            assert (scaled[np.isnan(X[:, d])] == 0).all()
            statistics, _ = column.features(m, observed)
            if not family.one_hot:
                statistics = np.column_stack([np.ones(len(observed)), statistics])
            assert scaled.shape == (len(X), statistics.shape[1])
            for slot in range(statistics.shape[1]):
                total = sum(int(value) for value in scaled[:, slot])
                assert sum(abs(int(value)) for value in scaled[:, slot]) < 2**62
                exact = sum(Fraction(value) for value in statistics[:, slot])
                error = abs(Fraction(total) / Fraction(2) ** int(exponents[slot]) - exact)
                magnitude = math.fsum(np.abs(statistics[:, slot]))
                assert error <= len(observed) * magnitude * 2.0**-60
                # np.sum of int64 is the same as the sum of Python's integers: no overflow
                assert int(scaled[:, slot].sum()) == total


def test_counts_are_not_scaled():
    X, leaves = mixed_table()
    codebook = encode_rows(leaves, X).codebook
    for d, column in enumerate(leaves.columns):
        for m, family in enumerate(column.likelihoods):
            scaled = codebook.scaled_statistics(d, m, X[:, d])
            n = (~np.isnan(X[:, d])).sum()
            assert (scaled.sum() if family.one_hot else scaled[:, 0].sum()) == n


@pytest.mark.parametrize("scale", [1e-200, 1e-5, 1.0, 1e12, 1e200])
def test_scaled_statistics_do_not_overflow_at_any_unit(scale):
    rng = np.random.default_rng(3)
    X = scale * np.stack([rng.standard_normal(300), rng.exponential(1.0, 300)], axis=1)
    leaves = make_leaves(X, ["gaussian", "exponential"])
    codebook = encode_rows(leaves, X).codebook
    for d in range(2):
        statistics, _ = leaves.columns[d].features(0, X[:, d])
        group, position = leaves.places[d][0]
        scaled = codebook.scaled_statistics(d, 0, X[:, d]).sum(axis=0)
        totals = np.ldexp(scaled.astype(float), -codebook.exponents[group][position])[1:]
        np.testing.assert_allclose(totals, statistics.sum(axis=0), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("table", TABLES)
def test_reference_code_always_has_a_finite_density(table):
    X, leaves = TABLES[table]()
    codebook = encode_rows(leaves, X).codebook
    for d in codebook.tabulated:
        assert reference_is_possible(leaves, codebook, d)


def reference_is_possible(leaves, codebook, d):
    if codebook.reference[d] == codebook.values[d].size:
        return True  # missing has density 1
    value = codebook.values[d][[codebook.reference[d]]]
    column = leaves.columns[d]
    return any(np.isfinite(column.features(m, value)[1][0]) for m in range(len(column.families)))


def test_reference_code_is_the_commonest():
    X = np.array([[0.0, np.nan]] * 3 + [[1.0, np.nan]] * 5 + [[np.nan, 1.0]] * 4)
    encoded = encode_rows(make_leaves(X, ["bernoulli", "poisson"]), X)
    assert encoded.codebook.reference[0] == 1
    assert encoded.codebook.reference[1] == encoded.codebook.values[1].size
    # so a column without any other code costs nothing
    constant = np.ones((10, 1))
    (block,) = encode_rows(make_leaves(X, ["bernoulli", "poisson"]), np.tile(constant, 2)).blocks
    assert len(block.row_features) == 0


#: Values outside the support of every family of their column.
OUTSIDE = [0.5, -1.0, 1.5, -2.0, np.nan, np.nan, np.nan, -3.0]


def test_query_rows_outside_the_support_are_kept_and_impossible():
    X, leaves = mixed_table()
    query = np.tile(OUTSIDE, (6, 1))
    query[5] = X[0]
    query[4, 1] = 99.0  # a category beyond the last
    encoded = encode_rows(leaves, query)
    np.testing.assert_array_equal(decode(encoded), query)
    for d in encoded.codebook.tabulated:
        assert reference_is_possible(leaves, encoded.codebook, d)
        column = leaves.columns[d]
        for value in query[:5, d][~np.isnan(query[:5, d])]:
            assert value in encoded.codebook.values[d]
            for m in range(len(column.families)):
                if column.likelihoods[m].measure == "discrete" or value == -3.0:
                    _, log_base = column.features(m, np.array([value]))
                    assert log_base[0] == -np.inf


def test_statistics_of_impossible_values_are_zero():
    _, leaves = mixed_table()
    for d, value in ((0, 0.5), (1, -1.0), (1, 99.0), (2, 1.5), (3, -2.0), (7, -3.0)):
        column = leaves.columns[d]
        for m in range(len(column.families)):
            statistics, log_base = column.features(m, np.array([value]))
            assert (statistics == 0).all()
            assert log_base[0] == -np.inf


def test_an_empty_table_has_no_rows():
    _, leaves = mixed_table()
    encoded = encode_rows(leaves, np.empty((0, 8)))
    assert encoded.n_rows == 0
    assert sum(block.n_rows for block in encoded.blocks) == 0
    assert sum(part.n_rows for part in encoded.split(3)) == 0


def test_rows_without_any_observed_cell_are_kept():
    _, leaves = mixed_table()
    X = np.full((5, 8), np.nan)
    encoded = encode_rows(leaves, X)
    np.testing.assert_array_equal(decode(encoded), X)


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_an_infinite_value_is_named_by_column_and_row(value):
    X, leaves = mixed_table()
    X[17, 5] = value
    with pytest.raises(ValueError, match="column 'column 5', row 17: the value is infinite"):
        encode_rows(leaves, X)


@pytest.mark.parametrize("shape", [(3, 7), (3, 9), (8,), (2, 8, 1)])
def test_wrong_number_of_columns_is_refused(shape):
    _, leaves = mixed_table()
    with pytest.raises(ValueError, match=r"expected rows × 8 columns, got shape \("):
        encode_rows(leaves, np.zeros(shape))


def test_encoding_leaves_the_table_unchanged():
    X, leaves = mixed_table()
    before = X.copy()
    encode_rows(leaves, X)
    np.testing.assert_array_equal(X, before)
