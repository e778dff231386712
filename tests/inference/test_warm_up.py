"""Starts compete, samples of the rows grow, and chains that no longer climb are noticed."""

import numpy as np
import pytest
from support import mixed_leaves, mixed_table

from bayesspn import Key, Model, RegionGraph, encode_rows
from bayesspn.engine.shards import LocalShards, choose_rows
from bayesspn.inference import warm_up as warming
from bayesspn.inference.climbing import still_climbing
from bayesspn.inference.sweep import SweepInfo
from bayesspn.inference.warm_up import WarmUp, plan_samples, warm_up

X = mixed_table(0, 400)
LEAVES = mixed_leaves(X)
MODEL = Model(RegionGraph(1, 2, sums=3, leaves=3, products="shared"), LEAVES)
SHARDS = LocalShards(encode_rows(LEAVES, X))


def test_the_start_that_fits_best_goes_on(monkeypatch):
    kinds = []

    def start(key, model, shards, kind):
        kinds.append((kind, key))
        return kind

    def sweep(key, number, model, shards, state):
        fit = {"clustered": -5.0, "spread": -3.0}[state]
        return state, SweepInfo(fit + 0.1 * number, 0)

    monkeypatch.setattr(warming, "start_state", start)
    monkeypatch.setattr(warming, "draw_sweep", sweep)
    starts = ("clustered", "spread", "clustered")
    assert warm_up(Key(0, 3), MODEL, SHARDS, WarmUp(starts, 2))[:2] == ("spread", "spread")
    assert [kind for kind, _ in kinds] == list(starts)
    assert len({key for _, key in kinds} | {Key(0, 3)}) == 4  # random numbers of their own


def test_samples_of_the_rows_grow(monkeypatch):
    seen = []
    original = warming.draw_sweep

    def sweep(key, number, model, shards, state):
        seen.append((key.seed, number, shards.n_rows))
        return original(key, number, model, shards, state)

    monkeypatch.setattr(warming, "draw_sweep", sweep)
    plan = WarmUp(("spread", "clustered"), 2, ((50, 3), (200, 1)))
    state = warm_up(Key(1), MODEL, SHARDS, plan).state
    assert plan.sweeps == len(seen) == 8
    sizes = [rows for _, _, rows in seen]
    assert len(set(sizes[:7])) == 1
    assert 25 < sizes[0] < 80 < 150 < sizes[7] < 250
    assert len({(seed, number) for seed, number, _ in seen}) == 8
    assert state.edge_counts[0].sum() == sizes[7]


def test_warming_up_is_reproducible():
    plan = WarmUp(("spread", "clustered"), 3)
    one, two = (warm_up(Key(5, 1), MODEL, SHARDS, plan).state for _ in range(2))
    other = warm_up(Key(5, 2), MODEL, SHARDS, plan).state
    np.testing.assert_array_equal(one.edge_counts[0], two.edge_counts[0])
    assert (one.edge_counts[0] != other.edge_counts[0]).any()


def test_samples_do_not_depend_on_the_split():
    sample = SHARDS.sampled(100)
    np.testing.assert_array_equal(
        np.sort(np.concatenate([block.copy_ids for block in sample.rows.blocks])),
        np.flatnonzero(choose_rows(np.arange(400), 0.25)),
    )
    assert SHARDS.sampled(100) is sample
    assert choose_rows(np.arange(10_000), 0.3).mean() == pytest.approx(0.3, abs=0.02)


def test_samples_are_asked_for_rows_that_they_have():
    """Rows of a sample keep their numbers, by which their random numbers are addressed."""
    sample = SHARDS.sampled(100)
    kept = set(np.flatnonzero(choose_rows(np.arange(400), 0.25)).tolist())
    ids = sample.draw_ids(np.random.default_rng(0), 30)
    assert len(set(ids.tolist())) == 30
    assert set(ids.tolist()) <= kept
    np.testing.assert_array_equal(sample.values(ids), SHARDS.values(ids))
    assert set(sample.draw_ids(np.random.default_rng(0), 1_000).tolist()) == kept


def test_components_keep_their_rows_while_samples_grow():
    """An infinite mixture moves single rows: taking away another row than it adds leaves debts."""
    model = Model(RegionGraph(1, 2, leaves=3, products="shared"), LEAVES, concentration=1.0)
    state = warm_up(Key(2), model, SHARDS, WarmUp(samples=((100, 25),))).state
    assert all((counts >= 0).all() for counts in state.edge_counts)
    assert state.edge_counts[0].sum() == SHARDS.sampled(100).n_rows


def test_plans_grow_with_the_rows():
    assert plan_samples(8_000) == ()
    for rows in (8_001, 50_000, 10**6, 10**8):
        sizes = [size for size, _ in plan_samples(rows)]
        assert sizes[0] == 4_000
        assert sizes[-1] < rows <= 8 * sizes[-1]
    with pytest.raises(ValueError, match="starts must be some of"):
        WarmUp(("best",))


def test_chains_that_climb_are_told_from_those_that_do_not():
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 0.05, (8, 100))
    assert not still_climbing(noise)
    assert still_climbing(noise + np.linspace(0, 0.5, 100))
    assert not still_climbing(noise + np.linspace(0, 0.02, 100))  # too little to matter
    assert not still_climbing(noise - np.linspace(0, 0.5, 100))
    # a single chain that jumps up is not enough
    jump = noise.copy()
    jump[0, 50:] += 1.0
    assert not still_climbing(jump)
    assert still_climbing(noise[:1, :3])
