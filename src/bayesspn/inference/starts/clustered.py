"""A start in which all of z comes from data: rows are clustered at every region of the graph.

Rows are divided among the partitions of the root by clustering; the columns of each partition are
split by their dependence among its own rows, and at every region below, rows are clustered on the
region's columns, which says which product, or which nodes of the children, they go through. All
choices are random enough that chains differ. If one column is to be predicted, it has more weight
than another, so that rows in one cluster tend to agree on it.
"""
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numba as nb
import numpy as np
from numpy.typing import NDArray

from bayesspn.arrays import Array, IntArray
from bayesspn.graphs import RegionGraph
from bayesspn.inference.starts.dependence import pairwise_dependence, split_columns
from bayesspn.inference.starts.state import Start
from bayesspn.inference.state import unscale
from bayesspn.numerics.streams import uniform
from bayesspn.rows.codebook import Codebook
from bayesspn.scopes import Scope

#: Rounds of k-means: a start need not be perfect.
_ROUNDS = 6

#: Rows of a partition from which on its own dependence is trusted.
_ENOUGH_ROWS = 40

#: Columns up to which every partition's own dependence is worth its time.
_MOST_COLUMNS = 300

#: Numbers with more different values than this are placed by their ranks.
_MOST_CATEGORIES = 12


def cluster_start(
    rng: np.random.Generator,
    graph: RegionGraph,
    codebook: Codebook,
    sample: Array,
    dependence: Array,
    target_share: float = 0.0,
) -> Start:
    """Scope, edge counts and statistics in scope of a sample (rows, columns) that is clustered.

    With a ``target_share`` the last column counts as much as that share of all others together.
    """
    building = _Building(rng, graph, codebook, sample, dependence, target_share)
    everything = np.arange(len(sample))
    building.fill(
        0, 0, 0, everything, np.zeros(len(sample), dtype=np.int64), np.arange(sample.shape[1])
    )
    scope = Scope(graph, tuple(building.y))
    statistics = tuple(unscale(codebook, g, scaled) for g, scaled in enumerate(building.statistics))
    return Start(scope, tuple(building.counts), statistics)


class _Building:
    """What is built, region after region."""

    def __init__(
        self,
        rng: np.random.Generator,
        graph: RegionGraph,
        codebook: Codebook,
        sample: Array,
        dependence: Array,
        target_share: float,
    ) -> None:
        columns = sample.shape[1]
        self.rng, self.graph, self.codebook, self.sample = rng, graph, codebook, sample
        self.features, self.owner = place_rows(sample)
        if target_share > 0.0:
            others = len(np.unique(self.owner[self.owner < columns - 1]))
            weight = np.sqrt(max(1.0, target_share * others))
            self.features[:, self.owner == columns - 1] *= np.float32(weight)
        self.dependence = dependence
        self.y = [
            np.zeros((graph.regions[level] * graph.branching[level], columns), dtype=np.int8)
            for level in range(graph.levels)
        ]
        self.counts = [np.zeros(shape, dtype=np.int64) for shape in graph.weight_shapes]
        leaves = codebook.leaves
        self.statistics = [
            np.zeros((len(group), graph.n_paths, graph.leaves, group.n_slots), dtype=np.int64)
            for group in leaves.groups
        ]

    def fill(
        self,
        level: int,
        region: int,
        path: int,
        rows: IntArray,
        nodes: IntArray,
        columns: IntArray,
        dependence: Array | None = None,
    ) -> None:
        """Fill in a region that rows visit at some of its nodes, with columns in its scope."""
        graph = self.graph
        if level == graph.levels:
            self._add_leaves(path, rows, nodes, columns)
            return
        branching = graph.branching[level]
        choice = self.cluster(rows, columns, branching)
        for j in range(branching):
            inside = choice == j
            own, sums = rows[inside], nodes[inside]
            here = dependence
            if here is None:  # of the root: every partition has its own rows
                enough = len(own) >= _ENOUGH_ROWS and len(columns) <= _MOST_COLUMNS
                here = pairwise_dependence(self.sample[own]) if enough else self.dependence
            partition = region * branching + j
            part = here[np.ix_(columns, columns)]
            side = split_columns(self.rng, part, graph.children)
            self.y[level][partition, columns] = side
            scopes = [columns[side == c] for c in range(graph.children)]
            size = graph.nodes[level + 1]
            if graph.products == "shared" or graph.children == 1:
                product = self.cluster(own, columns, size)
                below = [product] * graph.children
            else:
                below = [self.cluster(own, scope, size) for scope in scopes]
                product = np.zeros(len(own), dtype=np.int64)
                for child in below:
                    product = product * size + child
            np.add.at(self.counts[level][region, :, j], (sums, product), 1)
            for c, (scope, node) in enumerate(zip(scopes, below, strict=True)):
                self.fill(
                    level + 1,
                    partition * graph.children + c,
                    path * branching + j,
                    own,
                    node,
                    scope,
                    here,
                )

    def cluster(self, rows: IntArray, columns: IntArray, clusters: int) -> IntArray:
        """Cluster of every row by some columns; random where there is nothing to go by."""
        if clusters == 1 or not len(rows):
            return np.zeros(len(rows), dtype=np.int64)
        used = np.isin(self.owner, columns)
        if not used.any():
            return self.rng.integers(clusters, size=len(rows))
        stream = self.rng.integers(1, 2**64, size=4, dtype=np.uint64)
        points = np.ascontiguousarray(self.features[np.ix_(rows, used)])
        return find_clusters(stream, points, clusters, _ROUNDS)

    def _add_leaves(self, path: int, rows: IntArray, nodes: IntArray, columns: IntArray) -> None:
        """Give the cells of rows to the leaves they visit; the first family owns them."""
        leaves = self.codebook.leaves
        for d in columns:
            group, position = leaves.places[d][0]
            scaled = self.codebook.scaled_statistics(int(d), 0, self.sample[rows, d])
            np.add.at(self.statistics[group][position, path], nodes, scaled)


