"""Settings shared by all tests."""

from __future__ import annotations

import numba
import pytest


@pytest.fixture(autouse=True)
def one_thread():
    """Tables in tests are tiny and test workers share the cores: threads would only wait."""
    threads = numba.get_num_threads()
    numba.set_num_threads(1)
    yield
    numba.set_num_threads(threads)


def pytest_terminal_summary(terminalreporter):
    """Show what tests measured."""
    for report in terminalreporter.stats.get("passed", []):
        for name, value in report.user_properties:
            terminalreporter.write_line(f"{name}: {value}")
