"""Inference: which kind and which families a column gets, and what is refused."""

from __future__ import annotations

import decimal
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from same_frames import TEXT

from bayesspn import BayesianSPN
from bayesspn.tables import TableError, infer_schema

RNG = np.random.default_rng(0)


def infer(values, **options):
    return infer_schema(pd.DataFrame({"x": pd.Series(values, **options)}))["x"]


@pytest.mark.parametrize(
    ("values", "kind", "families"),
    [
        ([True, False, True], "binary", ("bernoulli",)),
        ([True, True, True], "binary", ("bernoulli",)),
        (["a", "b", "a"], "category", ("categorical",)),
        ([0, 1], "category", ("categorical",)),
        ([0.0, 1.0, np.nan], "category", ("categorical",)),
        (list(range(20)) * 2, "integer", ("gaussian", "atoms")),
        ([4, 30, 30, 4], "category", ("categorical",)),
        ([1, 2, 3] * 4, "integer", ("gaussian", "atoms")),
        (list(range(1, 22)) * 2, "integer", ("gaussian", "lognormal")),
        (list(range(21)) * 2, "count", ("poisson", "geometric")),
        ([0, 2, 4, 8, 16], "count", ("poisson", "geometric")),
        ([0, 2, 4, 8, 1000], "count", ("poisson", "geometric")),
        ([0, 2, 4, 8, 1001], "integer", ("gaussian", "exponential")),
        ([0, 20, 40, 80, 160], "integer", ("gaussian", "exponential")),
        ([17, 20, 40, 80, 90], "integer", ("gaussian", "lognormal")),
        ([17.0, 20.0, np.nan, 80.0, 90.0], "integer", ("gaussian", "lognormal")),
        ([-1, 1] * 10, "integer", ("gaussian", "atoms")),
        ([5, 5, 5], "category", ("categorical",)),
        ([5], "integer", ("gaussian", "lognormal")),
        ([1.5, 2.5], "real", ("gaussian", "lognormal")),
        ([0.0, 2.5], "real", ("gaussian", "exponential")),
        ([-0.5, 2.5] * 30, "real", ("gaussian", "atoms")),
        ([0.0] * 40 + [k + 0.37 for k in range(60)], "real", ("gaussian", "exponential", "atoms")),
        ([0.0] * 40 + [k + 0.5 for k in range(1500)], "real", ("gaussian", "exponential", "atoms")),
        ([k / 7 for k in range(60)], "real", ("gaussian", "exponential")),
        ([1.5] * 4, "real", ("gaussian", "lognormal")),
        ([1e17, 3e17], "real", ("gaussian", "lognormal")),
        (pd.to_datetime(["2024-01-01", "2024-01-02"]), "datetime", ("gaussian",)),
        (pd.to_datetime(["1970-01-01", "1971-01-01"] * 5), "datetime", ("gaussian", "atoms")),
        (pd.to_timedelta(["1s", "2s"]), "duration", ("gaussian", "lognormal")),
        (pd.to_timedelta(["0s", "2s"]), "duration", ("gaussian", "exponential")),
        (pd.to_timedelta(["-1s", "2s"]), "duration", ("gaussian",)),
        (pd.to_timedelta(["0s", "60s"] * 5), "duration", ("gaussian", "atoms")),
        (
            pd.Timestamp("1950-01-01") + pd.to_timedelta([0] * 100 + list(range(2_000)), "D"),
            "datetime",
            ("gaussian", "atoms"),
        ),
        *(
            (
                pd.to_timedelta([0] * most + list(range(most)), "s"),
                "duration",
                ("gaussian", "exponential", "atoms"),
            )
            for most in (2_000, 60_000)  # the latter are too many to remember
        ),
    ],
)
def test_kind_and_families_follow_the_rules(values, kind, families):
    column = infer(values)
    assert (column.kind, column.families) == (kind, families)
    assert column.resolution == (1.0 if kind == "integer" else column.resolution)


