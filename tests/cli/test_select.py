"""select, and fit --graph select: the choice of a graph on the command line.

Known evidences stand in the place of estimates, which take seconds each.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

from bayesspn import BayesianSPN, RegionGraph, load, select_graph
from bayesspn.selection import evidence
from bayesspn.selection.evidence import Measurement

SHORT = ["--chains", 1, "--burn-in", 5, "--draws", 25, "--thin", 1, "--seed", 0]
GRID = '{"depth": [0], "leaves": [1, 2, 3]}'


@pytest.fixture(autouse=True)
def known(monkeypatch):
    """Evidence by the number of leaves; the list holds what was asked for."""
    calls = []

    def measure(model, rows, *, runs, sweeps, random_state):
        leaves = model.graph.leaves
        calls.append((leaves, runs, sweeps))
        return Measurement(-100.0 - abs(leaves - 2), 0.1, 0.5, 50.0)

    monkeypatch.setattr(evidence, "measure_graph", measure)
    return calls


def test_the_table_is_printed_and_the_model_written(run, table):
    result = run("select", "@t.csv", "-o", "m.bspn", "--grid", GRID, *SHORT)
    header, first, *_, last = result.stdout.splitlines()
    assert header.split()[:4] == ["graph", "evidence", "standard_error", "weight"]
    assert first.startswith("mixture of 2  ")
    assert " 5" in first
    assert last.startswith("m.bspn: mixture of 2; ")
    assert "3 graphs scored in " in result.stdout
    fitted = load("m.bspn")
    settings = {"chains": 1, "burn_in": 5, "draws": 25, "thin": 1, "random_state": 0}
    plain = BayesianSPN(graph=RegionGraph(0, leaves=2, products="shared"), **settings).fit(table)
    np.testing.assert_array_equal(fitted.score_samples(table), plain.score_samples(table))


def test_json_has_all_columns_of_the_table(document, table, known):
    told = document("select", "@t.csv", "--grid", GRID, "--sweeps", 9, "--runs", 3, *SHORT)
    assert {call[1:] for call in known} == {(3, 9)}
    assert told.pop("seconds") > 0
    graphs = told.pop("graphs")
    assert told == {"model": None, "rows": 80, "columns": 5, "interrupted": False}
    expected = select_graph(
        table,
        json.loads(GRID),
        estimator=BayesianSPN(chains=1, burn_in=5, draws=25, thin=1),
        sweeps=9,
        runs=3,
        random_state=0,
    ).table
    assert list(graphs[0]) == ["graph", *expected.columns]
    assert [graph["graph"] for graph in graphs] == expected.index.tolist()
    assert graphs[0]["partitions"] == [1]
    assert graphs[0]["loo"] == pytest.approx(expected["loo"].iloc[0])


def test_without_leave_one_out_and_quietly(run, document):
    graphs = document("select", "@t.csv", "--grid", GRID, "--no-loo", *SHORT)["graphs"]
    assert "loo" not in graphs[0]
    assert run("select", "@t.csv", "--grid", GRID, "--no-loo", "-q", *SHORT).stdout == ""


def test_a_choice_goes_on_from_its_checkpoint(run, known):
    options = ["--grid", GRID, "--no-loo", "--checkpoint", "g.jsonl", *SHORT]
    run("select", "@t.csv", *options)
    del known[:]
    run("select", "@t.csv", *options)
    assert not known
    result = run("select", "@t.csv", *options, "--drop", "age", code=1)
    assert "has the scores of another table" in result.stderr


def test_files_are_not_overwritten_unless_asked_for(run, tmp_path, known):
    (tmp_path / "m.bspn").write_text("precious")
    options = ["-o", "m.bspn", "--grid", GRID, "--no-loo", *SHORT]
    assert "add --force" in run("select", "@t.csv", *options, code=1).stderr
    assert not known
    run("select", "@t.csv", *options, "--force")
    assert load("m.bspn").graph_.leaves == 2


@pytest.mark.parametrize(
    ("grid", "code", "words"),
    [
        ("depth=1", 2, "is not JSON"),
        ("7", 2, "is no JSON object"),
        ('{"chains": [1]}', 1, "grid has 'chains'"),
        ('{"depth": 1}', 1, "needs a list"),
    ],
)
def test_grids_are_checked(run, grid, code, words):
    result = run("select", "@t.csv", "--grid", grid, *SHORT, code=code)
    assert words in " ".join(result.stderr.replace("│", " ").split())


def test_ctrl_c(run, known, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(evidence, "measure_graph", interrupt)
        options = ["--grid", GRID, "--checkpoint", "g.jsonl", *SHORT]
        result = run("select", "@t.csv", *options, code=130)
    assert result.stderr == (
        "interrupted before there was a choice; the same command goes on from g.jsonl\n"
    )
    measure = evidence.measure_graph

    def later(model, rows, *, runs, sweeps, random_state):
        if sweeps > 80:
            raise KeyboardInterrupt
        return measure(model, rows, runs=runs, sweeps=sweeps, random_state=random_state)

    monkeypatch.setattr(evidence, "measure_graph", later)
    result = run("select", "@t.csv", "-o", "m.bspn", "--grid", GRID, *SHORT, code=130)
    assert result.stderr.startswith("warning: interrupted: the graph is the best of what is known")
    assert load("m.bspn").graph_.leaves == 2


def test_fit_selects(run, document):
    result = run("fit", "@t.csv", "-o", "a.bspn", "--graph", "select", *SHORT)
    assert "independent columns, the best of 9 graphs (probability" in result.stdout
    fitted = load("a.bspn")
    assert (fitted.graph, fitted.graph_.leaves) == ("select", 1)
    told = document("fit", "@t.csv", "-o", "b.bspn", "--graph", "select", *SHORT)
    assert told["graphs"][0]["graph"] == "independent columns"
    both = run("fit", "@t.csv", "-o", "c.bspn", "--graph", "select", "--infinite", code=2)
    assert "exclude each other" in both.stderr
    shape = ["--graph", "select", "--depth", 1]
    assert "--depth" in run("fit", "@t.csv", "-o", "c.bspn", *shape, code=2).stderr
    assert run("fit", "@t.csv", "-o", "c.bspn", "--graph", "best", code=2)


def test_help_names_the_options(run):
    shown = run("select", "--help").stdout
    for name in ("--grid", "--jobs", "--seed", "--checkpoint", "--force", "--loo"):
        assert name in shown
    assert "select" in run("--help").stdout
