"""What all draws say about a column, or an event, given the cells of each of many rows.

The counterpart of `bayesspn.prediction.conditionals`, which has one piece of evidence at a time:
probabilities and means by the compiled engine (`bayesspn.prediction.indicators`), distributions by
compiled passes of single draws (`bayesspn.prediction.leaf_visits`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bayesspn.arrays import Array, BoolArray, IntArray
from bayesspn.engine.kernels.mixed_cells import mix_cells
from bayesspn.numerics.threads import run_tasks
from bayesspn.prediction.conditionals import ConditionalCircuits
from bayesspn.prediction.fine_cells import FineCells, fine_cells, read_quantiles
from bayesspn.prediction.indicators import Indicator, score_with
from bayesspn.prediction.leaf_visits import leaf_visits, number_cells
from bayesspn.prediction.posterior import DRAWN_SEED, Posterior
from bayesspn.prediction.row_averages import weights_of_draws
from bayesspn.prediction.stacked import StackedCircuits
from bayesspn.prediction.value_sets import Given, ValueSet


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
        What is known of all rows. Rows whose cells contradict it are impossible, those of the
        columns that are asked about aside.
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

    def _known(self, without: tuple[int, ...] = ()) -> tuple[Array, BoolArray]:
        """Cells with exact values that are given, and which rows agree with what is given.

        The rows' own cells of the columns ``without`` are left out, and may say anything.
        """
        X, possible = self.X.copy(), np.ones(len(self.X), dtype=bool)
        X[:, list(without)] = np.nan
        for column, known in self.given.items():
            cells = X[:, column].copy()
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
        X, possible = self._known(without)
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

    def log_joint(self, event: Mapping[int, ValueSet], without: tuple[int, ...] = ()) -> Array:
        """Log density of what is known, the event's columns and others aside, and of the event."""
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
        return self._score(tables, (*event, *without))

    def log_any(self, terms: Sequence[tuple[int, Mapping[int, ValueSet]]], without: Any) -> Array:
        """The same for a sum of events with signs, as `include_exclude` gives them."""
        scores = [self.log_joint(event, without) for _, event in terms]
        if not scores:
            return np.full((self.circuits.n_draws, len(self.X)), -np.inf)
        signs = np.array([sign for sign, _ in terms], dtype=np.float64)
        stacked = np.stack(scores)
        top = stacked.max(axis=0)
        top = np.where(np.isneginf(top), 0.0, top)
        total = np.tensordot(signs, np.exp(stacked - top), axes=1)
        with np.errstate(divide="ignore"):
            return np.asarray(top + np.log(np.maximum(total, 0.0)))

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

    def leaf_weights(self, column: int) -> tuple[Array, Array]:
        """Weights of a column's leaves, its own cell of the row aside, and log densities.

        Parameters
        ----------
        column : int
            Not given exactly.

        Returns
        -------
        weights : ndarray of shape (draws, rows, leaves)
            Leaves of all paths stand side by side. Zeros for draws under which a row is impossible.
        log_evidence : ndarray of shape (draws, rows)
            What the method of that name says with this column left out.
        """
        X, possible = self._known((column,))
        sets = {
            other: self.circuits.log_mass(other, known)
            for other, known in self.given.items()
            if isinstance(known, ValueSet)
        }
        weights, scores = leaf_visits(self.circuits, number_cells(X, sets), column)
        weights[:, ~possible], scores[:, ~possible] = 0.0, -np.inf
        return weights, scores

    def _fine_cells(self, column: int) -> FineCells:
        return fine_cells(self.posterior.predictive, column)

    def _fine_table(self, column: int) -> Array:
        """Probabilities of fine cells under every leaf; (draws, blocks, cells, leaves)."""
        circuits, cells = self.circuits, self._fine_cells(column)

        def tabulate() -> Array:
            conditional = ConditionalCircuits(circuits, self.given)
            return cells.arrange(conditional.leaf_masses(column, cells.low, cells.high))

        if column in self.given:
            return tabulate()
        return circuits.remember((column, "fine"), tabulate)

    def quantiles(self, column: int, levels: Array) -> Array:
        """Quantiles of a column over all draws, its own cell of the row aside; (rows, levels)."""
        weights, log_evidence = self.leaf_weights(column)
        weights *= weights_of_draws(log_evidence)[:, :, None]
        return self._read(column, weights, self._fine_table(column), levels)

    def quantiles_of_draws(self, column: int, levels: Array) -> Array:
        """The same under every draw; (draws, rows, levels)."""
        weights, _ = self.leaf_weights(column)
        table = self._fine_table(column)
        each = (slice(draw, draw + 1) for draw in range(len(weights)))
        return np.stack([self._read(column, weights[d], table[d], levels) for d in each])

    def _read(self, column: int, weights: Array, table: Array, levels: Array) -> Array:
        """Quantiles of mixtures of leaves of some draws together; (rows, levels)."""
        cells, rows = self._fine_cells(column), weights.shape[1]

        def mix(masses: Array, block: IntArray) -> Array:
            mixed = np.empty((rows, masses.shape[2]))
            run_tasks(mix_cells, rows, weights, masses, block, mixed)
            return mixed

        coarse = mix(table.sum(axis=2)[:, None], np.zeros(rows, dtype=np.int64))
        return read_quantiles(cells, coarse, lambda block: mix(table, block), levels)
