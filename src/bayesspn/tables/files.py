"""Tables in files: CSV, TSV (also compressed) and Parquet, whole or in pieces, and standard input.

The ending of the name decides on the format; standard input and output are CSV if nothing else is
said. Files are UTF-8 with a header; cells that are empty or read NA, NaN, null or the like are
missing, and columns of ISO dates are dates. Every problem is one sentence that names the file.
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
from collections.abc import Callable, Generator, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, TextIO, cast

import pandas as pd

from bayesspn.files.atomic import replaced_file
from bayesspn.tables.cells import shorten
from bayesspn.tables.frames import build_frame, open_table
from bayesspn.tables.schema import Schema

PathLike = str | os.PathLike[str]

_SEPARATORS = {".csv": ",", ".tsv": "\t"}
_SPELLED = {",": "commas", "\t": "tabs"}
_PARQUET = (".parquet", ".pq")

#: Formats by name, for streams and for files whose ending does not tell.
FORMATS = ("csv", "tsv", "parquet")

_COMPRESSIONS = (".gz", ".bz2", ".xz", ".zst")

#: Characters handed to the parser at once.
_BLOCK = 1 << 18


class TableFileError(ValueError):
    """A file that cannot be read or written as a table."""


#: Cells that are missing, and what else `pandas.read_csv` takes for that.
_EMPTY = ("",)
_MISSING = (
    *("#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"),
    *("<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
)


def read_table(
    path: PathLike, default_format: str | None = None, *, schema: Schema | None = None
) -> pd.DataFrame:
    """Read a table.

    Parameters
    ----------
    path : str or path
        A file ending in .csv, .tsv (also .csv.gz, .bz2, .xz, .zst) or .parquet; ``"-"`` reads
        standard input.
    default_format : {"csv", "tsv", "parquet"}, default=None
        Format of standard input, CSV if None, and of files whose ending does not tell.
    schema : Schema, default=None
        Columns with a category that reads like a missing cell, such as "NA" or "None", keep it:
        only empty cells are missing there.

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
        file_format, _ = _format(path, default_format)
        if file_format == "parquet":
            return pd.read_parquet(_parquet_source(path))
        with _open_text(path, default_format) as text:
            return pd.read_csv(text, **_csv_options(file_format, text, schema))


