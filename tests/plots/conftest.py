"""A table of all kinds of columns and a small model of it, made once."""

from __future__ import annotations

import matplotlib as mpl
import pytest

mpl.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.fixture(scope="session")
def table(people_table):
    return people_table


@pytest.fixture(scope="session")
def model(people_model):
    return people_model
