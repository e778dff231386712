"""A fitted model as functions of SQL, in DuckDB: `register` and then select.

Functions take a whole row, as the name of a table or an alias gives it. NULL means that nothing is
known of a cell, which is then summed out. DuckDB hands over rows as Arrow vectors, so that every
call scores about two thousand of them at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesspn.arrays import Array
from bayesspn.estimators.imputation import fill_best
from bayesspn.estimators.joint import JointEstimator
from bayesspn.numerics.random_numbers import draw_seed
from bayesspn.questions.answers import give_back
from bayesspn.questions.interface import Questions
from bayesspn.questions.row_answers import probabilities_of_rows
from bayesspn.questions.rows import anomaly_scores, draw_plausible, score_rows
from bayesspn.questions.samples import leave_holes
from bayesspn.questions.surprises import cell_surprises
from bayesspn.questions.views import View
from bayesspn.tables import Schema, as_recorded, decode
from bayesspn.tables.cells import shorten
from bayesspn.tables.encoding import forget_constants
from bayesspn.tables.schema import ColumnSchema
from bayesspn.tables.times import time_zone

__all__ = ["register"]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

#: Rows that one call of the sampling function gives at most.
_MOST_SAMPLES = 10_000_000


def register(connection: Any, model: JointEstimator, name: str) -> None:
    """Make a fitted model known to a DuckDB connection, as functions whose names begin alike.

    For ``name="m"`` and a table, or an alias, ``t``:

    ============================== ==============================================================
    ``m_logp(t)``                  log density of the row; NULL cells are summed out
    ``m_probability(t, 'x > 3')``  probability of an event, given the row's other cells
    ``m_fill(t)``                  the row with its NULL cells filled in, as a struct
    ``m_surprise(t)``              how unusual every cell is, as a struct (`BayesianSPN.surprise`)
    ``m_anomaly(t)``               how unusual the row is (`BayesianSPN.anomaly_score`)
    ``m_sample(n)``                table of new rows; may add ``given := 'x > 3'``, ``seed := 1``
    ============================== ==============================================================

    They last as long as the connection and are not stored in the database. Rows need all columns
    of the model, in any order; others are ignored.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
        Needs ``pip install "bayesspn[duckdb]"``.
    model : BayesianSPN, InfiniteSPN, SPNClassifier, SPNRegressor or SPNImputer
        Fitted. The target of a classifier or regressor is a column like any other.
    name : str
        What the names of the functions begin with: letters, digits and underscores.

    Examples
    --------
    >>> import duckdb
    >>> import bayesspn.duckdb
    >>> from bayesspn.examples import fitted_patients, load_patients
    >>> connection = duckdb.connect()
    >>> _ = connection.register("patients", load_patients().head(3))
    >>> bayesspn.duckdb.register(connection, fitted_patients(), "m")
    >>> rows = connection.sql("SELECT m_probability(p, 'ill') AS risk FROM patients p").fetchall()
    >>> [0 < risk < 1 for [risk] in rows]
    [True, True, True]
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError(f"name must be letters, digits and underscores, got {shorten(name)}")
    if not hasattr(connection, "create_function"):
        raise TypeError(
            f"connection must be one of DuckDB's, as duckdb.connect() gives it, got "
            f"{type(connection).__name__}; pip install 'bayesspn[duckdb]' installs DuckDB"
        )
    if not isinstance(model, JointEstimator):
        raise TypeError(f"model must be a fitted estimator, got {type(model).__name__}")
    view = model._view() if isinstance(model, Questions) else model.joint_._view()
    _Functions(view, name).register(connection)


