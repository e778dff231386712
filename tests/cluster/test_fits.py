"""Fits on a cluster: checkpoints outlive the driver, and may be continued by any engine."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from joblib._parallel_backends import ThreadingBackend
from tqdm.auto import tqdm

import bayesspn
from bayesspn import BayesianSPN, Engine
from bayesspn.estimators import fitting
from bayesspn.files.chains import load_chains

pytestmark = pytest.mark.filterwarnings("ignore:answers about")

SETTINGS = {"chains": 2, "burn_in": 15, "draws": 10, "thin": 2, "random_state": 0}


def make_table(rows: int = 150) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    table = pd.DataFrame(
        {
            "length": rng.normal(size=rows),
            "price": rng.lognormal(size=rows).round(2),
            "kind": rng.choice(["a", "b", "c"], rows),
            "visits": rng.poisson(30.0, rows),
        }
    )
    table.loc[::9, "length"] = np.nan
    return table


TABLE = make_table()


@pytest.fixture(scope="module")
def undisturbed():
    return BayesianSPN(**SETTINGS).fit(TABLE)


def assert_same(one, two):
    np.testing.assert_array_equal(one.trace_, two.trace_)
    assert [len(c) for c in one.posterior_.draws] == [len(c) for c in two.posterior_.draws]
    for chain, other in zip(one.posterior_.draws, two.posterior_.draws, strict=True):
        for state, other_state in zip(chain, other, strict=True):
            for a, b in zip(state.edge_counts, other_state.edge_counts, strict=True):
                np.testing.assert_array_equal(a, b)
            for a, b in zip(state.statistics, other_state.statistics, strict=True):
                np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(one.score_samples(TABLE), two.score_samples(TABLE))


SCRIPT = """
import sys, warnings
warnings.simplefilter("ignore")
from bayesspn.files import checkpoints
checkpoints._INTERVAL, checkpoints._LARGEST_SHARE = 0.0, 1.0
sys.path.insert(0, sys.argv[1])
from test_fits import SETTINGS, TABLE
from bayesspn import BayesianSPN, Engine
path, address = sys.argv[2:]
engine = Engine("ray", address=address, shards=2)
BayesianSPN(**SETTINGS, engine=engine, checkpoint=path).fit(TABLE)
"""


def kill_driver(path: Path, address: str) -> None:
    """Fit in a process that is killed soon after it first wrote its checkpoint."""
    command = [sys.executable, "-c", SCRIPT, str(Path(__file__).parent), str(path), address]
    with subprocess.Popen(command, start_new_session=True) as driver:
        while not path.exists() and driver.poll() is None:
            time.sleep(0.005)
        time.sleep(0.1)
        os.kill(driver.pid, signal.SIGKILL)
    assert driver.returncode == -signal.SIGKILL


def test_a_fit_whose_driver_was_killed_goes_on(tmp_path, ray_cluster, undisturbed):
    path = tmp_path / "fit.checkpoint"
    kill_driver(path, ray_cluster)
    sweeps = [chain.sweep for chain in load_chains(path)[0]]
    assert 0 < sum(sweeps) < 2 * 35
    copy = shutil.copy(path, tmp_path / "copy")
    settings = SETTINGS | {"engine": Engine("ray", shards=1), "checkpoint": path}
    assert_same(BayesianSPN(**settings).fit(TABLE), undisturbed)
    # a checkpoint does not mind who continues it
    assert_same(
        BayesianSPN(**SETTINGS, engine=Engine(shards=3), checkpoint=copy).fit(TABLE), undisturbed
    )


def test_a_local_fit_is_continued_by_files_on_a_cluster(
    tmp_path, ray_cluster, undisturbed, monkeypatch
):
    path, folder = tmp_path / "fit.checkpoint", tmp_path / "table"
    folder.mkdir()
    TABLE[:70].to_parquet(folder / "0.parquet")
    TABLE[70:].to_parquet(folder / "1.parquet")
    update, left = tqdm.update, [40]

    def stop(bar, _=1):
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return update(bar)

    with monkeypatch.context() as patch:
        patch.setattr(fitting.tqdm, "update", stop)
        BayesianSPN(**SETTINGS, checkpoint=path).fit(TABLE)
    assert [chain.sweep for chain in load_chains(path)[0]] == [21, 20]
    settings = SETTINGS | {"engine": Engine("ray", shards=2), "checkpoint": path}
    assert_same(BayesianSPN(**settings).fit(folder), undisturbed)
    with pytest.raises(ValueError, match="the table has 70 rows, the file's had 150"):
        BayesianSPN(**settings | {"engine": "local"}).fit(folder / "0.parquet")
    TABLE[:70][::-1].to_parquet(folder / "0.parquet")
    with pytest.raises(ValueError, match="the table has other cells"):
        BayesianSPN(**settings | {"engine": "local"}).fit(folder)


def test_a_model_of_shards_is_saved_and_loaded(tmp_path):
    settings = SETTINGS | {"draws": 1, "engine": Engine(shards=2)}
    model = BayesianSPN(**settings).fit(TABLE)
    model.save(tmp_path / "model.bspn")
    again = bayesspn.load(tmp_path / "model.bspn")
    assert again.engine == Engine(shards=2)
    np.testing.assert_array_equal(again.score_samples(TABLE), model.score_samples(TABLE))


@pytest.mark.long
def test_a_cluster_is_started_and_ended_with_the_fit(undisturbed, tmp_path):
    pytest.importorskip("ray")
    script = (
        "import sys, ray; sys.path.insert(0, sys.argv[1])\n"
        "from test_fits import SETTINGS, TABLE, BayesianSPN\n"
        "import warnings; warnings.simplefilter('ignore')\n"
        "model = BayesianSPN(**SETTINGS, engine='ray').fit(TABLE)\n"
        "assert not ray.is_initialized()\n"
        "print(repr(model.trace_.tolist()))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(Path(__file__).parent)],
        check=True,
        capture_output=True,
        text=True,
    )
    np.testing.assert_array_equal(eval(done.stdout), undisturbed.trace_)
    assert done.stderr == ""


def test_a_cluster_that_is_not_there_is_told(monkeypatch):
    ray = pytest.importorskip("ray")

    def init(address, **_):
        raise ConnectionError(f"could not find {address}")

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", init)
    with pytest.raises(ConnectionError, match=r"no Ray cluster at 'auto'; start one with `ray"):
        BayesianSPN(**SETTINGS, engine=Engine("ray", address="auto")).fit(TABLE)


class CountingBackend(ThreadingBackend):
    """A user's own backend."""

    calls = 0

    def submit(self, func, callback=None):
        type(self).calls += 1
        return super().submit(func, callback)


def test_a_backend_of_the_user_runs_the_chains(undisturbed):
    joblib.register_parallel_backend("counting", CountingBackend)
    with joblib.parallel_config("counting", n_jobs=2):
        model = BayesianSPN(**SETTINGS, engine=Engine(shards=2)).fit(TABLE)
    assert CountingBackend.calls > 0
    assert_same(model, undisturbed)
