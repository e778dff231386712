"""Dates and numbers that tables hold as text."""

import numpy as np
import pandas as pd
import pytest

from bayesspn import BayesianSPN
from bayesspn.questions.event_values import encode_bound
from bayesspn.questions.events import QuestionError, read_event
from bayesspn.tables import decode, encode, infer_schema
from bayesspn.tables.text_values import marked_number

DAYS = pd.date_range("2023-01-01", periods=40).strftime("%Y-%m-%d").tolist()


def table():
    rng = np.random.default_rng(0)
    price = [f"${value:,.2f}" for value in 10 ** rng.uniform(0, 5, 40)]
    share = [f"{value}%" for value in rng.integers(0, 100, 40)]
    frame = pd.DataFrame({"day": DAYS, "price": price, "share": share, "code": ["1", "2"] * 20})
    frame.loc[7] = None
    return frame


@pytest.mark.filterwarnings("ignore:column 'share'")
def test_dates_and_numbers_in_text_are_what_they_say():
    frame = table()
    with pytest.warns(UserWarning, match=r"column 'price' holds numbers as text, such as '\$"):
        schema = infer_schema(frame)
    assert [column.kind for column in schema] == ["datetime", "real", "integer", "category"]
    values = encode(frame, schema)
    assert np.isnan(values[7]).all()
    assert values[3, 1] == float(frame["price"][3].replace("$", "").replace(",", ""))
    moments = frame.assign(day=pd.to_datetime(frame["day"]))
    np.testing.assert_array_equal(values[:, 0], encode(moments, schema)[:, 0])


@pytest.mark.parametrize(
    "cells",
    [
        ["2023-02-30", "2023-01-01"],
        ["2023-01-01", "soon"],
        ["$5", "5 dollars"],
        ["1,23", "4,56"],
        ["12", "13"],
    ],
)
def test_whatever_is_not_all_dates_or_numbers_stays_text(cells):
    schema = infer_schema(pd.DataFrame({"a": cells * 10}))
    assert schema["a"].kind == "category"


@pytest.mark.filterwarnings("ignore:column '(price|share)'", "ignore:answers about")
def test_a_model_of_such_columns_takes_them_as_text_again():
    frame = table()
    model = BayesianSPN(chains=2, burn_in=10, draws=5, random_state=0).fit(frame)
    assert np.isfinite(model.score_samples(frame.head(3))).all()
    assert 0 < model.probability("price > 100 and day > 2023-01-20") < 1
    assert pd.api.types.is_datetime64_any_dtype(model.sample(3, random_state=0)["day"])


@pytest.mark.parametrize(
    "offsets",
    [("+02:00", "+02:00"), ("+01:00", "+02:00"), ("Z", "Z"), ("-05:30", "Z"), ("+0100",) * 2],
)
def test_moments_with_offsets_keep_their_place_on_the_clock_of_utc(offsets):
    words = [
        f"2024-{month:02}-15T00:30:00{offset}"
        for month, offset in zip((1, 7), offsets, strict=True)
    ]
    frame = pd.DataFrame({"at": words * 10})
    schema = infer_schema(frame)
    assert schema["at"].dtype == "datetime64[us, UTC]"
    back = decode(encode(frame, schema), schema)["at"]
    assert back.tolist() == [pd.Timestamp(word).tz_convert("UTC") for word in words] * 10


@pytest.mark.parametrize("other", ["2024-07-15T00:30:00", "2024-07-15"])
def test_moments_of_which_some_have_an_offset_stay_text(other):
    schema = infer_schema(pd.DataFrame({"at": ["2024-01-15T00:30:00+01:00", other] * 10}))
    assert schema["at"].kind == "category"


def test_numbers_below_a_thousand_need_no_comma_beside_those_that_have_some():
    frame = pd.DataFrame({"pay": ["1,234", "999", "0.5", "-12", "2,000,000"] * 4})
    with pytest.warns(UserWarning, match="column 'pay' holds numbers as text"):
        schema = infer_schema(frame)
    assert encode(frame, schema)[:5, 0].tolist() == [1234.0, 999.0, 0.5, -12.0, 2_000_000.0]
    codes = pd.DataFrame({"code": ["1,234", "007"] * 10})
    assert infer_schema(codes)["code"].kind == "category"


@pytest.mark.parametrize("text", ["$1,234.50", "1,234.5", "1234.5 %", "999", "-$3"])
def test_questions_take_numbers_as_cells_hold_them(text):
    schema = infer_schema(pd.DataFrame({"pay": [1.5, 2.25, 1234.5]}))
    number = marked_number(text)
    assert encode_bound(text, schema["pay"]) == number
    written, plain = (read_event(f"pay < {value}", schema) for value in (f"'{text}'", number))
    assert str(written) == str(plain)


def test_text_that_is_no_number_is_refused_in_questions():
    schema = infer_schema(pd.DataFrame({"pay": [1.5, 2.25]}))
    for text in ("1,23", "5 dollars", "$", "%"):
        with pytest.raises(QuestionError, match="is not a number"):
            encode_bound(text, schema["pay"])
