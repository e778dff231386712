"""Every question agrees with sums and integrals over the explicit network."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest

from bayesspn.engine import compiled
from bayesspn.prediction.conditionals import ConditionalCircuits
from bayesspn.prediction.information import joint_masses, mutual_information
from bayesspn.prediction.passes import evaluate
from bayesspn.prediction.posterior import DRAWN_SEED
from bayesspn.prediction.value_sets import ValueSet
from bayesspn.questions.events import QuestionError
from bayesspn.questions.interface import Conditional
from bayesspn.questions.uncertainty import spread_draws
from bayesspn.tables import TableError

CODES = {"Oslo": 0.0, "Rome": 1.0, "Wien": 2.0}


def test_passes_match_the_explicit_network(model, oracle):
    rng = np.random.default_rng(0)
    X = model.sample(40, random_state=0)
    values = model._view().encode(X)
    values[rng.random(values.shape) < 0.4] = np.nan
    draws = evaluate(model.posterior_.predictive, values).log_probability
    scores = np.logaddexp.reduce(draws, axis=0) - np.log(len(draws))
    np.testing.assert_allclose(scores, oracle.circuit.log_density(values), rtol=1e-9)


def test_visits_are_derivatives_of_the_network(model):
    """A column's leaves weighted by visits give back the density of the column."""
    circuits = model.posterior_.predictive
    conditional = ConditionalCircuits(circuits, {3: 2.0, 4: 1.0})
    x = np.array([0.3, 2.2])
    for column in (0, 1):
        weights = conditional.leaf_weights(column)
        np.testing.assert_allclose(weights.sum(axis=(1, 2)), 1.0, rtol=1e-12)
        density = np.einsum("vdpi,dpi->vd", np.exp(circuits.log_density(column, x)), weights)
        for k, value in enumerate(x):
            joint = ConditionalCircuits(
                circuits, {3: 2.0, 4: 1.0, column: float(value)}
            ).log_probability
            np.testing.assert_allclose(
                density[k], np.exp(joint - conditional.log_probability), rtol=1e-9
            )


def test_probability_of_ranges_matches_integration(model, oracle):
    inside = oracle.integral("size", 0.5, 2.0, visits=3.0) / oracle.density(visits=3.0)[0]
    asked = model.probability("0.5 <= size <= 2", given={"visits": 3})
    assert asked == pytest.approx(inside, rel=1e-7)
    wide = oracle.integral("price", 1.0, 4.0, city=1.0, member=1.0)
    wide /= oracle.density(city=1.0, member=1.0)[0, 0]
    asked = model.probability({"price": (1.0, 4.0)}, given="city == Rome and member")
    assert asked == pytest.approx(wide, rel=1e-7)


def test_probability_of_several_columns_matches_enumeration(model, oracle):
    joint = oracle.density(city=[0, 2], member=[1], visits=np.arange(13)).sum()
    assert model.probability("city in [Oslo, Wien] and member and visits <= 12") == pytest.approx(
        joint, rel=1e-6
    )
    given = oracle.density(visits=np.arange(13)).sum()
    assert model.probability(
        {"city": ["Oslo", "Wien"], "member": True}, given="visits <= 12"
    ) == pytest.approx(joint / given, rel=1e-6)


def test_probabilities_of_a_partition_add_up(model):
    pieces = [model.probability(f"visits == {k}", given="size > 1") for k in range(60)]
    assert sum(pieces) + model.probability("visits >= 60", given="size > 1") == pytest.approx(1)
    assert model.probability("size > 3 and size < 2") == 0
    with pytest.raises(QuestionError, match="'size is missing' has no probability"):
        model.probability("size is missing")
    assert model.probability("size > 1 | price is missing") == pytest.approx(
        model.probability("size > 1")
    )


def test_what_is_given_of_the_same_column_cuts_it(model, oracle):
    narrow = oracle.integral("size", 1.0, 2.0) / oracle.integral("size", 0.0, 3.0)
    assert model.probability("1 < size < 2", given={"size": (0, 3)}) == pytest.approx(narrow)
    assert model.probability("size > 5", given="size < 4") == 0
    assert model.probability("size > 5", given="size = 6") == pytest.approx(1)


