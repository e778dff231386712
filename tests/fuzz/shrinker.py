"""The smallest table that fails as a large one did, and the code that makes it."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl

from bayesspn import RegionGraph

#: Values of parameters to try, the simplest first; those after the present one are not tried.
SIMPLE: dict[str, tuple[Any, ...]] = {
    "graph": (
        RegionGraph(0, leaves=1),
        RegionGraph(0, leaves=2),
        RegionGraph(1, 1, sums=1, leaves=1, products="shared"),
        RegionGraph(1, 1, sums=2, leaves=2),
    ),
    "alpha": (0.5, "auto"),
    "beta": (0.5, "auto"),
    "gamma": (0.5, "auto"),
    "chains": (1,),
    "burn_in": (0, 1),
    "draws": (1, 2),
    "thin": (1,),
    "random_state": (0,),
}

_SIMPLE_NAMES = ("a", "b", "c", "d", "e", "f")

#: What the code of a table needs.
IMPORTS = """\
import numpy as np
import pandas as pd
import polars as pl
from numpy import inf, nan
from pandas import NA, NaT, Timedelta, Timestamp

from bayesspn import RegionGraph
"""


class Case(NamedTuple):
    """What is learned, and how."""

    table: Any
    parameters: dict[str, Any]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.table.shape


#: What is wrong with a case, None if nothing is: two cases fail alike if it is equal.
Failure = Callable[[Case], Hashable | None]


def shrink(case: Case, failure: Failure, seconds: float = 60.0) -> Case:
    """Drop columns and rows and simplify the rest as long as the case fails in the same way.

    Parameters
    ----------
    case : Case
        That fails.
    failure : callable
        Says how a case fails, None if it does not.
    seconds : float, default=60.0
        Nothing new is tried after these.
    """
    wanted, end = failure(case), time.monotonic() + seconds
    assert wanted is not None, "only what fails can be shrunk"
    steps = (_drop_columns, _drop_rows, _simplify_parameters, _simplify_table)
    shrunk = True
    while shrunk:
        shrunk = False
        for step in steps:
            again = True
            while again:
                again = False
                for smaller in step(case):
                    if time.monotonic() >= end:
                        return case
                    if failure(smaller) == wanted:
                        case, again, shrunk = smaller, True, True
                        break
    return case


def _drop_columns(case: Case) -> Iterator[Case]:
    for kept in _without(case.shape[1]):
        yield case._replace(table=take_columns(case.table, kept))


def _drop_rows(case: Case) -> Iterator[Case]:
    for kept in _without(case.shape[0]):
        yield case._replace(table=take_rows(case.table, kept))


def _without(count: int) -> Iterator[list[int]]:
    """Places that are left after some neighbours are gone: first half of them, in the end one."""
    size = count // 2
    while size:
        for first in range(0, count, size):
            kept = [place for place in range(count) if not first <= place < first + size]
            if kept:
                yield kept
        size //= 2


def _simplify_parameters(case: Case) -> Iterator[Case]:
    for name, present in case.parameters.items():
        candidates = SIMPLE.get(name, ())
        if present in candidates:
            candidates = candidates[: candidates.index(present)]
        for value in candidates:
            yield case._replace(parameters=case.parameters | {name: value})


def _simplify_table(case: Case) -> Iterator[Case]:
    table = case.table
    if isinstance(table, np.ndarray):
        return
    names = list(_SIMPLE_NAMES[: table.shape[1]])
    if len(names) == table.shape[1] and list(table.columns) != names:
        renamed = table.clone() if isinstance(table, pl.DataFrame) else table.copy()
        renamed.columns = names
        yield case._replace(table=renamed)
    if isinstance(table, pd.DataFrame) and list(table.index) != list(range(len(table))):
        yield case._replace(table=table.reset_index(drop=True))


def take_rows(table: Any, rows: Sequence[int]) -> Any:
    """Some rows of a table of any library."""
    if isinstance(table, pd.DataFrame):
        return table.iloc[list(rows)]
    return table[list(rows)]


def take_columns(table: Any, columns: Sequence[int]) -> Any:
    """Some columns of a table of any library."""
    if isinstance(table, pd.DataFrame):
        return table.iloc[:, list(columns)]
    return table[:, list(columns)]


def write_code(case: Case) -> str:
    """Python that makes the table and the parameters of a case; it needs `IMPORTS`."""
    write = _write_pandas if isinstance(case.table, pd.DataFrame) else _write_other
    lines = write(case.table)
    return "\n".join([*lines, f"parameters = {case.parameters!r}"]) + "\n"


def run_code(code: str) -> Case:
    """The case that `write_code` wrote."""
    names: dict[str, Any] = {}
    exec(IMPORTS + code, names)
    return Case(names["table"], names["parameters"])


def _write_pandas(frame: pd.DataFrame) -> list[str]:
    columns = [f"    {_write_series(frame.iloc[:, k])}," for k in range(frame.shape[1])]
    lines = ["table = pd.concat([", *columns, "], axis=1)"]
    lines.append(f"table.columns = pd.Index({frame.columns.tolist()!r}, tupleize_cols=False)")
    if frame.index.tolist() != list(range(len(frame))):
        lines.append(f"table.index = pd.Index({frame.index.tolist()!r})")
    return lines


def _write_series(series: pd.Series) -> str:
    dtype = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        codes, levels = series.cat.codes.tolist(), dtype.categories.tolist()
        ordered = bool(dtype.ordered)
        return f"pd.Series(pd.Categorical.from_codes({codes}, {levels!r}, ordered={ordered}))"
    if isinstance(dtype, pd.DatetimeTZDtype):
        moments = _write_times(series.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy())
        return f"pd.Series({moments}).dt.tz_localize('UTC').dt.tz_convert({str(dtype.tz)!r})"
    if dtype.kind in "Mm":
        return f"pd.Series({_write_times(series.to_numpy())})"
    return f"pd.Series([{', '.join(map(_write_cell, series))}], dtype={str(dtype)!r})"


def _write_times(times: np.ndarray) -> str:
    """Times by their ticks, which are exact in every unit."""
    return f"np.array({times.astype(np.int64).tolist()}).view({times.dtype.str!r})"


def _write_cell(cell: Any) -> str:
    if isinstance(cell, pd.Timedelta):  # pandas shows some that it cannot read
        return f"Timedelta({cell.to_timedelta64()!r})"
    return repr(cell.item() if isinstance(cell, np.generic) else cell).replace("<NA>", "NA")


def _write_other(table: Any) -> list[str]:
    if isinstance(table, pl.DataFrame):
        columns = [f"    {_write_polars(series)}," for series in table]
        return ["table = pl.DataFrame([", *columns, "])"]
    if table.dtype.kind in "Mm":
        return [f"table = {_write_times(table)}"]
    rows = [f"    [{', '.join(map(_write_cell, row))}]," for row in table]
    return ["table = np.array([", *rows, f"], dtype={table.dtype.str!r})"]


def _write_polars(series: pl.Series) -> str:
    if series.dtype in (pl.Datetime, pl.Duration):
        ticks = series.to_physical().to_list()
        return f"pl.Series({series.name!r}, {ticks}, dtype=pl.Int64).cast(pl.{series.dtype!r})"
    cells = ", ".join(map(_write_cell, series.to_list()))
    return f"pl.Series({series.name!r}, [{cells}], dtype=pl.{series.dtype!r})"


def failure_of(check: Callable[[Case], None]) -> Failure:
    """How a check fails: the type of its error and the part of the check that it happened in."""

    def failure(case: Case) -> Hashable | None:
        try:
            check(case)
        except Exception as error:
            return type(error), _place(error)
        return None

    return failure


def _place(error: Exception) -> str:
    """The last function named check_… that an error went through."""
    place, trace = "", error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_code.co_name
        place = name if name.startswith("check_") else place
        trace = trace.tb_next
    return place
