"""All networks of a posterior side by side, for questions that go through every one of them.

The draws of a posterior share one graph, up to the number of components at its root, so their
scopes, weights and leaves stack into arrays with an axis of draws. Leaves of all draws form one
`LeafDensities` whose paths are (draw, path) pairs.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from bayesspn.arrays import Array
from bayesspn.graphs import RegionGraph
from bayesspn.leaves.columns import Leaves
from bayesspn.leaves.densities import (
    DrawnLeaves,
    LeafDensities,
    PredictiveLeaves,
    draw_cells,
    log_density,
    log_mass,
    moments,
)
from bayesspn.model.circuit import Circuit, pad_circuit
from bayesspn.numerics.threads import map_in_threads
from bayesspn.prediction.value_sets import ValueSet

#: Bytes of tables that are remembered.
_MOST_BYTES = 1 << 30

#: Sets of values whose probabilities are remembered.
_MOST_SETS = 64

#: Sums of tabulated probabilities below this are not trusted: single ones may have vanished.
_SMALLEST = 1e-290


@dataclass(frozen=True, eq=False)
class StackedCircuits:
    """The networks of several draws.

    Attributes
    ----------
    graph : RegionGraph
    leaf_regions : ndarray of shape (draws, columns, paths)
        Leaf region of every column and path.
    log_weights : tuple of ndarray of shape (draws, regions, sums, partitions × products)
        Log sum weights, one array per level.
    densities : LeafDensities
        Leaves of all draws; its paths are (draw, path) pairs.
    """

    graph: RegionGraph
    leaf_regions: NDArray[np.int32]
    log_weights: tuple[Array, ...]
    densities: LeafDensities
    _tables: OrderedDict[tuple[object, ...], Array] = field(default_factory=OrderedDict, repr=False)
    _set_masses: OrderedDict[tuple[object, ...], Array] = field(
        default_factory=OrderedDict, repr=False
    )
    #: Leaves that differ, by column.
    _different: dict[int, tuple[LeafDensities, NDArray[np.int64]]] = field(
        default_factory=dict, repr=False
    )
    #: Cells that columns were divided into, by column, and under which key their table is.
    _divisions: dict[int, list[tuple[Array, Array, tuple[object, ...]]]] = field(
        default_factory=dict, repr=False
    )

    @property
    def n_draws(self) -> int:
        """Number of draws."""
        return len(self.leaf_regions)

    @property
    def leaves(self) -> Leaves:
        """The columns."""
        return self.densities.leaves

    @cached_property
    def weights(self) -> tuple[Array, ...]:
        """Sum weights with the sums last; (draws, regions, partitions × products, sums)."""
        return tuple(np.ascontiguousarray(np.exp(w).swapaxes(-1, -2)) for w in self.log_weights)

    def draw(self, index: int) -> StackedCircuits:
        """The network of one draw alone; it looks at the same arrays."""
        return self.some(slice(index, index + 1))

    def some(self, draws: slice) -> StackedCircuits:
        """The networks of some of the draws, which look at the same arrays."""
        every = (
            np.arange(self.n_draws * self.graph.n_paths).reshape(self.n_draws, -1)[draws].ravel()
        )
        step = draws.step or 1
        paths: slice | NDArray[np.int64] = every if step > 1 else slice(every[0], every[-1] + 1)
        return StackedCircuits(
            self.graph,
            self.leaf_regions[draws],
            tuple(w[draws] for w in self.log_weights),
            self.densities.on_paths(paths),
        )

    def log_density(self, column: int, values: Array) -> Array:
        """Log density of values under every leaf; (values, draws, paths, leaves)."""
        return self._by_draw(log_density(self.densities, column, values))

    def log_mass(self, column: int, values: ValueSet) -> Array:
        """Log probability of a set under every leaf; (draws, paths, leaves)."""
        # the same set comes up again when more becomes known of other columns
        key = (column, values.low.tobytes(), values.high.tobytes())
        total = self._set_masses.pop(key, None)
        if total is None:
            total = np.full((self.n_draws, self.graph.n_paths, self.graph.leaves), -np.inf)
            for low, high in zip(values.low, values.high, strict=True):
                np.logaddexp(total, self._interval_log_mass(column, low, high), out=total)
            total.setflags(write=False)  # it is handed out more than once
        self._set_masses[key] = total
        if len(self._set_masses) > _MOST_SETS:
            self._set_masses.popitem(last=False)
        return total

    def _interval_log_mass(self, column: int, low: float, high: float) -> Array:
        tabulated = self._tabulated_log_mass(column, low, high)
        if tabulated is not None:
            return tabulated
        return self._of_leaves(
            column, lambda leaves, at: log_mass(leaves, at, np.array(low), np.array(high))
        )

    def _tabulated_log_mass(self, column: int, low: float, high: float) -> Array | None:
        """The same for an interval that consists of cells with tabulated probabilities."""
        for lows, highs, key in self._divisions.get(column, ()):
            first, last = np.searchsorted(lows, low), np.searchsorted(highs, high)
            if key not in self._tables or last >= len(highs) or first > last:
                continue
            if lows[first] == low and highs[last] == high:
                mass = self._tables[key][first : last + 1].sum(axis=0)
                vanished = mass <= _SMALLEST
                logs = np.log(np.where(vanished, 1.0, mass))
                if vanished.any():
                    path, leaf = np.divmod(np.flatnonzero(vanished), self.graph.leaves)
                    some = self.densities.select(column, path, leaf)
                    logs[vanished] = log_mass(some, 0, np.array(low), np.array(high))[:, 0]
                return logs
        return None

    def masses(self, column: int, low: Array, high: Array) -> Array:
        """Probability of intervals under every leaf; (intervals, draws, paths, leaves)."""

        def tabulate() -> Array:
            shape = (len(low), self.n_draws, self.graph.n_paths, self.graph.leaves)
            masses = np.empty(shape)

            def fill(interval: int) -> None:
                ends = np.array(low[interval]), np.array(high[interval])
                masses[interval] = self._of_leaves(
                    column, lambda leaves, at: np.exp(log_mass(leaves, at, *ends))
                )

            self._distinct(column)  # once, not in every thread
            for _ in map_in_threads(fill, range(len(low))):
                pass
            return masses

        key = (column, low.tobytes(), high.tobytes())
        if key not in self._tables and _is_division(
            low, high, self.leaves.columns[column].discrete
        ):
            kept = [one for one in self._divisions.get(column, ()) if one[2] in self._tables]
            self._divisions[column] = [*kept, (low, high, key)]
        return self.remember(key, tabulate)

    def moments(self, column: int, values: ValueSet) -> Array:
        """E[x^k; x in the set] of every leaf for k = 0, 1, 2; (3, draws, paths, leaves).

        What is recorded as the smallest or the largest value possible counts as that.
        """
        grid = self.leaves.columns[column].grid

        def tabulate() -> Array:
            total = np.zeros((3, self.n_draws, self.graph.n_paths, self.graph.leaves))
            first, last = grid.ends
            inside = values.intersect(ValueSet.of([(first, last)] if first < last else []))
            for low, high in zip(inside.low, inside.high, strict=True):
                ask = partial(moments, low=np.array(low), high=np.array(high))
                total += self._of_leaves(column, ask)
            for bound, beyond in ((grid.low, (-np.inf, first)), (grid.high, (last, np.inf))):
                outside = values.intersect(ValueSet.of([beyond] if beyond[0] < beyond[1] else []))
                if np.isfinite(bound) and not outside.empty:
                    mass = np.exp(self.log_mass(column, outside))
                    total += mass * bound ** np.arange(3.0)[:, None, None, None]
            return total

        key = (column, "moments", values.low.tobytes(), values.high.tobytes())
        return self.remember(key, tabulate)

    def remember(self, key: tuple[object, ...], tabulate: Callable[[], Array]) -> Array:
        """A table that was made before, or is made now; those not used for longest go first."""
        table = self._tables.pop(key, None)
        if table is None:
            table = tabulate()
        self._tables[key] = table
        while len(self._tables) > 1 and sum(t.nbytes for t in self._tables.values()) > _MOST_BYTES:
            self._tables.popitem(last=False)
        return table

    def draw_values(
        self,
        rng: np.random.Generator,
        column: int,
        path: NDArray[np.int64],
        leaf: NDArray[np.int64],
    ) -> Array:
        """Draw one value of a column for each leaf, on (draw, path) pairs; shape of ``path``."""
        return draw_cells(rng, self.densities, column, path, leaf)

    def _of_leaves(self, column: int, ask: Callable[[LeafDensities, int], Array]) -> Array:
        """Something of a column's leaves, asked of those that differ; (…, draws, paths, leaves).

        Leaves that no row of a draw has visited are all alike: a half of them, as a rule.
        """
        distinct = self._distinct(column)
        if distinct is None:
            return self._by_draw(ask(self.densities, column))
        leaves, which = distinct
        values = ask(leaves, 0)[..., 0][..., which]
        return self._by_draw(values.reshape(*values.shape[:-1], -1, self.graph.leaves))

    def _distinct(self, column: int) -> tuple[LeafDensities, NDArray[np.int64]] | None:
        """A column's leaves that differ, and which of them each is; None if all may differ."""
        if not isinstance(self.densities, PredictiveLeaves):
            return None
        if column not in self._different:
            described, leaves = self.densities, self.leaves
            parts = [described.hyper[g][position] for g, position in leaves.places[column]]
            if len(parts) > 1:
                member = int(np.searchsorted(leaves.mixed, column))
                parts.append(np.moveaxis(described.log_mixing[member], 0, -1))
            rows = np.concatenate(parts, axis=-1)
            rows = np.ascontiguousarray(rows.reshape(-1, rows.shape[-1]))
            # compared byte by byte, which is quicker than number by number
            whole = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1])))[:, 0]
            _, first, which = np.unique(whole, return_index=True, return_inverse=True)
            path, leaf = np.divmod(first, self.graph.leaves)
            self._different[column] = (described.select(column, path, leaf), which)
        return self._different[column]

    def _by_draw(self, values: Array) -> Array:
        """Split the axis of (draw, path) pairs, the last but one."""
        *before, _, leaves = values.shape
        return values.reshape(*before, self.n_draws, self.graph.n_paths, leaves)