def place_rows(sample: Array) -> tuple[NDArray[np.float32], IntArray]:
    """Rows as points, every column with a variance of about one; and the column of each number.

    Categories, and numbers with few different values, have a coordinate for each value; other
    numbers go by their ranks. Missing cells are in the middle.
    """
    points, owner = [], []
    for d, cells in enumerate(sample.T):
        observed = ~np.isnan(cells)
        distinct, place = np.unique(cells[observed], return_inverse=True)
        if len(distinct) < 2:
            continue
        if len(distinct) <= _MOST_CATEGORIES:
            share = np.bincount(place) / observed.sum()
            spread = np.sqrt((share * (1 - share)).sum())
            kept = range(1, len(distinct)) if len(distinct) == 2 else range(len(distinct))
            for k in kept:
                coordinate = np.zeros(len(cells), dtype=np.float32)
                factor = np.sqrt(2.0) if len(distinct) == 2 else 1.0
                coordinate[observed] = factor * ((place == k) - share[k]) / spread
                points.append(coordinate)
                owner.append(d)
            continue
        order = np.bincount(place)
        rank = (np.cumsum(order) - 0.5 * order) / observed.sum() - 0.5
        coordinate = np.zeros(len(cells), dtype=np.float32)
        coordinate[observed] = np.sqrt(12.0) * rank[place]
        points.append(coordinate)
        owner.append(d)
    if not points:
        return np.zeros((len(sample), 0), dtype=np.float32), np.empty(0, dtype=np.int64)
    return np.stack(points, axis=1), np.array(owner)


@nb.njit(cache=True, nogil=True, error_model="numpy")
def find_clusters(stream, points, clusters, rounds):
    """k-means with spread-out random seeds; the cluster of every point (points,)."""
    n, size = points.shape
    centers = np.empty((clusters, size), dtype=np.float32)
    nearest = np.full(n, np.inf)
    labels = np.zeros(n, dtype=np.int64)
    chosen = int(n * uniform(stream))
    for k in range(clusters):
        centers[k] = points[chosen]
        total = 0.0
        for i in range(n):
            distance = 0.0
            for f in range(size):
                gap = points[i, f] - centers[k, f]
                distance += gap * gap
            if distance < nearest[i]:
                nearest[i] = distance
                labels[i] = k
            total += nearest[i]
        # the next seed is a point, chosen by its squared distance from those before
        target = uniform(stream) * total
        chosen = int(n * uniform(stream))
        for i in range(n):
            target -= nearest[i]
            if target < 0.0:
                chosen = i
                break
    counts = np.empty(clusters)
    for _ in range(rounds):
        centers[:] = 0.0
        counts[:] = 0.0
        for i in range(n):
            counts[labels[i]] += 1.0
            for f in range(size):
                centers[labels[i], f] += points[i, f]
        for k in range(clusters):
            if counts[k] > 0.0:
                for f in range(size):
                    centers[k, f] /= counts[k]
            else:
                centers[k] = points[int(n * uniform(stream))]
        changed = False
        for i in range(n):
            best, label = np.inf, 0
            for k in range(clusters):
                distance = 0.0
                for f in range(size):
                    gap = points[i, f] - centers[k, f]
                    distance += gap * gap
                if distance < best:
                    best, label = distance, k
            changed |= label != labels[i]
            labels[i] = label
        if not changed:
            break
    return labels
