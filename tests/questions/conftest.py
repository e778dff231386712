"""A small fitted model with a column of every kind, and a slow oracle for it."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from bayesspn import BayesianSPN, InfiniteSPN, RegionGraph
from bayesspn.tables import infer_schema


def make_table(rows: int = 80) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    kind = rng.integers(0, 3, rows)
    table = pd.DataFrame(
        {
            "size": kind * 2.0 + rng.normal(0, 0.5, rows),
            "price": np.exp(kind + rng.normal(0, 0.3, rows)),
            "wait": rng.exponential(1.0 + kind) * (rng.random(rows) < 0.9),
            "visits": rng.poisson(1.0 + 2 * kind),
            "city": pd.Categorical.from_codes(
                (kind + rng.integers(0, 2, rows)) % 3, ["Oslo", "Rome", "Wien"]
            ),
            "member": rng.random(rows) < 0.2 + 0.3 * kind,
        }
    )
    table.loc[rng.random(rows) < 0.1, "price"] = np.nan
    return table


@pytest.fixture(scope="session", params=["shared", "cross, infinite"])
def model(request) -> BayesianSPN:
    table = make_table()
    schema = infer_schema(table).replace("visits", kind="count")
    schema = schema.replace("wait", families=("exponential",))
    products, *infinite = request.param.split(", ")
    model = (InfiniteSPN if infinite else BayesianSPN)(
        schema=schema,
        graph=RegionGraph(
            2,
            # an infinite mixture has several components of these
            (1, 1) if infinite else (2, 1),
            sums=2 if infinite else 3,
            leaves=2 if infinite else 3,
            products=products,
        ),
        chains=2,
        burn_in=30,
        draws=4,
        thin=2,
        random_state=1,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # chains this short do not agree
        return model.fit(table)


class Oracle:
    """Densities of the explicit network of the posterior predictive, integrated on grids."""

    def __init__(self, model: BayesianSPN) -> None:
        self.circuit = model.posterior_.as_spn()
        self.names = list(model.schema_.names)

    def density(self, **columns) -> np.ndarray:
        """Density at all combinations of the given values; the others are summed out."""
        values = [np.atleast_1d(np.asarray(v, dtype=float)) for v in columns.values()]
        mesh = np.meshgrid(*values, indexing="ij") if values else [np.zeros(1)]
        X = np.full((mesh[0].size, len(self.names)), np.nan)
        for name, value in zip(columns, mesh, strict=False):
            X[:, self.names.index(name)] = value.ravel()
        return np.exp(self.circuit.log_density(X)).reshape(mesh[0].shape)

    def integral(self, name: str, low: float, high: float, function=None, **given) -> float:
        """∫ function(x) p(x, given) dx by Gauss–Legendre quadrature on many short pieces."""
        nodes, weights = np.polynomial.legendre.leggauss(12)
        near = np.geomspace(1e-250, 1, 600)  # log-Student-t tails reach far down
        ends = np.concatenate([np.linspace(low, high, 601), near, -near, [0.0]])
        ends = np.unique(np.clip(ends, low, high))
        half = np.diff(ends)[:, None] / 2
        x = (ends[:-1, None] + half * (nodes + 1)).ravel()
        p = self.density(**{name: x}, **given).ravel()
        return float((half * weights).ravel() @ (p * (1 if function is None else function(x))))


@pytest.fixture(scope="session")
def oracle(model) -> Oracle:
    return Oracle(model)
