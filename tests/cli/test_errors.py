"""Whatever goes wrong is one sentence on standard error and an exit code."""

from __future__ import annotations

import errno
import os

import pytest

from bayesspn import BayesianSPN


def one_sentence(result, message):
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["score", "none.bspn", "@t.csv"], "none.bspn: No such file or directory"),
        (["score", "@m.bspn", "none.csv"], "none.csv: no such file or folder"),
        (["score", "@t.csv", "@t.csv"], "is damaged or not a model of bayesspn"),
        (["score", ".", "@t.csv"], ".: Is a directory"),
        (["score", "@m.bspn", "@m.bspn"], "the ending does not name a format"),
        (["summary", "none.bspn"], "none.bspn: No such file"),
        (["schema", "none.csv"], "none.csv: no such file"),
        (["fit", "none.csv", "-o", "m.bspn"], "none.csv: no such file"),
        (["fit", "@t.csv", "-o", "nowhere/m.bspn"], "there is no folder nowhere"),
        (["fit", "@t.csv", "-o", "."], ". exists already"),
        (["fit", "@t.csv", "-o", ".", "--force"], ". is a folder"),
        (["fit", "@t.csv", "-o", "m.bspn", "--drop", "x"], "there is no column 'x'"),
        (["fit", "@t.csv", "-o", "m.bspn", "--drop", "agee"], "did you mean 'age'?"),
        (["fit", "@t.csv", "-o", "m.bspn", "--schema", "none.json"], "none.json: cannot be read"),
        (["fit", "@t.csv", "-o", "m.bspn", "--schema", "@t.csv"], "is not JSON"),
        (
            ["fit", "@t.csv", "-o", "m.bspn", "--drop", "sex,age,income,job,ill"],
            "no column is left",
        ),
        (["fit", "@t.csv", "-o", "m.bspn", "--children", "1"], "children must be"),
        (["sample", "@m.bspn", "-o", "nowhere/s.csv"], "nowhere/s.csv: no such file or folder"),
        (["score", "@m.bspn", "@t.csv", "-o", "nowhere/s.csv"], "nowhere/s.csv: no such file"),
        (["score", "@m.bspn", "@t.csv", "-o", "s.xlsx"], "the ending does not name a format"),
        (["sample", "@m.bspn", "--given", "age > 30, age < 20"], "age"),
        (["sample", "@m.bspn", "--given", "agee > 30"], "there is no column 'agee'"),
    ],
)
def test_one_sentence_says_what_is_wrong(run, arguments, message):
    one_sentence(run(*arguments, code=1), message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "standard input: is empty; a table needs a header"),
        ("a,b\n1,2\n", "standard input: the table has no column 'sex'"),
        ("sex,age\nF,old\n", "standard input: column 'age', row 0: 'old'"),
        ("sex,age\nF\n", "standard input: line 2 has 1 cells, the header has 2"),
    ],
)
@pytest.mark.parametrize("command", ["score", "impute"])
def test_tables_that_do_not_suit_the_model(run, command, text, message):
    result = run(command, "@m.bspn", "-", input=text, code=1)
    line = result.stderr.splitlines()[-1]
    assert line.startswith(f"error: {message}")
    assert len(result.stderr.splitlines()) <= 2  # a note on absent columns may stand before


def test_errors_say_where_their_rows_begin(run, monkeypatch):
    monkeypatch.setattr("bayesspn.cli.rows.ROWS_TOGETHER", 2)
    text = "sex,age,income,job,ill\n" + "F,3,,,\n" * 3 + "F,3,inf,,\n"
    result = run("score", "@m.bspn", "-", "-o", "s.csv", input=text, code=1)
    one_sentence(
        result,
        "standard input: counting from row 2 on: column 'income', row 1: the value is infinite",
    )
    assert not os.path.exists("s.csv")


@pytest.mark.parametrize("command", ["score", "impute"])
def test_unknown_categories_are_named_once_and_passed(run, command, monkeypatch):
    monkeypatch.setattr("bayesspn.cli.rows.ROWS_TOGETHER", 2)
    text = "sex,age,income,job,ill\n" + "X,3,,,\n" * 5
    result = run(command, "@m.bspn", "-", input=text)
    told = [line for line in result.stderr.splitlines() if "unknown values" in line]
    assert len(told) == 1
    assert "column 'sex': 'X'" in told[0]


