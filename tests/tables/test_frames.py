"""Frames: what counts as a table, and which names it may have."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

from bayesspn.tables import TableError, decode, encode, infer_schema
from bayesspn.tables.frames import build_frame, open_table

NAMES = ["", "🦆", "a\nb", "x" * 5000, "age", " age"]


def test_hostile_names_are_kept():
    array = np.arange(12.0).reshape(2, 6) + 0.5
    for table in (
        pd.DataFrame(array, columns=NAMES),
        pl.DataFrame(dict(zip(NAMES, array.T, strict=True))),
    ):
        schema = infer_schema(table)
        assert list(schema.names) == NAMES
        assert list(decode(encode(table, schema), schema, like=table).columns) == NAMES


@pytest.mark.parametrize("names", [[0, 1], [5, "a"], [("a", 1), ("a", 2)], [True, 0]])
def test_names_that_are_no_text_are_kept(names):
    table = pd.DataFrame([[1.5, "a"], [2.5, "b"]], columns=names)
    if isinstance(names[0], tuple):
        table.columns = pd.MultiIndex.from_tuples(names)
    schema = infer_schema(table)
    for like in (table, "pandas"):
        pd.testing.assert_frame_equal(decode(encode(table, schema), schema, like=like), table)


def test_duplicate_names_are_refused():
    frame = pd.DataFrame([[1, 2, 3]], columns=["a", "b", "a"])
    with pytest.raises(TableError, match="columns 0 and 2 are both named 'a'; rename one of them"):
        open_table(frame)
    arrow = pa.table([pa.array([1]), pa.array([2])], names=["a", "a"])
    with pytest.raises(TableError, match="'a'"):
        open_table(arrow)


def test_names_that_a_schema_cannot_write_down_are_refused():
    for name in (1.5, pd.Timestamp("2024"), ("a", None)):
        with pytest.raises(TableError, match=r"column 0 is named .* names must be text or whole"):
            open_table(pd.DataFrame({name: [1]}))


def test_sparse_tables_are_refused():
    for matrix in (scipy.sparse.eye(3).tocsr(), scipy.sparse.csr_array(np.eye(3))):
        with pytest.raises(TypeError, match=r"sparse tables are not supported; .*\.toarray\(\)"):
            open_table(matrix)


@pytest.mark.parametrize(
    ("table", "error", "message"),
    [
        (np.ones(3), TableError, r"Expected 2D array, got 1D array instead\. Reshape your data"),
        (np.ones((2, 2, 2)), TableError, r"Expected 2D array, got 3D"),
        (np.float64(3), TableError, r"Expected 2D array, got 0D"),
        ([1, 2], TableError, r"Expected 2D array, got 1D"),
        ([[1], [1, 2]], TableError, r"the rows of a table must be equally long"),
        (pd.Series([1.0]), TableError, r"Expected 2D array, got 1D"),
        (np.array([[1j]]), TableError, r"Complex data not supported"),
        ("table.csv", TypeError, r"a table is an array, a data frame or a list of rows, got str"),
        (None, TypeError, r"a table is an array.*got NoneType"),
        ({"a": [1]}, TypeError, r"a table is an array.*got dict"),
        (pl.LazyFrame({"a": [1]}), TypeError, r"LazyFrame has not been computed yet; collect it"),
    ],
    ids=str,
)
def test_what_is_no_table_is_refused(table, error, message):
    with pytest.raises(error, match=message):
        open_table(table)


def test_array_types_without_meaning_are_refused():
    with pytest.raises(TableError, match="an array of type"):
        open_table(np.array([[b"a"]])).read(0)
    with pytest.raises(TypeError, match="argument must be a string or a real number"):
        open_table(np.array([[{"a": 1}]], dtype=object)).read(0)
    with pytest.raises(TableError, match=r"column 'x' is of type List.* is not supported"):
        open_table(pl.DataFrame({"x": [[1]]})).read(0)
    with pytest.raises(TableError, match="column 'x' is of type Decimal"):
        open_table(pl.DataFrame({"x": pl.Series([1], dtype=pl.Decimal(10, 2))})).read(0)


def test_rows_as_lists_and_dictionaries_are_tables():
    lists = open_table([[1, "a"], [2, None]])
    assert (lists.names, lists.named, lists.n_rows) == (("x0", "x1"), False, 2)
    dictionaries = open_table([{"n": 1, "t": "a"}, {"n": 2}])
    assert dictionaries.names == ("n", "t")
    assert dictionaries.read(1).missing.tolist() == [False, True]
    built = build_frame(dictionaries.columns(), like=[{"n": 1}])
    assert built.columns.tolist() == ["n", "t"]


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT], ids=str)
def test_every_missing_value_is_missing_among_objects(missing):
    for values in (["a", "b"], [1, 2], [True, False], [1.5, 2]):
        table = pd.DataFrame({"x": pd.Series([values[0], missing, values[1]], dtype=object)})
        cells = open_table(table).read(0)
        assert cells.missing.tolist() == [False, True, False]
        assert cells.as_objects().tolist() == [values[0], None, values[1]]


def test_nan_and_null_of_polars_are_both_missing():
    cells = open_table(pl.DataFrame({"x": [1.5, float("nan"), None]})).read(0)
    assert cells.missing.tolist() == [False, True, True]
    cells = open_table(pl.DataFrame({"x": pl.Series([None, None])})).read(0)
    assert cells.missing.all()


def test_pandas_dictionaries_of_arrow_become_categories():
    dtype = pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))
    table = pd.DataFrame({"x": pd.Series(["b", None, "a"], dtype=dtype)})
    schema = infer_schema(table)
    back = decode(encode(table, schema), schema, like=table)
    assert isinstance(back["x"].dtype, pd.CategoricalDtype)
    assert back["x"].astype(object).tolist()[::2] == ["b", "a"]
