"""Encoding: the way to floats and back changes nothing, and every wrong cell is named."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal as assert_polars_equal
from same_frames import TEXT, assert_frames_equal

from bayesspn.tables import (
    ColumnSchema,
    Schema,
    TableError,
    as_recorded,
    decode,
    encode,
    infer_schema,
)

MOMENTS = pd.to_datetime(
    ["2024-02-29 23:59:59.123456", None, "1969-12-31 23:59:59.999999", "2241-12-31 12:00:00.000001"]
)

PANDAS_COLUMNS = {
    "bool": pd.Series([True, False, True]),
    "boolean": pd.Series([True, None, False], dtype="boolean"),
    "bool[pyarrow]": pd.Series([True, None, False], dtype="bool[pyarrow]"),
    "object of bools": pd.Series([True, None, False], dtype=object),
    "int8": pd.Series([-128, 0, 127], dtype="int8"),
    "uint8": pd.Series([0, 255, 7], dtype="uint8"),
    "int64": pd.Series([-(2**53), 0, 2**53]),
    "uint64": pd.Series([0, 5, 2**53], dtype="uint64"),
    "int of two values": pd.Series([0, 1, 1, 0]),
    "int of few values": pd.Series([3, 7, 3, 7, 3, 900]),
    "constant int": pd.Series([5, 5, 5]),
    "Int64": pd.Series([1, None, 1000], dtype="Int64"),
    "Int64 of few values": pd.Series([1, None, 2, 1, 2], dtype="Int64"),
    "UInt8": pd.Series([1, None, 200], dtype="UInt8"),
    "int32[pyarrow]": pd.Series([1, None, 1000], dtype="int32[pyarrow]"),
    "object of ints": pd.Series([1, None, 1000], dtype=object),
    "floats that are whole": pd.Series([1.0, np.nan, 1000.0]),
    "whole floats of few values": pd.Series([1.0, np.nan, 2.0, 1.0, 2.0]),
    "float32": pd.Series([0.1, np.nan, -3.7], dtype="float32"),
    "float64": pd.Series([0.1, np.nan, 1e300]),
    "Float64": pd.Series([0.1, None, 2.5], dtype="Float64"),
    "double[pyarrow]": pd.Series([0.1, None, 2.5], dtype="double[pyarrow]"),
    "object of floats": pd.Series([0.1, None, 2.5], dtype=object),
    "str": pd.Series(["b", None, "a"]),
    "string": pd.Series(["b", None, "a"], dtype="string"),
    "string in Arrow": pd.Series(["b", None, "a"], dtype="string[pyarrow]"),
    "string in python": pd.Series(["b", None, "a"], dtype="string[python]"),
    "string of Arrow": pd.Series(["b", None], dtype=pd.ArrowDtype(pa.string())),
    "large string of Arrow": pd.Series(["b", None], dtype=pd.ArrowDtype(pa.large_string())),
    "object of text": pd.Series(["b", None, "ä\n😀", ""], dtype=object),
    "category": pd.Series(["b", None, "a"], dtype="category"),
    "ordered category": pd.Series(
        pd.Categorical(["low", "high", None], ["low", "mid", "high"], ordered=True)
    ),
    "category of ints": pd.Series(pd.Categorical([10, 2, None], categories=[10, 2, 7])),
    "category of floats": pd.Series(pd.Categorical([1.5, 2.0, None])),
    "category of bools": pd.Series(pd.Categorical([True, False, None])),
    "category of objects": pd.Series(
        pd.Categorical(["b", "a"], pd.Index(["b", "a"], dtype=object))
    ),
    "datetime64[us]": pd.Series(MOMENTS.as_unit("us")),
    "datetime64[ns]": pd.Series(MOMENTS.as_unit("ns")),
    "datetime64[ms]": pd.Series(MOMENTS.as_unit("ms")),
    "datetime64[s]": pd.Series(MOMENTS.as_unit("s")),
    "time zone": pd.Series(MOMENTS.as_unit("us")).dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo"),
    "fixed offset": pd.Series(MOMENTS[:1]).dt.tz_localize("+02:00"),
    "timestamp[pyarrow]": pd.Series(MOMENTS.as_unit("us")).astype("timestamp[us][pyarrow]"),
    "aware timestamp[pyarrow]": pd.Series(MOMENTS.as_unit("us"))
    .dt.tz_localize("UTC")
    .astype("timestamp[us, tz=Europe/Berlin][pyarrow]"),
    "date32[pyarrow]": pd.Series([dt.date(2024, 2, 29), None], dtype="date32[day][pyarrow]"),
    "timedelta64[ns]": pd.Series(pd.to_timedelta(["1ns", None, "40 days 1ns"]).as_unit("ns")),
    "timedelta64[us]": pd.Series(pd.to_timedelta(["-1us", None, "3000 days"]).as_unit("us")),
    "duration[pyarrow]": pd.Series(pd.to_timedelta(["1s", None])).astype("duration[us][pyarrow]"),
}
if TEXT == "str":  # pandas' own type of text, since its third version
    PANDAS_COLUMNS["str in python"] = pd.Series(
        ["b", None], dtype=pd.StringDtype("python", na_value=np.nan)
    )


@pytest.mark.parametrize("content", PANDAS_COLUMNS)
def test_every_pandas_type_comes_back_as_it_was(content):
    table = PANDAS_COLUMNS[content].to_frame("x")
    schema = infer_schema(table)
    values = encode(table, schema)
    assert values.dtype == np.float64
    np.testing.assert_array_equal(np.isnan(values), table.isna())
    assert_frames_equal(decode(values, schema, like=table), table)


POLARS_COLUMNS = {
    "Boolean": pl.Series([True, None, False]),
    "Int8": pl.Series([-128, None, 127], dtype=pl.Int8),
    "UInt64": pl.Series([2**53, None, 0], dtype=pl.UInt64),
    "Int64 of few values": pl.Series([3, 7, 3, 7, None]),
    "Float32": pl.Series([0.1, None, -2.5], dtype=pl.Float32),
    "Float64": pl.Series([0.1, None, 1e300]),
    "String": pl.Series(["b", None, "ä😀", ""]),
    "Categorical": pl.Series(["b", None, "a"], dtype=pl.Categorical),
    "Enum": pl.Series(["b", None, "a"], dtype=pl.Enum(["c", "b", "a"])),
    "Date": pl.Series([dt.date(2024, 2, 29), None, dt.date(1582, 1, 1)]),
    "Datetime us": pl.Series(MOMENTS.as_unit("us").to_numpy()),
    "Datetime ns": pl.Series(MOMENTS.as_unit("ns").to_numpy()),
    "Datetime ms": pl.Series(MOMENTS.as_unit("ms").to_numpy()),
    "time zone": pl.Series(MOMENTS.as_unit("us").to_numpy())
    .dt.replace_time_zone("UTC")
    .dt.convert_time_zone("Asia/Tokyo"),
    "Duration": pl.Series([dt.timedelta(microseconds=-1), None, dt.timedelta(days=3000)]),
}


@pytest.mark.parametrize("content", POLARS_COLUMNS)
def test_every_polars_type_comes_back_as_it_was(content):
    table = POLARS_COLUMNS[content].alias("x").to_frame()
    schema = infer_schema(table)
    values = encode(table, schema)
    np.testing.assert_array_equal(np.isnan(values[:, 0]), table["x"].is_null())
    assert_polars_equal(decode(values, schema, like=table), table)


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, None, 1000]),
        pa.array([True, None]),
        pa.array([0.1, None], pa.float32()),
        pa.array(["b", None]),
        pa.array([dt.date(2024, 2, 29), None]),
        pa.array([dt.datetime(2024, 2, 29, 1), None], pa.timestamp("s")),
        pa.array([dt.datetime(2024, 2, 29, 1), None], pa.timestamp("us", "Europe/Berlin")),
        pa.array([dt.timedelta(seconds=1), None], pa.duration("ns")),
    ],
    ids=lambda column: str(column.type),
)
def test_every_arrow_type_comes_back_as_it_was(column):
    table = pa.table({"x": column})
    schema = infer_schema(table)
    assert decode(encode(table, schema), schema, like=table).equals(table)


def test_an_arrow_dictionary_keeps_its_values_and_missing_cells():
    table = pa.table({"x": pa.array(["b", None, "a"]).dictionary_encode()})
    schema = infer_schema(table)
    back = decode(encode(table, schema), schema, like=table)
    assert pa.types.is_dictionary(back["x"].type)
    assert back["x"].to_pylist() == ["b", None, "a"]


@pytest.mark.parametrize(
    "array",
    [
        np.array([[0.1, 2.0], [np.nan, 3.0]]),
        np.array([[0.1, 2.0], [np.nan, 3.0]], dtype=np.float32),
        np.array([[1, 200], [3, 4]], dtype=np.uint8),
        np.array([[True, False], [False, False]]),
        np.array([["a", "b"], ["c", "d"]]),
        np.array([["2024-02-29", "NaT"], ["1969-01-01", "2024-01-01"]], dtype="datetime64[D]"),
        np.array([[1, 2], [3, 4]], dtype="timedelta64[h]"),
        np.array([["a", 1.5, True], [None, 2.5, None]], dtype=object),
    ],
    ids=lambda array: str(array.dtype),
)
def test_every_array_type_comes_back_as_it_was(array):
    schema = infer_schema(array)
    back = decode(encode(array, schema), schema, like=array)
    assert back.dtype == array.dtype
    np.testing.assert_array_equal(back, array)


def test_integers_of_an_array_with_missing_cells_come_back_as_floats():
    schema = infer_schema(np.array([[-1], [40], [300]]))
    back = decode(np.array([[-1.0], [np.nan]]), schema, like="numpy")
    np.testing.assert_array_equal(back, [[-1.0], [np.nan]])


def test_days_of_an_array_become_moments_of_other_libraries():
    schema = infer_schema(np.array([["2024-02-29"], ["NaT"]], dtype="datetime64[D]"))
    back = decode(np.array([[86_400.0], [np.nan]]), schema, like="pandas")
    assert back["x0"].tolist() == [pd.Timestamp("1970-01-02"), pd.NaT]
    schema = infer_schema(np.array([[30], [1]], dtype="timedelta64[h]"))
    assert decode(np.array([[3600.0]]), schema)["x0"].tolist() == [pd.Timedelta("1h")]


def test_masked_cells_of_an_array_are_missing():
    array = np.ma.masked_array([[1, 2], [3, 4]], mask=[[False, True], [False, False]])
    schema = infer_schema(array)
    np.testing.assert_array_equal(np.isnan(encode(array, schema)), array.mask)
    texts = np.ma.masked_array([["a"], ["b"]], mask=[[False], [True]], dtype=object)
    assert infer_schema(texts)["x0"].categories == ("a",)


def random_table(rng, rows):
    """Columns of random types, contents and missing cells."""
    makers = [
        lambda: pd.Series(rng.random(rows) < 0.5, dtype="boolean"),
        lambda: pd.Series(rng.integers(-1000, 1000, rows), dtype="Int16"),
        lambda: pd.Series(rng.integers(0, 2**53, rows), dtype="UInt64"),
        lambda: pd.Series(rng.poisson(2.0, rows), dtype="Int64"),
        lambda: pd.Series(rng.normal(size=rows) * 10.0 ** rng.integers(-300, 300)),
        lambda: pd.Series(rng.choice(["a", "ö", "", "🦆"], rows)),
        lambda: pd.Series(pd.Categorical(rng.choice([5, 3], rows), [5, 4, 3], ordered=True)),
        lambda: pd.Series(rng.integers(-(2**50), 2**52, rows).astype("M8[us]")).dt.tz_localize(
            "UTC"
        ),
        lambda: pd.Series(rng.integers(-(2**50), 2**50, rows).astype("m8[us]")),
    ]
    columns = {}
    for position in range(rng.integers(1, 8)):
        column = makers[rng.integers(len(makers))]()
        hidden = rng.random(rows) < rng.choice([0.0, 0.3])
        hidden[0] = False
        columns[f"c{position}"] = column.mask(hidden)
    return pd.DataFrame(columns)


@pytest.mark.parametrize("seed", range(40))
def test_random_tables_come_back_as_they_were(seed):
    rng = np.random.default_rng(seed)
    table = random_table(rng, rows=int(rng.integers(1, 60)))
    schema = infer_schema(table)
    values = encode(table, schema)
    assert_frames_equal(decode(values, schema, like=table), table)
    # polars has no categories that are numbers, everything else passes through it unchanged
    plain = table.select_dtypes(exclude="category")
    if len(plain.columns):
        schema = infer_schema(plain)
        other = decode(encode(plain, schema), schema, like="polars")
        np.testing.assert_array_equal(encode(other, schema), encode(plain, schema))


def test_the_index_and_the_labels_of_a_frame_are_kept():
    table = pd.DataFrame(
        [[1.5, "a"], [2.5, "b"]],
        index=pd.Index(["r", "s"], name="row"),
        columns=pd.Index(["size", 7], name="column"),
    ).astype({"size": float})
    schema = infer_schema(table)
    values = encode(table, schema)
    assert_frames_equal(decode(values, schema, like=table), table)
    assert list(decode(values[:1], schema, like=table).index) == [0]


def test_frames_are_matched_by_name_and_arrays_by_position():
    table = pd.DataFrame({"a": [1.5, 2.5], "b": ["x", "y"]})
    schema = infer_schema(table)
    values = encode(table, schema)
    np.testing.assert_array_equal(encode(table[["b", "a"]], schema), values)
    np.testing.assert_array_equal(
        encode(pl.DataFrame({"b": ["x", "y"], "a": [1.5, 2.5]}), schema), values
    )
    np.testing.assert_array_equal(encode(table.to_numpy(dtype=object), schema), values)


def test_a_schema_of_one_library_gives_tables_of_any_other():
    table = pd.DataFrame(
        {
            "n": pd.Series([1, 300, 40], dtype="int16"),
            "when": pd.to_datetime(["2024-01-01", None, "2024-01-03"]).as_unit("s"),
            "city": pd.Categorical(["Rome", None, "Oslo"]),
            "rank": pd.Categorical(["low", "high", None], ["low", "high"], ordered=True),
        }
    )
    schema = infer_schema(table)
    values = encode(table, schema)
    other = decode(values, schema, like="polars")
    assert dict(other.schema) == {
        "n": pl.Int16,
        "when": pl.Datetime("ms"),
        "city": pl.Categorical,
        "rank": pl.Enum(["low", "high"]),
    }
    assert other["city"].to_list() == ["Rome", None, "Oslo"]
    arrow = decode(values, schema, like="pyarrow")
    assert arrow["n"].to_pylist() == [1, 300, 40]
    np.testing.assert_array_equal(encode(other, schema), values)
    np.testing.assert_array_equal(encode(arrow, schema), values)
    with pytest.raises(ValueError, match=r"like must be a table or one of .*got 'excel'"):
        decode(values, schema, like="excel")


def test_integers_and_booleans_with_missing_cells_become_nullable():
    table = pd.DataFrame({"n": np.array([40, 5], dtype="uint8"), "yes": [True, False]})
    back = decode(np.array([[np.nan, 1.0], [3.0, np.nan]]), infer_schema(table))
    assert back.dtypes.astype(str).tolist() == ["UInt8", "boolean"]
    assert back["n"].isna().tolist() == [True, False]
    assert back["yes"].tolist() == [True, pd.NA]


def test_drawn_values_become_the_nearest_that_the_type_can_hold():
    schema = Schema(
        (
            ColumnSchema("byte", "integer", dtype="uint8"),
            ColumnSchema("long", "integer", dtype="int64"),
            ColumnSchema("single", "real", dtype="float32"),
            ColumnSchema("when", "datetime", dtype="datetime64[ns]"),
        )
    )
    back = decode(np.array([[-3.0, 1e30, 1e300, 1e300], [254.6, 2.5, -1e300, -1e300]]), schema)
    assert back["byte"].tolist() == [0, 255]
    assert back["long"].tolist() == [2**63 - 1024, 2]
    assert np.isfinite(back["single"]).all()
    assert back["when"].dt.year.tolist() == [2262, 1677]
    moments = Schema((ColumnSchema("when", "datetime", dtype="datetime64[us]"),))
    back = decode(np.array([[1e300], [-1e300]]), moments, like="polars")
    assert back["when"].to_list() == [dt.datetime(9999, 12, 31, 23, 59, 59), dt.datetime.min]


def test_whole_numbers_stay_whole_in_a_column_of_floats():
    schema = infer_schema(pd.DataFrame({"x": [17.0, np.nan, 90.0]}))
    assert schema["x"].kind == "integer"
    assert decode(np.array([[31.2]]), schema)["x"].tolist() == [31.0]


def test_a_type_is_chosen_by_kind_if_the_schema_names_none():
    columns = (
        ColumnSchema("a", "binary"),
        ColumnSchema("b", "category", categories=("x", "y")),
        ColumnSchema("c", "category", categories=(3, 5)),
        ColumnSchema("d", "category", categories=("x", 1)),
        ColumnSchema("e", "count"),
        ColumnSchema("f", "real"),
        ColumnSchema("g", "datetime"),
        ColumnSchema("h", "duration"),
    )
    back = decode(np.ones((1, 8)), Schema(columns))
    expected = ["bool", TEXT, "int64", "object", "int64", "float64"]
    assert back.dtypes.astype(str).tolist() == [*expected, "datetime64[us]", "timedelta64[us]"]
    assert back.iloc[0, :6].tolist() == [True, "y", 5, 1, 1, 1.0]
    assert back["g"][0] == pd.Timestamp("1970-01-01 00:00:01")


def test_categories_get_their_positions_as_codes():
    rank = pd.Categorical(["high", "low", None], ["low", "mid", "high"], ordered=True)
    table = pd.DataFrame({"rank": rank, "n": [30, 10, 10]})
    schema = infer_schema(table).replace("n", kind="category", categories=(30, 20, 10))
    np.testing.assert_array_equal(encode(table, schema), [[2, 0], [0, 2], [np.nan, 2]])
    # new data may declare its categories in another order, or not at all
    again = table.assign(rank=["high", "low", None])
    np.testing.assert_array_equal(encode(again, schema), encode(table, schema))


def test_a_second_category_drawn_for_a_constant_column_is_its_only_value():
    schema = infer_schema(pd.DataFrame({"x": ["a", "a"]}))
    assert decode(np.array([[0.0], [1.0]]), schema)["x"].tolist() == ["a", "a"]


def test_tables_without_rows_have_no_rows_on_both_ways():
    table = pd.DataFrame({"n": [1, 30, 500], "city": ["x", "y", "x"], "when": MOMENTS[[0, 2, 3]]})
    schema = infer_schema(table)
    for like in ("pandas", "polars", "numpy", "pyarrow"):
        empty = decode(np.empty((0, 3)), schema, like=like)
        assert empty.shape == (0, 3)
        assert encode(empty, schema).shape == (0, 3)


def test_a_column_without_observed_cells_is_missing_whatever_its_type():
    schema = infer_schema(pd.DataFrame({"a": ["x", "y"], "b": MOMENTS[[0, 2]], "c": [True, False]}))
    table = pd.DataFrame({"a": [np.nan], "b": [None], "c": [np.nan]})
    assert np.isnan(encode(table, schema)).all()


def test_times_are_seconds_since_1970_in_utc():
    table = pd.DataFrame({"t": pd.to_datetime(["1970-01-01 01:00"]).tz_localize("Europe/Berlin")})
    np.testing.assert_array_equal(encode(table, infer_schema(table)), [[0.0]])


SCHEMA = Schema(
    (
        ColumnSchema("n", "integer"),
        ColumnSchema("yes", "binary"),
        ColumnSchema("city", "category", categories=tuple(f"c{k}" for k in range(20))),
        ColumnSchema("when", "datetime", dtype="datetime64[us, UTC]"),
        ColumnSchema("wait", "duration"),
    )
)
GOOD = pd.DataFrame(
    {
        "n": [1.0, 2.0],
        "yes": [True, False],
        "city": ["c1", "c2"],
        "when": pd.to_datetime(["2024-01-01", "2024-01-02"]).tz_localize("UTC"),
        "wait": pd.to_timedelta(["1s", "2s"]),
    }
)


@pytest.mark.parametrize(
    ("column", "cells", "message"),
    [
        ("n", ["1", None], r"column 'n', row 0: '1' is text, not a number; correct it"),
        ("n", [1.0, 2.5], r"column 'n', row 1: 2.5 is not a whole number"),
        ("n", [1.0, np.inf], r"column 'n', row 1: the value is infinite \(inf\)"),
        ("n", [1, -(2**53) - 1], r"column 'n', row 1: -9007199254740993 is beyond 2\^53"),
        ("n", pd.to_datetime(["2024", "2025"]), r"column 'n', row 0: .* is a time, not a number"),
        ("yes", [None, 2], r"column 'yes', row 1: 2.0 is neither true nor false"),
        ("yes", ["yes", None], r"column 'yes', row 0: 'yes' is text, not a number"),
        (
            "city",
            [None, "Rome"],
            r"column 'city', row 1: 'Rome' is not among its categories; known are 'c0', .*'c7', … "
            r"\(20 in all\): make the cell missing, or add the category",
        ),
        ("city", [3, 4], r"column 'city', row 0: 3 is not among its categories"),
        ("when", ["soon", None], r"'when', row 0: 'soon' is not a moment: convert it"),
        ("when", pd.to_timedelta(["1s", "2s"]), r"column 'when', row 0: .* is not a moment"),
        ("when", pd.to_datetime(["2024", "2025"]), r"'when' has no time zone, but its schema says"),
        ("wait", [1.5, 2.5], r"column 'wait', row 0: 1.5 is not a length of time: convert it"),
        ("n", ["a", 1], r"column 'n' mixes types: row 0 holds 'a' \(str\) and row 1 holds 1 \(int"),
    ],
)
def test_a_wrong_cell_is_named_with_column_row_and_value(column, cells, message):
    assert encode(GOOD, SCHEMA).shape == (2, 5)
    with pytest.raises(TableError, match=message):
        encode(GOOD.assign(**{column: cells}), SCHEMA)


def test_missing_and_unexpected_columns_are_named():
    with pytest.raises(TableError, match=r"no column 'city'.*known are 'n', 'yes', 'when', 'wait'"):
        encode(GOOD.drop(columns="city"), SCHEMA)
    with pytest.raises(TableError, match="column 'extra' is not in the schema; drop it"):
        encode(GOOD.assign(extra=1), SCHEMA)
    with pytest.raises(TableError, match="X has 2 features, but Schema is expecting 5 features"):
        encode(np.ones((3, 2)), SCHEMA)


def test_values_that_no_encoding_gives_are_refused():
    with pytest.raises(ValueError, match=r"expected rows × 5 columns, got shape \(3, 2\)"):
        decode(np.ones((3, 2)), SCHEMA)
    with pytest.raises(ValueError, match="column 'city', row 0: code 20 is not the position"):
        decode(np.array([[1, 1, 20.0, 1, 1]]), SCHEMA)
    wrong = Schema((ColumnSchema("x", "category", categories=("a", "b"), dtype="int64"),))
    with pytest.raises(
        TableError, match="column 'x': its categories cannot be given back as int64"
    ):
        decode(np.array([[1.0]]), wrong)


def test_drawn_values_are_rounded_to_what_is_recorded():
    schema = Schema(
        (
            ColumnSchema("n", "integer"),
            ColumnSchema("size", "real", resolution=0.5),
            ColumnSchema("day", "datetime", resolution=86_400.0),
            ColumnSchema("wait", "duration"),
        )
    )
    drawn = np.array([[1.7, 1.7, 1.5e5, 1.7], [np.nan, 1.0, np.nan, 2.2]])
    expected = [[2.0, 1.7, 172_800.0, 1.7], [np.nan, 1.0, np.nan, 2.2]]
    np.testing.assert_array_equal(as_recorded(drawn, schema), expected)
    assert drawn[0, 0] == 1.7


def test_drawn_numbers_are_rounded_to_the_values_they_are_recorded_as():
    schema = Schema(
        (
            ColumnSchema("price", "real", resolution=0.01, origin=0.0),
            ColumnSchema("half", "real", resolution=0.5, origin=0.25),
            ColumnSchema("thousands", "real", resolution=1000.0, origin=0.0),
            ColumnSchema("unrounded", "real", resolution=0.0123456789),
            ColumnSchema("bracket", "real", resolution=0.5, values=(0.5, 1.0, 2.5)),
            ColumnSchema("share", "real", low=0.0, high=1.0),
            ColumnSchema("positive", "integer", low=1),
        )
    )
    drawn = np.array([[1.23456, 1.23456, 1534.56, 1.23456, 7.0, 1.23456, -1.23456]])
    assert as_recorded(drawn, schema).tolist() == [[1.23, 1.25, 2000.0, 1.23456, 2.5, 1.0, 1.0]]
