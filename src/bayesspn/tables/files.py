"""Tables in files: CSV, TSV (also compressed) and Parquet, whole or in pieces, and standard input.

The ending of the name decides on the format. Files are UTF-8 with a header; cells that are empty or
read NA, NaN, null or the like are missing. Every problem is one sentence that names the file.
"""

from __future__ import annotations

import bz2
import contextlib
import csv
import gzip
import io
import lzma
import os
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, TextIO, cast

import pandas as pd

from bayesspn.tables.atomic import replaced_file
from bayesspn.tables.cells import shorten
from bayesspn.tables.frames import build_frame, open_table

PathLike = str | os.PathLike[str]

_SEPARATORS = {".csv": ",", ".tsv": "\t"}
_PARQUET = (".parquet", ".pq")
_COMPRESSIONS = (".gz", ".bz2", ".xz", ".zst")

#: Characters handed to the parser at once.
_BLOCK = 1 << 18


class TableFileError(ValueError):
    """A file that cannot be read or written as a table."""


def read_table(path: PathLike) -> pd.DataFrame:
    """Read a table.

    Parameters
    ----------
    path : str or path
        A file ending in .csv, .tsv (also .csv.gz, .bz2, .xz, .zst) or .parquet; ``"-"`` reads CSV
        from standard input.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> write_table(pd.DataFrame({"age": [31, 42]}), f"{folder.name}/people.csv.gz")
    >>> read_table(f"{folder.name}/people.csv.gz")
       age
    0   31
    1   42
    >>> folder.cleanup()
    """
    with _one_sentence_errors(path):
        if _format(path)[0] == "parquet":
            return pd.read_parquet(_existing(path))
        with _open_text(path) as text:
            return pd.read_csv(text, **_csv_options(path, text))


def read_table_chunks(path: PathLike, rows: int) -> Iterator[pd.DataFrame]:
    """Read a table in pieces, so that a table larger than memory can be worked on.

    Types are inferred for each piece of a CSV file on its own: integers are floats in a piece with
    missing cells. Encoding by a schema does not mind.

    Parameters
    ----------
    path : str or path
        As for `read_table`.
    rows : int
        Rows of a piece; the last one may have fewer. A table without rows gives one empty piece.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> write_table(pd.DataFrame({"age": [31, 42, 53]}), f"{folder.name}/people.csv")
    >>> [len(piece) for piece in read_table_chunks(f"{folder.name}/people.csv", rows=2)]
    [2, 1]
    >>> folder.cleanup()
    """
    if rows < 1:
        raise ValueError(f"rows must be 1 or more, got {rows!r}")
    with _one_sentence_errors(path):
        if _format(path)[0] == "parquet":
            yield from _parquet_chunks(_existing(path), rows)
            return
        with (
            _open_text(path) as text,
            pd.read_csv(text, chunksize=rows, **_csv_options(path, text)) as pieces,
        ):
            yield from pieces


def _parquet_chunks(path: Path, rows: int) -> Iterator[pd.DataFrame]:
    import pyarrow
    import pyarrow.parquet

    with pyarrow.parquet.ParquetFile(path) as file:
        empty = True
        for batch in file.iter_batches(batch_size=rows):
            empty = False
            yield pyarrow.Table.from_batches([batch]).to_pandas()
        if empty:
            yield file.schema_arrow.empty_table().to_pandas()


def write_table(table: Any, path: PathLike) -> None:
    """Write a table; an interrupted write leaves the old file as it was.

    Parameters
    ----------
    table : array or frame of shape (rows, columns)
        Of any library. The index of a pandas frame is not written.
    path : str or path
        As for `read_table`; ``"-"`` writes CSV to standard output.
    """
    frame = table
    if not isinstance(table, pd.DataFrame):
        frame = build_frame(open_table(table).columns(), like="pandas")
    with _one_sentence_errors(path):
        file_format, compression = _format(path)
        if str(path) == "-":
            frame.to_csv(sys.stdout, index=False)
            return
        with replaced_file(path) as file:
            if file_format == "parquet":
                frame.to_parquet(file, index=False)
            else:
                with _compress(file, compression) as packed:
                    frame.to_csv(packed, sep=_SEPARATORS[file_format], index=False)


def _format(path: PathLike) -> tuple[str, str]:
    """Format and compression by the ending of a name."""
    if str(path) == "-":
        return ".csv", ""
    endings = [ending.lower() for ending in Path(path).suffixes[-2:]] or [""]
    compression = endings.pop() if endings[-1] in _COMPRESSIONS else ""
    ending = endings[-1] if endings else ""
    if ending in _PARQUET and not compression:
        return "parquet", ""
    if ending not in _SEPARATORS:
        raise TableFileError(
            f"{path}: the ending does not name a format; use .csv or .tsv (also with .gz, .bz2, "
            ".xz or .zst) or .parquet"
        )
    return ending, compression


