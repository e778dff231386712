"""Cores: what ``n_jobs`` means, and what calls side by side get of them."""

import joblib
import numba
import pytest
from joblib import delayed

from bayesspn.numerics import parallel
from bayesspn.numerics.parallel import count_cores, run_side_by_side


@pytest.fixture
def four_threads(monkeypatch):
    monkeypatch.setattr(numba, "get_num_threads", lambda: 4)


def test_a_fit_has_all_cores_unless_told_otherwise(four_threads):
    assert count_cores(None) == count_cores(None, cells=100_000) == 4
    assert [count_cores(cores) for cores in (1, 3)] == [1, 3]
    assert count_cores(-1) == joblib.cpu_count()


def test_small_tables_are_left_to_one_core(four_threads):
    assert count_cores(None, cells=1_000) == 1
    assert count_cores(3, cells=1_000) == 3


def test_a_configuration_of_joblib_counts(four_threads):
    with joblib.parallel_config(backend="threading", n_jobs=2):
        assert count_cores(None, cells=1_000) == 2


def test_cores_left_over_are_threads_of_the_calls(monkeypatch):
    given = []
    monkeypatch.setattr(
        parallel, "call_with_threads", lambda threads, f, a, k: given.append(threads) or f(*a, **k)
    )
    assert run_side_by_side([delayed(abs)(-n) for n in range(2)], 5) == [0, 1]
    assert run_side_by_side([delayed(abs)(-n) for n in range(3)], 1) == [0, 1, 2]
    assert given == [2, 2, 1, 1, 1]
