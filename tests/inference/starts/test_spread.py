"""Where chains start: leaves begin with one row each, rows that are far from each other."""

import numpy as np

from bayesspn import Key, Model, RegionGraph, encode_rows
from bayesspn.engine.shards import LocalShards
from bayesspn.inference.starts.choices import start_state
from bayesspn.leaves.columns import Leaves, describe_column


def start(X, families, graph, seed):
    """The state that a chain begins with, and its model."""
    columns = [
        describe_column(f"x{d}", X[:, d], chosen)
        for d, chosen in zip(range(X.shape[1]), families, strict=True)
    ]
    model = Model(graph, Leaves(tuple(columns)))
    return start_state(Key(seed), model, LocalShards(encode_rows(model.leaves, X)))


def test_every_leaf_begins_with_one_row_of_its_first_model():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, 80), rng.gamma(2.0, size=80)])
    families = ("bernoulli", ("gaussian", "lognormal"))
    state = start(X, families, RegionGraph(1, 3, leaves=4), seed=0)
    binary, first, second = state.statistics
    np.testing.assert_array_equal(binary.sum(axis=-1), 1)  # one observed cell in every leaf
    assert (first != 0).any()
    assert not second.any()


def test_clusters_that_are_far_apart_get_leaves_of_their_own():
    rng = np.random.default_rng(1)
    clusters = rng.integers(0, 2, (3, 30)).astype(float)
    X = np.repeat(clusters, 40, axis=0)
    found = []
    for seed in range(20):
        state = start(X, ("bernoulli",) * 30, RegionGraph(0, leaves=4), seed)
        (slots,) = state.statistics  # columns, paths, leaves, categories
        found.append(len({tuple(leaf) for leaf in slots[:, 0, :, 1].T}))
    # rows at random would cover all three in 44 % of the starts
    assert sum(count == 3 for count in found) >= 18


def test_missing_cells_and_columns_start_too():
    X = np.full((30, 3), np.nan)
    X[:, 0] = np.arange(30) % 2
    X[:5, 1] = np.arange(5)
    X[0, 2] = 1.0
    state = start(X, ("bernoulli", "gaussian", "bernoulli"), RegionGraph(1, 2, leaves=3), seed=0)
    assert all(np.isfinite(slots).all() for slots in state.statistics)
