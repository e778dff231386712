"""Infinite mixtures: every move against the joint distribution, and the whole against enumeration.

The joint tests are those of `test_moves`: hyper-parameters, components, rows and their places are
drawn from the generative model, a move is applied, and the mean of any function of the state must
be what it was.
"""

from __future__ import annotations

import itertools
from collections import Counter
from typing import NamedTuple

import numpy as np
import pytest
from enumeration import log_dirichlet_multinomial
from scipy.special import betaln, gammaln, logsumexp
from support import binary_leaves, state_from_latents

from bayesspn.engine import compiled, oracle
from bayesspn.engine.completion import complete_rows
from bayesspn.engine.row_sums import Address
from bayesspn.engine.shards import LocalShards
from bayesspn.graphs import RegionGraph
from bayesspn.inference.chains import Chain, run_chain, start_chain
from bayesspn.inference.circuits import draw_active_components, draw_parameters, predictive_circuit
from bayesspn.inference.infinite.collapsed_gibbs import resample_rows
from bayesspn.inference.infinite.components import (
    blocks_of,
    by_component,
    component_edges,
    component_sizes,
    count_components,
    take_from_state,
)
from bayesspn.inference.infinite.split_merge import split_merge_blocks
from bayesspn.inference.infinite.stick_breaking import draw_concentration
from bayesspn.inference.prior import draw_prior_circuit
from bayesspn.inference.state import State, counts_and_totals, statistics_in_scope
from bayesspn.inference.sweep import draw_sweep
from bayesspn.leaves.columns import Leaves, describe_column
from bayesspn.model.circuit import Circuit
from bayesspn.model.generative import Learned, Model, draw_hyper
from bayesspn.numerics.random_numbers import Key
from bayesspn.rows.encoded import EncodedRows, encode_rows

ROWS = 6
ALLOWED = 4.5

EXAMPLE = np.random.default_rng(0)
COLUMNS = (
    describe_column("binary", np.array([0.0, 1.0]), "bernoulli"),
    describe_column("real", EXAMPLE.normal(size=30), "gaussian", resolution=0.3),
    describe_column("count", np.array([0.0, 3.0]), ("poisson", "categorical")),
)

GRAPHS = {
    "cross": RegionGraph(1, 2, leaves=2),
    "shared": RegionGraph(2, (2, 1), sums=2, leaves=2, products="shared"),
}


class Joint(NamedTuple):
    state: State
    rows: EncodedRows


def make_model(graph: str) -> Model:
    return Model(
        GRAPHS[graph],
        Leaves(COLUMNS),
        alpha=Learned(0.5, 0.7),
        beta=Learned(1.0, 0.7),
        mixing=Learned(0.5, 0.7),
        concentration=Learned(1.0, 0.7),
    )


def in_use(model: Model, state: State) -> State:
    used = np.flatnonzero(component_sizes(model, state.edge_counts))
    return take_from_state(model, state, blocks_of(model, used))


def draw_joint(rng: np.random.Generator, model: Model) -> Joint:
    hyper = draw_hyper(rng, model)
    circuit = draw_prior_circuit(rng, model, hyper)
    key = Key(int(rng.integers(2**63)))
    nothing = np.full((ROWS, len(COLUMNS)), np.nan)
    X, edges, _ = complete_rows(rng, circuit, nothing, Address(key.words(), 0))
    X[rng.random(X.shape) < 0.2] = np.nan
    _, regions, nodes = oracle.decode_trees(circuit.graph, edges)
    address = Address(key.words(), 1)
    models = oracle.draw_cell_families(circuit, X, regions, nodes, np.arange(ROWS), address)
    state = state_from_latents(model, hyper, circuit, X, edges, models)
    return Joint(in_use(model, state), encode_rows(model.leaves, X))