@pytest.mark.parametrize("command", ["score", "impute"])
def test_columns_that_were_not_learned_from_are_left_out(run, command):
    alone = run(command, "@m.bspn", "-", input="sex,age\nF,3\n")
    result = run(command, "@m.bspn", "-", input="name,sex,age\nann,F,3\n")
    assert result.stdout == alone.stdout
    assert "note: the model has no 'name'; standard input is read without" in result.stderr
    quiet = run(command, "@m.bspn", "-", "--drop", "name", input="name,sex,age\nann,F,3\n")
    assert "'name'" not in quiet.stderr


def test_tables_without_rows_cannot_be_learned(run):
    result = run("fit", "-", "-o", "m.bspn", input="a,b\n", code=1)
    one_sentence(result, "0 sample(s)")
    assert not os.path.exists("m.bspn")


@pytest.mark.parametrize("cut", [slice(0, 200), slice(0, -9), slice(0, 0)])
def test_damaged_models(run, files, tmp_path, cut):
    content = (files / "m.bspn").read_bytes()
    (tmp_path / "bad.bspn").write_bytes(content[cut])
    one_sentence(run("summary", "bad.bspn", code=1), "bad.bspn is damaged")


def test_changed_models_are_noticed(run, files, tmp_path):
    content = bytearray((files / "m.bspn").read_bytes())
    content[-9] ^= 1
    (tmp_path / "bad.bspn").write_bytes(content)
    one_sentence(run("ask", "bad.bspn", "age > 3", code=1), "its checksum is wrong")


@pytest.mark.parametrize(
    "arguments",
    [
        ["fit", "@t.csv"],
        ["fit", "@t.csv", "-o", "m.bspn", "--chains", "0"],
        ["fit", "@t.csv", "-o", "m.bspn", "--depth", "deep"],
        ["fit", "@t.csv", "-o", "m.bspn", "--products", "sum"],
        ["score", "@m.bspn"],
        ["score", "@m.bspn", "@t.csv", "--mean", "--anomaly"],
        ["score", "@m.bspn", "@t.csv", "--format", "xlsx"],
        ["sample", "@m.bspn", "-n", "0"],
        ["impute", "@m.bspn", "@t.csv", "--draws", "0"],
        ["sing"],
        ["--loud"],
    ],
)
def test_wrong_usage_ends_with_code_2(run, arguments):
    result = run(*arguments, code=2)
    assert result.stdout == ""
    assert "Usage" in result.stderr


def test_full_disks_are_told_of(run, monkeypatch):
    def save(self, path):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setattr(BayesianSPN, "save", save)
    monkeypatch.setattr(BayesianSPN, "fit", lambda self, X: self)
    result = run("fit", "@t.csv", "-o", "m.bspn", code=1)
    one_sentence(result, "m.bspn: No space left on device")


def test_bugs_hint_at_debugging(run, monkeypatch):
    def broken(*arguments):
        return {}["nothing"]

    monkeypatch.setattr("bayesspn.load", broken)
    result = run("summary", "@m.bspn", code=1)
    one_sentence(result, "something unexpected happened (KeyError: 'nothing')")
    assert "bayesspn --debug" in result.stderr
    assert "Traceback" in run("--debug", "summary", "@m.bspn", code=1).stderr


def test_numpys_complaints_are_bugs(run, monkeypatch):
    import numpy as np

    monkeypatch.setattr("bayesspn.load", lambda path: np.ones(2) @ np.ones(3))
    assert "something unexpected" in run("summary", "@m.bspn", code=1).stderr


def test_ctrl_c_ends_any_command(run, monkeypatch):
    def interrupt(path):
        raise KeyboardInterrupt

    monkeypatch.setattr("bayesspn.load", interrupt)
    assert run("summary", "@m.bspn", code=130).stderr == "interrupted\n"
