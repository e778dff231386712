"""Censored cells: what is known of them is that they lie between bounds."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from bayesspn import BayesianSPN, Engine, InfiniteSPN, Key, Model, RegionGraph, load
from bayesspn.inference.chains import run_chain, start_chain
from bayesspn.inference.circuits import draw_circuit
from bayesspn.inference.prior import draw_prior_circuit
from bayesspn.leaves.columns import Leaves, describe_column
from bayesspn.model.generative import draw_hyper
from bayesspn.prediction import censored_rows
from bayesspn.prediction.censored_rows import CensoredRows, censor_rows
from bayesspn.tables import ColumnSchema, Schema
from bayesspn.tables.bounds import encode_bounds
from bayesspn.tables.cells import TableError

QUICK = {"chains": 1, "burn_in": 10, "draws": 5, "random_state": 0}


def lifetimes(rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Times that are exponential with mean 3, observed up to a time of their own."""
    rng = np.random.default_rng(seed)
    times, until = rng.exponential(3.0, rows), rng.uniform(0.5, 5.0, rows)
    return np.where(times < until, times, np.nan), np.where(times < until, np.nan, until)


def short_study(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """The same times, all observed up to one that few of them end before."""
    times = np.random.default_rng(0).exponential(3.0, rows)
    return np.where(times < 1.5, times, np.nan), np.where(times < 1.5, np.nan, 1.5)


@pytest.mark.parametrize(("times", "until"), [lifetimes(60), short_study(24)])
def test_the_posterior_of_a_rate_is_the_known_one(times, until):
    """Exponential times with a gamma prior: events are counted, and all time at risk."""
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
    censored = 1 - events / len(times)
    spread = expected / np.sqrt(shape + events)
    error = spread * np.sqrt((1 + censored) / (1 - censored) / 1_500)
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


@pytest.mark.parametrize("family", ["poisson", "geometric"])
def test_counts_between_bounds_have_their_probabilities(family):
    """Both ends included, by enumeration of one leaf."""
    seen = np.array([0.0, 1.0, 2.0, 3.0, 5.0])
    leaves = Leaves((describe_column("n", seen, family),))
    model = Model(RegionGraph(0, leaves=1), leaves, alpha=1.0)
    rng = np.random.default_rng(11)
    circuit = draw_prior_circuit(rng, model, draw_hyper(rng, model))
    n, low, high = 6_000, 1.0, 4.0
    rows = censor_rows(leaves, np.full((n, 1), np.nan), np.full((n, 1), low), np.full((n, 1), high))
    drawn = rows._draw_cells(rng, circuit)[:, 0]
    counts = np.arange(low, high + 1)
    exact = np.exp(circuit.densities.log_family_density(0, 0, counts)[:, 0, 0])
    exact /= exact.sum()
    assert exact.min() > 0.01
    shares = np.array([(drawn == count).mean() for count in counts])
    assert shares.sum() == 1.0
    # five standard deviations of each share
    np.testing.assert_array_less(np.abs(shares - exact), 5 * np.sqrt(exact * (1 - exact) / n))


def test_rows_are_looked_at_a_few_at_a_time(monkeypatch):
    """Memory is bounded, and nothing else changes."""
    times, until = lifetimes(100)
    leaves = Leaves((describe_column("time", times, ("gaussian", "exponential")),))
    model = Model(RegionGraph(0, leaves=3), leaves)
    bounds = until[:, None], np.where(np.isnan(until), np.nan, np.inf)[:, None]
    whole = censor_rows(leaves, times[:, None], *bounds)
    circuit = draw_circuit(Key(0), 1, model, start_chain(Key(0), model, whole).state)
    monkeypatch.setattr(censored_rows, "_CHUNK_ROWS", 7)
    parts = censor_rows(leaves, times[:, None], *bounds)
    assert parts.log_likelihood(circuit) == pytest.approx(whole.log_likelihood(circuit))
    assert max(len(part.row_ids) for part in parts._chunks) == 7
    cells = parts._draw_cells(np.random.default_rng(0), circuit)
    assert (cells >= parts.low).all()


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
    with pytest.raises(ValueError, match=r"fitted with bounds.* refit"):
        model.partial_fit(table[:5])


def agrees(model: BayesianSPN, column: str, value: float, rows: int = 2_000) -> None:
    """Check that probabilities, samples and expectations of a column tell the same story."""
    drawn = model.sample(rows, random_state=0)[column]
    [described] = model.posterior_.model.leaves.columns
    beyond = model.probability(f"{column} > {described.plausible[1]}")  # the range of samples
    assert beyond < 0.1  # columns reach to this quantile at least
    for cut in (value, model.quantile(column, 0.5)):
        above = model.probability(f"{column} > {cut}")
        expected = (above - beyond) / (1 - beyond)
        # five standard deviations of a share
        assert (drawn > cut).mean() == pytest.approx(expected, abs=5 * 0.5 / np.sqrt(rows))
    error = drawn.std() / np.sqrt(rows)
    assert model.expectation(column) == pytest.approx(drawn.mean(), abs=5 * error)


def test_bounds_beyond_all_that_was_seen_count():
    rng = np.random.default_rng(1)
    years = rng.exponential(30.0, 150)
    so_far = np.where(years < 3, np.nan, np.minimum(years, 60.0))
    table = pd.DataFrame({"years": np.where(years < 3, years, np.nan)})
    model = BayesianSPN(chains=1, burn_in=60, draws=20, random_state=0)
    model.fit(table, bounds={"years": (so_far, None)})
    # of so many rows it is known; three standard deviations of a share of 150
    known = (years > 30).mean()
    assert model.probability("years > 30") > known - 3 * np.sqrt(known * (1 - known) / 150)
    agrees(model, "years", 30)


def test_numbers_that_look_like_shares_are_none_if_bounds_say_so():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": np.where(np.arange(100) < 50, rng.uniform(0.1, 0.9, 100), np.nan)})
    assert BayesianSPN(**QUICK).fit(table).schema_["x"].high == 1
    model = BayesianSPN(chains=1, burn_in=60, draws=20, random_state=0)
    model.fit(table, bounds={"x": (2, None)})
    # half of the rows; five standard deviations of a share of 100
    assert model.probability("x > 1.9") == pytest.approx(0.5, abs=0.25)
    assert model.schema_["x"].high is None
    agrees(model, "x", 1.9)


def test_positive_numbers_can_be_below_zero_if_bounds_say_so():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": np.where(np.arange(100) < 50, rng.normal(10, 2, 100), np.nan)})
    model = BayesianSPN(chains=1, burn_in=60, draws=20, random_state=0)
    model.fit(table, bounds={"x": (None, -500)})
    assert model.probability("x < -100") == pytest.approx(0.5, abs=0.25)
    assert model.probability("x <= -499") == pytest.approx(0.5, abs=0.25)


def test_few_values_are_not_all_there_are_if_bounds_say_so():
    values = np.tile([0.5, 1.0, 2.25, np.nan], 20)
    table = pd.DataFrame({"x": values})
    model = BayesianSPN(chains=1, burn_in=60, draws=20, random_state=0)
    model.fit(table, bounds={"x": (4, 6)})
    assert model.probability("4 <= x <= 6") > 0.1
    assert 0.1 < model.probability("x = 0.5") < 0.4


def test_a_changed_table_has_its_own_bounds(tmp_path):
    times, until = lifetimes(80)
    table = pd.DataFrame({"time": times, "sex": np.where(np.arange(80) % 2, "F", "M")})
    settings = QUICK | {"burn_in": 40, "draws": 20}
    model = BayesianSPN(**settings).fit(table, bounds={"time": (until, None)})
    with pytest.raises(ValueError, match="fitted with bounds: give those"):
        model.refit(table[:60])
    with pytest.raises(ValueError, match="keeps no rows that have bounds"):
        model.save(tmp_path / "model.bspn", rows=True)
    model.save(tmp_path / "model.bspn")
    again = load(tmp_path / "model.bspn")
    with pytest.raises(ValueError, match="fitted with bounds: give those"):
        again.refit(table)
    model.refit(table[:60], bounds={"time": (until[:60], None)})
    truth = np.exp(-4 / 3.0)
    assert model.probability("time > 4") == pytest.approx(truth, abs=0.15)
    assert model.posterior_.n_rows == 60
    again.refit(table, bounds={})
    assert again.probability("time > 4") < 0.5 * truth
    again.partial_fit(table)  # there are no bounds any more
    first = BayesianSPN(**settings).refit(table, bounds={"time": (until, None)})
    np.testing.assert_array_equal(
        first.trace_, BayesianSPN(**settings).fit(table, bounds={"time": (until, None)}).trace_
    )


def test_bounds_of_a_changed_table_may_go_beyond_what_was_read_off():
    table = pd.DataFrame({"x": np.random.default_rng(0).uniform(0.1, 0.9, 60)})
    model = BayesianSPN(**QUICK | {"burn_in": 60}).fit(table)
    assert model.schema_["x"].high == 1
    later = table.mask(np.arange(60)[:, None] < 30)
    model.refit(later, bounds={"x": (2, None)})
    assert model.schema_["x"].high is None
    assert model.probability("x > 1.9") == pytest.approx(0.5, abs=0.3)
    with pytest.raises(TypeError, match="dictionary"):
        model.refit(later, bounds=[("x", 2, None)])


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


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((5, None), (5, np.inf)),
        ((5, None), [5, None]),
        ((None, 2), (-np.inf, 2)),
        ((None, 2), (np.full(60, -np.inf), np.full(60, 2))),
    ],
)
def test_ways_to_say_the_same_bounds(one, other):
    table = pd.DataFrame({"time": lifetimes(60)[0]})
    schema = Schema((ColumnSchema("time", "real"),))
    values = table.to_numpy()
    for first, second in zip(
        encode_bounds({"time": one}, schema, values),
        encode_bounds({"time": other}, schema, values),
        strict=True,
    ):
        np.testing.assert_array_equal(first, second)


