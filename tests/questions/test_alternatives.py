"""Alternatives: what one of several events has for a probability."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from bayesspn.prediction.value_sets import ValueSet, include_exclude
from bayesspn.questions.events import QuestionError, read_any, read_event, read_question


def test_alternatives_add_up_to_the_opposite_of_none(model):
    for given in ("", " | price < 5"):
        one = model.probability(f"member or city = Rome or size > 2{given}")
        none = model.probability(f"not member and city != Rome and size <= 2{given}")
        assert one + none == pytest.approx(1)


def test_alternatives_of_one_column_are_one_set(model):
    assert model.probability("visits < 1 or visits > 3") == pytest.approx(
        1 - model.probability("visits in [1, 2, 3]")
    )
    assert model.probability("size > 1 or size > 2") == model.probability("size > 1")


def test_and_binds_more_tightly_than_or(model):
    found = model.probability("member and size > 2 or not member and size < 1", interval=0.9)
    apart = [model.probability(e) for e in ("member and size > 2", "not member and size < 1")]
    assert found.value == pytest.approx(sum(apart))
    assert found.low < found.value < found.high


def test_rows_have_alternatives_too(model):
    rows = model.sample(4, random_state=0)
    found = model.probability("member or visits > 2", given=rows, interval=0.9)
    for place, row in rows.iterrows():
        known = row.drop(["member", "visits"]).to_dict()
        single = model.probability("member or visits > 2", given=known, interval=0.9)
        np.testing.assert_allclose([part[place] for part in found[:3]], single[:3], rtol=1e-4)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(member or size > 2) and visits > 3", "in parentheses"),
        ("member | size > 2 or visits > 3", "'or' is not understood here"),
        ("member or", "expected a column"),
        ("or member", "no column 'or'"),
        (" or ".join(["member and size > 2"] * 20), "at most 12 alternatives"),
    ],
)
def test_what_is_not_understood_is_said(model, text, message):
    with pytest.raises(QuestionError, match=message):
        model.probability(text)


def test_one_event_is_still_asked_for_where_alternatives_make_no_sense(model):
    schema = model.schema_
    for read in (read_event, read_question):
        with pytest.raises(QuestionError, match="'or' is not understood"):
            read("member or size > 2", schema)
    events, given = read_any("member or size > 2 | visits > 3", schema)
    assert [list(event) for event in events] == [[5], [0]]
    assert list(given) == [3]


def test_signs_and_conjunctions_count_every_value_once():
    rng = np.random.default_rng(0)
    values = np.array(list(itertools.product(range(5), repeat=3)), dtype=float)

    def holds(event):
        inside = [known.contains(values[:, column]) for column, known in event.items()]
        return np.all(inside, axis=0)

    for _ in range(30):
        events = []
        for _ in range(rng.integers(1, 5)):
            columns = rng.choice(3, rng.integers(1, 4), replace=False)
            ends = np.sort(rng.integers(0, 5, (len(columns), 2)))
            events.append(
                {
                    int(column): ValueSet.of([(float(low), float(high))])
                    for column, (low, high) in zip(columns, ends, strict=True)
                }
            )
        expected = np.any([holds(event) for event in events], axis=0)
        found = sum(sign * holds(term).astype(int) for sign, term in include_exclude(events))
        np.testing.assert_array_equal(found, expected.astype(int))
