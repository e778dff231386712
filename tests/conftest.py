"""Settings shared by all tests."""

from __future__ import annotations

import logging
import os
import re

import numba
import pytest
from hypothesis import HealthCheck, settings

# the same examples on every run and every machine; a file of properties takes seconds
settings.register_profile(
    "same",
    derandomize=True,
    deadline=None,
    max_examples=100,
    suppress_health_check=[HealthCheck.too_slow],
)
# HYPOTHESIS_PROFILE=many: other examples every time, and many of them
settings.register_profile(
    "many", settings.get_profile("same"), derandomize=False, max_examples=3_000, database=None
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))

#: The reason for which tests in a browser are skipped.
NO_BROWSER = re.compile(r"no browser: ([^'\"]+)")


@pytest.fixture(autouse=True)
def one_thread():
    """Tables in tests are tiny and test workers share the cores: threads would only wait."""
    threads = numba.get_num_threads()
    numba.set_num_threads(1)
    yield
    numba.set_num_threads(threads)


def pytest_terminal_summary(terminalreporter):
    """Show what tests measured, and that nobody has looked at the explorer's page."""
    for report in terminalreporter.stats.get("passed", []):
        for name, value in report.user_properties:
            terminalreporter.write_line(f"{name}: {value}")
    skipped = [str(report.longrepr) for report in terminalreporter.stats.get("skipped", [])]
    reasons = {reason[1] for reason in map(NO_BROWSER.search, skipped) if reason}
    if reasons:
        terminalreporter.write_sep("!", "THE BROWSER TESTS DID NOT RUN", red=True, bold=True)
        terminalreporter.write_line(
            f"{', '.join(sorted(reasons))}: the explorer's page is not tested. Install Chromium "
            "(Debian: apt-get install chromium) or let CHROMIUM name it; see CONTRIBUTING.md."
        )


@pytest.fixture(scope="session")
def people_table():
    """A table with a column of every kind, for all tests that show a model."""
    from pictured import people

    return people()


@pytest.fixture(scope="session")
def people_model(people_table):
    """A small model of it, fitted once."""
    from pictured import fit

    return fit(people_table)


@pytest.fixture(scope="session")
def ray_cluster():
    """One Ray cluster of several worker processes on this machine, for all tests that need one."""
    ray = pytest.importorskip("ray")
    ray.init(
        "local",
        num_cpus=2,
        object_store_memory=150_000_000,
        include_dashboard=False,
        log_to_driver=False,
        logging_level=logging.ERROR,
    )
    yield ray.get_runtime_context().gcs_address
    ray.shutdown()
