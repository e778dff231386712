"""Rubin's rules: one answer from the analyses of several completed tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import t as student

from bayesspn.arrays import Array


class PooledEstimate(NamedTuple):
    """An estimate from several completed tables.

    Attributes
    ----------
    value : float or ndarray
        Mean of the tables' estimates.
    standard_error : float or ndarray
        Of that mean: what every table leaves open, and what tables differ by.
    df : float or ndarray
        Degrees of freedom of the t distribution that intervals are of.
    low, high : float or ndarray
        Ends of the interval.
    missing_information : float or ndarray
        Share of the variance that missing cells are to blame for.
    """

    value: Any
    standard_error: Any
    df: Any
    low: Any
    high: Any
    missing_information: Any


def pool_estimates(
    estimates: Sequence[Any],
    variances: Sequence[Any],
    *,
    interval: float = 0.95,
    complete_df: float = np.inf,
) -> PooledEstimate:
    """Pool what was estimated from each of several completed tables, by Rubin's rules.

    Analyse every table that `SPNImputer.impute` gives as if it had no holes, and give the
    estimates and their squared standard errors.

    Parameters
    ----------
    estimates : sequence of float or of ndarray
        One per table, at least two.
    variances : sequence of float or of ndarray
        Squared standard error of each.
    interval : float, default=0.95
        Probability of the interval.
    complete_df : float, default=inf
        Degrees of freedom that the analysis would have without missing cells, such as rows less
        one for a mean; small tables need it (Barnard and Rubin, 1999).

    Returns
    -------
    PooledEstimate

    Examples
    --------
    >>> pooled = pool_estimates([1.0, 1.4, 1.2], [0.04, 0.05, 0.03])
    >>> round(pooled.value, 3), round(pooled.standard_error, 3)
    (1.2, 0.306)
    """
    values: Array = np.asarray(estimates, dtype=np.float64)
    within: Array = np.asarray(variances, dtype=np.float64)
    if len(values) < 2 or values.shape != within.shape:
        raise ValueError(
            "give an estimate and its variance for each of two tables or more, got shapes "
            f"{values.shape} and {within.shape}"
        )
    if not (np.isfinite(values).all() and np.isfinite(within).all() and (within >= 0).all()):
        raise ValueError("estimates must be finite, and variances finite and not negative")
    if not 0 < interval < 1:
        raise ValueError(f"interval must lie between 0 and 1, such as 0.95, got {interval!r}")
    tables = len(values)
    average, between = within.mean(axis=0), (1 + 1 / tables) * values.var(axis=0, ddof=1)
    total = average + between
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(total > 0, between / total, 0.0)
        df = (tables - 1) / share**2
        if np.isfinite(complete_df):
            observed = (complete_df + 1) / (complete_df + 3) * complete_df * (1 - share)
            df = 1 / (1 / df + 1 / observed)
    half = np.sqrt(total) * student.ppf((1 + interval) / 2, df)
    value = values.mean(axis=0)
    parts = (value, np.sqrt(total), df, value - half, value + half, share)
    return PooledEstimate(*(part if np.ndim(part) else float(part) for part in parts))
