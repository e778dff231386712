"""Graphs and priors to choose from, and how the choice is made without test rows.

Of the paper's grid, with its priors, the graph with the highest evidence is taken; of the wider
class, whose priors are learned, the one that scores valid rows best after a short chain on train
rows.
"""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from timed_fits import Settings

from bayesspn import BayesianSPN, RegionGraph
from bayesspn.arrays import Array
from bayesspn.selection.defaults import choose_graph, default_graphs
from bayesspn.tables import Schema

#: Cells that the evidence is computed on, at most: those of a sample of the training rows. Few rows
#: speak for small graphs; this is all of them on most data sets.
EVIDENCE_CELLS = 4_000_000

#: How the evidence is estimated: what `BayesianSPN.log_evidence` is told.
EVIDENCE: dict[str, Any] = {"runs": 2, "sweeps": 40}


def paper_grid() -> list[Settings]:
    """The paper's graphs: K, I ∈ {5, 10} with I ≥ K, 1 or 2 levels, J ∈ {2, 4, 8}; α=1, β=10.

    With one level there is no inner sum, so that K makes no difference.
    """
    graphs = [RegionGraph(1, J, sums=5, leaves=I) for J in (2, 4, 8) for I in (5, 10)]
    graphs += [
        RegionGraph(2, J, sums=K, leaves=I)
        for J in (2, 4, 8)
        for K, I in ((5, 5), (5, 10), (10, 10))
    ]
    return [Settings(graph, alpha=1.0, beta=10.0, gamma=0.5) for graph in graphs]


def missing_graph() -> Settings:
    """The paper's graph for missing values."""
    return Settings(RegionGraph(1, 2, sums=5, leaves=5), alpha=1.0, beta=10.0, gamma=0.5)


def wide_candidates(rows: int, columns: int) -> list[Settings]:
    """The graphs that every fit of the library compares, with learned priors.

    Examples
    --------
    >>> [settings.name for settings in wide_candidates(2_000, 8)][:2]
    ['4-1-1 × 16 shared', '1-1-1 × 32 shared']
    """
    return [Settings(graph) for graph in default_graphs(rows, columns)]


def wide_graph(rows: int, columns: int) -> Settings:
    """The library's graph where there is no comparison.

    Examples
    --------
    >>> wide_graph(2_000, 180).name
    '4-1-1-1-1-1 × 16 shared'
    """
    return Settings(choose_graph(rows, columns))


def infinite_graph(rows: int, columns: int) -> Settings:
    """The library's graph of a component of an infinite mixture."""
    return Settings(choose_graph(rows, columns, infinite=True), infinite=True)


@dataclass(frozen=True)
class EvidenceChoice:
    """The graph with the highest evidence among those that there was time for.

    Attributes
    ----------
    settings : Settings
    evidence : dict of str to (float, float)
        Log evidence and its standard error by the number of the graph in the grid. Empty if there
        was no time for any: then the graph is the smallest.
    rows : int
        Number of rows it was computed on.
    seconds : float
    """

    settings: Settings
    evidence: dict[str, tuple[float, float]]
    rows: int
    seconds: float


def choose_by_evidence(
    seconds: float, grid: list[Settings], schema: Schema, training: Array, seed: int
) -> EvidenceChoice:
    """Choose by the evidence on a sample of the training rows, as far as the seconds go.

    Small graphs, which take the least time, come first.
    """
    begin = time.perf_counter()
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(training))[: EVIDENCE_CELLS // training.shape[1]]
    order = sorted(range(len(grid)), key=lambda number: grid[number].graph.n_weights)
    found: dict[int, tuple[float, float]] = {}
    with contextlib.suppress(TimeoutError), time_limit(seconds):
        for number in order:
            estimator = _estimator(grid[number], schema, seed)
            found[number] = estimator.log_evidence(training[rows], **EVIDENCE)
    best = max(found, key=lambda number: found[number][0], default=order[0])
    evidence = {str(number): found[number] for number in sorted(found)}
    return EvidenceChoice(grid[best], evidence, len(rows), time.perf_counter() - begin)


def _estimator(settings: Settings, schema: Schema, seed: int) -> BayesianSPN:
    priors: dict[str, Any] = {
        name: getattr(settings, name) or "auto" for name in ("alpha", "beta", "gamma")
    }
    return BayesianSPN(graph=settings.graph, schema=schema, random_state=seed, **priors)


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise TimeoutError in this block after so many seconds; in the main thread only."""

    def give_up(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, give_up)
    # again after a second, in case that the first one came where errors are ignored
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        yield
    except SystemError as error:
        # what becomes of it in the midst of calls to compiled code
        cause = error.__cause__
        while isinstance(cause, SystemError):
            cause = cause.__cause__
        if isinstance(cause, TimeoutError):
            raise TimeoutError from error
        raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