def summarise(model: Model, state: State) -> np.ndarray:
    """Bounded functions of the whole state that do not depend on the order of components."""
    hyper = state.hyper
    sizes = component_sizes(model, state.edge_counts)
    blocks = by_component(model, state.edge_counts[0]).sum(axis=(1, 3))
    edges = component_edges(model, state.edge_counts)
    log_edges = []
    for alpha, counts in zip(hyper.alpha, edges, strict=True):
        flat = counts.reshape(-1, counts.shape[2] * counts.shape[3])
        log_edges.append(log_dirichlet_multinomial(alpha, flat))
    evidence, coordinates = [], []
    for g, group in enumerate(model.leaves.groups):
        n, totals = counts_and_totals(group, state.statistics[g])
        evidence.append(group.family.log_marginal(group.hyper(hyper.phi[g]), n, totals).sum())
        coordinates.extend(((hyper.phi[g] - group.center) / group.spread)[0])
    together = (state.scope.leaf_regions[0] == state.scope.leaf_regions[1]).mean()
    concentration = np.tanh(np.log(hyper.concentration[0]))
    values = np.array(
        [
            len(sizes) / ROWS,
            sizes.max() / ROWS,
            (sizes == 1).sum() / ROWS,
            (blocks > 0).sum() / ROWS,
            blocks.max() / ROWS,
            concentration,
            *np.tanh(np.array(log_edges) / 10),
            *np.tanh(np.array(evidence) / 20),
            *np.tanh(coordinates),
            *np.tanh(np.log(hyper.alpha)),
            np.tanh(np.log(hyper.beta[0])),
            *np.tanh(np.log(hyper.mixing)),
            together,
        ]
    )
    return np.concatenate([values, values**2, values * values[0], values * concentration])


def pass_over_rows(rng, model, joint):
    key = Key(int(rng.integers(2**63)))
    active = draw_active_components(key, 3, model, joint.state)
    circuit = draw_parameters(key, 3, model, active)
    sums = compiled.row_pass(circuit, joint.rows, Address(key.words(), 3))
    return key, active, circuit, sums


def move_rows(rng, model, joint):
    _, active, circuit, sums = pass_over_rows(rng, model, joint)
    if not active.complete:
        return joint.state
    inside = statistics_in_scope(joint.rows.codebook, circuit.scope, sums.statistics)
    state = State(circuit.scope, joint.state.hyper, sums.edge_counts, inside)
    return in_use(model, state)


def move_collapsed(rng, model, joint):
    """A row pass for what the rows' places were, then new places for some of them."""
    key, active, circuit, sums = pass_over_rows(rng, model, joint)
    if not active.complete:
        return joint.state
    hyper = joint.state.hyper
    scope, sums = resample_rows(key, 3, model, LocalShards(joint.rows), hyper, circuit, sums)
    inside = statistics_in_scope(joint.rows.codebook, scope, sums.statistics)
    return in_use(model, State(scope, hyper, sums.edge_counts, inside))


def move_blocks(rng, model, joint):
    return split_merge_blocks(rng, model, joint.state)


def move_concentration(rng, model, joint):
    sizes = component_sizes(model, joint.state.edge_counts)
    drawn = draw_concentration(rng, model, joint.state.hyper.concentration, sizes)
    return joint.state._replace(hyper=joint.state.hyper._replace(concentration=drawn))


def move_everything(rng, model, joint):
    state, key = joint.state, Key(int(rng.integers(2**63)))
    for sweep in range(3):
        state, _ = draw_sweep(key, sweep, model, LocalShards(joint.rows), state)
    return state


MOVES = {
    "rows": move_rows,
    "collapsed": move_collapsed,
    "blocks": move_blocks,
    "concentration": move_concentration,
    "everything": move_everything,
}


def worst_deviation(move, graph: str, replicates: int, seed: int) -> float:
    """Largest |mean difference| in standard errors."""
    model = make_model(graph)
    rng = np.random.default_rng(seed)
    differences = []
    for _ in range(replicates):
        joint = draw_joint(rng, model)
        after = move(rng, model, joint)
        differences.append(summarise(model, after) - summarise(model, joint.state))
    differences = np.array(differences)
    error = differences.std(axis=0, ddof=1) / np.sqrt(replicates)
    moved = error > 0
    assert moved.any()
    return float(np.abs(differences.mean(axis=0)[moved] / error[moved]).max())


@pytest.mark.parametrize(
    ("name", "graph"),
    [
        ("rows", "cross"),
        ("collapsed", "shared"),
        ("blocks", "cross"),
        ("concentration", "cross"),
        ("everything", "shared"),
    ],
)
def test_move_leaves_the_joint_distribution_unchanged(name, graph):
    replicates = 150 if name == "everything" else 250
    assert worst_deviation(MOVES[name], graph, replicates, seed=1) < ALLOWED


@pytest.mark.long
@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("name", MOVES)
def test_move_leaves_the_joint_distribution_unchanged_at_length(name, graph):
    assert worst_deviation(MOVES[name], graph, replicates=6_000, seed=2) < ALLOWED


