"""What commands print: tables and JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayesspn.cli.errors import say
from bayesspn.cli.options import Format
from bayesspn.questions.wording import count, to_json

if TYPE_CHECKING:
    import pandas as pd

STREAM = Path("-")


def print_json(document: Any) -> None:
    """Print one JSON document."""
    print(json.dumps(to_json(document), allow_nan=False))


def frame_rows(frame: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Rows of a frame as JSON."""
    names = [str(name) for name in frame.columns]
    columns = [frame.iloc[:, k].astype(object).tolist() for k in range(len(names))]
    for cells in zip(*columns, strict=True):
        yield {name: to_json(cell) for name, cell in zip(names, cells, strict=True)}


def deliver(pieces: Iterable[Any], output: Path, chosen: Format | None, *, as_json: bool) -> None:
    """Write a table as its pieces come: to a file, or to standard output as text or JSON."""
    from bayesspn.tables.files import as_pandas, write_table_chunks

    if as_json and output == STREAM:
        _stream_json(as_pandas(piece) for piece in pieces)
        return
    rows = write_table_chunks(pieces, output, chosen)
    if as_json:
        print_json({"output": str(output), "rows": rows})
    elif output != STREAM:
        say(f"{count(rows, 'row')} written to {output}")


def _stream_json(frames: Iterable[pd.DataFrame]) -> None:
    sys.stdout.write('{"rows": [')
    separator = ""
    for frame in frames:
        for row in frame_rows(frame):
            sys.stdout.write(separator + json.dumps(row, allow_nan=False))
            separator = ",\n"
    sys.stdout.write("]}\n")


def align(rows: Iterable[Iterable[str]]) -> str:
    """Lines of aligned columns.

    Examples
    --------
    >>> print(align([("name", "value"), ("a", "long")]))
    name  value
    a     long
    """
    cells = [list(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    )
