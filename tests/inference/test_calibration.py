"""Simulation-based calibration (Talts et al., 2018) of whole chains.

Networks and tables are drawn from the model; a chain is run on each table. The rank of the true
value among the posterior draws of a label-free quantity must be uniform. Chi-square over the ranks
with a false alarm rate of 1e-4 per quantity.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2

from bayesspn.engine import compiled
from bayesspn.graphs import RegionGraph
from bayesspn.inference.chains import run_chain, start_chain
from bayesspn.inference.circuits import draw_circuit
from bayesspn.inference.prior import draw_prior_circuit, draw_rows
from bayesspn.leaves.columns import Leaves, describe_column
from bayesspn.model.generative import Learned, Model, draw_hyper
from bayesspn.numerics.random_numbers import Key
from bayesspn.rows.encoded import encode_rows

ROWS = 20
DRAWS = 19

COLUMNS = (
    describe_column("binary", np.array([0.0, 1.0]), "bernoulli"),
    describe_column("category", np.array([0.0, 2.0]), "categorical"),
    describe_column("real", np.random.default_rng(0).normal(size=30), "gaussian"),
    describe_column("count", np.array([0.0, 3.0]), ("poisson", "geometric")),
    describe_column("zeros", np.repeat([0.0, 0.5, 1.5], [6, 3, 1]), ("gaussian", "atoms")),
)

QUERIES = np.array(
    [
        [1.0, np.nan, np.nan, np.nan, np.nan],
        [1.0, 2.0, np.nan, np.nan, np.nan],
        [np.nan, np.nan, 0.5, np.nan, 0.0],
        [np.nan, np.nan, 0.5, 1.0, np.nan],
        [0.0, 1.0, -0.5, 0.0, 0.7],
    ]
)


def quantities(circuit, hyper, queries):
    return np.array(
        [*compiled.log_likelihood(circuit, queries), *np.log(hyper.alpha), np.log(hyper.beta[0])]
    )


MODELS = {
    "cross": {"products": "cross"},
    "shared": {"products": "shared"},
    "infinite": {"products": "shared", "concentration": Learned(0.7, 0.5)},
}


def make_model(name: str) -> Model:
    settings = dict(MODELS[name])
    return Model(
        RegionGraph(1, 2, leaves=2, products=settings.pop("products")),
        Leaves(COLUMNS),
        alpha=Learned(0.5, 0.7),
        beta=Learned(1.0, 0.7),
        mixing=Learned(0.5, 0.7),
        **settings,
    )


def ranks_of_the_truth(model: Model, replicates: int, burn_in: int, thin: int) -> np.ndarray:
    """How many of the draws are below the truth; (replicates, quantities)."""
    queries = encode_rows(model.leaves, QUERIES)
    rng = np.random.default_rng(0)
    ranks = []
    for replicate in range(replicates):
        hyper = draw_hyper(rng, model)
        circuit = draw_prior_circuit(rng, model, hyper)
        X = draw_rows(rng, circuit, ROWS)
        X[rng.random(X.shape) < 0.1] = np.nan
        truth = quantities(circuit, hyper, queries)
        rows = encode_rows(model.leaves, X)
        key = Key(replicate)
        start = start_chain(key, model, rows)
        chain = run_chain(start, rows, burn_in=burn_in, draws=DRAWS, thin=thin)
        draws = np.array(
            [
                quantities(draw_circuit(key, 10_000 + k, model, state), state.hyper, queries)
                for k, state in enumerate(chain.draws)
            ]
        )
        ranks.append((draws < truth).sum(axis=0))
    return np.array(ranks)


@pytest.mark.long
@pytest.mark.parametrize("name", MODELS)
def test_ranks_of_the_truth_are_uniform(name):
    replicates = 400
    ranks = ranks_of_the_truth(make_model(name), replicates, burn_in=150, thin=25)
    for quantity in ranks.T:
        counts = np.bincount(quantity * 5 // (DRAWS + 1), minlength=5)
        expected = replicates / 5
        statistic = ((counts - expected) ** 2 / expected).sum()
        assert statistic < chi2.isf(1e-4, 4), counts


@pytest.mark.long
@pytest.mark.parametrize("name", MODELS)
def test_intervals_hold_the_truth(name):
    """Nineteen draws: the truth is among the middle eighteen gaps in nine of ten tables."""
    replicates = 40
    ranks = ranks_of_the_truth(make_model(name), replicates, burn_in=40, thin=4)
    inside = ((ranks >= 1) & (ranks <= DRAWS - 1)).mean(axis=0)
    assert (inside > 0.9 - 4 * np.sqrt(0.09 / replicates)).all(), inside
    # few sweeps: all quantities together are a sharper test
    assert abs(inside.mean() - 0.9) < 0.08