def test_days_of_the_calendar_are_bounds_of_moments():
    schema = Schema((ColumnSchema("day", "datetime"),))
    values = np.full((2, 1), np.nan)
    day = date(2024, 5, 1)
    expected = encode_bounds({"day": (pd.Timestamp(day), None)}, schema, values)
    for low in (day, [day, day], np.array([day, day], dtype=object)):
        found = encode_bounds({"day": (low, None)}, schema, values)
        np.testing.assert_array_equal(found[0], expected[0])
    found = encode_bounds({"day": ([day, None], None)}, schema, values)
    assert found[0][0, 0] == expected[0][0, 0]
    assert np.isnan(found[0][1, 0])


def test_bounds_beyond_what_the_schema_says_are_refused():
    table = pd.DataFrame({"x": [1.0, 2.5, np.nan, 3.0], "n": [1, 0, 2, np.nan]})
    schema = Schema((ColumnSchema("x", "real", low=0, high=60), ColumnSchema("n", "count")))
    fit = BayesianSPN(**QUICK, schema=schema).fit
    with pytest.raises(TableError, match=r"column 'x', row 2: .* 70 to inf, .* beyond high=60"):
        fit(table, bounds={"x": (70, None)})
    with pytest.raises(TableError, match=r"column 'x', row 2: .* beyond low=0 of its schema"):
        fit(table, bounds={"x": (None, -1)})
    with pytest.raises(TableError, match=r"column 'n', row 3: .* support of poisson and geometric"):
        fit(table, bounds={"n": (None, -1)})
    with pytest.raises(TableError, match=r"column 'x', row 2: 1e\+200 is beyond"):
        fit(table, bounds={"x": (None, 1e200)})
    # partly outside is within what there is
    model = fit(table, bounds={"x": (50, 100), "n": (-5, 1)})
    assert model.sample(200, random_state=0)["x"].max() <= 60


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
    with pytest.raises(TableError, match=r"lower bound has shape \(40, 1\)"):
        fit(table, bounds={"time": (until[:, None], None)})
    with pytest.raises(TableError, match="infinite"):
        fit(table, bounds={"time": (np.inf, None)})
    with pytest.raises(ValueError, match="in memory"):
        fit(str(tmp_path), bounds={"time": (until, None)})
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
