"""Tables that nobody would call nice, drawn from a seed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl

from bayesspn import RegionGraph

Rng = np.random.Generator

#: Names that have broken table software before.
NAMES: tuple[Any, ...] = (
    "a",
    "age",
    "",
    " ",
    "two words",
    "it's",
    'say "so"',
    "back`tick",
    "ends in \\",
    "größe",
    "年齢",
    "الاسم",
    "🦊",
    "line\nbreak",
    "tab\t",
    "and",
    "not",
    "in",
    "is missing",
    "a > 3",
    "a | b",
    "[x]",
    "(y",
    "%s {0}",
    "value",
    "target",
    "probability",
    "nan",
    "3",
    "-1.5",
    "x" * 500,
    7,
    0,
    -2,
    ("a", 1),
    ("b", "c"),
)


def _bools(rng: Rng, n: int) -> pd.Series:
    return pd.Series(rng.random(n) < rng.choice([0.0, 0.3, 1.0]))


def _text(rng: Rng, n: int) -> pd.Series:
    pool = ["a", "b", "", " ", "yes", "it's", 'q"q', "über", "True", "3", "nan", "and", "x" * 300]
    return pd.Series(rng.choice(pool[: rng.integers(1, len(pool) + 1)], n), dtype="str")


def _objects(rng: Rng, n: int) -> pd.Series:
    pool = np.array(["a", 1, 2.5, True, "1", -3, 10**12], dtype=object)
    return pd.Series(rng.choice(pool[: rng.integers(1, len(pool) + 1)], n), dtype=object)


def _categorical(rng: Rng, n: int) -> pd.Series:
    count = int(rng.choice([1, 2, 3, 40]))
    kind = rng.integers(3)
    levels: list[Any] = [f"level {k}" for k in range(count)]
    if kind == 1:
        levels = list(range(5, 5 + count))
    elif kind == 2:
        levels = [k / 4 for k in range(count)]
    codes = rng.integers(0, min(count, rng.integers(1, 41)), n)
    return pd.Series(pd.Categorical.from_codes(codes, levels, ordered=bool(rng.integers(2))))


def _integers(rng: Rng, n: int) -> pd.Series:
    dtype = rng.choice(["int8", "int16", "int32", "int64", "uint8", "uint16", "uint64"])
    bounds = np.iinfo(dtype)
    low, high = [(0, 2), (0, 6), (0, 60), (3, 4), (-5, 50), (0, 2**53), (-(2**53), 2**53)][
        rng.integers(7)
    ]
    low, high = max(low, int(bounds.min)), min(high, int(bounds.max))
    if rng.random() < 0.1:
        high = int(bounds.max)
    return pd.Series(rng.integers(low, max(high, low + 1), n, dtype=dtype))


def _nullable_integers(rng: Rng, n: int) -> pd.Series:
    values = rng.integers(0, rng.choice([2, 5, 1000]), n)
    return pd.Series(values).astype(rng.choice(["Int8", "Int64"]) if values.max() < 99 else "Int64")


def _floats(rng: Rng, n: int) -> pd.Series:
    base = rng.normal(size=n)
    scales = [1e300, 1e-300, 1e15, 1e-15, 1.0, 1e6, 1e150, 1e-150]
    makers: list[Callable[[], np.ndarray]] = [
        lambda: base,
        lambda: base * rng.choice(scales),
        lambda: np.abs(base) * rng.choice(scales),
        lambda: rng.choice([-1e15, 1e15, 1e300, 1e9]) * np.ones(n),
        lambda: rng.choice([1e15, -1e15, 1e9, 1e300]) * (1 + 1e-15 * rng.integers(0, 4, n)),
        lambda: 1e9 + 1e-6 * base,
        lambda: 5e-324 * rng.integers(0, 9, n),
        lambda: np.where(rng.random(n) < 0.5, -0.0, 0.0),
        lambda: np.full(n, rng.choice([0.5, -0.25, 1e-310, -0.0, 1e308])),
        lambda: np.exp(base * rng.choice([1.0, 20.0, 200.0])),
        lambda: rng.choice([-1.7e308, 1.7e308, 0.5], n),
        lambda: np.round(base, int(rng.integers(0, 3))),
        lambda: rng.choice([0.0, 0.1, 1e-300, 1e300], n),
        lambda: rng.standard_cauchy(n) ** 3,
        lambda: np.where(rng.random(n) < 0.2, rng.choice([np.inf, -np.inf]), base),
        lambda: rng.exponential(size=n) * (rng.random(n) < 0.7),
        lambda: rng.random(n),
    ]
    return pd.Series(makers[rng.integers(len(makers))]())


def _float32(rng: Rng, n: int) -> pd.Series:
    values = rng.normal(size=n) * rng.choice([1.0, 1e30, 1e-40, 1e-44, 1e38])
    return pd.Series(np.clip(values, -3e38, 3e38).astype(np.float32))


def _nullable_floats(rng: Rng, n: int) -> pd.Series:
    return pd.Series(rng.normal(size=n)).astype("Float64")


def _times(rng: Rng, n: int) -> pd.Series:
    unit = rng.choice(["s", "ms", "us", "ns"])
    start, span = [
        (0, 10**9),
        (1_600_000_000, 86_400 * 30),
        (1_600_000_000, 1),
        (-2_000_000_000, 10**9),
    ][rng.integers(4)]
    seconds = start + rng.integers(0, span, n)
    if rng.random() < 0.5:
        seconds = seconds // 86_400 * 86_400
    if unit == "s" and rng.random() < 0.3:
        seconds = np.where(rng.random(n) < 0.5, -60_000_000_000, 250_000_000_000)
    return pd.Series(seconds.astype("datetime64[s]").astype(f"datetime64[{unit}]"))


def _zoned(rng: Rng, n: int) -> pd.Series:
    zone = rng.choice(["UTC", "Europe/Berlin", "Asia/Kolkata", "America/New_York"])
    moments = pd.Series(rng.integers(0, 10**9, n).astype("datetime64[s]"))
    return (
        moments.dt.as_unit(rng.choice(["s", "us", "ns"])).dt.tz_localize("UTC").dt.tz_convert(zone)
    )


def _durations(rng: Rng, n: int) -> pd.Series:
    unit = rng.choice(["s", "ms", "us", "ns"])
    ticks = rng.integers(
        *[(0, 10), (-100, 100), (0, 10**15), (5, 6), (-(2**62), 2**62)][
            rng.integers(4 if unit != "ns" else 5)
        ],
        n,
    )
    return pd.Series(ticks.astype(f"timedelta64[{unit}]"))


COLUMNS = (
    _bools,
    _text,
    _objects,
    _categorical,
    _integers,
    _integers,
    _nullable_integers,
    _floats,
    _floats,
    _floats,
    _float32,
    _nullable_floats,
    _times,
    _zoned,
    _durations,
)


def _punch(rng: Rng, column: pd.Series) -> pd.Series:
    """Make some cells missing, from none to all."""
    share = rng.choice(
        [0.0, 0.0, 0.0, 0.1, 0.5, 0.95, 1.0], p=[0.2, 0.2, 0.1, 0.2, 0.2, 0.08, 0.02]
    )
    holes = rng.random(len(column)) < share
    if not holes.any():
        return column
    if column.dtype == bool:
        column = column.astype(rng.choice(["boolean", "object"]))
    return column.mask(holes)


def make_table(rng: Rng) -> Any:
    """A table of pandas, polars or NumPy with at most five columns and sixty rows."""
    n = int(rng.choice([1, 2, 3, 5, 12, 30, 60]))
    width = int(rng.integers(1, 6))
    columns = [_punch(rng, rng.choice(COLUMNS)(rng, n)) for _ in range(width)]
    if rng.random() < 0.1:
        columns = [column.iloc[np.zeros(n, dtype=int)].reset_index(drop=True) for column in columns]
    if rng.random() < 0.2:
        columns.append(columns[0].copy())
    library = rng.choice(["pandas", "polars", "numpy"], p=[0.6, 0.2, 0.2])
    if library == "numpy":
        return _as_array(rng, columns)
    names = _draw_names(rng, len(columns), only_text=library == "polars")
    frame = pd.concat(columns, axis=1)
    if library == "polars":
        frame.columns = names
        return pl.DataFrame([_as_polars(name, column) for name, column in frame.items()])
    frame.columns = pd.Index(names, tupleize_cols=False)
    if rng.random() < 0.2:
        frame.index = pd.Index(rng.permutation(n) + 10)
    return frame


def _draw_names(rng: Rng, count: int, only_text: bool) -> list[Any]:
    pool = [name for name in NAMES if isinstance(name, str)]
    if not only_text and rng.random() < 0.3:
        pool = [name for name in NAMES if not isinstance(name, str)]
    if not only_text and rng.random() < 0.05:
        pool = list(NAMES)
    names = [pool[k] for k in rng.permutation(len(pool))[:count]]
    names += [f"more {k}" for k in range(count - len(names))]
    if not only_text and count > 1 and rng.random() < 0.03:
        names[-1] = names[0]
    return names


def _as_polars(name: str, column: pd.Series) -> pl.Series:
    if column.dtype == object:
        cells = [None if pd.isna(cell) else str(cell) for cell in column]
        return pl.Series(name, cells, dtype=pl.String)
    return pl.Series(name, pl.from_pandas(column))


def _as_array(rng: Rng, columns: list[pd.Series]) -> np.ndarray:
    plain = [column for column in columns if column.dtype.kind in "fiub"]
    if plain and rng.random() < 0.7:
        return np.column_stack([column.to_numpy(np.float64, na_value=np.nan) for column in plain])
    if rng.random() < 0.3:
        times = [c for c in columns if c.dtype.kind == "M" and c.dt.tz is None]
        if times:
            return np.column_stack([column.to_numpy("datetime64[us]") for column in times])
    return np.column_stack([column.to_numpy(object) for column in columns])


def make_parameters(rng: Rng) -> dict[str, Any]:
    """Parameters of a small fit."""
    depth = int(rng.choice([0, 1, 2, -1]))
    graph: RegionGraph | str = "auto"
    if depth >= 0:
        leaves = int(rng.integers(1, 5))
        products = ["shared", "cross"][rng.integers(2)]
        graph = RegionGraph(
            depth,
            int(rng.integers(1, 4)) if depth else 1,
            children=[2, 2, 2, 3][rng.integers(4)],
            sums=leaves if products == "shared" else 2,
            leaves=leaves,
            products=products,
        )
    return {
        "graph": graph,
        "alpha": ["auto", 0.1, 5.0, 1e-3][rng.integers(4)],
        "beta": ["auto", 0.5, 50.0][rng.integers(3)],
        "gamma": ["auto", 0.5, 0.01, 20.0][rng.integers(4)],
        "chains": int(rng.integers(1, 3)),
        "burn_in": int(rng.integers(0, 6)),
        "draws": int(rng.integers(1, 4)),
        "thin": int(rng.integers(1, 3)),
        "random_state": int(rng.integers(1000)),
    }
