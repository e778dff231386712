"""Results as lines: nothing is lost, nothing is run twice, nothing is spoiled by a kill."""

import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest
import results
from gathering import newest
from one_core import count_threads
from results import Case, Result, Store, decode_scores, encode_scores, from_line, to_line
from running import Options, Outcome, Session, parse_options, run_sets

SCORES = np.random.default_rng(0).normal(-6.0, 2.0, size=500).astype(np.float32)


def make_result(data="nltcs", method="wide", seed=0, scores=SCORES, **more):
    case = Case("table1", data, method, seed, {"seconds": 1.5})
    return Result(case, {"fit": 1.25}, scores, **more)


ADD_SOME = """
import sys
from pathlib import Path
from results import Case, Result, Store
for number in range(20):
    case = Case("table1", "nltcs", sys.argv[2], number, {"seconds": 1.5})
    Store(Path(sys.argv[1])).add(Result(case, {"fit": 1.25}, None, error="none"))
"""


def test_scores_survive_bit_by_bit():
    np.testing.assert_array_equal(decode_scores(encode_scores(SCORES)), SCORES)


def test_line_round_trip():
    result = make_result(checkpoints=[(1.0, -7.0), (2.0, -6.5)], details={"sweeps": [3, 4]})
    back = from_line(to_line(result))
    assert back.case == result.case
    assert back.case.key == result.case.key
    np.testing.assert_array_equal(back.scores, SCORES)
    for name in ("seconds", "details", "checkpoints", "versions", "machine", "finished"):
        assert getattr(back, name) == getattr(result, name)
    assert back.mean == pytest.approx(SCORES.mean(dtype=np.float64))


def test_failures_are_results(tmp_path):
    store = Store(tmp_path / "new" / "table1.jsonl")
    store.add(make_result(scores=None, error="ValueError: no"))
    (result,) = store
    assert result.error == "ValueError: no"
    assert np.isnan(result.mean)
    assert store.done() == {result.case.key}


def test_unfinished_line_is_dropped_and_overwritten(tmp_path):
    store = Store(tmp_path / "table1.jsonl")
    store.add(make_result(seed=0))
    with store.path.open("a") as file:
        file.write(to_line(make_result(seed=1))[:200])
    assert [result.case.seed for result in store] == [0]
    store.add(make_result(seed=2))
    assert [result.case.seed for result in store] == [0, 2]


def test_spoiled_line_is_named(tmp_path):
    store = Store(tmp_path / "table1.jsonl")
    store.add(make_result())
    with store.path.open("a") as file:
        file.write("{}\n")
    with pytest.raises(ValueError, match=r"table1\.jsonl, line 2 is not a result"):
        list(store)


def test_two_processes_share_a_file(tmp_path):
    path = tmp_path / "table1.jsonl"
    folder = Path(results.__file__).parent
    processes = [
        subprocess.Popen([sys.executable, "-c", ADD_SOME, path, name], cwd=folder) for name in "ab"
    ]
    assert [process.wait() for process in processes] == [0, 0]
    found = [(result.case.method, result.case.seed) for result in Store(path)]
    assert sorted(found) == [(name, number) for name in "ab" for number in range(20)]


def test_stopped_run_goes_on(tmp_path):
    store, called = Store(tmp_path / "table1.jsonl"), []

    def succeed(value):
        called.append(value)
        return Outcome({"fit": 0.1}, SCORES)

    def stop():
        raise KeyboardInterrupt

    cases = [Case("table1", "nltcs", "wide", seed) for seed in range(3)]
    session = Session(store)
    session.attempt(cases[0], succeed, 0)
    with pytest.raises(KeyboardInterrupt):
        session.attempt(cases[1], stop)
    again = Session(store)
    for case in cases:
        again.attempt(case, succeed, case.seed)
    assert called == [0, 1, 2]
    assert (again.ran, again.failed, again.skipped) == (2, 0, 1)
    after_a_change = Session(store, again=True)
    after_a_change.attempt(cases[0], succeed, 3)
    assert called == [0, 1, 2, 3]
    assert len(newest(store)) == 3


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_data_sets_run_side_by_side_on_a_core_each(tmp_path, capsys, jobs):
    names = ("a", "b", "c")
    arguments = ["--results", str(tmp_path), "--jobs", jobs]
    options = parse_options("", names, ("wide",), 1.0, arguments)
    before = numba.get_num_threads()
    try:
        assert run_sets("table1", names, count_threads, options, 30.0) == (3, 0, 0)
        assert run_sets("table1", names, count_threads, options, 30.0) == (0, 0, 3)
    finally:
        numba.set_num_threads(before)
    found = list(options.store("table1"))
    assert sorted(result.case.data for result in found) == list(names)
    assert all(result.mean == 1.0 for result in found)
    if jobs == "2" and len(results.usable_cores()) > 1:
        assert all(result.machine["cores"] == 1 for result in found)
    told = capsys.readouterr().err
    assert "0 run (0 failed), 3 there already" in told
    assert f"add up to {'90.0 s' if jobs == '1' else '60.0 s'} at most" in told


def test_errors_and_scores_that_are_not_finite_fail(tmp_path):
    def fail():
        raise ZeroDivisionError("no rows")

    store = Store(tmp_path / "table1.jsonl")
    session = Session(store)
    session.attempt(Case("table1", "nltcs", "a", 0), fail)
    bad = np.array([-1.0, np.nan, -np.inf], dtype=np.float32)
    session.attempt(Case("table1", "nltcs", "b", 0), lambda: Outcome({}, bad))
    first, second = store
    assert first.error.startswith("ZeroDivisionError: no rows (test_results.py:")
    assert "2 of 3 test rows have no finite score" in second.error
    assert session.failed == 2


def test_options(tmp_path, monkeypatch):
    monkeypatch.setenv("RIVALS", str(tmp_path))
    names = ("a", "b", "c", "d")
    methods = ("x", "y", "z")
    usual = parse_options("", names, methods, 100.0, [])
    assert isinstance(usual, Options)
    assert (usual.names, usual.seconds, usual.rivals) == (names, 100.0, tmp_path)
    assert parse_options("", names, methods, 100.0, ["--seconds", "60"]).seconds == 60.0
    with pytest.raises(SystemExit):
        parse_options("", names, methods, 100.0, ["--method", "w"])
    # ten minutes of two cores for four data sets with three methods each
    two = ["--quick", "--jobs", "2"]
    quick = parse_options("", names, methods, 100.0, [*two, "--only", "c", "--method", "x"])
    assert (quick.names, quick.seconds) == (("c",), 100.0)
    assert quick.wants("x")
    assert not quick.wants("y")
    assert quick.store("table1").path.name == "table1-quick.jsonl"
    few = parse_options("", names, methods, 100.0, two, quick_names=("b",), cases=2)
    assert (few.names, few.seconds) == (("b",), 100.0)
    few = parse_options("", names, methods, 100.0, two, cases=4)
    assert few.seconds == 25.0
