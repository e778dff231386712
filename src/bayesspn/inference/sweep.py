"""One Gibbs sweep: w, θ, then z and s row by row, then y, then the hyper-parameters.

An infinite mixture also draws the shares of components before, and after the rows a few moves that
found, split and merge components.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bayesspn.engine.row_sums import Address, RowSums
from bayesspn.engine.shards import Shards
from bayesspn.inference.circuits import draw_active_components, draw_parameters
from bayesspn.inference.concentrations import draw_alpha, draw_beta, draw_mixing
from bayesspn.inference.infinite.collapsed_gibbs import resample_rows
from bayesspn.inference.infinite.components import (
    blocks_of,
    component_edges,
    component_sizes,
    take_from_scope,
    take_from_sums,
)
from bayesspn.inference.infinite.split_merge import split_merge_blocks
from bayesspn.inference.infinite.stick_breaking import draw_concentration
from bayesspn.inference.leaf_priors import draw_leaf_priors
from bayesspn.inference.scopes import draw_scopes, region_log_marginals
from bayesspn.inference.state import State, statistics_in_scope
from bayesspn.model.circuit import Circuit
from bayesspn.model.generative import Hyper, Model
from bayesspn.numerics.interrupts import raise_interrupt
from bayesspn.numerics.random_numbers import Key, Stream
from bayesspn.rows.codebook import Codebook
from bayesspn.scopes import Scope


class SweepInfo(NamedTuple):
    """What a person wants to see of a sweep.

    Attributes
    ----------
    log_likelihood : float
        Mean over rows of log p(x_n | w, θ, y), with the parameters that the sweep began with.
    scope_changes : int
        (column, path) pairs whose leaf region changed.
    """

    log_likelihood: float
    scope_changes: int


def draw_hyper_parameters(
    key: Key, sweep: int, model: Model, state: State, power: float = 1.0
) -> Hyper:
    """Draw α, β, mixing, φ and the concentration given scope, counts and statistics."""
    hyper = state.hyper
    stream = key.stream(sweep, Stream.CONCENTRATIONS)
    alpha = draw_alpha(stream, model, hyper.alpha, component_edges(model, state.edge_counts))
    beta = draw_beta(stream, model, hyper.beta, state.scope)
    mixing = draw_mixing(stream, model, hyper.mixing, state.statistics)
    concentration = hyper.concentration
    if model.infinite:
        sizes = component_sizes(model, state.edge_counts)
        concentration = draw_concentration(stream, model, concentration, sizes)
    stream = key.stream(sweep, Stream.LEAF_PRIORS)
    phi = draw_leaf_priors(stream, model, hyper.phi, state.statistics, power)
    return Hyper(alpha, beta, mixing, phi, concentration)


def draw_sweep(
    key: Key, sweep: int, model: Model, shards: Shards, state: State
) -> tuple[State, SweepInfo]:
    """Advance a chain by one sweep.

    Parameters
    ----------
    key : Key
        The chain's random numbers.
    sweep : int
        Number of the sweep; the same number gives the same randomness.
    model : Model
    shards : Shards
        The rows.
    state : State
    """
    raise_interrupt()
    active = draw_active_components(key, sweep, model, state)
    circuit = draw_parameters(key, sweep, model, active)
    if active.complete:
        return draw_rest(key, sweep, model, shards, state.hyper, circuit)
    sums = shards.row_pass(circuit, Address(key.words(), sweep))
    state = split_merge_blocks(key.generator(sweep, Stream.EXCHANGES), model, state)
    state = state._replace(hyper=draw_hyper_parameters(key, sweep, model, state))
    return state, SweepInfo(sums.log_likelihood / shards.n_rows, 0)


def draw_rest(
    key: Key, sweep: int, model: Model, shards: Shards, hyper: Hyper, circuit: Circuit
) -> tuple[State, SweepInfo]:
    """The part of a sweep that follows once parameters are drawn: z and s, y, hyper-parameters.

    If the densities of the circuit's leaves are raised to a power, so are those of all steps.
    """
    raise_interrupt()
    power = circuit.densities.power
    sums = shards.row_pass(circuit, Address(key.words(), sweep))
    log_likelihood = sums.log_likelihood / shards.n_rows
    before = circuit.scope
    if model.infinite:
        before, sums = resample_rows(key, sweep, model, shards, hyper, circuit, sums)
        blocks = blocks_of(model, np.flatnonzero(component_sizes(model, sums.edge_counts)))
        sums = take_from_sums(before, sums, blocks)
        before = take_from_scope(model, before, blocks)
    state = place_columns(key, sweep, shards.codebook, hyper, before, sums, power)
    changes = int((state.scope.leaf_regions != before.leaf_regions).sum())
    if model.infinite:
        state = split_merge_blocks(key.generator(sweep, Stream.EXCHANGES), model, state)
    state = state._replace(hyper=draw_hyper_parameters(key, sweep, model, state, power))
    return state, SweepInfo(log_likelihood, changes)


def place_columns(
    key: Key,
    sweep: int,
    codebook: Codebook,
    hyper: Hyper,
    scope: Scope,
    sums: RowSums,
    power: float = 1.0,
) -> State:
    """Draw y given what z and s of the rows add up to."""
    log_marginals = region_log_marginals(codebook, hyper, sums, power)
    stream = key.stream(sweep, Stream.SCOPES)
    scope = draw_scopes(stream, scope, log_marginals, float(hyper.beta[0]))
    statistics = statistics_in_scope(codebook, scope, sums.statistics)
    return State(scope, hyper, sums.edge_counts, statistics)
