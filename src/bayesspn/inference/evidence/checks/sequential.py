"""Model evidence by predicting one row after the other with particles.

The evidence is ∏_n p(x_n | x_1, …, x_{n−1}). Particles are networks drawn from the posterior given
the rows so far. A further row weights every particle by the density it has there, and the mean
weight is the row's factor. When the weights have become too uneven, particles are drawn anew by
their weights and moved by sweeps of the Gibbs sampler over all rows so far (Chopin, 2002).

This estimate shares no step with the tempered one but the sweeps, so the two check each other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from joblib import delayed
from numpy.typing import NDArray
from scipy.special import logsumexp

from bayesspn.arrays import Array
from bayesspn.engine import compiled
from bayesspn.engine.shards import LocalShards
from bayesspn.inference.circuits import draw_circuit
from bayesspn.inference.evidence.checks.parallel_tempering import Configuration
from bayesspn.inference.evidence.runs import LogEvidence, mean_evidence
from bayesspn.inference.prior import draw_prior_circuit
from bayesspn.inference.sweep import draw_rest
from bayesspn.model.generative import Model, draw_hyper
from bayesspn.numerics.checks import check_whole
from bayesspn.numerics.parallel import run_side_by_side
from bayesspn.numerics.random_numbers import Key, Stream
from bayesspn.rows.codebook import Codebook
from bayesspn.rows.encoded import EncodedRows, encode_shard

#: Particles are drawn anew when their weights are worth less than this share of them.
_LEAST_WORTH = 0.5

#: Rows that are looked at together, at most as many as were seen before.
_MOST_AHEAD = 4096


class _Particle(NamedTuple):
    key: Key
    configuration: Configuration


def predict_rows(
    key: Key, model: Model, codebook: Codebook, X: Array, *, particles: int, sweeps: int
) -> float:
    """Log evidence of rows, from one run with particles.

    Parameters
    ----------
    key : Key
    model : Model
        A finite one.
    codebook : Codebook
        Of the table.
    X : ndarray of shape (rows, columns)
        Values, NaN where missing. They are taken in random order.
    particles : int
        At least 2.
    sweeps : int
        Sweeps by which particles are moved each time, at least 1.
    """
    if model.infinite:
        raise ValueError("the evidence needs a finite model")
    rng = key.generator(0, Stream.START)
    X = X[rng.permutation(len(X))]
    cloud = [_draw_prior(Key(key.seed, key.chain * particles + p), model) for p in range(particles)]
    log_weights = np.zeros(particles)
    total, seen, step = 0.0, 0, 0
    while seen < len(X):
        ahead = min(len(X) - seen, _MOST_AHEAD, max(1, seen))
        rows = encode_shard(codebook, X[seen : seen + ahead], np.arange(ahead))
        scores = np.array(
            [compiled.log_likelihood(particle.configuration.circuit, rows) for particle in cloud]
        )
        log_each = log_weights[:, None] + np.cumsum(scores, axis=1)
        worth = np.exp(2 * logsumexp(log_each, axis=0) - logsumexp(2 * log_each, axis=0))
        poor = np.flatnonzero(worth < _LEAST_WORTH * particles)
        taken = int(poor[0]) + 1 if poor.size else ahead
        log_weights = log_each[:, taken - 1]
        seen += taken
        if poor.size and seen < len(X):
            total += float(logsumexp(log_weights) - np.log(particles))
            chosen = _resample(rng, log_weights)
            log_weights = np.zeros(particles)
            shards = LocalShards(encode_shard(codebook, X[:seen], np.arange(seen)))
            # copies of a particle have random numbers of their own
            cloud = [
                _move(particle.key, cloud[k].configuration, model, shards, step, sweeps)
                for particle, k in zip(cloud, chosen, strict=True)
            ]
            step += sweeps
    return total + float(logsumexp(log_weights) - np.log(particles))


def _draw_prior(key: Key, model: Model) -> _Particle:
    rng = key.generator(0, Stream.COMPONENTS)
    hyper = draw_hyper(rng, model)
    return _Particle(key, Configuration(hyper, draw_prior_circuit(rng, model, hyper)))


def _resample(rng: np.random.Generator, log_weights: Array) -> NDArray[np.int64]:
    """Systematic draws of particles by their weights."""
    weights = np.cumsum(np.exp(log_weights - logsumexp(log_weights)))
    places = (rng.random() + np.arange(len(weights))) / len(weights)
    return np.minimum(np.searchsorted(weights, places), len(weights) - 1)


def _move(
    key: Key,
    configuration: Configuration,
    model: Model,
    shards: LocalShards,
    step: int,
    sweeps: int,
) -> _Particle:
    hyper, circuit = configuration
    for sweep in range(step + 1, step + sweeps + 1):
        state, _ = draw_rest(key, sweep, model, shards, hyper, circuit)
        hyper = state.hyper
        circuit = draw_circuit(key, sweep + 1, model, state)
    return _Particle(key, Configuration(hyper, circuit))


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
        check_whole(name, value, least)
    X = rows.values(np.arange(rows.n_rows))
    logs = run_side_by_side(
        [
            delayed(predict_rows)(
                Key(seed, run), model, rows.codebook, X, particles=particles, sweeps=sweeps
            )
            for run in range(runs)
        ],
        n_jobs,
    )
    # every run's estimate of the evidence itself is unbiased, that of its logarithm is not
    return mean_evidence(np.array(logs))
