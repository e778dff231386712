"""Forward simulation of the generative model: a network from the prior, and rows from a network."""

from __future__ import annotations

import numpy as np

from bayesspn.arrays import Array
from bayesspn.engine.completion import complete_rows
from bayesspn.engine.row_sums import Address
from bayesspn.inference.infinite.components import component_edges, join_weights
from bayesspn.inference.infinite.stick_breaking import break_stick
from bayesspn.inference.leaf_parameters import draw_leaf_parameters
from bayesspn.inference.state import State
from bayesspn.inference.weights import draw_weights
from bayesspn.model.circuit import Circuit
from bayesspn.model.generative import Hyper, Model
from bayesspn.numerics.random_numbers import Key
from bayesspn.scopes import draw_prior_scope

#: Components of an infinite mixture with smaller shares than this are left out.
_SMALLEST_SHARE = 1e-9


def prior_state(rng: np.random.Generator, model: Model, hyper: Hyper, components: int = 1) -> State:
    """Draw the scopes of components from their prior; a state that has seen no rows."""
    graph, leaves = model.joined_graph(components), model.leaves
    statistics = tuple(
        np.zeros(
            (len(group), graph.n_paths, graph.leaves, group.n_slots),
            dtype=np.int32 if group.family.one_hot else np.float64,
        )
        for group in leaves.groups
    )
    return State(
        draw_prior_scope(rng, graph, model.n_columns, float(hyper.beta[0])),
        hyper,
        tuple(np.zeros(shape, dtype=np.int64) for shape in graph.weight_shapes),
        statistics,
    )


def draw_prior_circuit(rng: np.random.Generator, model: Model, hyper: Hyper) -> Circuit:
    """Draw scope, weights and leaf parameters from the prior, given the hyper-parameters."""
    log_shares = np.zeros(1)
    if model.infinite:
        pieces = break_stick(rng, 0.0, float(hyper.concentration[0]), _SMALLEST_SHARE)
        log_shares = pieces - np.logaddexp.reduce(pieces)
    state = prior_state(rng, model, hyper, len(log_shares))
    edges = component_edges(model, state.edge_counts)
    return Circuit(
        state.scope,
        join_weights(draw_weights(rng, hyper.alpha, edges), log_shares),
        draw_leaf_parameters(rng, model.leaves, state),
    )


def draw_rows(rng: np.random.Generator, circuit: Circuit, n: int) -> Array:
    """Draw rows from a network; shape (n, columns)."""
    nothing = np.full((n, len(circuit.densities.leaves.columns)), np.nan)
    address = Address(Key(int(rng.integers(2**63))).words(), 0)
    return complete_rows(rng, circuit, nothing, address).rows