def _existing(path: PathLike) -> Path:
    # pandas and Arrow have their own words for this
    with open(path, "rb"):
        return Path(path)


@contextlib.contextmanager
def _one_sentence_errors(path: PathLike) -> Iterator[None]:
    name = "standard input" if str(path) == "-" else str(path)
    try:
        yield
    except (TableFileError, BrokenPipeError):
        raise
    except UnicodeDecodeError:
        raise TableFileError(f"{name}: is not text in UTF-8; convert it to UTF-8") from None
    except FileNotFoundError:
        raise TableFileError(f"{name}: no such file or folder") from None
    except (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile) as error:
        raise TableFileError(f"{name}: the compressed data is damaged ({error})") from None
    except ImportError as error:
        raise TableFileError(f"{name}: this format needs the package pyarrow ({error})") from None
    except (OSError, ValueError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or " ".join(str(error).split())
        raise TableFileError(f"{name}: {reason}") from None


class _CheckedText:
    """Text of a table that is handed on as it is, every row checked to be of the header's length.

    pandas fills short rows with missing cells without a word, and a file that was cut off looks
    like that.
    """

    def __init__(self, text: TextIO, separator: str, name: str) -> None:
        self._text, self._name = text, name
        self._pending: list[str] = []
        self._rows = csv.reader(self._lines(), delimiter=separator)
        self.header = next((row for row in self._rows if row), None)
        self._pending.clear()
        if self.header is None:
            raise TableFileError(f"{name}: is empty; a table needs a header")
        twice = {column for column in self.header if self.header.count(column) > 1}
        if twice:
            raise TableFileError(
                f"{name}: two columns are named {shorten(min(twice))}; rename one of them"
            )

    def _lines(self) -> Iterator[str]:
        for line in self._text:
            self._pending.append(line)
            yield line

    def __iter__(self) -> Iterator[str]:
        return iter(self.read, "")

    def read(self, size: int = _BLOCK) -> str:
        """Whole rows of about ``size`` characters, empty at the end."""
        assert self.header is not None
        parts: list[str] = []
        length = 0
        for row in self._rows:
            if row and len(row) != len(self.header):
                raise TableFileError(
                    f"{self._name}: line {self._rows.line_num} has {len(row)} cells, the header "
                    f"has {len(self.header)}; correct the line"
                )
            length += sum(map(len, self._pending))
            parts += self._pending
            self._pending.clear()
            if length >= size:
                break
        return "".join(parts)


@contextlib.contextmanager
def _open_text(path: PathLike) -> Iterator[_CheckedText]:
    file_format, compression = _format(path)
    name = "standard input" if str(path) == "-" else str(path)
    with contextlib.ExitStack() as stack:
        if str(path) == "-":
            raw: Any = sys.stdin.buffer
        else:
            raw = stack.enter_context(open(path, "rb"))
            raw = stack.enter_context(_decompress(raw, compression))
        text = io.TextIOWrapper(raw, encoding="utf-8-sig", newline="")
        stack.callback(text.detach)  # standard input stays open
        yield _CheckedText(text, _SEPARATORS[file_format], name)


def _csv_options(path: PathLike, text: _CheckedText) -> dict[str, Any]:
    return {
        "sep": _SEPARATORS[_format(path)[0]],
        "names": text.header,
        "header": None,
        "index_col": False,
        "low_memory": False,  # one type for a whole column
    }


def _decompress(file: BinaryIO, compression: str) -> Any:
    if compression == ".gz":
        return gzip.GzipFile(fileobj=file, mode="rb")
    if compression == ".bz2":
        return bz2.BZ2File(file)
    if compression == ".xz":
        return lzma.LZMAFile(file)
    if compression == ".zst":
        import pyarrow

        return io.BufferedReader(pyarrow.CompressedInputStream(file, "zstd"))
    return contextlib.nullcontext(file)


def _compress(file: BinaryIO, compression: str) -> Any:
    if compression == ".gz":
        # without a time stamp the same table gives the same file
        return gzip.GzipFile(fileobj=file, mode="wb", mtime=0)
    if compression == ".bz2":
        return bz2.BZ2File(file, "wb")
    if compression == ".xz":
        return lzma.LZMAFile(file, "wb")
    if compression == ".zst":
        import pyarrow

        # Arrow closes what it writes to, and the file has to reach the disk first
        return pyarrow.CompressedOutputStream(os.fdopen(os.dup(file.fileno()), "wb"), "zstd")
    return contextlib.nullcontext(cast(Any, file))
