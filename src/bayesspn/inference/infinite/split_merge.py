"""The split–merge move: components swap what hangs below their root partitions.

Two blocks (see `infinite.components`) of different components change places, rows and all.
What is below a block does not notice, so the ratio of the probabilities before and after is a
matter of how many rows each component has: no row is looked at. A block that moves to a component
without rows founds a new one, and a component dies when its last rows leave.
"""

from __future__ import annotations

import math

import numpy as np

from bayesspn.inference.infinite.components import add_components, by_component, take_from_state
from bayesspn.inference.state import State
from bayesspn.model.generative import Model
from bayesspn.scopes import draw_prior_scope

#: Swaps proposed in a sweep, per root partition of a component. How many must not depend on the
#: number of components: a state with more trials than its neighbours is left more often.
_TRIALS = 32


def split_merge_blocks(rng: np.random.Generator, model: Model, state: State) -> State:
    """Propose swaps of blocks between components, with shares and weights integrated out.

    Every trial adds a component without rows, whose scope is drawn from the prior, picks two blocks
    of different components at random, and accepts the swap by Metropolis and Hastings' rule;
    components without rows are then dropped.

    Parameters
    ----------
    rng : numpy.random.Generator
    model : Model
        An infinite one.
    state : State
        Every component has rows.
    """
    branching = model.graph.branching[0]
    components = _Components(model, state)
    trials = _TRIALS * branching
    # only indices are moved here, the arrays once in the end
    for u in np.log(rng.random(trials)):
        used = len(components.blocks)
        first = int(rng.integers(used + 1))
        second = (first + 1 + int(rng.integers(used))) % (used + 1)
        blocks = rng.integers(branching, size=2)
        components.propose_swap((first, int(blocks[0])), (second, int(blocks[1])), float(u))
    if not components.changed:
        return state
    if components.founded:
        graph = model.joined_graph(components.founded)
        drawn = draw_prior_scope(rng, graph, model.n_columns, float(state.hyper.beta[0]))
        state = add_components(model, state, drawn.y)
    return take_from_state(model, state, np.array(components.blocks).ravel())


class _Components:
    """Which block is where, and how many rows each has.

    Attributes
    ----------
    blocks : list of list of int
        Blocks of every component that has rows; those of founded components follow the others.
    rows : list of list of int
        Rows of these blocks.
    founded : int
        Components founded so far, of which some may be gone again.
    changed : bool
    """

    def __init__(self, model: Model, state: State) -> None:
        counts = by_component(model, state.edge_counts[0]).sum(axis=(1, 3))
        self.rows: list[list[int]] = counts.tolist()
        self.blocks: list[list[int]] = np.arange(counts.size).reshape(counts.shape).tolist()
        self.founded = 0
        self.changed = False
        self._branching = counts.shape[1]
        self._total = counts.size
        self._edges = float(state.hyper.alpha[0]) * self._branching * model.graph.n_products[0]
        self._log_founded = math.log(state.hyper.concentration[0])

    def propose_swap(self, first: tuple[int, int], second: tuple[int, int], log_u: float) -> None:
        """Exchange two blocks (component, block) if the ratio of probabilities exceeds u."""
        used = len(self.blocks)
        empty = [0] * self._branching
        here, there = (self.rows[c] if c < used else empty for c, _ in (first, second))
        moved = there[second[1]] - here[first[1]]
        before = sum(here), sum(there)
        after = before[0] + moved, before[1] - moved
        if moved == 0 or sorted(before) == sorted(after):
            return  # nothing would change but names
        then = used + sum(size > 0 for size in after) - sum(size > 0 for size in before)
        # pairs of components to pick from, here and on the way back
        log_ratio = math.log(used * (used + 1) / (then * (then + 1)))
        log_ratio += sum(map(self._log_probability, after))
        log_ratio -= sum(map(self._log_probability, before))
        if log_u < log_ratio:
            self._swap(first, second)

    def _log_probability(self, size: int) -> float:
        """Of a component of some size: the process's prior, and what root weights add to it."""
        if size == 0:
            return 0.0
        rising = math.lgamma(self._edges + size) - math.lgamma(self._edges)
        return self._log_founded + math.lgamma(size) - rising

    def _swap(self, first: tuple[int, int], second: tuple[int, int]) -> None:
        if max(first[0], second[0]) == len(self.blocks):
            start = self._total + self.founded * self._branching
            self.blocks.append(list(range(start, start + self._branching)))
            self.rows.append([0] * self._branching)
            self.founded += 1
        for places in (self.blocks, self.rows):
            a, b = places[first[0]][first[1]], places[second[0]][second[1]]
            places[first[0]][first[1]], places[second[0]][second[1]] = b, a
        kept = [c for c, rows in enumerate(self.rows) if any(rows)]
        self.blocks = [self.blocks[c] for c in kept]
        self.rows = [self.rows[c] for c in kept]
        self.changed = True