@pytest.mark.parametrize("known", [{}, {"visits": 3}, {"visits": 0}])
@pytest.mark.parametrize("column", ["size", "price", "wait"])
def test_expectation_matches_integration(model, oracle, column, known):
    low, high = model.posterior_.model.leaves.columns[model.schema_.position(column)].plausible
    least = model.schema_[column].grid.low
    first = oracle.integral(column, low, high, lambda x: np.maximum(x, least), **known)
    whole = oracle.integral(column, low, high, **known)
    asked = model.probability({column: ValueSet.of([(low, high)])}, given=known)
    # a log-Student-t has mass closer to zero than quadrature can go
    assert asked == pytest.approx(whole / oracle.density(**known).item(), rel=1e-4)
    first /= oracle.density(**known).item()
    assert model.expectation(column, given=known) == pytest.approx(first / asked, rel=1e-6)


def test_expectation_of_counts_and_truth_values(model, oracle):
    high = model.posterior_.model.leaves.columns[3].plausible[1]
    counts = np.arange(high + 1)
    p = oracle.density(visits=counts, city=2.0)[:, 0]
    assert model.expectation("visits", given="city = Wien") == pytest.approx(counts @ p / p.sum())
    member = oracle.density(member=1.0, city=2.0) / oracle.density(city=2.0)
    assert model.expectation("member", given="city = Wien") == pytest.approx(member.item())


def test_expectation_within_what_is_given_of_the_column(model, oracle):
    whole = oracle.integral("size", 1.0, 3.0)
    first = oracle.integral("size", 1.0, 3.0, lambda x: x)
    assert model.expectation("size", given={"size": (1, 3)}) == pytest.approx(first / whole)


def test_expectations_of_several_columns_are_a_frame(model):
    frame = model.expectation(interval=0.9)
    assert frame.index.tolist() == ["size", "price", "wait", "visits", "member"]
    assert (frame["low"] <= frame["high"]).all()
    assert frame.loc["size", "value"] == pytest.approx(model.expectation("size"))


@pytest.mark.parametrize("level", [0.01, 0.3, 0.5, 0.99])
def test_quantiles_invert_probabilities(model, level):
    for column, given in (("size", None), ("price", "visits > 2"), ("wait", {"wait": (0.5, 2)})):
        value = model.quantile(column, level, given=given)
        assert model.probability(f"{column} <= {value!r}", given=given) == pytest.approx(level)
    visits = model.quantile("visits", level)
    assert model.probability(f"visits <= {visits}") >= level
    assert visits == 0 or model.probability(f"visits < {visits}") < level


def test_quantiles_of_each_draw_invert_that_draw(model):
    """Intervals of quantiles come from exact quantiles of every network."""
    mixtures = model._view().knowing("visits > 2").drawn_conditional.mixtures(0)
    values = mixtures.quantile(np.full(len(mixtures.weights), 0.4))
    np.testing.assert_allclose(mixtures.cdf(values), 0.4, rtol=1e-8)


def test_mode_matches_a_fine_grid(model, oracle):
    for column, low, high in (("size", -3, 8), ("price", 0.01, 40)):
        grid = np.linspace(low, high, 20_001)
        best = oracle.density(**{column: grid}, city=1.0)[:, 0]
        found = model.mode(column, given="city = Rome")
        at_mode = oracle.density(**{column: [found]}, city=1.0)[0, 0]
        assert at_mode >= best.max() * (1 - 1e-6)
    p = oracle.density(city=[0, 1, 2], visits=4.0)[:, 0]
    assert CODES[model.mode("city", given="visits = 4")] == p.argmax()
    _, answer = model.mode("city", given="visits = 4", interval=0.9)
    assert answer.value == pytest.approx(p.max() / p.sum())
    assert answer.low <= answer.high


def test_most_probable_completion_matches_enumeration(model, oracle):
    p = oracle.density(city=[0, 1, 2], member=[0, 1], visits=np.arange(60), size=2.5)[..., 0]
    city, member, visits = np.unravel_index(p.argmax(), p.shape)
    row = model.marginal(["city", "member", "visits", "size"]).mode(given={"size": 2.5})
    assert CODES[row["city"].iloc[0]] == city
    assert row["member"].iloc[0] == bool(member)
    assert row["visits"].iloc[0] == visits
    assert row["size"].iloc[0] == 2.5


