"""Exchanges between replicas alone: with Gibbs moves switched off, they must carry the chain."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta as beta_distribution
from support import binary_leaves

from bayesspn.engine.shards import LocalShards
from bayesspn.graphs import RegionGraph
from bayesspn.inference.evidence.checks import parallel_tempering
from bayesspn.inference.evidence.checks.parallel_tempering import Configuration, Ladder, climb
from bayesspn.inference.state import State
from bayesspn.inference.sweep import SweepInfo
from bayesspn.model.generative import Model
from bayesspn.numerics.random_numbers import Key
from bayesspn.rows.encoded import encode_rows

HEADS, TAILS = 6, 2


class Held(State):
    """A state that is a configuration: what a replica was left with stays as it is."""

    configuration: Configuration


def hold_configurations(monkeypatch) -> None:
    """Let replicas above the prior keep their networks from sweep to sweep."""
    original = parallel_tempering._draw_configuration

    def draw(ladder, replica, sweep):
        state = ladder.states[replica]
        if ladder.powers[replica] == 0.0 or not isinstance(state, Held):
            return original(ladder, replica, sweep)
        return state.configuration

    def rest(key, sweep, model, shards, hyper, circuit):
        held = Held(circuit.scope, hyper, (), ())
        held.configuration = Configuration(hyper, circuit)
        return held, SweepInfo(0.0, 0)

    monkeypatch.setattr(parallel_tempering, "_draw_configuration", draw)
    monkeypatch.setattr(parallel_tempering, "draw_rest", rest)


@pytest.mark.parametrize("powers", [(0.0, 1.0), (0.0, 0.4, 1.0)])
def test_exchanges_alone_sample_the_posterior(monkeypatch, powers):
    """A coin: the prior's replica proposes, and what is accepted must follow Beta(½+6, ½+2)."""
    hold_configurations(monkeypatch)
    X = np.array([[1.0]] * HEADS + [[0.0]] * TAILS)
    model = Model(RegionGraph(0, leaves=1), binary_leaves(1), alpha=1.0, learn_leaf_priors=False)
    shards = LocalShards(encode_rows(model.leaves, X))
    start = parallel_tempering.start_ladder(Key(0), model, shards, 2)
    ladder = Ladder(model, Key(0), np.array(powers), (start.states[0],) * len(powers))
    _, _, top = climb(ladder, shards, 4_000)
    chance = np.array(
        [np.exp(state.configuration.circuit.densities.eta[0][0, 0, 0, 1]) for state, _ in top]
    )[100:]
    exact = beta_distribution(0.5 + HEADS, 0.5 + TAILS)
    for function, expected in (
        (chance, exact.mean()),
        (chance**2, exact.moment(2)),
        (chance < 0.5, exact.cdf(0.5)),
    ):
        batches = function[: len(function) // 30 * 30].reshape(30, -1).mean(axis=1)
        error = batches.std(ddof=1) / np.sqrt(30)
        assert error < 0.05
        assert abs(batches.mean() - expected) < 4.5 * error
