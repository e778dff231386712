"""Networks for other programs: a JSON document of nodes and edges.

The document is an object with

- ``format`` and ``version``: ``"bayesspn-network"`` and 1;
- ``columns``: for every column its ``name``, its ``kind`` (``"code"``, ``"count"`` or ``"real"``),
  and, if a schema was given, its ``categories``, if any, in the order of their codes 0, 1 …;
- ``nodes``: children before their parents, the root last. Every node has a ``type``:
  ``"sum"`` with ``children`` (positions in ``nodes``) and ``weights``, which add up to 1;
  ``"product"`` with ``children`` (none: the constant 1);
  ``"leaf"`` with ``column`` (a position in ``columns``) and ``mixture``, a list of distributions,
  each with its ``weight``, its ``family`` and the family's parameters.

The families, with SciPy's names for them in brackets:

- ``categorical``: ``probabilities`` of the codes 0, 1 …;
- ``atoms``: ``probabilities`` of ``values``, each spread evenly over an interval of ``width``
  around its value;
- ``negative_binomial`` (``nbinom``): ``n``, ``p``;
- ``beta_geometric`` (``betanbinom`` with n = 1): ``a``, ``b``;
- ``student_t`` (``t``): ``df``, ``loc``, ``scale``, ``limit``;
- ``log_student_t``: log x is such a ``t``;
- ``lomax`` (``lomax``): ``c``, ``scale``, ``limit``.

``limit`` is null, or a number L by which the density of the named distribution is to be multiplied:
leaves have a least width. With P the regularised lower incomplete gamma function (``gammainc``) and
z = (x − loc) / scale, it is P((df + 1) / 2, L (1 + z² / df)) / P(df / 2, L), and for ``lomax``
P(c + 1, L (1 + x / scale)) / P(c, L).

A missing cell is summed out by giving its leaves the value 1.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesspn.arrays import Array
from bayesspn.files.atomic import replaced_file
from bayesspn.leaves.binomial import Binomial
from bayesspn.model.explicit import SPN, LeafNode, Node, SumNode
from bayesspn.model.simplification import simplify

if TYPE_CHECKING:
    from bayesspn.leaves.columns import Column
    from bayesspn.tables.schema import Schema

FORMAT, VERSION = "bayesspn-network", 1

_BINOMIAL = Binomial()


def write_network(
    network: SPN,
    path: str | os.PathLike[str],
    *,
    schema: Schema | None = None,
    least_weight: float = 0.0,
) -> None:
    """Write a network as a JSON document that other programs can read.

    What is equal is written once. The guide to files has the format.

    Parameters
    ----------
    network : SPN
        As `Posterior.as_spn` gives it.
    path : str or path
        The file is written whole or not at all.
    schema : Schema, default=None
        What the columns are, for the names of categories.
    least_weight : float, default=0.0
        Edges of sums that weigh less are left out. 0 keeps the distribution as it is.

    Examples
    --------
    >>> import json, tempfile
    >>> from pathlib import Path
    >>> from bayesspn.examples import fitted_patients
    >>> model = fitted_patients()
    >>> network = model.posterior_.as_spn(draws=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "network.json"
    ...     write_network(network, path, schema=model.schema_)
    ...     document = json.loads(path.read_text())
    >>> document["columns"][1]
    {'name': 'sex', 'kind': 'code', 'categories': ['F', 'M']}
    >>> sorted({node["type"] for node in document["nodes"]})
    ['leaf', 'product', 'sum']
    """
    if not isinstance(network, SPN):
        raise TypeError(
            "write_network takes a network, as model.posterior_.as_spn() gives it, got "
            f"{type(network).__name__}"
        )
    text = json.dumps(describe_network(simplify(network, least_weight), schema), allow_nan=False)
    with replaced_file(path) as file:
        file.write(text.encode("utf-8"))


def describe_network(network: SPN, schema: Schema | None = None) -> dict[str, Any]:
    """The document that `write_network` writes."""
    columns = network.leaves.columns
    return {
        "format": FORMAT,
        "version": VERSION,
        "columns": [_describe_column(c, d, schema) for d, c in enumerate(columns)],
        "nodes": [_describe_node(node, columns) for node in network.nodes],
    }


def _describe_column(column: Column, position: int, schema: Schema | None) -> dict[str, Any]:
    kind = "code" if column.n_categories else "count" if column.discrete else "real"
    described: dict[str, Any] = {"name": str(column.name), "kind": kind}
    if schema is not None and schema.columns[position].coded:
        names = schema.columns[position].categories or (False, True)
        described["categories"] = [n if isinstance(n, bool | int | str) else str(n) for n in names]
    return described


def _describe_node(node: Node, columns: tuple[Column, ...]) -> dict[str, Any]:
    if isinstance(node, LeafNode):
        column = columns[node.column]
        parts = zip(
            np.exp(node.log_mixing), column.families, node.hyper, column.constants, strict=False
        )
        mixture = [
            {"weight": float(weight), **_DISTRIBUTIONS[family](hyper, constants)}
            for weight, family, hyper, constants in parts
        ]
        return {"type": "leaf", "column": node.column, "mixture": mixture}
    if isinstance(node, SumNode):
        weights = np.exp(node.log_weights).tolist()
        return {"type": "sum", "children": list(node.children), "weights": weights}
    return {"type": "product", "children": list(node.children)}


def _categorical(hyper: Array, constants: Array) -> dict[str, Any]:
    return {"family": "categorical", "probabilities": (hyper / hyper.sum()).tolist()}


def _binomial(hyper: Array, constants: Array) -> dict[str, Any]:
    shares = np.exp(_BINOMIAL.log_shares(hyper, constants))
    return {"family": "categorical", "probabilities": shares.tolist()}


def _atoms(hyper: Array, constants: Array) -> dict[str, Any]:
    return {
        "family": "atoms",
        "values": constants[:-1].tolist(),
        "width": float(constants[-1]),
        "probabilities": (hyper / hyper.sum()).tolist(),
    }


def _negative_binomial(hyper: Array, constants: Array) -> dict[str, Any]:
    a, b = map(float, hyper)
    return {"family": "negative_binomial", "n": a, "p": b / (b + 1.0)}


def _beta_geometric(hyper: Array, constants: Array) -> dict[str, Any]:
    a, b = map(float, hyper)
    return {"family": "beta_geometric", "a": a, "b": b}


def _student(hyper: Array, constants: Array) -> dict[str, Any]:
    m, kappa, a, b, limit = map(float, hyper)
    location, unit, _ = map(float, constants)
    return {
        "family": "student_t",
        "df": 2.0 * a,
        "loc": location + unit * m,
        "scale": unit * float(np.sqrt(b * (kappa + 1.0) / (a * kappa))),
        "limit": _limit(b * limit, a),
    }


def _log_student(hyper: Array, constants: Array) -> dict[str, Any]:
    return _student(hyper, constants) | {"family": "log_student_t"}


def _lomax(hyper: Array, constants: Array) -> dict[str, Any]:
    a, b, limit = map(float, hyper)
    return {
        "family": "lomax",
        "c": a,
        "scale": b * float(constants[0]),
        "limit": _limit(b * limit, a),
    }


def _limit(limit: float, a: float) -> float | None:
    """None where the incomplete gamma functions are 1 to all digits."""
    return limit if limit < a + 1.0 + 12.0 * np.sqrt(a + 1.0) + 60.0 else None


_DISTRIBUTIONS = {
    "bernoulli": _categorical,
    "categorical": _categorical,
    "atoms": _atoms,
    "binomial": _binomial,
    "gaussian": _student,
    "lognormal": _log_student,
    "exponential": _lomax,
    "poisson": _negative_binomial,
    "geometric": _beta_geometric,
}
