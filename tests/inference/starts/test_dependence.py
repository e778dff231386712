"""Pairwise dependence and the informed start of a scope function."""

import numpy as np
import pytest

from bayesspn.graphs import RegionGraph
from bayesspn.inference.starts.dependence import (
    draw_informed_scope,
    pairwise_dependence,
    split_columns,
)
from bayesspn.scopes import check_scopes


def off_diagonal(matrix):
    return matrix[~np.eye(len(matrix), dtype=bool)]


def mixed_table(rows, seed=0):
    """Binary, categorical, count and continuous columns, all independent."""
    rng = np.random.default_rng(seed)
    return np.stack(
        [
            rng.integers(0, 2, rows),
            rng.random(rows) < 0.1,
            rng.integers(0, 5, rows),
            rng.poisson(6.0, rows),
            rng.standard_normal(rows),
            rng.lognormal(0.0, 2.0, rows),
        ],
        axis=1,
    ).astype(float)


def blocks_table(rows=600, blocks=2, width=5, seed=0):
    """Binary columns, in blocks that copy a hidden bit with noise."""
    rng = np.random.default_rng(seed)
    hidden = rng.integers(0, 2, (rows, blocks))
    flip = rng.random((rows, blocks * width)) < 0.1
    return (np.repeat(hidden, width, axis=1) ^ flip).astype(float)


def test_independent_columns_of_all_kinds_get_nearly_zero():
    # 2n × information is about χ² with at most 49 degrees of freedom: its excess over the mean is
    # below 60 with probability 1 − 1e-8 per pair, so below 60 / 2n nats, and every entropy here
    # is at least 0.325 nats: 60 / (2 · 5000 · 0.325) < 0.02
    dependence = pairwise_dependence(mixed_table(5000))
    assert dependence.max() < 0.02


@pytest.mark.parametrize("column", range(6))
def test_copies_get_nearly_one(column):
    X = mixed_table(5000)
    dependence = pairwise_dependence(np.stack([X[:, column], X[:, column]], axis=1))
    # the correction for chance is at most 49 / (2 · 5000) nats of about 2
    assert 0.98 < dependence[0, 1] <= 1.0


def test_a_monotone_function_of_a_column_gets_nearly_one():
    x = np.random.default_rng(1).standard_normal(4000)
    assert pairwise_dependence(np.stack([x, np.exp(-3 * x)], axis=1))[0, 1] > 0.97


def test_dependence_equals_normalised_mutual_information_by_hand():
    # 2 × 2 table with counts 30, 10 / 20, 40
    pairs = [(0, 0)] * 30 + [(0, 1)] * 10 + [(1, 0)] * 20 + [(1, 1)] * 40
    joint = np.array([[0.3, 0.1], [0.2, 0.4]])
    row, column = joint.sum(1), joint.sum(0)
    information = (joint * np.log(joint / np.outer(row, column))).sum()
    entropy = min(-(row * np.log(row)).sum(), -(column * np.log(column)).sum())
    expected = (information - 1 / 200) / entropy
    actual = pairwise_dependence(np.array(pairs, dtype=float))
    np.testing.assert_allclose(actual, [[0, expected], [expected, 0]], atol=1e-12)


def dependent_table_with_gaps():
    X = mixed_table(800, seed=2)
    rng = np.random.default_rng(3)
    X = np.concatenate([X, X[:, [0, 4, 5]] + np.where(rng.random((800, 3)) < 0.3, 1, 0)], axis=1)
    X[rng.random(X.shape) < 0.25] = np.nan
    constant, missing = np.full((800, 1), 4.0), np.full((800, 1), np.nan)
    return np.concatenate([X, constant, missing], axis=1)


def test_dependence_is_symmetric_and_between_zero_and_one():
    dependence = pairwise_dependence(dependent_table_with_gaps())
    np.testing.assert_allclose(dependence, dependence.T, atol=1e-12)
    assert np.isfinite(dependence).all()
    assert dependence.min() >= 0
    assert dependence.max() <= 1
    assert (np.diag(dependence) == 0).all()
    assert dependence[4, 7] > 0.2  # a noisy copy is still seen through the gaps


def test_constant_and_all_missing_columns_depend_on_nothing():
    dependence = pairwise_dependence(dependent_table_with_gaps())
    for column in (-1, -2):
        np.testing.assert_allclose(dependence[column], 0.0, atol=1e-9)
        np.testing.assert_allclose(dependence[:, column], 0.0, atol=1e-9)
    assert (pairwise_dependence(np.full((4, 3), np.nan)) == 0).all()


def test_dependence_is_invariant_to_the_order_of_columns_and_rows():
    X = dependent_table_with_gaps()
    rng = np.random.default_rng(4)
    columns, rows = rng.permutation(X.shape[1]), rng.permutation(len(X))
    expected = pairwise_dependence(X)[np.ix_(columns, columns)]
    np.testing.assert_allclose(pairwise_dependence(X[rows][:, columns]), expected, atol=1e-12)


