"""Graphs to choose from: those of a grid, or a default set for the shape of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from bayesspn.estimators.defaults import choose_graph
from bayesspn.graphs import RegionGraph

if TYPE_CHECKING:
    from bayesspn.estimators.joint import JointModel

#: Parameters of an estimator that a grid may have.
GRAPH = ("depth", "partitions", "children", "sums", "leaves", "products")
PRIORS = ("alpha", "beta", "gamma")

#: Root partitions of the default set, beside those of "auto".
_FEW_PARTITIONS, _MANY_PARTITIONS = 2, 16


@dataclass(frozen=True)
class Candidate:
    """A region graph with its priors.

    Examples
    --------
    >>> Candidate(RegionGraph(2, (8, 1), sums=6, leaves=6, products="shared")).name
    'depth 2, partitions 8·1, nodes 6'
    >>> Candidate(RegionGraph(0, leaves=3), alpha=1.5).name
    'mixture of 3, alpha 1.5'
    """

    graph: RegionGraph
    alpha: float | str = "auto"
    beta: float | str = "auto"
    gamma: float | str = "auto"

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters of an estimator with this graph and these priors."""
        return {name: getattr(self.graph, name) for name in GRAPH} | {
            name: getattr(self, name) for name in PRIORS
        }

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
            value = getattr(self, prior)
            if value != "auto":
                parts.append(f"{prior} {float(value)!r}")
        return ", ".join(parts)


def list_candidates(
    estimator: JointModel, shape: tuple[int, ...], grid: Any = None
) -> tuple[Candidate, ...]:
    """Graphs to choose from, each once.

    Parameters
    ----------
    estimator : JointModel
        What the grid does not say is as in its parameters.
    shape : tuple of int
        Rows and columns of the table.
    grid : dict of str to list, list of such dicts, or None
        None is a default set, in which parameters of the estimator other than "auto" stay.
    """
    if grid is None:
        return _default_set(estimator, shape)
    _check_names(grid)
    found = []
    for changes in ParameterGrid(grid):
        try:
            found.append(_build(estimator, shape, changes))
        except (TypeError, ValueError) as error:
            shown = ", ".join(f"{name}={value!r}" for name, value in changes.items())
            raise ValueError(f"the grid has a graph with {shown}: {error}") from None
    return _each_once(found)


def _check_names(grid: Any) -> None:
    parts = [grid] if isinstance(grid, Mapping) else grid
    if not isinstance(parts, Sequence) or not all(isinstance(part, Mapping) for part in parts):
        raise TypeError(
            "grid must be a dict of parameter names and lists of values, such as "
            f"{{'depth': [0, 1, 2]}}, a list of such dicts, or None; got {grid!r}"
        )
    if not parts:
        raise ValueError("grid is an empty list; give at least one graph, or None")
    unknown = sorted({str(name) for part in parts for name in part} - {*GRAPH, *PRIORS})
    if unknown:
        raise ValueError(
            f"grid has {', '.join(map(repr, unknown))}, but only the graph and its priors can be "
            f"chosen by evidence: {', '.join((*GRAPH, *PRIORS))}; set others on the estimator"
        )


def _default_set(estimator: JointModel, shape: tuple[int, ...]) -> tuple[Candidate, ...]:
    """Mixtures, depth 1, the graph of "auto", and that with more or fewer nodes and partitions."""
    auto = _build(estimator, shape, {})
    states = choose_graph(*shape).leaves
    changes: list[dict[str, Any]] = [
        {"depth": 0, "leaves": 1},
        {"depth": 0, "leaves": states},
        {"depth": 0, "leaves": 3 * states},
        {"sums": max(2, states // 2)},
        {"sums": 2 * states},
    ]
    if auto.graph.depth:
        below = (1,) * (auto.graph.depth - 1)
        changes.append({"depth": 1})
        changes += [{"partitions": (n, *below)} for n in (_FEW_PARTITIONS, _MANY_PARTITIONS)]
    found = [auto]
    for change in changes:
        free = {name: value for name, value in change.items() if getattr(estimator, name) == "auto"}
        try:
            found.append(_build(estimator, shape, free))
        except ValueError:
            continue  # partitions that were given per level go with one depth only
    return _each_once(found)


def _build(estimator: JointModel, shape: tuple[int, ...], changes: Mapping[str, Any]) -> Candidate:
    changed = clone(estimator).set_params(graph="auto", **changes)
    changed._check_parameters()
    graph = changed._choose_graph(shape)
    return Candidate(graph, *(_plain(getattr(changed, name)) for name in PRIORS))


def _plain(strength: Any) -> float | str:
    return strength if isinstance(strength, str) else float(strength)


def _each_once(candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    found: dict[str, Candidate] = {}
    for candidate in candidates:
        found.setdefault(candidate.name, candidate)
    return tuple(found.values())
