"""The draws of fixed seeds do not change by accident.

`stored_draws.json` holds a fingerprint of what every kind of run gave when it was last changed on
purpose. Fingerprints are of whole numbers (scopes, edge counts) and of a few decimals of others, so
that they do not depend on the processor. After a change that is meant to move the draws, run this
file as a program to store them again, and say so in the changelog.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from support import binary_leaves, mixed_leaves, mixed_table

from bayesspn import BayesianSPN, InfiniteSPN, SPNImputer
from bayesspn.graphs import RegionGraph
from bayesspn.inference.chains import run_chain, start_chain
from bayesspn.inference.evidence.estimates import bridge_evidence
from bayesspn.model.generative import Model
from bayesspn.numerics.random_numbers import Key
from bayesspn.rows.encoded import encode_rows
from bayesspn.tables import infer_schema

STORED = Path(__file__).with_name("stored_draws.json")

SHARED = RegionGraph(2, (3, 1), sums=4, leaves=4, products="shared")
CROSS = RegionGraph(2, (2, 2), sums=3, leaves=4)


def fingerprint(states) -> str:
    """Of scopes, edge counts and a few digits of the hyper-parameters."""
    digest = hashlib.sha256()
    for state in states:
        for array in (*state.scope.y, *state.edge_counts):
            digest.update(np.ascontiguousarray(array).astype("<i8").tobytes())
        for array in state.hyper[:3]:
            digest.update(" ".join(f"{value:.4g}" for value in array).encode())
    return digest.hexdigest()


def binary_table(seed: int, rows: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    cause = rng.integers(0, 3, size=(rows, 1))
    X = (rng.random((rows, 12)) < 0.15 + 0.35 * (cause == np.arange(12) % 3)).astype(float)
    X[rng.random(X.shape) < 0.05] = np.nan
    return X


def run_low_level(model: Model, X: np.ndarray) -> str:
    rows = encode_rows(model.leaves, X)
    chain = start_chain(Key(5, 1), model, rows)
    return fingerprint(run_chain(chain, rows, burn_in=20, draws=5, thin=2).draws)


def mixed_model(graph: RegionGraph, **settings) -> tuple[Model, np.ndarray]:
    X = mixed_table(3, 120)
    return Model(graph, mixed_leaves(X), **settings), X


def mixed_chain() -> str:
    return run_low_level(*mixed_model(SHARED))


def cross_chain() -> str:
    X = binary_table(4, 300)
    return run_low_level(Model(CROSS, binary_leaves(12)), X)


def infinite_chain() -> str:
    graph = RegionGraph(1, 2, leaves=3, products="shared")
    return run_low_level(*mixed_model(graph, concentration=1.0))


def evidence() -> str:
    X = binary_table(4, 40)
    model = Model(RegionGraph(1, 2, leaves=2), binary_leaves(12))
    value, _ = bridge_evidence(model, encode_rows(model.leaves, X), seed=1, runs=2, sweeps=20)
    return f"{value:.3f}"


def estimator_fit() -> str:
    X = mixed_table(3, 120)
    model = BayesianSPN(chains=2, burn_in=10, draws=4, thin=2, random_state=0).fit(X)
    scores = " ".join(f"{score:.3f}" for score in model.score_samples(X[:20]))
    drawn = " ".join(f"{value:.4g}" for value in model.sample(5, random_state=1).ravel())
    states = [state for chain in model.posterior_.draws for state in chain]
    return hashlib.sha256(f"{fingerprint(states)} {scores} {drawn}".encode()).hexdigest()


def partial_fit() -> str:
    X = binary_table(4, 100)
    model = BayesianSPN(chains=2, burn_in=5, draws=4, random_state=0, schema=infer_schema(X))
    model.fit(X[:60]).partial_fit(X[60:])
    return fingerprint(state for chain in model.posterior_.draws for state in chain)


def infinite_fit() -> str:
    X = binary_table(4, 100)
    model = InfiniteSPN(chains=2, burn_in=10, draws=4, random_state=0).fit(X)
    return fingerprint(state for chain in model.posterior_.draws for state in chain)


def imputation() -> str:
    X = mixed_table(3, 80, missing=0.3)
    model = SPNImputer(chains=2, burn_in=10, draws=4, random_state=0, strategy="draw")
    filled = model.fit_transform(X)
    return hashlib.sha256(" ".join(f"{v:.4g}" for v in filled.ravel()).encode()).hexdigest()


RUNS = {
    run.__name__: run
    for run in (
        mixed_chain,
        cross_chain,
        infinite_chain,
        evidence,
        estimator_fit,
        partial_fit,
        infinite_fit,
        imputation,
    )
}


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_draws_of_fixed_seeds_are_those_that_were_stored(name):
    assert RUNS[name]() == json.loads(STORED.read_text())[name]


if __name__ == "__main__":
    STORED.write_text(json.dumps({name: run() for name, run in RUNS.items()}, indent=1) + "\n")
