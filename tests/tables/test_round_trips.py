"""Round trips: tables through their numbers, schemas through their files; nothing changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesspn.tables import ColumnSchema, Schema, decode, encode, infer_schema
from bayesspn.tables.schema import suitable_families
from bayesspn.tables.schema_files import schema_from_json, schema_to_json

LARGEST = 2**53

#: Seconds from 1970 up to which floats tell microseconds apart.
MICROSECONDS = 2**33

ZONES = ("UTC", "Europe/Berlin", "Asia/Kolkata", "America/New_York", "UTC+02:00")
#: Without what makes numbers of text.
TEXT = st.text(max_size=6).filter(lambda text: not set("$€£%,") & set(text))
FINITE = st.floats(allow_nan=False, allow_infinity=False)
SINGLE = st.floats(allow_nan=False, allow_infinity=False, width=32)


def whole(low: int, high: int) -> st.SearchStrategy[int]:
    """Whole numbers of a type, many of them small."""
    low, high = max(low, -LARGEST), min(high, LARGEST)
    return st.one_of(st.integers(max(low, -9), min(high, 9)), st.integers(low, high))


def fill(draw: Any, cells: st.SearchStrategy[Any], rows: int, dtype: Any) -> pd.Series:
    """A column with missing cells, but not only these."""
    drawn = draw(st.lists(st.one_of(st.none(), cells, cells), min_size=rows, max_size=rows))
    drawn[draw(st.integers(0, rows - 1))] = draw(cells)
    return pd.Series(drawn, dtype=dtype)


def full(draw: Any, cells: st.SearchStrategy[Any], rows: int, dtype: Any) -> pd.Series:
    """A column of a type that has no missing value."""
    return pd.Series(draw(st.lists(cells, min_size=rows, max_size=rows)), dtype=dtype)


@st.composite
def numbers(draw: Any, rows: int) -> pd.Series:
    if draw(st.booleans()):
        bits, sign = draw(st.sampled_from([8, 16, 32, 64])), draw(st.sampled_from(["", "u"]))
        bounds = np.iinfo(f"{sign}int{bits}")
        cells = whole(int(bounds.min), int(bounds.max))
        if draw(st.booleans()):
            return full(draw, cells, rows, f"{sign}int{bits}")
        nullable = draw(st.sampled_from([f"{sign.upper()}Int{bits}", f"{sign}int{bits}[pyarrow]"]))
        return fill(draw, cells, rows, nullable)
    dtype = draw(st.sampled_from(["float32", "float64", "Float32", "Float64", "double[pyarrow]"]))
    cells = SINGLE if "32" in dtype else st.one_of(FINITE, whole(-LARGEST, LARGEST).map(float))
    return fill(draw, cells, rows, dtype)


@st.composite
def truths(draw: Any, rows: int) -> pd.Series:
    if draw(st.booleans()):
        return full(draw, st.booleans(), rows, "bool")
    dtype = draw(st.sampled_from(["boolean", "bool[pyarrow]", "object"]))
    return fill(draw, st.booleans(), rows, dtype)


@st.composite
def texts(draw: Any, rows: int) -> pd.Series:
    return fill(draw, TEXT, rows, draw(st.sampled_from(["str", "string", "object"])))


@st.composite
def categories(draw: Any, rows: int) -> pd.Series:
    kinds = [TEXT, whole(-LARGEST, LARGEST), FINITE, st.booleans()]
    several = st.lists(draw(st.sampled_from(kinds)), min_size=1, max_size=6, unique=True)
    levels, ordered = draw(several), draw(st.booleans())
    codes = full(draw, st.integers(-1, len(levels) - 1), rows, "int64").to_numpy(copy=True)
    codes[draw(st.integers(0, rows - 1))] = draw(st.integers(0, len(levels) - 1))
    return pd.Series(pd.Categorical.from_codes(codes, pd.Index(levels), ordered=ordered))


@st.composite
def moments(draw: Any, rows: int) -> pd.Series:
    unit, ticks = draw(st.sampled_from([("s", 1), ("ms", 10**3), ("us", 10**6), ("ns", 10**6)]))
    step = draw(st.sampled_from([1, ticks, 3_600 * ticks, 86_400 * ticks]))
    most = MICROSECONDS * ticks // step
    seconds = st.integers(-most, most).map(lambda number: number * step)
    stored = unit if unit != "ns" else "us"  # of nanoseconds only thousands fit into a float
    series = fill(draw, seconds, rows, "Int64")
    times = series.to_numpy(np.int64, na_value=0).astype(f"M8[{stored}]").astype(f"M8[{unit}]")
    column = pd.Series(times).mask(series.isna().to_numpy())
    zone = draw(st.sampled_from([None, *ZONES]))
    return column if zone is None else column.dt.tz_localize("UTC").dt.tz_convert(zone)


@st.composite
def lengths(draw: Any, rows: int) -> pd.Series:
    unit, most = draw(
        st.sampled_from(
            [("s", 2**50), ("ms", 2**50), ("us", MICROSECONDS * 10**6), ("ns", 2**22 * 10**9 - 1)]
        )
    )
    series = fill(draw, st.one_of(st.integers(-9, 9), st.integers(-most, most)), rows, "Int64")
    times = series.to_numpy(np.int64, na_value=0).astype(f"m8[{unit}]")
    return pd.Series(times).mask(series.isna().to_numpy())


NAMES = st.one_of(TEXT, st.integers(-5, 5), st.tuples(TEXT, st.integers(0, 3)))


@st.composite
def tables(draw: Any) -> pd.DataFrame:
    """A table of one to five columns of any types and names."""
    rows = draw(st.integers(1, 20))
    makers = draw(
        st.lists(
            st.sampled_from([numbers, numbers, truths, texts, categories, moments, lengths]),
            min_size=1,
            max_size=5,
        )
    )
    columns = [draw(maker(rows)) for maker in makers]
    some = st.lists(NAMES, min_size=len(columns), max_size=len(columns), unique=True)
    frame = pd.concat(columns, axis=1)
    frame.columns = pd.Index(draw(some), tupleize_cols=False)
    if draw(st.booleans()):
        frame.index = pd.Index(draw(st.permutations(range(rows))), name="row")
    return frame


@given(tables())
def test_any_table_comes_back_as_it_was(table):
    schema = infer_schema(table)
    values = encode(table, schema)
    assert values.dtype == np.float64
    assert np.isnan(values).tolist() == table.isna().to_numpy().tolist()
    pd.testing.assert_frame_equal(decode(values, schema, like=table), table, check_exact=True)


@given(st.data(), tables())
def test_any_part_of_a_table_has_its_part_of_the_numbers(data, table):
    schema = infer_schema(table)
    values = encode(table, schema)
    rows = data.draw(st.lists(st.integers(0, len(table) - 1), max_size=8))
    order = data.draw(st.permutations(range(table.shape[1])))
    part = table.iloc[rows, list(order)]
    np.testing.assert_array_equal(encode(part, schema), values[rows])


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "numpy"])
@given(table=tables())
def test_numbers_are_the_same_through_any_library(library, table):
    if library != "numpy":
        table.columns = [f"{position} {name}" for position, name in enumerate(table.columns)]
    if library in ("polars", "pyarrow"):
        # polars has no categories but text, and no time zones without a name
        table = table.select_dtypes(exclude="category")
        table = table[[name for name in table if "UTC+" not in str(table.dtypes[name])]]
    if library == "numpy":
        # an array of several types holds objects, and times are no objects that are read
        table = table.select_dtypes(include=["number", "bool"], exclude="timedelta")
    if not table.shape[1]:
        return
    schema = infer_schema(table)
    values = encode(table, schema)
    other = decode(values, schema, like=library)
    np.testing.assert_array_equal(encode(other, schema), values)


SCALARS = st.one_of(TEXT, st.integers(), FINITE, st.booleans())


@st.composite
def column_schemas(draw: Any, name: Any) -> ColumnSchema:
    """Any column that a schema can have."""
    kinds = ["binary", "category", "count", "integer", "real", "datetime", "duration"]
    kind = draw(st.sampled_from(kinds))
    levels: list[Any] = []
    if kind == "category":
        levels = draw(st.lists(SCALARS, min_size=1, max_size=5, unique=True))
    families = [f for f in suitable_families(kind) if f != "bernoulli" or len(levels) in (0, 2)]
    families = [f for f in families if f != "atoms"]  # they need a density beside them
    dtypes = {
        "binary": ["bool", "boolean", "object"],
        "category": ["category[str]", "object", "category"],
        "count": ["int8", "UInt64", "float64"],
        "integer": ["int64", "Int16", "int32[pyarrow]"],
        "real": ["float32", "Float64", "double[pyarrow]"],
        "datetime": ["datetime64[ns]", "datetime64[us, Europe/Berlin]", "date"],
        "duration": ["timedelta64[s]", "duration[us][pyarrow]"],
    }
    return ColumnSchema(
        name,
        kind,
        families=tuple(draw(st.lists(st.sampled_from(families), unique=True))),
        categories=tuple(levels),
        ordered=draw(st.booleans()),
        resolution=draw(st.one_of(st.none(), st.floats(0, 1e300))),
        gamma=draw(st.one_of(st.none(), st.floats(1e-300, 1e300))),
        dtype=draw(st.sampled_from([None, *dtypes[kind]])),
    )


@st.composite
def schemas(draw: Any) -> Schema:
    names = draw(st.lists(NAMES, min_size=1, max_size=4, unique=True))
    return Schema(tuple(draw(column_schemas(name)) for name in names))


def exactly(schema: Schema) -> list[Any]:
    """Everything in a schema with its type: 1, 1.0 and True are equal, but not the same."""
    return [
        [(field, type(value), repr(value)) for field, value in vars(column).items()]
        for column in schema
    ]


@given(schemas())
def test_any_schema_is_the_same_after_its_text(schema):
    assert exactly(schema_from_json(schema_to_json(schema))) == exactly(schema)


@given(schema=schemas())
def test_any_schema_is_the_same_after_its_file(schema, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "schema.json"
    schema.save(path)
    assert exactly(Schema.load(path)) == exactly(schema)


@given(tables())
def test_the_schema_of_any_table_is_the_same_after_its_text(table):
    schema = infer_schema(table)
    again = schema_from_json(schema_to_json(schema))
    assert exactly(again) == exactly(schema)
    np.testing.assert_array_equal(encode(table, again), encode(table, schema))
