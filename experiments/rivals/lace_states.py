"""Lace: cross-categorisation, several states (Markov chains), averaged."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from lace import CategoricalHyper, Codebook, ColumnMetadata, Engine, ValueMap

from rivals.exchange import Reporter, Task, serve

STATES = 4

#: Cumulative shares of the time after which test rows are scored.
SHARES = (0.125, 0.25, 0.5, 1.0)

_MOST_STEPS = 1_000_000


def as_frame(table: Any, categories: tuple[int, ...], index: bool) -> Any:
    """A frame of numbers and codes; None is a missing cell."""
    columns: dict[str, Any] = {}
    if index:
        columns["index"] = [str(number) for number in range(len(table))]
    for number, (cells, count) in enumerate(zip(table.T, categories, strict=True)):
        missing = np.isnan(cells)
        series = pl.Series(np.where(missing, 0.0, cells)).cast(pl.UInt8 if count else pl.Float64)
        if missing.any():
            series = series.scatter(np.flatnonzero(missing), None)
        columns[f"x{number:04d}"] = series
    return pl.DataFrame(columns)


def describe(frame: Any, categories: tuple[int, ...]) -> Any:
    """What the columns are: continuous ones as Lace infers them, discrete ones by their categories.

    Lace infers the categories from what occurs: it refuses a column with a single one, and ends in
    an error when a test row has another. The hyper-prior is the one that it would infer.
    """
    names = [name for name in frame.columns if name != "index"]
    hyper = CategoricalHyper(1.0, 1.0)
    continuous = [name for name, count in zip(names, categories, strict=True) if not count]
    inferred: Any = None
    if continuous:
        inferred = Codebook.from_df("table", frame.select("index", *continuous))
    columns = [
        ColumnMetadata.categorical(name, count, value_map=ValueMap.int(count), hyper=hyper)
        if count
        else inferred.column_metadata[name]
        for name, count in zip(names, categories, strict=True)
    ]
    codebook = Codebook.empty("table").append_column_metadata(columns)
    return codebook.set_row_names(frame["index"])


def score(engine: Any, task: Task) -> Any:
    """Log-likelihood of test rows, those with the same missing cells together."""
    scores = np.empty(len(task.test))
    patterns, which = np.unique(np.isnan(task.test), axis=0, return_inverse=True)
    names = as_frame(task.test[:1], task.categories, False).columns
    for number, pattern in enumerate(patterns):
        rows = np.flatnonzero(which.reshape(-1) == number)
        seen = [name for name, missing in zip(names, pattern, strict=True) if not missing]
        frame = as_frame(task.test[rows], task.categories, False).select(seen)
        scores[rows] = np.asarray(engine.logp(frame)).reshape(-1)
    return scores


def learn(task: Task, reporter: Reporter) -> None:
    """Run the states side by side for as long as there is time."""
    frame = as_frame(task.training, task.categories, True)
    codebook = describe(frame, task.categories)
    engine = Engine.from_df(frame, codebook=codebook, n_states=STATES, rng_seed=task.seed)
    for share in SHARES:
        timeout = max(1, round(share * task.seconds - reporter.seconds))  # whole seconds
        engine.update(_MOST_STEPS, timeout=timeout, transitions="sams", quiet=True)
        reporter.report(lambda: score(engine, task), states=STATES)
        if reporter.seconds >= task.seconds:
            return


if __name__ == "__main__":
    serve(learn, ("pylace", "polars", "numpy"))
