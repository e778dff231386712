"""A small made-up table, and a model of it: what the documentation's examples ask.

>>> from bayesspn.examples import load_patients
>>> load_patients().head(3)
   age sex  weight    ill  visits
0   48   M    76.6  False       0
1   50   M     NaN  False       0
2   65   F    67.3  False       0
"""

from __future__ import annotations

import warnings
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from bayesspn.estimators.density import BayesianSPN


def load_patients(rows: int = 200) -> pd.DataFrame:
    """Patients of a practice: age, sex, weight in kg, whether they are ill, visits of a year.

    Made up, with a few missing cells; the same every time.

    Parameters
    ----------
    rows : int, default=200

    Returns
    -------
    DataFrame of shape (rows, 5)
    """
    rng = np.random.default_rng(1)
    age = rng.integers(20, 80, rows)
    sex = rng.choice(["F", "M"], rows)
    ill = rng.random(rows) < 0.1 + 0.6 * (age > 55)
    weight = (66 + 12 * (sex == "M") + rng.normal(0, 7, rows)).round(1)
    table = pd.DataFrame(
        {
            "age": age,
            "sex": sex,
            "weight": weight,
            "ill": pd.array(ill, dtype="boolean"),
            "visits": rng.poisson(1 + 5 * ill),
        }
    )
    table.loc[rng.random(rows) < 0.1, "weight"] = np.nan
    table.loc[rng.random(rows) < 0.1, "ill"] = pd.NA
    return table


@cache
def fitted_patients() -> BayesianSPN:
    """A `BayesianSPN` of the patients with a few short chains, fitted once per process.

    Examples
    --------
    >>> model = fitted_patients()
    >>> model.schema_.names
    ('age', 'sex', 'weight', 'ill', 'visits')
    """
    from bayesspn.estimators.density import BayesianSPN

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # chains this short need not agree
        return BayesianSPN(chains=2, burn_in=60, draws=20, random_state=0).fit(load_patients())
