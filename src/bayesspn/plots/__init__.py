"""Plots of fitted models, with matplotlib (``pip install 'bayesspn[plots]'``).

Every plot takes a fitted model, draws on ``ax`` or on a new figure, and gives the axes back.
Colours can be told apart by people who see few of them, and a line under the title says how to read
the plot.

>>> import numpy as np
>>> import pandas as pd
>>> from bayesspn import BayesianSPN, plots
>>> rng = np.random.default_rng(0)
>>> table = pd.DataFrame({"age": rng.integers(20, 70, 60), "sex": rng.choice(["F", "M"], 60)})
>>> model = BayesianSPN(chains=1, burn_in=5, draws=5, random_state=0).fit(table)
>>> ax = plots.density(model, "age", given="sex = F", data=table)
>>> ax.get_xlabel()
'age'
"""

from __future__ import annotations

try:
    import matplotlib  # noqa: F401
except ImportError:
    raise ImportError(
        "plots need matplotlib: install it with  pip install 'bayesspn[plots]'"
    ) from None

from bayesspn.plots._chains import ranks, trace
from bayesspn.plots._checks import check_column, check_pair
from bayesspn.plots._columns import density
from bayesspn.plots._dependence import dependence
from bayesspn.plots._evidence import evidence
from bayesspn.plots._graphs import graph
from bayesspn.plots._missing import filled, missing
from bayesspn.plots._pairs import conditional_map

__all__ = [
    "check_column",
    "check_pair",
    "conditional_map",
    "density",
    "dependence",
    "evidence",
    "filled",
    "graph",
    "missing",
    "ranks",
    "trace",
]
