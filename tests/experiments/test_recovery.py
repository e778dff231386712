"""Rivals beside the default fit on known distributions: what they get, and what is printed."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import recovery
from recovery import BESIDE, TRUTHS, draw_tables, encode, rival_distances, write_row
from rivals.environments import RivalEnvironmentError
from rivals.process import RivalRun
from rivals.registry import RIVALS


@pytest.fixture
def answer(monkeypatch):
    """Let every rival answer with scores, an error, or an environment that cannot be made."""

    def choose(score=None, error="", stopped=False, broken=False):
        def run(environments, environment, module, task):
            if broken:
                raise RivalEnvironmentError("no network")
            tasks.append(task)
            reports = [] if score is None else [(np.full(len(task.test), score), {})]
            return RivalRun(reports, {}, error, stopped, 1.0)

        tasks = []
        monkeypatch.setattr(recovery, "run_rival", run)
        return tasks

    return choose


def ask(name="mixed"):
    return rival_distances(TRUTHS[name](), 30, 0, Path("nowhere"), 5.0)


def test_rows_are_codes_and_numbers():
    table = pd.DataFrame({"a": [0.5, 1.5], "b": [3, 0], "c": ["red", "blue"]})
    fresh = pd.DataFrame({"a": [2.5], "b": [4], "c": ["green"]})
    training, test, categories = encode(table, fresh)
    assert training.tolist() == [[0.5, 3, 2], [1.5, 0, 0]]
    assert test.tolist() == [[2.5, 4, 1]]
    assert categories == (0, 5, 3)


@pytest.mark.parametrize(
    ("name", "methods"), [("tree", {"learnspn", "lace"}), ("rings", set(BESIDE))]
)
def test_rivals_run_where_they_can(answer, name, methods):
    tasks = answer(-1.0)
    assert set(ask(name)) == methods
    assert {str(task.setting) for task in tasks} == {str(RIVALS[m].setting) for m in methods}
    assert all(task.binary == (name == "tree") for task in tasks)


def test_distance_is_from_the_truth(answer):
    answer(-7.0, "stopped after 9 s", stopped=True)
    _, _, true = draw_tables(TRUTHS["mixed"](), 30, 0)
    assert ask()["lace"] == pytest.approx(true + 7.0)


@pytest.mark.parametrize(
    "found",
    [{"error": "killed"}, {"score": -1.0, "error": "ValueError"}, {"broken": True}],
    ids=["no scores", "broke down", "no environment"],
)
def test_failures_are_told(answer, found, capsys):
    answer(**found)
    assert np.isnan(list(ask().values())).all()
    assert capsys.readouterr().err


def test_row_of_the_table():
    mean = {"default": 0.1234, "mixture": 0.2, "learnspn": np.nan, "lace": np.inf, "seconds": 3.0}
    assert (
        write_row("tree", 100, mean, BESIDE)
        == "| tree | 100 | 0.123 | 0.200 | – | failed | – | ∞ | 3.0 |"
    )
