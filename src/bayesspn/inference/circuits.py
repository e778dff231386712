"""The networks of a state: one with drawn parameters, and one with parameters integrated out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bayesspn.arrays import Array
from bayesspn.inference.infinite.components import (
    add_components,
    blocks_of,
    component_edges,
    component_sizes,
    join_weights,
    take_from_scope,
)
from bayesspn.inference.infinite.stick_breaking import (
    break_stick,
    draw_log_shares,
    mean_log_shares,
    smallest_share,
)
from bayesspn.inference.leaf_parameters import draw_leaf_parameters, predictive_leaves
from bayesspn.inference.state import State
from bayesspn.inference.weights import draw_weights, mean_log_weights
from bayesspn.model.circuit import Circuit
from bayesspn.model.generative import Model
from bayesspn.numerics.random_numbers import Key, Stream
from bayesspn.scopes import draw_prior_scope


class ActiveComponents(NamedTuple):
    """Components that rows may be sent to.

    Attributes
    ----------
    state : State
        With components without rows appended.
    log_shares : ndarray of shape (components,)
        Log shares, normalised over the active components.
    complete : bool
        Whether every component with rows is above the slice; if not, rows must stay where they are.
    """

    state: State
    log_shares: Array
    complete: bool


def draw_active_components(key: Key, sweep: int, model: Model, state: State) -> ActiveComponents:
    """Draw the shares of components, and components without rows that are above the slice.

    A finite model has one component, which has everything.
    """
    if not model.infinite:
        return ActiveComponents(state, np.zeros(1), True)
    rng = key.generator(sweep, Stream.COMPONENTS)
    sizes = component_sizes(model, state.edge_counts)
    smallest = smallest_share(int(sizes.sum()))
    concentration = float(state.hyper.concentration[0])
    *used, rest = draw_log_shares(rng, sizes, concentration)
    more = break_stick(rng, float(rest), concentration, smallest)
    log_shares = np.concatenate([used, more])
    if len(more):
        graph = model.joined_graph(len(more))
        beta = float(state.hyper.beta[0])
        state = add_components(model, state, draw_prior_scope(rng, graph, model.n_columns, beta).y)
    complete = bool(min(used) > np.log(smallest))
    return ActiveComponents(state, log_shares - np.logaddexp.reduce(log_shares), complete)


def draw_parameters(
    key: Key, sweep: int, model: Model, active: ActiveComponents, power: float = 1.0
) -> Circuit:
    """Draw w, θ and ω of the active components; densities of cells are raised to a power."""
    state = active.state
    log_weights = draw_weights(
        key.stream(sweep, Stream.WEIGHTS),
        state.hyper.alpha,
        component_edges(model, state.edge_counts),
    )
    stream = key.stream(sweep, Stream.LEAVES)
    densities = draw_leaf_parameters(stream, model.leaves, state, power)
    return Circuit(state.scope, join_weights(log_weights, active.log_shares), densities)


def draw_circuit(key: Key, sweep: int, model: Model, state: State, power: float = 1.0) -> Circuit:
    """Draw a network from the posterior given the state.

    Components of an infinite mixture that are below the slice, a hundredth of a row's worth, are
    left out. Densities of cells are raised to a power.
    """
    active = draw_active_components(key, sweep, model, state)
    return draw_parameters(key, sweep, model, active, power)


def predictive_circuit(model: Model, state: State) -> Circuit:
    """Circuit of one draw's posterior predictive: shares, w, θ, ω (and v) integrated out.

    All components that an infinite mixture does not use are one: a row's density under it does not
    depend on its scope, so that it may have any.
    """
    log_shares = np.zeros(1)
    if model.infinite:
        sizes = component_sizes(model, state.edge_counts)
        log_shares = mean_log_shares(sizes, float(state.hyper.concentration[0]))
        first = take_from_scope(model, state.scope, blocks_of(model, np.zeros(1, dtype=np.int64)))
        state = add_components(model, state, first.y)
    return predictive_of_shares(model, state, log_shares)


def predictive_of_shares(model: Model, state: State, log_shares: Array) -> Circuit:
    """Network with given shares of components, w, θ and ω integrated out."""
    edges = component_edges(model, state.edge_counts)
    return Circuit(
        state.scope,
        join_weights(mean_log_weights(state.hyper.alpha, edges), log_shares),
        predictive_leaves(model.leaves, state),
    )
