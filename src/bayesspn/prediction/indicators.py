"""Events as columns of a circuit, so that the compiled engine answers questions about many rows.

Whether a cell lies in a set is a truth value whose probability, under every leaf, is the set's: a
Bernoulli column with the scope of the column that it is about. Rows that have it true are scored
like any others, and what comes out is the joint density of their cells and the event. The same
goes for whatever is linear in a column's distribution, once it is scaled to lie between 0 and 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from bayesspn.arrays import Array, BoolArray
from bayesspn.engine import compiled
from bayesspn.leaves.columns import Column, Leaves
from bayesspn.leaves.densities import DrawnLeaves, LeafDensities, PredictiveLeaves
from bayesspn.leaves.grids import Grid
from bayesspn.model.circuit import Circuit
from bayesspn.prediction.posterior import Posterior
from bayesspn.rows.encoded import encode_rows
from bayesspn.scopes import Scope

#: Probabilities are not smaller: logarithms have to be finite.
_SMALLEST = 1e-290


class Indicator(NamedTuple):
    """A truth value about one column.

    Attributes
    ----------
    table : ndarray of shape (draws, paths, leaves)
        Its probability under every leaf, between 0 and 1.
    rows : ndarray of bool of shape (rows,)
        For which rows it is known to be true; for others nothing is known.
    """

    table: Array
    rows: BoolArray


def score_with(
    posterior: Posterior, X: Array, indicators: Mapping[int, Indicator], seed: int | None
) -> Array:
    """Log density of rows together with truth values about columns, under every draw.

    Parameters
    ----------
    posterior : Posterior
    X : ndarray of shape (rows, columns)
        NaN cells are summed out.
    indicators : dict of int to Indicator
        By column.
    seed : int or None
        As for `Posterior.circuits`.

    Returns
    -------
    ndarray of shape (draws, rows)
        Where an indicator is known, its probability is a factor of the density.
    """
    if not indicators:
        return posterior.score_draws(X, seed)
    columns = list(indicators)
    leaves = _append_columns(posterior.model.leaves, len(columns))
    known = [np.where(indicators[column].rows, 1.0, np.nan) for column in columns]
    rows = encode_rows(leaves, np.column_stack([X, *known]))

    def append(draw: int, circuit: Circuit) -> Circuit:
        # draws with fewer components at the root have fewer paths than the stacked tables
        paths = slice(0, circuit.graph.n_paths)
        tables = np.stack([indicators[column].table[draw, paths] for column in columns])
        return _append_indicators(circuit, leaves, columns, tables)

    circuits = (append(draw, one) for draw, one in enumerate(posterior.circuits(seed)))
    return np.stack(list(compiled.log_likelihoods(circuits, rows)))


def _append_columns(leaves: Leaves, number: int) -> Leaves:
    constants = (np.array([2.0]),)
    new = [
        Column(f"event {k}", ("bernoulli",), 2, Grid(), constants, (0.0, 1.0))
        for k in range(number)
    ]
    return Leaves((*leaves.columns, *new))


def _append_indicators(
    circuit: Circuit, leaves: Leaves, columns: Sequence[int], tables: Array
) -> Circuit:
    """The circuit with columns that go where given ones go; tables (added, paths, leaves)."""
    y = tuple(np.concatenate([level, level[:, columns]], axis=1) for level in circuit.scope.y)
    scope = Scope.trusted(circuit.graph, tuple(map(np.ascontiguousarray, y)))
    inside = np.clip(tables, _SMALLEST, 1.0)
    both = np.stack([np.maximum(1.0 - inside, _SMALLEST), inside], axis=-1)
    densities = _append_leaves(circuit.densities, leaves, both)
    return Circuit(scope, circuit.log_weights, densities)


def _append_leaves(densities: LeafDensities, leaves: Leaves, both: Array) -> LeafDensities:
    """Leaves with Bernoulli columns at the end; probabilities (·, paths, leaves, 2)."""
    if isinstance(densities, PredictiveLeaves):
        # a Dirichlet distribution with these parameters has these means
        hyper = _append_members(densities.leaves, leaves, densities.hyper, both)
        return PredictiveLeaves(leaves, hyper, densities.log_mixing)
    assert isinstance(densities, DrawnLeaves)
    eta = _append_members(densities.leaves, leaves, densities.eta, np.log(both))
    partition = _append_members(
        densities.leaves, leaves, densities.log_partition, np.zeros(both.shape[:-1])
    )
    return DrawnLeaves(leaves, eta, partition, densities.log_mixing, densities.power)


def _append_members(
    old: Leaves, new: Leaves, arrays: tuple[Array, ...], added: Array
) -> tuple[Array, ...]:
    """Arrays of all leaf groups, with the members that were added to the Bernoulli group."""
    by_kind = {
        (group.family.name, group.n_statistics): array
        for group, array in zip(old.groups, arrays, strict=True)
    }
    parts = []
    for group in new.groups:
        kind = (group.family.name, group.n_statistics)
        if kind != ("bernoulli", 2):
            parts.append(by_kind[kind])
        elif kind in by_kind:
            parts.append(np.concatenate([by_kind[kind], added]))
        else:
            parts.append(added)
    return tuple(parts)
