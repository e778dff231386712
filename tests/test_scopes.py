"""Scope functions: what y induces, and that it is always complete and decomposable."""

import numpy as np
import pytest
from scipy import stats

from bayesspn.graphs import RegionGraph
from bayesspn.scopes import Scope, check_scopes, draw_prior_scope

GRAPHS = [
    RegionGraph(depth=0),
    RegionGraph(depth=1),
    RegionGraph(depth=1, partitions=4, leaves=2),
    RegionGraph(depth=2, partitions=(3, 1), sums=2, leaves=2),
    RegionGraph(depth=2, partitions=(2, 2), children=3, sums=2, leaves=2),
    RegionGraph(depth=4, partitions=(2, 1, 1, 1), sums=2, leaves=2, products="shared"),
]


def name_graph(graph):
    return f"J{graph.branching}C{graph.children}"


def hand_made_scope():
    """Depth 2, two partitions at the root, one below, three dimensions."""
    graph = RegionGraph(depth=2, partitions=(2, 1), sums=2, leaves=2)
    root = np.array([[0, 0, 1], [1, 0, 1]])
    below = np.array([[0, 1, 1], [0, 1, 0], [0, 1, 1], [1, 0, 0]])
    return Scope(graph, (root, below))


def test_induced_scopes_match_hand_calculation():
    scope = hand_made_scope()
    assert scope.n_dimensions == 3
    # partition 0 of the root: {0, 1} to region 0, {2} to region 1;
    # partition 1: {1} to region 2, {0, 2} to region 3
    level_1 = [[1, 1, 0], [0, 0, 1], [0, 1, 0], [1, 0, 1]]
    # below: region 0 splits {0} {1}; region 1 {2} {}; region 2 {} {1}; region 3 {2} {0}
    leaves = [
        [1, 0, 0],
        [0, 1, 0],
        [0, 0, 1],
        [0, 0, 0],
        [0, 0, 0],
        [0, 1, 0],
        [0, 0, 1],
        [1, 0, 0],
    ]
    for actual, expected in zip(scope.region_scopes, ([[1, 1, 1]], level_1, leaves), strict=True):
        np.testing.assert_array_equal(actual, np.array(expected, dtype=bool))
    np.testing.assert_array_equal(scope.leaf_regions, [[0, 7], [1, 5], [2, 6]])
    np.testing.assert_array_equal(scope.reached_regions[1], [[0, 3], [0, 2], [1, 3]])


def test_partition_counts_match_hand_calculation():
    root, below = [[2, 1], [1, 2]], [[1, 1], [1, 0], [0, 1], [1, 1]]
    np.testing.assert_array_equal(hand_made_scope().partition_counts, root + below)


def test_choices_of_dimensions_that_do_not_arrive_have_no_effect():
    scope = hand_made_scope()
    changed = [choice.copy() for choice in scope.y]
    member = scope.region_scopes[1]  # one partition per region here
    changed[1] = np.where(member, changed[1], 1 - changed[1])
    assert (changed[1] != scope.y[1]).any()
    other = Scope(scope.graph, tuple(changed))
    np.testing.assert_array_equal(other.leaf_regions, scope.leaf_regions)
    np.testing.assert_array_equal(other.partition_counts, scope.partition_counts)


def test_depth_zero_puts_every_dimension_into_the_one_leaf_region():
    scope = draw_prior_scope(np.random.default_rng(0), RegionGraph(depth=0), 5, 1.0)
    np.testing.assert_array_equal(scope.leaf_regions, np.zeros((5, 1)))
    assert scope.region_scopes[-1].all()


@pytest.mark.parametrize("graph", GRAPHS, ids=name_graph)
@pytest.mark.parametrize("beta", [0.02, 1.0, 50.0])
@pytest.mark.parametrize("dimensions", [1, 2, 17])
def test_every_scope_drawn_from_the_prior_is_valid(graph, beta, dimensions):
    rng = np.random.default_rng([3, dimensions])
    for _ in range(10):
        scope = draw_prior_scope(rng, graph, dimensions, beta)
        check_scopes(graph, scope.region_scopes)
        assert_valid(graph, scope.region_scopes)


def assert_valid(graph, region_scopes):
    """Completeness and decomposability by definition, with Python sets."""
    scopes = [[set(np.flatnonzero(row)) for row in level] for level in region_scopes]
    assert scopes[0] == [set(range(region_scopes[0].shape[1]))]
    for level in range(graph.levels):
        for region in range(graph.regions[level]):
            for j in range(graph.branching[level]):
                first = (region * graph.branching[level] + j) * graph.children
                parts = scopes[level + 1][first : first + graph.children]
                assert set.union(*parts) == scopes[level][region]
                assert sum(map(len, parts)) == len(scopes[level][region])


@pytest.mark.parametrize("graph", GRAPHS, ids=name_graph)
def test_every_dimension_reaches_one_leaf_region_per_path(graph):
    scope = draw_prior_scope(np.random.default_rng(1), graph, 9, 1.0)
    assert scope.leaf_regions.shape == (9, graph.n_paths)
    np.testing.assert_array_equal(scope.region_scopes[-1].sum(axis=0), graph.n_paths)
    for d in range(9):
        assert len(set(scope.leaf_regions[d])) == graph.n_paths
        assert scope.region_scopes[-1][scope.leaf_regions[d], d].all()


@pytest.mark.parametrize("graph", GRAPHS, ids=name_graph)
def test_partition_counts_are_the_sizes_of_the_children(graph):
    scope = draw_prior_scope(np.random.default_rng(2), graph, 9, 1.0)
    sizes = np.concatenate([member.sum(axis=1) for member in scope.region_scopes[1:]])
    np.testing.assert_array_equal(scope.partition_counts, sizes.reshape(-1, graph.children))


