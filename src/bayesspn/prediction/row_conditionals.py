"""What all draws say about a column, or an event, given the cells of each of many rows.

The counterpart of `bayesspn.prediction.conditionals`, which has one piece of evidence at a time:
probabilities and means by the compiled engine (`bayesspn.prediction.indicators`), distributions by
the passes of single draws.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from bayesspn.arrays import Array, BoolArray
from bayesspn.numerics.threads import map_in_threads
from bayesspn.prediction.cells import cut_cells
from bayesspn.prediction.conditionals import ConditionalCircuits
from bayesspn.prediction.indicators import Indicator, score_with
from bayesspn.prediction.passes import evaluate
from bayesspn.prediction.posterior import DRAWN_SEED, Posterior
from bayesspn.prediction.stacked import StackedCircuits
from bayesspn.prediction.value_sets import Given, ValueSet

#: Cells of about equal probability that quantiles are found with, and those beyond on each side.
_QUANTILE_CELLS = 1000
_OUTER_CELLS = 40

#: Cells with a larger share than this are split into so many, so often at most.
_MOST_SHARE = 0.003
_SPLIT = 16
_MOST_SPLITS = 4


@dataclass(frozen=True, eq=False)
class RowConditionals:
    """Rows, and what is known of them besides their cells.

    Parameters
    ----------
    posterior : Posterior
        Few draws, since all of them are asked about every row.
    X : ndarray of shape (rows, columns)
        Cells that are known, NaN where not.
    given : dict of int to float or ValueSet
        What is known of all rows. Rows whose cells contradict it are impossible.
    drawn : bool, default=False
        Whether parameters are drawn, as intervals need, instead of integrated out.
    """

    posterior: Posterior
    X: Array
    given: Given
    drawn: bool = False

    @property
    def circuits(self) -> StackedCircuits:
        """The networks."""
        return self.posterior.drawn if self.drawn else self.posterior.predictive

    def with_drawn(self) -> RowConditionals:
        """The same, put to networks with drawn parameters."""
        return replace(self, drawn=True)

    @cached_property
    def _known(self) -> tuple[Array, BoolArray]:
        """Cells with exact values that are given, and which rows agree with what is given."""
        X, possible = self.X.copy(), np.ones(len(self.X), dtype=bool)
        for column, known in self.given.items():
            cells = self.X[:, column]
            if isinstance(known, ValueSet):
                possible &= np.isnan(cells) | known.contains(cells)
            else:
                possible &= np.isnan(cells) | (cells == known)
                X[:, column] = known
        return X, possible

    def _score(self, tables: Mapping[int, Array], without: tuple[int, ...] = ()) -> Array:
        """Log density of what is known, times tables of leaf values; (draws, rows).

        The rows' own cells of the columns ``without`` are left out.
        """
        X, possible = self._known
        if without:
            X = X.copy()
            for column in without:
                exact = self.given.get(column)
                X[:, column] = np.nan if isinstance(exact, ValueSet | None) else exact
        everywhere = np.ones(len(X), dtype=bool)
        indicators = {
            column: Indicator(np.exp(self.circuits.log_mass(column, known)), np.isnan(X[:, column]))
            for column, known in self.given.items()
            if isinstance(known, ValueSet) and column not in tables
        }
        indicators |= {column: Indicator(table, everywhere) for column, table in tables.items()}
        indicators = {c: one for c, one in indicators.items() if one.rows.any()}
        scores = score_with(self.posterior, X, indicators, DRAWN_SEED if self.drawn else None)
        return np.where(possible, scores, -np.inf)

    def log_evidence(self, without: tuple[int, ...] = ()) -> Array:
        """Log density of what is known of each row, some columns left out; (draws, rows)."""
        return self._score({}, without)

    def log_joint(self, event: Mapping[int, ValueSet]) -> Array:
        """Log density of what is known, without the event's columns, and of the event."""
        tables = {}
        for column, wanted in event.items():
            known = self.given.get(column)
            if known is None or isinstance(known, ValueSet):
                both = wanted if known is None else wanted.intersect(known)
                if both.empty:
                    return np.full((self.circuits.n_draws, len(self.X)), -np.inf)
                tables[column] = np.exp(self.circuits.log_mass(column, both))
            elif not wanted.contains(np.array(known)):
                return np.full((self.circuits.n_draws, len(self.X)), -np.inf)
        return self._score(tables, tuple(event))

    def means(self, column: int, values: Array | None = None) -> tuple[Array, Array, Array]:
        """Mean of a column without its own cells, as a pair of scores and their scale.

        Parameters
        ----------
        column : int
            Not given exactly.
        values : ndarray of shape (categories,), default=None
            Numbers that categories stand for; without them the mean of the column itself, within
            its plausible range.

        Returns
        -------
        above, whole : ndarray of shape (draws, rows)
            Log of E[(x − low) / (high − low)] and of the probability of the range, each times the
            density of what is known.
        scale : ndarray of shape (2,)
            low and high.
        """
        known = self.given.get(column)
        circuits = self.circuits
        if values is not None:
            codes = np.arange(float(len(values)))
            masses = circuits.masses(column, codes, codes)
            if isinstance(known, ValueSet):
                masses = masses * known.contains(codes)[:, None, None, None]
            low, high = float(values.min()), float(values.max())
            shares = (values - low) / ((high - low) or 1.0)
            above, whole = np.tensordot(shares, masses, axes=1), masses.sum(axis=0)
        else:
            within = ValueSet.of([circuits.leaves.columns[column].plausible])
            if isinstance(known, ValueSet):
                both = known.intersect(within)
                within = known if both.empty else both
            # what is known may lie beyond the range, up to any number
            low, high = float(within.low[0]), float(within.high[-1])
            low, high = np.clip([low, high], -1e300, 1e300)
            whole, first, _ = circuits.moments(column, within)
            above = (first - low * whole) / ((high - low) or 1.0)
        scale = np.array([low, high])
        return (
            self._score({column: above}, (column,)),
            self._score({column: whole}, (column,)),
            scale,
        )

    def masses(self, column: int, cells: tuple[Array, Array]) -> Array:
        """Probabilities of a column's cells, its own cell of the row aside; (draws, rows, cells).

        NaN for draws under which what is known of a row is impossible.
        """
        X, possible = self._known
        X = X.copy()
        X[:, column] = np.nan
        circuits = self.circuits
        conditional = ConditionalCircuits(circuits, self.given)
        tables = conditional.leaf_masses(column, *cells)
        sets = {
            other: circuits.log_mass(other, known)[None]
            for other, known in self.given.items()
            if isinstance(known, ValueSet)
        }

        def ask(draw: int) -> Array:
            circuit = circuits.draw(draw)
            factors = {
                other: np.where(
                    np.isnan(X[:, other])[:, None, None, None], logs[:, draw, None], 0.0
                )
                for other, logs in sets.items()
            }
            visits = evaluate(circuit, X, factors).visits()[0][circuit.leaf_regions[0, column]]
            weights = np.moveaxis(visits, 1, 0).reshape(len(X), -1)
            return weights @ tables[:, draw].reshape(len(tables), -1).T

        found = np.stack(list(map_in_threads(ask, list(range(circuits.n_draws)))))
        found[:, ~possible] = 0.0
        total = found.sum(axis=-1, keepdims=True)
        with np.errstate(invalid="ignore"):
            return np.where(total > 0, found / total, np.nan)

    def quantile_cells(self, column: int) -> tuple[Array, Array]:
        """Cells fine enough to read quantiles off them, within the column's plausible range."""
        circuits = self.posterior.predictive

        def cut() -> Array:
            weights = ConditionalCircuits(circuits, {}).leaf_weights(column)
            low, high = cut_cells(circuits, column, weights, _QUANTILE_CELLS)
            if circuits.leaves.columns[column].discrete:
                return np.stack([low, high])
            ends = _split_cells(circuits, column, weights, low[1:])
            ends = np.concatenate([[-np.inf], ends, [np.inf]])
            return np.stack([ends[:-1], ends[1:]])

        low, high = circuits.remember((column, "quantile cells"), cut)
        return low, high


