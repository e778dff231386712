"""Region graphs: shapes, counts and refusals."""

import copy
import dataclasses
import pickle

import numpy as np
import pytest

from bayesspn.graphs import MAX_WEIGHTS, RegionGraph

SHAPES = [
    {"depth": 0},
    {"depth": 0, "leaves": 1},
    {"depth": 1},
    {"depth": 1, "partitions": 4, "leaves": 3},
    {"depth": 2, "partitions": (3, 1), "sums": 4, "leaves": 2},
    {"depth": 2, "partitions": (2, 2), "children": 3, "sums": 2, "leaves": 2},
    {"depth": 3, "partitions": (2, 1, 2), "sums": 1, "leaves": 3, "products": "shared"},
    {"depth": 2, "partitions": 2, "children": 3, "sums": 6, "leaves": 2, "products": "shared"},
]


def name_shape(shape):
    return "-".join(f"{key}{value}" for key, value in shape.items()).replace(" ", "")


def test_cross_products_pair_every_tuple_of_child_nodes():
    graph = RegionGraph(depth=2, partitions=(3, 2), children=2, sums=4, leaves=5)
    assert graph.regions == (1, 6, 24)
    assert graph.nodes == (1, 4, 5)
    assert graph.n_products == (4**2, 5**2)
    assert graph.weight_shapes == ((1, 1, 3, 16), (6, 4, 2, 25))
    assert graph.n_weights == 3 * 16 + 6 * 4 * 2 * 25


def test_cross_products_of_three_children_are_triples():
    graph = RegionGraph(depth=1, partitions=2, children=3, leaves=4)
    assert graph.regions == (1, 6)
    assert graph.weight_shapes == ((1, 1, 2, 64),)


def test_shared_products_pair_equal_positions_only():
    graph = RegionGraph(depth=2, partitions=(3, 2), children=3, sums=4, leaves=5, products="shared")
    assert graph.regions == (1, 9, 54)
    assert graph.n_products == (4, 5)
    assert graph.weight_shapes == ((1, 1, 3, 4), (9, 4, 2, 5))


def test_depth_zero_is_a_plain_mixture_of_leaves():
    for products in ("cross", "shared"):
        graph = RegionGraph(depth=0, leaves=7, sums=3, products=products)
        assert graph.levels == 1
        assert graph.regions == (1, 1)
        assert graph.weight_shapes == ((1, 1, 1, 7),)
        assert (graph.n_paths, graph.n_visited_sums, graph.n_visited_leaves) == (1, 1, 1)


@pytest.mark.parametrize("shape", SHAPES, ids=name_shape)
def test_counts_agree_with_an_explicit_tree(shape):
    graph = RegionGraph(**shape)
    level, regions, visited_regions, visited_sums = 0, ["root"], ["root"], 0
    while level < graph.levels:
        assert len(regions) == graph.regions[level]
        visited_sums += len(visited_regions)
        regions = [
            (region, partition, child)
            for region in regions
            for partition in range(graph.branching[level])
            for child in range(graph.children)
        ]
        # an induced tree follows one partition of every region it visits, here the first
        visited_regions = [
            (region, 0, child) for region in visited_regions for child in range(graph.children)
        ]
        level += 1
    assert len(regions) == graph.regions[-1] == graph.n_leaf_regions
    assert visited_sums == graph.n_visited_sums
    assert len(visited_regions) == graph.n_visited_leaves
    assert graph.n_weights == sum(int(np.prod(s)) for s in graph.weight_shapes)
    assert graph.n_leaf_regions == graph.n_paths * graph.children**graph.levels


def test_one_number_of_partitions_holds_for_every_level():
    one, many = RegionGraph(depth=3, partitions=2), RegionGraph(depth=3, partitions=[2, 2, 2])
    assert one == many
    assert hash(one) == hash(many)
    assert one.branching == (2, 2, 2)
    assert one != RegionGraph(depth=3, partitions=(2, 2, 1))


def test_numpy_integers_describe_the_same_graph():
    numbers = {"depth": 2, "partitions": 3, "children": 2, "sums": 4, "leaves": 5}
    graph = RegionGraph(**{key: np.int64(value) for key, value in numbers.items()})
    assert graph == RegionGraph(**numbers)
    assert str(graph) == str(RegionGraph(**numbers))