@dataclass(frozen=True)
class _Functions:
    """The functions of one model.

    Functions of Python take a struct with the model's columns, in order and of the right types; a
    macro makes it of whatever row it is given.
    """

    view: View
    name: str

    @property
    def columns(self) -> dict[int, ColumnSchema]:
        """Columns that rows have, by position."""
        schema = self.view.schema
        return {place: schema.columns[place] for place in map(schema.position, schema.recorded)}

    def register(self, connection: Any) -> None:
        row, numbers = self._struct(_taken_type), self._struct(lambda column: "DOUBLE")
        given = self._struct(_sql_type)
        self._add(connection, "logp", self._logp, [row], "DOUBLE")
        self._add(connection, "probability", self._probability, [row, "VARCHAR"], "DOUBLE")
        self._add(connection, "fill", self._fill, [row], given)
        self._add(connection, "surprise", self._surprise, [row], numbers)
        self._add(connection, "anomaly", self._anomaly, [row], "DOUBLE")
        self._add(connection, "sample", self._sample, ["BIGINT", "VARCHAR", "BIGINT"], f"{given}[]")
        packed = ", ".join(
            f"{_quote(column)} := {_taken(column, f'struct_extract(t, {_text(column)})')}"
            for column in self.columns.values()
        )
        for function, more in {
            "logp": "",
            "probability": ", event",
            "fill": "",
            "surprise": "",
            "anomaly": "",
        }.items():
            connection.execute(
                f"CREATE OR REPLACE TEMP MACRO {self.name}_{function}(t{more}) AS "
                f"{self._hidden(function)}(struct_pack({packed}){more})"
            )
        connection.execute(
            f"CREATE OR REPLACE TEMP MACRO {self.name}_sample(n, given := '', seed := 0) AS TABLE "
            f"SELECT unnest({self._hidden('sample')}(n::BIGINT, given::VARCHAR, seed::BIGINT), "
            "recursive := true)"
        )

    def _hidden(self, function: str) -> str:
        return f"__{self.name}_{function}"

    def _struct(self, kind: Callable[[ColumnSchema], str]) -> str:
        parts = (f"{_quote(column)} {kind(column)}" for column in self.columns.values())
        return f"STRUCT({', '.join(parts)})"

    def _add(
        self, connection: Any, function: str, call: Callable[..., Any], takes: list[str], gives: str
    ) -> None:
        hidden = self._hidden(function)
        known = "SELECT count(*) FROM duckdb_functions() WHERE function_name = ?"
        if connection.execute(known, [hidden]).fetchall()[0][0]:
            connection.remove_function(hidden)
        connection.create_function(
            hidden, call, takes, gives, type="arrow", null_handling="special"
        )

    def _encode(self, row: Any) -> Array:
        import pyarrow

        whole = row.combine_chunks() if isinstance(row, pyarrow.ChunkedArray) else row
        if isinstance(whole, pyarrow.ChunkedArray):  # what no chunks combine to
            whole = pyarrow.array([], type=row.type)
        names = [str(column.name) for column in self.columns.values()]
        parts = dict(zip(names, whole.flatten(), strict=True))
        for column in self.columns.values():
            if column.kind == "duration":
                seconds = parts[str(column.name)].to_numpy(zero_copy_only=False)
                parts[str(column.name)] = _durations(seconds)
        return self.view.encode(pyarrow.table(parts))

    def _encode_evidence(self, row: Any) -> Array:
        return forget_constants(self._encode(row), self.view.schema)

    def _logp(self, row: Any) -> Any:
        return _doubles(score_rows(self.view.posterior, self._encode_evidence(row)))

    def _probability(self, row: Any, event: Any) -> Any:
        values, texts = self._encode_evidence(row), event.to_pylist()
        found = np.full(len(values), np.nan)
        for text in set(texts):
            if text is None:
                continue
            wanted, view = self.view.alternatives(text)
            rows = np.array([one == text for one in texts])
            found[rows] = probabilities_of_rows(view, wanted, values[rows], None)
        return _doubles(found)

    def _fill(self, row: Any) -> Any:
        values = self._encode(row)
        filled = as_recorded(fill_best(self.view.posterior, values), self.view.schema)
        return self._rows(np.where(np.isnan(values), filled, values))

    def _surprise(self, row: Any) -> Any:
        import pyarrow

        found = cell_surprises(self.view, self._encode(row))
        columns = [_doubles(found[:, place]) for place in self.columns]
        names = [str(column.name) for column in self.columns.values()]
        return pyarrow.StructArray.from_arrays(columns, names)

    def _anomaly(self, row: Any) -> Any:
        return _doubles(anomaly_scores(self.view, self._encode_evidence(row), draw_seed(0)))

    def _sample(self, number: Any, given: Any, seed: Any) -> Any:
        import pyarrow

        tables, ends = [], [0]
        asked = zip(number.to_pylist(), given.to_pylist(), seed.to_pylist(), strict=True)
        for n, text, start in asked:
            if n is None or not 0 <= n <= _MOST_SAMPLES:
                raise ValueError(f"n must be a number of rows up to {_MOST_SAMPLES:,}, got {n}")
            view = self.view.knowing(text or None)
            rows = np.empty((0, len(view.schema)))
            if n:
                rows = leave_holes(view, draw_plausible(view, n, draw_seed(start or 0)))
            tables.append(self._rows(_as_given(view, rows)))
            ends.append(ends[-1] + n)
        return pyarrow.ListArray.from_arrays(
            pyarrow.array(ends, type=pyarrow.int32()), pyarrow.concat_arrays(tables)
        )

    def _rows(self, values: Array) -> Any:
        """Encoded rows as an array of structs."""
        import pyarrow

        names = [str(column.name) for column in self.columns.values()]
        parts = [_as_column(values[:, [place]], column) for place, column in self.columns.items()]
        return pyarrow.StructArray.from_arrays(parts, names)


