"""Tables in several Parquet files: found, checked, described, and the same as one in memory."""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bayesspn import BayesianSPN, Engine, SPNImputer
from bayesspn.cluster import tables
from bayesspn.cluster.tables import FileTable
from bayesspn.tables import TableError, TableFileError, encode, infer_schema, sources
from bayesspn.tables.partitions import divide_rows, find_partitions, names_files, read_stretch

pytestmark = pytest.mark.filterwarnings("ignore:answers about")

SETTINGS = {"chains": 2, "burn_in": 3, "draws": 2, "thin": 1, "random_state": 0}


def make_table(rows: int = 200) -> pa.Table:
    rng = np.random.default_rng(0)
    price = rng.lognormal(size=rows).round(2)
    return pa.table(
        {
            "length": pa.array(rng.normal(size=rows), mask=rng.random(rows) < 0.1),
            "price": price,
            "kind": pa.array(rng.choice(["a", "b", "c"], rows), mask=rng.random(rows) < 0.1),
            "visits": pa.array(rng.poisson(30.0, rows), mask=rng.random(rows) < 0.1),
            "member": price > 1,
            "since": np.datetime64("2024-01-01", "ms") + rng.integers(0, 900, rows),
        }
    )


TABLE = make_table()


def write_parts(folder: Path, table: pa.Table = TABLE, ends=(90, 90, 91), group=40) -> list[Path]:
    """Files of 90, 0 and 1 rows and one with the rest, in row groups."""
    folder.mkdir(exist_ok=True)
    paths = []
    for number, (begin, end) in enumerate(zip((0, *ends), (*ends, table.num_rows), strict=True)):
        paths.append(folder / f"part-{number}.parquet")
        pq.write_table(table.slice(begin, end - begin), paths[-1], row_group_size=group)
    return paths


@pytest.fixture
def folder(tmp_path):
    write_parts(tmp_path / "table")
    return tmp_path / "table"


@pytest.fixture(scope="module")
def in_memory():
    return BayesianSPN(**SETTINGS).fit(TABLE)


def assert_same(one, two):
    np.testing.assert_array_equal(one.trace_, two.trace_)
    np.testing.assert_array_equal(one.score_samples(TABLE), two.score_samples(TABLE))
    assert one.schema_ == two.schema_
    assert one.graph_ == two.graph_
    np.testing.assert_array_equal(one.feature_names_in_, two.feature_names_in_)
    assert one.n_features_in_ == two.n_features_in_


@pytest.mark.parametrize("shards", [None, 3])
def test_files_read_here_are_the_table(folder, in_memory, shards, monkeypatch):
    monkeypatch.setattr(sources, "PIECE_ROWS", 32)
    assert_same(BayesianSPN(**SETTINGS, engine=Engine(shards=shards)).fit(folder), in_memory)
    paths = [str(path) for path in sorted(folder.iterdir())]
    assert_same(BayesianSPN(**SETTINGS).fit(paths), in_memory)


def test_files_read_by_workers_are_the_table(folder, in_memory, ray_cluster):
    model = BayesianSPN(**SETTINGS, engine=Engine("ray", shards=3)).fit(str(folder))
    assert_same(model, in_memory)
    assert model.sample(3, random_state=0).columns.tolist() == TABLE.column_names


@pytest.mark.long
def test_one_file_is_divided_among_workers(tmp_path, ray_cluster):
    path = tmp_path / "table.parquet"
    pq.write_table(TABLE, path)
    expected = SPNImputer(**SETTINGS).fit(TABLE)
    model = SPNImputer(**SETTINGS, engine=Engine("ray", shards=2), schema=infer_schema(TABLE)).fit(
        path
    )
    np.testing.assert_array_equal(model.trace_, expected.trace_)


