"""Intervals cover: 90 % intervals hold the truth 90 % of the time.

Networks and tables are drawn from the model, a chain is run on each table, and the intervals of
event probabilities are compared with the probabilities under the network that made the table.
"""

from __future__ import annotations

import numpy as np
import pytest

from bayesspn.graphs import RegionGraph
from bayesspn.inference.chains import run_chain, start_chain
from bayesspn.inference.prior import draw_prior_circuit, draw_rows
from bayesspn.leaves.columns import Leaves, describe_column
from bayesspn.model.generative import Learned, Model, draw_hyper
from bayesspn.numerics.random_numbers import Key
from bayesspn.prediction.conditionals import ConditionalCircuits
from bayesspn.prediction.posterior import merge_chains
from bayesspn.prediction.stacked import stack_circuits
from bayesspn.questions.interface import Conditional
from bayesspn.questions.views import View
from bayesspn.rows.encoded import encode_rows
from bayesspn.tables import ColumnSchema, Schema

ROWS = 40

SCHEMA = Schema(
    (
        ColumnSchema("flag", "binary"),
        ColumnSchema("kind", "category", categories=("a", "b", "c")),
        ColumnSchema("size", "real", resolution=0.01),
        ColumnSchema("count", "count"),
    )
)

COLUMNS = (
    describe_column("flag", np.array([0.0, 1.0]), "bernoulli"),
    describe_column("kind", np.array([0.0, 2.0]), "categorical"),
    describe_column("size", np.random.default_rng(0).normal(size=30), "gaussian"),
    describe_column("count", np.array([0.0, 3.0]), ("poisson", "geometric")),
)

QUESTIONS = (
    ("flag", None),
    ("kind in [a, b] and size > 0.5", None),
    ("count <= 2", None),
    ("flag", "kind = c"),
    ("-1 < size < 1", {"count": 1}),
    ("count > 0 and flag", {"size": (0.0, 1.5)}),
)


@pytest.mark.long
def test_intervals_hold_the_truth():
    model = Model(
        RegionGraph(1, 2, leaves=3, products="shared"),
        Leaves(COLUMNS),
        alpha=Learned(0.5, 0.7),
        beta=Learned(1.0, 0.7),
        mixing=Learned(0.5, 0.7),
    )
    rng = np.random.default_rng(0)
    replicates = 400
    covered = np.zeros((replicates, len(QUESTIONS)), dtype=bool)
    for replicate in range(replicates):
        hyper = draw_hyper(rng, model)
        truth = draw_prior_circuit(rng, model, hyper)
        X = draw_rows(rng, truth, ROWS)
        X[rng.random(X.shape) < 0.1] = np.nan
        rows = encode_rows(model.leaves, X)
        start = start_chain(Key(replicate), model, rows)
        chain = run_chain(start, rows, burn_in=120, draws=60, thin=4)
        view = View(merge_chains([chain]), SCHEMA, "pandas", tuple(range(len(SCHEMA))))
        for number, (event, given) in enumerate(QUESTIONS):
            answer = Conditional(view).probability(event, given=given, interval=0.9)
            asked = view.knowing(given)
            conditional = ConditionalCircuits(stack_circuits([truth]), asked.given)
            true = conditional.probability(asked.event(event))[0]
            covered[replicate, number] = answer.low <= true <= answer.high
    print("coverage of 90 % intervals:", covered.mean(axis=0).round(3), covered.mean().round(3))
    assert 0.87 <= covered.mean() <= 0.93, covered.mean(axis=0)
    # four standard errors of a single question: false alarms once in 2,600 runs
    error = np.sqrt(0.9 * 0.1 / replicates)
    assert (np.abs(covered.mean(axis=0) - 0.9) < 4 * error).all(), covered.mean(axis=0)
