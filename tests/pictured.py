"""Tables and models that tests of plots, report and explorer share."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd

from bayesspn import BayesianSPN
from bayesspn.tables import ColumnSchema, Schema

SCRIPT = "<script>alert('name')</script>"
IMAGE = '"><img src=x onerror=alert(1)>'
RIGHT_TO_LEFT = "\u202eשלום עולם"
MATHEMATICS = "$\\frac{$"
LONG = "long " * 2_000

#: Names that would do harm if they were taken for markup, code or mathematics.
HOSTILE_NAMES = (SCRIPT, IMAGE, RIGHT_TO_LEFT, MATHEMATICS, LONG)


def people(rows: int = 120, seed: int = 0) -> pd.DataFrame:
    """A table with a column of every kind and with missing cells."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["F", "M"], rows)
    age = rng.integers(18, 80, rows)
    start = pd.Timestamp("2024-01-01")
    table = pd.DataFrame(
        {
            "age": age.astype(float),
            "sex": sex,
            "income": np.round(np.exp(3 + 0.01 * age + 0.3 * (sex == "M")), 1),
            "visits": rng.poisson(1 + age / 30),
            "ill": rng.random(rows) < age / 120,
            "seen": start + pd.to_timedelta(rng.integers(0, 300, rows), unit="D"),
            "stay": pd.to_timedelta(rng.integers(1, 30, rows), unit="h"),
        }
    )
    for column in ("age", "income", "sex"):
        table.loc[rng.random(rows) < 0.1, column] = None
    return table


def fit(table: pd.DataFrame, schema: Schema | None = None, chains: int = 2) -> BayesianSPN:
    """A small model."""
    if schema is None and "visits" in table:
        from bayesspn.tables import infer_schema

        schema = infer_schema(table).replace("visits", kind="count")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # chains this short do not agree
        return BayesianSPN(
            schema=schema, chains=chains, burn_in=5, draws=8, thin=1, random_state=0
        ).fit(table)


def hostile_table(rows: int = 60) -> pd.DataFrame:
    """Columns and categories with names that would do harm if they were not taken for text."""
    rng = np.random.default_rng(0)
    columns = {
        SCRIPT: rng.choice(list(HOSTILE_NAMES), rows),
        IMAGE: rng.normal(size=rows).round(2),
        RIGHT_TO_LEFT: rng.choice([SCRIPT, "b"], rows),
        MATHEMATICS: rng.choice([IMAGE, MATHEMATICS], rows),
        LONG: rng.integers(0, 50, rows),
    }
    table = pd.DataFrame(columns)
    table.loc[:3, SCRIPT] = None
    return table


def hostile_schema() -> Schema:
    """Its schema."""
    return Schema(
        (
            ColumnSchema(SCRIPT, "category", categories=HOSTILE_NAMES),
            ColumnSchema(IMAGE, "real"),
            ColumnSchema(RIGHT_TO_LEFT, "category", categories=(SCRIPT, "b")),
            ColumnSchema(MATHEMATICS, "category", categories=(IMAGE, MATHEMATICS)),
            ColumnSchema(LONG, "integer"),
        )
    )
