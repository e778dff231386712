"""Moves of infinite mixtures where the exact distribution is a line of algebra."""

from __future__ import annotations

import math

import numpy as np
import pytest
from support import binary_leaves

from bayesspn.engine.shards import LocalShards
from bayesspn.graphs import RegionGraph
from bayesspn.inference.infinite import split_merge, stick_breaking
from bayesspn.inference.infinite.components import component_sizes, count_components
from bayesspn.inference.infinite.split_merge import split_merge_blocks
from bayesspn.inference.prior import prior_state
from bayesspn.inference.state import State
from bayesspn.inference.sweep import draw_sweep
from bayesspn.model.generative import Model, start_hyper
from bayesspn.numerics.random_numbers import Key
from bayesspn.rows.encoded import encode_rows

ALPHA, CONCENTRATION = 0.7, 0.4


def make_model(branching: int) -> Model:
    return Model(
        RegionGraph(1, branching, leaves=1),
        binary_leaves(1),
        alpha=ALPHA,
        beta=1.0,
        learn_leaf_priors=False,
        concentration=CONCENTRATION,
    )


def standard_error(indicator: np.ndarray) -> float:
    """Of the mean of a correlated series, from batches."""
    batches = indicator[: len(indicator) // 40 * 40].reshape(40, -1).mean(axis=1)
    return float(batches.std(ddof=1) / math.sqrt(40))


def log_component(size: int, branching: int) -> float:
    """Prior of a component of some rows, and what its root weights add, edges aside."""
    edges = ALPHA * branching
    rising = math.lgamma(edges + size) - math.lgamma(edges)
    return math.log(CONCENTRATION) + math.lgamma(size) - rising


def test_shares_follow_rows_and_concentration():
    rng = np.random.default_rng(0)
    sizes = np.array([3, 1])
    draws = np.exp([stick_breaking.draw_log_shares(rng, sizes, 0.4) for _ in range(4_000)])
    expected = np.array([3.0, 1.0, 0.4]) / 4.4
    error = draws.std(axis=0) / np.sqrt(len(draws))
    assert (abs(draws.mean(axis=0) - expected) < 4.5 * error).all()


def test_two_blocks_are_together_as_often_as_they_should(monkeypatch):
    """A swap is accepted rarely here, so that how often it is tried in which state matters."""
    monkeypatch.setattr(split_merge, "_TRIALS", 2)
    rows, model = 20, make_model(2)
    rng = np.random.default_rng(0)
    empty = prior_state(rng, model, start_hyper(model))
    counts = tuple(np.full_like(level, rows) for level in empty.edge_counts)
    state = State(empty.scope, empty.hyper, counts, empty.statistics)
    apart = np.empty(12_000)
    for number in range(len(apart)):
        state = split_merge_blocks(rng, model, state)
        apart[number] = count_components(model, state.scope) == 2
    # two places for blocks of one component, four for those of two
    log_together = math.log(2) + log_component(2 * rows, 2)
    log_apart = math.log(4) + 2 * log_component(rows, 2)
    exact = 1 / (1 + math.exp(log_together - log_apart))
    assert 0.002 < exact < 0.3
    assert abs(apart.mean() - exact) < 4 * standard_error(apart)


def test_rows_without_cells_are_seated_as_in_a_chinese_restaurant(monkeypatch):
    """With a wide slice, components are often below it."""
    monkeypatch.setattr(stick_breaking, "_SLICE", 0.5)
    model = make_model(1)
    rows = LocalShards(encode_rows(model.leaves, np.full((2, 1), np.nan)))
    rng = np.random.default_rng(0)
    state = prior_state(rng, model, start_hyper(model))
    state.edge_counts[0][:] = 2
    apart = np.empty(2_500)
    for sweep in range(len(apart)):
        state, _ = draw_sweep(Key(3), sweep, model, rows, state)
        sizes = component_sizes(model, state.edge_counts)
        assert sizes.sum() == 2
        apart[sweep] = len(sizes) == 2
    exact = CONCENTRATION / (1 + CONCENTRATION)
    error = standard_error(apart)
    assert error < 0.03
    assert abs(apart.mean() - exact) < 4 * error


@pytest.mark.long
def test_more_rows_are_seated_as_in_a_chinese_restaurant(monkeypatch):
    monkeypatch.setattr(stick_breaking, "_SLICE", 0.5)
    model = make_model(2)
    n = 5
    rows = LocalShards(encode_rows(model.leaves, np.full((n, 1), np.nan)))
    rng = np.random.default_rng(0)
    state = prior_state(rng, model, start_hyper(model))
    state.edge_counts[0][0, 0, 0, 0] = n
    state.edge_counts[0][0, 0, 1:, :] = 0
    found = np.empty(30_000)
    for sweep in range(len(found)):
        state, _ = draw_sweep(Key(4), sweep, model, rows, state)
        found[sweep] = count_components(model, state.scope)
    expected = sum(CONCENTRATION / (CONCENTRATION + k) for k in range(n))
    assert abs(found.mean() - expected) < 4 * standard_error(found)