def test_sampling_given_something_matches_probabilities(model):
    given = {"size": (0.5, 3.0), "city": ["Rome", "Wien"]}
    rows = model.sample(4000, given=given, random_state=0)
    assert rows["size"].between(0.5, 3.0).all()
    assert set(rows["city"]) == {"Rome", "Wien"}
    # five standard errors: false alarms once in two million
    for event, happened in (
        ("member", rows["member"]),
        ("size > 2", rows["size"] > 2),
        ("visits <= 2", rows["visits"] <= 2),
        ("price < 3", rows["price"] < 3),
        ("member and city = Rome", rows["member"] & (rows["city"] == "Rome")),
    ):
        p = model.probability(event, given=given)
        assert abs(happened.mean() - p) < 5 * np.sqrt(p * (1 - p) / len(rows)), event
    pd.testing.assert_frame_equal(rows, model.sample(4000, given=given, random_state=0))
    assert (model.sample(3, given="size = 1.25")["size"] == 1.25).all()


def test_log_prob_given_something_is_a_ratio(model, oracle):
    rows = model.sample(20, random_state=3)
    values = model._view().encode(rows)
    whole = oracle.circuit.log_density(values)
    some = values.copy()
    some[:, [0, 1, 2, 5]] = np.nan
    some[:, 3] = 3.0
    rows["visits"] = 3
    rows["city"] = "Rome"
    values[:, 3], values[:, 4] = 3.0, 1.0
    some[:, 4] = 1.0
    expected = oracle.circuit.log_density(values) - oracle.circuit.log_density(some)
    assert whole.shape == expected.shape
    features = rows[["size", "price", "wait", "member"]]
    asked = model.log_prob(features, given={"visits": 3, "city": "Rome"})
    np.testing.assert_allclose(asked, expected, rtol=1e-5, atol=1e-5)


def test_log_prob_given_a_range(model, oracle):
    frame = pd.DataFrame({"member": [True, False, True], "visits": [1, 2, 5]})
    asked = model.log_prob(frame, given={"size": (0.0, 2.0)})
    whole = oracle.integral("size", 0.0, 2.0)
    for value, (member, visits) in zip(asked, frame.to_numpy(float), strict=True):
        joint = oracle.integral("size", 0.0, 2.0, member=member, visits=visits)
        assert value == pytest.approx(np.log(joint / whole), rel=1e-7)
    outside = model.log_prob(pd.DataFrame({"size": [1.0, 3.0]}), given={"size": (0.0, 2.0)})
    assert outside[0] == pytest.approx(np.log(oracle.density(size=1.0)[0] / whole), rel=1e-7)
    assert outside[1] == -np.inf


def test_intervals_are_quantiles_over_networks_with_drawn_parameters(model):
    rows = np.full((2, 6), np.nan)
    rows[:, 4] = 1.0
    rows[0, 5] = 1.0
    joint, given = np.exp(model.posterior_.score_draws(rows, DRAWN_SEED)).T
    low, high = np.quantile(joint / given, [0.05, 0.95], method="weibull")
    answer = model.probability("member", given="city = Rome", interval=0.9)
    assert (answer.low, answer.high) == pytest.approx((low, high), rel=1e-5)
    assert answer.value == pytest.approx(model.probability("member", given="city = Rome"))
    narrow = model.probability("member", given="city = Rome", interval=0.5)
    assert answer.low < narrow.low < narrow.high < answer.high
    scores = model.log_prob(pd.DataFrame({"size": [1.0]}), interval=0.9)
    assert scores.low[0] < scores.high[0]


def test_intervals_leave_half_of_the_rest_on_each_side():
    said = np.random.default_rng(0).permutation(99.0 + np.arange(99))
    low, high = spread_draws(said, 0.9)
    assert (low, high) == pytest.approx((99.0 + 4.0, 99.0 + 94.0))


def test_chain_rule_through_condition_and_marginal(model):
    event, given = "member and size > 1", "visits > 2"
    both = model.probability(f"{event} and {given}")
    assert both == pytest.approx(model.probability(event, given=given) * model.probability(given))
    part = model.condition(given).marginal(["size", "member"])
    assert part.probability(event) == pytest.approx(model.probability(event, given=given))
    assert part.condition("size > 1").probability("member") == pytest.approx(
        both / model.probability("size > 1 and visits > 2")
    )
    assert part.sample(3, random_state=0).columns.tolist() == ["size", "member"]
    assert "visits" in repr(part)
    with pytest.raises(ValueError, match="no column 'city'"):
        part.probability("city = Rome")