def test_a_pair_is_judged_by_the_rows_where_both_are_observed():
    X = blocks_table(400)[:, :3]
    X[:, 2] = np.where(np.arange(400) < 150, X[:, 2], np.nan)
    alone = pairwise_dependence(X[:150])
    together = pairwise_dependence(X)
    np.testing.assert_allclose(together[0, 2], alone[0, 2], atol=1e-12)
    assert abs(together[0, 1] - alone[0, 1]) > 1e-6


def test_columns_never_seen_together_get_zero():
    X = blocks_table(400)[:, :2]
    X[:200, 0], X[200:, 1] = np.nan, np.nan
    assert (pairwise_dependence(X) == 0).all()


@pytest.mark.parametrize("sign", [1.0, -1.0], ids=["maximum", "minimum"])
def test_copies_of_a_column_piled_up_at_one_end_get_nearly_one(sign):
    # a score with a ceiling: most cells at one value, the rest spread over many
    rng = np.random.default_rng(5)
    x = sign * np.where(rng.random(3000) < 0.92, 100.0, rng.integers(0, 100, 3000))
    assert pairwise_dependence(np.stack([x, x], axis=1))[0, 1] > 0.9


@pytest.mark.parametrize("sides", [2, 3])
def test_planted_blocks_stay_together_far_more_often_than_chance(sides):
    dependence = pairwise_dependence(blocks_table(blocks=sides, width=6))
    block = np.repeat(np.arange(sides), 6)
    same_block = block[:, None] == block
    np.fill_diagonal(same_block, False)
    rng = np.random.default_rng(6)
    within, across = [], []
    for _ in range(200):
        side = split_columns(rng, dependence, sides)
        together = side[:, None] == side
        within.append(together[same_block].mean())
        across.append(together[block[:, None] != block].mean())
    # by chance both would be near 1 / sides; the spread of a mean over 200 splits is below 0.04
    assert np.mean(within) > 0.8
    assert np.mean(across) < 1 / sides


@pytest.mark.parametrize("sides", [2, 3, 5])
@pytest.mark.parametrize("columns", [1, 2, 3, 4, 7, 20, 41])
def test_splits_are_valid_and_limited_in_size(sides, columns):
    rng = np.random.default_rng([7, columns])
    everything = np.ones((columns, columns)) - np.eye(columns)
    for dependence in (everything, np.zeros_like(everything), everything * rng.random(columns)):
        for _ in range(20):
            side = split_columns(rng, dependence, sides)
            assert side.shape == (columns,)
            assert side.min() >= 0
            assert side.max() < sides
            assert np.bincount(side).max() <= max(np.ceil(0.75 * columns), 1)


def test_columns_that_depend_on_nothing_are_split_at_random():
    # every column is on side 0 half of the time: 5 standard errors of 400 splits are 0.125
    rng = np.random.default_rng(8)
    sides = np.stack([split_columns(rng, np.zeros((6, 6)), 2) for _ in range(400)])
    np.testing.assert_allclose(sides.mean(axis=0), 0.5, atol=0.125)
    assert len({tuple(side) for side in sides}) > 30


INFORMED = [
    RegionGraph(depth=0),
    RegionGraph(depth=1, partitions=3),
    RegionGraph(depth=2, partitions=(3, 1), children=3, sums=2, leaves=2),
    RegionGraph(depth=5, partitions=(2, 1, 1, 1, 1), sums=2, leaves=2, products="shared"),
]


@pytest.mark.parametrize("graph", INFORMED, ids=lambda g: f"J{g.branching}C{g.children}")
@pytest.mark.parametrize("columns", [1, 2, 5, 12])
def test_informed_scopes_are_valid(graph, columns):
    dependence = pairwise_dependence(blocks_table(100, blocks=2, width=6)[:, :columns])
    scope = draw_informed_scope(np.random.default_rng(9), graph, dependence)
    assert scope.n_dimensions == columns
    assert scope.leaf_regions.shape == (columns, graph.n_paths)
    check_scopes(graph, scope.region_scopes)


def test_informed_scope_separates_planted_blocks_at_the_root():
    graph = RegionGraph(depth=2, partitions=(8, 1), sums=2, leaves=2)
    dependence = pairwise_dependence(blocks_table(blocks=2, width=6))
    same = np.zeros((12, 12))
    for seed in range(10):
        scope = draw_informed_scope(np.random.default_rng(seed), graph, dependence)
        side = scope.y[0]
        same += (side[:, :, None] == side[:, None, :]).mean(axis=0) / 10
    within = off_diagonal(same[:6, :6]).mean()
    assert within > 0.8
    assert same[:6, 6:].mean() < 0.5


def test_different_generators_give_different_informed_scopes():
    graph = RegionGraph(depth=2, partitions=(4, 1), sums=2, leaves=2)
    independent = np.random.default_rng(10).integers(0, 2, (300, 20)).astype(float)
    dependence = pairwise_dependence(independent)
    scopes = [
        draw_informed_scope(np.random.default_rng(seed), graph, dependence).leaf_regions
        for seed in (1, 1, 2)
    ]
    np.testing.assert_array_equal(scopes[0], scopes[1])
    assert (scopes[0] != scopes[2]).any()
    # and the partitions of one region differ from each other
    choice = draw_informed_scope(np.random.default_rng(1), graph, dependence).y[0]
    assert len({tuple(row) for row in choice}) > 1
