"""ABDA as a rival: our model, its structure held fixed where a chain starts.

The structure is found by pairwise dependence; parameters, likelihood families, rows and
hyper-parameters are sampled: Bayesian inference given a structure, which is what ABDA does. The
library has no such mode, so that the chains are run here.
"""

from __future__ import annotations

import time

from problems import Problem

from bayesspn import Key, Model, Posterior, encode_rows
from bayesspn.engine.row_sums import Address
from bayesspn.engine.shards import LocalShards, Shards
from bayesspn.inference.circuits import draw_circuit
from bayesspn.inference.starts.choices import start_state
from bayesspn.inference.state import State, statistics_in_scope
from bayesspn.inference.sweep import draw_hyper_parameters
from bayesspn.selection.building import Priors, build_model
from bayesspn.selection.defaults import choose_graph

#: As many chains and draws as a fit of the library usually has.
CHAINS = 8
DRAWS = 12


def fit_fixed(problem: Problem, seconds: float, seed: int) -> Posterior:
    """Run chains one after the other on the training rows, each for its share of the seconds."""
    begin = time.perf_counter()
    training = problem.training
    model = build_model(choose_graph(*training.shape), Priors(), problem.schema, training)
    shards = LocalShards(encode_rows(model.leaves, training))
    each = (seconds - (time.perf_counter() - begin)) / CHAINS
    draws = [run_fixed_chain(Key(seed, n), model, shards, each) for n in range(CHAINS)]
    return Posterior(model, tuple(draws))


def run_fixed_chain(key: Key, model: Model, shards: Shards, seconds: float) -> tuple[State, ...]:
    """Sweep for so many seconds, at least once; draws are of the later half of the sweeps."""
    begin = time.perf_counter()
    state = start_state(key, model, shards)
    kept: list[tuple[int, State]] = []
    every, sweep = 1, 0
    while not sweep or time.perf_counter() - begin < seconds:
        sweep += 1
        state = draw_fixed_sweep(key, sweep, model, shards, state)
        if sweep % every == 0:
            kept.append((sweep, state))
        if len(kept) > 4 * DRAWS:
            every *= 2
            kept = [(n, old) for n, old in kept if n % every == 0 and 2 * n > sweep]
    return thin_later_half(kept, sweep)


def thin_later_half(kept: list[tuple[int, State]], sweeps: int) -> tuple[State, ...]:
    """Evenly spaced states of the later half of the sweeps, the last one included."""
    later = [state for sweep, state in kept if 2 * sweep > sweeps]
    step = -(-len(later) // DRAWS)
    return tuple(later[::-1][::step][::-1])


def draw_fixed_sweep(key: Key, sweep: int, model: Model, shards: Shards, state: State) -> State:
    """A sweep that leaves the structure alone: parameters, rows, hyper-parameters."""
    circuit = draw_circuit(key, sweep, model, state)
    sums = shards.row_pass(circuit, Address(key.words(), sweep))
    statistics = statistics_in_scope(shards.codebook, state.scope, sums.statistics)
    state = State(state.scope, state.hyper, sums.edge_counts, statistics)
    return state._replace(hyper=draw_hyper_parameters(key, sweep, model, state))
