"""The shrinker: what is left of a failing table is small, fails alike, and is told as code."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
import polars as pl
import pytest
from fuzz import checks
from fuzz.checks import report_smallest
from fuzz.generator import make_parameters, make_table
from fuzz.shrinker import SIMPLE, Case, failure_of, run_code, shrink, write_code

from bayesspn import RegionGraph


def drawn(seed: int) -> Case:
    rng = np.random.default_rng(seed)
    return Case(make_table(rng), make_parameters(rng))


def cells(table) -> np.ndarray:
    """Cells of a table of any library."""
    if isinstance(table, pl.DataFrame):
        return np.array(table.rows(), dtype=object)
    return table if isinstance(table, np.ndarray) else table.to_numpy(dtype=object)


#: Parameters of a fit that are as simple as they get.
SIMPLEST = {name: values[0] for name, values in SIMPLE.items()}

WIDE = pd.DataFrame(
    {
        "it's": np.arange(40),
        "two words": [f"t{k}" for k in range(40)],
        "größe": np.where(np.arange(40) == 23, -1.5, 1.0),
        ("a", 1): pd.date_range("2024-01-01", periods=40),
    },
    index=np.arange(40) + 7,
)


@pytest.mark.parametrize("library", ["pandas", "polars", "numpy"])
def test_what_is_left_of_a_table_is_what_fails(library):
    table = {
        "pandas": WIDE,
        "polars": pl.DataFrame({str(name): WIDE[name].to_numpy() for name in WIDE}),
        "numpy": WIDE.to_numpy(dtype=object),
    }[library]

    def check(case: Case) -> None:
        if (cells(case.table) == -1.5).any() and case.parameters["draws"] > 1:
            raise ValueError("negative")

    start = Case(table, drawn(0).parameters | {"draws": 3, "graph": RegionGraph(2, 3)})
    smallest = shrink(start, failure_of(check), seconds=30)
    assert type(smallest.table) is type(table)
    assert smallest.shape == (1, 1)
    assert cells(smallest.table)[0, 0] == -1.5
    assert smallest.parameters == SIMPLEST | {"draws": 2}
    if library != "numpy":
        assert list(smallest.table.columns) == ["a"]
    if library == "pandas":
        assert list(smallest.table.index) == [0]
    # nothing has been done to what it began with
    assert start.shape == (40, 4)
    assert start.parameters["draws"] == 3


def test_rows_and_columns_that_fail_together_are_kept_together():
    def check(case: Case) -> None:
        held = set(case.table.to_numpy().ravel().tolist())
        assert not {3, 58, 77} <= held

    table = pd.DataFrame(np.arange(100).reshape(25, 4))
    smallest = shrink(Case(table, {}), failure_of(check), seconds=30).table
    assert sorted(smallest.index) == [0, 1, 2]
    # 3 is in the last column, 58 in the third and 77 in the second
    assert smallest.to_numpy().tolist() == [[1, 2, 3], [57, 58, 59], [77, 78, 79]]


def test_other_errors_are_other_failures():
    def check(case: Case) -> None:
        if len(case.table) < 3:
            raise KeyError("too short")
        raise ValueError("long enough")

    smallest = shrink(Case(pd.DataFrame({"a": range(20)}), {}), failure_of(check), seconds=30)
    assert len(smallest.table) == 3


def check_first(case: Case) -> None:
    assert len(case.table) < 5, "many rows"


def check_second(case: Case) -> None:
    assert len(case.table) < 2, "several rows"


def test_the_same_error_of_another_check_is_another_failure():
    def check(case: Case) -> None:
        check_first(case)
        check_second(case)

    smallest = shrink(Case(pd.DataFrame({"a": range(20)}), {}), failure_of(check), seconds=30)
    assert len(smallest.table) == 5


def test_shrinking_ends_in_time_with_something_that_fails():
    def check(case: Case) -> None:
        time.sleep(0.02)
        if len(case.table) >= 2:
            raise ValueError

    begin = time.monotonic()
    case = Case(pd.DataFrame({"a": range(10_000)}), {})
    smallest = shrink(case, failure_of(check), seconds=0.1)
    assert time.monotonic() - begin < 5
    assert 2 <= len(smallest.table) < 10_000


def test_only_what_fails_is_shrunk():
    with pytest.raises(AssertionError, match="only what fails"):
        shrink(Case(WIDE, {}), failure_of(lambda case: None))


@pytest.mark.parametrize("first", range(0, 300, 50))
def test_code_makes_the_same_table_again(first):
    for seed in range(first, first + 50):
        case = drawn(seed)
        again = run_code(write_code(case))
        assert again.parameters == case.parameters
        assert type(again.table) is type(case.table)
        if isinstance(case.table, pd.DataFrame):
            pd.testing.assert_frame_equal(again.table, case.table, check_exact=True)
        elif isinstance(case.table, pl.DataFrame):
            assert again.table.schema == case.table.schema
            assert again.table.equals(case.table)
        else:
            assert again.table.dtype == case.table.dtype
            assert again.table.astype(str).tolist() == case.table.astype(str).tolist()


def test_a_failing_trial_is_told_as_code(monkeypatch, tmp_path):
    """A trial that fails if it is shown a column of text, whatever else there is."""

    class Failing(checks.Trial):
        def run(self) -> None:
            if isinstance(self.table, pd.DataFrame) and any(self.table.dtypes == "str"):
                raise RuntimeError("text")

    def fails(seed: int) -> bool:
        table = drawn(seed).table
        return isinstance(table, pd.DataFrame) and any(table.dtypes == "str")

    monkeypatch.setattr(checks, "Trial", Failing)
    seed = next(seed for seed in range(100) if fails(seed) and min(drawn(seed).shape) > 1)
    told = report_smallest(seed, tmp_path, seconds=30)
    assert f"FUZZ_SEED={seed} fails with 1 rows and 1 columns" in told
    code, _, replay = told.partition("\n\n")[2].rpartition("Trial(")
    case = run_code(code)
    assert case.shape == (1, 1)
    assert case.table.dtypes.tolist() == ["str"]
    assert replay.startswith(f"{seed}, folder, case=Case(table, parameters)).run()")
    fine = next(seed for seed in range(100) if not fails(seed))
    assert report_smallest(fine, tmp_path, seconds=1) == f"FUZZ_SEED={fine} did not fail again"
