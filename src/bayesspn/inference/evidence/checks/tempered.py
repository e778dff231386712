"""The model evidence from chains at several powers of the likelihood: thermodynamic bridges."""

from __future__ import annotations

import numpy as np
from joblib import delayed

from bayesspn.arrays import Array
from bayesspn.engine.shards import LocalShards
from bayesspn.inference.evidence.checks.parallel_tempering import (
    Differences,
    adapt,
    climb,
    jackknife,
    start_ladder,
)
from bayesspn.inference.evidence.runs import LogEvidence
from bayesspn.model.generative import Model
from bayesspn.numerics.checks import check_whole
from bayesspn.numerics.parallel import run_side_by_side
from bayesspn.numerics.random_numbers import Key
from bayesspn.rows.encoded import EncodedRows

#: Replicas of a ladder to begin with, and sweeps of the rounds that place them.
_FIRST_REPLICAS = 8
_PILOTS = (12, 16, 20, 24)

#: Share of the sweeps that replicas get to settle once they are placed.
_SETTLING = 0.5

#: Parts of a run whose disagreement is the standard error.
_PARTS = 8


def tempered_evidence(
    model: Model,
    rows: EncodedRows,
    *,
    seed: int,
    runs: int = 2,
    sweeps: int = 80,
    replicas: int = 48,
    n_jobs: int | None = None,
) -> LogEvidence:
    """Estimate the evidence from chains at several powers of the likelihood.

    For small tables: with more rows than a few hundred, components of mixtures appear and vanish
    abruptly along the powers, and it takes very many sweeps until chains have followed.

    Parameters
    ----------
    model : Model
        A finite one.
    rows : EncodedRows
    seed : int
    runs : int, default=2
        Independent ladders, whose agreement is part of the standard error.
    sweeps : int, default=80
        Sweeps of every replica, after those that find the replicas' places.
    replicas : int, default=48
        Most replicas of a ladder; fewer are used where fewer do.
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
    check_whole("sweeps", sweeps, _PARTS)
    done = run_side_by_side(
        [
            delayed(_run_ladder)(Key(seed, run), model, rows, sweeps, replicas)
            for run in range(runs)
        ],
        n_jobs,
    )
    return _combine(np.array(done))


def _run_ladder(
    key: Key, model: Model, rows: EncodedRows, sweeps: int, replicas: int
) -> tuple[float, float]:
    shards = LocalShards(rows)
    ladder = start_ladder(key, model, shards, min(_FIRST_REPLICAS, replicas))
    for pilot in _PILOTS:
        ladder, differences, _ = climb(ladder, shards, pilot)
        late = Differences(differences.up[pilot // 2 :], differences.down[pilot // 2 :])
        ladder = adapt(ladder, late, replicas)
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
