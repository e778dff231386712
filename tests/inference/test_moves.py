"""Joint tests of the moves (Geweke, 2004), one by one and all together.

Hyper-parameters, network, assignments and rows are drawn from the generative model; then a move is
applied. It must leave the joint distribution as it was, so the mean of any function of the state
before and after must agree. Replicates are independent and differences paired, which makes the
standard errors exact; 4.5 of them allow one false alarm in 10^5 per function.

The table has every kind of column (one-hot, scaled statistics, two mixtures over likelihood
models) and missing cells; both kinds of products are run.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from support import state_from_latents

from bayesspn.engine import compiled, oracle
from bayesspn.engine.completion import complete_rows
from bayesspn.engine.row_sums import Address
from bayesspn.engine.shards import LocalShards
from bayesspn.graphs import RegionGraph
from bayesspn.inference.concentrations import draw_alpha, draw_beta, draw_mixing
from bayesspn.inference.leaf_parameters import draw_leaf_parameters
from bayesspn.inference.leaf_priors import draw_leaf_priors
from bayesspn.inference.prior import draw_prior_circuit
from bayesspn.inference.scopes import draw_scopes, region_log_marginals
from bayesspn.inference.state import State, counts_and_totals, statistics_in_scope
from bayesspn.inference.sweep import draw_sweep
from bayesspn.inference.weights import draw_weights
from bayesspn.leaves.columns import Leaves, describe_column
from bayesspn.model.circuit import Circuit
from bayesspn.model.generative import Learned, Model, draw_hyper
from bayesspn.numerics.random_numbers import Key
from bayesspn.rows.encoded import EncodedRows, encode_rows

ROWS = 7
ALLOWED = 4.5

#: Of quick tests: enough that a single count too many is found, at 6 standard errors.
REPLICATES = 400

EXAMPLE = np.random.default_rng(0)
COLUMNS = (
    describe_column("binary", np.array([0.0, 1.0]), "bernoulli"),
    describe_column("category", np.array([0.0, 2.0]), ("categorical", "binomial")),
    describe_column("zeros", np.repeat([0.0, 0.5, 1.5], [6, 3, 1]), ("gaussian", "atoms")),
    describe_column("real", EXAMPLE.normal(size=30), "gaussian", resolution=0.3),
    describe_column("count", np.array([0.0, 3.0]), ("poisson", "categorical", "geometric")),
    describe_column(
        "positive",
        EXAMPLE.exponential(size=30) + 0.1,
        ("exponential", "lognormal"),
        resolution=0.05,
    ),
)

GRAPHS = {
    "cross": RegionGraph(1, 2, leaves=2),
    "shared": RegionGraph(2, (2, 1), sums=3, leaves=3, products="shared"),
}


class Joint(NamedTuple):
    state: State
    circuit: Circuit
    rows: EncodedRows
    X: np.ndarray


def make_model(graph: str) -> Model:
    return Model(
        GRAPHS[graph],
        Leaves(COLUMNS),
        alpha=Learned(0.5, 0.7),
        beta=Learned(1.0, 0.7),
        mixing=Learned(0.5, 0.7),
    )


def draw_joint(rng: np.random.Generator, model: Model) -> Joint:
    """Everything from the generative model; cells are then lost at random.

    The category of the count column is limited to the range of its categorical model, so values
    beyond it never come from that model: the draw of s given x must respect this.
    """
    hyper = draw_hyper(rng, model)
    circuit = draw_prior_circuit(rng, model, hyper)
    nothing = np.full((ROWS, len(COLUMNS)), np.nan)
    key = Key(int(rng.integers(2**63)))
    X, edges, _ = complete_rows(rng, circuit, nothing, Address(key.words(), 0))
    X[rng.random(X.shape) < 0.2] = np.nan
    _, regions, nodes = oracle.decode_trees(model.graph, edges)
    # s given z, x, θ and ω is as good as the s that made x
    models = oracle.draw_cell_families(
        circuit, X, regions, nodes, np.arange(ROWS), Address(key.words(), 1)
    )
    state = state_from_latents(model, hyper, circuit, X, edges, models)
    return Joint(state, circuit, encode_rows(model.leaves, X), X)


def summarise(model: Model, joint: Joint) -> np.ndarray:
    """Bounded functions of the whole state that each move should disturb if it is wrong."""
    state, circuit = joint.state, joint.circuit
    weights = [
        np.sum(np.where(n > 0, n * w, 0.0))
        for n, w in zip(state.edge_counts, circuit.log_weights, strict=True)
    ]
    sizes = [(n.max() / ROWS, (n > 0).sum() / n.size) for n in state.edge_counts]
    likelihoods, evidences, coordinates = [], [], []
    for g, group in enumerate(model.leaves.groups):
        n, totals = counts_and_totals(group, state.statistics[g])
        eta, a = circuit.densities.eta[g], circuit.densities.log_partition[g]
        likelihoods.append((totals * eta).sum() - (n * a).sum())
        hyper = group.hyper(state.hyper.phi[g])
        evidences.append(group.family.log_marginal(hyper, n, totals).sum())
        coordinates.extend(((state.hyper.phi[g] - group.center) / group.spread)[0])
    used = state.scope.region_scopes[-1].any(axis=1).mean()
    together = (state.scope.leaf_regions[0] == state.scope.leaf_regions[1]).mean()
    mixing = np.exp(circuit.densities.log_mixing[:, 0]).mean()
    observed = np.tanh(np.nanmean(np.where(np.isnan(joint.X), np.nan, np.arctan(joint.X))))
    values = np.array(
        [
            *np.tanh(np.array(weights) / 20),
            *np.ravel(sizes),
            *np.tanh(np.array(likelihoods) / 20),
            *np.tanh(np.array(evidences) / 20),
            *np.tanh(coordinates),
            *np.tanh(np.log(state.hyper.alpha)),
            np.tanh(np.log(state.hyper.beta[0])),
            *np.tanh(np.log(state.hyper.mixing)),
            used,
            together,
            mixing,
            observed,
        ]
    )
    # products catch broken dependence between what a move drew and what it conditioned on
    return np.concatenate(
        [values, values**2, values * values[0], values * values[-1], values * used]
    )


def redraw(rng: np.random.Generator, model: Model, joint: Joint, state: State) -> Joint:
    """Put a new state in place and draw the parameters that were integrated out."""
    circuit = Circuit(
        state.scope,
        draw_weights(rng, state.hyper.alpha, state.edge_counts),
        draw_leaf_parameters(rng, model.leaves, state),
    )
    return joint._replace(state=state, circuit=circuit)


def move_weights(rng, model, joint):
    weights = draw_weights(rng, joint.state.hyper.alpha, joint.state.edge_counts)
    circuit = Circuit(joint.state.scope, weights, joint.circuit.densities)
    return joint._replace(circuit=circuit)


def move_leaves(rng, model, joint):
    densities = draw_leaf_parameters(rng, model.leaves, joint.state)
    return joint._replace(circuit=Circuit(joint.state.scope, joint.circuit.log_weights, densities))


def row_pass(rng, joint):
    address = Address(Key(int(rng.integers(2**63))).words(), 3)
    return compiled.row_pass(joint.circuit, joint.rows, address)


def move_assignments(rng, model, joint):
    sums = row_pass(rng, joint)
    inside = statistics_in_scope(joint.rows.codebook, joint.state.scope, sums.statistics)
    state = joint.state._replace(edge_counts=sums.edge_counts, statistics=inside)
    return joint._replace(state=state)


def move_scopes(rng, model, joint):
    """A row pass for the statistics out of scope, then y, then θ."""
    sums = row_pass(rng, joint)
    hyper = joint.state.hyper
    evidence = region_log_marginals(joint.rows.codebook, hyper, sums)
    scope = draw_scopes(rng, joint.state.scope, evidence, float(hyper.beta[0]))
    inside = statistics_in_scope(joint.rows.codebook, scope, sums.statistics)
    return redraw(rng, model, joint, State(scope, hyper, sums.edge_counts, inside))


def move_hyper(rng, model, joint, **changed):
    state = joint.state._replace(hyper=joint.state.hyper._replace(**changed))
    return redraw(rng, model, joint, state)


def move_alpha(rng, model, joint):
    alpha = draw_alpha(rng, model, joint.state.hyper.alpha, joint.state.edge_counts)
    return move_hyper(rng, model, joint, alpha=alpha)


def move_beta(rng, model, joint):
    beta = draw_beta(rng, model, joint.state.hyper.beta, joint.state.scope)
    return move_hyper(rng, model, joint, beta=beta)


def move_mixing(rng, model, joint):
    mixing = draw_mixing(rng, model, joint.state.hyper.mixing, joint.state.statistics)
    return move_hyper(rng, model, joint, mixing=mixing)


def move_leaf_priors(rng, model, joint):
    phi = draw_leaf_priors(rng, model, joint.state.hyper.phi, joint.state.statistics)
    return move_hyper(rng, model, joint, phi=phi)


def move_everything(rng, model, joint):
    state = joint.state
    key = Key(int(rng.integers(2**63)))
    for sweep in range(3):
        state, _ = draw_sweep(key, sweep, model, LocalShards(joint.rows), state)
    return redraw(rng, model, joint, state)


MOVES = {
    "weights": move_weights,
    "leaf parameters": move_leaves,
    "assignments": move_assignments,
    "scopes": move_scopes,
    "alpha": move_alpha,
    "beta": move_beta,
    "mixing": move_mixing,
    "leaf priors": move_leaf_priors,
    "everything": move_everything,
}


def worst_deviation(move, graph: str, replicates: int, seed: int) -> float:
    """Largest |mean difference| in standard errors."""
    model = make_model(graph)
    rng = np.random.default_rng(seed)
    differences = []
    for _ in range(replicates):
        before = draw_joint(rng, model)
        after = move(rng, model, before)
        differences.append(summarise(model, after) - summarise(model, before))
    differences = np.array(differences)
    error = differences.std(axis=0, ddof=1) / np.sqrt(replicates)
    moved = error > 0
    assert moved.any()
    return float(np.abs(differences.mean(axis=0)[moved] / error[moved]).max())


#: Moves that depend on the graph's levels have a quick test on the deep one, the others on the
#: flat one; the long test has every pair.
DEEP = {"weights", "assignments", "scopes", "alpha", "everything"}
QUICK = [(name, "shared" if name in DEEP else "cross") for name in MOVES]


@pytest.mark.parametrize(("name", "graph"), QUICK)
def test_move_leaves_the_joint_distribution_unchanged(name, graph):
    # a replicate of everything takes three whole sweeps, and its parts have tests of their own
    replicates = 300 if name == "everything" else REPLICATES
    assert worst_deviation(MOVES[name], graph, replicates, seed=1) < ALLOWED


@pytest.mark.long
@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("name", MOVES)
def test_move_leaves_the_joint_distribution_unchanged_at_length(name, graph):
    assert worst_deviation(MOVES[name], graph, replicates=6_000, seed=2) < ALLOWED


def test_the_joint_test_notices_a_wrong_move():
    """Weights drawn with one count too many at each edge: small, and found."""

    def wrong(rng, model, joint):
        counts = tuple(n + (n > 0) for n in joint.state.edge_counts)
        weights = draw_weights(rng, joint.state.hyper.alpha, counts)
        return joint._replace(circuit=Circuit(joint.state.scope, weights, joint.circuit.densities))

    assert worst_deviation(wrong, "cross", REPLICATES, seed=1) > ALLOWED
