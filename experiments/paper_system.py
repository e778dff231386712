"""The paper's own system: its graphs and priors, the graph with the highest evidence."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from library_fits import as_table, make_estimator
from problems import Problem
from running import time_limit

from bayesspn import RegionGraph

#: The paper's priors: α, β and Beta(½, ½).
PRIORS: dict[str, Any] = {"alpha": 1.0, "beta": 10.0, "gamma": 0.5}

#: The paper's graph for missing values.
MISSING_GRAPH = RegionGraph(1, 2, sums=5, leaves=5)

#: Cells that the evidence is computed on, at most: those of a sample of the train rows. Few rows
#: speak for small graphs; this is all of them on most data sets.
EVIDENCE_CELLS = 4_000_000

#: How the evidence is estimated: what `BayesianSPN.log_evidence` is told.
EVIDENCE: dict[str, Any] = {"runs": 2, "sweeps": 40}


def paper_grid() -> list[RegionGraph]:
    """The paper's graphs: K, I ∈ {5, 10} with I ≥ K, 1 or 2 levels, J ∈ {2, 4, 8}.

    With one level there is no inner sum, so that K makes no difference.
    """
    graphs = [RegionGraph(1, J, sums=5, leaves=I) for J in (2, 4, 8) for I in (5, 10)]
    return graphs + [
        RegionGraph(2, J, sums=K, leaves=I)
        for J in (2, 4, 8)
        for K, I in ((5, 5), (5, 10), (10, 10))
    ]


@dataclass(frozen=True)
class EvidenceChoice:
    """The graph with the highest evidence among those that there was time for.

    Attributes
    ----------
    graph : RegionGraph
    evidence : dict of str to (float, float)
        Log evidence and its standard error by the number of the graph in the grid. Empty if there
        was no time for any: then the graph is the smallest.
    rows : int
        Number of rows it was computed on.
    seconds : float
    """

    graph: RegionGraph
    evidence: dict[str, tuple[float, float]]
    rows: int
    seconds: float


def choose_by_evidence(
    seconds: float, grid: list[RegionGraph], problem: Problem, seed: int
) -> EvidenceChoice:
    """Choose by the evidence on a sample of the train rows, as far as the seconds go.

    Small graphs, which take the least time, come first.
    """
    begin = time.perf_counter()
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(problem.train))[: EVIDENCE_CELLS // problem.train.shape[1]]
    table = as_table(problem.train[rows], problem.schema)
    order = sorted(range(len(grid)), key=lambda number: grid[number].n_weights)
    found: dict[int, tuple[float, float]] = {}
    with contextlib.suppress(TimeoutError), time_limit(seconds):
        for number in order:
            estimator = make_estimator(problem, seconds, seed, graph=grid[number], **PRIORS)
            found[number] = estimator.log_evidence(table, **EVIDENCE)
    best = max(found, key=lambda number: found[number][0], default=order[0])
    evidence = {str(number): found[number] for number in sorted(found)}
    return EvidenceChoice(grid[best], evidence, len(rows), time.perf_counter() - begin)
