"""Collapsed Gibbs of single rows: the component of a row given all others, new ones included.

All parameters are integrated out.

Nothing is known of a new component, so that a row's density under it is the product of its cells'
prior predictive densities, whatever the scope. Components that are drawn before any row has seen
them, as the row pass offers them, rarely suit a row; one that a row founds is made for it.
"""

from __future__ import annotations

import numpy as np

from bayesspn.engine import compiled, oracle
from bayesspn.engine.row_sums import Address, RowSums, add_row_sums, subtract_row_sums
from bayesspn.engine.shards import Shards
from bayesspn.inference.circuits import predictive_of_shares
from bayesspn.inference.infinite.components import add_to_scope, add_to_sums, component_sizes
from bayesspn.inference.infinite.stick_breaking import draw_log_shares, smallest_share
from bayesspn.inference.state import State, statistics_in_scope
from bayesspn.model.circuit import Circuit
from bayesspn.model.generative import Hyper, Model
from bayesspn.numerics.random_numbers import Key, Stream
from bayesspn.rows.encoded import EncodedRows, encode_shard
from bayesspn.scopes import Scope, draw_prior_scope

#: Rows that are moved in a sweep.
_ROWS = 2


def resample_rows(
    key: Key,
    sweep: int,
    model: Model,
    shards: Shards,
    hyper: Hyper,
    circuit: Circuit,
    sums: RowSums,
) -> tuple[Scope, RowSums]:
    """Draw the component, tree and likelihood families of a few random rows given all others.

    Parameters
    ----------
    key : Key
    sweep : int
    model : Model
        An infinite one.
    shards : Shards
    hyper : Hyper
    circuit : Circuit
        What the sweep's row pass, at the chain's own address, was over.
    sums : RowSums
        What it found.

    Returns
    -------
    Scope, RowSums
        With at least one component that has no rows.

    Notes
    -----
    A sweep gets here only if every component with rows is above the slice, an event that depends on
    the shares and on how many rows components have. Rows are moved within that event: the shares
    are drawn again given the new numbers of rows, and everything is undone if a component is below
    the slice then. Two rows in random order are a reversible move, and so is this one.
    """
    moved = _move_rows(key, sweep, model, shards, hyper, circuit, sums)
    sizes = component_sizes(model, moved[1].edge_counts)
    rng = key.generator(sweep, Stream.SHARES)
    *used, _ = draw_log_shares(rng, sizes[sizes > 0], float(hyper.concentration[0]))
    if min(used) > np.log(smallest_share(shards.n_rows)):
        return moved
    return circuit.scope, sums


def _move_rows(
    key: Key,
    sweep: int,
    model: Model,
    shards: Shards,
    hyper: Hyper,
    circuit: Circuit,
    sums: RowSums,
) -> tuple[Scope, RowSums]:
    """The rows one after the other, each with probabilities given all others."""
    rng = key.generator(sweep, Stream.ROWS)
    row_ids = shards.draw_ids(rng, _ROWS)
    values = shards.values(row_ids)
    scope, total = circuit.scope, sums.fixed_log_likelihood
    for number, row in zip(row_ids, values, strict=True):
        rows = encode_shard(shards.codebook, row[None], np.array([number]))
        # drawing a row again at the same address shows what the row pass drew for it
        own = compiled.row_pass(circuit, rows, Address(key.words(), sweep))
        more = (scope.graph.branching[0] - circuit.graph.branching[0]) // model.graph.branching[0]
        if more:
            own = add_to_sums(model, own, more)
        rest = subtract_row_sums(sums, own)
        if component_sizes(model, rest.edge_counts).all():
            founded = draw_prior_scope(rng, model.graph, model.n_columns, float(hyper.beta[0]))
            scope, rest = add_to_scope(model, scope, founded.y), add_to_sums(model, rest, 1)
        address = Address(key.words(Stream.ROWS), sweep)
        drawn = _draw_row(model, hyper, scope, rest, rows, address)
        sums = add_row_sums([rest, drawn])._replace(fixed_log_likelihood=total)
    return scope, sums


def _draw_row(
    model: Model, hyper: Hyper, scope: Scope, rest: RowSums, rows: EncodedRows, address: Address
) -> RowSums:
    """Draw where a row goes given what all others add up to."""
    sizes = component_sizes(model, rest.edge_counts)
    prior = np.zeros(len(sizes))
    # components without rows are all alike: one stands for all that there are
    prior[np.flatnonzero(sizes == 0)[0]] = hyper.concentration[0]
    with np.errstate(divide="ignore"):
        log_shares = np.log(sizes + prior) - np.log(sizes.sum() + hyper.concentration[0])
    codebook = rows.codebook
    inside = statistics_in_scope(codebook, scope, rest.statistics)
    state = State(scope, hyper, rest.edge_counts, inside)
    circuit = predictive_of_shares(model, state, log_shares)
    return oracle.row_pass(circuit, rows, address)
