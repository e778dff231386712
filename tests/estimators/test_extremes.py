"""Tables at the edge of what numbers can hold, and questions at the edge of sense."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bayesspn import BayesianSPN, SPNClassifier, SPNRegressor
from bayesspn.leaves.intervals.normal import lognormal_moments
from bayesspn.prediction.information import mutual_information
from bayesspn.tables import TableError

pytestmark = [
    pytest.mark.filterwarnings("error"),
    pytest.mark.filterwarnings("ignore:answers about"),
]

SMALL = {"chains": 1, "burn_in": 3, "draws": 2, "thin": 1, "random_state": 0}


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(2)
    table = pd.DataFrame(
        {
            "size": rng.normal(size=40),
            "count": rng.poisson(20.0, 40) * (rng.random(40) < 0.9),
            "city": rng.choice(["Oslo", "Rome"], 40),
            "planet": "Earth",
        }
    )
    return BayesianSPN(**SMALL).fit(table)


@pytest.mark.parametrize(("column", "value"), [("size", 0.3), ("count", 18), ("city", "Rome")])
def test_a_column_whose_value_is_given_has_that_value(model, column, value):
    given = {column: value}
    assert model.mode(column, given) == value
    assert model.mode(column, given, interval=0.9) == (value, (1.0, 1.0, 1.0))
    shares = model.distribution(column, given, interval=0.9)["probability"]
    assert sorted(shares)[-2:] == pytest.approx([0.0, 1.0])
    assert model.mutual_information(column, "planet", given) == pytest.approx(0, abs=1e-12)
    if column != "city":
        assert model.quantile(column, [0.01, 0.9], given) == [value, value]
        assert model.quantile(column, 0.5, given, interval=0.9) == (value, value, value)
        assert model.expectation(column, given, interval=0.9) == pytest.approx((value,) * 3)


def test_a_single_category_is_certain_and_tells_nothing(model):
    shares = model.distribution("planet", interval=0.9)
    assert shares["probability"].tolist() == pytest.approx([1.0])
    assert model.probability("planet == Earth") == pytest.approx(1)
    assert model.mutual_information("planet", "size") == pytest.approx(0, abs=1e-12)
    assert not model.dependence().loc["planet", ["size", "count", "city"]].any()
    event = "city == Rome and size > 0"
    assert model.probability(event, given="planet == Earth") == model.probability(event)
    assert repr(model.condition("planet == Earth")).endswith("'planet')")


def test_intervals_of_impossible_rows_are_minus_infinity(model):
    rows = pd.DataFrame({"city": ["Oslo", "Rome"]})
    answer = model.log_prob(rows, given="city == Rome", interval=0.9)
    np.testing.assert_array_equal(np.isneginf(answer), [[True, False]] * 3)


@pytest.mark.parametrize("level", [0.001, 0.3, 0.9])
def test_quantiles_in_far_tails_agree_with_probabilities(level):
    model = BayesianSPN(gamma=0.01, **SMALL).fit(pd.DataFrame({"x": [-0.97, -0.95]}))
    value = model.quantile("x", level)  # on the grid of the two values
    below, upto = model.probability(f"x < {value!r}"), model.probability(f"x <= {value!r}")
    assert below * (1 - 1e-9) <= level <= upto * (1 + 1e-9)


def test_quantiles_and_modes_tell_neighbours_of_huge_numbers_apart():
    x = 1e15 + np.repeat([0.0, 64.0, 96.0], 20) + np.tile([0.125, 0.25], 30)
    model = BayesianSPN(**SMALL).fit(x[:, None])
    low, middle, high = model.quantile("x0", [0.1, 0.5, 0.9])
    assert low < middle < high
    below, upto = model.probability(f"x0 < {middle!r}"), model.probability(f"x0 <= {middle!r}")
    assert below < 0.5 <= upto < below + 0.4
    assert x.min() - 1 <= model.mode("x0") <= x.max() + 1


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.0, 1e151], r"column 'x', row 1: 1e\+151 is beyond 1e\+150.*rescale"),
        ([-1.7e308, 2.0], "column 'x', row 0: .* is beyond"),
        ([1e-200, 5e-324], "column 'x': its largest value, 1e-200, is below 1e-150.*rescale"),
    ],
)
def test_numbers_too_large_or_too_small_to_be_squared_are_refused(values, message):
    with pytest.raises(TableError, match=message):
        BayesianSPN(**SMALL).fit(pd.DataFrame({"x": values}))
    with pytest.raises(TableError, match="target"):
        SPNRegressor(**SMALL).fit([[1.0], [2.0]], values)


def test_single_tiny_numbers_are_welcome():
    table = pd.DataFrame({"p": [1e-310, 0.25, 0.5, 1e-200, 1e-12]})
    model = BayesianSPN(**SMALL).fit(table)
    assert np.isfinite(model.score_samples(table)).all()
    assert 0 <= model.expectation("p") <= 1


def test_drawn_whole_numbers_can_be_read_again():
    table = pd.DataFrame({"x": [-(2**53), 3, 2**53]})
    model = BayesianSPN(gamma=0.01, **SMALL).fit(table)
    drawn = model.sample(200, random_state=0)
    assert drawn["x"].dtype == "int64"
    assert np.isfinite(model.score_samples(drawn)).all()


def test_far_durations_are_drawn_without_warning():
    table = pd.DataFrame({"wait": pd.to_timedelta([5, 5, 7], "ns")})
    model = BayesianSPN(gamma=0.01, **SMALL).fit(table)
    assert model.sample(500, random_state=0)["wait"].notna().all()
    assert model.distribution("wait")["probability"].sum() == pytest.approx(1, abs=1e-4)


def test_far_dates_stay_within_what_time_zones_can_show():
    moments = pd.to_datetime([0, 10**18], utc=True).tz_convert("America/New_York")
    model = BayesianSPN(gamma=0.01, **SMALL).fit(pd.DataFrame({"seen": moments}))
    assert model.sample(500, random_state=0)["seen"].notna().all()
    assert model.quantile("seen", 1e-6) < model.quantile("seen", 1 - 1e-6)


def test_mutual_information_of_tiny_probabilities_is_finite():
    joint = np.array([[[1.0, 0.0], [0.0, 1e-200]]])
    assert mutual_information(joint) == pytest.approx(0)


@pytest.mark.parametrize("deviation", [1e3, 1e9, 1e25, 1e120])
@pytest.mark.parametrize("offset", [-0.7, 0.0, 0.7])
def test_moments_of_lognormal_leaves_much_wider_than_their_range(deviation, offset):
    """The density of y is flat over the range, so that E[x^k; x ≤ 2] is 2^k / k times it."""
    mean = offset * deviation
    _, first, second = lognormal_moments(
        np.array(-np.inf), np.log(2.0), np.array(mean), np.array(deviation)
    )
    flat = np.exp(-0.5 * offset**2) / np.sqrt(2 * np.pi) / deviation
    assert first == pytest.approx(2 * flat, rel=3 / deviation + 1e-9)
    assert second == pytest.approx(2 * flat, rel=3 / deviation + 1e-9)


def test_a_single_row_is_learned_with_a_warning():
    with pytest.warns(UserWarning, match="a single row"):
        BayesianSPN(**SMALL).fit(pd.DataFrame({"x": [1.5], "y": ["a"]}))


def test_a_constant_number_is_certain():
    table = pd.DataFrame({"x": [2.7] * 30, "y": np.arange(30) / 7})
    model = BayesianSPN(**SMALL).fit(table)
    assert model.probability("x = 2.7") == pytest.approx(1)
    assert model.probability("x > 2.7") == model.probability("x < 2.7") == 0
    assert model.expectation("x") == pytest.approx(2.7)
    assert model.quantile("x", 0.1) == model.mode("x") == 2.7
    assert (model.sample(20, random_state=0)["x"] == 2.7).all()


@pytest.mark.parametrize("estimator", [SPNRegressor, SPNClassifier])
def test_missing_targets_are_named(estimator):
    table = pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0]})
    target = pd.Series([0.0, None, 1.0, None], name="price")
    with pytest.raises(ValueError, match="target 'price' is missing in row 1 and 1 others"):
        estimator(**SMALL).fit(table, target)
