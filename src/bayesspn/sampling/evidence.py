"""Model evidence p(x) of a graph and its priors: two independent estimates with standard errors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from scipy.special import logsumexp

from bayesspn.engine.shards import LocalShards
from bayesspn.leaves.family import Array
from bayesspn.model import Model
from bayesspn.randomness import Key
from bayesspn.rows import EncodedRows
from bayesspn.sampling.sequential import predict_rows
from bayesspn.sampling.tempering import Differences, adapt, climb, jackknife, start_ladder

#: Rungs of a ladder to begin with, and sweeps of the rounds that place them.
_FIRST_RUNGS = 8
_PILOTS = (12, 16, 20, 24)

#: Share of the sweeps that rungs get to settle once they are placed.
_SETTLING = 0.5

#: Parts of a run whose disagreement is the standard error.
_PARTS = 8


class LogEvidence(NamedTuple):
    """Logarithm of the model evidence.

    Attributes
    ----------
    value : float
        Log p(x) of all rows, hyper-parameters and networks integrated out.
    standard_error : float
    """

    value: float
    standard_error: float


def tempered_evidence(
    model: Model,
    rows: EncodedRows,
    *,
    seed: int,
    ladders: int = 2,
    sweeps: int = 80,
    rungs: int = 48,
    n_jobs: int | None = None,
) -> LogEvidence:
    """Estimate the evidence from chains at several powers of the likelihood.

    Parameters
    ----------
    model : Model
        A finite one.
    rows : EncodedRows
    seed : int
    ladders : int, default=2
        Independent runs, whose agreement is part of the standard error.
    sweeps : int, default=80
        Sweeps of every rung, after those that find the rungs' places.
    rungs : int, default=48
        Most rungs of a ladder; fewer are used where fewer do.
    n_jobs : int, default=None
        Ladders that run side by side, as joblib counts them.

    Examples
    --------
    >>> from bayesspn import Leaves, RegionGraph, describe_column, encode_rows
    >>> X = np.array([[0.0], [1.0], [1.0]])
    >>> leaves = Leaves((describe_column("coin", X[:, 0], "bernoulli", gamma=1.0),))
    >>> model = Model(RegionGraph(0, leaves=1), leaves, alpha=1.0, learn_leaf_priors=False)
    >>> value, error = tempered_evidence(model, encode_rows(leaves, X), seed=0)
    >>> bool(abs(value - np.log(1 / 12)) < 4 * error)  # one success more than failures
    True
    """
    if sweeps < _PARTS:
        raise ValueError(f"sweeps must be at least {_PARTS}, got {sweeps}")
    keys = [Key(seed, ladder) for ladder in range(ladders)]
    jobs = max(1, min(effective_n_jobs(n_jobs), ladders))
    runs = Parallel(n_jobs=jobs, max_nbytes=None)(
        delayed(_run_ladder)(key, model, rows, sweeps, rungs) for key in keys
    )
    return _combine(np.array(runs))


def _run_ladder(
    key: Key, model: Model, rows: EncodedRows, sweeps: int, rungs: int
) -> tuple[float, float]:
    shards = LocalShards(rows)
    ladder = start_ladder(key, model, shards, min(_FIRST_RUNGS, rungs))
    for pilot in _PILOTS:
        ladder, differences, _ = climb(ladder, shards, pilot)
        late = Differences(differences.up[pilot // 2 :], differences.down[pilot // 2 :])
        ladder = adapt(ladder, late, rungs)
    ladder, _, _ = climb(ladder, shards, int(_SETTLING * sweeps))
    _, differences, _ = climb(ladder, shards, sweeps)
    up, down = (np.array_split(part, _PARTS) for part in differences)
    return jackknife([Differences(*part) for part in zip(up, down, strict=True)])


def _combine(runs: Array) -> LogEvidence:
    """Mean of runs (runs, 2); the error is what they claim, or what they differ by if larger."""
    values, errors = runs.T
    count = len(values)
    variance = (errors**2).mean() / count
    if count > 1:
        variance = max(variance, values.var(ddof=1) / count)
    return LogEvidence(float(values.mean()), float(np.sqrt(variance)))


def sequential_evidence(
    model: Model,
    rows: EncodedRows,
    *,
    seed: int,
    runs: int = 4,
    particles: int = 16,
    sweeps: int = 2,
    n_jobs: int | None = None,
) -> LogEvidence:
    """Estimate the evidence by predicting one row after the other.

    Parameters
    ----------
    model : Model
        A finite one.
    rows : EncodedRows
    seed : int
    runs : int, default=4
        Independent runs, each with the rows in an order of its own; they give the standard error.
    particles : int, default=16
        Networks that predict together, at least 2.
    sweeps : int, default=2
        Sweeps by which particles are moved each time they are drawn anew.
    n_jobs : int, default=None
        Runs side by side, as joblib counts them.
    """
    for name, value, least in (
        ("runs", runs, 2),
        ("particles", particles, 2),
        ("sweeps", sweeps, 1),
    ):
        if value < least:
            raise ValueError(f"{name} must be at least {least}, got {value}")
    X = rows.values(np.arange(rows.n_rows))
    jobs = max(1, min(effective_n_jobs(n_jobs), runs))
    logs = np.array(
        Parallel(n_jobs=jobs, max_nbytes=None)(
            delayed(predict_rows)(
                Key(seed, run), model, rows.dictionary, X, particles=particles, sweeps=sweeps
            )
            for run in range(runs)
        )
    )
    # every run's estimate of the evidence itself is unbiased, that of its logarithm is not; where
    # runs differ by many nats, the best of them decides, and only their spread tells how far off
    mean = float(logsumexp(logs) - np.log(runs))
    return LogEvidence(mean, float(logs.std(ddof=1) / np.sqrt(runs)))