def test_distribution_agrees_with_probability(model):
    cities = model.distribution("city", given="visits > 2", interval=0.9)
    assert cities["probability"].sum() == pytest.approx(1)
    for row in cities.itertuples():
        p = model.probability(f"city == {row.value}", given="visits > 2")
        assert row.probability == pytest.approx(p)
    sizes = model.distribution("size", given="visits > 2")
    assert sizes["probability"].sum() == pytest.approx(1)
    low, high = sizes["from"].iloc[10], sizes["to"].iloc[10]
    asked = model.probability({"size": (low, high)}, given="visits > 2")
    assert sizes["probability"].iloc[10] == pytest.approx(asked)
    cut = model.distribution("size", given="size > 1")
    assert cut["probability"].sum() == pytest.approx(1)
    assert (cut.loc[cut["to"] < 1, "probability"] == 0).all()


def test_mutual_information_matches_enumeration(model):
    rows = np.full((6, 6), np.nan)
    rows[:, 4], rows[:, 5] = np.repeat([0, 1, 2], 2), np.tile([0, 1], 3)
    rows[:, 3] = 4
    scores = model.posterior_.score_draws(rows, DRAWN_SEED)
    p = np.exp(scores).reshape(-1, 3, 2)
    p /= p.sum(axis=(1, 2), keepdims=True)
    apart = p.sum(2, keepdims=True) * p.sum(1, keepdims=True)
    exact = (p * np.log(p / apart)).sum(axis=(1, 2))
    answer = model.mutual_information("city", "member", given="visits = 4", interval=0.9)
    assert answer.value == pytest.approx(exact.mean(), rel=1e-4, abs=1e-7)
    assert answer.low == pytest.approx(
        np.quantile(exact, 0.05, method="weibull"), rel=1e-4, abs=1e-7
    )


def test_mutual_information_of_continuous_columns_matches_integration(model):
    """Against a double integral over the densities of every drawn network."""
    x, y = np.linspace(-4, 10, 241), np.linspace(0.02, 60, 400)
    X = np.full((len(x) * len(y), 6), np.nan)
    X[:, 0], X[:, 1] = np.repeat(x, len(y)), np.tile(y, len(x))
    rows = model.posterior_.encode(X)
    circuit = next(iter(model.posterior_.circuits(DRAWN_SEED)))
    p = np.exp(compiled.log_likelihood(circuit, rows)).reshape(len(x), len(y))
    p /= p.sum()
    apart = p.sum(1, keepdims=True) * p.sum(0, keepdims=True)
    integral = (p * np.log(np.where(p > 0, p / apart, 1))).sum()
    view = model._view()
    cells = {c: view.conditional.cells(c) for c in (0, 1)}
    joint = joint_masses(view.drawn_conditional, 0, cells[0], {1: cells[1]})[1]
    assert mutual_information(joint)[0] == pytest.approx(integral, rel=0.05)


def test_dependence_tells_related_columns(model):
    table = model.dependence()
    assert table.index.tolist() == table.columns.tolist() == list(model.schema_.names)
    assert (np.diag(table) == 1).all()
    np.testing.assert_array_equal(table, table.T)
    assert table.loc["size", "price"] == 1


def test_impossible_given_names_the_culprit(model):
    negative = ValueSet.of([(-2.0, -1.0)])
    with pytest.raises(QuestionError, match=r"^what is given, 'wait' .* probability zero") as error:
        model.probability("member", given={"city": "Rome", "wait": negative, "visits": 2})
    assert "'city'" not in str(error.value)
    with pytest.raises(QuestionError, match=r"no value satisfies .*'wait'"):
        model.probability("member", given={"wait": (-2, -1)})  # all that were seen are positive
    with pytest.raises(QuestionError, match="it contradicts what is given already"):
        model.condition("size > 3").probability("member", given="size < 2")


def test_questions_that_make_no_sense_are_refused(model):
    for ask, words in (
        (lambda: model.expectation("city"), "no mean"),
        (lambda: model.quantile("city"), "no order"),
        (lambda: model.quantile("size", 1.5), "between 0 and 1"),
        (lambda: model.probability("member", interval=90), "between 0 and 1"),
        (lambda: model.mutual_information("size", "size"), "twice"),
        (lambda: model.probability("height > 2"), "height"),
        (lambda: model.marginal(["size", "size"]), "twice"),
        (lambda: model.sample(0), "n_samples"),
    ):
        with pytest.raises(ValueError, match=words):
            ask()