def test_categories_are_sorted_or_as_declared():
    assert infer(["b", None, "a", "c"]).categories == ("a", "b", "c")
    assert infer([30, 4, 30, 4]).categories == (4, 30)
    declared = pd.Categorical(["b", "a"], categories=["z", "b", "a"], ordered=True)
    assert infer(declared).categories == ("z", "b", "a")
    assert infer(declared).ordered
    assert infer(declared).families == ("categorical", "binomial")
    two = pd.Categorical(["b", "a"], categories=["b", "a"], ordered=True)
    assert infer(two).families == ("categorical",)
    table = pl.DataFrame({"x": pl.Series(["b"], dtype=pl.Enum(["z", "b"]))})
    assert infer_schema(table)["x"].categories == ("z", "b")


@pytest.mark.parametrize(
    ("moments", "step"),
    [
        (["2024-01-01", "2023-06-30"], 86_400.0),
        (["2024-01-01 05:00", "1969-12-31"], 3_600.0),
        (["2024-01-01 05:01", "2024-01-01"], 60.0),
        (["2024-01-01 05:01:07", "2024-01-01"], 1.0),
        (["2024-01-01 05:01:07.25", "2024-01-01"], 1e-3),
        (["2024-01-01 05:01:07.000001", "2024-01-01"], 1e-6),
    ],
)
def test_moments_are_recorded_to_their_coarsest_step(moments, step):
    assert infer(pd.to_datetime(moments, format="ISO8601")).resolution == step


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([None, np.nan], "column 'x' has no observed value; drop it or give its schema"),
        (pd.Categorical([None], ["a"]), "column 'x' has no observed value; drop it"),
        ([1.5, np.inf], r"column 'x', row 1: the value is infinite \(inf\)"),
        ([1.5, 2.5, -np.inf], r"column 'x', row 2: the value is infinite \(-inf\)"),
        ([2**53 + 1], r"column 'x', row 0: 9007199254740993 is beyond 2\^53.*make it text"),
        ([0, 2**64 - 1], r"column 'x', row 1: 18446744073709551615 is beyond 2\^53"),
        ([0, 2**64], r"column 'x': 18446744073709551616 does not fit into 64 bits; drop"),
        (["a", 1], r"column 'x' mixes types: row 0 holds 'a' \(str\) and row 1 holds 1 \(int\)"),
        ([None, True, 1], r"mixes types: row 1 holds True \(bool\) and row 2 holds 1 \(int\)"),
        ([True, 0.5], r"mixes types: row 0 holds True \(bool\) and row 1 holds 0.5 \(float\)"),
        ([b"a", b"b"], r"column 'x', row 0: b'a' is of type bytes; decode the column to text"),
        ([decimal.Decimal("1.5")], r"'x', row 0: Decimal\('1.5'\) .*convert the column to float"),
        ([1j], r"Complex data not supported"),
        (pd.period_range("2024", periods=2, freq="D"), r"period\[D\], which is not supp.*to_times"),
        (pd.arrays.SparseArray([0, 1]), r"'x' is of type Sparse\[int64, 0\].*sparse\.to_dense"),
        (pd.cut([1, 2], 2), r"category Interval\(.* is of type Interval; .*convert them to text"),
    ],
)
def test_what_cannot_be_modelled_is_named_with_the_fix(values, message):
    with pytest.raises(TableError, match=message):
        infer(values)


def test_a_dateutil_time_zone_is_named():
    times = pd.Series(pd.to_datetime(["2024-01-01"])).dt.tz_localize("dateutil/Europe/Berlin")
    with pytest.raises(TableError, match=r"column 'x': the time zone .* has no standard name"):
        infer(times)


@pytest.mark.parametrize(
    ("n_cells", "n_levels", "refused"),
    [(49, 49, False), (50, 45, False), (50, 46, True), (1000, 100, False), (4000, 1001, True)],
)
def test_identifiers_are_refused(n_cells, n_levels, refused):
    values = [f"id {k % n_levels}" for k in range(n_cells)]
    if not refused:
        assert len(infer(values).categories) == n_levels
        return
    with pytest.raises(
        TableError, match=f"column 'x' has {n_levels:,} different values.*'id 0'; dr"
    ):
        infer(values)
    assert len(infer(values, dtype="category").categories) == n_levels


