"""fit, schema and summary: models and schemas as files."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pandas as pd
import pytest

from bayesspn import BayesianSPN, RegionGraph, __version__, load
from bayesspn.questions.wording import describe_agreement
from bayesspn.tables import ColumnSchema, Schema, infer_schema

SHORT = ["--chains", 1, "--burn-in", 5, "--draws", 5, "--thin", 1, "--seed", 0]


@pytest.mark.parametrize("name", ["@t.csv", "@t.tsv", "@t.csv.gz", "@t.parquet"])
def test_the_model_is_that_of_the_estimator(run, name, model, table):
    result = run("fit", name, "-o", "new.bspn", *SHORT)
    assert result.stdout.startswith("new.bspn: learned 80 rows of 5 columns in ")
    assert "1 chain of 10 sweeps, 5 draws kept" in result.stdout
    assert "too few draws to tell whether the halves of the chain agree" in result.stdout
    np.testing.assert_array_equal(load("new.bspn").score_samples(table), model.score_samples(table))


def test_a_changed_table_is_learned_on(run, table, tmp_path):
    run("fit", "@t.csv", "-o", "old.bspn", *SHORT)
    changed = table.drop(columns="ill").iloc[:60].assign(tall=table["age"] % 2 == 0)
    changed.to_csv("changed.csv", index=False)
    short = [*SHORT[2:], "--quiet"]
    result = run("refit", "old.bspn", "changed.csv", "-o", "new.bspn", *short)
    assert "'tall' of changed.csv left out" in result.stderr
    assert "changed.csv lacks 'ill'; the new model is without" in result.stderr
    fitted = load("new.bspn")
    assert fitted.schema_.names == ("sex", "age", "income", "job")
    assert fitted.posterior_.draws[0][0].edge_counts[0].sum() == 60
    columns = ["--columns", "age,tall"]
    run("refit", "old.bspn", "changed.csv", "-o", "new.bspn", "--force", *columns, *short)
    assert load("new.bspn").schema_.names == ("age", "tall")
    result = run("refit", "old.bspn", "changed.csv", "-o", "new.bspn", *short, code=1)
    assert "new.bspn" in result.stderr


def test_columns_that_a_changed_table_lacks_are_told(run, table):
    options = [*SHORT[2:], "--quiet"]
    table.rename(columns={"income": "Income"}).to_csv("renamed.csv", index=False)
    result = run("refit", "@m.bspn", "renamed.csv", "-o", "new.bspn", *options)
    assert "'Income' of renamed.csv left out" in result.stderr
    assert "renamed.csv lacks 'income'" in result.stderr
    # what was left out on purpose is not
    result = run("refit", "@m.bspn", "@t.csv", "-o", "b.bspn", "--drop", "income,job", *options)
    assert "lacks" not in result.stderr
    result = run("refit", "@m.bspn", "@t.csv", "-o", "c.bspn", "--columns", "age,sex", *options)
    assert "lacks" not in result.stderr
    pd.DataFrame({"other": [1.5, 2.5, 4.0]}).to_csv("other.csv", index=False)
    result = run("refit", "@m.bspn", "other.csv", "-o", "d.bspn", *options, code=1)
    assert "none of the model's columns" in result.stderr


def test_holes_can_be_made_part_of_the_model(run, table):
    run("schema", "@t.csv", "-o", "s.json", "--model-missing", "income,job")
    schema = Schema.load("s.json")
    assert schema.names[-2:] == ("income is missing", "job is missing")
    run("fit", "@t.csv", "--schema", "s.json", "-o", "new.bspn", *SHORT)
    result = run("ask", "new.bspn", "income is missing | age > 40")
    assert "%" in result.stdout
    assert "income" in run("sample", "new.bspn", "-n", 5, "--seed", 0).stdout.splitlines()[0]
    assert "is missing" not in run("sample", "new.bspn", "-n", 5, "--seed", 0).stdout
    result = run("schema", "@t.csv", "--model-missing", "pay", code=1)
    assert "pay" in result.stderr


def test_standard_input_columns_and_parameters(run, document, table, tmp_path):
    text = table.assign(name=[f"p{k}" for k in range(80)]).to_csv(index=False)
    options = ["--depth", 0, "--leaves", 3, "--gamma", 0.5, "--alpha", 1.5, "--quiet"]
    result = run("fit", "-", "-o", "a.bspn", "--drop", "name,ill", *SHORT, *options, input=text)
    assert result.stdout == ""
    fitted = load("a.bspn")
    assert fitted.schema_.names == ("sex", "age", "income", "job")
    assert fitted.graph == RegionGraph(0, sums=3, leaves=3, products="shared")
    assert (fitted.gamma, fitted.alpha) == (0.5, 1.5)
    report = document(
        "fit", "-", "-o", "b.bspn", "--columns", "age", "--columns", "job,sex", *SHORT, input=text
    )
    assert report.pop("seconds") > 0
    assert isinstance(report.pop("rhat"), float | None)
    assert report == {
        "model": "b.bspn",
        "rows": 80,
        "columns": 3,
        "chains": 1,
        "sweeps": 10,
        "draws": 5,
        "interrupted": False,
    }
    assert load("b.bspn").schema_.names == ("age", "job", "sex")


def test_partitions_per_level(run):
    run("fit", "@t.csv", "-o", "a.bspn", *SHORT, "--depth", 2, "--partitions", "3,1", "--sums", 2)
    assert load("a.bspn").graph_.partitions == (3, 1)


def test_models_are_not_overwritten_unless_asked_for(run, tmp_path):
    (tmp_path / "m.bspn").write_text("precious")
    result = run("fit", "@t.csv", "-o", "m.bspn", *SHORT, code=1)
    assert result.stderr == (
        "error: m.bspn exists already; add --force to replace it, or name another\n"
    )
    assert (tmp_path / "m.bspn").read_text() == "precious"
    run("fit", "@t.csv", "-o", "m.bspn", *SHORT, "--force")
    assert load("m.bspn").schema_


def test_progress_can_be_forced(run):
    assert "sweeps" in run("fit", "@t.csv", "-o", "a.bspn", *SHORT, "--progress").stderr
    assert "sweeps" not in run("fit", "@t.csv", "-o", "b.bspn", *SHORT).stderr


def test_ctrl_c_keeps_the_draws_so_far(run, document, monkeypatch):
    from bayesspn.inference.chains import GrowingChain

    step, sweeps = GrowingChain.step, []

    def interrupted(self):
        sweeps.append(self)
        if len(sweeps) == 9:
            raise KeyboardInterrupt
        return step(self)

    monkeypatch.setattr(GrowingChain, "step", interrupted)
    result = run("fit", "@t.csv", "-o", "a.bspn", *SHORT, code=130)
    assert "interrupted: a.bspn holds 3 draws, fewer than were wanted" in result.stderr
    assert load("a.bspn").posterior_.n_draws == 3
    del sweeps[:]
    options = ["--checkpoint", "c.ckpt", "--burn-in", 20]
    result = run("fit", "@t.csv", "-o", "b.bspn", *SHORT, *options, code=130)
    assert result.stderr == (
        "interrupted before the first draw: no model was written; the same command goes on from "
        "c.ckpt\n"
    )
    run("fit", "@t.csv", "-o", "b.bspn", *SHORT, *options)
    assert len(sweeps) < 9 + 25


def test_warnings_are_one_line(run, monkeypatch):
    def warn(self, X, y=None):
        warnings.warn("the chains\ndo not agree", UserWarning, stacklevel=2)
        raise KeyboardInterrupt

    monkeypatch.setattr(BayesianSPN, "fit", warn)
    result = run("fit", "@t.csv", "-o", "a.bspn", code=130)
    assert result.stderr.splitlines()[0] == "warning: the chains do not agree"


def test_agreement_in_words(model):
    found = {}
    for rhat in (float("nan"), 1.001, 1.05, 1.5):
        fitted = BayesianSPN()
        fitted.rhat_, fitted.posterior_ = rhat, model.posterior_
        found[rhat] = describe_agreement(fitted)
    assert [text.split(" (")[0] for text in found.values()] == [
        "too few draws to tell whether the halves of the chain agree",
        "the halves of the chain agree",
        "the halves of the chain agree well enough",
        "the halves of the chain do not agree",
    ]


@pytest.mark.parametrize("name", ["@t.csv", "@t.tsv", "@t.csv.gz", "@t.parquet"])
def test_schemas_are_inferred_edited_and_used(run, document, tmp_path, name):
    text = run("schema", name).stdout
    assert json.loads(text)["columns"][1]["name"] == "age"
    assert document("schema", name) == json.loads(text)
    result = run("schema", name, "-o", "s.json")
    assert result.stdout.startswith("Schema of 5 columns\n")
    assert (tmp_path / "s.json").read_text() == text
    assert "exists already" in run("schema", name, "-o", "s.json", code=1).stderr
    schema = Schema.load("s.json").replace("age", families=("gaussian",))
    schema.save("s.json")
    run("fit", name, "-o", "a.bspn", "--schema", "s.json", *SHORT)
    assert load("a.bspn").schema_["age"].families == ("gaussian",)
    report = document("schema", name, "-o", "s.json", "--force", "--drop", "age")
    assert report["output"] == "s.json"
    assert Schema.load("s.json").names == ("sex", "income", "job", "ill")


def test_identifiers_are_left_out_of_a_schema_and_of_fits_by_it(run, document, files):
    table = pd.read_csv(files / "t.csv")
    table.insert(0, "patient", [f"p{row}" for row in range(len(table))])
    table.to_csv("named.csv", index=False)
    assert "'patient'" in run("fit", "named.csv", "-o", "a.bspn", code=1).stderr
    assert "left out: 'patient', with nearly" in run("schema", "named.csv", "-o", "s.json").stderr
    assert "patient" not in Schema.load("s.json")
    assert document("schema", "named.csv", "-o", "r.json")["left_out"] == ["patient"]
    result = run("fit", "named.csv", "-o", "a.bspn", "--schema", "s.json", *SHORT)
    assert "note: 'patient' of named.csv left out, as by the schema" in result.stderr
    assert "patient" not in load("a.bspn").schema_
    only = table[["patient"]]
    only.to_csv("only.csv", index=False)
    assert "has 80 different values in 80 cells" in run("schema", "only.csv", code=1).stderr


def test_declared_categories_may_read_like_missing_cells(run):
    cells = ["NA", "None", "yes", ""] * 10
    text = "\n".join(f"{cell},{row % 3}" for row, cell in enumerate(cells))
    with open("t.csv", "w") as file:
        file.write(f"answer,n\n{text}\n")
    column = ColumnSchema("answer", "category", categories=("NA", "None", "yes"))
    Schema((column, ColumnSchema("n", "count"))).save("s.json")
    run("fit", "t.csv", "-o", "a.bspn", "--schema", "s.json", *SHORT)
    found = load("a.bspn").probability("answer = NA")
    assert found == pytest.approx(1 / 3, abs=0.15)
    run("impute", "a.bspn", "t.csv", "-o", "filled.csv")
    filled = pd.read_csv("filled.csv", keep_default_na=False)["answer"]
    assert filled[: len(cells)].tolist()[:3] == cells[:3]
    assert set(filled) <= {"NA", "None", "yes"}


def test_summaries(run, document, model, table):
    words = run("summary", "@m.bspn").stdout
    assert words.startswith("BayesianSPN of 5 columns\n1 chain of 10 sweeps, 5 draws kept of each")
    for part in (str(model.schema_), str(model.graph_), "log_likelihood", "ess_bulk"):
        assert part in words
    found = document("summary", "@m.bspn")
    assert found["estimator"] == "BayesianSPN"
    assert [column["name"] for column in found["columns"]] == list(table.columns)
    assert found["columns"][0]["kind"] == infer_schema(table)["sex"].kind
    assert found["graph"]["depth"] == model.graph_.depth
    assert found["draws"] == [5]
    assert {row["quantity"] for row in found["diagnostics"]} == set(model.summary().index)


def test_version_help_and_completion(run):
    assert run("--version").stdout == f"bayesspn {__version__}\n"
    commands = ("fit", "score", "predict", "sample", "impute", "ask", "summary", "schema", "demo")
    for command in commands:
        assert command in run("--help").stdout
        assert "Usage" in run(command, "--help").stdout


def test_the_demo_is_the_demo(run, monkeypatch):
    monkeypatch.setattr("bayesspn.demo.main", lambda: print("shown"))
    assert run("demo").stdout == "shown\n"


def test_text_columns_keep_their_names(run):
    frame = pd.DataFrame({"a,b": [1.5, 2.5, 3.0] * 5, "c": [0, 1, 1] * 5})
    text = frame.to_csv(index=False)
    run("fit", "-", "-o", "a.bspn", "--columns", "a,b", *SHORT, input=text)
    assert load("a.bspn").schema_.names == ("a,b",)
