"""Parquet files that together are one table: found, checked, and read a stretch at a time.

Rows are numbered through: those of the first file, then those of the second, and so on. Only the
files' footers are read here; the cells are read by whoever holds the rows.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from bayesspn.tables.cells import shorten
from bayesspn.tables.files import TableFileError

_ENDINGS = (".parquet", ".pq")


@dataclass(frozen=True)
class Stretch:
    """Consecutive rows of a file, and the number of the first of them in the whole table."""

    path: str
    begin: int
    end: int
    first: int


@dataclass(frozen=True)
class Partitions:
    """Parquet files of one table.

    Attributes
    ----------
    paths : tuple of str
    rows : tuple of int
        Rows of each file.
    """

    paths: tuple[str, ...]
    rows: tuple[int, ...]

    @cached_property
    def n_rows(self) -> int:
        """Rows of all files."""
        return sum(self.rows)

    def stretches(self, begin: int, end: int) -> tuple[Stretch, ...]:
        """Where the rows ``begin`` to ``end − 1`` of the table are."""
        found = []
        first = 0
        for path, rows in zip(self.paths, self.rows, strict=True):
            low, high = max(begin - first, 0), min(end - first, rows)
            if low < high:
                found.append(Stretch(path, low, high, first + low))
            first += rows
        return tuple(found)


def names_files(X: Any) -> bool:
    """Whether what was given for a table is the name of a file or folder, or a list of names."""
    if isinstance(X, list | tuple):
        return bool(X) and all(isinstance(part, str | os.PathLike) for part in X)
    return isinstance(X, str | os.PathLike)


def find_partitions(X: Any) -> Partitions:
    """Find the files of a table, and check that their columns agree.

    Parameters
    ----------
    X : str, path or sequence of these
        A Parquet file, a folder of such files, which are taken in the order of their names, or a
        list of files, in this order.
    """
    names = [X] if isinstance(X, str | os.PathLike) else X
    paths = [file for name in names for file in _list(name)]
    twice = next((path for place, path in enumerate(paths) if path in paths[:place]), None)
    if twice is not None:
        raise TableFileError(f"{twice}: is listed twice; name every file once")
    rows, known = [], None
    for path in paths:
        n_rows, columns = _read_footer(path)
        if known is None:
            known = columns
        else:
            _check_columns(path, columns, paths[0], known)
        rows.append(n_rows)
    found = Partitions(tuple(paths), tuple(rows))
    if not found.n_rows:
        what = "is" if len(paths) == 1 else f"and {len(paths) - 1} more are"
        raise TableFileError(f"{paths[0]}: {what} without rows: there is nothing to learn from")
    return found


def _list(name: str | os.PathLike[str]) -> list[str]:
    path = Path(name)
    if path.is_dir():
        files = sorted(
            entry
            for entry in path.iterdir()
            if entry.suffix.lower() in _ENDINGS and not entry.name.startswith((".", "_"))
        )
        if not files:
            raise TableFileError(
                f"{path}: the folder holds no file that ends in .parquet; name the folder that "
                "does, or list the files"
            )
        return [os.path.abspath(file) for file in files]
    if not path.exists():
        raise TableFileError(f"{path}: no such file or folder (text is taken for a file's name)")
    if path.suffix.lower() not in _ENDINGS:
        raise TableFileError(
            f"{path}: only Parquet files (.parquet) are read in parts; read others with "
            "bayesspn.tables.read_table and give the table"
        )
    return [os.path.abspath(path)]


def _open(path: str) -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise ImportError(
            'Parquet files need the package pyarrow: pip install "bayesspn[parquet]"'
        ) from None
    try:
        return pyarrow.parquet.ParquetFile(path)
    except (pyarrow.ArrowException, OSError) as error:
        reason = getattr(error, "strerror", None) or " ".join(str(error).split())
        raise TableFileError(f"{path}: {reason}") from None


def _read_footer(path: str) -> tuple[int, dict[str, str]]:
    """Number of rows, and the types of the columns by their names."""
    with _open(path) as file:
        columns = {name: str(file.schema_arrow.field(name).type) for name in _columns(file)}
        return file.metadata.num_rows, columns


def _columns(file: Any) -> list[str]:
    """Names of the columns, without the row labels that pandas keeps beside them."""
    labels = (file.schema_arrow.pandas_metadata or {}).get("index_columns", [])
    return [name for name in file.schema_arrow.names if name not in labels]


def _check_columns(path: str, columns: dict[str, str], first: str, known: dict[str, str]) -> None:
    for name in known:
        if name not in columns:
            raise TableFileError(
                f"{path}: has no column {shorten(name)}, which {first} has; add it, with missing "
                "cells if it is unknown"
            )
    for name, kind in columns.items():
        if name not in known:
            raise TableFileError(
                f"{path}: has a column {shorten(name)}, which {first} lacks; drop it, or add it "
                "to all files"
            )
        # a column without any observed cell has no type
        if kind != known[name] and "null" not in (kind, known[name]):
            raise TableFileError(
                f"{path}: column {shorten(name)} is of type {kind}, in {first} it is "
                f"{known[name]}; write all files with one type"
            )


def read_stretch(stretch: Stretch, piece_rows: int) -> Iterator[tuple[int, Any]]:
    """Read rows of a file in pieces.

    Yields
    ------
    int, pyarrow.Table
        Position of the piece's first row in the file, and the piece.
    """
    import pyarrow

    with _open(stretch.path) as file:
        sizes = [file.metadata.row_group(g).num_rows for g in range(file.num_row_groups)]
        ends = np.cumsum(sizes)
        if not len(ends) or ends[-1] < stretch.end:
            raise TableFileError(f"{stretch.path}: has lost rows since it was first looked at")
        groups = np.flatnonzero((ends > stretch.begin) & (ends - sizes < stretch.end))
        place = int(ends[groups[0]] - sizes[groups[0]])
        batches = file.iter_batches(piece_rows, row_groups=groups.tolist(), columns=_columns(file))
        for batch in batches:
            low = max(stretch.begin - place, 0)
            high = min(stretch.end - place, batch.num_rows)
            if low < high:
                piece = pyarrow.Table.from_batches([batch.slice(low, high - low)])
                yield place + low, piece
            place += batch.num_rows


def divide_rows(n_rows: int, shards: int) -> Sequence[tuple[int, int]]:
    """Nearly equal stretches of consecutive rows, none empty."""
    ends = [n_rows * shard // shards for shard in range(shards + 1)]
    return [(begin, end) for begin, end in pairwise(ends) if begin < end]
