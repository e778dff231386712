"""The evidence of one graph and its priors: by any method, and timed."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

from bayesspn.inference.chains import GrowingChain, start_chain
from bayesspn.inference.evidence.checks.sequential import sequential_evidence
from bayesspn.inference.evidence.checks.tempered import tempered_evidence
from bayesspn.inference.evidence.estimates import bridge_evidence
from bayesspn.inference.evidence.runs import LogEvidence
from bayesspn.model.generative import Model
from bayesspn.numerics.random_numbers import Key, draw_seed
from bayesspn.rows.encoded import EncodedRows

_METHODS: dict[str, Callable[..., LogEvidence]] = {
    "bridge": bridge_evidence,
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
    model: Model,
    rows: EncodedRows,
    *,
    method: str = "bridge",
    runs: int,
    sweeps: int | None,
    random_state: Any,
    n_jobs: int | None = 1,
) -> LogEvidence:
    """Log evidence of a model for a table, by one of the methods."""
    if method not in _METHODS:
        raise ValueError(f"method must be one of {sorted(_METHODS)}, got {method!r}")
    thorough = {} if sweeps is None else {"sweeps": sweeps}
    return _METHODS[method](
        model, rows, seed=draw_seed(random_state), runs=runs, n_jobs=n_jobs, **thorough
    )


def measure_graph(
    model: Model, rows: EncodedRows, *, runs: int, sweeps: int, random_state: Any
) -> Measurement:
    """Log evidence, how long it took, and how fast chains of the graph are."""
    begin = time.perf_counter()
    value, error = estimate_evidence(
        model, rows, runs=runs, sweeps=sweeps, random_state=random_state
    )
    seconds = time.perf_counter() - begin
    return Measurement(value, error, seconds, _measure_speed(model, rows))


def _measure_speed(model: Model, rows: EncodedRows) -> float:
    chain = GrowingChain(start_chain(Key(0, 0), model, rows), rows, burn_in=0, thin=1)
    chain.step()
    begin = time.perf_counter()
    for _ in range(_TIMED_SWEEPS):
        chain.step()
    return _TIMED_SWEEPS / (time.perf_counter() - begin)
