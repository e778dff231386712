"""Entropies of sets of columns under every draw.

Columns with categories are summed over, exactly, if there are few combinations. Otherwise rows are
drawn from the network itself, whose log densities average to the entropy.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from bayesspn.arrays import Array
from bayesspn.numerics.threads import map_in_threads
from bayesspn.prediction.conditionals import ConditionalCircuits, split_given
from bayesspn.prediction.passes import evaluate
from bayesspn.prediction.sampling import draw_rows
from bayesspn.prediction.stacked import StackedCircuits
from bayesspn.prediction.value_sets import Given

#: Combinations of categories that are summed over.
_MOST_COMBINATIONS = 4096

#: Rows drawn from every network otherwise.
DRAWN_ROWS = 512


def entropies(
    conditional: ConditionalCircuits, columns: Sequence[int], rest: Sequence[int] = ()
) -> Array:
    """Entropy of some columns given others, in nats, under every draw; (draws,).

    Parameters
    ----------
    conditional : ConditionalCircuits
        The networks and what is known.
    columns : sequence of int
        None of which is known exactly.
    rest : sequence of int, default=()
        Columns whose values are known, too, and averaged over.

    Returns
    -------
    ndarray of shape (draws,)
        Of masses for discrete columns, of densities for others: the latter may be negative. NaN
        for draws under which what is known is impossible.
    """
    circuits, given = conditional.circuits, conditional.given
    described = [circuits.leaves.columns[column] for column in (*columns, *rest)]
    numbers = [column.n_categories for column in described]
    few = all(numbers) and np.prod(numbers, dtype=float) <= _MOST_COMBINATIONS

    def ask(draw: int) -> float:
        one = circuits.draw(draw)
        own = ConditionalCircuits(one, given)
        if np.isneginf(own.log_probability[0]):
            return np.nan
        return _summed(own, columns, rest) if few else _sampled(own, columns, rest, draw)

    return np.array(list(map_in_threads(ask, list(range(circuits.n_draws)))))


def _summed(conditional: ConditionalCircuits, columns: Sequence[int], rest: Sequence[int]) -> float:
    described = conditional.circuits.leaves.columns
    codes = [range(described[column].n_categories) for column in (*columns, *rest)]
    cells = np.array(list(product(*codes)), dtype=np.float64)
    for place, column in enumerate((*columns, *rest)):
        cells = cells[conditional.known(column).contains(cells[:, place])]
    logs = _log_density(conditional, cells, (*columns, *rest))
    whole = _log_density(conditional, cells[:, len(columns) :], rest) if rest else 0.0
    masses = np.exp(logs)
    with np.errstate(invalid="ignore"):
        terms = np.where(masses > 0, masses * (whole - logs), 0.0)
    return float(terms.sum())


def _sampled(
    conditional: ConditionalCircuits, columns: Sequence[int], rest: Sequence[int], seed: int
) -> float:
    everything = (*columns, *rest)
    rows = draw_rows(np.random.default_rng(seed), conditional, DRAWN_ROWS)
    logs = _log_density(conditional, rows[:, everything], everything)
    if rest:
        logs = logs - _log_density(conditional, rows[:, list(rest)], rest)
    return float(-logs.mean())


def _log_density(conditional: ConditionalCircuits, cells: Array, columns: Sequence[int]) -> Array:
    """Log density of cells of some columns given what is known, for a single draw; (rows,)."""
    circuits: StackedCircuits = conditional.circuits
    exact, factors = split_given(circuits, conditional.given)
    X = np.repeat(exact, len(cells), axis=0)
    X[:, list(columns)] = cells
    # a set says nothing more about a cell that is there
    free: Given = {c: known for c, known in conditional.given.items() if c not in columns}
    factors = {column: factor for column, factor in factors.items() if column in free}
    return evaluate(circuits, X, factors).log_probability[0] - conditional.log_probability[0]
