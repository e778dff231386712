"""Surveys of parts, merged, give the schema of the whole."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from bayesspn.tables import TableError, infer_schema
from bayesspn.tables.frames import open_table
from bayesspn.tables.infer import infer_column
from bayesspn.tables.surveys import merge_surveys, survey_cells

RNG = np.random.default_rng(0)
ROWS = 240
COLUMNS = {
    "real": RNG.normal(size=ROWS),
    "positive": RNG.lognormal(size=ROWS),
    "from zero": np.r_[0.0, RNG.exponential(size=ROWS - 1)],
    "codes": RNG.integers(0, 7, ROWS),
    "zero or one": np.r_[np.zeros(ROWS - 1), 1],
    "large codes": RNG.choice([0, 5_000, 10_000], ROWS),
    "count": RNG.poisson(12, ROWS) * (np.arange(ROWS) % 2),
    "many": RNG.integers(0, 1_001, ROWS),
    "large": RNG.integers(0, 10**6, ROWS),
    "negative": RNG.integers(-5, 5, ROWS),
    "measured": np.arange(ROWS) % 121,
    "late fraction": np.r_[np.arange(ROWS - 1), 0.5],
    "text": RNG.choice(["u", "v", "w"], ROWS),
    "late text": np.r_[np.repeat("m", ROWS - 1), ["a"]],
    "truth": RNG.random(ROWS) < 0.5,
    "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(RNG.integers(0, 99, ROWS), "D"),
    "moment": pd.Timestamp("2024-01-01") + pd.to_timedelta(np.r_[np.zeros(ROWS - 1), 61], "s"),
    "length of time": pd.to_timedelta(RNG.integers(1, 99, ROWS), "min"),
    "declared": pd.Categorical(RNG.choice(["b", "a"], ROWS), categories=["c", "b", "a"]),
}


def survey(series):
    return survey_cells(open_table(pd.DataFrame({"x": series})).read(0))


@pytest.mark.parametrize("parts", [2, 7, ROWS])
@pytest.mark.parametrize("name", COLUMNS)
def test_merged_surveys_give_the_schema_of_the_whole(name, parts):
    column = pd.Series(COLUMNS[name])
    ends = np.linspace(0, ROWS, parts + 1).astype(int)
    pieces = [survey(column[a:b]) for a, b in pairwise(ends)]
    whole = infer_schema(pd.DataFrame({"x": column})).columns[0]
    assert infer_column(merge_surveys(pieces)) == whole
    # in any order of merging
    half = merge_surveys([merge_surveys(pieces[:1]), merge_surveys(pieces[1:])])
    assert infer_column(half) == whole


def test_parts_without_observed_cells_say_nothing():
    nothing = survey(pd.Series([None, None], dtype=object))
    text = survey(pd.Series(["u", "v"]))
    assert infer_column(merge_surveys([nothing, text])).categories == ("u", "v")
    with pytest.raises(TableError, match="no observed value"):
        infer_column(merge_surveys([nothing, nothing]))


def test_parts_of_different_content_are_refused():
    with pytest.raises(TableError, match=r"'x' holds numbers in one part .* and categories in"):
        merge_surveys([survey(pd.Series([1.5])), survey(pd.Series(["u"]))])


@pytest.mark.parametrize("size", [1, 2, 5, 100, 101])
def test_the_median_is_exact(size):
    values = RNG.integers(0, 30, size)
    parts = [survey(pd.Series(part)) for part in np.array_split(values, min(3, size))]
    assert merge_surveys(parts).median == np.median(values)