def valid_region_scopes():
    scope = hand_made_scope()
    return scope.graph, [member.copy() for member in scope.region_scopes]


def test_check_accepts_valid_scopes():
    graph, scopes = valid_region_scopes()
    check_scopes(graph, tuple(scopes))


def test_check_names_a_root_without_a_dimension():
    graph, scopes = valid_region_scopes()
    scopes[0][0, 1] = False
    with pytest.raises(ValueError, match="root's scope lacks dimension 1"):
        check_scopes(graph, tuple(scopes))


def test_check_names_overlapping_children():
    graph, scopes = valid_region_scopes()
    scopes[1][2, 0] = True  # dimension 0 goes to both children of the root's partition 1
    with pytest.raises(
        ValueError, match=r"partition 1 of region 0 at level 0 is not decomposable.*dimension 0"
    ):
        check_scopes(graph, tuple(scopes))


def test_check_names_a_lost_dimension():
    graph, scopes = valid_region_scopes()
    scopes[2][6, 2] = False  # region 3 of level 1 loses dimension 2
    with pytest.raises(
        ValueError, match=r"partition 0 of region 3 at level 1 is not complete.*lack dimension 2"
    ):
        check_scopes(graph, tuple(scopes))


def test_check_names_an_added_dimension():
    graph, scopes = valid_region_scopes()
    scopes[2][4, 0] = True  # region 2 of level 1 never had dimension 0
    with pytest.raises(
        ValueError, match=r"partition 0 of region 2 at level 1 is not complete.*add dimension 0"
    ):
        check_scopes(graph, tuple(scopes))


@pytest.mark.parametrize("bad", [-1, 2, 100])
def test_a_choice_out_of_range_is_named(bad):
    scope = hand_made_scope()
    y = [choice.astype(np.int64) for choice in scope.y]
    y[1][2, 1] = bad
    with pytest.raises(ValueError, match=rf"y\[1\]\[2, 1\] is {bad}.*children 0 to 1"):
        Scope(scope.graph, tuple(y))


def test_a_choice_that_wraps_in_8_bits_is_refused():
    scope = hand_made_scope()
    y = [choice.astype(np.int64) for choice in scope.y]
    y[0][0, 0] = 256
    with pytest.raises(ValueError, match=r"y\[0\]\[0, 0\] is 256"):
        Scope(scope.graph, tuple(y))


def test_choices_of_wrong_shape_are_refused():
    graph = RegionGraph(depth=2, partitions=(2, 1), sums=2, leaves=2)
    root, below = np.zeros((2, 3), int), np.zeros((4, 3), int)
    with pytest.raises(ValueError, match=r"one array per level \(2\), got 1"):
        Scope(graph, (root,))
    with pytest.raises(ValueError, match=r"y\[1\] must have shape \(4, 3\), got \(3, 3\)"):
        Scope(graph, (root, below[:3]))
    with pytest.raises(ValueError, match=r"y\[1\] must have shape \(4, 3\), got \(4, 2\)"):
        Scope(graph, (root, below[:, :2]))
    with pytest.raises(ValueError, match=r"y\[0\] must have shape"):
        Scope(graph, (root[0], below))


def test_many_children_are_refused_or_kept_apart():
    # choices are stored in 8 bits; child 199 must not come back as another region
    try:
        graph = RegionGraph(depth=1, children=200, leaves=2, products="shared")
    except ValueError:
        return
    choice = np.arange(200)[None, :]
    np.testing.assert_array_equal(Scope(graph, (choice,)).leaf_regions[:, 0], choice[0])


@pytest.mark.parametrize("children", [2, 3])
@pytest.mark.parametrize("beta", [0.3, 5.0])
def test_prior_scope_counts_are_beta_binomial(children, beta):
    """With v integrated out, the dimensions sent to a child are beta-binomial.

    Chi-squared test of 4,000 independent partitions; p < 1e-4 in any of the 4 × children cases
    is a false alarm with probability below 1.2e-3 for a new seed.
    """
    dimensions, partitions = 6, 4000
    graph = RegionGraph(depth=1, partitions=partitions, children=children, leaves=1)
    scope = draw_prior_scope(np.random.default_rng(5), graph, dimensions, beta)
    counts = scope.partition_counts
    expected = stats.betabinom.pmf(
        np.arange(dimensions + 1), dimensions, beta, (children - 1) * beta
    )
    for child in range(children):
        seen = np.bincount(counts[:, child], minlength=dimensions + 1)
        assert stats.chisquare(seen, partitions * expected).pvalue > 1e-4


def test_prior_choices_are_exchangeable_and_correlated():
    """P(two dimensions go together) = (β + 1) / (2β + 1) for two children, at every level.

    The Monte Carlo error of the mean over 20,000 independent partitions is at most 0.0036; five
    standard errors are a false alarm with probability 6e-7 per level.
    """
    beta, partitions = 0.5, 20_000
    graph = RegionGraph(depth=2, partitions=(partitions // 2, 1), sums=1, leaves=1)
    scope = draw_prior_scope(np.random.default_rng(6), graph, 2, beta)
    for choice in scope.y:
        together = (choice[:, 0] == choice[:, 1]).mean()
        error = np.sqrt(0.25 / len(choice))
        assert abs(together - (beta + 1) / (2 * beta + 1)) < 5 * error


def test_prior_scope_is_reproducible_and_varies():
    graph = RegionGraph(depth=2, partitions=2)
    draw = [draw_prior_scope(np.random.default_rng(seed), graph, 20, 1.0) for seed in (7, 7, 8)]
    np.testing.assert_array_equal(draw[0].leaf_regions, draw[1].leaf_regions)
    assert (draw[0].leaf_regions != draw[2].leaf_regions).any()
