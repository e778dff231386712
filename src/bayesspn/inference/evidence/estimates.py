"""Model evidence p(x) of a graph and its priors: three estimates with standard errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from scipy.special import logsumexp
from scipy.stats import t as student

from bayesspn.arrays import Array
from bayesspn.engine.shards import LocalShards
from bayesspn.inference.evidence.bridge_path import estimate_log_evidence
from bayesspn.inference.evidence.sequential import predict_rows
from bayesspn.inference.parallel_tempering import Differences, adapt, climb, jackknife, start_ladder
from bayesspn.model.generative import Model
from bayesspn.numerics.random_numbers import Key
from bayesspn.numerics.threads import call_with_threads
from bayesspn.rows.encoded import EncodedRows

#: Sweeps before rows are fixed for one sweep of a step, and the least of the latter.
_EACH = 80
_LEAST_EACH = 2

#: Share of the gap between the ways there and back that may be left in their mean, all runs alike.
_LEFT_OVER = 0.03

#: Replicas of a ladder to begin with, and sweeps of the rounds that place them.
_FIRST_REPLICAS = 8
_PILOTS = (12, 16, 20, 24)

#: Share of the sweeps that replicas get to settle once they are placed.
_SETTLING = 0.5

#: Parts of a run whose disagreement is the standard error.
_PARTS = 8

#: Runs are left behind by others if they are below the median by more than so many times what the
#: best is above it.
_LEFT_BEHIND = 3.0

#: Probability of two standard errors to either side.
_TWO_ERRORS = 0.9545


class LogEvidence(NamedTuple):
    """Logarithm of the model evidence.

    Attributes
    ----------
    value : float
        Log p(x) of all rows, hyper-parameters and networks integrated out.
    standard_error : float
        Wide enough that two to either side are right 19 times out of 20, few runs or many.
    """

    value: float
    standard_error: float


def bridge_evidence(
    model: Model,
    rows: EncodedRows,
    *,
    seed: int,
    runs: int = 4,
    sweeps: int = 320,
    n_jobs: int | None = None,
) -> LogEvidence:
    """Estimate the evidence on a path on which rows are fixed at trees and then removed.

    Parameters
    ----------
    model : Model
        A finite one.
    rows : EncodedRows
    seed : int
    runs : int, default=4
        Independent chains, whose agreement gives the standard error.
    sweeps : int, default=320
        Sweeps of a chain before rows are fixed; every step of the path has an
        eightieth of them on either way.
    n_jobs : int, default=None
        Chains side by side, as joblib counts them.

    Examples
    --------
    >>> from bayesspn import Leaves, RegionGraph, describe_column, encode_rows
    >>> X = np.array([[0.0], [1.0], [1.0]])
    >>> leaves = Leaves((describe_column("coin", X[:, 0], "bernoulli", gamma=1.0),))
    >>> model = Model(RegionGraph(0, leaves=1), leaves, alpha=1.0, learn_leaf_priors=False)
    >>> value, error = bridge_evidence(model, encode_rows(leaves, X), seed=0)
    >>> bool(abs(value - np.log(1 / 12)) < 1e-6)  # one leaf: nothing to average over
    True
    """
    _check_least(runs=(runs, 2), sweeps=(sweeps, 1))
    each = max(_LEAST_EACH, sweeps // _EACH)
    paths = _side_by_side(
        lambda run: delayed(estimate_log_evidence)(
            Key(seed, run), model, rows, sweeps=sweeps, each=each
        ),
        runs,
        n_jobs,
    )
    value, error = _mean_evidence(np.array([path.log_evidence for path in paths]))
    left_over = _LEFT_OVER * float(np.mean([path.gap for path in paths]))
    return LogEvidence(value, float(np.hypot(error, left_over)))


def _mean_evidence(logs: Array) -> LogEvidence:
    """Logarithm of the mean of runs' evidences.

    A run that is left in a worse mode adds nothing to that mean, and little to its error as long as
    most runs agree.
    """
    runs = len(logs)
    median = np.median(logs)
    near = np.maximum(logs, median - _LEFT_BEHIND * (logs.max() - median))
    few = student.ppf((1 + _TWO_ERRORS) / 2, runs - 1) / 2
    error = few * near.std(ddof=1) / np.sqrt(runs)
    return LogEvidence(float(logsumexp(logs) - np.log(runs)), float(error))


def _side_by_side(task: Callable[[int], Any], runs: int, n_jobs: int | None) -> list[Any]:
    """Do runs in processes; cores that are left over become threads of theirs."""
    cores = effective_n_jobs(n_jobs)
    jobs = max(1, min(cores, runs))
    tasks = (task(run) for run in range(runs))
    if jobs == 1:
        return [function(*args, **keywords) for function, args, keywords in tasks]
    return list(
        Parallel(n_jobs=jobs, max_nbytes=None)(
            delayed(call_with_threads)(cores // jobs, *task) for task in tasks
        )
    )


def _check_least(**numbers: tuple[int, int]) -> None:
    for name, (value, least) in numbers.items():
        if value < least:
            raise ValueError(f"{name} must be at least {least}, got {value}")


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
    _check_least(sweeps=(sweeps, _PARTS))
    done = _side_by_side(
        lambda run: delayed(_run_ladder)(Key(seed, run), model, rows, sweeps, replicas),
        runs,
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
    _check_least(runs=(runs, 2), particles=(particles, 2), sweeps=(sweeps, 1))
    X = rows.values(np.arange(rows.n_rows))
    logs = _side_by_side(
        lambda run: delayed(predict_rows)(
            Key(seed, run), model, rows.codebook, X, particles=particles, sweeps=sweeps
        ),
        runs,
        n_jobs,
    )
    # every run's estimate of the evidence itself is unbiased, that of its logarithm is not
    return _mean_evidence(np.array(logs))