def test_large_tables_are_sample_a_sample_and_extremes(folder, monkeypatch):
    monkeypatch.setattr(tables, "SAMPLE_ROWS", 50)
    monkeypatch.setattr(sources, "PIECE_ROWS", 32)
    whole = encode(TABLE, infer_schema(TABLE))
    with contextlib.closing(FileTable(folder, None, Engine())) as table:
        assert table.shape == (200, 6)
        assert table.schema == infer_schema(TABLE)
        np.testing.assert_array_equal(table.sample[:50], whole[::4])
        extremes = [np.nanmin(whole, axis=0), np.nanmax(whole, axis=0)]
        np.testing.assert_array_equal(table.sample[50:], extremes)


@pytest.mark.long
def test_large_tables_have_the_same_draws_anywhere(folder, monkeypatch, ray_cluster):
    monkeypatch.setattr(tables, "SAMPLE_ROWS", 50)
    here = BayesianSPN(**SETTINGS).fit(folder)
    assert_same(BayesianSPN(**SETTINGS, engine=Engine("ray", shards=2)).fit(folder), here)


def test_row_labels_of_pandas_are_no_column(tmp_path):
    frame = pd.DataFrame({"a": 0.5 * np.arange(60.0)}, index=[f"row {k}" for k in range(60)])
    frame.to_parquet(tmp_path / "table.parquet")
    with contextlib.closing(FileTable(tmp_path, None, Engine())) as table:
        assert table.schema.names == ("a",)


def test_dictionaries_are_categories(tmp_path):
    column = pa.array(["x", "y", None, "x"] * 20).dictionary_encode()
    write_parts(tmp_path, pa.table({"letter": column}), ends=(33,))
    with contextlib.closing(FileTable(tmp_path, None, Engine())) as table:
        assert table.schema["letter"].categories == ("x", "y")
        assert np.isnan(table.sample[:, 0]).sum() == 20


def test_a_column_may_be_unobserved_in_some_files(tmp_path):
    first = pa.table({"a": [1.5, 2.5], "b": pa.nulls(2)})
    pq.write_table(first, tmp_path / "0.parquet")
    pq.write_table(pa.table({"b": ["u", "v"], "a": [0.5, None]}), tmp_path / "1.parquet")
    with contextlib.closing(FileTable(tmp_path, None, Engine())) as table:
        assert table.schema["b"].categories == ("u", "v")
        expected = [[1.5, np.nan], [2.5, np.nan], [0.5, 0.0], [np.nan, 1.0]]
        np.testing.assert_array_equal(table.sample, expected)


@pytest.mark.parametrize(("begin", "end"), [(0, 200), (39, 41), (40, 80), (85, 95), (199, 200)])
def test_stretches_cover_rows_in_order(tmp_path, begin, end):
    numbers = pa.table({"n": np.arange(200)})
    write_parts(tmp_path, numbers, group=17)
    found = find_partitions(tmp_path)
    assert (found.n_rows, found.rows) == (200, (90, 0, 1, 109))
    read = []
    for stretch in found.stretches(begin, end):
        assert stretch.first == begin + len(read)
        for place, piece in read_stretch(stretch, 10):
            assert place == stretch.begin + len(read) - (stretch.first - begin)
            read.extend(piece["n"].to_pylist())
    assert read == list(range(begin, end))


@pytest.mark.parametrize(("rows", "shards"), [(10, 1), (10, 3), (10, 10), (3, 7)])
def test_rows_are_divided_evenly(rows, shards):
    spans = divide_rows(rows, shards)
    sizes = [end - begin for begin, end in spans]
    assert sum(sizes) == rows
    assert len(spans) == min(rows, shards)
    assert max(sizes) - min(sizes) <= 1
    assert min(sizes) > 0


def test_what_counts_as_names_of_files():
    assert names_files("table.parquet")
    assert names_files([Path("a.parquet"), "b.parquet"])
    assert not names_files([["a", "b"]])
    assert not names_files([])
    assert not names_files(TABLE)


def refused(X, message, error=TableFileError):
    with pytest.raises(error, match=message):
        FileTable(X, None, Engine())