def _is_division(low: Array, high: Array, discrete: bool) -> bool:
    """Whether intervals follow each other without gaps; whole numbers, one after another."""
    return bool((low[1:] == high[:-1] + (1.0 if discrete else 0.0)).all())


def stack_circuits(circuits: Iterable[Circuit]) -> StackedCircuits:
    """Put circuits side by side; those with fewer partitions at the root get unused ones."""
    circuits = tuple(circuits)
    most = max(circuit.graph.branching[0] for circuit in circuits)
    circuits = tuple(pad_circuit(circuit, most) for circuit in circuits)
    graph = circuits[0].graph
    levels = zip(*(circuit.log_weights for circuit in circuits), strict=True)
    return StackedCircuits(
        graph,
        np.stack([circuit.scope.leaf_regions for circuit in circuits]),
        tuple(np.stack([w.reshape(*w.shape[:2], -1) for w in level]) for level in levels),
        _join([circuit.densities for circuit in circuits]),
    )


def _join(parts: Sequence[LeafDensities]) -> LeafDensities:
    """Leaves of several circuits, their paths one after the other."""
    leaves = parts[0].leaves
    log_mixing = np.concatenate([part.log_mixing for part in parts], axis=2)
    if isinstance(parts[0], PredictiveLeaves):
        hyper = _join_groups([part.hyper for part in parts if isinstance(part, PredictiveLeaves)])
        return PredictiveLeaves(leaves, hyper, log_mixing)
    drawn = [part for part in parts if isinstance(part, DrawnLeaves)]
    return DrawnLeaves(
        leaves,
        _join_groups([part.eta for part in drawn]),
        _join_groups([part.log_partition for part in drawn]),
        log_mixing,
    )


def _join_groups(parts: Sequence[tuple[Array, ...]]) -> tuple[Array, ...]:
    return tuple(np.concatenate(group, axis=1) for group in zip(*parts, strict=True))
