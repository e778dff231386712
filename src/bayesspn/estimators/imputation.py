"""Filling in missing cells: the best guess for each, or draws of all together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from bayesspn.arrays import Array
from bayesspn.numerics.random_numbers import draw_seed
from bayesspn.prediction.posterior import DRAWN_SEED, Posterior
from bayesspn.prediction.row_averages import average_missing, weigh_evenly, weights_of_draws
from bayesspn.prediction.value_sets import ValueSet
from bayesspn.tables import Schema, as_recorded, decode

#: Rows whose cells are averaged together, which bounds memory.
_AVERAGED_TOGETHER = 16_384


def average_cells(
    posterior: Posterior, X: Array, columns: Iterable[int], *, fitted: bool = False
) -> dict[int, Array]:
    """Probabilities or moments of missing cells given the observed ones of their row.

    They are averaged over a thinned posterior.

    Parameters
    ----------
    posterior : Posterior
    X : ndarray of shape (rows, columns)
        NaN where a cell is missing.
    columns : iterable of int
        Columns that are wanted.
    fitted : bool, default=False
        Whether these are the rows that the posterior was given, so that all draws count the same.

    Returns
    -------
    dict of int to ndarray of shape (rows, k)
        For columns with categories their probabilities; for others E[x^k], k = 0, 1, 2, within the
        column's plausible range. Cells of rows that the model holds impossible get what holds
        without anything known; those that are not missing, zeros.
    """
    posterior = posterior.thinned
    # the predictive circuits of draws that were given a row have seen it, and would count it twice
    circuits = posterior.drawn if fitted else posterior.predictive
    seed = DRAWN_SEED if fitted else None
    tables = {}
    for column in columns:
        described = circuits.leaves.columns[column]
        if described.n_categories:
            codes = np.arange(float(described.n_categories))
            tables[column] = circuits.masses(column, codes, codes)
        else:
            tables[column] = circuits.moments(column, ValueSet.of([described.plausible]))
    totals = {column: np.zeros((len(X), len(table))) for column, table in tables.items()}
    for start in range(0, len(X), _AVERAGED_TOGETHER):
        rows = slice(start, start + _AVERAGED_TOGETHER)
        part = X[rows]
        scores = posterior.score_draws(part, seed)
        impossible = np.asarray(np.isneginf(scores).all(axis=0))
        if impossible.any():
            unknown = np.full((1, X.shape[1]), np.nan)
            scores[:, impossible] = posterior.score_draws(unknown, seed)
            missing = np.isnan(part)
            part = np.where(impossible[:, None], np.nan, part)
        weights = weigh_evenly(scores) if fitted else weights_of_draws(scores)
        averages = average_missing(circuits, part, weights, tables)
        for column, average in averages.items():
            if impossible.any():
                average[~missing[:, column]] = 0.0
            totals[column][rows] = average
    return totals


def fill_best(posterior: Posterior, X: Array, *, fitted: bool = False) -> Array:
    """Missing cells filled with their most probable category or expected value; shape of X.

    ``fitted`` is as for `average_cells`.
    """
    missing = np.isnan(X)
    filled = X.copy()
    wanted = np.flatnonzero(missing.any(axis=0))
    averages = average_cells(posterior, X, wanted.tolist(), fitted=fitted)
    for column, average in averages.items():
        cells = missing[:, column]
        if posterior.model.leaves.columns[column].n_categories:
            filled[cells, column] = average[cells].argmax(axis=1)
        else:
            filled[cells, column] = average[cells, 1] / average[cells, 0]
    return filled


def fill_drawn(posterior: Posterior, X: Array, seed: int, *, fitted: bool = False) -> Array:
    """Missing cells filled with a draw of all of a row together; shape of X.

    ``fitted`` is as for `average_cells`.
    """
    return posterior.complete(X, seed, fitted=fitted, plausible=True) if len(X) else X


def fill_several(posterior: Posterior, X: Array, m: int, random_state: Any) -> Iterator[Array]:
    """Completed tables, each from one network of the posterior; each of the shape of X."""
    if not len(X):
        return iter([X] * m)
    return posterior.complete_tables(X, m, draw_seed(random_state))


def give_back(filled: Array, X: Array, schema: Schema, like: Any) -> Any:
    """A filled table as users know it; ``like`` is as for `bayesspn.tables.decode`."""
    recorded = as_recorded(filled, schema)
    # observed cells are not rounded
    return decode(np.where(np.isnan(X), recorded, X), schema, like)
