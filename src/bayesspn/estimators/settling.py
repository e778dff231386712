"""Have the answers settled? How much chains disagree on what users will ask.

Chains of a multimodal posterior never agree on everything. What matters is the average over chains,
and how far it would move with other chains: its Monte Carlo error. It is measured where users will
look: at the probability of single cells given the rest of their rows, and of whole rows, for some
of the rows that were learned from.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning

from bayesspn.arrays import Array
from bayesspn.engine.shards import Shards, as_shards
from bayesspn.numerics.checks import levels_to_user
from bayesspn.prediction.posterior import Posterior
from bayesspn.questions.wording import LARGEST_ERROR
from bayesspn.rows.encoded import EncodedRows

#: Rows, columns and draws of a chain that are looked at.
_ROWS = 40
_COLUMNS = 12
_DRAWS = 4

#: Columns that a warning names.
_NAMED = 5


def measure_settling(posterior: Posterior, rows: EncodedRows | Shards) -> pd.DataFrame:
    """Monte Carlo errors of typical answers, from how much chains disagree on them.

    Returns
    -------
    DataFrame
        A row per column: ``error`` of the log probability of its cells given the rest of their
        rows, typical of the rows looked at, and ``spread`` between single chains. The first row,
        named "whole rows", is for the log density of rows.
    """
    shards = as_shards(rows)
    names = [column.name for column in posterior.model.leaves.columns]
    ids = np.unique(np.linspace(0, shards.n_rows - 1, _ROWS).astype(np.int64))
    values = shards.values(ids)
    looked_at = np.unique(np.linspace(0, len(names) - 1, _COLUMNS).astype(np.int64))
    few = Posterior(posterior.model, tuple(_some(chain) for chain in posterior.draws))
    known = {column: np.flatnonzero(~np.isnan(values[:, column])) for column in looked_at}
    asked = [column for column in looked_at if known[column].size]
    # all at once: laying out a network takes longer than a few hundred rows
    parts = [values, *(_leave_out(values[known[column]], column) for column in asked)]
    scores = _chain_scores(few, np.concatenate(parts))
    whole, *others = np.split(scores, np.cumsum([len(part) for part in parts])[:-1], axis=1)
    labels: list[Hashable] = ["whole rows", *(names[column] for column in asked)]
    spreads = [whole.std(axis=0, ddof=1)]
    for column, rest in zip(asked, others, strict=True):
        spreads.append((whole[:, known[column]] - rest).std(axis=0, ddof=1))
    typical = np.array([np.median(spread) for spread in spreads])
    cells = {"error": typical / np.sqrt(len(posterior.draws)), "spread": typical}
    # names may be tuples, of which pandas would make several levels
    return pd.DataFrame(cells, index=pd.Index(labels, dtype=object, tupleize_cols=False))


def _leave_out(values: Array, column: int) -> Array:
    others = values.copy()
    others[:, column] = np.nan
    return others


def _some(chain: tuple) -> tuple:  # type: ignore[type-arg]
    """Last draws of a chain, some way apart."""
    step = max(1, len(chain) // _DRAWS)
    return chain[::-1][::step][:_DRAWS]


def _chain_scores(posterior: Posterior, values: Array) -> Array:
    """Log density of every row by every chain; shape (chains, rows)."""
    scores = np.maximum(posterior.score_draws(values), -1e300)
    ends = np.cumsum([len(chain) for chain in posterior.draws])[:-1]
    parts = np.split(scores, ends)
    return np.stack([np.logaddexp.reduce(part, axis=0) - np.log(len(part)) for part in parts])


def warn_if_unsettled(settling: pd.DataFrame) -> None:
    """Warn of columns about which answers are unsettled."""
    errors = settling["error"].iloc[1:]
    unsettled = errors[errors > LARGEST_ERROR].sort_values(ascending=False)
    if unsettled.empty:
        return
    share = np.expm1(unsettled.iloc[0])
    warnings.warn(
        f"answers about {_join(unsettled.index)} are not settled: with other chains, typical "
        f"conditional probabilities would change by {share:.0%}; more chains (chains=, or a "
        "larger time_limit=) settle them, and every answer with an interval tells its own error",
        ConvergenceWarning,
        stacklevel=levels_to_user(),
    )


def _join(names: Iterable[object]) -> str:
    shown = [f"{name!r}" for name in names]
    if len(shown) > _NAMED:
        return f"{', '.join(shown[:_NAMED])} and {len(shown) - _NAMED} other columns"
    if len(shown) == 1:
        return f"column {shown[0]}"
    return f"columns {', '.join(shown[:-1])} and {shown[-1]}"


def log_likelihood_rhat(traces: Array) -> float:
    """R-hat of the log-likelihood of sweeps in which draws were kept; shape (chains, sweeps)."""
    if traces.shape[1] < 4 or np.isnan(traces).any() or np.ptp(traces) == 0:
        return float("nan")
    from arviz_stats.base.array import array_stats  # slow to import

    return float(array_stats.rhat(traces, chain_axis=0, draw_axis=1))
