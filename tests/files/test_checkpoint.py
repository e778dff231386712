"""Checkpoints: whatever stops a fit, the next one goes on and ends with the same draws."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import load_file, save_file
from tqdm.auto import tqdm

import bayesspn
from bayesspn import BayesianSPN, RegionGraph
from bayesspn.estimators import fitting, joint
from bayesspn.files import atomic, checkpoints
from bayesspn.files.arrays import ModelFileError, checksum
from bayesspn.files.chains import load_chains
from bayesspn.tables import infer_schema

pytestmark = pytest.mark.filterwarnings("ignore:answers about")

SETTINGS = {"chains": 3, "burn_in": 4, "draws": 3, "thin": 2, "random_state": 0}
SWEEPS = 4 + 3 * 2
#: Sweeps of all chains, which go in step, before there is a draw.
FIRST_DRAW = 3 * 4 + 2


def make_table(rows: int = 80) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "length": rng.normal(size=rows),
            "price": rng.lognormal(size=rows).round(2),
            "kind": rng.choice(["a", "b", "c"], rows),
            "visits": rng.poisson(3.0, rows),
        }
    )
    table.loc[::9, "length"] = np.nan
    return table


TABLE = make_table()


@pytest.fixture(scope="module")
def undisturbed():
    return BayesianSPN(**SETTINGS).fit(TABLE)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "fit.checkpoint"


def fit(path, table=TABLE, **changed):
    return BayesianSPN(**SETTINGS | changed, checkpoint=path).fit(table)


def arrays_of(state):
    return (
        *state.scope.y,
        *state.edge_counts,
        *state.statistics,
        *state.hyper[:3],
        *state.hyper.phi,
    )


def assert_same(one, two):
    assert [len(c) for c in one.posterior_.draws] == [len(c) for c in two.posterior_.draws]
    for chain, other in zip(one.posterior_.draws, two.posterior_.draws, strict=True):
        for state, other_state in zip(chain, other, strict=True):
            for a, b in zip(arrays_of(state), arrays_of(other_state), strict=True):
                assert a.dtype == b.dtype
                np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(one.trace_, two.trace_)
    np.testing.assert_array_equal(one.score_samples(TABLE), two.score_samples(TABLE))
    assert one.rhat_ == pytest.approx(two.rhat_, nan_ok=True, rel=0)


def stop_after(function, calls, error=KeyboardInterrupt):
    left = [calls]

    def stopped(*arguments, **keywords):
        left[0] -= 1
        if left[0] < 0:
            raise error
        return function(*arguments, **keywords)

    return stopped


def sweeps_in(path):
    return [chain.sweep for chain in load_chains(path)[0]]


@pytest.mark.parametrize("sweeps", [0, 3, 12, FIRST_DRAW - 1, FIRST_DRAW + 4, 3 * SWEEPS - 2])
def test_a_fit_goes_on_after_ctrl_c(path, undisturbed, monkeypatch, sweeps):
    with monkeypatch.context() as patch:
        patch.setattr(fitting.tqdm, "update", stop_after(tqdm.update, sweeps))
        if sweeps + 1 < FIRST_DRAW:
            with pytest.raises(KeyboardInterrupt):
                fit(path)
        else:
            part = fit(path)
            assert part.posterior_.n_draws < 9
    # the sweep that was interrupted while it was shown is kept as well
    assert sum(sweeps_in(path)) == sweeps + 1
    assert_same(fit(path), undisturbed)


@pytest.mark.parametrize("rounds", [2, 6])
def test_parallel_fits_go_on_after_ctrl_c(path, undisturbed, monkeypatch, rounds):
    with monkeypatch.context() as patch:
        patch.setattr(fitting, "advance_chains", stop_after(fitting.advance_chains, rounds))
        if rounds < 5:
            with pytest.raises(KeyboardInterrupt):
                fit(path, n_jobs=2)
        else:
            fit(path, n_jobs=2)
    assert len(set(sweeps_in(path))) == 1
    assert_same(fit(path, n_jobs=2), undisturbed)


def test_n_jobs_may_change_between_runs(path, undisturbed, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(fitting.tqdm, "update", stop_after(tqdm.update, FIRST_DRAW + 1))
        fit(path)
    assert sweeps_in(path) == [4 + 2, 4 + 2, 4]
    with monkeypatch.context() as patch:
        patch.setattr(fitting, "advance_chains", stop_after(fitting.advance_chains, 0))
        fit(path, n_jobs=2)
    assert sweeps_in(path) == [6, 6, 6]
    assert_same(fit(path, progress=True), undisturbed)


def test_a_fit_goes_on_after_an_error(path, undisturbed, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(fitting.tqdm, "update", stop_after(tqdm.update, 20, RuntimeError("broken")))
        with pytest.raises(RuntimeError, match="broken"):
            fit(path)
    assert sum(sweeps_in(path)) == 21
    assert_same(fit(path), undisturbed)


def test_a_finished_fit_returns_at_once(path, undisturbed, monkeypatch):
    fit(path)
    content, written = path.read_bytes(), path.stat().st_mtime_ns
    monkeypatch.setattr("bayesspn.inference.chains.draw_sweep", None)
    again = fit(str(path), n_jobs=2)
    assert_same(again, undisturbed)
    assert again.schema_ == undisturbed.schema_
    assert (path.read_bytes(), path.stat().st_mtime_ns) == (content, written)
    assert list(path.parent.iterdir()) == [path]


def test_more_draws_continue_and_fewer_are_the_first(path, undisturbed):
    fit(path, draws=1)
    assert_same(fit(path), undisturbed)
    content = path.read_bytes()
    assert_same(fit(path, draws=2), BayesianSPN(**SETTINGS | {"draws": 2}).fit(TABLE))
    assert path.read_bytes() == content  # the longer chains are kept


def test_without_random_state_the_seed_is_that_of_the_file(path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(fitting.tqdm, "update", stop_after(tqdm.update, FIRST_DRAW))
        fit(path, random_state=None)
    seed = load_chains(path)[0][0].key.seed
    with monkeypatch.context() as patch:
        patch.setattr(joint, "draw_seed", lambda _: seed)
        whole = BayesianSPN(**SETTINGS).fit(TABLE)
    assert_same(fit(path, random_state=None), whole)


def test_checkpoints_are_written_at_intervals(path, monkeypatch):
    written = []
    save = checkpoints.save_chains

    def note(path, chains, more):
        written.append([chain.sweep for chain in chains])
        save(path, chains, more)

    monkeypatch.setattr(checkpoints, "save_chains", note)
    fit(path, chains=2)
    assert written[-1] == [SWEEPS, SWEEPS]
    assert len(written) <= 2  # slow writes do without that after the first chain
    path.unlink()
    written.clear()
    monkeypatch.setattr(checkpoints, "_INTERVAL", 0.0)
    monkeypatch.setattr(checkpoints, "_LARGEST_SHARE", np.inf)
    fit(path, chains=2)
    assert [sum(sweeps) for sweeps in written] == list(range(1, 2 * SWEEPS + 1))


def test_writing_takes_a_small_share_of_the_time(path, monkeypatch):
    clock, writes = [0.0], []

    def slow(path, chains, more):
        writes.append(clock[0])
        clock[0] += 2.0

    def tick(*_):
        clock[0] += 1.0

    monkeypatch.setattr(checkpoints, "save_chains", slow)
    monkeypatch.setattr(checkpoints, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr(fitting.tqdm, "update", tick)
    fit(path, chains=1, burn_in=150, thin=1)
    assert writes[0] == 30.0
    assert set(np.diff(writes[:-1])) == {42.0}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"burn_in": 7}, "burn_in is 7, in the file 4"),
        ({"thin": 1}, "thin is 1, in the file 2"),
        ({"chains": 2}, "chains is 2, in the file 3"),
        ({"random_state": 1}, "random_state is 1, in the file 0"),
        ({"random_state": np.random.RandomState(1)}, "random_state is of seed .*, in the file 0"),
        (
            {"graph": RegionGraph(2, (4, 1), sums=3, leaves=2, products="shared")},
            "sums is 3, in the file 6; leaves is 2, in the file 6",
        ),
        (
            {"graph": RegionGraph(2, (2, 1), sums=6, leaves=6, products="shared")},
            r"partitions is .*2.*, in the file .*4",
        ),
        ({"alpha": 0.5}, r"alpha is 0.5, in the file learned \(median"),
        (
            {"gamma": 0.7},
            "gamma is 'fixed', in the file 'learned'; gamma of column 'length' is 0.7",
        ),
        ({"table": TABLE[:-1]}, "the table has 79 rows, the file's had 80"),
        ({"table": TABLE.drop(columns="kind")}, r"the table's columns are \['length', 'price', 'v"),
        ({"table": TABLE[::-1]}, "another fit: the table has other cells; use"),
        ({"table": TABLE.assign(length=TABLE["length"].fillna(0.0))}, "the table has other cells"),
        (
            {"schema": infer_schema(TABLE).replace("price", families=("gaussian",))},
            r"families of column 'price' is \['gaussian'\], in the file",
        ),
    ],
)
def test_another_fit_is_told_what_differs(path, other_fit, changed, message):
    path.write_bytes(other_fit)
    with pytest.raises(ValueError, match=message) as raised:
        fit(path, **changed)
    assert str(raised.value).endswith("delete it to start afresh")
    assert path.read_bytes() == other_fit
    assert list(path.parent.iterdir()) == [path]


@pytest.fixture(scope="module")
def other_fit(tmp_path_factory):
    path = tmp_path_factory.mktemp("other") / "fit.checkpoint"
    fit(path)
    return path.read_bytes()


def refused(path, message):
    before = path.read_bytes()
    with pytest.raises(ModelFileError, match=message):
        fit(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("part", [0.0, 0.001, 0.5, 0.999])
def test_truncated_files_are_refused(path, other_fit, part):
    path.write_bytes(other_fit[: int(part * len(other_fit))])
    refused(path, "damaged or not a checkpoint of bayesspn .*; delete it to start afresh")


def test_foreign_files_are_refused(path, undisturbed):
    path.write_text("a,b\n1,2\n")
    refused(path, "damaged or not a checkpoint")
    save_file({"weight": np.zeros(3)}, path)
    refused(path, "holds tensors, but no checkpoint of bayesspn; name another file")
    undisturbed.save(path)
    refused(path, "is of the format 'bayesspn-model', not a checkpoint; name another file")
    path.unlink()
    fit(path)
    with pytest.raises(ModelFileError, match="not a model"):
        bayesspn.load(path)


def test_flipped_bytes_are_refused(path, other_fit):
    rng = np.random.default_rng(0)
    for _ in range(50):
        changed = bytearray(other_fit)
        changed[rng.integers(len(changed))] ^= 1 << int(rng.integers(8))
        path.write_bytes(changed)
        with pytest.raises(ModelFileError):
            load_chains(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.update(version=2), "newer bayesspn .file version 2.*update bayesspn"),
        (lambda d: d["chains"][0].update(sweeps=3), "damaged"),
        (lambda d: d["chains"][0].update(sweeps=-1), "damaged"),
        (lambda d: d["chains"][0].update(draws="4"), "damaged"),
        (lambda d: d["chains"][1].update(seed=1), "damaged"),
        (lambda d: d.update(chains=[]), "damaged"),
        (lambda d: d.update(more=None), "damaged"),
        (lambda d: d["more"]["plan"].update(thin=0), "damaged"),
        (lambda d: d["more"].update(burnt_in=0), "damaged"),
        (lambda d: d["more"].pop("cells"), "damaged"),
        (lambda d: d["graph"].update(depth=0), "damaged"),
    ],
)
def test_altered_descriptions_are_refused(path, other_fit, change, message):
    path.write_bytes(other_fit)
    length = int.from_bytes(other_fit[:8], "little")
    description = json.loads(json.loads(other_fit[8 : 8 + length])["__metadata__"]["bayesspn"])
    change(description)
    arrays, text = load_file(path), json.dumps(description)
    save_file(arrays, path, {"bayesspn": text, "sha256": checksum(text, arrays)})
    refused(path, message)


def test_places_that_cannot_be_written_are_found_out_first(tmp_path, monkeypatch):
    def never(*_, **__):
        raise AssertionError("sampling began")

    monkeypatch.setattr(joint, "sample_chains", never)
    with pytest.raises(FileNotFoundError, match=r"cannot be written .*folder that exists"):
        fit(tmp_path / "missing" / "fit.checkpoint")
    with pytest.raises(IsADirectoryError, match="is a folder; name a file in it"):
        fit(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError, match="cannot be written"):
        fit(tmp_path / "file" / "fit.checkpoint")
    with pytest.raises(OSError, match=r"cannot be written .*too long"):
        fit(tmp_path / ("x" * 300))
    with pytest.raises(TypeError, match="checkpoint must be a path or None, got int"):
        fit(3)

    def forbid(**_):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(checkpoints.tempfile, "TemporaryFile", forbid)
    with pytest.raises(PermissionError, match=r"cannot be written \(Permission denied\)"):
        fit(tmp_path / "fit.checkpoint")
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_a_full_disk_does_not_lose_the_sampling(path, undisturbed, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(fitting.tqdm, "update", stop_after(tqdm.update, 20))
        fit(path)
    before = path.read_bytes()

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(checkpoints, "_INTERVAL", 0.0)
        patch.setattr(atomic.os, "fsync", full)
        with pytest.warns(RuntimeWarning, match="No space left.*sampling goes on") as warned:
            model = fit(path)
    assert len([w for w in warned if w.category is RuntimeWarning]) == 1
    assert_same(model, undisturbed)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]
    assert_same(fit(path), undisturbed)


def test_the_progress_bar_starts_where_the_file_left_off(path, monkeypatch, capsys):
    with monkeypatch.context() as patch:
        patch.setattr(fitting.tqdm, "update", stop_after(tqdm.update, 20))
        fit(path)
    bars = []

    class Bar(tqdm):
        def __init__(self, *arguments, **keywords):
            super().__init__(*arguments, **keywords)
            bars.append((self.initial, self))

    monkeypatch.setattr(fitting, "tqdm", Bar)
    fit(path, progress=True)
    (initial, bar), *_ = bars
    assert (initial, bar.n, bar.total) == (21, 3 * SWEEPS, 3 * SWEEPS)
    shown = capsys.readouterr().err
    assert f"{3 * SWEEPS}/{3 * SWEEPS}" in shown
    assert "sweeps/s" in shown
    assert "log-likelihood" in shown


def test_the_trace_is_kept_and_saved(tmp_path, undisturbed, monkeypatch):
    assert undisturbed.trace_.shape == (3, SWEEPS)
    assert np.isfinite(undisturbed.trace_).all()
    undisturbed.save(tmp_path / "model.bspn")
    np.testing.assert_array_equal(bayesspn.load(tmp_path / "model.bspn").trace_, undisturbed.trace_)
    monkeypatch.setattr(fitting.tqdm, "update", stop_after(tqdm.update, 3 * SWEEPS - 2))
    part = fit(tmp_path / "fit.checkpoint").trace_
    np.testing.assert_array_equal(part[0], undisturbed.trace_[0])
    np.testing.assert_array_equal(part[2, :9], undisturbed.trace_[2, :9])
    assert np.isnan(part[2, 9:]).all()
    assert bayesspn.load(Path(__file__).parent / "model_v1.bspn").trace_.shape == (2, 8)


def test_a_model_with_a_checkpoint_can_be_saved(path, tmp_path):
    fit(path).save(tmp_path / "model.bspn")
    assert bayesspn.load(tmp_path / "model.bspn").checkpoint == str(path)


def test_abandoned_files_are_removed(path, monkeypatch):
    abandoned = path.with_name(f".{path.name}.abcd_123.partial")
    others = [path.with_name(name) for name in ("other.partial", f".{path.name}.mine.partial")]
    for file in (abandoned, *others):
        file.touch()
    fit(path)
    assert abandoned.exists()  # perhaps somebody is writing it
    os.utime(abandoned, (0, 0))
    path.unlink()
    fit(path)
    assert sorted(path.parent.iterdir()) == sorted([*others, path])


SCRIPT = """
import sys, warnings
warnings.simplefilter("ignore")
from bayesspn.files import checkpoints
from bayesspn.files import atomic
import numba
numba.set_num_threads(1)
checkpoints._INTERVAL, checkpoints._LARGEST_SHARE, atomic._ABANDONED_AFTER = 0.0, 1.0, 0.0
sys.path.insert(0, sys.argv[1])
from test_checkpoint import LONGER, fit
print("ready", flush=True)
fit(sys.argv[2], **LONGER, n_jobs=int(sys.argv[3]))
"""

LONGER = {"burn_in": 30, "draws": 15}


def kill_fit(path, seconds, *, after_writing=True, n_jobs=1):
    """Fit in another process and kill it so many seconds after it begins or first writes."""
    before = path.stat().st_mtime_ns if path.exists() else None
    command = [sys.executable, "-c", SCRIPT, str(Path(__file__).parent), str(path), str(n_jobs)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout.readline() == "ready\n"
        while after_writing and process.poll() is None:
            if path.exists() and path.stat().st_mtime_ns != before:
                break
            time.sleep(0.001)
        time.sleep(seconds)
        process.kill()
        with contextlib.suppress(ProcessLookupError):  # its workers would wait for minutes
            os.killpg(process.pid, signal.SIGKILL)


def assert_survives_kills(path, kills, **how):
    """Kill fits at random moments; the last one ends as if nothing had been. Sweeps after each."""
    rng = random.Random(0)
    progress = [0]
    for kill in range(kills):
        written = kill % 4 < 3
        # a sweep and its writing take milliseconds, and many kills are to find the fit under way
        kill_fit(path, rng.uniform(0.0, 0.02 if written else 0.3), after_writing=written, **how)
        others = [file for file in path.parent.iterdir() if file != path]
        assert len(others) <= 1  # what the last one was writing
        if path.exists():
            progress.append(sum(sweeps_in(path)))
    assert progress == sorted(progress)
    assert_same(fit(path, **LONGER), BayesianSPN(**SETTINGS | LONGER).fit(TABLE))
    return progress


def test_a_killed_fit_goes_on(path):
    assert assert_survives_kills(path, 2)[1] > 0


@pytest.mark.long
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_fits_killed_many_times_go_on(path, n_jobs):
    assert len(set(assert_survives_kills(path, 25, n_jobs=n_jobs))) > 5