def test_files_that_are_no_tables_are_refused(tmp_path):
    refused(tmp_path / "none.parquet", r"none\.parquet: no such file or folder")
    refused(["yes", "no"], r"yes: no such file or folder \(text is taken for a file's name\)")
    refused(tmp_path, r"holds no file that ends in \.parquet; name the folder")
    (tmp_path / "table.csv").write_text("a\n1\n")
    refused(tmp_path / "table.csv", r"table\.csv: only Parquet files.*read_table")
    (tmp_path / "broken.parquet").write_text("PAR1 and nothing else")
    refused(tmp_path / "broken.parquet", r"broken\.parquet: ")
    (tmp_path / "broken.parquet").unlink()
    paths = write_parts(tmp_path)
    refused([paths[0], paths[1], paths[0]], r"part-0\.parquet: is listed twice")
    pq.write_table(TABLE.slice(0, 0), paths[0])
    refused(paths[0], r"part-0\.parquet: is without rows: there is nothing to learn")
    refused(paths[:2], r"part-0\.parquet: and 1 more are without rows")


def test_files_must_have_the_same_columns(tmp_path):
    paths = write_parts(tmp_path)
    pq.write_table(TABLE.drop(["kind"]), paths[3])
    refused(tmp_path, r"part-3\.parquet: has no column 'kind', which .*part-0\.parquet has; add it")
    pq.write_table(TABLE.append_column("size", TABLE["price"]), paths[3])
    refused(tmp_path, r"part-3\.parquet: has a column 'size', which .*part-0\.parquet lacks")
    text = TABLE.set_column(1, "price", TABLE["price"].cast(pa.string()))
    pq.write_table(text, paths[3])
    refused(tmp_path, r"part-3\.parquet: column 'price' is of type string, in .* it is double")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (
            "length",
            np.inf,
            r"column 'length', row 3: the value is infinite.*file's row 64",
        ),
        ("length", 1e200, r"column 'length', row 3: 1e\+200 is beyond 1e\+150.*file's row 64"),
        ("kind", "z", r"column 'kind', row 3: 'z' is not among its categories.*file's row 64"),
    ],
)
def test_errors_about_cells_name_the_file(tmp_path, monkeypatch, name, value, message):
    monkeypatch.setattr(sources, "PIECE_ROWS", 32)
    paths = write_parts(tmp_path, group=32)
    cells = TABLE[name].to_pylist()
    cells[91 + 67] = value
    wrong = TABLE.set_column(TABLE.column_names.index(name), name, pa.array(cells))
    pq.write_table(wrong.slice(91), paths[3], row_group_size=32)
    with pytest.raises(TableError, match=r"part-3\.parquet: " + message):
        FileTable(tmp_path, infer_schema(TABLE), Engine())


def test_columns_without_values_and_identifiers_are_refused(tmp_path):
    write_parts(tmp_path, pa.table({"empty": pa.nulls(200, pa.float64()), "a": np.arange(200.0)}))
    refused(tmp_path, "column 'empty' has no observed value; drop it", TableError)
    names = pa.table({"name": [f"name {k % 1500}" for k in range(3000)]})
    write_parts(tmp_path, names, ends=(700, 1600, 2000))
    refused(tmp_path, "'name' has 1,001 or more different values in 3,000 cells", TableError)


def test_files_may_not_shrink_while_they_are_read(folder):
    found = find_partitions(folder)
    pq.write_table(TABLE.slice(0, 10), found.paths[0])
    with pytest.raises(TableFileError, match=r"part-0\.parquet: has lost rows since"):
        list(read_stretch(found.stretches(0, 90)[0], 10))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("spark",), ValueError, "an engine is 'local' or 'ray', got 'spark'"),
        (("local", None, 0), ValueError, "shards must be a whole number from 1 on, got 0"),
        (("local", None, 1.5), ValueError, r"shards must be .* got 1\.5"),
        (("local", "auto"), ValueError, "address is 'auto', which needs the engine 'ray'"),
        (("ray", 3), TypeError, "address must be text or None, got int"),
    ],
)
def test_engines_that_do_not_exist_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        Engine(*arguments)


def test_engines_are_named_or_given():
    for wrong in ("spark", 7, None):
        with pytest.raises(ValueError, match="engine must be 'local', 'ray' or an Engine"):
            BayesianSPN(**SETTINGS, engine=wrong).fit(TABLE)
