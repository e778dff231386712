"""A small model and its report, made once."""

from __future__ import annotations

import matplotlib as mpl
import pytest
from pictured import fit, people

from bayesspn.report import build_report

mpl.use("Agg")


@pytest.fixture(scope="session")
def table():
    return people()


@pytest.fixture(scope="session")
def model(table):
    return fit(table)


@pytest.fixture(scope="session")
def page(model, table):
    return build_report(model, table.assign(name="n"), title="Patients")
