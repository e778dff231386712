"""Soft evidence: answers are averages over the distribution that is given."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bayesspn import BayesianSPN
from bayesspn.questions.event_values import QuestionError


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    job = rng.choice(["clerk", "nurse", "cook"], 150)
    age = rng.integers(20, 60, 150) + 10 * (job == "cook")
    seen = pd.Timestamp("2024-01-01") + pd.to_timedelta(age, "D")
    table = pd.DataFrame({"job": job, "age": age, "ill": age > 50, "seen": seen})
    return BayesianSPN(chains=2, burn_in=40, draws=20, random_state=0).fit(table)


def test_probabilities_follow_jeffreys_rule(model):
    shares = {"clerk": 0.5, "cook": 0.3, "nurse": 0.2}
    exact = sum(
        share * model.probability("ill", given={"job": job, "age": (20, 55)})
        for job, share in shares.items()
    )
    soft = model.probability("ill", given={"job": shares, "age": (20, 55)}, interval=0.9)
    assert soft.value == pytest.approx(exact, abs=1e-12)
    assert 0 <= soft.low <= soft.value <= soft.high <= 1
    # of the column itself, it is what was given
    assert model.probability("job = cook", given={"job": shares}) == pytest.approx(0.3)


def test_two_distributions_and_ranges(model):
    given = {"job": {"clerk": 0.5, "cook": 0.5}, "age": {(20, 40): 0.9, (41, 60): 0.1}}
    exact = sum(
        p * q * model.probability("ill", given={"job": job, "age": age})
        for job, p in given["job"].items()
        for age, q in given["age"].items()
    )
    assert model.probability("ill", given=given) == pytest.approx(exact, abs=1e-12)


def test_all_on_one_value_is_that_value(model):
    soft = model.probability("ill", given={"job": {"cook": 1.0, "nurse": 0.0}}, interval=0.8)
    hard = model.probability("ill", given={"job": "cook"}, interval=0.8)
    assert soft == hard


def test_expectations_are_averages(model):
    given = {"job": {"clerk": 0.25, "cook": 0.75}}
    for column in ("age", "ill"):
        parts = [model.expectation(column, given={"job": job}) for job in given["job"]]
        soft = model.expectation(column, given=given, interval=0.9)
        assert soft.value == pytest.approx(0.25 * parts[0] + 0.75 * parts[1])
        assert soft.low < soft.value < soft.high
    early, late = (model.expectation("seen", given={"job": job}) for job in ("clerk", "cook"))
    assert early < model.expectation("seen", given=given) < late
    frame = model.expectation(["age", "ill"], given=given)
    assert frame.loc["age", "value"] == model.expectation("age", given=given)
    assert model.expectation("age", given={"age": {30: 0.5, 40: 0.5}}, interval=0.9).low == 35


def test_shares_that_were_rounded_add_up_to_one(model):
    shares = {"clerk": 0.3000005, "cook": 0.7000004}
    assert model.probability("age >= 0", given={"job": shares}) <= 1.0
    answer = model.probability("age >= 0", given={"job": shares}, interval=0.9)
    assert answer.value == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(
    ("column", "shares"),
    [
        ("age", {(20, 40): 0.5, (30, 60): 0.5}),
        ("age", {(20, 40): 0.5, (40, 60): 0.5}),  # 40 is recorded, and in both
        ("age", {30: 0.5, (20, 40): 0.5}),
    ],
)
def test_values_that_do_not_exclude_each_other_are_refused(model, column, shares):
    with pytest.raises(QuestionError, match="in common"):
        model.probability("ill", given={column: shares})


def test_ranges_without_a_grid_may_meet():
    table = pd.DataFrame({"x": np.random.default_rng(0).normal(size=80), "g": [True, False] * 40})
    model = BayesianSPN(chains=1, burn_in=10, draws=5, random_state=0).fit(table)
    given = {"x": {(-9.0, 0.0): 0.5, (0.0, 9.0): 0.5}}
    assert 0 < model.probability("g", given=given) < 1
    with pytest.raises(QuestionError, match="in common"):
        model.probability("g", given={"x": {(-9.0, 0.5): 0.5, (0.0, 9.0): 0.5}})


@pytest.mark.parametrize(
    ("shares", "message"),
    [
        ({"clerk": 0.5, "cook": 0.4}, "add up to 1"),
        ({"clerk": 1.5, "cook": -0.5}, "no distribution"),
        ({"clerk": "much"}, "no distribution"),
        ({}, "no distribution"),
        ({"pilot": 1.0}, "pilot"),
    ],
)
def test_what_is_no_distribution_is_refused(model, shares, message):
    with pytest.raises(QuestionError, match=message):
        model.probability("ill", given={"job": shares})


def test_other_questions_say_that_they_do_not_understand(model):
    with pytest.raises(QuestionError, match="only probability and expectation"):
        model.quantile("age", 0.5, given={"job": {"clerk": 0.5, "cook": 0.5}})
    many = {column: dict.fromkeys(range(30, 50), 0.05) for column in ("age",)}
    with pytest.raises(QuestionError, match="combinations"):
        model.probability(
            "ill", given=many | {"seen": {f"2024-02-{k:02d}": 0.05 for k in range(1, 21)}}
        )
