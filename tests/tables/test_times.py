"""Times: what a float holds of them."""

from __future__ import annotations

import numpy as np
import pytest

from bayesspn.tables.times import (
    in_known_unit,
    recorded_step,
    seconds_from_times,
    times_from_seconds,
)


@pytest.mark.parametrize("kind", ["M", "m"])
@pytest.mark.parametrize(
    ("unit", "largest"),
    [("s", 2**36), ("ms", 10**3 * 2**36), ("us", 10**6 * 2**33), ("ns", 10**9 * 2**22)],
)
def test_times_of_every_unit_survive_the_way_to_seconds_and_back(kind, unit, largest):
    if kind == "M" and unit in ("s", "ms"):
        largest //= 2  # the years 1 to 9999
    rng = np.random.default_rng(0)
    ticks = np.append(rng.integers(-largest // 2, largest, 10_000), [0, 1, -1, largest - 1])
    times = ticks.astype(f"{kind}8[{unit}]")
    seconds = seconds_from_times(times)
    np.testing.assert_array_equal(times_from_seconds(seconds, unit, kind), times)


def test_microseconds_counted_in_nanoseconds_survive_up_to_the_year_2242():
    rng = np.random.default_rng(0)
    times = (1_000 * rng.integers(10**6 * 2**32, 10**6 * 2**33, 10_000)).astype("M8[ns]")
    np.testing.assert_array_equal(times_from_seconds(seconds_from_times(times), "ns", "M"), times)


def test_nanoseconds_of_present_dates_are_rounded_to_microseconds():
    times = np.array(["2024-02-29T01:02:03.123456789", "2024-02-29T01:02:03.123456"], "M8[ns]")
    back = times_from_seconds(seconds_from_times(times), "ns", "M")
    assert back.astype(str).tolist() == [
        "2024-02-29T01:02:03.123457000",
        "2024-02-29T01:02:03.123456000",
    ]


def test_units_that_no_library_has_are_converted():
    for unit, known in {"D": "s", "h": "s", "10us": "us", "ps": "ns", "W": "s", "ms": "ms"}.items():
        times = np.array([30_000], dtype=f"m8[{unit}]")
        converted = in_known_unit(times)
        assert converted.dtype == f"m8[{known}]"
        assert converted == times


def test_a_step_of_a_nanosecond_is_the_finest():
    assert recorded_step(np.array([1, 1000], "m8[ns]")) == 1e-9
    assert recorded_step(np.array([1_000, 5_000], "m8[ns]")) == 1e-6
    assert recorded_step(np.array([1, 48], "m8[h]")) == 3_600.0