def read_table_chunks(
    path: PathLike,
    rows: int,
    default_format: str | None = None,
    *,
    schema: Schema | None = None,
) -> Iterator[pd.DataFrame]:
    """Read a table in pieces, so that a table larger than memory can be worked on.

    Types are inferred for each piece of a CSV file on its own: integers are floats in a piece with
    missing cells. Encoding by a schema does not mind.

    Parameters
    ----------
    path : str or path
        As for `read_table`.
    rows : int
        Rows of a piece; the last one may have fewer. A table without rows gives one empty piece.
    default_format : {"csv", "tsv", "parquet"}, default=None
    schema : Schema, default=None
        As for `read_table`.

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
    pieces = _read_chunks(path, rows, default_format, schema)
    while True:
        # what the caller does with a piece is not the file's fault
        with _one_sentence_errors(path):
            piece = next(pieces, None)
        if piece is None:
            return
        yield piece


def _read_chunks(
    path: PathLike, rows: int, default_format: str | None, schema: Schema | None
) -> Generator[pd.DataFrame]:
    file_format, _ = _format(path, default_format)
    if file_format == "parquet":
        yield from _parquet_chunks(_parquet_source(path), rows)
        return
    with (
        _open_text(path, default_format) as text,
        pd.read_csv(text, chunksize=rows, **_csv_options(file_format, text, schema)) as pieces,
    ):
        yield from pieces


def _parquet_chunks(source: Any, rows: int) -> Iterator[pd.DataFrame]:
    import pyarrow
    import pyarrow.parquet

    with pyarrow.parquet.ParquetFile(source) as file:
        empty = True
        for batch in file.iter_batches(batch_size=rows):
            empty = False
            yield pyarrow.Table.from_batches([batch]).to_pandas()
        if empty:
            yield file.schema_arrow.empty_table().to_pandas()


def write_table(table: Any, path: PathLike, default_format: str | None = None) -> None:
    """Write a table; an interrupted write leaves the old file as it was.

    Parameters
    ----------
    table : array or frame of shape (rows, columns)
        Of any library. The index of a pandas frame is not written.
    path : str or path
        As for `read_table`; ``"-"`` writes to standard output.
    default_format : {"csv", "tsv", "parquet"}, default=None
        As for `read_table`.
    """
    write_table_chunks([table], path, default_format)


def write_table_chunks(
    pieces: Iterable[Any], path: PathLike, default_format: str | None = None
) -> int:
    """Write a table that comes in pieces, each as soon as it is there.

    Parameters
    ----------
    pieces : iterable of arrays or frames of shape (rows, columns)
        At least one, all with the same columns.
    path : str or path
        As for `write_table`. A file appears, or is replaced, once it is complete.
    default_format : {"csv", "tsv", "parquet"}, default=None
        As for `read_table`.

    Returns
    -------
    int
        Number of rows.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> pieces = (pd.DataFrame({"age": [age]}) for age in (31, 42))
    >>> write_table_chunks(pieces, f"{folder.name}/people.csv")
    2
    >>> read_table(f"{folder.name}/people.csv")["age"].tolist()
    [31, 42]
    >>> folder.cleanup()
    """
    with _one_sentence_errors(path, writing=True):
        file_format, compression = _format(path, default_format)
    written = 0
    with contextlib.ExitStack() as stack:
        with _one_sentence_errors(path, writing=True):
            write = _open_writer(stack, path, file_format, compression)
        for piece in pieces:
            frame = as_pandas(piece)
            with _one_sentence_errors(path, writing=True):
                write(frame)
            written += len(frame)
        with _one_sentence_errors(path, writing=True):
            stack.close()
    return written


def as_pandas(table: Any) -> pd.DataFrame:
    """A table of any library as a pandas frame.

    Examples
    --------
    >>> as_pandas([[31, 42]])
       x0  x1
    0  31  42
    """
    if isinstance(table, pd.DataFrame):
        return table
    return build_frame(open_table(table).columns(), like="pandas")


def _open_writer(
    stack: contextlib.ExitStack, path: PathLike, file_format: str, compression: str
) -> Callable[[pd.DataFrame], None]:
    """A function that appends a frame to a file, which is complete when the stack is closed."""
    if file_format == "parquet":
        if str(path) == "-":
            file: Any = contextlib.nullcontext(sys.stdout.buffer)
        else:
            file = replaced_file(path)
        return _parquet_writer(stack, stack.enter_context(file))
    text: Any = sys.stdout
    if str(path) != "-":
        text = stack.enter_context(_compress(stack.enter_context(replaced_file(path)), compression))
    begun = False

    def write(frame: pd.DataFrame) -> None:
        nonlocal begun
        frame.to_csv(text, sep=_SEPARATORS[file_format], index=False, header=not begun)
        begun = True

    return write


def _parquet_writer(stack: contextlib.ExitStack, file: BinaryIO) -> Callable[[pd.DataFrame], None]:
    import pyarrow
    import pyarrow.parquet

    writer = None

    def write(frame: pd.DataFrame) -> None:
        nonlocal writer
        schema = None if writer is None else writer.schema
        # the first piece settles the types
        table = pyarrow.Table.from_pandas(frame, schema=schema, preserve_index=False)
        if writer is None:
            writer = stack.enter_context(pyarrow.parquet.ParquetWriter(file, table.schema))
        writer.write_table(table)

    return write


def _format(path: PathLike, default: str | None = None) -> tuple[str, str]:
    """Format and compression by the ending of a name."""
    if default is not None and default not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(FORMATS)}, got {default!r}")
    chosen = default if default in (None, "parquet") else f".{default}"
    if str(path) == "-":
        return chosen or ".csv", ""
    endings = [ending.lower() for ending in Path(path).suffixes[-2:]] or [""]
    compression = endings.pop() if endings[-1] in _COMPRESSIONS else ""
    ending = endings[-1] if endings else ""
    if ending in _PARQUET and not compression:
        return "parquet", ""
    if ending in _SEPARATORS:
        return ending, compression
    if chosen is None or (chosen == "parquet" and compression):
        raise TableFileError(
            f"{path}: the ending does not name a format; use .csv or .tsv (also with .gz, .bz2, "
            ".xz or .zst) or .parquet"
        )
    return chosen, compression


def _parquet_source(path: PathLike) -> Any:
    if str(path) == "-":
        return io.BytesIO(sys.stdin.buffer.read())  # the end of the file comes first
    # pandas and Arrow have their own words for this
    with open(path, "rb"):
        return Path(path)


@contextlib.contextmanager
def _one_sentence_errors(path: PathLike, *, writing: bool = False) -> Iterator[None]:
    name = str(path)
    if name == "-":
        name = "standard output" if writing else "standard input"
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
        raise TableFileError(
            f"{name}: this format needs the package pyarrow, which is not there ({error}); "
            "pip install 'bayesspn[parquet]'"
        ) from None
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
        line = "".join(self._pending).strip()
        self._pending.clear()
        if self.header is None:
            raise TableFileError(f"{name}: is empty; a table needs a header")
        if len(self.header) == 1 and not line.startswith('"') and set(line) & set(";,\t|"):
            raise TableFileError(
                f"{name}: its header, {shorten(self.header[0])}, has no {_SPELLED[separator]} "
                "between columns; separate them by commas, or by tabs in a .tsv file, or quote the "
                "name if it is that of the only column"
            )
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
def _open_text(path: PathLike, default_format: str | None) -> Iterator[_CheckedText]:
    file_format, compression = _format(path, default_format)
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


def _csv_options(file_format: str, text: _CheckedText, schema: Schema | None) -> dict[str, Any]:
    told = {column.name for column in schema or () if set(_MISSING) & set(column.categories)}
    options: dict[str, Any] = {
        "sep": _SEPARATORS[file_format],
        "names": text.header,
        "header": None,
        "index_col": False,
        "low_memory": False,  # one type for a whole column
    }
    if told:
        options["keep_default_na"] = False
        options["na_values"] = {
            name: _EMPTY if name in told else _EMPTY + _MISSING for name in text.header or ()
        }
    return options


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
