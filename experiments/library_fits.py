"""What the library ships, fitted within a time limit and scored: all of ours that is run here.

Estimators get a data frame, a schema and seconds. What they make of the seconds is the library's
business; a line of results keeps what that was.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from problems import Problem
from running import Outcome, as_scores
from sklearn.exceptions import ConvergenceWarning

from bayesspn import BayesianSPN, Posterior, RegionGraph
from bayesspn.arrays import Array
from bayesspn.model.explicit import LeafNode
from bayesspn.model.simplification import simplify
from bayesspn.tables import Schema, decode


def make_estimator(
    problem: Problem,
    seconds: float,
    seed: int,
    kind: type[BayesianSPN] = BayesianSPN,
    **parameters: Any,
) -> BayesianSPN:
    """The plain call for a problem: a time limit, one core, and nothing else unless given."""
    return kind(
        schema=problem.schema, time_limit=seconds, n_jobs=1, random_state=seed, **parameters
    )


def as_table(rows: Array, schema: Schema) -> Any:
    """Encoded rows as the data frame that users would have."""
    return decode(rows, schema, "pandas")


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted estimator, and what the fit took.

    Attributes
    ----------
    model : BayesianSPN
    seconds : float
    warned : bool
        Whether the fit warned that answers have not settled.
    mishaps : tuple of str
        Other warnings, which should not be there.
    """

    model: BayesianSPN
    seconds: float
    warned: bool
    mishaps: tuple[str, ...]

    def score(self, rows: Array) -> Array:
        """Log-likelihood of encoded rows; shape (rows,)."""
        return self.model.score_samples(as_table(rows, self.model.schema_))

    def score_test(self, test: Array) -> Outcome:
        """Score test rows, and say what the fit did."""
        begin = time.perf_counter()
        scores = self.score(test)
        scoring = time.perf_counter() - begin
        posterior, plan = self.model.posterior_, self.model.plan_
        assert plan is not None
        details = {
            "plan": plan.to_json(),
            "warned": self.warned,
            "mishaps": list(self.mishaps),
            "chain_means": [float(mean) for mean in score_chains(posterior, test).mean(axis=1)],
            "seconds_per_1000_rows": round(1000 * scoring / len(test), 4),
            "edges": count_edges(posterior),
        }
        return Outcome({"fit": self.seconds, "score": scoring}, as_scores(scores), details=details)


def fit_rows(estimator: BayesianSPN, rows: Array) -> Fit:
    """Fit an estimator, whose schema is given, to encoded rows."""
    assert estimator.schema is not None
    table = as_table(rows, estimator.schema)
    begin = time.perf_counter()
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        estimator.fit(table)
    seconds = time.perf_counter() - begin
    unsettled = [one for one in raised if issubclass(one.category, ConvergenceWarning)]
    mishaps = (f"{one.category.__name__}: {one.message}" for one in raised if one not in unsettled)
    return Fit(estimator, seconds, bool(unsettled), tuple(dict.fromkeys(mishaps)))


def score_chains(posterior: Posterior, rows: Array) -> Array:
    """Log-likelihood of every encoded row under every chain alone; shape (chains, rows)."""
    model = posterior.model
    return np.stack([Posterior(model, (draws,)).score_samples(rows) for draws in posterior.draws])


def count_edges(posterior: Posterior) -> int:
    """Edges of the network of one draw, in which equal nodes are merged."""
    network = simplify(posterior.as_spn(draws=1))
    return sum(len(node.children) for node in network.nodes if not isinstance(node, LeafNode))


def name_graph(graph: RegionGraph) -> str:
    """A graph in a few characters.

    Examples
    --------
    >>> name_graph(RegionGraph(2, 4, sums=5, leaves=10))
    '4·4 × 5, 10 cross'
    """
    partitions = "·".join(str(count) for count in graph.branching)
    states = f"{graph.sums}" if graph.sums == graph.leaves else f"{graph.sums}, {graph.leaves}"
    return f"{partitions} × {states} {graph.products}"
