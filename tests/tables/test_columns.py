"""From schema to leaves: what the model gets, and that support errors name the column."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bayesspn.leaves.columns import DEFAULT_GAMMA
from bayesspn.rows.encoded import check_support, encode_rows
from bayesspn.tables import ColumnSchema, Schema, describe_columns, encode, infer_schema

RNG = np.random.default_rng(1)
ROWS = 200
TABLE = pd.DataFrame(
    {
        "yes": pd.Series(RNG.random(ROWS) < 0.5, dtype="boolean"),
        "city": RNG.choice(["Rome", "Oslo", "Bonn"], ROWS),
        "constant": "only",
        "code": RNG.integers(0, 5, ROWS) * 10,
        "visits": RNG.negative_binomial(1, 0.1, ROWS),
        "age": RNG.integers(18, 90, ROWS),
        "income": RNG.lognormal(10, 1, ROWS).round(),
        "gain": np.where(RNG.random(ROWS) < 0.5, 0.0, RNG.exponential(3.0, ROWS)),
        "height": RNG.normal(170, 10, ROWS),
        "same": 2.5,
        "when": pd.date_range("2024-01-01", periods=ROWS, freq="D"),
        "wait": pd.to_timedelta(RNG.exponential(60, ROWS), unit="s"),
    }
)


def test_inferred_schemas_fit_the_model():
    table = TABLE.mask(RNG.random(TABLE.shape) < 0.1)
    schema = infer_schema(table)
    values = encode(table, schema)
    leaves = describe_columns(schema, values)
    assert [column.families for column in leaves.columns] == [c.families for c in schema]
    rows = encode_rows(leaves, values)
    check_support(rows)
    assert rows.n_rows == ROWS


def test_the_schema_decides_on_categories_resolution_and_gamma():
    schema = Schema(
        (
            ColumnSchema("c", "category", categories=("a", "b", "c", "d"), gamma=2.0),
            ColumnSchema(7, "integer"),
            ColumnSchema("r", "real", resolution=0.25),
            ColumnSchema("free", "real"),
            ColumnSchema("day", "datetime", resolution=86_400),
        )
    )
    values = np.array([[0.0, 10.0, 1.0, 1.0, 0.0], [1.0, 30.0, 3.0, 3.0, 864_000.0]])
    columns = describe_columns(schema, values).columns
    assert [column.n_categories for column in columns] == [4, 0, 0, 0, 0]
    assert [column.resolution for column in columns] == [0.0, 1.0, 0.25, 2.0, 86_400.0]
    assert [column.gamma for column in columns] == [2.0] + 4 * [DEFAULT_GAMMA]
    assert columns[1].name == "7"


def test_values_outside_the_support_are_named_with_their_column():
    schema = Schema((ColumnSchema("income", "real", ("lognormal",)),))
    with pytest.raises(ValueError, match="column 'income': value 0 is outside the support of the"):
        describe_columns(schema, np.array([[0.0], [1.0]]))


def test_fractions_of_a_second_are_no_shares():
    times = pd.DataFrame({"reaction": pd.to_timedelta(RNG.integers(200, 999, 40), unit="ms")})
    schema = infer_schema(times)
    [column] = describe_columns(schema, encode(times, schema)).columns
    assert (column.grid.low, column.grid.high) == (0.001, np.inf)
    shares = times.assign(reaction=times["reaction"].dt.total_seconds())
    schema = infer_schema(shares)
    [column] = describe_columns(schema, encode(shares, schema)).columns
    assert column.grid.high == 1.0