def _split_cells(circuits: StackedCircuits, column: int, weights: Array, cuts: Array) -> Array:
    """Ends of cells none of which holds much, unless a single recorded value does; ascending."""
    described = circuits.leaves.columns[column]
    bottom, top = described.plausible
    steps = np.linspace(1.0, 0.0, _OUTER_CELLS) ** 3
    first, last = (cuts[0], cuts[-1]) if len(cuts) else described.observed
    outer = [first + (bottom - first) * steps, last + (top - last) * steps]
    ends = np.unique(np.concatenate([[bottom, top], *outer, cuts]))
    ends = ends[(ends >= bottom) & (ends <= top)]
    for _ in range(_MOST_SPLITS):
        masses = circuits.masses(column, ends[:-1], ends[1:])
        share = np.einsum("cdpi,dpi->c", masses, weights, optimize=True) / circuits.n_draws
        wide = np.diff(ends) > max(described.resolution, 1e-12 * (top - bottom))
        heavy = np.flatnonzero((share > _MOST_SHARE) & wide)
        if not heavy.size:
            break
        inner = ends[heavy, None] + np.diff(ends)[heavy, None] * np.linspace(0, 1, _SPLIT + 1)
        ends = np.unique(np.concatenate([ends, inner.ravel()]))
    return ends


def read_quantiles(
    masses: Array, cells: tuple[Array, Array], levels: Array, discrete: bool
) -> Array:
    """Quantiles of distributions over cells, by straight lines within cells.

    Parameters
    ----------
    masses : ndarray of shape (…, cells)
        Adds up to 1; NaN gives NaN.
    cells : pair of ndarray of shape (cells,)
        Ends of the cells, ascending and without gaps.
    levels : ndarray of shape (levels,)
    discrete : bool
        Whether values are whole numbers.

    Returns
    -------
    ndarray of shape (…, levels)

    Examples
    --------
    >>> ends = np.array([0.0, 1.0, 2.0])
    >>> read_quantiles(np.array([0.25, 0.75]), (ends[:-1], ends[1:]), np.array([0.25, 0.5]), False)
    array([1.        , 1.33333333])
    """
    low, high = cells
    upper = np.cumsum(masses, axis=-1)
    upper = upper / upper[..., -1:]
    found = np.empty((*masses.shape[:-1], len(levels)))
    for k, level in enumerate(levels):
        # rounding must not push a level that is just reached into the next cell
        place = np.minimum((upper < level - 1e-12).sum(axis=-1), len(low) - 1)[..., None]
        below = np.where(place > 0, np.take_along_axis(upper, np.maximum(place - 1, 0), -1), 0.0)
        inside = np.take_along_axis(upper, place, -1) - below
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.clip((level - below) / inside, 0.0, 1.0)
        start, end = low[place], high[place]
        if discrete:
            end = np.where(np.isfinite(end), end, start)
            value = np.minimum(start + np.floor(share * (end - start + 1)), end)
        else:
            start, end = np.where(np.isinf(start), end, start), np.where(np.isinf(end), start, end)
            value = start + share * (end - start)
        found[..., k] = np.where(np.isnan(upper[..., -1]), np.nan, value[..., 0])
    return found
