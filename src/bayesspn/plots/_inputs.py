"""What plots ask of models: their joint distribution, and tables that fit it."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesspn.arrays import Array
from bayesspn.prediction.value_sets import ValueSet
from bayesspn.questions.events import read_given
from bayesspn.tables import Schema
from bayesspn.tables.encoding import encode_some, with_indicators
from bayesspn.tables.files import as_pandas

if TYPE_CHECKING:
    from bayesspn.estimators.joint import JointEstimator


def check_model(model: Any) -> None:
    """Check that a model is a fitted one."""
    if not hasattr(model, "joint_"):
        raise TypeError(
            f"plots take a fitted model, such as BayesianSPN().fit(table), got "
            f"{type(model).__name__}"
        )


def as_frame(data: Any, schema: Schema) -> pd.DataFrame:
    """A table of any library as pandas frame, with the columns of the schema that it has.

    Indicators of missing cells are added.
    """
    if not hasattr(data, "columns"):
        array = np.asarray(data)
        data = pd.DataFrame(array, columns=list(schema.recorded)[: array.shape[1]])
    frame = data if isinstance(data, pd.DataFrame) else as_pandas(data)
    frame = with_indicators(frame, schema)
    return frame[[name for name in schema.names if name in frame.columns]]


def column_of(model: JointEstimator, data: Any, name: Hashable) -> Array:
    """One column of a table, encoded; NaN where a cell is missing."""
    column = model.schema_[name]  # an unknown name is refused in words
    frame = as_frame(data, model.schema_)
    if name not in frame.columns:
        raise ValueError(f"the data have no column {name!r}, which is to be drawn; add it")
    if column.indicates is not None:
        return frame[name].to_numpy(dtype=np.float64)
    return encode_some(frame[[name]], Schema((column,)))[:, 0]


def matching_rows(data: Any, given: Any, schema: Schema) -> NDArray[np.bool_]:
    """Which rows of a table agree with what is given; missing cells do not."""
    values = encode_some(as_frame(data, schema), schema)
    match = np.ones(len(values), dtype=bool)
    for position, known in read_given(given, schema).items():
        cells = values[:, position]
        if isinstance(known, ValueSet):
            match &= known.contains(cells)
        else:
            match &= np.abs(cells - known) <= (schema.columns[position].resolution or 0.0) / 2
    return match
