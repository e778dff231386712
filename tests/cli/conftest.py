"""A small fitted model, its table, and a way to run commands in this process."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from bayesspn import BayesianSPN
from bayesspn.cli import app


def patients() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    n = 80
    sex = rng.choice(["F", "M"], n)
    age = rng.integers(18, 80, n).astype(float)
    table = pd.DataFrame(
        {
            "sex": sex,
            "age": age,
            "income": np.round(np.exp(3 + 0.01 * age + 0.3 * (sex == "M")), 1),
            "job": rng.choice(["clerk", "nurse", "cook"], n).astype(object),
            "ill": rng.random(n) < age / 120,
        }
    )
    for column in ("age", "income", "job"):
        table.loc[rng.random(n) < 0.1, column] = None
    return table


@pytest.fixture(scope="session")
def table():
    return patients()


@pytest.fixture(scope="session")
def model(table):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return BayesianSPN(chains=1, burn_in=5, draws=5, thin=1, random_state=0).fit(table)


@pytest.fixture(scope="session")
def files(tmp_path_factory, model, table):
    """A folder with the model and its table in several formats."""
    folder = tmp_path_factory.mktemp("cli")
    model.save(folder / "m.bspn")
    table.to_csv(folder / "t.csv", index=False)
    table.to_csv(folder / "t.tsv", index=False, sep="\t")
    table.to_csv(folder / "t.csv.gz", index=False)
    table.to_parquet(folder / "t.parquet")
    return folder


@pytest.fixture
def run(files, monkeypatch, tmp_path):
    """Run a command in an empty folder; names of prepared files begin with @."""
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()

    def run(*arguments, input=None, code=0):
        arguments = [
            str(files / argument[1:]) if str(argument).startswith("@") else str(argument)
            for argument in arguments
        ]
        result = runner.invoke(app, arguments, input=input)
        assert result.exit_code == code, (result.output, result.stderr, result.exception)
        return result

    return run


def _refuse(name):
    raise AssertionError(f"{name} is not JSON")


@pytest.fixture
def document(run):
    """Run a command with --json and read what it prints."""

    def document(*arguments, **options):
        return json.loads(run(*arguments, "--json", **options).stdout, parse_constant=_refuse)

    return document
