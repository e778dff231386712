"""Graphs to choose from: those of a grid, or a default set for the shape of a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bayesspn.graphs import RegionGraph
from bayesspn.selection.building import Priors
from bayesspn.selection.defaults import choose_graph, default_graphs

#: What a grid may have: the numbers that describe a graph, and priors.
GRAPH = ("depth", "partitions", "children", "sums", "leaves", "products")
PRIORS = ("alpha", "beta", "gamma")


@dataclass(frozen=True)
class Candidate:
    """A region graph with its priors.

    Examples
    --------
    >>> Candidate(RegionGraph(2, (8, 1), sums=6, leaves=6, products="shared")).name
    'depth 2, partitions 8·1, nodes 6'
    >>> Candidate(RegionGraph(0, leaves=3), Priors(alpha=1.5)).name
    'mixture of 3, alpha 1.5'
    """

    graph: RegionGraph
    priors: Priors = field(default_factory=Priors)

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters of an estimator with this graph and these priors."""
        return {"graph": self.graph} | {name: getattr(self.priors, name) for name in PRIORS}

    @property
    def nodes(self) -> int:
        """Sum nodes and leaves."""
        return sum(
            regions * nodes
            for regions, nodes in zip(self.graph.regions, self.graph.nodes, strict=True)
        )

    @property
    def name(self) -> str:
        """A short name, the same for graphs that differ only in what does not matter to them."""
        graph = self.graph
        parts = []
        if graph.depth == 0:
            parts.append(
                "independent columns" if graph.leaves == 1 else f"mixture of {graph.leaves}"
            )
        else:
            parts.append(f"depth {graph.depth}")
            parts.append("partitions " + "·".join(map(str, graph.branching)))
            if graph.levels > 1 and graph.sums != graph.leaves:
                parts.append(f"sums {graph.sums}, leaves {graph.leaves}")
            else:
                parts.append(f"nodes {graph.leaves}")
            if graph.children != 2:
                parts.append(f"children {graph.children}")
            if graph.n_products != graph.nodes[1:]:
                parts.append("cross")
        for prior in PRIORS:
            value = getattr(self.priors, prior)
            if value != "auto":
                parts.append(f"{prior} {float(value)!r}")
        return ", ".join(parts)


def list_candidates(
    shape: tuple[int, ...], priors: Priors, grid: Any = None
) -> tuple[Candidate, ...]:
    """Graphs to choose from, each once.

    Parameters
    ----------
    shape : tuple of int
        Rows and columns of the table.
    priors : Priors
        Of graphs for which the grid has none.
    grid : sequence of RegionGraph, dict of str to list, list of such dicts, or None
        None is a default set. What a dict does not say of a graph follows from the shape.
    """
    if grid is None:
        return default_candidates(shape, priors)
    if isinstance(grid, Sequence) and grid and all(isinstance(g, RegionGraph) for g in grid):
        return _each_once(Candidate(graph, priors) for graph in grid)
    from sklearn.model_selection import ParameterGrid  # slow to import, and rarely needed

    _check_names(grid)
    found = []
    for changes in ParameterGrid(grid):
        described = {name: changes[name] for name in GRAPH if name in changes}
        strengths = {name: changes[name] for name in PRIORS if name in changes}
        try:
            graph = choose_graph(*shape, **described)
            found.append(Candidate(graph, _replaced(priors, strengths)))
        except (TypeError, ValueError) as error:
            shown = ", ".join(f"{name}={value!r}" for name, value in changes.items())
            raise ValueError(f"the grid has a graph with {shown}: {error}") from None
    return _each_once(found)


def default_candidates(shape: tuple[int, ...], priors: Priors) -> tuple[Candidate, ...]:
    """The graphs that every fit compares, and plain mixtures."""
    usual, *others = default_graphs(*shape)
    states = usual.leaves
    mixtures = [RegionGraph(0, leaves=leaves) for leaves in (1, states, 3 * states)]
    return _each_once(Candidate(graph, priors) for graph in (usual, *mixtures, *others))


def _replaced(priors: Priors, strengths: Mapping[str, Any]) -> Priors:
    for name, value in strengths.items():
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if value != "auto" and not (number and 0 < value < float("inf")):
            raise ValueError(f"{name} must be 'auto' or a positive number, got {value!r}")
    plain = {name: v if isinstance(v, str) else float(v) for name, v in strengths.items()}
    return replace(priors, **plain)


def _check_names(grid: Any) -> None:
    parts = [grid] if isinstance(grid, Mapping) else grid
    if not isinstance(parts, Sequence) or not all(isinstance(part, Mapping) for part in parts):
        raise TypeError(
            "grid must be a dict of parameter names and lists of values, such as "
            f"{{'depth': [0, 1, 2]}}, a list of such dicts or of RegionGraphs, or None; got "
            f"{grid!r}"
        )
    if not parts:
        raise ValueError("grid is an empty list; give at least one graph, or None")
    for name, values in ((name, values) for part in parts for name, values in part.items()):
        if isinstance(values, str) or not isinstance(values, Sequence | np.ndarray):
            raise ValueError(
                f"grid: {name!r} needs a list of values, such as [0, 1], got {values!r}"
            )
    unknown = sorted({str(name) for part in parts for name in part} - {*GRAPH, *PRIORS})
    if unknown:
        raise ValueError(
            f"grid has {', '.join(map(repr, unknown))}, but only the graph and its priors can be "
            f"chosen by evidence: {', '.join((*GRAPH, *PRIORS))}; set others on the estimator"
        )


def _each_once(candidates: Iterable[Candidate]) -> tuple[Candidate, ...]:
    found: dict[str, Candidate] = {}
    for candidate in candidates:
        found.setdefault(candidate.name, candidate)
    return tuple(found.values())
