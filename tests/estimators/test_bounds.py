"""Censored cells: what is known of them is that they lie between bounds."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from bayesspn import BayesianSPN, Engine, InfiniteSPN, Key, Model, RegionGraph
from bayesspn.inference.chains import run_chain, start_chain
from bayesspn.inference.circuits import draw_circuit
from bayesspn.inference.prior import draw_prior_circuit
from bayesspn.leaves.columns import Leaves, describe_column
from bayesspn.model.generative import draw_hyper
from bayesspn.prediction.censored_rows import CensoredRows, censor_rows
from bayesspn.tables import ColumnSchema, Schema
from bayesspn.tables.cells import TableError

QUICK = {"chains": 1, "burn_in": 10, "draws": 5, "random_state": 0}


def lifetimes(rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Times that are exponential with mean 3, observed up to a time of their own."""
    rng = np.random.default_rng(seed)
    times, until = rng.exponential(3.0, rows), rng.uniform(0.5, 5.0, rows)
    return np.where(times < until, times, np.nan), np.where(times < until, np.nan, until)


def test_the_posterior_of_a_rate_is_the_known_one():
    """Exponential times with a gamma prior: events are counted, and all time at risk."""
    times, until = lifetimes(60)
    column = describe_column("time", times, "exponential", resolution=0.0)
    leaves = Leaves((column,))
    model = Model(RegionGraph(0, leaves=1), leaves, alpha=1.0, learn_leaf_priors=False)
    open_end = np.where(np.isnan(until), np.nan, np.inf)
    rows = censor_rows(leaves, times[:, None], until[:, None], open_end[:, None])
    chain = run_chain(start_chain(Key(0), model, rows), rows, burn_in=50, draws=1_500, thin=1)
    rates = np.array(
        [
            -draw_circuit(Key(1), k, model, state).densities.eta[0].ravel()[0]
            for k, state in enumerate(chain.draws)
        ]
    )
    shape, rate = leaves.groups[0].hyper(chain.draws[0].hyper.phi[0]).ravel()[:2]
    scale = column.constants[0][0]  # which rates are in units of
    events, seen = np.isfinite(times).sum(), np.nansum(times) / scale
    risk = seen + np.nansum(until) / scale
    expected = (shape + events) / (rate + risk)
    # 1,500 draws, autocorrelated by the share that is censored
    error = expected / np.sqrt(shape + events) * np.sqrt(4 / 1_500)
    assert rates.mean() == pytest.approx(expected, abs=5 * error)
    naive = (shape + events) / (rate + seen)
    assert abs(rates.mean() - naive) > 20 * error


def test_every_drawn_cell_lies_between_its_bounds():
    rng = np.random.default_rng(0)
    values = np.column_stack([rng.normal(size=80).round(2), rng.normal(5, 1, 80).round(2)])
    low, high = np.full(values.shape, np.nan), np.full(values.shape, np.nan)
    low[:20], high[:20] = values[:20] - 0.5, values[:20] + 0.5
    high[:5, 0], low[5:10, 1] = np.inf, -np.inf
    values[:20] = np.nan
    leaves = Leaves(
        tuple(describe_column(name, values[:, k], "gaussian") for k, name in enumerate("ab"))
    )
    model = Model(RegionGraph(1, 2, sums=2, leaves=3), leaves)
    rows = censor_rows(leaves, values, low, high)
    state = start_chain(Key(0), model, rows).state
    circuit = draw_circuit(Key(0), 1, model, state)
    cells = rows._draw_cells(np.random.default_rng(0), circuit)
    assert not np.isnan(cells).any()
    assert (cells >= low[:20]).all()
    assert (cells <= high[:20]).all()
    # on the grid that the column is recorded on
    np.testing.assert_allclose(cells, cells.round(2), atol=1e-9)
    again = rows._draw_cells(np.random.default_rng(0), circuit)
    np.testing.assert_array_equal(cells, again)


