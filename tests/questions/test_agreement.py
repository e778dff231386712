"""All answers about one column agree with each other, whatever its families and its grid."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayesspn import BayesianSPN
from bayesspn.questions.events import QuestionError
from bayesspn.tables import infer_schema

FAMILIES = [
    ("gaussian",),
    ("lognormal",),
    ("exponential",),
    ("gaussian", "lognormal"),
    ("gaussian", "exponential", "lognormal"),
    ("gaussian", "atoms"),
    ("exponential", "atoms", "gaussian"),
]

#: How positive values are recorded: in steps, as a few irregular ones, or as they are measured.
RECORDED = {
    "halves": lambda x: np.maximum(np.round(2 * x), 1) / 2,
    "hundredths": lambda x: np.maximum(np.round(x, 2), 0.01),
    "whole": lambda x: np.maximum(np.round(3 * x), 1),
    "irregular": lambda x: np.array([0.5, 2.5, 6.0, 9.0, 16.5])[np.minimum(x, 4).astype(int)],
    "measured": lambda x: x,
}


@cache
def fitted(families: tuple[str, ...], recorded: str) -> tuple[BayesianSPN, np.ndarray]:
    rng = np.random.default_rng(0)
    values = RECORDED[recorded](rng.exponential(2.0, 90) + 0.02)
    table = pd.DataFrame({"x": values, "y": rng.random(90) < 0.4})
    schema = infer_schema(table).replace("x", families=families)
    model = BayesianSPN(schema=schema, chains=1, burn_in=5, draws=3, thin=1, random_state=0)
    return model.fit(table), values


@pytest.mark.filterwarnings("ignore:the chains do not agree")
@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(FAMILIES),
    st.sampled_from(sorted(RECORDED)),
    st.integers(0, 89),
    st.sampled_from([0.0, 0.0, 0.3, -7.0, 40.0]),
    st.sampled_from([None, "y", "x > 1"]),
)
def test_less_equal_and_greater_add_up(families, recorded, row, shift, known):
    model, values = fitted(families, recorded)
    value = float(values[row] + shift)

    def ask(test: str) -> float:
        return model.probability(f"x {test} {value!r}", given=known)

    below, upto, above, least = map(ask, ("<", "<=", ">", ">="))
    assert below + least == pytest.approx(1.0, abs=1e-9)
    assert upto + above == pytest.approx(1.0, abs=1e-9)
    grid = model.schema_["x"].grid
    # a fraction is refused as a value of whole numbers, not answered
    fraction = recorded == "whole" and value != round(value)
    if not fraction and (grid.single or grid.interval(value) is not None):
        equal, unequal = ask("="), ask("!=")
        assert below + equal + above == pytest.approx(1.0, abs=1e-9)
        assert equal + above == pytest.approx(least, abs=1e-9)
        assert equal + unequal == pytest.approx(1.0, abs=1e-9)
    if value <= 0:
        assert upto == 0


@pytest.mark.parametrize("families", FAMILIES, ids="+".join)
@pytest.mark.parametrize("recorded", sorted(RECORDED))
@pytest.mark.filterwarnings("ignore:the chains do not agree")
def test_samples_quantiles_and_means_are_values_that_can_be(families, recorded):
    model, values = fitted(families, recorded)
    grid = model.schema_["x"].grid
    drawn = model.sample(200, random_state=0)["x"].to_numpy()
    np.testing.assert_array_equal(grid.nearest(drawn), drawn)
    assert (drawn > 0).all()
    for level in (0.02, 0.5, 0.98):
        value = model.quantile("x", level)
        assert grid.nearest(np.array([value]))[0] == value > 0
        below, upto = (model.probability(f"x {test} {value!r}") for test in ("<", "<="))
        assert below - 1e-9 <= level <= upto + 1e-9
    assert grid.low <= model.expectation("x") <= grid.high
    cells = model.distribution("x")
    assert cells["probability"].sum() == pytest.approx(1.0)
    if recorded != "measured":
        low, high = float(cells["from"].iloc[1]), float(cells["to"].iloc[1])
        asked = model.probability(f"{low!r} <= x < {high!r}")
        assert asked == pytest.approx(cells["probability"].iloc[1], abs=1e-9)
    assert values.min() > 0


@pytest.mark.parametrize(
    "value",
    [7, -7, 1.5, "only", True, pd.Timestamp("2024-01-01"), pd.Timedelta("1D"), pd.Timedelta(0)],
)
@pytest.mark.filterwarnings("ignore:answers about")
def test_what_is_always_the_same_is_so_in_answers(value):
    table = pd.DataFrame({"x": [value] * 60, "y": np.random.default_rng(0).random(60) < 0.4})
    model = BayesianSPN(chains=2, burn_in=40, draws=5, thin=1, random_state=0).fit(table)
    assert model.probability({"x": value}) > 0.85
    assert model.mode("x") == value
    assert (model.sample(100, random_state=0)["x"] == value).mean() > 0.8
    if not isinstance(value, str):
        assert model.quantile("x", 0.5) == value


@cache
def ends_model() -> tuple[pd.DataFrame, BayesianSPN]:
    """Columns whose smallest and largest values are the common ones."""
    rng = np.random.default_rng(5)
    table = pd.DataFrame(
        {
            "rate": rng.choice([1, 2, 3, 4, 5], 240, p=[0.4, 0.05, 0.1, 0.05, 0.4]),
            "share": rng.choice([0.0, 0.5, 1.0], 240, p=[0.8, 0.1, 0.1]),
            "wide": rng.choice([3.1, 7.25], 240, p=[0.6, 0.4]),
            "only": "always",
            "x": rng.normal(size=240).round(2),
        }
    )
    return table, BayesianSPN(chains=2, burn_in=60, draws=10, random_state=0).fit(table)


@pytest.mark.parametrize("name", ["rate", "share", "wide"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_expectations_are_those_of_recorded_values(name):
    """Also where the smallest and the largest have most of the probability."""
    table, model = ends_model()
    values = sorted(table[name].unique().tolist())
    chances = np.array([model.probability({name: value}) for value in values])
    assert chances.sum() > 0.97
    near = (1.01 - chances.sum()) * (values[-1] - values[0])
    assert model.expectation(name) == pytest.approx(chances @ values, abs=near)
    for value in (values[0], values[-1]):
        assert model.expectation(name, given={name: (value, value)}) == pytest.approx(value)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_constant_columns_are_no_evidence():
    table, model = ends_model()
    row = table.head(1)
    assert model.log_prob(row[["only"]])[0] == pytest.approx(0.0, abs=1e-6)
    apart = model.score_samples(row) - model.score_samples(row.assign(only=None))
    np.testing.assert_array_equal(apart, 0.0)
    given = model.probability("share = 0", given=row[["only"]])
    assert given[0] == pytest.approx(model.probability("share = 0"))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_numbers_that_cannot_be_are_not_given():
    _, model = ends_model()
    assert model.probability("share = -1") == 0.0
    for known in ("share = -1", {"share": 1.75}, {"rate": [9]}):
        with pytest.raises(QuestionError, match=r"the (least|most) it can be"):
            model.probability("x > 0", given=known)
    assert 0 < model.probability("x > 0", given={"share": 1.0}) < 1
