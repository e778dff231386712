"""Table files: every format comes back, in pieces as well, and every problem is one sentence."""

from __future__ import annotations

import gzip
import io
import os
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from same_frames import assert_frames_equal

from bayesspn.tables import (
    TableFileError,
    encode,
    infer_schema,
    read_table,
    read_table_chunks,
    write_table,
    write_table_chunks,
)

TABLE = pd.DataFrame(
    {
        "n": [1, 2, 3],
        "size": [1.5, np.nan, 1 / 3],
        "text, with": ["a,b", 'say "hi"\nthere', None],
        "ä🦆": [True, False, True],
    }
)
TEXT_ENDINGS = [
    end + packed
    for end in (".csv", ".tsv", ".CSV")
    for packed in ("", ".gz", ".bz2", ".xz", ".zst")
]


class Stream:
    """Standard input or output as bytes."""

    def __init__(self, content=b""):
        self.buffer = io.BytesIO(content)


@pytest.mark.parametrize("ending", [*TEXT_ENDINGS, ".parquet", ".pq"])
def test_a_written_table_reads_as_it_was(tmp_path, ending):
    path = tmp_path / f"my.table{ending}"
    write_table(TABLE, path)
    assert_frames_equal(read_table(path), TABLE)
    assert_frames_equal(read_table(str(path)), TABLE)
    pieces = list(read_table_chunks(path, rows=2))
    assert [len(piece) for piece in pieces] == [2, 1]
    assert pieces[1]["n"].tolist() == [3]
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_compressed_files_are_compressed_and_reproducible(tmp_path):
    for ending, magic in {
        ".gz": b"\x1f\x8b",
        ".zst": b"\x28\xb5\x2f\xfd",
        ".xz": b"\xfd7z",
    }.items():
        path = tmp_path / f"t.csv{ending}"
        write_table(TABLE, path)
        first = path.read_bytes()
        assert first.startswith(magic)
        assert ending != ".gz" or first[4:8] == bytes(4)  # the time stamp
        write_table(TABLE, path)
        assert path.read_bytes() == first


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".parquet"])
def test_a_table_without_rows_keeps_its_columns(tmp_path, ending):
    path = tmp_path / f"t{ending}"
    write_table(TABLE[:0], path)
    assert read_table(path).shape == (0, 4)
    assert [list(piece.columns) for piece in read_table_chunks(path, rows=2)] == [
        list(TABLE.columns)
    ]


