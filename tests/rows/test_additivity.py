"""What shards say of their rows adds up to what the whole table says, however it is divided."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import GRAPHS, mixed_leaves, mixed_table, prior_circuit

from bayesspn.engine import compiled, oracle
from bayesspn.engine.row_sums import (
    Address,
    RowSums,
    add_row_sums,
    fixed_point,
    from_fixed_point,
    subtract_row_sums,
)
from bayesspn.engine.shards import LocalShards
from bayesspn.leaves.columns import Leaves, describe_column
from bayesspn.numerics.random_numbers import Key
from bayesspn.rows.codebook import (
    Codebook,
    build_codebook,
    count_totals,
    digest_rows,
    merge_digests,
)
from bayesspn.rows.encoded import EncodedRows, encode_rows, encode_shard
from bayesspn.rows.fingerprints import combine_hashes, hash_columns

ADDRESS = Address(Key(3).words(), 8)


@st.composite
def divided_tables(draw: Any) -> tuple[np.ndarray, Leaves, list[np.ndarray]]:
    """A table, its leaves, and the row numbers of its shards, some of which may be empty."""
    rows = draw(st.integers(2, 90))
    missing = draw(st.sampled_from([0.0, 0.15, 0.6]))
    X = mixed_table(draw(st.integers(0, 10**6)), rows, missing)
    X[0] = mixed_table(1, 1, 0.0)  # no column without an observed cell
    if draw(st.booleans()):
        X = X[draw(st.lists(st.integers(0, rows - 1), min_size=rows, max_size=rows))]
        X[0] = mixed_table(1, 1, 0.0)
    shards = draw(st.integers(1, 5))
    if draw(st.booleans()):
        cuts = sorted(draw(st.lists(st.integers(0, rows), min_size=shards - 1, max_size=shards)))
        return X, mixed_leaves(X), np.split(np.arange(rows), cuts)
    owner = np.array(draw(st.lists(st.integers(0, shards - 1), min_size=rows, max_size=rows)))
    return X, mixed_leaves(X), [np.flatnonzero(owner == shard) for shard in range(shards)]


def codebook_of(X: np.ndarray, leaves: Leaves, shards: list[np.ndarray]) -> Codebook:
    """The dictionary that machines find together, each of which knows one shard."""
    digest = merge_digests([digest_rows(leaves, X[rows]) for rows in shards])
    totals = [count_totals(leaves, X[rows], digest.peaks) for rows in shards]
    together = tuple(np.sum(parts, axis=0) for parts in zip(*totals, strict=True))
    return build_codebook(leaves, digest, together)


def assert_same_codebooks(one: Codebook, two: Codebook) -> None:
    for a, b in zip(one.values, two.values, strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(one.reference, two.reference)
    np.testing.assert_array_equal(one.occurring, two.occurring)
    for a, b in zip(one.exponents, two.exponents, strict=True):
        np.testing.assert_array_equal(a, b)


def assert_same_sums(left: RowSums, right: RowSums) -> None:
    for a, b in zip(
        left.edge_counts + left.statistics, right.edge_counts + right.statistics, strict=True
    ):
        np.testing.assert_array_equal(a, b)
        assert a.dtype == b.dtype
    assert left.fixed_log_likelihood == right.fixed_log_likelihood


@given(divided_tables())
def test_digests_of_shards_merge_to_that_of_the_table(divided):
    X, leaves, shards = divided
    whole = digest_rows(leaves, X)
    merged = merge_digests([digest_rows(leaves, X[rows]) for rows in shards])
    assert merged.rows == whole.rows == len(X)
    for one, two in zip(merged.values, whole.values, strict=True):
        np.testing.assert_array_equal(one.distinct, two.distinct)
        np.testing.assert_array_equal(one.counts, two.counts)
    for one, two in zip(merged.peaks, whole.peaks, strict=True):
        np.testing.assert_array_equal(one, two)


@given(divided_tables())
def test_totals_of_shards_add_up_to_those_of_the_table(divided):
    X, leaves, shards = divided
    peaks = digest_rows(leaves, X).peaks
    whole = count_totals(leaves, X, peaks)
    parts = [count_totals(leaves, X[rows], peaks) for rows in shards]
    for total, some in zip(whole, zip(*parts, strict=True), strict=True):
        np.testing.assert_array_equal(np.sum(some, axis=0), total)
    assert any(total.any() for total in whole)


@given(divided_tables())
def test_shards_find_the_dictionary_of_the_table_and_its_rows(divided):
    X, leaves, shards = divided
    whole = encode_rows(leaves, X)
    codebook = codebook_of(X, leaves, shards)
    assert_same_codebooks(codebook, whole.codebook)
    for rows in shards:
        encoded = encode_shard(codebook, X[rows], rows, block_rows=7)
        assert encoded.n_rows == len(rows)
        if len(rows):
            np.testing.assert_array_equal(encoded.values(rows), X[rows])


def test_values_that_are_too_many_in_all_are_dense_however_they_are_divided():
    X = np.arange(9_000.0)[:, None] % 2_500
    leaves = Leaves((describe_column("x", X[:, 0], "gaussian"),))
    shards = np.split(np.arange(len(X)), [10, 1_500, 5_000])
    codebook = codebook_of(X, leaves, shards)
    assert codebook.dense.tolist() == [0]
    assert_same_codebooks(codebook, encode_rows(leaves, X).codebook)


@given(divided_tables(), st.integers(1, 40))
def test_hashes_of_shards_add_up_to_that_of_the_table(divided, block_rows):
    X, leaves, shards = divided
    whole = encode_rows(leaves, X)
    parts = [encode_shard(whole.codebook, X[rows], rows, block_rows=block_rows) for rows in shards]
    total = np.sum([hash_columns(part) for part in parts], axis=0, dtype=np.uint64)
    np.testing.assert_array_equal(total, hash_columns(whole))
    np.testing.assert_array_equal(LocalShards(whole, 3).cell_hashes(), total)


@given(st.data(), divided_tables())
def test_one_other_cell_changes_the_hash_of_its_column_only(data, divided):
    X, leaves, _ = divided
    row = data.draw(st.integers(0, len(X) - 1))
    column = data.draw(st.integers(0, X.shape[1] - 1))
    before = hash_columns(encode_rows(leaves, X))
    observed = np.flatnonzero(~np.isnan(X[:, column]))
    other = X.copy()
    other[row, column] = np.nan if row in observed else X[observed[0], column]
    after = hash_columns(encode_rows(leaves, other))
    assert np.flatnonzero(before != after).tolist() == [column]
    assert combine_hashes(before) != combine_hashes(after)


@given(st.data(), divided_tables())
def test_rows_that_change_places_change_the_hash(data, divided):
    X, leaves, _ = divided
    order = np.array(data.draw(st.permutations(range(len(X)))))
    moved = np.nan_to_num(X[order], nan=-1e9) != np.nan_to_num(X, nan=-1e9)
    before, after = (hash_columns(encode_rows(leaves, rows)) for rows in (X, X[order]))
    np.testing.assert_array_equal(before != after, moved.any(axis=0))
    renumbered = encode_shard(encode_rows(leaves, X).codebook, X[order], order)
    np.testing.assert_array_equal(hash_columns(renumbered), before)


def test_zeros_have_one_hash_whatever_their_sign():
    X = np.random.default_rng(0).normal(size=(300, 2))
    X[::3, 0], X[:2, 1] = 0.0, 0.0
    leaves = Leaves(tuple(describe_column(f"{d}", X[:, d], "gaussian") for d in range(2)))
    assert encode_rows(leaves, X).codebook.dense.size == 2
    expected = hash_columns(encode_rows(leaves, X))
    np.testing.assert_array_equal(
        hash_columns(encode_rows(leaves, np.where(X == 0, -0.0, X))), expected
    )


@pytest.mark.parametrize("engine", [compiled, oracle], ids=["compiled", "oracle"])
@settings(max_examples=max(10, settings().max_examples // 4))
@given(divided=divided_tables(), name=st.sampled_from(sorted(GRAPHS)), seed=st.integers(0, 99))
def test_sums_of_shards_add_up_to_those_of_the_table(engine, divided, name, seed):
    X, leaves, shards = divided
    whole = encode_rows(leaves, X)
    circuit = prior_circuit(seed, GRAPHS[name], leaves)
    expected = engine.row_pass(circuit, whole, ADDRESS)
    shards = [rows for rows in shards if len(rows) or engine is compiled]
    parts = [
        engine.row_pass(circuit, encode_shard(whole.codebook, X[rows], rows), ADDRESS)
        for rows in shards
    ]
    together = add_row_sums(parts)
    assert_same_sums(together, expected)
    assert together.log_likelihood == expected.log_likelihood
    assert sum(counts.sum() for counts in expected.edge_counts[:1]) == len(X)
    rest = add_row_sums(parts[1:]) if len(parts) > 1 else subtract_row_sums(expected, expected)
    assert_same_sums(subtract_row_sums(expected, parts[0]), rest)


@settings(max_examples=max(10, settings().max_examples // 4))
@given(divided=divided_tables(), shards=st.integers(1, 6), block_rows=st.integers(1, 50))
def test_local_shards_say_the_same_in_any_number(divided, shards, block_rows):
    X, leaves, _ = divided
    rows = encode_rows(leaves, X, block_rows=block_rows)
    circuit = prior_circuit(5, GRAPHS["shared, deep"], leaves)
    one, several = LocalShards(rows), LocalShards(rows, shards)
    assert_same_sums(several.row_pass(circuit, ADDRESS), one.row_pass(circuit, ADDRESS))
    assert several.log_likelihood(circuit) == one.log_likelihood(circuit)
    expected = oracle.log_likelihood(circuit, X).sum()
    assert several.log_likelihood(circuit) == pytest.approx(expected, rel=1e-6, abs=1e-4)
    assert several.n_rows == len(X)
    assert several.codebook is rows.codebook


@given(st.lists(st.floats(-1e9, 1e3), max_size=20), st.data())
def test_sums_in_fixed_point_are_the_same_in_any_order_and_any_parts(scores, data):
    shuffled = data.draw(st.permutations(scores))
    cut = data.draw(st.integers(0, len(scores)))
    total = fixed_point(np.array(scores))
    assert fixed_point(np.array(shuffled)) == total
    assert fixed_point(np.array(scores[:cut])) + fixed_point(np.array(scores[cut:])) == total
    rounding = 2.0**-21 * len(scores) + 1e-12 * sum(map(abs, scores))
    assert abs(from_fixed_point(total) - sum(scores)) <= rounding


def test_adding_sums_leaves_the_parts_as_they_were():
    X = mixed_table(2, 30)
    leaves = mixed_leaves(X)
    rows = encode_rows(leaves, X, block_rows=8)
    circuit = prior_circuit(5, GRAPHS["cross"], leaves)
    parts = [oracle.row_pass(circuit, part, ADDRESS) for part in rows.split(3)]
    before = [counts.copy() for part in parts for counts in part.edge_counts + part.statistics]
    for total in (add_row_sums(parts), add_row_sums(parts[:1]), subtract_row_sums(*parts[:2])):
        for counts in total.edge_counts + total.statistics:
            counts += 1
    after = [counts for part in parts for counts in part.edge_counts + part.statistics]
    for one, two in zip(before, after, strict=True):
        np.testing.assert_array_equal(one, two)


def test_a_shard_without_rows_adds_nothing():
    X = mixed_table(2, 30)
    leaves = mixed_leaves(X)
    rows = encode_rows(leaves, X)
    circuit = prior_circuit(5, GRAPHS["cross"], leaves)
    nothing = compiled.row_pass(circuit, EncodedRows(rows.codebook, ()), ADDRESS)
    assert not any(counts.any() for counts in nothing.edge_counts + nothing.statistics)
    assert nothing.fixed_log_likelihood == 0
    whole = compiled.row_pass(circuit, rows, ADDRESS)
    assert_same_sums(add_row_sums([whole, nothing]), whole)
