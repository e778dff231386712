"""The moves of the Dirichlet process: shares of components given their rows, and concentration.

Given which rows belong to which component, the shares of the components in use and the rest are
Dirichlet(N_1, …, N_T, a), and the rest is broken into further components, of which nothing is known
but the prior. There are infinitely many. The row pass may send rows to every component whose share
exceeds a threshold, `smallest_share`. Which ones these are depends on the shares alone and not on
the rows, so drawing the rows' components among them is a Gibbs step, as long as every component
that has rows is among them; a sweep in which one is not leaves the rows where they are.

This is the distributed slice sampler of Ge et al. (2015) with one slice for all rows in place of
one for each. Nothing has to be remembered of a row from sweep to sweep, rows may move to any
active component, and workers that hold rows are as simple as those of a finite model.
"""

from __future__ import annotations

import numpy as np

from bayesspn.arrays import Array, IntArray
from bayesspn.inference.slice_sampling import concentration_target, draw_slice
from bayesspn.model.generative import Learned, Model
from bayesspn.numerics.gamma_variates import draw_log_gamma
from bayesspn.numerics.streams import Randomness, as_stream

#: Rows' worth of share below which a component is below the slice. Smaller means more components
#: without rows in every sweep, larger more sweeps in which rows stay where they are: a component
#: with one row is below the slice in one sweep of a hundred.
_SLICE = 0.01


def smallest_share(rows: int) -> float:
    """Share that an active component exceeds."""
    return _SLICE / rows


def draw_log_shares(rng: np.random.Generator, sizes: IntArray, concentration: float) -> Array:
    """Log shares of the components in use and of all others together; shape (components + 1,)."""
    log_gamma = draw_log_gamma(rng, np.append(sizes, concentration).astype(np.float64))
    return np.asarray(log_gamma - np.logaddexp.reduce(log_gamma))


def break_stick(
    rng: np.random.Generator, log_rest: float, concentration: float, smallest: float
) -> Array:
    """Break the share of unused components; log shares of those that exceed ``smallest``."""
    pieces = []
    while log_rest > np.log(smallest):
        # the share that stays is Beta(a, 1)
        log_stays = np.log(rng.random()) / concentration
        with np.errstate(divide="ignore"):
            pieces.append(log_rest + np.log(-np.expm1(log_stays)))
        log_rest += log_stays
    log_pieces = np.array(pieces)
    return log_pieces[log_pieces > np.log(smallest)]


def mean_log_shares(sizes: IntArray, concentration: float) -> Array:
    """Log of the expected shares, of all unused components together last; (components + 1,)."""
    expected = np.append(sizes, concentration).astype(np.float64)
    return np.asarray(np.log(expected) - np.log(expected.sum()))


def draw_concentration(
    random: Randomness, model: Model, concentration: Array, sizes: IntArray
) -> Array:
    """Draw the concentration given the number of components in use and of rows; shape (1,).

    Its likelihood is a^T Γ(a) / Γ(a + N).
    """
    prior = model.concentration
    if not isinstance(prior, Learned):
        return concentration
    one = np.ones(1)
    target = concentration_target(
        float(np.log(prior.median)),
        prior.spread,
        one,
        np.array([float(len(sizes))]),
        one,
        np.array([float(sizes.sum())]),
        one,
        0.0,
        1.0,
    )
    start = float(np.log(concentration[0]))
    return np.exp([draw_slice(as_stream(random), target, start, 0.5 * prior.spread)])
