"""Where a worker gets its rows from: an array that is sent to it, or files that it reads itself."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from bayesspn.arrays import Array
from bayesspn.tables.cells import TableError
from bayesspn.tables.columns import check_largest
from bayesspn.tables.encoding import encode
from bayesspn.tables.frames import open_table
from bayesspn.tables.partitions import Stretch, read_stretch
from bayesspn.tables.schema import Schema
from bayesspn.tables.surveys import ColumnSurvey, merge_surveys, survey_cells

#: Rows that are read and encoded at a time, a few whole blocks.
PIECE_ROWS = 65_536


class Source(Protocol):
    """Consecutive rows of a table. It is sent to a worker, which reads it there."""

    @property
    def first(self) -> int:
        """Number of the first row."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""

    def pieces(self) -> Iterator[Array]:
        """Encoded values (rows, columns), NaN where missing, piece by piece."""


@dataclass(frozen=True, eq=False)
class ArraySource:
    """Rows of an encoded table in memory."""

    first: int
    values: Array

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.values)

    def pieces(self) -> Iterator[Array]:
        """All rows at once: rows that are alike are found the better."""
        yield self.values


@dataclass(frozen=True, eq=False)
class ParquetSource:
    """Rows of Parquet files, encoded by a schema.

    Attributes
    ----------
    stretches : tuple of Stretch
        At least one.
    schema : Schema or None
        None is good for a survey only.
    """

    stretches: tuple[Stretch, ...]
    schema: Schema | None = None

    @property
    def first(self) -> int:
        """Number of the first row."""
        return self.stretches[0].first

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return sum(stretch.end - stretch.begin for stretch in self.stretches)

    def survey(self) -> tuple[ColumnSurvey, ...]:
        """Survey of every column, in the order of the first file's."""
        surveys: tuple[ColumnSurvey, ...] = ()
        for stretch in self.stretches:
            for place, piece in read_stretch(stretch, PIECE_ROWS):
                with _place_named(stretch.path, place):
                    opened = open_table(piece)
                    cells = map(opened.read, range(len(opened.names)))
                    found = {column.name: survey_cells(column) for column in cells}
                surveys = (
                    tuple(merge_surveys([known, found[known.name]]) for known in surveys)
                    if surveys
                    else tuple(found.values())
                )
        return surveys

    def pieces(self) -> Iterator[Array]:
        """Encoded values (rows, columns), NaN where missing, piece by piece."""
        assert self.schema is not None
        for stretch in self.stretches:
            for place, piece in read_stretch(stretch, PIECE_ROWS):
                with _place_named(stretch.path, place):
                    values = encode(piece, self.schema)
                    check_largest(self.schema, values)
                yield values


@contextlib.contextmanager
def _place_named(path: str, place: int) -> Iterator[None]:
    """Name the file in errors about cells, whose rows are counted from a piece's first one."""
    try:
        yield
    except TableError as error:
        counted = f" (rows are counted from the file's row {place})" if place else ""
        raise TableError(f"{path}: {error}{counted}") from None
