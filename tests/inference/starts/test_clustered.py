"""The start in which all of z comes from data."""

import numpy as np
import pytest
from support import mixed_leaves, mixed_table

from bayesspn import Key, Model, RegionGraph, encode_rows
from bayesspn.engine.shards import LocalShards
from bayesspn.inference.starts.choices import start_state
from bayesspn.inference.starts.clustered import find_clusters, place_rows
from bayesspn.inference.sweep import draw_sweep
from bayesspn.leaves.columns import Leaves, describe_column
from bayesspn.model.generative import Learned

X = mixed_table(0, 120)
LEAVES = mixed_leaves(X)
GRAPHS = [
    RegionGraph(0, leaves=5),
    RegionGraph(1, 3, sums=4, leaves=3),
    RegionGraph(2, (2, 2), sums=3, leaves=4, products="shared"),
    RegionGraph(1, 2, children=3, sums=2, leaves=2),
]


@pytest.mark.parametrize("graph", GRAPHS)
def test_every_row_is_counted_once_on_its_way(graph):
    model = Model(graph, LEAVES)
    state = start_state(Key(1), model, LocalShards(encode_rows(LEAVES, X)), "clustered")
    assert state.edge_counts[0].sum() == len(X)
    visits = state.edge_counts[0].sum(axis=(1, 3)).ravel()  # of the partitions of the root
    for level in range(1, graph.levels):
        below = state.edge_counts[level].sum(axis=(1, 2, 3))
        np.testing.assert_array_equal(below, np.repeat(visits, graph.children))
        visits = state.edge_counts[level].sum(axis=(1, 3)).ravel()
    # every observed cell is in one leaf of its column's first family
    group, position = LEAVES.places[0][0]
    slots = state.statistics[group][position]
    counted = slots.sum() if LEAVES.groups[group].family.one_hot else slots[..., 0].sum()
    assert counted == pytest.approx((~np.isnan(X[:, 0])).sum())


@pytest.mark.parametrize("concentration", [None, Learned(1.0, 1.0)])
def test_chains_go_on_from_it(concentration):
    model = Model(GRAPHS[2], LEAVES, concentration=concentration)
    shards = LocalShards(encode_rows(LEAVES, X))
    one, two = (start_state(Key(seed), model, shards, "clustered") for seed in (1, 2))
    assert any((a != b).any() for a, b in zip(one.statistics, two.statistics, strict=True))
    state = one
    for sweep in range(1, 4):
        state, info = draw_sweep(Key(1), sweep, model, shards, state)
        assert np.isfinite(info.log_likelihood)


def test_the_target_divides_rows_that_other_columns_would_divide_otherwise():
    """Twelve columns tell two groups apart, the last one two others."""
    rng = np.random.default_rng(3)
    group, target = rng.integers(2, size=(2, 400))
    cells = rng.random((400, 12)) < np.where(group, 0.7, 0.3)[:, None]
    table = np.column_stack([cells, target]).astype(float)
    leaves = Leaves(
        tuple(describe_column(f"x{d}", table[:, d], "bernoulli") for d in range(table.shape[1]))
    )
    model, shards = Model(RegionGraph(0, leaves=4), leaves), LocalShards(encode_rows(leaves, table))
    group_of, position = leaves.places[12][0]

    def purity(start: str, seed: int) -> float:
        counts = start_state(Key(seed), model, shards, start).statistics[group_of][position]
        return float(counts.max(axis=-1).sum() / counts.sum())

    for seed in range(3):
        assert purity("targeted", seed) > 0.95
        assert purity("clustered", seed) < 0.8


def test_columns_without_a_value_start_too():
    table = np.full((30, 3), np.nan)
    table[:, 0] = np.arange(30) % 2
    table[:5, 1] = np.arange(5)
    table[0, 2] = 1.0
    families = ("bernoulli", "gaussian", "bernoulli")
    leaves = Leaves(tuple(describe_column(f"x{d}", table[:, d], f) for d, f in enumerate(families)))
    model = Model(RegionGraph(1, 2, leaves=3), leaves)
    state = start_state(Key(0), model, LocalShards(encode_rows(leaves, table)), "clustered")
    assert all(np.isfinite(slots).all() for slots in state.statistics)


def test_clusters_that_are_far_apart_are_found():
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=200)
    cells = rng.integers(0, 2, (3, 12))[truth].astype(float)
    points, owner = place_rows(np.column_stack([cells, truth * 9.0 + rng.normal(size=200)]))
    assert owner.max() == 12
    np.testing.assert_allclose(points.mean(axis=0), 0.0, atol=1e-5)
    right = 0
    for seed in range(10):
        stream = np.random.default_rng(seed).integers(1, 2**64, size=4, dtype=np.uint64)
        labels = find_clusters(stream, points, 3, 6)
        right += len({(a, b) for a, b in zip(labels, truth, strict=True)}) == 3
    assert right >= 8
