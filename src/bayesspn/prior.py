"""Forward simulation of the generative model: a network from the prior, and rows from a network."""

from __future__ import annotations

import numpy as np

from bayesspn.engine.circuit import Address, Circuit
from bayesspn.engine.completion import complete_rows
from bayesspn.leaves.family import Array
from bayesspn.model import Hyper, Model
from bayesspn.randomness import Key
from bayesspn.sampling.leaf_parameters import draw_leaf_parameters
from bayesspn.sampling.state import State
from bayesspn.sampling.weights import draw_weights
from bayesspn.scopes import draw_prior_scope


def prior_state(rng: np.random.Generator, model: Model, hyper: Hyper) -> State:
    """Draw a scope from its prior; a state that has seen no rows."""
    graph, leaves = model.graph, model.leaves
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
    state = prior_state(rng, model, hyper)
    return Circuit(
        state.scope,
        draw_weights(rng, hyper.alpha, state.edge_counts),
        draw_leaf_parameters(rng, model.leaves, state),
    )


def draw_rows(rng: np.random.Generator, circuit: Circuit, n: int) -> Array:
    """Draw rows from a network; shape (n, columns)."""
    nothing = np.full((n, len(circuit.densities.leaves.columns)), np.nan)
    address = Address(Key(int(rng.integers(2**63))).words(), 0)
    completed, _ = complete_rows(rng, circuit, nothing, address)
    return completed
