"""Chains: reproducible, continuable, interruptible; and good input, or a clear error."""

from __future__ import annotations

import numpy as np
import pytest
from support import GRAPHS, binary_leaves, mixed_leaves, mixed_table

from bayesspn.engine import oracle
from bayesspn.engine.shards import LocalShards
from bayesspn.graphs import RegionGraph
from bayesspn.inference.chains import run_chain, run_chains, start_chain
from bayesspn.leaves.columns import Leaves, describe_column
from bayesspn.model.generative import Model, start_hyper
from bayesspn.numerics.random_numbers import Key
from bayesspn.prediction.posterior import merge_chains
from bayesspn.rows.encoded import encode_rows


@pytest.fixture(scope="module")
def table():
    X = mixed_table(0, rows=80)
    model = Model(GRAPHS["shared, deep"], mixed_leaves(X))
    return model, encode_rows(model.leaves, X)


def assert_same_state(one, two):
    pairs = zip(
        one.scope.y + one.edge_counts + one.statistics + one.hyper[:3] + one.hyper.phi,
        two.scope.y + two.edge_counts + two.statistics + two.hyper[:3] + two.hyper.phi,
        strict=True,
    )
    for a, b in pairs:
        np.testing.assert_array_equal(a, b)


def test_same_key_same_draws_other_key_other_draws(table):
    model, rows = table
    one = run_chain(start_chain(Key(1), model, rows), rows, draws=3)
    two = run_chain(start_chain(Key(1), model, rows), rows, draws=3)
    assert_same_state(one.state, two.state)
    for key in (Key(2), Key(1, chain=1)):
        other = run_chain(start_chain(key, model, rows), rows, draws=3)
        assert any(
            (a != b).any()
            for a, b in zip(one.state.edge_counts, other.state.edge_counts, strict=True)
        )


def test_a_chain_continued_is_the_same_chain(table):
    model, rows = table
    whole = run_chain(start_chain(Key(1), model, rows), rows, burn_in=2, draws=4, thin=2)
    part = run_chain(start_chain(Key(1), model, rows), rows, burn_in=2, draws=1, thin=2)
    rest = run_chain(part, rows, draws=3, thin=2)
    assert rest.sweep == whole.sweep == 10
    assert len(rest.draws) == len(whole.draws) == 4
    assert rest.trace == whole.trace
    for one, two in zip(rest.draws, whole.draws, strict=True):
        assert_same_state(one, two)


def test_chains_side_by_side_are_the_same_chains(table):
    model, rows = table
    starts = [start_chain(Key(1, number), model, rows) for number in range(2)]
    alone = [run_chain(start, rows, burn_in=1, draws=2) for start in starts]
    for n_jobs in (None, 2):
        together = run_chains(starts, rows, burn_in=1, draws=2, n_jobs=n_jobs)
        for one, two in zip(alone, together, strict=True):
            assert two.model is model
            assert_same_state(one.draws[-1], two.draws[-1])
        # and they can be continued and merged like others
        assert merge_chains(together).n_draws == 4
        assert_same_state(
            run_chain(together[0], rows, draws=1).state, run_chain(alone[0], rows, draws=1).state
        )


def test_thinning_keeps_the_last_draw(table):
    model, rows = table
    chain = run_chain(start_chain(Key(1), model, rows), rows, draws=5)
    thinned = chain.thinned(2)
    assert thinned.draws == (chain.draws[0], chain.draws[2], chain.draws[4])
    with pytest.raises(ValueError, match="every must be a whole number from 1"):
        chain.thinned(0)


def test_oracle_and_compiled_engine_run_the_same_chain(table):
    model, rows = table
    one = run_chain(start_chain(Key(3), model, rows), rows, draws=4)
    plain = LocalShards(rows, row_pass=oracle.row_pass)
    two = run_chain(start_chain(Key(3), model, rows), plain, draws=4)
    assert_same_state(one.state, two.state)


def test_interrupt_keeps_what_was_sampled(table):
    model, rows = table
    start = start_chain(Key(1), model, rows)

    def interrupt(sweep, info):
        assert np.isfinite(info.log_likelihood)
        if sweep == 3:
            raise KeyboardInterrupt

    chain = run_chain(start, rows, burn_in=1, draws=10, on_sweep=interrupt)
    assert len(chain.draws) == 2
    whole = run_chain(start, rows, burn_in=1, draws=4)
    assert_same_state(run_chain(chain, rows, draws=2).state, whole.state)
    with pytest.raises(KeyboardInterrupt):
        run_chain(start, rows, burn_in=5, draws=10, on_sweep=interrupt)


