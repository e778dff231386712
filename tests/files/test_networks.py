"""Networks as JSON, read by an evaluator that knows SciPy and the format, not bayesspn."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import stats
from scipy.special import gammainc

from bayesspn import (
    BayesianSPN,
    Key,
    Leaves,
    Model,
    RegionGraph,
    describe_column,
    encode_rows,
    merge_chains,
    run_chain,
    start_chain,
    write_network,
)
from bayesspn.files.networks import describe_network
from bayesspn.model.explicit import SumNode
from bayesspn.model.simplification import simplify
from bayesspn.tables import encode


def density(part: dict, x: np.ndarray) -> np.ndarray:
    family = part["family"]
    if family == "categorical":
        p = np.array(part["probabilities"])
        inside = (x >= 0) & (x < len(p))
        return np.where(inside, p[np.where(inside, x, 0).astype(int)], 0.0)
    if family == "atoms":
        inside = np.abs(x[:, None] - np.array(part["values"])) <= part["width"] / 2
        return inside @ np.array(part["probabilities"]) / part["width"]
    if family == "negative_binomial":
        return stats.nbinom.pmf(x, part["n"], part["p"])
    if family == "beta_geometric":
        return stats.betanbinom.pmf(x, 1, part["a"], part["b"])
    limit = part["limit"]
    if family == "lomax":
        value = stats.lomax.pdf(x, part["c"], scale=part["scale"])
        if limit is not None:
            grown = limit * (1 + x / part["scale"])
            value = value * gammainc(part["c"] + 1, grown) / gammainc(part["c"], limit)
        return value
    jacobian = 1.0
    if family == "log_student_t":
        jacobian, x = np.where(x > 0, 1 / x, 0.0), np.log(np.where(x > 0, x, 1.0))
    df, z = part["df"], (x - part["loc"]) / part["scale"]
    value = jacobian * stats.t.pdf(z, df) / part["scale"]
    if limit is not None:
        value = value * gammainc((df + 1) / 2, limit * (1 + z**2 / df)) / gammainc(df / 2, limit)
    return value


def evaluate(document: dict, X: np.ndarray) -> np.ndarray:
    """Log density of rows, straight from the format's description."""
    values: list[np.ndarray] = []
    for node in document["nodes"]:
        if node["type"] == "leaf":
            cells = X[:, node["column"]]
            seen = ~np.isnan(cells)
            safe = np.where(seen, cells, 1.0)
            total = sum(part["weight"] * density(part, safe) for part in node["mixture"])
            values.append(np.where(seen, total, 1.0))
        elif node["type"] == "product":
            nothing = np.ones(len(X))  # a product without children is 1
            values.append(np.prod([nothing, *(values[c] for c in node["children"])], axis=0))
        else:
            weighted = zip(node["weights"], node["children"], strict=True)
            values.append(sum(weight * values[child] for weight, child in weighted))
    return np.log(values[-1])


@pytest.fixture(scope="module")
def encoded(people_model, people_table):
    return encode(people_table, people_model.schema_)


def test_another_evaluator_gives_the_same_scores(people_model, encoded, tmp_path):
    posterior = people_model.posterior_
    path = tmp_path / "network.json"
    write_network(posterior.as_spn(), path, schema=people_model.schema_)
    document = json.loads(path.read_text())
    assert (document["format"], document["version"]) == ("bayesspn-network", 1)
    expected = posterior.score_samples(encoded)
    np.testing.assert_allclose(evaluate(document, encoded), expected, atol=1e-4)
    families = {p["family"] for n in document["nodes"] for p in n.get("mixture", ())}
    assert {"categorical", "student_t"} <= families


def test_every_family_is_written_as_it_is_evaluated():
    """Columns of all families, with and without a least width that matters."""
    rng = np.random.default_rng(0)
    n = 80
    parts = (
        rng.normal(0, 1, n).round(0),
        rng.normal(0, 1, n),
        np.exp(rng.normal(0, 1, n)).round(1) + 0.1,
        rng.exponential(2.0, n).round(0),
        rng.poisson(40, n).astype(float),
    )
    X = np.column_stack(parts)
    columns = (
        describe_column("coarse", X[:, 0], "gaussian", resolution=1.0),
        describe_column("fine", X[:, 1], "gaussian"),
        describe_column("positive", X[:, 2], ("gaussian", "lognormal"), resolution=0.1),
        describe_column("zeros", X[:, 3], ("exponential", "gaussian"), resolution=1.0),
        describe_column("count", X[:, 4], ("poisson", "geometric")),
    )
    model = Model(RegionGraph(1, 2, leaves=3), Leaves(columns))
    rows = encode_rows(model.leaves, X)
    posterior = merge_chains([run_chain(start_chain(Key(0), model, rows), rows, draws=3)])
    document = describe_network(posterior.as_spn())
    limits = [p.get("limit") for node in document["nodes"] for p in node.get("mixture", ())]
    assert any(limit is not None for limit in limits)
    expected = posterior.score_samples(X)
    np.testing.assert_allclose(evaluate(document, X), expected, atol=1e-4)


def test_simplified_networks_are_smaller_and_the_same(people_model, encoded):
    network = people_model.posterior_.as_spn()
    smaller = simplify(network)
    smaller.check()
    np.testing.assert_allclose(
        smaller.log_density(encoded), network.log_density(encoded), atol=1e-9
    )
    assert len(smaller.nodes) < 0.6 * len(network.nodes)


def test_light_edges_are_left_out_and_the_rest_adds_up_to_one(people_model):
    network = simplify(people_model.posterior_.as_spn(), least_weight=0.01)
    network.check()
    sums = [node for node in network.nodes if isinstance(node, SumNode)]
    assert all(np.isclose(np.exp(node.log_weights).sum(), 1.0) for node in sums)
    assert min(node.log_weights.min() for node in sums) > np.log(0.01)
    with pytest.raises(ValueError, match="least_weight must be at least 0 and below 1"):
        simplify(network, least_weight=1.0)


def test_fewer_draws_are_spread_over_the_chains():
    X = np.random.default_rng(0).normal(size=(30, 2))
    posterior = BayesianSPN(chains=2, burn_in=2, draws=4, random_state=0).fit(X).posterior_
    network = posterior.as_spn(draws=4)
    assert len(network.nodes[-1].children) == 4
    whole = posterior.as_spn()
    assert len(whole.nodes[-1].children) == 8


def test_models_in_place_of_networks_are_refused_in_words(people_model, tmp_path):
    with pytest.raises(TypeError, match=r"as_spn\(\) gives it, got BayesianSPN"):
        write_network(people_model, tmp_path / "network.json")
    assert not list(tmp_path.iterdir())
