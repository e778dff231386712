"""Frames compared as the pandas at hand allows: before its third version, text is objects."""

from __future__ import annotations

import pandas as pd

#: Type of text in a frame that says nothing about it.
TEXT = str(pd.Series(["text"]).dtype)


def assert_frames_equal(found: pd.DataFrame, expected: pd.DataFrame, **options) -> None:
    """Compare frames; missing objects are None or NaN, as it happens."""
    pd.testing.assert_frame_equal(_one_marker(found), _one_marker(expected), **options)


def _one_marker(frame: pd.DataFrame) -> pd.DataFrame:
    frame = frame.copy()
    for name in frame.columns[frame.dtypes.astype(str) == "object"]:
        frame[name] = frame[name].where(frame[name].notna(), None)
    return frame