def test_the_joint_test_notices_a_wrong_move():
    """Blocks exchanged as if new components were three times as likely."""

    def wrong(rng, model, joint):
        hyper = joint.state.hyper
        bent = hyper._replace(concentration=3 * hyper.concentration)
        moved = split_merge_blocks(rng, model, joint.state._replace(hyper=bent))
        return moved._replace(hyper=hyper)

    assert worst_deviation(wrong, "cross", replicates=400, seed=1) > ALLOWED


# Enumeration --------------------------------------------------------------------------------------

ALPHA, GAMMA, CONCENTRATION = 0.7, 0.5, 1.3

TABLE = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, np.nan]])


def block_key(rows) -> tuple[int, ...]:
    """What the statistics show of the rows in a block."""
    cells = TABLE[list(rows)]
    observed = ~np.isnan(cells)
    return (len(cells), *observed.sum(axis=0), *np.nansum(cells, axis=0).astype(int))


def log_block_evidence(rows) -> float:
    cells = TABLE[list(rows)]
    ones, zeros = np.nansum(cells == 1, axis=0), np.nansum(cells == 0, axis=0)
    return float((betaln(GAMMA + ones, GAMMA + zeros) - betaln(GAMMA, GAMMA)).sum())


def set_partitions(items):
    if not items:
        yield []
        return
    first, *others = items
    for size in range(len(others) + 1):
        for group in itertools.combinations(others, size):
            rest = [item for item in others if item not in group]
            for partition in set_partitions(rest):
                yield [[first, *group], *partition]


def enumerate_partitions() -> dict[tuple, float]:
    """Exact posterior of what components hold: two blocks each, one leaf per region."""
    log_weights: dict[tuple, list[float]] = {}
    for partition in set_partitions(list(range(len(TABLE)))):
        for sides in itertools.product((0, 1), repeat=len(TABLE)):
            value = len(partition) * np.log(CONCENTRATION)
            key = []
            for members in partition:
                blocks = [[n for n in members if sides[n] == side] for side in (0, 1)]
                value += gammaln(len(members))
                counts = np.array([len(block) for block in blocks])
                value += (gammaln(ALPHA + counts) - gammaln(ALPHA)).sum()
                value += gammaln(2 * ALPHA) - gammaln(2 * ALPHA + counts.sum())
                value += sum(log_block_evidence(block) for block in blocks)
                key.append(tuple(sorted(block_key(block) for block in blocks)))
            log_weights.setdefault(tuple(sorted(key)), []).append(value)
    total = logsumexp(list(itertools.chain.from_iterable(log_weights.values())))
    return {key: float(np.exp(logsumexp(v) - total)) for key, v in log_weights.items()}


def component_keys(model: Model, state: State) -> tuple:
    """The same of a state; leaves in scope hold zeros and ones of each column."""
    sizes = by_component(model, state.edge_counts[0]).sum(axis=(1, 3))
    zeros, ones = (state.statistics[0][:, :, 0, k] for k in (0, 1))  # (columns, blocks)
    keys = []
    for component, blocks in enumerate(sizes):
        own = []
        for block, size in enumerate(blocks):
            path = component * len(blocks) + block
            seen = (zeros[:, path] + ones[:, path]).tolist()
            own.append((int(size), *seen, *ones[:, path].tolist()))
        keys.append(tuple(sorted(own)))
    return tuple(sorted(keys))


