"""One Ray cluster of several worker processes on this machine, for all tests that need one."""

from __future__ import annotations

import logging

import pytest


@pytest.fixture(scope="session")
def ray_cluster():
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