def test_tables_without_rows_or_columns_are_refused():
    with pytest.raises(TableError, match=r"0 sample\(s\) \(shape=\(0, 1\)\) while a minimum of 1"):
        infer_schema(pd.DataFrame({"x": []}))
    message = r"0 feature\(s\) \(shape=\(3, 0\)\) while a minimum of 1 is required\."
    for table in (pd.DataFrame(index=range(3)), np.empty((3, 0))):
        with pytest.raises(TableError, match=message):
            infer_schema(table)


def test_columns_of_arrays_are_named_and_objects_inferred_one_by_one():
    assert infer_schema(np.array([[1.5, 2.5]])).names == ("x0", "x1")
    schema = infer_schema(np.array([["a", 1.5, True], [None, -2.5, False]], dtype=object))
    assert [column.kind for column in schema] == ["category", "real", "binary"]


def test_all_libraries_infer_the_same_from_the_same_table():
    columns = {
        "n": RNG.integers(0, 500, 30).tolist(),
        "yes": (RNG.random(30) < 0.5).tolist(),
        "city": RNG.choice(["Rome", "Oslo"], 30).tolist(),
        "size": RNG.normal(size=30).tolist(),
    }
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    expected = infer_schema(pd.DataFrame(columns))
    assert infer_schema(rows) == expected
    assert expected["city"].dtype == TEXT
    expected = expected.replace("city", dtype="str")
    assert infer_schema(pl.DataFrame(columns)) == expected
    assert infer_schema(pl.DataFrame(columns).to_arrow()) == expected


def test_all_columns_of_identifiers_are_named_at_once():
    names = [f"n{k}" for k in range(60)]
    table = pd.DataFrame({"name": names, "x": np.arange(60.0) / 7, "mail": names})
    with pytest.raises(TableError, match="columns 'name', 'mail' have nearly as many different"):
        infer_schema(table)


def test_row_numbers_are_warned_of():
    table = pd.DataFrame({"id": np.arange(60), "x": np.tile([0.5, 1.5, 2.75], 20)})
    with pytest.warns(UserWarning, match="column 'id' looks like row numbers"):
        infer_schema(table)
    with pytest.warns(UserWarning, match="looks like row numbers") as heard:  # names this line
        BayesianSPN(chains=1, burn_in=1, draws=1).fit(table)
    assert {warning.filename for warning in heard} == {__file__}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        infer_schema(table.assign(id=table["id"] * 2))


def test_values_far_below_the_precision_count_as_zeros():
    amounts = [1e-6] * 30 + list(range(1, 400, 3))
    [column] = infer_schema(pd.DataFrame({"amount": amounts}))
    assert column.families == ("gaussian", "exponential", "atoms")


def test_counts_with_heaps_have_atoms():
    rng = np.random.default_rng(0)
    months = rng.choice([0, 6, 12, 24], size=200)
    visits = rng.geometric(0.25, size=200) - 1
    table = pd.DataFrame({"months": months, "visits": np.append(visits[1:], 21)})
    kinds = {column.name: (column.kind, column.families) for column in infer_schema(table)}
    assert kinds["months"] == ("integer", ("gaussian", "atoms"))
    assert kinds["visits"] == ("count", ("poisson", "geometric"))


@pytest.mark.parametrize("recurring", [-99.0, 800.0])
def test_stand_ins_among_thousands_of_values_are_atoms(recurring):
    rng = np.random.default_rng(0)
    amounts = np.minimum(rng.gamma(4.0, 80.0, 4_000), 799.0).round(2)
    amounts[rng.random(4_000) < 0.05] = recurring
    [column] = infer_schema(pd.DataFrame({"amount": amounts}))
    assert "atoms" in column.families


def test_whole_numbers_of_hundreds_are_recorded_to_hundreds():
    wages = 100 * np.random.default_rng(0).integers(10, 90, 300)
    table = pd.DataFrame({"wage": wages})
    assert infer_schema(table)["wage"].resolution == 100.0
    assert infer_schema(table + np.arange(300)[:, None])["wage"].resolution == 1.0
