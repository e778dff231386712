"""Graphs in the order of their evidence, and the table that shows it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import pandas as pd

from bayesspn.arrays import Array
from bayesspn.numerics.checks import levels_to_user
from bayesspn.selection.candidates import GRAPH, PRIORS, Candidate
from bayesspn.selection.evidence import Measurement

#: Draws by which the errors of evidences become part of the graphs' probabilities.
_WEIGHT_DRAWS = 4_000


@dataclass(frozen=True)
class ScoredGraph:
    """What is known of a graph in the end.

    Attributes
    ----------
    candidate : Candidate
    measured : Measurement
        Of the last stage it reached.
    stage : int
        Which one that is; the first is 1.
    sweeps : int
        Of that stage.
    stopped : bool
        Whether it was given up because others were better.
    seconds : float
        That all its stages took.
    """

    candidate: Candidate
    measured: Measurement
    stage: int
    sweeps: int
    stopped: bool
    seconds: float


@dataclass(frozen=True)
class Ranking:
    """Scored graphs, best first: those that were not stopped, and then the others.

    Attributes
    ----------
    graphs : tuple of ScoredGraph
    random_state : int
        What the random numbers of the scores come from, and fits may be begun with.
    interrupted : bool
        Whether Ctrl-C ended the scoring before the last stage was complete.
    """

    graphs: tuple[ScoredGraph, ...]
    random_state: int
    interrupted: bool

    @property
    def finalists(self) -> tuple[ScoredGraph, ...]:
        """Graphs that were not stopped."""
        return tuple(graph for graph in self.graphs if not graph.stopped)

    def warn_if_interrupted(self) -> None:
        """Say that the choice rests on less than was asked for."""
        if self.interrupted:
            warnings.warn(
                f"interrupted: the graph is the best of what is known after stage "
                f"{min(graph.stage for graph in self.finalists)} of the scores; Ctrl-C once more "
                "ends sampling, too",
                UserWarning,
                stacklevel=levels_to_user(),
            )

    def tabulate(self, rows: int) -> pd.DataFrame:
        """A row per graph, named by the index, for a table of so many rows."""
        measured = [graph.measured for graph in self.graphs]
        value = np.array([one.value for one in measured])
        error = np.array([one.standard_error for one in measured])
        parameters = pd.DataFrame(
            [
                {name: getattr(graph.candidate.graph, name) for name in GRAPH}
                | {name: getattr(graph.candidate.priors, name) for name in PRIORS}
                for graph in self.graphs
            ]
        )
        for prior in PRIORS:
            if (parameters[prior] == "auto").all():
                del parameters[prior]
        table = parameters.assign(
            evidence=value,
            standard_error=error,
            evidence_per_row=value / rows,
            weight=weigh_graphs(value, error),
            sweeps=[graph.sweeps for graph in self.graphs],
            sweeps_per_second=[one.sweeps_per_second for one in measured],
            seconds=[graph.seconds for graph in self.graphs],
            nodes=[graph.candidate.nodes for graph in self.graphs],
            stage=[graph.stage for graph in self.graphs],
            stopped_early=[graph.stopped for graph in self.graphs],
        )
        table.index = pd.Index([graph.candidate.name for graph in self.graphs], name="graph")
        return table


def weigh_graphs(value: Array, error: Array) -> Array:
    """Posterior probabilities of graphs that were equally probable before; (graphs,).

    They are averaged over what the evidences may be, given their errors.

    Examples
    --------
    >>> weigh_graphs(np.array([-10.0, -10.0 - np.log(3)]), np.zeros(2)).round(3)
    array([0.75, 0.25])
    """
    rng = np.random.default_rng(0)
    logs = value + error * rng.normal(size=(_WEIGHT_DRAWS, len(value)))
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return (weights / weights.sum(axis=1, keepdims=True)).mean(axis=0)
