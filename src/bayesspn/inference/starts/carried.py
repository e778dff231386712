"""A start from where a chain of another table stands: what columns of both have, goes along."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesspn.arrays import Array
from bayesspn.inference.state import State
from bayesspn.leaves.columns import LeafGroup, Leaves
from bayesspn.model.generative import Hyper, Learned, Model, start_hyper
from bayesspn.scopes import Scope


def carry_state(
    rng: np.random.Generator,
    state: State,
    before: Leaves,
    model: Model,
    sources: Sequence[int | None],
) -> State:
    """Make the state of one model where a chain of another begins.

    Counts and statistics are those of the rows before. They say where the first row pass sends the
    rows of the table now, and are forgotten after it.

    Parameters
    ----------
    rng : numpy.random.Generator
        Says where new columns go at first; rows speak up in the first sweep.
    state : State
        Of a model of the same graph.
    before : Leaves
        Of the columns that the state is of.
    model : Model
        Of the columns now.
    sources : sequence of int or None
        For every column now, the position of the same column in ``before``, None if it is new.
        The same column may have other atoms than before (`bayesspn.leaves.columns`).
    """
    graph = state.scope.graph
    known = np.array([source is not None for source in sources])
    origin = np.array([-1 if source is None else source for source in sources])
    choices = []
    for level in state.scope.y:
        shape = (len(level), len(sources))
        choice = rng.integers(graph.children, size=shape).astype(np.int8)
        choice[:, known] = level[:, origin[known]]
        choices.append(choice)
    parts = [_carry_group(group, state, before, origin) for group in model.leaves.groups]
    hyper = _carry_hyper(state.hyper, before, model, origin)
    if model.learn_leaf_priors:
        hyper = hyper._replace(phi=tuple(phi for phi, _ in parts))
    statistics = tuple(slots for _, slots in parts)
    return State(Scope(graph, tuple(choices)), hyper, state.edge_counts, statistics)


def _carry_group(
    group: LeafGroup, state: State, before: Leaves, origin: NDArray[Any]
) -> tuple[Array, NDArray[Any]]:
    """Leaf priors (g, f) and statistics (g, paths, leaves, slots) of a leaf group."""
    shape = (len(group), *state.statistics[0].shape[1:3], group.n_slots)
    statistics = np.zeros(shape, dtype=np.int32 if group.family.one_hot else np.float64)
    phi = group.center.copy()
    for member, column in enumerate(group.columns):
        if origin[column] < 0:
            continue
        described = before.columns[origin[column]]
        if group.family.name not in described.families:
            continue  # what values are recorded as has changed, and brought atoms
        number = described.families.index(group.family.name)
        old, position = before.places[origin[column]][number]
        here, there = _shared_slots(group.constants[member], described.constants[number], group)
        phi[member][here] = state.hyper.phi[old][position][there]
        slots = state.statistics[old][position][..., there]
        statistics[member][..., here] = slots
    return phi, statistics


def _shared_slots(now: Array, before: Array, group: LeafGroup) -> tuple[Any, Any]:
    """Where a leaf's values of the same meaning are: all of them, or those of the same atoms."""
    if group.family.name != "atoms":
        return slice(None), slice(None)
    _, here, there = np.intersect1d(now[:-1], before[:-1], return_indices=True)
    return here, there


def _carry_hyper(hyper: Hyper, before: Leaves, model: Model, origin: NDArray[Any]) -> Hyper:
    """Concentrations, as far as they are learned; leaf priors at their centres."""
    start = start_hyper(model)
    carried = {
        name: getattr(hyper, name)
        for name in ("alpha", "beta", "concentration")
        if isinstance(getattr(model, name), Learned)
    }
    if isinstance(model.mixing, Learned):
        mixing = start.mixing.copy()
        places = {int(column): k for k, column in enumerate(before.mixed)}
        for k, column in enumerate(model.leaves.mixed):
            if origin[column] in places:
                mixing[k] = hyper.mixing[places[origin[column]]]
        carried["mixing"] = mixing
    return start._replace(**carried)
