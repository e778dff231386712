"""Models, circuits and tables that several tests build on."""

from __future__ import annotations

import numpy as np

from bayesspn.engine import oracle
from bayesspn.graphs import RegionGraph
from bayesspn.inference.prior import draw_prior_circuit
from bayesspn.inference.state import State, statistics_in_scope
from bayesspn.leaves.columns import Leaves, describe_column
from bayesspn.model.circuit import Circuit
from bayesspn.model.generative import Hyper, Model, draw_hyper
from bayesspn.rows.encoded import encode_rows

#: Both kinds of products, several partitions, more than two children, depth 0 to 3.
GRAPHS = {
    "mixture": RegionGraph(0, leaves=3),
    "cross": RegionGraph(1, 3, leaves=4),
    "cross, deep": RegionGraph(2, (2, 3), sums=3, leaves=4),
    "cross, three children": RegionGraph(2, (2, 1), children=3, sums=3, leaves=2),
    "shared, deep": RegionGraph(3, (3, 1, 1), sums=5, leaves=5, products="shared"),
    "shared, three children": RegionGraph(
        2, (3, 2), children=3, sums=5, leaves=4, products="shared"
    ),
    "single nodes": RegionGraph(2, 1, sums=1, leaves=1),
}

#: One column of every family, two that mix likelihood families, one with few distinct values.
FAMILIES = (
    "bernoulli",
    "categorical",
    "gaussian",
    ("poisson", "geometric", "categorical"),
    ("exponential", "gaussian", "lognormal"),
    "gaussian",
    "lognormal",
    "exponential",
    "geometric",
    ("categorical", "binomial"),
)


def mixed_table(seed: int, rows: int, missing: float = 0.15) -> np.ndarray:
    """A table with a column for each entry of FAMILIES, missing cells and repeated values."""
    rng = np.random.default_rng(seed)
    X = np.column_stack(
        [
            rng.integers(0, 2, rows),
            rng.integers(0, 4, rows),
            50.0 * rng.normal(size=rows),
            rng.poisson(4.0, rows),
            rng.exponential(3.0, rows) + 0.01,
            np.round(rng.normal(size=rows), 1),
            np.exp(rng.normal(size=rows)),
            rng.exponential(3.0, rows),
            rng.geometric(0.3, rows) - 1,
            rng.binomial(4, 0.6, rows),
        ]
    ).astype(np.float64)
    X[rng.random(X.shape) < missing] = np.nan
    return X


def mixed_leaves(X: np.ndarray) -> Leaves:
    """Leaves for a `mixed_table`."""
    return Leaves(
        tuple(describe_column(f"column {d}", X[:, d], family) for d, family in enumerate(FAMILIES))
    )


def binary_leaves(columns: int, gamma: float = 0.5) -> Leaves:
    """Leaves for binary columns."""
    both = np.array([0.0, 1.0])
    return Leaves(
        tuple(
            describe_column(f"column {d}", both, "bernoulli", gamma=gamma) for d in range(columns)
        )
    )


def prior_circuit(seed: int, graph: RegionGraph, leaves: Leaves) -> Circuit:
    """A network drawn from the prior of the default model."""
    rng = np.random.default_rng(seed)
    model = Model(graph, leaves)
    return draw_prior_circuit(rng, model, draw_hyper(rng, model))


def state_from_latents(
    model: Model,
    hyper: Hyper,
    circuit: Circuit,
    X: np.ndarray,
    edges: np.ndarray,
    models: np.ndarray,
) -> State:
    """The state that given assignments z and s add up to."""
    rows = encode_rows(model.leaves, X)
    counts, regions, nodes = oracle.decode_trees(circuit.graph, edges)
    statistics = oracle.add_statistics(circuit.graph, rows.codebook, X, models, regions, nodes)
    inside = statistics_in_scope(rows.codebook, circuit.scope, statistics)
    return State(circuit.scope, hyper, counts, inside)
