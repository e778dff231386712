"""The posterior: draws of one or more chains, and exact predictions with each of them.

Given the scope and the assignments of a draw, the predictive density of a new row is a
sum-product network: posterior mean weights, posterior predictive leaves. The posterior predictive
is the average of these circuits over draws and chains (paper, section 4.3).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bayesspn.arrays import Array
from bayesspn.engine import compiled
from bayesspn.engine.completion import complete_plausibly, complete_rows
from bayesspn.engine.row_sums import Address
from bayesspn.inference.chains import Chain
from bayesspn.inference.circuits import draw_circuit, predictive_circuit
from bayesspn.inference.state import State
from bayesspn.model.circuit import Circuit
from bayesspn.model.explicit import SPN, average, expand
from bayesspn.model.generative import Model
from bayesspn.numerics.checks import check_whole
from bayesspn.numerics.random_numbers import Key, Stream
from bayesspn.prediction.passes import evaluate
from bayesspn.prediction.row_averages import weigh_evenly, weights_of_draws
from bayesspn.prediction.stacked import StackedCircuits, stack_circuits
from bayesspn.rows.encoded import EncodedRows, check_values, encode_rows

#: Seed of parameters drawn for intervals: beyond those of chains, whose numbers it must not share.
DRAWN_SEED = 2**40

#: Rows that all networks are evaluated on at once.
_FEW_ROWS = 16

#: Draws that answers for many rows are averaged over.
MOST_ROW_DRAWS = 40

#: Rows whose missing cells are drawn together, which bounds memory.
_COMPLETED_TOGETHER = 16_384


@dataclass(frozen=True, eq=False)
class Posterior:
    """Draws of all chains, equally weighted.

    Parameters
    ----------
    model : Model
    draws : tuple of tuple of State
        Kept states, chain by chain.
    """

    model: Model
    draws: tuple[tuple[State, ...], ...]

    def __post_init__(self) -> None:
        if not any(self.draws):
            raise ValueError("a posterior needs at least one draw")

    @property
    def n_draws(self) -> int:
        """Number of draws of all chains."""
        return sum(len(chain) for chain in self.draws)

    @property
    def n_rows(self) -> int:
        """Number of rows that were learned from."""
        state = next(chain[0] for chain in self.draws if chain)
        return int(state.edge_counts[0].sum())

    def merged(self, other: Posterior) -> Posterior:
        """This posterior's chains and the other's, which must be of the same model."""
        if other.model is not self.model:
            raise ValueError("only posteriors of the same model can be merged")
        return Posterior(self.model, self.draws + other.draws)

    def circuits(self, seed: int | None = None) -> Iterator[Circuit]:
        """The circuit of every draw.

        Parameters
        ----------
        seed : int, default=None
            Without one, w, θ and ω are integrated out: the predictive circuits, whose average is
            the posterior predictive. With one, they are drawn: networks from the posterior, whose
            spread is the posterior's uncertainty.
        """
        for number, chain in enumerate(self.draws):
            for index, state in enumerate(chain):
                if seed is None:
                    yield predictive_circuit(self.model, state)
                else:
                    yield draw_circuit(Key(seed, number), index, self.model, state)

    @cached_property
    def predictive(self) -> StackedCircuits:
        """Networks of all draws, parameters integrated out: they give the answers."""
        return stack_circuits(self.circuits())

    @cached_property
    def drawn(self) -> StackedCircuits:
        """Networks of all draws, parameters drawn: their spread is the answers' uncertainty."""
        return stack_circuits(self.circuits(DRAWN_SEED))

    @cached_property
    def thinned(self) -> Posterior:
        """Evenly spaced draws, few enough to go through all of them for every one of many rows.

        Neighbouring draws of a chain say nearly the same, so that an average over rows' answers
        hardly changes.
        """
        step = -(-self.n_draws // MOST_ROW_DRAWS)
        if step == 1:
            return self
        # counted from the end, so that every chain keeps its last draw
        return Posterior(self.model, tuple(chain[::-1][::step][::-1] for chain in self.draws))

    def __repr__(self) -> str:
        graph = str(self.model.graph).splitlines()[0]
        return (
            f"<Posterior of {self.model.n_columns} columns: {self.n_draws} draws of "
            f"{len(self.draws)} chains; {graph}>"
        )

    def _repr_html_(self) -> str:
        from bayesspn.notebooks import posterior_html

        return posterior_html(self)

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("model", "draws")}

    def encode(self, X: Array) -> EncodedRows:
        """Encode query rows."""
        return encode_rows(self.model.leaves, X)

    def score_draws(self, X: Array, seed: int | None = None) -> Array:
        """Log density of every row under every draw; shape (draws, rows).

        NaN cells are marginalised. With a seed, parameters are drawn instead of integrated out, as
        credible intervals need; see `circuits`.
        """
        if seed is None and len(X) <= _FEW_ROWS:
            # laying out a program for every draw would take longer
            return evaluate(self.predictive, check_values(self.model.leaves, X)).log_probability
        rows = self.encode(X)
        return np.stack(list(compiled.log_likelihoods(self.circuits(seed), rows)))

    def score_samples(self, X: Array) -> Array:
        """Log posterior predictive density of every row; shape (rows,). NaN cells are marginalised.

        The densities are averaged over draws as they come, in constant memory.
        """
        rows = self.encode(X)
        total = np.full(rows.n_rows, -np.inf)
        for scores in compiled.log_likelihoods(self.circuits(), rows):
            np.logaddexp(total, scores, out=total)
        return total - np.log(self.n_draws)

    def sample(self, n: int, seed: int) -> Array:
        """Draw new rows from the posterior predictive; shape (n, columns)."""
        return self.complete(np.full((n, self.model.n_columns), np.nan), seed)

    def complete(
        self, X: Array, seed: int, *, fitted: bool = False, plausible: bool = False
    ) -> Array:
        """Draw the missing cells of every row from their joint conditional; shape of X.

        Every row picks a draw of its own: cells of one row belong together, those of several rows
        are as independent as rows that have nothing to do with each other. `complete_tables` gives
        whole tables.

        Parameters
        ----------
        X : ndarray of shape (rows, columns)
            NaN marks the cells to draw.
        seed : int
            The same seed gives the same cells.
        fitted : bool, default=False
            Whether these are the rows that the posterior was given. Its draws know them already,
            so each is as good as another, and their parameters are drawn: the predictive circuit
            of a draw has seen a row, and would count it once more. For new rows, draws that
            explain a row count more, and parameters are integrated out.
        plausible : bool, default=False
            Whether drawn cells stay within their columns' plausible ranges.

        Returns
        -------
        ndarray of shape (rows, columns)

        Raises
        ------
        ValueError
            If the observed cells of a row have probability zero under every draw.
        """
        X = check_values(self.model.leaves, X)
        completed = np.empty_like(X)
        for part, start in enumerate(range(0, len(X), _COMPLETED_TOGETHER)):
            rows = slice(start, start + _COMPLETED_TOGETHER)
            completed[rows] = self._complete_part(
                X[rows], Key(seed, part), start, fitted, plausible
            )
        return completed

    def _complete_part(
        self, X: Array, key: Key, first_row: int, fitted: bool, plausible: bool
    ) -> Array:
        rng = key.generator(0, Stream.LEAVES)
        drawn = DRAWN_SEED if fitted else None
        scores = self.score_draws(X, drawn)
        self._check_possible(scores, first_row)
        weigh = weigh_evenly if fitted else weights_of_draws
        draw = complete_plausibly if plausible else complete_rows
        weights = np.cumsum(weigh(scores), axis=0)
        chosen = (rng.random(len(X)) * weights[-1] >= weights).sum(axis=0)
        completed = X.copy()
        for index, circuit in enumerate(self.circuits(drawn)):
            rows = np.flatnonzero(chosen == index)
            if rows.size:
                address = Address(key.words(), index)
                completed[rows] = draw(rng, circuit, X[rows], address).rows
        return completed

    def _check_possible(self, scores: Array, first_row: int) -> None:
        impossible = np.flatnonzero(np.isneginf(scores).all(axis=0))
        if impossible.size:
            raise ValueError(
                f"row {first_row + impossible[0]}: its observed cells have probability zero"
            )

    def complete_tables(self, X: Array, tables: int, seed: int) -> Iterator[Array]:
        """Draw the missing cells of whole tables, each from one network of the posterior.

        All rows of a table share one draw with drawn parameters, so that tables differ by as much
        as what is not known of the network leaves open: proper multiple imputation. Draws are
        taken evenly from all chains, none twice as long as there are enough.

        Parameters
        ----------
        X : ndarray of shape (rows, columns)
            NaN marks the cells to draw.
        tables : int
        seed : int
            The same seed gives the same cells.

        Yields
        ------
        ndarray of shape (rows, columns)

        Raises
        ------
        ValueError
            If the observed cells of a row have probability zero under every draw.
        """
        X = check_values(self.model.leaves, X)
        spread = self._spread_draws(np.random.default_rng(seed), tables)
        for number, (chain, index) in enumerate(spread):
            key = Key(seed, 1 + number)
            state = self.draws[chain][index]
            circuit = draw_circuit(Key(DRAWN_SEED + seed, number), 0, self.model, state)
            rng = key.generator(0, Stream.LEAVES)
            completed = complete_plausibly(rng, circuit, X, Address(key.words(), 0))
            # rows that are impossible under this network may be possible under others
            lost = np.flatnonzero(np.isneginf(completed.log_densities))
            if lost.size:
                others = self.complete(X[lost], seed + number, fitted=True, plausible=True)
                completed.rows[lost] = others
            yield completed.rows

    def _spread_draws(self, rng: np.random.Generator, count: int) -> list[tuple[int, int]]:
        """So many (chain, draw) pairs at random, equally many of every chain."""
        queues = [list(rng.permutation(len(chain))) for chain in self.draws]
        chosen: list[tuple[int, int]] = []
        while len(chosen) < count:
            for chain in rng.permutation(len(queues)):
                if not queues[chain]:
                    queues[chain] = list(rng.permutation(len(self.draws[chain])))
                chosen.append((int(chain), int(queues[chain].pop())))
        return chosen[:count]

    def as_spn(self, draws: int | None = None) -> SPN:
        """The posterior predictive as one explicit network with a root sum over the draws.

        Parameters
        ----------
        draws : int, default=None
            How many of the draws, evenly spaced over all chains; all of them by default. Every
            node is written out, so that a few draws are as much as one can walk.
        """
        states = [state for chain in self.draws for state in chain]
        if draws is not None:
            count = min(check_whole("draws", draws, 1), len(states))
            # the middles of equally many parts
            places = ((np.arange(count) + 0.5) * len(states) / count).astype(int)
            states = [states[place] for place in places]
        return average([expand(predictive_circuit(self.model, state)) for state in states])


def merge_chains(chains: Sequence[Chain]) -> Posterior:
    """The posterior of several chains of one model."""
    models = {id(chain.model) for chain in chains}
    if len(models) != 1:
        raise ValueError("the chains must be of the same model")
    return Posterior(chains[0].model, tuple(chain.draws for chain in chains))
