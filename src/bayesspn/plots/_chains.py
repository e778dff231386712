"""Whether the chains agree: traces and ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import binom, rankdata

from bayesspn.arrays import Array
from bayesspn.estimators.diagnostics import invariants
from bayesspn.plots._inputs import check_model
from bayesspn.plots._style import CHAINS, GREY, PALE, add_legend, clean, explain, label, make_axes

if TYPE_CHECKING:
    from bayesspn.estimators.joint import JointEstimator


def trace(model: JointEstimator, *, ax: Any = None) -> Any:
    """Log-likelihood of the training rows after every sweep, a line per chain.

    Reading help: after the grey part, lines should be level and lie over each other.

    Parameters
    ----------
    model : fitted estimator
    ax : matplotlib axes, default=None

    Returns
    -------
    matplotlib axes
    """
    check_model(model)
    values = np.asarray(model.trace_, dtype=np.float64)
    if not values.size:
        raise ValueError("the model has no trace: it was saved without one")
    ax = make_axes(ax)
    for chain, row in enumerate(values):
        colour = CHAINS[chain % len(CHAINS)]
        ax.plot(np.arange(1, len(row) + 1), row, color=colour, lw=1, label=f"chain {chain + 1}")
    # models of the first version's files have no plan, and a number
    burn_in = int(model.burn_in) if model.plan_ is None else model.plan_.burn_in
    if burn_in:
        ax.axvspan(0, burn_in, color=PALE, alpha=0.5, lw=0)
    # the first steps lead from far away, and would hide the rest
    settled = values[:, min(values.shape[1] - 1, max(2, values.shape[1] // 20)) :]
    low, high = np.nanmin(settled), np.nanmax(values)
    room = 0.05 * (high - low) or 0.5
    ax.set_ylim(low - room, high + room)
    ax.set_xlim(0, values.shape[1] + 1)
    ax.set_xlabel("sweep")
    ax.set_ylabel("log-likelihood per row")
    if len(values) > 1:
        add_legend(ax, ncols=min(len(values), 4), loc="lower right")
    explain(ax, "Trace", "beyond the grey burn-in, chains should be level and lie together")
    clean(ax)
    return ax


def ranks(model: JointEstimator, quantity: str = "log_likelihood", *, ax: Any = None) -> Any:
    """Ranks of a quantity's draws among those of all chains, a histogram per chain.

    Reading help: bars of chains that agree stay within the grey band.

    Parameters
    ----------
    model : fitted estimator
    quantity : str, default="log_likelihood"
        A row of ``model.summary()``.
    ax : matplotlib axes, default=None

    Returns
    -------
    matplotlib axes
    """
    check_model(model)
    values = _quantities(model)
    if quantity not in values:
        known = ", ".join(values)
        raise ValueError(f"there is no quantity {label(quantity)!r}; known are {known}")
    draws = values[quantity]
    chains, length = draws.shape
    place = rankdata(draws, method="average").reshape(draws.shape) - 0.5
    bins = int(np.clip(length // 3, 2, 20))
    edges = np.linspace(0, draws.size, bins + 1)
    low, high = binom.interval(0.9, length, 1 / bins)
    expected = length / bins
    top = max(np.histogram(row, edges)[0].max() for row in place)
    ax = make_axes(ax, 6.4, 1.4 + 0.7 * chains)
    for chain, row in enumerate(place):
        base = chains - 1 - chain
        heights = 0.8 * np.histogram(row, edges)[0] / top
        ax.axhspan(base + 0.8 * low / top, base + 0.8 * high / top, color=PALE, alpha=0.7, lw=0)
        ax.axhline(base + 0.8 * expected / top, color=GREY, lw=0.8, ls="--")
        ax.stairs(
            base + heights, edges, baseline=base, fill=True, color=CHAINS[chain % len(CHAINS)]
        )
    ax.set_yticks(np.arange(chains) + 0.3, [f"chain {chains - k}" for k in range(chains)])
    ax.set_xlim(0, draws.size)
    ax.set_ylim(-0.05, chains)
    ax.set_xlabel("rank among the draws of all chains")
    explain(ax, f"Ranks of {label(quantity)}", "chains that agree stay within the grey band")
    clean(ax)
    return ax


def _quantities(model: JointEstimator) -> dict[str, Array]:
    """Quantities of every draw by their names in ``summary()``; each (chains, draws)."""
    named = {}
    found = invariants(model.posterior_, np.asarray(model.trace_), model._thin)
    for name, values in found.items():
        if values.ndim == 2:
            named[name] = values
        else:
            named |= {f"{name}[{k}]": values[:, :, k] for k in range(values.shape[2])}
    return named
