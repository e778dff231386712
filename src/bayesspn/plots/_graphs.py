"""The region graph of one draw, with the columns in its parts (as in the paper's first figure)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesspn.arrays import Array
from bayesspn.plots._inputs import check_model
from bayesspn.plots._style import BLACK, BLUE, GREY, ORANGE, explain, label, labels, make_axes

if TYPE_CHECKING:
    from bayesspn.estimators.joint import JointEstimator
    from bayesspn.inference.state import State

#: Leaf regions that a picture has room for.
_MOST_LEAVES = 64

_LISTED = 6


@dataclass(frozen=True, eq=False)
class _Node:
    """A region (level even) or a partition (level odd) to be drawn.

    Attributes
    ----------
    depth : int
        Distance from the root.
    rows : float
        Share of the training rows that go through it.
    columns : list of int
        Its scope.
    children : list of _Node
    """

    depth: int
    rows: float
    columns: list[int]
    children: list[_Node]

    @property
    def used(self) -> bool:
        """Whether rows go through it and it has something to say about them."""
        return self.rows > 0 and bool(self.columns)

    @property
    def leaves(self) -> int:
        """Leaf regions below, one for a leaf region itself."""
        return sum(child.leaves for child in self.children) or 1


def graph(model: JointEstimator, chain: int = 0, draw: int = -1, *, ax: Any = None) -> Any:
    """Region graph of one draw, with the columns that every region explains.

    Reading help: circles are regions (sums), crosses partitions (products); the thicker a line,
    the more rows go along. Dotted parts are not used: no row goes there, or no column.

    Parameters
    ----------
    model : fitted estimator
    chain, draw : int, default=0 and -1
        Which draw; by default the last one of the first chain.
    ax : matplotlib axes, default=None

    Returns
    -------
    matplotlib axes
    """
    check_model(model)
    chains = model.posterior_.draws
    for name, value, choices in (("chain", chain, chains), ("draw", draw, chains[0])):
        if not -len(choices) <= value < len(choices):
            raise ValueError(f"{name} is {value}, but there are {len(choices)}, counted from 0")
    root = _build(chains[chain][draw])
    root, left = _prune(root)
    height = 1.0 + 0.19 * root.leaves
    ax = make_axes(ax, 9.0, max(3.0, height))
    _Drawing(ax, labels(model.schema_.names, 16)).draw(root)
    levels = _deepest(root)
    ax.set_xlim(-0.3, levels + 1.6)
    ax.set_ylim(root.leaves - 0.3, -0.7)
    ax.axis("off")
    rest = f"; {left} partitions with the fewest rows left out" if left else ""
    explain(
        ax,
        "Region graph of one draw",
        "circles: regions, with how many columns; ×: partitions; thick: many rows; "
        f"dotted: unused{rest}",
    )
    return ax


def _build(state: State) -> _Node:
    """The tree of regions and partitions of a state."""
    graph, scopes = state.scope.graph, state.scope.region_scopes
    total = float(np.sum(state.edge_counts[0])) or 1.0

    def region(level: int, index: int, rows: float) -> _Node:
        columns = np.flatnonzero(scopes[level][index]).tolist()
        children = []
        if level < graph.levels:
            shape = graph.weight_shapes[level]
            counts: Array = np.asarray(state.edge_counts[level]).reshape(shape)[index]
            through = counts.sum(axis=(0, 2)) / total
            for place in range(graph.branching[level]):
                partition = index * graph.branching[level] + place
                share = float(through[place])
                below = [
                    region(level + 1, partition * graph.children + child, share)
                    for child in range(graph.children)
                ]
                children.append(_Node(2 * level + 1, share, columns, below))
        return _Node(2 * level, rows, columns, children)

    return region(0, 0, 1.0)


def _prune(root: _Node) -> tuple[_Node, int]:
    """Leave out the root's partitions with the fewest rows if there are too many to draw."""
    order = sorted(root.children, key=lambda node: -node.rows)
    kept: list[_Node] = []
    for node in order:
        if kept and sum(n.leaves for n in kept) + node.leaves > _MOST_LEAVES:
            break
        kept.append(node)
    return _Node(root.depth, root.rows, root.columns, kept), len(order) - len(kept)


def _deepest(node: _Node) -> int:
    return max([node.depth, *(_deepest(child) for child in node.children)])


@dataclass
class _Drawing:
    """Draws a tree from left to right; leaf regions take one line each."""

    ax: Any
    names: list[str]
    line: int = 0

    def draw(self, node: _Node) -> float:
        """Draw a node and all below; its height."""
        heights = [self.draw(child) for child in node.children]
        y = float(np.mean(heights)) if heights else float(self.line)
        for child, below in zip(node.children, heights, strict=True):
            used = node.used and child.used
            self.ax.plot(
                [node.depth, child.depth],
                [y, below],
                color=BLACK if used else GREY,
                lw=0.6 + 3.5 * child.rows if used else 0.8,
                ls="-" if used else ":",
                solid_capstyle="round",
                zorder=1,
            )
        if node.depth % 2:
            marker = {"marker": "X", "ms": 8, "color": ORANGE if node.used else GREY}
            self.ax.plot([node.depth], [y], mec="white", zorder=2, ls="", **marker)
        else:
            self._draw_region(node, y)
        if not node.children:
            self.line += 1
        return y

    def _draw_region(self, node: _Node, y: float) -> None:
        colour = BLUE if node.used else GREY
        self.ax.plot([node.depth], [y], "o", ms=11, mfc="white", mec=colour, mew=1.2, zorder=2)
        self.ax.text(
            node.depth, y, len(node.columns), ha="center", va="center", fontsize=7, color=colour
        )
        if node.children:
            return
        listed = ", ".join(self.names[column] for column in node.columns[:_LISTED])
        more = len(node.columns) - _LISTED
        text = (listed or "no column") + (f" and {more} more" if more > 0 else "")
        self.ax.text(
            node.depth + 0.14,
            y,
            label(text, 70),
            va="center",
            fontsize=7,
            color=BLACK if node.used else GREY,
            parse_math=False,
        )
