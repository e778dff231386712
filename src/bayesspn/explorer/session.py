"""One model and what the page asks of it, in documents that JSON can hold."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Hashable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bayesspn.explorer.given import read_given, write_python
from bayesspn.questions.events import QuestionError
from bayesspn.questions.wording import count, percent, to_json
from bayesspn.tables import TableError, read_table
from bayesspn.tables.encoding import with_indicators
from bayesspn.tables.times import time_zone

if TYPE_CHECKING:
    from bayesspn.estimators.joint import JointEstimator
    from bayesspn.tables.schema import ColumnSchema

INTERVAL = 0.9

#: Cells of a column without categories, and bytes that tables of cells may take.
_MOST_CELLS, _FEWEST_CELLS = 80, 12
_MOST_BYTES = 400 << 20

_LONGEST_NAME = 300
_MOST_SAMPLES = 10_000
_ENDINGS = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet")


class Session:
    """A model, and a table whose rows can be looked at.

    Answers are computed one after the other: they share tables, and a second core would not make
    them faster.

    Parameters
    ----------
    model : fitted estimator
    name : str, default="model.bspn"
        File of the model, for the Python call shown.
    """

    def __init__(self, model: JointEstimator, name: str = "model.bspn") -> None:
        self.model = model
        self.joint = model.joint_
        self.schema = model.schema_
        self.name = name
        self.cells = _choose_cells(model)
        self.table: pd.DataFrame | None = None
        self._lock = threading.Lock()
        # rows are judged by fewer draws, and meanwhile the page may go on asking
        posterior = model.posterior_
        alone = posterior.thinned is not posterior
        self._row_lock = threading.Lock() if alone else self._lock

    def warm_up(self) -> None:
        """Tabulate what all answers need."""
        self.answer([])

    def describe(self) -> dict[str, Any]:
        """The columns and their cells."""
        columns = [self._describe_column(column) for column in self.schema]
        return {
            "name": Path(self.name).name[:_LONGEST_NAME],
            "draws": self.model.posterior_.n_draws,
            "interval": INTERVAL,
            "columns": columns,
            "table": None if self.table is None else len(self.table),
        }

    def _describe_column(self, column: ColumnSchema) -> dict[str, Any]:
        with self._lock:
            cells = self.joint.cells(column.name, self.cells)
        described: dict[str, Any] = {
            "name": _cut(str(column.name)),
            "kind": column.kind,
            "zone": bool(column.kind == "datetime" and time_zone(column.dtype or "")),
        }
        if "value" in cells:
            described["labels"] = [_cut(str(value)) for value in cells["value"]]
        else:
            described["low"] = _plain_ends(cells["from"])
            described["high"] = _plain_ends(cells["to"])
        return described

    def answer(self, entries: Any) -> dict[str, Any]:
        """Distributions of all columns, given what the page says is known."""
        given = read_given(entries, self.schema)
        with self._lock:
            frames = self.joint.distributions(given=given, interval=INTERVAL, cells=self.cells)
        parts = ("probability", "low", "high")
        columns = [{part: frame[part].tolist() for part in parts} for frame in frames.values()]
        return {
            "columns": columns,
            "python": write_python(given, self.name, INTERVAL, self.cells),
        }

    def judge(self, entries: Any) -> dict[str, Any]:
        """How probable and how unusual what is given is."""
        given = {k: v for k, v in read_given(entries, self.schema).items() if v is not None}
        if not given:
            return {"probability": None, "words": "Nothing is given yet."}
        with self._lock:
            rarity = self.joint.rarity(given)
            try:
                answer = self.joint.probability(given, interval=INTERVAL)
            except QuestionError as error:  # a single value of a column without resolution
                return {"probability": None, "rarity": rarity, "words": str(error)}
        words = f"Probability {percent(answer.value)}"
        words += f" ({percent(answer.low)} to {percent(answer.high)})"
        words += f", about one row in {_one_in(answer.value)}."
        if rarity < 1.0:
            words += f" {percent(rarity)} of comparable rows are at least as unusual."
        return {"probability": to_json(answer._asdict()), "rarity": rarity, "words": words}

    def sample(self, entries: Any, rows: Any, seed: Any) -> pd.DataFrame:
        """Synthetic rows that agree with what is given, as the model's own table."""
        given = read_given(entries, self.schema)
        for name, value, least, most in (
            ("the number of rows", rows, 1, _MOST_SAMPLES),
            ("the seed", seed, 0, 2**32 - 1),
        ):
            if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
                raise QuestionError(f"{name} must be a whole number from {least} to {most:,}")
        with self._lock:
            drawn = self.joint.sample(rows, given, random_state=seed)
        return self._frame(drawn)

    def export(self, entries: Any) -> pd.DataFrame:
        """Distributions of all columns as one long table."""
        given = read_given(entries, self.schema)
        with self._lock:
            frames = self.joint.distributions(given=given, interval=INTERVAL, cells=self.cells)
        parts = []
        for name, frame in frames.items():
            cells = frame.astype(object)
            cells.insert(0, "column", str(name))
            parts.append(cells)
        order = ["column", "value", "from", "to", "probability", "low", "high"]
        return pd.concat(parts, ignore_index=True).reindex(columns=order)

    def open_table(self, content: bytes, name: str) -> dict[str, Any]:
        """Take a table from the page."""
        ending = next((e for e in _ENDINGS if name.lower().endswith(e)), None)
        if ending is None:
            raise TableError(f"the file must be one of {', '.join(_ENDINGS)}, by its name")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, f"table{ending}")
            path.write_bytes(content)
            try:
                table = read_table(path, schema=self.schema)
            except ValueError as error:
                raise TableError(str(error).replace(str(path), "the table")) from None
        return self.use_table(table)

    def use_table(self, table: pd.DataFrame) -> dict[str, Any]:
        """Take a table whose rows are to be looked at."""
        known = [name for name in self.schema.names if name in table.columns]
        if not known or not len(table):
            raise TableError("the table has none of the model's columns, or no rows")
        self.table = with_indicators(table[known], self.schema).reset_index(drop=True)
        return {"rows": len(self.table), "columns": len(known)}

    def look_at_row(self, row: Any) -> dict[str, Any]:
        """Cells of a row of the table, and how surprising each is given the others."""
        if self.table is None:
            raise QuestionError("no table was opened; choose a file first")
        if not isinstance(row, int) or isinstance(row, bool) or not 0 <= row < len(self.table):
            raise QuestionError(
                f"there is no row {row}; the table has rows 0 to {len(self.table) - 1:,}"
            )
        cells = self.table.iloc[[row]]
        with self._row_lock:
            surprises = np.asarray(self.joint.surprise(cells), dtype=np.float64)[0]
        shown = []
        for position, column in enumerate(self.schema):
            value = cells[column.name].iloc[0] if column.name in cells else None
            missing = value is None or bool(pd.isna(value))
            surprise = surprises[position]
            shown.append(
                {
                    "text": "missing" if missing else _cut(str(value)),
                    "surprise": to_json(surprise),
                    "words": _tell_surprise(float(surprise)),
                    "entry": self._entry(position, column, None if missing else value),
                }
            )
        return {"row": row, "rows": len(self.table), "cells": shown}

    def _entry(self, position: int, column: ColumnSchema, value: Any) -> dict[str, Any]:
        """A cell as an entry of what is given."""
        if value is None:
            return {"column": position, "kind": "missing"}
        text = str(value)
        if column.coded:
            names: list[Any] = list(column.categories or (False, True))
            if value in names:
                return {"column": position, "kind": "codes", "codes": [names.index(value)]}
        elif column.whole:
            text = str(int(value))
        return {"column": position, "kind": "value", "value": text}

    def _frame(self, table: Any) -> pd.DataFrame:
        from bayesspn.tables.files import as_pandas

        if not hasattr(table, "columns"):  # an array
            return pd.DataFrame(table, columns=list(self.schema.recorded))
        return as_pandas(table)


