"""From a table, a graph and priors to the generative model.

Estimators and the comparison of graphs build their models here, so that both mean the same. The
columns of a table are described once for every strength of their priors, and its rows encoded once,
whatever the number of graphs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bayesspn.arrays import Array
from bayesspn.graphs import RegionGraph
from bayesspn.leaves.columns import Leaves
from bayesspn.model.generative import Concentration, Learned, Model
from bayesspn.rows.encoded import EncodedRows, check_support, encode_rows
from bayesspn.tables.columns import describe_columns
from bayesspn.tables.schema import Schema

#: Prior of the Dirichlet process's concentration when it is learned: few to some dozens of
#: components.
_CONCENTRATION = Learned(1.0, 1.0)

Strength = float | str


@dataclass(frozen=True)
class Priors:
    """Strengths of the priors, each a number or "auto" to be learned.

    Attributes
    ----------
    alpha, beta, gamma : float or "auto"
        Concentrations of sum weights and of the split of columns, strength of the leaf priors.
    concentration : float, "auto" or None
        Of the Dirichlet process; None is a finite model.
    """

    alpha: Strength = "auto"
    beta: Strength = "auto"
    gamma: Strength = "auto"
    concentration: Strength | None = None

    @classmethod
    def of(cls, estimator: Any) -> Priors:
        """The priors that an estimator's parameters name."""
        given = {name: _plain(getattr(estimator, name)) for name in ("alpha", "beta", "gamma")}
        if estimator._infinite:
            given["concentration"] = _plain(estimator.concentration)
        return cls(**given)

    @property
    def fixed_gamma(self) -> float | None:
        """Strength of the leaf priors, None if it is learned."""
        return None if isinstance(self.gamma, str) else self.gamma

    def model(self, graph: RegionGraph, leaves: Leaves) -> Model:
        """The model of a graph and described columns."""
        fixed: dict[str, Concentration] = {
            name: value
            for name in ("alpha", "beta")
            if not isinstance(value := getattr(self, name), str)
        }
        if self.concentration is not None:
            learned = isinstance(self.concentration, str)
            fixed["concentration"] = _CONCENTRATION if learned else float(self.concentration)
        return Model(graph, leaves, learn_leaf_priors=self.fixed_gamma is None, **fixed)


def _plain(strength: Any) -> Strength:
    return strength if isinstance(strength, str) else float(strength)


def build_model(graph: RegionGraph, priors: Priors, schema: Schema, values: Array) -> Model:
    """The model of a graph for an encoded table (rows, columns)."""
    return priors.model(graph, describe_columns(schema, values, priors.fixed_gamma))


class TableModels:
    """Models of one encoded table, whose columns and rows they share.

    Parameters
    ----------
    schema : Schema
    values : ndarray of shape (rows, columns)
        NaN where missing.
    recorded : ndarray of shape (recorded rows, columns), default=None
        The rows before weights repeated them.
    """

    def __init__(self, schema: Schema, values: Array, recorded: Array | None = None) -> None:
        self.schema, self.values, self.recorded = schema, values, recorded
        self._rows: dict[float | None, EncodedRows] = {}

    def rows(self, priors: Priors) -> EncodedRows:
        """The rows, encoded for columns with these priors."""
        gamma = priors.fixed_gamma
        if gamma not in self._rows:
            leaves = describe_columns(self.schema, self.values, gamma, self.recorded)
            rows = encode_rows(leaves, self.values)
            check_support(rows)
            self._rows[gamma] = rows
        return self._rows[gamma]

    def model(self, graph: RegionGraph, priors: Priors) -> tuple[Model, EncodedRows]:
        """The model of a graph and priors, and the rows it is of."""
        rows = self.rows(priors)
        return priors.model(graph, rows.codebook.leaves), rows