@pytest.mark.parametrize("growing", [pytest.param(False, marks=pytest.mark.long), True])
def test_posterior_of_components_equals_enumeration(growing):
    """Also if half of the rows come later, and the chain goes on with all of them."""
    exact = enumerate_partitions()
    leaves = binary_leaves(2, gamma=GAMMA)
    model = Model(
        RegionGraph(1, 2, leaves=1),
        leaves,
        alpha=ALPHA,
        beta=1.0,
        learn_leaf_priors=False,
        concentration=CONCENTRATION,
    )
    rows = encode_rows(leaves, TABLE)
    chain = start_chain(Key(1), model, rows)
    if growing:
        half = encode_rows(leaves, TABLE[:2])
        state = run_chain(start_chain(Key(2), model, half), half, burn_in=30, draws=0).state
        chain = Chain(model, Key(1), state)
    chain = run_chain(chain, rows, burn_in=20, draws=2000)
    keys = [component_keys(model, state) for state in chain.draws]
    assert set(keys) <= set(exact)
    checked = 0
    for key, probability in exact.items():
        if probability > 0.01:
            checked += 1
            hits = np.array([k == key for k in keys], dtype=float)
            means = hits[: len(hits) // 30 * 30].reshape(30, -1).mean(axis=1)
            error = means.std(ddof=1) / np.sqrt(30)
            assert abs(hits.mean() - probability) < 4.5 * error + 1e-3, key
    assert checked >= 10


# What the parts are made of -----------------------------------------------------------------------


def test_a_new_components_density_is_the_product_of_prior_predictives():
    """For any scope: the last component of the predictive network has never seen a row."""
    rng = np.random.default_rng(0)
    model = make_model("shared")
    joint = draw_joint(rng, model)
    circuit = predictive_circuit(model, joint.state)
    first = model.graph.branching[0]
    root = circuit.log_weights[0].copy()
    share = np.exp(root[0, 0, -first:]).sum()
    a = float(joint.state.hyper.concentration[0])
    assert share == pytest.approx(a / (a + ROWS))
    root[0, 0, :-first] = -np.inf
    alone = Circuit(circuit.scope, (root, *circuit.log_weights[1:]), circuit.densities)
    X = draw_joint(rng, model).rows.values(np.arange(ROWS))
    expected = np.log(share) + np.zeros(ROWS)
    for n, d in np.argwhere(~np.isnan(X)):
        expected[n] += prior_predictive(model, joint.state, d, X[n, d])
    np.testing.assert_allclose(oracle.log_likelihood(alone, X), expected, rtol=1e-9)


def prior_predictive(model: Model, state: State, column: int, value: float) -> float:
    """Of one cell, from the evidence of a single observation."""
    terms = []
    places = model.leaves.places[column]
    for m, (g, position) in enumerate(places):
        group = model.leaves.groups[g]
        statistics, log_base = model.leaves.columns[column].features(m, np.array([value]))
        if not np.isfinite(log_base[0]):
            continue
        hyper = group.hyper(state.hyper.phi[g])[position].reshape(1, -1)
        evidence = group.family.log_marginal(hyper, np.ones(1), statistics)
        terms.append(float(evidence[0] + log_base[0]) - np.log(len(places)))
    return float(logsumexp(terms))


def test_a_component_that_dies_leaves_no_trace():
    model = make_model("cross")
    rng = np.random.default_rng(3)
    rows = encode_rows(model.leaves, draw_joint(rng, model).rows.values(np.arange(ROWS)))
    chain = run_chain(start_chain(Key(5), model, rows), rows, draws=60)
    counts = Counter()
    for state in chain.draws:
        components = count_components(model, state.scope)
        counts[components] += 1
        sizes = component_sizes(model, state.edge_counts)
        assert len(sizes) == components
        assert (sizes > 0).all()
        assert sizes.sum() == ROWS
        for array in state.statistics:
            assert array.shape[1] == components * model.graph.n_paths
    assert len(counts) > 1


@pytest.mark.parametrize("start", [1, 24])
def test_the_number_of_components_is_found_from_above_and_below(start, monkeypatch):
    """Four clusters; components with more than one row in twenty are counted."""
    monkeypatch.setattr("bayesspn.inference.starts.choices._START_PARTITIONS", start)
    rng = np.random.default_rng(0)
    cluster = rng.integers(4, size=300)
    real = rng.normal(0, 2.0, (4, 4))[cluster] + rng.normal(size=(300, 4))
    binary = rng.random((300, 4)) < rng.beta(0.5, 0.5, (4, 4))[cluster]
    X = np.column_stack([real, binary]).astype(float)
    kinds = ["gaussian"] * 4 + ["bernoulli"] * 4
    columns = [describe_column(f"x{d}", X[:, d], kind) for d, kind in enumerate(kinds)]
    leaves = Leaves(tuple(columns))
    model = Model(RegionGraph(1, 1, leaves=1), leaves, concentration=Learned(1.0, 1.0))
    rows = encode_rows(leaves, X)
    chain = run_chain(start_chain(Key(1), model, rows), rows, burn_in=400, draws=100)
    large = [(component_sizes(model, s.edge_counts) > 15).sum() for s in chain.draws]
    assert np.mean(np.array(large) == 4) > 0.8
    found = [count_components(model, state.scope) for state in chain.draws]
    assert len(set(found)) > 1