def test_cells_are_drawn_from_their_conditional_distribution():
    """Given other cells of the row, and bounds: shares of parts, by the densities of rows."""
    rng = np.random.default_rng(4)
    seen = rng.normal(0, 2, (50, 2))
    leaves = Leaves(
        tuple(
            describe_column(name, seen[:, k], "gaussian", resolution=0.0)
            for k, name in enumerate("ab")
        )
    )
    model = Model(RegionGraph(1, 2, sums=3, leaves=3), leaves, alpha=1.0, beta=1.0)
    circuit = draw_prior_circuit(rng, model, draw_hyper(rng, model))
    n = 8_000
    values = np.column_stack([np.full(n, np.nan), np.repeat([-1.0, 0.0, 1.0, np.nan], n // 4)])
    cuts = np.array([1.0, 1.5, 2.0, 3.0, 4.0])

    def between(low: float, high: float) -> CensoredRows:
        bounds = np.full((2, n, 2), np.nan)
        bounds[:, :, 0] = np.array([[low], [high]])
        bounds[:, -n // 4 :, 1] = np.array([[-2.0], [0.5]])  # the last rows have both
        return censor_rows(leaves, values, *bounds)

    whole = between(cuts[0], cuts[-1])
    drawn = whole._draw_cells(rng, circuit)
    assert ((drawn[-n // 4 :, 1] >= -2) & (drawn[-n // 4 :, 1] <= 0.5)).all()
    for group in np.split(np.arange(n), 4):
        exact = [
            np.exp(
                restricted(between(low, high), group).log_likelihood(circuit) / len(group)
                - restricted(whole, group).log_likelihood(circuit) / len(group)
            )
            for low, high in pairwise(cuts)
        ]
        shares = np.histogram(drawn[group, 0], cuts)[0] / len(group)
        assert sum(exact) == pytest.approx(1.0)
        # five standard deviations of a share, at most
        np.testing.assert_allclose(shares, exact, atol=5 * np.sqrt(0.25 / len(group)))


def restricted(rows: CensoredRows, kept: np.ndarray) -> CensoredRows:
    parts = {name: getattr(rows, name)[kept] for name in ("row_ids", "cells", "low", "high")}
    return replace(rows, **parts)


def test_samples_and_numbers_of_rows():
    times, until = lifetimes(400)
    leaves = Leaves((describe_column("time", times, ("gaussian", "exponential")),))
    bounds = until[:, None], np.where(np.isnan(until), np.nan, np.inf)[:, None]
    rows = censor_rows(leaves, times[:, None], *bounds)
    assert rows.n_rows == 400
    np.testing.assert_array_equal(rows.values(np.arange(400))[:, 0], times)
    some = rows.sampled(100)
    assert 60 < some.n_rows < 140
    ids = some.draw_ids(np.random.default_rng(0), 10)
    assert np.isfinite(some.values(ids)).all()
    other = censor_rows(leaves, times[:, None], bounds[0] + 0.1, bounds[1])
    assert (rows.cell_hashes() != other.cell_hashes()).any()


@pytest.mark.parametrize("kind", [BayesianSPN, InfiniteSPN])
def test_survival_times(kind):
    times, until = lifetimes(200)
    table = pd.DataFrame({"time": times, "sex": np.where(np.arange(200) % 2, "F", "M")})
    graph = RegionGraph(1, 2, sums=4, leaves=8, products="shared")
    settings = {"graph": graph, "chains": 2, "burn_in": 40, "draws": 20, "random_state": 0}
    model = kind(**settings).fit(table, bounds={"time": (until, None)})
    naive = kind(**settings).fit(table)
    truth = np.exp(-4 / 3.0)
    assert model.probability("time > 4") == pytest.approx(truth, abs=0.1)
    assert naive.probability("time > 4") < 0.5 * truth
    again = kind(**settings).fit(table, bounds={"time": (until, None)})
    np.testing.assert_array_equal(model.trace_, again.trace_)
    with pytest.raises(ValueError, match="has not got the rows"):
        model.partial_fit(table[:5])


def test_dates_known_to_the_month():
    rng = np.random.default_rng(0)
    day = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 360, 120), "D")
    begin = pd.Series(day).dt.to_period("M").dt.start_time
    end = pd.Series(day).dt.to_period("M").dt.end_time.dt.normalize()
    vague = np.arange(120) < 60
    table = pd.DataFrame({"day": pd.Series(day).mask(vague), "late": day > "2024-06-30"})
    model = BayesianSPN(chains=2, burn_in=60, draws=20, random_state=0)
    model.fit(table, bounds={"day": (begin, end)})
    assert model.probability("late | day > 2024-09-01") > 0.8


def test_bounds_that_say_nothing_change_nothing():
    times, _ = lifetimes(60)
    table = pd.DataFrame({"time": times})
    plain = BayesianSPN(**QUICK).fit(table)
    same = BayesianSPN(**QUICK).fit(table, bounds={"time": (None, None)})
    np.testing.assert_array_equal(plain.trace_, same.trace_)


def test_bad_bounds_are_refused(tmp_path):
    times, until = lifetimes(40)
    table = pd.DataFrame({"time": times, "sex": "F"})
    fit = BayesianSPN(**QUICK).fit
    with pytest.raises(ValueError, match="no column 'age'"):
        fit(table, bounds={"age": (1, 2)})
    with pytest.raises(TableError, match="categories"):
        fit(table, bounds={"sex": (1, 2)})
    with pytest.raises(TableError, match="pair"):
        fit(table, bounds={"time": 3})
    with pytest.raises(TableError, match="for 39 rows"):
        fit(table, bounds={"time": (until[1:], None)})
    with pytest.raises(TableError, match="above its upper"):
        fit(table, bounds={"time": (until, 0.1)})
    with pytest.raises(TypeError, match="dictionary"):
        fit(table, bounds=[("time", 1, 2)])
    with pytest.raises(ValueError, match="no sample_weight"):
        fit(table, sample_weight=np.ones(40), bounds={"time": (until, None)})
    remote = BayesianSPN(**QUICK, engine=Engine("ray"))
    with pytest.raises(ValueError, match="engine='local'"):
        remote.fit(table, bounds={"time": (until, None)})


def test_bounds_within_a_schema():
    schema = Schema((ColumnSchema("n", "count"), ColumnSchema("x", "real")))
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"n": rng.poisson(4, 80).astype(float), "x": rng.normal(size=80)})
    table.loc[:19, "n"] = np.nan
    model = BayesianSPN(schema=schema, **QUICK).fit(table, bounds={"n": (6, None)})
    naive = BayesianSPN(schema=schema, **QUICK).fit(table)
    assert model.probability("n >= 6") > naive.probability("n >= 6") + 0.1