@pytest.mark.parametrize("parameter", ["depth", "partitions", "children", "sums", "leaves"])
@pytest.mark.parametrize("value", [-1, True, 2.0, 2.5, float("nan"), None, "2"])
def test_numbers_that_are_no_counts_are_refused_by_name(parameter, value):
    with pytest.raises(ValueError, match=parameter):
        RegionGraph(**{"depth": 2, parameter: value})


@pytest.mark.parametrize("parameter", ["partitions", "children", "sums", "leaves"])
def test_zero_is_refused_by_name(parameter):
    with pytest.raises(ValueError, match=parameter):
        RegionGraph(**{"depth": 1, parameter: 0})


@pytest.mark.parametrize("bad", [0, -2, True, 1.0])
def test_an_impossible_level_of_partitions_is_named(bad):
    with pytest.raises(ValueError, match=r"partitions\[1\]"):
        RegionGraph(depth=2, partitions=(2, bad))


def test_a_partition_with_one_child_is_refused():
    with pytest.raises(ValueError, match="children must be a whole number from 2 on, got 1"):
        RegionGraph(depth=1, children=1)


@pytest.mark.parametrize("partitions", [(), (2,), (2, 1, 1)])
def test_wrong_number_of_levels_is_refused(partitions):
    with pytest.raises(ValueError, match=rf"partitions .*depth is 2, got {len(partitions)}"):
        RegionGraph(depth=2, partitions=partitions)


@pytest.mark.parametrize("products", ["outer", "", None])
def test_unknown_products_are_refused(products):
    with pytest.raises(ValueError, match="products must be 'cross' or 'shared'"):
        RegionGraph(depth=1, products=products)


def test_a_graph_with_too_many_weights_is_refused():
    allowed = RegionGraph(depth=1, children=3, leaves=1000)
    assert allowed.n_weights == MAX_WEIGHTS
    with pytest.raises(ValueError, match="sum weights"):
        RegionGraph(depth=1, children=3, leaves=1001)
    RegionGraph(depth=1, children=3, leaves=1001, products="shared")
    with pytest.raises(ValueError, match="sum weights"):
        RegionGraph(depth=60)


def test_too_many_weights_are_noticed_beyond_64_bits():
    # 2^64 products per partition: the count must not wrap around in NumPy's integers
    for number in (int, np.int64):
        with pytest.raises(ValueError, match="sum weights"):
            RegionGraph(depth=2, children=number(4), sums=number(2**16), leaves=2)


def test_picture_shows_every_level():
    graph = RegionGraph(depth=2, partitions=(3, 1), sums=4, leaves=4, products="shared")
    assert str(graph).splitlines() == [
        "region graph: depth 2, shared products, 12 leaf regions, 108 weights",
        "root       1 region  ×  1 sum    3 partitions × 4 products",
        "├ level 1    6 regions ×  4 sums   1 partition × 4 products",
        "└ leaves    12 regions ×  4 leaves",
    ]


def test_picture_of_depth_zero_shows_root_and_leaves():
    lines = str(RegionGraph(depth=0, leaves=3)).splitlines()
    assert lines[0].startswith("region graph: depth 0, cross products")
    assert lines[0].endswith("3 weights")
    assert [" ".join(line.split()) for line in lines[1:]] == [
        "root 1 region × 1 sum 1 partition × 3 products",
        "└ leaves 1 region × 3 leaves",
    ]


@pytest.mark.parametrize("shape", SHAPES, ids=name_shape)
def test_graphs_survive_copying_pickling_and_rebuilding(shape):
    graph = RegionGraph(**shape)
    assert graph.regions  # fills the cache, which must travel along or be rebuilt
    assert copy.deepcopy(graph) == graph
    loaded = pickle.loads(pickle.dumps(graph))
    assert loaded == graph
    assert loaded.weight_shapes == graph.weight_shapes
    # a graph is its fields: model files store them and build the graph again
    assert dataclasses.replace(graph) == graph
    wider = dataclasses.replace(graph, leaves=graph.leaves + 1)
    assert wider.nodes[-1] == graph.leaves + 1


def test_graphs_are_immutable():
    graph = RegionGraph(depth=1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        graph.depth = 2
