"""Distributions over cells of equal width: the same answers as other questions give."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from bayesspn import BayesianSPN
from bayesspn.leaves.columns import describe_column
from bayesspn.prediction.cells import even_cells
from bayesspn.questions.events import QuestionError
from bayesspn.tables import ColumnSchema, Schema


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    n = 120
    kind = rng.integers(0, 3, n)
    table = pd.DataFrame(
        {
            "kind": np.array(["a", "b", "c"])[kind],
            "size": np.round(rng.normal(3.0 * kind, 1.0), 2),
            "visits": rng.poisson(2 + 3 * kind),
            "year": 1990 + rng.integers(0, 30, n),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), unit="D"),
            "ill": rng.random(n) < 0.3,
        }
    )
    schema = Schema(
        (
            ColumnSchema("kind", "category", categories=("a", "b", "c")),
            ColumnSchema("size", "real"),
            ColumnSchema("visits", "count"),
            ColumnSchema("year", "integer", families=("gaussian", "lognormal")),
            ColumnSchema("day", "datetime"),
            ColumnSchema("ill", "binary"),
        )
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return BayesianSPN(schema=schema, chains=1, burn_in=5, draws=6, thin=1, random_state=0).fit(
            table
        )


GIVEN = ({}, {"kind": "b"}, {"year": (1995, 2003), "ill": True}, {"size": (1.234567, None)})


@pytest.mark.parametrize("given", GIVEN)
def test_every_cell_has_the_probability_that_is_asked_for_by_itself(model, given):
    told = model.distributions(given=given, interval=0.8)
    assert list(told) == list(model.schema_.names)
    for name, frame in told.items():
        assert frame["probability"].sum() == pytest.approx(1.0, abs=1e-9)
        for cell in (0, len(frame) // 2, len(frame) - 1):
            row = frame.iloc[cell]
            event = [row["value"]] if "value" in frame else (row["from"], row["to"])
            if name == "year":  # cells end between whole numbers
                event = (np.ceil(row["from"]), np.floor(row["to"]))
            if "value" not in frame:
                event = tuple(None if pd.isna(e) or np.isinf(_plain(e)) else e for e in event)
            answer = model.probability({name: event}, given, interval=0.8)
            assert row["probability"] == pytest.approx(answer.value, abs=1e-9)
            assert row["low"] == pytest.approx(answer.low, abs=1e-9)
            assert row["high"] == pytest.approx(answer.high, abs=1e-9)


def _plain(end):
    return end.timestamp() if isinstance(end, pd.Timestamp) else end


def test_columns_can_be_chosen_and_cells_made_few(model):
    told = model.distributions(["year", "kind"], cells=4)
    assert list(told) == ["year", "kind"]
    assert len(told["year"]) <= 4 + 2
    with pytest.raises(QuestionError, match="cells must be"):
        model.distributions(cells=0)


def test_probabilities_of_sets_do_not_depend_on_what_was_tabulated_before(model):
    fresh = BayesianSPN()
    fresh.__dict__ |= model.__dict__
    fresh.posterior_ = type(model.posterior_)(model.posterior_.model, model.posterior_.draws)
    model.distributions()
    for event in ({"year": (1995, 2003)}, {"year": (None, 2003)}, {"visits": (2, 4)}):
        given = {"kind": "a", "size": (0.5, None)}
        asked, again = fresh.probability(event, given), model.probability(event, given)
        assert asked == pytest.approx(again, rel=1e-10)


def test_far_leaves_keep_their_log_probability_when_cells_are_added_up(model):
    """Probabilities too small for a float are not taken for zero."""
    drawn = model.posterior_.drawn
    year = model.schema_.position("year")
    low, high = np.array([-np.inf, 1e6, 2e6]), np.array([1e6, 2e6, np.inf])
    exact = drawn.some(slice(0, None)).log_mass(year, _set(1e6, np.inf))
    drawn.masses(year, low, high)
    assert exact.min() < -800
    np.testing.assert_allclose(drawn.log_mass(year, _set(1e6, np.inf)), exact, rtol=1e-12)


def _set(low, high):
    from bayesspn.prediction.value_sets import ValueSet

    return ValueSet.of([(low, high)])


@pytest.mark.parametrize(
    ("values", "resolution"),
    [
        ([5.0, 5.0, 5.0], 1.0),
        ([0.0, 1e-9, 3e-9], None),
        ([1e140, 2e140], 1e130),
        ([-3.5, 0.0, 1000.0], 0.5),
        ([1.0, 1.0 + 1e-15], 0.0),
    ],
)
def test_cells_of_odd_ranges_ascend_and_cover_everything(values, resolution):
    column = describe_column("x", np.array(values), "gaussian", resolution=resolution)
    low, high = even_cells(column, (values[0], values[-1]), 10)
    assert low[0] == -np.inf
    assert high[-1] == np.inf
    assert (low[1:] == high[:-1]).all()
    assert (np.diff(high[:-1]) > 0).all()
    assert len(low) <= 10 + 3
    assert high[0] <= values[0]
    assert low[-1] >= values[-1]


@pytest.mark.parametrize("values", [[0.0, 0.0], [0.0, 3.0], [7.0, 7.0], [5.0, 40.0], [0.0, 1e9]])
def test_cells_of_counts_hold_every_whole_number_once(values):
    column = describe_column("n", np.array(values), "poisson")
    low, high = even_cells(column, (values[0], values[-1]), 10)
    assert low[0] == 0
    assert (low[1:] == high[:-1] + 1).all()
    assert (low <= high).all()
    assert low[-1] == np.ceil(low[-1]) > values[-1]  # the last cell is beyond what was seen
    assert high[-1] == np.inf
    assert len(low) <= 10 + 2


def test_an_outlier_does_not_push_the_rest_together():
    column = describe_column("x", np.array([0.0, 5.0, 1e6]), "gaussian", resolution=1.0)
    low, _ = even_cells(column, (0.0, 10.0), 10)
    assert low[-1] < 30


def test_replicates_differ_as_much_as_networks_of_the_posterior_do(model):
    """Shares of a category vary with the networks, more than rows drawn from one would."""
    tables = model.replicates(400, 6, random_state=0)
    assert [len(table) for table in tables] == [400] * 6
    assert tables[0].dtypes.equals(model.sample(5).dtypes)
    share = np.array([(table["kind"] == "a").mean() for table in tables])
    each = np.array(
        [
            type(model.joint_)(model._whole())
            .replicates(20_000, 6, random_state=s)[k]["kind"]
            .eq("a")
            .mean()
            for s, k in ((1, 0), (1, 5))
        ]
    )
    # the same networks give the same shares, up to drawing 400 rows: five standard deviations
    assert np.abs(share[[0, 5]] - each).max() < 5 * np.sqrt(0.25 / 400)
    given = model.replicates(50, 2, {"kind": "b", "year": (1995, 2003)}, random_state=0)
    assert all((table["kind"] == "b").all() for table in given)
    assert all(table["year"].between(1995, 2003).all() for table in given)
    with pytest.raises(ValueError, match="tables must be"):
        model.replicates(5, 0)


def test_strength_of_dependence_is_a_correlation_for_gaussians():
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    table = pd.DataFrame({"x": x, "y": 0.8 * x + 0.6 * rng.normal(size=400), "z": x[::-1]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = BayesianSPN(chains=1, burn_in=40, draws=5, random_state=0).fit(table)
    strength = fitted.dependence_strength()
    assert strength.loc["x", "y"] == pytest.approx(0.8, abs=0.1)
    assert strength.loc["x", "z"] < 0.3
    assert (np.diag(strength) == 1).all()


def test_rarity_is_uniform_for_rows_of_the_model_and_small_for_strange_ones(model):
    rows = model.sample(60, random_state=3)
    shares = [
        model.rarity({name: row[name] for name in ("size", "kind", "visits")})
        for _, row in rows.iterrows()
    ]
    # the mean of 60 uniform shares has standard deviation 0.037: five of these
    assert np.mean(shares) == pytest.approx(0.5, abs=0.19)
    assert model.rarity({"kind": "a", "size": 40.0}) == pytest.approx(1 / 501)
    assert model.rarity({"size": (0, 1)}) == 1.0
    typical = {"size": model.mode("size", {"kind": "b"})}
    assert model.rarity({"kind": ["b"], **typical}) > 0.3


def test_the_commonest_value_at_the_end_of_a_range_does_not_surprise():
    """Nothing lies below zero, where nearly all rows are, but they are recorded as zero."""
    rng = np.random.default_rng(0)
    gain = np.where(rng.random(200) < 0.9, 0, rng.integers(100, 5_000, 200))
    table = pd.DataFrame({"gain": gain, "x": rng.normal(size=200).round(2)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = BayesianSPN(chains=1, burn_in=10, draws=4, thin=1, random_state=0).fit(table)
    surprises = fitted.surprise(table)["gain"]
    assert surprises[gain == 0].max() < 1
    assert surprises[gain > 0].min() > surprises[gain == 0].max()
