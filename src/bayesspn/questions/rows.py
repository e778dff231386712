"""Questions about many rows at once: densities given what is known, new rows, unusual rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from bayesspn.arrays import Array
from bayesspn.prediction.conditionals import ConditionalCircuits, split_given
from bayesspn.prediction.passes import evaluate
from bayesspn.prediction.posterior import DRAWN_SEED, Posterior
from bayesspn.prediction.sampling import draw_rows
from bayesspn.prediction.stacked import StackedCircuits
from bayesspn.prediction.value_sets import ValueSet
from bayesspn.questions.views import View

#: Rows that are scored together, which bounds memory.
SCORED_TOGETHER = 65_536
_EVALUATED_TOGETHER = 256

#: Rows drawn together if something is given.
_DRAWN_TOGETHER = 4096

#: How often rows beyond the plausible ranges are drawn again.
_MOST_TRIES = 50

#: Rows that unusual ones are compared with, and patterns of missing cells at a time.
_COMPARED = 500
_PATTERNS_TOGETHER = 64


def log_conditional(view: View, values: Array) -> Array:
    """Log density of encoded rows, given what a view knows; (rows,)."""
    if not view.given:
        return score_rows(view.posterior, values)
    joint, sets, possible = _with_given(view, values)
    if not sets:
        scores = score_rows(view.posterior, joint)
    else:
        draws = _evaluate_rows(view.posterior.predictive, joint, view)
        scores = np.logaddexp.reduce(draws, axis=0) - np.log(len(draws))
    log_probability = view.conditional.log_probability
    known = np.logaddexp.reduce(log_probability) - np.log(len(log_probability))
    return np.where(possible, scores - known, -np.inf)


def log_conditional_draws(view: View, values: Array) -> Array:
    """The same under networks with drawn parameters; (draws, rows)."""
    if not view.given:
        return view.posterior.score_draws(values, DRAWN_SEED)
    joint, sets, possible = _with_given(view, values)
    if not sets:
        scores = view.posterior.score_draws(joint, DRAWN_SEED)
    else:
        scores = _evaluate_rows(view.posterior.drawn, joint, view)
    with np.errstate(invalid="ignore"):
        given = scores - view.drawn_conditional.log_probability[:, None]
    return np.where(possible, given, -np.inf)


def score_rows(posterior: Posterior, values: Array) -> Array:
    """Log density of encoded rows, in bounded memory; (rows,)."""
    parts = [
        posterior.score_samples(values[start : start + SCORED_TOGETHER])
        for start in range(0, len(values), SCORED_TOGETHER)
    ]
    return np.concatenate([np.empty(0), *parts])


def _with_given(view: View, values: Array) -> tuple[Array, bool, NDArray[np.bool_]]:
    """Rows with what is given filled in, whether sets remain, and which rows agree with it."""
    joint, possible = values.copy(), np.ones(len(values), dtype=bool)
    sets = False
    for column, known in view.given.items():
        cells = values[:, column]
        missing = np.isnan(cells)
        if isinstance(known, ValueSet):
            possible &= missing | known.contains(cells)
            sets |= bool(missing.any())
        else:
            possible &= missing | (cells == known)
            joint[:, column] = known
    return joint, sets, possible


def _evaluate_rows(circuits: StackedCircuits, X: Array, view: View) -> Array:
    """Log densities of rows whose missing cells lie in the sets that are given; (draws, rows)."""
    parts = []
    _, factors = split_given(circuits, view.given)
    for start in range(0, len(X), _EVALUATED_TOGETHER):
        rows = X[start : start + _EVALUATED_TOGETHER]
        # a set says nothing more about a cell that is there
        own = {
            column: np.where(np.isnan(rows[:, column])[:, None, None, None], factor, 0.0)
            for column, factor in factors.items()
        }
        parts.append(evaluate(circuits, rows, own).log_probability)
    return np.concatenate([np.empty((circuits.n_draws, 0)), *parts], axis=1)


def draw_plausible(view: View, n: int, seed: int) -> Array:
    """Draw rows given what a view knows, all within the columns' plausible ranges; (n, ·).

    Leaves have heavy tails once their parameters are integrated out; now and then one would give a
    value far beyond anything that was ever seen.
    """
    columns = view.posterior.model.leaves.columns
    free = [k for k, column in enumerate(columns) if k not in view.given]
    low, high = np.array([columns[k].plausible for k in free]).reshape(-1, 2).T
    seeds = np.random.SeedSequence(seed)
    rows = np.empty((n, len(columns)))
    wanted = np.arange(n)
    for _ in range(_MOST_TRIES):
        rows[wanted] = _draw_some(view, len(wanted), seeds.spawn(1)[0])
        drawn = rows[wanted][:, free]
        wanted = wanted[((drawn < low) | (drawn > high)).any(axis=1)]
        if not wanted.size:
            break
    rows[:, free] = np.clip(rows[:, free], low, high)
    return rows


def _draw_some(view: View, n: int, seeds: np.random.SeedSequence) -> Array:
    if not view.given:
        return view.posterior.sample(n, int(seeds.generate_state(1)[0]))
    rng = np.random.default_rng(seeds)
    parts = [
        draw_rows(rng, view.conditional, min(_DRAWN_TOGETHER, n - start))
        for start in range(0, n, _DRAWN_TOGETHER)
    ]
    return np.concatenate(parts)


def draw_replicates(view: View, n: int, tables: int, seed: int) -> Array:
    """Tables like the one learned from, each of one network from the posterior; (tables, n, ·).

    The networks are evenly spaced draws with drawn parameters, so that tables differ as much as
    what is known of the table's origin leaves open.
    """
    circuits = view.posterior.drawn
    weights = view.drawn_conditional.weights_of_draws
    # at the middle of equal shares of the probability: evenly spaced draws if nothing is given
    chosen = np.searchsorted(np.cumsum(weights), (np.arange(tables) + 0.5) / tables)
    rng = np.random.default_rng(seed)
    drawn = np.empty((tables, n, len(view.schema)))
    for table, draw in enumerate(np.minimum(chosen, circuits.n_draws - 1)):
        conditional = ConditionalCircuits(circuits.draw(int(draw)), view.given)
        for start in range(0, n, _DRAWN_TOGETHER):
            rows = drawn[table, start : start + _DRAWN_TOGETHER]
            rows[:] = draw_rows(rng, conditional, len(rows))
    return drawn


def rarity_of(view: View) -> float:
    """Probability that a row is at most as likely as the exact values that a view knows.

    Compared are the columns of these values, among rows that agree with the rest of what is given.
    """
    exact = {c: v for c, v in view.given.items() if not isinstance(v, ValueSet)}
    if not exact:
        return 1.0
    rest = {c: v for c, v in view.given.items() if c not in exact}
    others = replace(view, posterior=view.posterior.thinned, given=rest)
    drawn = draw_rows(np.random.default_rng(0), others.conditional, _COMPARED)
    rows = np.full((_COMPARED + 1, len(view.schema)), np.nan)
    columns = list(exact)
    rows[:-1, columns] = drawn[:, columns]
    rows[-1, columns] = list(exact.values())
    scores = np.logaddexp.reduce(_evaluate_rows(others.posterior.predictive, rows, others), axis=0)
    # the row itself counts, so that no share of a finite number of rows is zero
    return float((scores <= scores[-1]).mean())


def anomaly_scores(view: View, values: Array, seed: int) -> Array:
    """Standard deviations of the log density below what rows with the same cells have; (rows,)."""
    scores = log_conditional(view, values)
    drawn = draw_rows(np.random.default_rng(seed), view.conditional, _COMPARED)
    patterns, which = np.unique(np.isnan(values), axis=0, return_inverse=True)
    compared = np.empty((len(patterns), _COMPARED))
    for start in range(0, len(patterns), _PATTERNS_TOGETHER):
        some = patterns[start : start + _PATTERNS_TOGETHER]
        masked = np.where(some[:, None], np.nan, drawn).reshape(-1, values.shape[1])
        compared[start : start + len(some)] = log_conditional(view, masked).reshape(len(some), -1)
    spread = compared.std(axis=1)
    spread[spread == 0] = 1.0
    which = which.ravel()
    return np.asarray((compared.mean(axis=1)[which] - scores) / spread[which])
