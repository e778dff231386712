"""A small model and its report, made once."""

from __future__ import annotations

import matplotlib as mpl
import pytest

from bayesspn.report import build_report

mpl.use("Agg")


@pytest.fixture(scope="session")
def table(people_table):
    return people_table


@pytest.fixture(scope="session")
def model(people_model):
    return people_model


@pytest.fixture(scope="session")
def page(model, table):
    return build_report(model, table.assign(name="n"), title="Patients")