def _as_given(view: View, rows: Array) -> Array:
    """Drawn rows, recorded as their columns are."""
    return view.encode(give_back(view, rows)) if len(rows) else rows


def _as_column(values: Array, column: ColumnSchema) -> Any:
    import pyarrow

    part = decode(values, Schema((column,)), "pyarrow").column(0).combine_chunks()
    kinds = {
        "DOUBLE": pyarrow.float64(),
        "VARCHAR": pyarrow.string(),
        "BOOLEAN": pyarrow.bool_(),
        "INTERVAL": pyarrow.duration("us"),
        "TIMESTAMP": pyarrow.timestamp("us"),
        "TIMESTAMPTZ": pyarrow.timestamp("us", "UTC"),
    }
    if pyarrow.types.is_dictionary(part.type):
        part = part.dictionary_decode()
    if isinstance(part, pyarrow.ChunkedArray):
        part = pyarrow.array([], type=part.type)
    return part.cast(kinds[_sql_type(column)], safe=False)


def _doubles(values: Array) -> Any:
    """Numbers as Arrow has them; NaN is NULL."""
    import pyarrow

    return pyarrow.array(values, type=pyarrow.float64(), from_pandas=True)


def _durations(seconds: Array) -> Any:
    import pyarrow

    micro = np.where(np.isnan(seconds), 0, seconds * 1e6).astype("timedelta64[us]")
    micro[np.isnan(seconds)] = "NaT"
    return pyarrow.array(micro)


def _sql_type(column: ColumnSchema) -> str:
    """Type of a column in SQL."""
    if column.kind == "binary":
        return "BOOLEAN"
    if column.kind == "duration":
        return "INTERVAL"
    if column.kind == "datetime":
        return "TIMESTAMPTZ" if time_zone(column.dtype or "") else "TIMESTAMP"
    if column.kind != "category":
        return "DOUBLE"
    text = {isinstance(category, str) for category in column.categories}
    if text == {True}:
        return "VARCHAR"
    if text == {False}:
        boolean = all(isinstance(category, bool) for category in column.categories)
        return "BOOLEAN" if boolean else "DOUBLE"
    raise ValueError(
        f"column {shorten(column.name)} has categories that are text and others that are not, "
        "which a column of a database cannot hold; make them text and fit again"
    )


def _taken_type(column: ColumnSchema) -> str:
    """Type in which functions take a column: lengths of time as seconds, not as SQL's months."""
    return "DOUBLE" if column.kind == "duration" else _sql_type(column)


def _taken(column: ColumnSchema, cell: str) -> str:
    cell = f"{cell}::{_sql_type(column)}"
    return f"epoch({cell})" if column.kind == "duration" else cell


def _quote(column: ColumnSchema) -> str:
    return '"' + str(column.name).replace('"', '""') + '"'


def _text(column: ColumnSchema) -> str:
    return "'" + str(column.name).replace("'", "''") + "'"