def _choose_cells(model: JointEstimator) -> int:
    """How many cells columns are divided into, such that their tables fit into memory."""
    graph, draws = model.graph_, model.posterior_.n_draws
    columns = sum(not c.coded for c in model.schema_)
    each = 8 * draws * graph.n_paths * graph.leaves * max(columns, 1)
    return int(np.clip(_MOST_BYTES // each, _FEWEST_CELLS, _MOST_CELLS))


def _plain_ends(ends: pd.Series) -> list[float | None]:
    """Ends of cells as numbers, seconds for times; None where they are open."""
    if pd.api.types.is_timedelta64_dtype(ends.dtype):
        numbers: Any = ends.dt.total_seconds()
    elif ends.dtype.kind == "M" or isinstance(ends.dtype, pd.DatetimeTZDtype):
        epoch = pd.Timestamp("1970-01-01", tz=getattr(ends.dtype, "tz", None) and "UTC")
        numbers = (ends - epoch).dt.total_seconds()
    else:
        numbers = ends
    return [float(end) if np.isfinite(end) else None for end in numbers]


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_NAME else text[: _LONGEST_NAME - 1] + "…"


def _tell_surprise(surprise: float) -> str:
    """How unusual a cell is, in words; nothing for a missing one."""
    if np.isnan(surprise):
        return ""
    share = float(np.exp(-surprise))
    return "as common as any" if share > 0.5 else f"only one in {_one_in(share)} is as unusual"


def _one_in(probability: float) -> str:
    if probability <= 0:
        return "infinitely many"
    times = 1.0 / probability
    if times < 10:
        return f"{times:.1f}".removesuffix(".0")
    return f"{times:,.0f}" if times < 1e7 else f"{times:.1e}"


def as_csv(frame: pd.DataFrame) -> str:
    """A table as CSV text."""
    return str(frame.to_csv(index=False))


def as_rows(frame: pd.DataFrame) -> dict[str, Any]:
    """The first rows of a table, as texts."""
    rows = [
        ["" if pd.isna(cell) else _cut(str(cell)) for cell in row]
        for row in frame.head(100).itertuples(index=False, name=None)
    ]
    names: list[Hashable] = list(frame.columns)
    return {
        "header": [_cut(str(name)) for name in names],
        "rows": rows,
        "words": f"{count(len(frame), 'row')} drawn"
        + (f"; the first {len(rows)} are shown" if len(rows) < len(frame) else ""),
    }