def test_tables_of_other_libraries_are_written(tmp_path):
    write_table(pl.DataFrame({"a": [1, None]}), tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text() == 'a\n1\n""\n'
    write_table(np.array([[1.5, 2.5]]), tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text() == "x0,x1\n1.5,2.5\n"


@pytest.mark.parametrize("cell", ["", "NA", "NaN", "null", "N/A"])
def test_words_for_missing_are_missing(tmp_path, cell):
    (tmp_path / "t.csv").write_text(f"a,b\n1,x\n{cell},y\n{cell},{cell}\n")
    assert read_table(tmp_path / "t.csv").isna().to_numpy().tolist() == [
        [False, False],
        [True, False],
        [True, True],
    ]


def test_byte_order_marks_blank_lines_and_windows_line_ends_are_no_cells(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"\xef\xbb\xbf\r\na,b\r\n1,x\r\n\r\n2,y\r\n")
    table = read_table(tmp_path / "t.csv")
    assert table.to_dict("list") == {"a": [1, 2], "b": ["x", "y"]}


def test_empty_names_are_kept(tmp_path):
    (tmp_path / "t.csv").write_text(",b\n1,2\n")
    assert list(read_table(tmp_path / "t.csv").columns) == ["", "b"]


def test_standard_input_and_output_are_csv(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", Stream(b"a,b\n1,x\n2,y\n"))
    table = read_table("-")
    assert table["b"].tolist() == ["x", "y"]
    assert not sys.stdin.buffer.closed
    monkeypatch.setattr(sys, "stdin", Stream(b"a,b\n1,x\n2,y\n"))
    assert [piece["a"].tolist() for piece in read_table_chunks("-", rows=1)] == [[1], [2]]
    write_table(table, "-")
    assert capsys.readouterr().out == "a,b\n1,x\n2,y\n"
    monkeypatch.setattr(sys, "stdin", Stream())
    with pytest.raises(TableFileError, match=r"^standard input: is empty; a table needs a header$"):
        read_table("-")


def test_pieces_are_read_as_they_are_asked_for(monkeypatch):
    class Endless(io.RawIOBase):
        """More rows than any memory holds."""

        def readable(self):
            return True

        def readinto(self, buffer):
            lines = b"1,2\n" * (len(buffer) // 4)
            buffer[: len(lines)] = lines
            return len(lines)

    stream = Stream()
    stream.buffer = io.BufferedReader(Endless())
    monkeypatch.setattr(sys, "stdin", stream)
    pieces = read_table_chunks("-", rows=100_000)
    assert len(next(pieces)) == 100_000
    assert len(next(pieces)) == 100_000
    pieces.close()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("none.csv", None, "no such file or folder"),
        ("none.parquet", None, "no such file or folder"),
        ("empty.csv", b"", "is empty; a table needs a header"),
        ("blank.csv", b"\n\n", "is empty; a table needs a header"),
        ("empty.csv.gz", gzip.compress(b"", mtime=0), "is empty; a table needs a header"),
        ("latin.csv", b"a\n\xe4\n", "is not text in UTF-8; convert it to UTF-8"),
        ("latin.csv", b"a\n" + b"x\n" * 10**6 + b"\xe4\n", "is not text in UTF-8"),
        ("long.csv", b"a,b\n1,2\n1,2,3\n", "line 3 has 3 cells, the header has 2; correct the"),
        ("short.csv", b"a,b\n1,2\n1\n", "line 3 has 1 cells, the header has 2; correct the line"),
        ("first.csv", b"a,b\n1,2,3\n", "line 2 has 3 cells, the header has 2"),
        ("quote.csv", b'a,b\n1,"2\n3,4\n', "EOF inside string"),
        ("twice.csv", b"a,b,a\n1,2,3\n", "two columns are named 'a'; rename one of them"),
        ("table.xlsx", b"", "the ending does not name a format; use .csv or .tsv"),
        ("table", b"", "the ending does not name a format"),
        (".gz", b"", "the ending does not name a format"),
        ("table.gz", b"", "the ending does not name a format"),
        ("table.parquet.gz", b"", "the ending does not name a format"),
        ("bad.csv.gz", b"a,b\n", "the compressed data is damaged"),
        (
            "cut.csv.gz",
            gzip.compress(b"a,b\n1,2\n" * 100, mtime=0)[:-12],
            "the compressed data is damaged",
        ),
        ("bad.csv.xz", b"a,b\n", "the compressed data is damaged"),
        ("bad.csv.bz2", b"a,b\n", "Invalid data stream"),
        ("bad.csv.zst", b"a,b\n", "zstd|ZSTD"),
        ("bad.parquet", b"no parquet", "[Pp]arquet"),
    ],
)
def test_a_problem_with_a_file_is_one_sentence_that_names_it(tmp_path, name, content, message):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    for read in (read_table, lambda path: list(read_table_chunks(path, rows=10**6))):
        with pytest.raises(TableFileError, match=message) as caught:
            read(path)
        assert str(caught.value).startswith(f"{path}: ")
        assert "\n" not in str(caught.value)


def test_folders_are_no_tables(tmp_path):
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(TableFileError, match=r"folder\.csv: Is a directory"):
        read_table(tmp_path / "folder.csv")
    with pytest.raises(TableFileError, match="no such file or folder"):
        write_table(TABLE, tmp_path / "nowhere" / "t.csv")
    with pytest.raises(ValueError, match="rows must be 1 or more, got 0"):
        next(read_table_chunks(tmp_path / "t.csv", rows=0))


def test_a_format_that_needs_a_missing_package_says_so(tmp_path, monkeypatch):
    write_table(TABLE, tmp_path / "t.csv.zst")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(TableFileError, match="this format needs the package pyarrow"):
        read_table(tmp_path / "t.csv.zst")


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".parquet"])
def test_a_failed_write_leaves_the_old_file(tmp_path, ending):
    path = tmp_path / f"t{ending}"
    write_table(TABLE, path)
    before = path.read_bytes()

    class Unwritable:
        def __str__(self):
            raise OSError("broken cell")

        __repr__ = __str__

    with pytest.raises(Exception, match=r"broken cell|Unwritable"):
        write_table(pd.DataFrame({"x": [Unwritable()] * 5}), path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_links_and_permissions_are_kept(tmp_path):
    path, link = tmp_path / "t.csv", tmp_path / "link.csv"
    write_table(TABLE, path)
    assert path.stat().st_mode & 0o077 == 0o066 & ~_umask()
    path.chmod(0o640)
    link.symlink_to(path)
    write_table(TABLE[:1], link)
    assert link.is_symlink()
    assert len(read_table(path)) == 1
    assert path.stat().st_mode & 0o777 == 0o640


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


@pytest.mark.parametrize("ending", [*TEXT_ENDINGS, ".parquet"])
def test_pieces_are_written_as_one_table(tmp_path, ending):
    path = tmp_path / f"t{ending}"
    pieces = (TABLE[k : k + 1] for k in range(3))
    assert write_table_chunks(pieces, path) == 3
    assert_frames_equal(read_table(path), TABLE, check_dtype=ending != ".parquet")


@pytest.mark.parametrize("ending", [".csv", ".csv.zst", ".parquet"])
def test_pieces_that_end_with_an_error_leave_the_old_file(tmp_path, ending):
    path = tmp_path / f"t{ending}"
    write_table(TABLE, path)

    def pieces():
        yield TABLE[:1]
        raise ValueError("the caller's own")

    with pytest.raises(ValueError, match=r"^the caller's own$"):
        write_table_chunks(pieces(), path)
    assert len(read_table(path)) == 3
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_formats_by_name(tmp_path):
    for name in ("csv", "tsv", "parquet"):
        write_table(TABLE, tmp_path / "table.dat", name)
        assert_frames_equal(read_table(tmp_path / "table.dat", name), TABLE)
    write_table(TABLE, tmp_path / "t.csv", "parquet")  # the ending comes first
    assert (tmp_path / "t.csv").read_bytes().startswith(b"n,size")
    with pytest.raises(TableFileError, match="format must be one of csv, tsv, parquet"):
        read_table(tmp_path / "t.csv", "xlsx")


def test_pipes_are_written_to_and_not_replaced(tmp_path):
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_table(TABLE[["n"]], pipe)
    assert os.read(reader, 100) == b"n\n1\n2\n3\n"
    os.close(reader)
    assert pipe.is_fifo()


def test_iso_dates_in_text_are_dates(tmp_path):
    table = pd.DataFrame(
        {
            "day": ["2024-01-31", None, "2023-12-01"],
            "moment": ["2024-01-31T12:00:00", "2024-02-01 13:30:00.5", "2024-02-02 00:00:00"],
            "no day": ["2024-02-31", "2024-01-01", "2024-01-02"],
            "code": ["2024-01-31-A", "2024-01-01", "x"],
        }
    )
    table.to_csv(tmp_path / "table.csv", index=False)
    schema = infer_schema(read_table(tmp_path / "table.csv"))
    assert [column.kind for column in schema] == ["datetime", "datetime", "category", "category"]
    dated = table.assign(day=pd.to_datetime(table["day"]))
    expected = encode(dated, schema)
    assert np.isnan(expected[:, 0]).tolist() == [False, True, False]
    moment = pd.Timestamp("2024-02-01 13:30:00.5").timestamp()
    assert expected[1, 1] == moment
    pieces = read_table_chunks(tmp_path / "table.csv", rows=2)
    np.testing.assert_array_equal(np.vstack([encode(p, schema) for p in pieces]), expected)


@pytest.mark.parametrize(
    ("name", "text"),
    [("a.csv", "x;y\n1,5;a\n"), ("a.csv", "x\ty\n1\t2\n"), ("a.tsv", "x,y\n1,2\n")],
)
def test_other_separators_are_named(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(TableFileError, match="between columns; separate them by commas"):
        read_table(path)


def test_the_name_of_a_single_column_may_be_quoted(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('"x;y"\n1\n2\n')
    assert read_table(path).columns.tolist() == ["x;y"]
