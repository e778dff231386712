"""Random tables through fit, questions, save and load: a clear error or a correct answer.

A failure names its seed and shows the smallest table that fails in the same way, as code; replay it
with ``FUZZ_SEED=123 pytest -m "not long" tests/fuzz``.
"""

from __future__ import annotations

import os
import time
from collections import Counter

import pytest
from fuzz.checks import Trial, report_smallest

#: Tables of the short version, which are quick; the long one takes them as they come. The last
#: have nanoseconds of decades, unsigned numbers near zero, rows without cells of a log density of
#: −1.3e-6, a mean that is rounded at 10^15, steps of nine roundings, 1e-34 beside 1e18, and the
#: ends of floats.
SHORT = (
    *(0, 2, 3, 5, 7, 8, 9, 10, 11, 12, 14, 15, 17, 18, 19, 30),
    *(730_076, 730_091, 730_152, 730_267),
    *(1057, 1094, 1230, 1266, 1351),
)

#: Seconds that the long version runs.
LONG = float(os.environ.get("FUZZ_SECONDS", "600"))

#: Seconds for which a failure is made smaller, and how many of the long version's are.
SHRINKING, MOST_SHRUNK = float(os.environ.get("FUZZ_SHRINKING", "60")), 3

_SEEDS = [int(seed) for seed in os.environ.get("FUZZ_SEED", "").split()] or SHORT


@pytest.mark.parametrize("seed", _SEEDS)
def test_any_table_gets_a_clear_error_or_a_correct_answer(seed, tmp_path):
    try:
        Trial(seed, tmp_path).run()
    except Exception as error:
        raise AssertionError(report_smallest(seed, tmp_path, SHRINKING)) from error


@pytest.mark.long
def test_many_more_tables(tmp_path):
    refusals: Counter[str] = Counter()
    failed: dict[int, str] = {}
    end = time.monotonic() + LONG
    seed = start = int(os.environ.get("FUZZ_START", "1000"))
    while time.monotonic() < end:
        try:
            Trial(seed, tmp_path, refusals).run()
        except Exception as error:
            failed[seed] = f"{type(error).__name__}: {str(error)[:300]}"
            print(f"FUZZ_SEED={seed}: {failed[seed]}", flush=True)
            if len(failed) <= MOST_SHRUNK:
                print(report_smallest(seed, tmp_path, SHRINKING), flush=True)
        seed += 1
    print(f"{seed - start} tables, {len(failed)} failed")
    for message, count in refusals.most_common():
        print(f"{count:6} refused: {message}")
    assert not failed, f"replay with FUZZ_SEED='{' '.join(map(str, failed))}'"
