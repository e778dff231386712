"""What commands print: tables, JSON, and numbers as people write them."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayesspn.cli.errors import say
from bayesspn.cli.options import Format

if TYPE_CHECKING:
    import pandas as pd

STREAM = Path("-")


def to_json(value: Any) -> Any:
    """A value as JSON knows it: times as ISO 8601 text, None for whatever is not a finite number.

    Examples
    --------
    >>> to_json({"a": float("nan"), "b": (datetime(2020, 1, 2), True)})
    {'a': None, 'b': ['2020-01-02T00:00:00', True]}
    """
    if isinstance(value, Mapping):
        return {str(name): to_json(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(one) for one in value]
    if hasattr(value, "tolist") and not isinstance(value, str):
        return to_json(value.tolist())  # NumPy's and pandas' own
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    return _time_or_missing(value)


def _time_or_missing(value: Any) -> Any:
    import pandas as pd

    if pd.isna(value):
        return None
    if isinstance(value, timedelta):
        return pd.Timedelta(value).isoformat()
    if isinstance(value, date | datetime):
        return value.isoformat()
    return str(value)


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


def count(number: int, noun: str) -> str:
    """A number of things.

    Examples
    --------
    >>> count(1, "row"), count(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def show(value: Any) -> str:
    """A value to be read by people: numbers with the digits that matter.

    Examples
    --------
    >>> show(41234.5678), show(0.00123456), show("clerk"), show(3.0)
    ('41234.6', '0.0012346', 'clerk', '3')
    """
    if not isinstance(value, float):
        return str(value)
    size = abs(value)
    if size == 0 or not math.isfinite(value):
        return f"{value:g}"
    if not 1e-6 < size < 1e15:
        return f"{value:.4e}"
    decimals = max(1, 4 - math.floor(math.log10(size)))
    text = f"{value:.{decimals}f}"
    return text.rstrip("0").rstrip(".")


def percent(probability: float) -> str:
    """A probability to be read by people, with two digits of what is unlikely.

    Examples
    --------
    >>> percent(0.3123), percent(0.00012345), percent(0.99987), percent(1.0), percent(1e-9)
    ('31.2 %', '0.012 %', '99.987 %', '100 %', '1e-07 %')
    """
    value = 100 * probability
    rest = min(value, 100 - value)
    if rest <= 1e-12:
        return f"{value:.0f} %"
    if value < 1e-4:
        return f"{value:.2g} %"
    decimals = min(10, max(1, 1 - math.floor(math.log10(rest))))
    return f"{value:.{decimals}f} %"


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
