"""Model evidence along a path from the posterior to the prior on which rows are pinned to trees.

Let (z*, s*) be the trees and likelihood models of all rows in one draw of a chain. Then

    p(x) = p(x, z*, s*) / p(z*, s* | x),

and both sides fall into steps between distributions that differ by a few rows. On the way to the
denominator rows are pinned to (z*, s*) part by part while the others stay free: a step from φ given
fewer pins to φ given more has f(φ) = Σ log p(z*_n, s*_n | x_n, φ). On the way to the numerator all
rows are pinned, w, θ and ω are integrated out, and rows are taken away part by part until the prior
of scope and hyper-parameters is left. Bridge sampling gives every step's ratio.

Tempering would be another path, but components of a mixture form and dissolve on it as ice and
water do, and its chains hang behind on either side by hundreds of nats. Here they never dissolve:
rows that are pinned hold them together (compare Chib, 1995). Their names are another matter: the
first rows to be pinned are those that between them visit all nodes that z* uses, and what
the chain would say if it visited all names is worked out; see `bayesspn.sampling.naming`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from bayesspn.engine import compiled
from bayesspn.engine.circuit import (
    Address,
    Circuit,
    RowSums,
    add_row_sums,
    from_fixed_point,
    subtract_row_sums,
)
from bayesspn.engine.oracle import children_of
from bayesspn.graphs import RegionGraph
from bayesspn.leaves.densities import DrawnLeaves
from bayesspn.leaves.family import Array
from bayesspn.model import Model
from bayesspn.randomness import Key, Stream
from bayesspn.rows import EncodedRows
from bayesspn.sampling.bridges import bridge
from bayesspn.sampling.chains import GrowingChain, start_chain
from bayesspn.sampling.circuits import draw_parameters, reach_components
from bayesspn.sampling.concentrations import log_weight_evidence
from bayesspn.sampling.naming import NamedTrees, Naming
from bayesspn.sampling.scopes import region_evidence
from bayesspn.sampling.state import State, counts_and_totals, model_counts, statistics_in_scope
from bayesspn.sampling.sweep import draw_hyper_parameters, place_columns
from bayesspn.scopes import Scope

IntArray = NDArray[np.int64]

#: Sweeps by which a chain gets used to further pins, beyond those that are looked at.
_SETTLING = 2

#: Standard deviation of f that a step should have.
_STEP = 1.2

#: Columns of every child that keep a chain from changing the order of children.
_SETTLED = 2

#: Sweeps without free rows cost little: so many for one of the others.
_PINNED_SWEEPS = 3


class Pins(NamedTuple):
    """Where rows are pinned to: what a network draws for them at an address."""

    circuit: Circuit
    address: Address

    def sums(self, rows: EncodedRows) -> RowSums:
        """Counts and statistics of rows at their pins."""
        return compiled.row_pass(self.circuit, rows, self.address)


@dataclass(frozen=True)
class _PlainStep:
    """Rows whose trees visit no nodes but those of rows that were pinned before."""

    rows: EncodedRows
    sums: RowSums

    def log_probability(self, circuit: Circuit, rng: np.random.Generator | None) -> float:
        """Log probability of the pins given a network."""
        pinned = log_pinned(circuit, self.rows, self.sums)
        return pinned - from_fixed_point(compiled.fixed_log_likelihood(circuit, self.rows))


@dataclass(frozen=True)
class _NamingStep:
    """Rows whose trees are the first to visit some nodes; ``naming`` knows those before."""

    rows: EncodedRows
    each: tuple[RowSums, ...]
    edges: IntArray
    naming: Naming
    sums: RowSums

    def log_probability(self, circuit: Circuit, rng: np.random.Generator | None) -> float:
        """Log probability of the pins given a network, averaged over names."""

        def pick(log_weights: Array) -> int:
            assert rng is not None
            return int(np.argmax(log_weights + rng.gumbel(size=len(log_weights))))

        naming = self.naming.copy()
        trees = NamedTrees(circuit, _leaf_values(circuit, self.rows, self.each))
        total = sum(
            trees.log_probability(row, edges, naming, None if rng is None else pick)
            for row, edges in enumerate(self.edges)
        )
        return total - from_fixed_point(compiled.fixed_log_likelihood(circuit, self.rows))


_Step = _PlainStep | _NamingStep


def log_pinned(circuit: Circuit, rows: EncodedRows, sums: RowSums) -> float:
    """Log density of pinned rows given a network, up to the base measures of their cells.

    These are the same on both parts of the path, and cancel.
    """
    densities = circuit.densities
    assert isinstance(densities, DrawnLeaves)
    total = 0.0
    for log_weights, counts in zip(circuit.log_weights, sums.edge_counts, strict=True):
        used = counts > 0
        total += float(log_weights[used] @ counts[used])
    statistics = statistics_in_scope(rows.dictionary, circuit.scope, sums.statistics)
    for g, group in enumerate(densities.leaves.groups):
        n, totals = counts_and_totals(group, statistics[g])
        total += float((totals * densities.eta[g]).sum() - (n * densities.log_partition[g]).sum())
    owned = model_counts(densities.leaves, statistics)
    some = owned > 0
    return total + float(densities.log_mixing[some] @ owned[some])


def _leaf_values(circuit: Circuit, rows: EncodedRows, each: tuple[RowSums, ...]) -> Array:
    """Log values of all leaves, up to base measures; shape (rows, leaf regions, leaves)."""
    densities, graph = circuit.densities, circuit.graph
    assert isinstance(densities, DrawnLeaves)
    values = np.zeros((len(each), graph.n_leaf_regions, graph.leaves))
    leaf_regions = circuit.scope.leaf_regions
    for row, sums in enumerate(each):
        # a row has the same statistics in all leaves that it visits
        own = tuple(
            slots.sum(axis=(2, 3), keepdims=True) // graph.n_visited_leaves
            for slots in sums.statistics
        )
        whole = Scope(RegionGraph(0, leaves=1), (np.zeros((1, len(leaf_regions)), dtype=np.int8),))
        statistics = statistics_in_scope(rows.dictionary, whole, own)
        log_mixing = _by_group(densities)
        for g, group in enumerate(densities.leaves.groups):
            n, totals = counts_and_totals(group, statistics[g])  # (g, 1, 1), (g, 1, 1, t)
            density = (totals * densities.eta[g]).sum(axis=-1)
            density += n * (log_mixing[g] - densities.log_partition[g])
            np.add.at(values[row], leaf_regions[group.columns], density)
    return values


def _by_group(densities: DrawnLeaves) -> list[Array]:
    """Log ω of every leaf group, 0 where a column has a single model; (g, paths, leaves) each."""
    leaves = densities.leaves
    parts = [np.zeros(partition.shape) for partition in densities.log_partition]
    for member, column in enumerate(leaves.mixed):
        for m, (g, position) in enumerate(leaves.places[column]):
            parts[g][position] = densities.log_mixing[member, m]
    return parts


def estimate_log_evidence(
    key: Key, model: Model, rows: EncodedRows, *, sweeps: int, each: int
) -> float:
    """Log evidence from one chain, up to names of children: of the modes that it visits.

    Parameters
    ----------
    key : Key
    model : Model
        A finite one.
    rows : EncodedRows
    sweeps : int
        Sweeps of the chain before rows are pinned.
    each : int
        Sweeps of every step, at least 2.
    """
    growing = GrowingChain(start_chain(key, model, rows), rows, burn_in=0, thin=1)
    while growing.sweep < sweeps:
        growing.step()
    chain = growing.chain()
    sweep = chain.sweep + 1
    circuit = _draw_network(key, sweep, model, chain.state)
    pins = Pins(circuit, Address(key.words(), sweep))
    path = _Path(key, model, rows, pins, chain.state, sweep, each)
    log_posterior = path.pin_rows()
    return path.take_rows_away() - log_posterior


def _draw_network(key: Key, sweep: int, model: Model, state: State) -> Circuit:
    reach = reach_components(key.generator(sweep, Stream.COMPONENTS), model, state)
    return draw_parameters(key, sweep, model, reach)


class _Path:
    """A chain on its way from the posterior to the prior."""

    def __init__(
        self,
        key: Key,
        model: Model,
        rows: EncodedRows,
        pins: Pins,
        state: State,
        sweep: int,
        each: int,
    ) -> None:
        self.key, self.model, self.rows, self.pins = key, model, rows, pins
        self.state, self.sweep, self.each = state, sweep, each
        rng = key.generator(sweep, Stream.PINS)
        self.edges = compiled.draw_trees(pins.circuit, rows, pins.address, np.float32)[0]
        order = rng.permutation(rows.n_rows)
        first = _first_visits(model.graph, self.edges[order])
        self.order = np.concatenate([order[first], np.delete(order, first)])
        self.n_first = len(first)
        self.naming = Naming(model.graph)

    def pin_rows(self) -> float:
        """Log p(z*, s* | x): pin all rows, part by part."""
        pinned, size, total = 0, 1, 0.0
        sums: RowSums | None = None
        last: _Step | None = None
        up = np.zeros(0)
        while True:
            step = self._next_step(pinned, size)
            free = self._rows(self.order[pinned:])
            before, up_now, down = up, np.empty(self.each), np.empty(self.each)
            for number in range(-_SETTLING, self.each):
                self.sweep += 1
                circuit = _draw_network(self.key, self.sweep, self.model, self.state)
                if number >= 0:
                    rng = self.key.generator(self.sweep, Stream.PINS)
                    if step is not None:
                        up_now[number] = step.log_probability(circuit, rng)
                    if last is not None:
                        down[number] = -last.log_probability(circuit, None)
                address = Address(self.key.words(), self.sweep)
                parts = [] if sums is None else [sums]
                if free.n_rows:
                    parts.append(compiled.row_pass(circuit, free, address))
                self._advance(add_row_sums(parts), circuit.scope)
            if last is not None:
                total += bridge(before, down)
            if step is None:
                return total + self._log_child_orders()
            last, up = step, up_now
            sums = step.sums if sums is None else add_row_sums([sums, step.sums])
            named = pinned < self.n_first
            pinned = self.rows.n_rows - free.n_rows + _n_rows(step)
            if named and pinned >= self.n_first:
                size = max(1, self.rows.n_rows // 200)
            else:
                size = _next_size(size, up)

    def _next_step(self, pinned: int, size: int) -> _Step | None:
        ids = self.order[pinned : pinned + size]
        if not len(ids):
            return None
        if pinned >= self.n_first:
            rows = self._rows(ids)
            return _PlainStep(rows, self.pins.sums(rows))
        ids = np.sort(ids[: self.n_first - pinned])
        each = tuple(self.pins.sums(self._rows(ids[n : n + 1])) for n in range(len(ids)))
        naming = self.naming.copy()
        for edges in self.edges[ids]:
            self.naming.keep(edges)
        return _NamingStep(self._rows(ids), each, self.edges[ids], naming, add_row_sums(each))

    def take_rows_away(self) -> float:
        """Log p(x, z*, s*) but for base measures: from all rows, pinned, to none."""
        left = self.rows.n_rows
        size, total = max(1, left // 4), 0.0
        sums = self.pins.sums(self.rows)
        last: RowSums | None = None
        up = np.zeros(0)
        draws = _PINNED_SWEEPS * self.each
        while True:
            size = min(size, left)
            fewer = None
            if size:
                gone = self._rows(self.order[left - size : left])
                fewer = subtract_row_sums(sums, self.pins.sums(gone))
            before, up_now, down = up, np.empty(draws), np.empty(draws)
            for number in range(-_SETTLING, draws):
                self.sweep += 1
                self._advance(sums, self.state.scope)
                if number >= 0:
                    now = self._log_joint(sums)
                    if fewer is not None:
                        up_now[number] = self._log_joint(fewer) - now
                    if last is not None:
                        down[number] = self._log_joint(last) - now
            if last is not None:
                total -= bridge(before, down)
            if fewer is None:
                return total
            last, sums, up = sums, fewer, up_now
            left -= size
            size = min(_next_size(size, up), max(1, left // 2))

    def _advance(self, sums: RowSums, scope: Scope) -> None:
        """Draw y and the hyper-parameters given trees of all rows."""
        key, sweep, hyper = self.key, self.sweep, self.state.hyper
        state = place_columns(key, sweep, self.rows.dictionary, hyper, scope, sums)
        hyper = draw_hyper_parameters(key, sweep, self.model, state)
        self.state = state._replace(hyper=hyper)

    def _log_joint(self, sums: RowSums) -> float:
        """Log density of pinned rows given y and hyper-parameters; w, θ and ω integrated out."""
        hyper = self.state.hyper
        evidence = region_evidence(self.rows.dictionary, hyper, sums)
        leaf_regions = self.state.scope.leaf_regions.astype(np.int64)
        leaves = np.take_along_axis(evidence, leaf_regions, axis=1).sum()
        return float(leaves) + log_weight_evidence(hyper.alpha, sums.edge_counts)

    def _rows(self, ids: IntArray) -> EncodedRows:
        wanted = np.zeros(self.rows.n_rows, dtype=bool)
        wanted[ids] = True
        return self.rows.take(wanted)

    def _log_child_orders(self) -> float:
        """Minus the log number of ways to order the children of partitions that z* tells apart.

        A chain keeps to one of them where every child has a few columns: all would have to change
        places at once.
        """
        graph, total = self.model.graph, 0.0
        members = self.pins.circuit.scope.partition_counts()
        for level, different in enumerate(_told_apart(graph, self.edges)):
            settled = (members[level] >= _SETTLED).all(axis=1)
            total -= float((different & settled).sum() * gammaln(graph.children + 1))
        return total


def _n_rows(step: _Step) -> int:
    return int(step.sums.edge_counts[0].sum())


def _next_size(size: int, up: Array) -> int:
    return max(1, round(size * float(np.clip(_STEP / max(up.std(), 1e-3), 0.4, 2.0))))


def _visits(graph: RegionGraph, edges: IntArray) -> list[list[tuple[IntArray, IntArray]]]:
    """(region, node) arrays of all visited places, per level below the root."""
    zero = np.zeros(len(edges), dtype=np.int64)
    visited, levels, v = [(zero, zero)], [], 0
    for level in range(graph.levels):
        below: list[tuple[IntArray, IntArray]] = []
        for region, _ in visited:
            below += children_of(graph, level, region, edges[:, v])
            v += 1
        visited = below
        levels.append(below)
    return levels


def _first_visits(graph: RegionGraph, edges: IntArray) -> IntArray:
    """Rows (of edges) that are the first to visit a node."""
    first = [
        np.unique(region * graph.nodes[level + 1] + node, return_index=True)[1]
        for level, places in enumerate(_visits(graph, edges))
        for region, node in places
    ]
    return np.unique(np.concatenate(first))


def _told_apart(graph: RegionGraph, edges: IntArray) -> list[NDArray[np.bool_]]:
    """Whether trees tell the children of a partition apart; shape (partitions,) per level.

    They do not if what trees do in one child follows from what they do in the other, and the other
    way round: then other names undo a change of places.
    """
    result = []
    first = 0
    for level, below in enumerate(_visits(graph, edges)):
        first += graph.children**level  # of the edges below this level
        different = np.zeros(graph.regions[level] * graph.branching[level], dtype=bool)
        deeper = level + 1 < graph.levels
        for place in range(0, len(below), graph.children):
            partition = below[place][0] // graph.children
            done = []
            for c in range(place, place + graph.children):
                edge = edges[:, first + c] if deeper else 0
                done.append(below[c][1] * (edges.max() + 1) + edge)
            for other in done[1:]:
                pairs = np.unique(np.stack([partition, done[0], other]), axis=1)
                times = [
                    np.bincount(np.unique(part, axis=1)[0], minlength=len(different))
                    for part in (pairs, pairs[:2], pairs[::2])
                ]
                different |= (times[0] > times[1]) | (times[0] > times[2])
        result.append(different)
    return result
