"""One Gibbs sweep: w, θ, then z and s row by row, then y, then the hyper-parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from bayesspn.engine import compiled
from bayesspn.engine.circuit import Address, Circuit, RowSums
from bayesspn.model import Hyper, Model
from bayesspn.randomness import Key, Stream
from bayesspn.rows import EncodedRows
from bayesspn.sampling.concentrations import draw_alpha, draw_beta, draw_mixing
from bayesspn.sampling.leaf_parameters import draw_leaf_parameters
from bayesspn.sampling.leaf_priors import draw_leaf_priors
from bayesspn.sampling.scopes import draw_scopes, region_evidence
from bayesspn.sampling.state import State, statistics_in_scope
from bayesspn.sampling.weights import draw_weights

RowPass = Callable[[Circuit, EncodedRows, Address], RowSums]


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


def draw_circuit(key: Key, sweep: int, model: Model, state: State) -> Circuit:
    """Draw w, θ and ω given the state."""
    log_weights = draw_weights(
        key.generator(sweep, Stream.WEIGHTS), state.hyper.alpha, state.edge_counts
    )
    densities = draw_leaf_parameters(key.generator(sweep, Stream.LEAVES), model.leaves, state)
    return Circuit(state.scope, log_weights, densities)


def draw_hyper_parameters(key: Key, sweep: int, model: Model, state: State) -> Hyper:
    """Draw α, β, mixing and φ given scope, counts and statistics."""
    rng = key.generator(sweep, Stream.CONCENTRATIONS)
    alpha = draw_alpha(rng, model, state.hyper.alpha, state.edge_counts)
    beta = draw_beta(rng, model, state.hyper.beta, state.scope)
    mixing = draw_mixing(rng, model, state.hyper.mixing, state.statistics)
    rng = key.generator(sweep, Stream.LEAF_PRIORS)
    return Hyper(
        alpha, beta, mixing, draw_leaf_priors(rng, model, state.hyper.phi, state.statistics)
    )


def draw_sweep(
    key: Key,
    sweep: int,
    model: Model,
    rows: EncodedRows,
    state: State,
    row_pass: RowPass = compiled.row_pass,
) -> tuple[State, SweepInfo]:
    """Advance a chain by one sweep.

    Parameters
    ----------
    key : Key
        The chain's random numbers.
    sweep : int
        Number of the sweep; the same number gives the same randomness.
    model : Model
    rows : EncodedRows
    state : State
    row_pass : callable, default=the compiled engine
        Draws z and s for all rows and returns what they add up to.
    """
    circuit = draw_circuit(key, sweep, model, state)
    sums = row_pass(circuit, rows, Address(key.words(), sweep))
    evidence = region_evidence(rows.dictionary, state.hyper, sums)
    scope = draw_scopes(
        key.generator(sweep, Stream.SCOPES), state.scope, evidence, float(state.hyper.beta[0])
    )
    changes = int((scope.leaf_regions != state.scope.leaf_regions).sum())
    statistics = statistics_in_scope(rows.dictionary, scope, sums.statistics)
    state = State(scope, state.hyper, sums.edge_counts, statistics)
    state = state._replace(hyper=draw_hyper_parameters(key, sweep, model, state))
    return state, SweepInfo(float(np.mean(sums.log_likelihood)), changes)
