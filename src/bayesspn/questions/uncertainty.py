"""How sure an answer is: its credible interval, and its Monte Carlo error."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from bayesspn.arrays import Array
from bayesspn.prediction.posterior import Posterior
from bayesspn.questions.events import QuestionError


class _Parts(NamedTuple):
    value: Any
    low: Any
    high: Any


class Answer(_Parts):
    """An answer with its credible interval: a tuple (value, low, high) that knows more.

    The interval is about the network, of which the table leaves something open: it holds, with the
    probability asked for, what the true network would answer. The value is what to expect of a new
    row: networks that make what is given more probable count more in it, while the interval counts
    all alike. With very telling conditions the two may lie apart, and ``effective_draws`` is small.

    Attributes
    ----------
    value : number, time or array
        The answer, averaged over the posterior.
    low, high : number, time or array
        Ends of the interval: how much the networks of the posterior, of all chains, differ. It is
        never narrower than the error of the value.
    error : number, duration or array
        Monte Carlo error of the value: by how much it would change, typically, with other chains.
        NaN if there is but one chain.
    effective_draws : float
        Draws that carry the value, of those there are.
    """

    error: Any
    effective_draws: float

    def __new__(
        cls,
        value: Any,
        low: Any,
        high: Any,
        error: Any = np.nan,
        effective_draws: float = np.nan,
    ) -> Self:
        answer = super().__new__(cls, value, low, high)
        answer.error, answer.effective_draws = error, effective_draws
        return answer

    def __repr__(self) -> str:
        parts = f"value={self.value!r}, low={self.low!r}, high={self.high!r}, error={self.error!r}"
        return f"Answer({parts})"

    def _repr_html_(self) -> str:
        from bayesspn.notebooks import answer_html

        return answer_html(self)


def certain(value: Any) -> Answer:
    """The answer to a question whose answer is given."""
    error = value - value if hasattr(value, "__sub__") and not isinstance(value, bool) else 0.0
    return Answer(value, value, value, error)


def spread_draws(values: Array, interval: float) -> tuple[Any, Any]:
    """Equal-tailed interval of the values of draws, the first axis."""
    number = isinstance(interval, int | float | np.number) and not isinstance(interval, bool)
    if not number or not 0 < interval < 1:
        raise QuestionError(f"interval must lie between 0 and 1, such as 0.9, got {interval!r}")
    possible = values[~np.isnan(values).reshape(len(values), -1).any(axis=1)]
    levels = [(1 - interval) / 2, (1 + interval) / 2]
    # of these quantiles an interval holds one more draw, or the truth, with just this probability
    with np.errstate(invalid="ignore"):
        low, high = np.quantile(possible, levels, axis=0, method="weibull")
    if not np.isneginf(possible).any():
        return low, high
    # between minus infinity and anything there is nothing to interpolate
    below = np.quantile(possible, levels, axis=0, method="lower")
    return np.where(np.isnan(low), below[0], low), np.where(np.isnan(high), below[1], high)


def monte_carlo_error(posterior: Posterior, said: Array, weights: Array | None = None) -> Array:
    """Error of a weighted average over draws, from how much chains disagree on it.

    Parameters
    ----------
    posterior : Posterior
    said : ndarray of shape (..., draws)
        What each draw says.
    weights : ndarray of shape (draws,) or (..., draws), default=None
        Weights of draws, which add up to one; equal by default.

    Returns
    -------
    ndarray of shape (...)
        NaN if there is but one chain.
    """
    lengths = [len(chain) for chain in posterior.draws if chain]
    if weights is None:
        weights = np.full(sum(lengths), 1.0 / sum(lengths))
    if len(lengths) < 2:
        return np.full(said.shape[:-1], np.nan)
    told = np.where((weights > 0) & ~np.isnan(said), said, 0.0)
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    chains = len(lengths)
    # logarithms of what is impossible under some draws, and squares of huge numbers
    with np.errstate(invalid="ignore", over="ignore"):
        mean = (told * weights).sum(axis=-1, keepdims=True)
        centre = np.where(weights > 0, told - mean, 0.0) * weights
        by_chain = np.add.reduceat(centre, starts, axis=-1)
        return np.asarray(np.sqrt(chains / (chains - 1) * (by_chain**2).sum(axis=-1)))


def effective_draws(weights: Array) -> float:
    """Number of equally weighted draws that would say as much as weighted ones.

    Examples
    --------
    >>> effective_draws(np.array([0.5, 0.5, 0.0]))
    2.0
    """
    return float(1.0 / (weights**2).sum())


def hold_error(low: Any, high: Any, value: Any, error: Any) -> tuple[Any, Any]:
    """Ends of an interval that is not narrower than the error of its value."""
    known = np.nan_to_num(error, nan=0.0, posinf=0.0)
    with np.errstate(invalid="ignore"):
        return np.fmin(low, value - known), np.fmax(high, value + known)
