"""Times as numbers: seconds since 1970-01-01 UTC, and lengths of time in seconds.

A float64 holds present dates to about a quarter of a microsecond. So every microsecond up to the
year 2242 survives the way to seconds and back, and nanoseconds survive for lengths of time below 48
days; finer digits than these are rounded away.
"""

from __future__ import annotations

import re
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesspn.arrays import Array

#: Ticks of each NumPy time unit in a second.
_TICKS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}

#: Steps in which times are recorded, in seconds: days down to nanoseconds.
_STEPS = (86_400.0, 3_600.0, 60.0, 1.0, 1e-3, 1e-6, 1e-9)

#: Below this many seconds a float64 tells nanoseconds apart.
_NANOSECONDS_BELOW = 2.0**22

#: First and last second that every library can show: the years 1 to 9999.
_FIRST, _LAST = -62_135_596_800.0, 253_402_300_799.0

_TIME_UNIT = re.compile(r"\[(s|ms|us|ns)\b")
_TIME_ZONE = re.compile(r", (?:tz=)?([^\]]+)\]")


def time_unit(dtype: str) -> str:
    """Unit of a time type; dates count in seconds.

    Examples
    --------
    >>> time_unit("datetime64[ms, UTC]"), time_unit("date")
    ('ms', 's')
    """
    found = _TIME_UNIT.search(dtype)
    return found.group(1) if found else "s"


def has_time_zone(dtype: str) -> bool:
    """Whether a time type names a time zone.

    Examples
    --------
    >>> has_time_zone("datetime64[us, Europe/Berlin]"), has_time_zone("datetime64[us]")
    (True, False)
    """
    return ", " in dtype


def time_zone(dtype: str) -> str | None:
    """Time zone that a time type names.

    Examples
    --------
    >>> time_zone("datetime64[us, Europe/Berlin]"), time_zone("datetime64[us]")
    ('Europe/Berlin', None)
    """
    found = _TIME_ZONE.search(dtype)
    return found.group(1) if found else None


def to_utc(moment: pd.Timestamp, zone: str) -> pd.Timestamp:
    """A moment of clocks in a time zone as one of UTC's, which it says nothing of.

    Raises
    ------
    ValueError
        If the clocks never showed it, or twice.

    Examples
    --------
    >>> to_utc(pd.Timestamp("2024-07-01 12:00"), "Europe/Berlin")
    Timestamp('2024-07-01 10:00:00')
    """
    try:
        # older versions of pandas know names by a library whose clocks begin in 1893
        named: Any = ZoneInfo(zone)
    except (ValueError, ZoneInfoNotFoundError):
        named = zone  # an offset
    local = moment.tz_localize(named, ambiguous="NaT", nonexistent="NaT")
    if local is pd.NaT:
        raise ValueError(f"clocks in {zone} do not show {moment} exactly once")
    return local.tz_convert("UTC").tz_localize(None)


def in_known_unit(times: NDArray[Any]) -> NDArray[Any]:
    """Times in seconds or in milli-, micro- or nanoseconds, whatever unit NumPy has them in."""
    unit, multiple = np.datetime_data(times.dtype)
    if unit in _TICKS and multiple == 1:
        return times
    nearest = unit if unit in _TICKS else "ns" if unit in ("ps", "fs", "as") else "s"
    return times.astype(f"{times.dtype.kind}8[{nearest}]")


def seconds_from_times(times: NDArray[Any]) -> Array:
    """Seconds of datetime64 or timedelta64 values, NaN where they are not a time; shape (rows,).

    Examples
    --------
    >>> seconds_from_times(np.array(["1970-01-02", "NaT"], dtype="datetime64[ms]"))
    array([86400.,    nan])
    """
    times = in_known_unit(times)
    ticks = _TICKS[np.datetime_data(times.dtype)[0]]
    # whole seconds and the rest apart: ticks as one float would lose the last digits
    whole, rest = np.divmod(times.astype(np.int64), ticks)
    return np.where(np.isnat(times), np.nan, whole + rest / ticks)


def times_from_seconds(seconds: Array, unit: str, kind: str, margin: float = 0.0) -> NDArray[Any]:
    """Times of a unit nearest to seconds; NaN becomes NaT.

    Seconds beyond what the unit can hold, and dates outside the years 1 to 9999, become the
    nearest time that can be held.

    Parameters
    ----------
    seconds : ndarray of shape (rows,)
    unit : {"s", "ms", "us", "ns"}
    kind : {"M", "m"}
        Dates (datetime64) or lengths of time (timedelta64).
    margin : float, default=0.0
        Seconds by which times stay away from the first and the last that can be held.

    Examples
    --------
    >>> times_from_seconds(np.array([0.25, np.nan]), "ms", "m")
    array([  250, 'NaT'], dtype='timedelta64[ms]')
    """
    missing = np.isnan(seconds)
    most = 2.0**63 / _TICKS[unit] - 1024.0
    low, high = (max(_FIRST, -most), min(_LAST, most)) if kind == "M" else (-most, most)
    seconds = np.clip(np.where(missing, 0.0, seconds), low + margin, high - margin)
    whole = np.floor(seconds)
    rest = np.rint((seconds - whole) * _TICKS[unit]).astype(np.int64)
    if unit == "ns":
        coarse = 1_000 * np.rint((seconds - whole) * 1e6).astype(np.int64)
        rest = np.where(np.abs(seconds) < _NANOSECONDS_BELOW, rest, coarse)
    times = (whole.astype(np.int64) * _TICKS[unit] + rest).astype(f"{kind}8[{unit}]")
    times[missing] = "NaT"
    return times


def step_of_seconds(seconds: Array) -> float:
    """The same as `recorded_step`, of times as seconds (rows,); as fine as floats can tell.

    Examples
    --------
    >>> step_of_seconds(np.array([86_400.0, 90_000.0])), step_of_seconds(np.array([0.25, 1.0]))
    (3600.0, 0.001)
    """
    noise = 4.0 * np.finfo(float).eps * float(np.abs(seconds).max())
    return next(
        (
            step
            for step in _STEPS
            if (np.abs(seconds - step * np.rint(seconds / step)) <= noise).all()
        ),
        _STEPS[-1],
    )


def recorded_step(times: NDArray[Any]) -> float:
    """Coarsest of days, hours, minutes, seconds, … in which all times are recorded, in seconds.

    Examples
    --------
    >>> recorded_step(np.array(["2024-01-01T12:00", "2024-01-01T12:30"], dtype="datetime64[us]"))
    60.0
    """
    times = in_known_unit(times[~np.isnat(times)])
    per_second = _TICKS[np.datetime_data(times.dtype)[0]]
    ticks = times.astype(np.int64)
    # the last step, one tick, divides everything
    return next(
        step
        for step in _STEPS
        if round(step * per_second) <= 1 or not np.any(ticks % round(step * per_second))
    )