def test_surprise_of_categories_matches_enumeration(model, oracle):
    frame = pd.DataFrame({"city": ["Oslo", "Wien"], "visits": [7, 0]})
    asked = model.surprise(frame)
    p = oracle.density(city=[0, 1, 2], visits=[7.0, 0.0])
    for row, code in enumerate((0, 2)):
        given = p[:, row] / p[:, row].sum()
        expected = -np.log(given[given <= given[code] * (1 + 1e-9)].sum())
        assert asked["city"].iloc[row] == pytest.approx(expected, rel=1e-5)
    assert np.isnan(asked["size"]).all()


def test_surprise_grows_in_the_tails(model):
    frame = pd.DataFrame({"size": [1.0, 9.0, 30.0, -30.0]})
    surprises = model.surprise(frame)["size"].to_numpy()
    assert surprises[0] < 3.5 < surprises[1] < surprises[2]
    beyond = model.probability("size >= 30")
    assert surprises[2] == pytest.approx(-np.log(beyond), rel=1e-6)


def test_unusual_rows_stand_out(model):
    rows = model.sample(60, random_state=4)
    rows.loc[0, ["size", "visits"]] = (60.0, 0)
    rows.loc[1, "price"] = np.nan
    scores = model.anomaly_score(rows)
    assert scores.argmax() == 0
    assert scores[0] > 3
    assert np.isfinite(scores).all()
    np.testing.assert_array_equal(scores, model.anomaly_score(rows))


def test_what_is_known_exactly_is_the_answer(model):
    given = {"size": 1.5, "city": "Rome"}
    assert model.expectation("size", given=given) == 1.5
    assert model.expectation("size", given=given, interval=0.9) == (1.5, 1.5, 1.5)
    assert model.quantile("size", 0.2, given=given) == 1.5
    assert model.quantile("size", 0.2, given=given, interval=0.9) == (1.5, 1.5, 1.5)
    assert model.mode("city", given=given) == "Rome"
    assert model.mode("city", given=given, interval=0.9) == ("Rome", (1.0, 1.0, 1.0))
    shares = model.distribution("city", given=given)["probability"].tolist()
    assert shares == pytest.approx([0.0, 1.0, 0.0])  # weights of draws add up to 1 but for rounding
    assert model.distribution("size", given=given)["probability"].sum() == pytest.approx(1)
    assert model.mutual_information("size", "price", given=given) == 0


def test_rounding_does_not_leave_what_is_given(model):
    column = model.schema_["size"]
    coarse = model.schema_.replace("size", resolution=0.1, origin=0.0)
    assert column.resolution is None
    view = dataclasses.replace(model._view(), schema=coarse)
    narrow = ValueSet.of([(1.04, 1.08)])
    rows = Conditional(view).sample(200, given={"size": narrow}, random_state=0)["size"]
    assert rows.between(1.04, 1.08).all()
    rows = Conditional(view).sample(200, given={"size": (0.0, 2.0)}, random_state=0)["size"]
    assert (rows == rows.round(1)).all()
    assert (Conditional(view).sample(2, given="size = 1.2345")["size"] == 1.2345).all()


def test_sampled_numbers_are_plausible(model):
    """The predictive leaves' tails are heavy: unchecked, some of these rows would be far out."""
    rows = model._view().encode(model.sample(5000, random_state=0))
    columns = model.posterior_.model.leaves.columns
    low, high = np.array([column.plausible for column in columns]).T
    assert ((rows >= low) & (rows <= high)).all()
    unchecked = model.posterior_.sample(5000, 0)
    assert ((unchecked < low) | (unchecked > high)).any()


def test_a_single_column_need_not_be_in_a_list(model):
    assert model.marginal("size").sample(2, random_state=0).columns.tolist() == ["size"]
    assert list(model.distributions("city")) == ["city"]
    assert model.entropy("city", knowing="size") == model.entropy("city", knowing=["size"])


@pytest.mark.parametrize("q", ["half", None, np.nan, 1.5, [0.5, "x"], [[0.5]]])
def test_levels_that_are_none_are_refused_in_words(model, q):
    with pytest.raises(QuestionError, match="q must lie between 0 and 1, such as"):
        model.quantile("size", q)


def test_a_row_that_is_given_as_a_series_is_refused_with_a_way_out(model):
    row = model.sample(2, random_state=0).iloc[0]
    with pytest.raises(TableError, match=r"a Series: .* one row that is given is a dict"):
        model.probability("member", given=row)
