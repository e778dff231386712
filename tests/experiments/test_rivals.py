"""How rivals are run: tasks and scores through files, limits, failures; with a made-up rival."""

import sys
from pathlib import Path

import numpy as np
import pytest
from problems import Problem
from rival_runs import rivals_for, run_one
from rivals import environments, process
from rivals.exchange import Task, read_reports, read_task, write_task
from rivals.registry import RIVALS, Rival

from bayesspn.tables import ColumnSchema, Schema

MADE_UP = """
import os, time
from rivals.exchange import serve

def learn(task, reporter):
    if task.setting["do"] == "fail":
        raise ValueError("it does not like this table")
    reporter.correction = 1.0
    reporter.report(lambda: task.test.sum(axis=1), cores=len(os.sched_getaffinity(0)))
    if task.setting["do"] == "hang":
        time.sleep(60)
    reporter.report(lambda: task.test.sum(axis=1) + task.seed, alone=0.25)

serve(learn, ("numpy", "surely-not-installed"))
"""


@pytest.fixture
def made_up(tmp_path, monkeypatch):
    """A rival in this interpreter."""
    (tmp_path / "rivals").mkdir()
    (tmp_path / "rivals" / "__init__.py").write_text("")
    (tmp_path / "rivals" / "made_up.py").write_text(MADE_UP)
    source = Path(process.__file__).parent / "exchange.py"
    (tmp_path / "rivals" / "exchange.py").write_text(source.read_text())
    monkeypatch.setattr(process, "_EXPERIMENTS", tmp_path)
    monkeypatch.setattr(process, "_STARTUP", 1.0)
    return lambda do: Rival("made up", environments.OWN, "made_up", {"do": do})


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    train, valid, test = rng.integers(0, 2, (3, 8, 2)).astype(np.float64)
    columns = tuple(ColumnSchema(f"x{k}", "category", ("bernoulli",), (0, 1)) for k in range(2))
    return Problem("tiny", train, valid, test, Schema(columns), (2, 2), (0.0, 0.0))


def test_rival_is_scored_on_one_core(made_up, problem, tmp_path):
    outcome = run_one(problem, made_up("work"), 5.0, 3, tmp_path)
    np.testing.assert_allclose(outcome.scores, problem.test.sum(axis=1) + 4)
    assert outcome.error == ""
    assert outcome.seconds["fit"] == 0.25
    assert len(outcome.checkpoints) == 2
    assert set(outcome.versions) == {"python", "numpy"}


def test_rival_that_fails_says_why(made_up, problem, tmp_path):
    outcome = run_one(problem, made_up("fail"), 5.0, 0, tmp_path)
    assert outcome.scores is None
    assert outcome.error == "ValueError: it does not like this table"


def test_rival_that_hangs_is_stopped_and_what_it_said_counts(made_up, problem, tmp_path):
    outcome = run_one(problem, made_up("hang"), 1.0, 3, tmp_path)
    np.testing.assert_allclose(outcome.scores, problem.test.sum(axis=1) + 1)
    assert outcome.details["stopped"]
    assert outcome.details["last"]["cores"] == 1


def test_environment_that_cannot_be_made_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setitem(environments.PACKAGES, "nothing", ("surely-not-installed",))
    monkeypatch.setattr(
        environments, "_commands", lambda *_: [[sys.executable, "-c", "raise SystemExit('no pip')"]]
    )
    with pytest.raises(environments.RivalEnvironmentError, match="nothing cannot be made: no pip"):
        environments.python_of(tmp_path, "nothing")


def test_task_round_trip(tmp_path):
    training = np.array([[0.0, 1.5], [1.0, np.nan], [1.0, 2.5], [np.nan, 3.5]])
    task = Task(training, training[:1], (2, 0), 3.5, 7, {"method": "x"})
    write_task(tmp_path / "task.npz", task)
    back = read_task(tmp_path / "task.npz")
    np.testing.assert_array_equal(back.training, training)
    assert (back.categories, back.seconds, back.seed, back.setting) == (
        (2, 0),
        3.5,
        7,
        {"method": "x"},
    )
    assert not back.binary
    np.testing.assert_array_equal(back.filled(), [[0, 1.5], [1, 2.5], [1, 2.5], [1, 3.5]])
    assert read_reports(tmp_path) == []


def test_registry_names_modules_and_environments_that_exist():
    folder = Path(process.__file__).parent
    for rival in RIVALS.values():
        assert (folder / f"{rival.module}.py").is_file()
        assert rival.environment in (*environments.PACKAGES, environments.OWN)
        assert rival.binary or rival.mixed
    assert "expc" in rivals_for(True)
    assert "lace" in rivals_for(False)
    assert "expc" not in rivals_for(False)
