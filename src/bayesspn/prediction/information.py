"""How much columns tell about each other: mutual information under every draw.

Columns are divided into the cells of their grids, whose joint probabilities are exact; between
continuous columns this approaches the mutual information from below as cells get finer.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from bayesspn.arrays import Array
from bayesspn.prediction.conditionals import ConditionalCircuits, split_given
from bayesspn.prediction.passes import evaluate

Cells = tuple[Array, Array]


def joint_masses(
    conditional: ConditionalCircuits, first: int, cells: Cells, others: Mapping[int, Cells]
) -> dict[int, Array]:
    """Joint probabilities of the cells of one column and those of others, under every draw.

    Parameters
    ----------
    conditional : ConditionalCircuits
        The networks and what is known.
    first : int
    cells : pair of ndarray of shape (cells of the first column,)
        Ends of its cells.
    others : dict of int to pair of ndarray
        The same for other columns.

    Returns
    -------
    dict of int to ndarray of shape (draws, cells of the first column, cells of the other)
        Up to a factor for every draw.
    """
    circuits = conditional.circuits
    exact, factors = split_given(circuits, conditional.given)
    X = np.repeat(exact, len(cells[0]), axis=0)
    X[:, first] = np.nan
    own = conditional.leaf_masses(first, *cells)
    masses = {column: conditional.leaf_masses(column, *ends) for column, ends in others.items()}
    joint: dict[int, list[Array]] = {column: [] for column in others}
    with np.errstate(divide="ignore"):
        factors[first] = np.log(own) + factors.get(first, 0.0)
    for draw in range(circuits.n_draws):
        circuit = circuits.draw(draw)
        part = {column: factor[:, draw : draw + 1] for column, factor in factors.items()}
        evaluation = evaluate(circuit, X, part)
        visits = evaluation.visits()[0]
        mass = np.exp(evaluation.log_probability[0] - evaluation.log_probability[0].max())
        for column, table in masses.items():
            weights = visits[circuit.leaf_regions[0, column]]
            given = np.einsum("pci,kpi->ck", weights, table[:, draw], optimize=True)
            joint[column].append(mass[:, None] * given)
    return {column: np.stack(parts) for column, parts in joint.items()}


def mutual_information(joint: Array) -> Array:
    """Mutual information of joint probabilities (draws, cells, cells), in nats; (draws,)."""
    joint = joint / joint.sum(axis=(1, 2), keepdims=True)
    # logarithms, since products of small probabilities would vanish
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = np.log(joint.sum(axis=2, keepdims=True)) + np.log(joint.sum(axis=1, keepdims=True))
        terms = np.where(joint > 0, joint * (np.log(joint) - apart), 0.0)
    return np.maximum(terms.sum(axis=(1, 2)), 0.0)


def pairwise_information(conditional: ConditionalCircuits, cells: Mapping[int, Cells]) -> Array:
    """Mutual information of all pairs of columns under every draw; (draws, columns, columns).

    The diagonal is left at zero.

    Parameters
    ----------
    conditional : ConditionalCircuits
    cells : dict of int to pair of ndarray
        The columns, and the ends of the cells that they are divided into.
    """
    columns = list(cells)
    information = np.zeros((conditional.circuits.n_draws, len(columns), len(columns)))
    for i, first in enumerate(columns):
        others = {column: cells[column] for column in columns[i + 1 :]}
        joint = joint_masses(conditional, first, cells[first], others)
        for j, column in enumerate(columns[i + 1 :], start=i + 1):
            information[:, i, j] = information[:, j, i] = mutual_information(joint[column])
    return information