def test_numbers_of_sweeps_are_checked(table):
    model, rows = table
    chain = start_chain(Key(1), model, rows)
    for name, bad in (("burn_in", -1), ("draws", -1), ("thin", 0)):
        with pytest.raises(ValueError, match=f"{name} must be a whole number from"):
            run_chain(chain, rows, **{"draws": 1, name: bad})


def test_chains_of_different_models_do_not_merge(table):
    model, rows = table
    other = Model(model.graph, model.leaves)
    chains = [run_chain(start_chain(Key(1), m, rows), rows, draws=1) for m in (model, other)]
    with pytest.raises(ValueError, match="same model"):
        merge_chains(chains)


def test_a_table_without_rows_is_refused():
    leaves = binary_leaves(2)
    rows = encode_rows(leaves, np.empty((0, 2)))
    with pytest.raises(ValueError, match="no rows"):
        start_chain(Key(0), Model(RegionGraph(1), leaves), rows)


def test_rows_that_the_model_cannot_explain_are_refused():
    column = describe_column("visits", np.array([0.0, 4.0]), "poisson")
    leaves = Leaves((column, *binary_leaves(1).columns))
    model = Model(RegionGraph(1), leaves)
    for values in (np.array([1.0, -3.0]), np.append(np.arange(200.0), 0.5)):
        X = np.column_stack([values, np.zeros(len(values))])
        with pytest.raises(ValueError, match=r"column 'visits': value (-3|0\.5) is outside"):
            start_chain(Key(0), model, encode_rows(leaves, X))
    category = np.array([[0.0, 2.0]])
    with pytest.raises(ValueError, match="column 'column 0': value 2 is outside"):
        start_chain(Key(0), model, encode_rows(leaves, category))
    other = Leaves(leaves.columns)
    with pytest.raises(ValueError, match="other columns"):
        start_chain(Key(0), model, encode_rows(other, np.zeros((3, 2))))


def test_fixed_hyper_parameters_stay_fixed():
    X = mixed_table(0, rows=40)
    model = Model(
        GRAPHS["cross"], mixed_leaves(X), alpha=0.5, beta=2.0, mixing=0.3, learn_leaf_priors=False
    )
    rows = encode_rows(model.leaves, X)
    chain = run_chain(start_chain(Key(0), model, rows), rows, draws=3)
    for a, b in zip(chain.state.hyper[:3], start_hyper(model)[:3], strict=True):
        np.testing.assert_array_equal(a, b)
    for phi, group in zip(chain.state.hyper.phi, model.leaves.groups, strict=True):
        np.testing.assert_array_equal(phi, group.center)


@pytest.mark.parametrize(
    "X",
    [
        np.array([[1.0, 5.0]]),
        np.array([[0.0, 2.5], [np.nan, np.nan], [1.0, 2.5]]),
        np.array([[1.0, 1e-300], [1.0, 1e300], [0.0, -1e300]]),
    ],
    ids=["one row", "a row without cells", "huge range"],
)
def test_odd_tables_work(X):
    leaves = Leaves(
        (
            describe_column("a", X[:, 0], "bernoulli"),
            describe_column("b", X[:, 1], "gaussian"),
        )
    )
    model = Model(RegionGraph(1, 2, leaves=2), leaves)
    rows = encode_rows(leaves, X)
    chain = run_chain(start_chain(Key(0), model, rows), rows, draws=5)
    assert np.isfinite(merge_chains([chain]).score_samples(X)).all()


def test_one_column_and_depth_zero_work():
    X = np.random.default_rng(0).normal(size=(50, 1)) + 5 * np.repeat([0, 1], 25)[:, None]
    leaves = Leaves((describe_column("x", X[:, 0], "gaussian"),))
    model = Model(RegionGraph(0, leaves=4), leaves)
    rows = encode_rows(leaves, X)
    chain = run_chain(start_chain(Key(0), model, rows), rows, burn_in=100, draws=50)
    score = merge_chains([chain]).score_samples(X).mean()
    # a single Gaussian reaches −2.5, the two true ones −2.1
    assert score > -2.3


def test_two_dependent_groups_of_columns_are_found():
    """Columns 0–2 are copies of one coin, 3–5 of another: the scope must learn to separate them."""
    rng = np.random.default_rng(0)
    coins = rng.integers(0, 2, (300, 2))
    X = np.repeat(coins, 3, axis=1).astype(float)
    flipped = rng.random(X.shape) < 0.05
    X[flipped] = 1 - X[flipped]
    leaves = binary_leaves(6)
    model = Model(RegionGraph(1, 1, leaves=2), leaves)
    rows = encode_rows(leaves, X)
    chain = run_chain(start_chain(Key(0), model, rows), rows, burn_in=100, draws=50)
    for state in chain.draws:
        regions = state.scope.leaf_regions[:, 0]
        assert len(set(regions[:3])) == len(set(regions[3:])) == 1
        assert regions[0] != regions[3]
