"""The evidence of an estimator's graph and priors, on encoded tables."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from bayesspn.arrays import Array
from bayesspn.estimators.fitting import draw_seed
from bayesspn.inference.chains import GrowingChain, start_chain
from bayesspn.inference.evidence.estimates import (
    LogEvidence,
    bridge_evidence,
    sequential_evidence,
    tempered_evidence,
)
from bayesspn.model.generative import Model
from bayesspn.numerics.random_numbers import Key
from bayesspn.rows.encoded import EncodedRows, check_support, encode_rows
from bayesspn.tables import Schema

if TYPE_CHECKING:
    from bayesspn.estimators.joint import JointModel

_ESTIMATES: dict[str, Callable[..., LogEvidence]] = {
    "pinned": bridge_evidence,
    "sequential": sequential_evidence,
    "tempered": tempered_evidence,
}

#: Sweeps by which the speed of a chain is measured, after one that is not counted.
_TIMED_SWEEPS = 4


class Measurement(NamedTuple):
    """What is known of a graph after a stage.

    Attributes
    ----------
    value, standard_error : float
        Of the log evidence.
    seconds : float
        That the estimate took.
    sweeps_per_second : float
        Of one chain in one thread.
    """

    value: float
    standard_error: float
    seconds: float
    sweeps_per_second: float


def estimate_evidence(
    estimator: JointModel,
    values: Array,
    schema: Schema,
    *,
    method: str = "pinned",
    runs: int,
    sweeps: int | None,
) -> LogEvidence:
    """Log evidence of an estimator's graph and priors for an encoded table."""
    if method not in _ESTIMATES:
        raise ValueError(f"method must be one of {sorted(_ESTIMATES)}, got {method!r}")
    thorough = {} if sweeps is None else {"sweeps": sweeps}
    model, rows = _build(estimator, values, schema)
    seed = draw_seed(estimator.random_state)
    return _ESTIMATES[method](
        model, rows, seed=seed, runs=runs, n_jobs=estimator.n_jobs, **thorough
    )


def measure_graph(
    estimator: JointModel, values: Array, schema: Schema, *, runs: int, sweeps: int
) -> Measurement:
    """Log evidence, how long it took, and how fast chains of the graph are."""
    begin = time.perf_counter()
    value, error = estimate_evidence(estimator, values, schema, runs=runs, sweeps=sweeps)
    seconds = time.perf_counter() - begin
    return Measurement(value, error, seconds, _measure_speed(*_build(estimator, values, schema)))


def _build(estimator: JointModel, values: Array, schema: Schema) -> tuple[Model, EncodedRows]:
    model = estimator._build_model(estimator._choose_graph(values.shape), schema, values)
    rows = encode_rows(model.leaves, values)
    check_support(rows)
    return model, rows


def _measure_speed(model: Model, rows: EncodedRows) -> float:
    chain = GrowingChain(start_chain(Key(0, 0), model, rows), rows, burn_in=0, thin=1)
    chain.step()
    begin = time.perf_counter()
    for _ in range(_TIMED_SWEEPS):
        chain.step()
    return _TIMED_SWEEPS / (time.perf_counter() - begin)
