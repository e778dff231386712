"""Dates and numbers that tables hold as text."""

import numpy as np
import pandas as pd
import pytest

from bayesspn import BayesianSPN
from bayesspn.tables import encode, infer_schema

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
