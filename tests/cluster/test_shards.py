"""However rows are divided, wherever they are held and whatever dies: the same draws."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

import numpy as np
import pytest
from support import mixed_leaves, mixed_table

from bayesspn import Engine
from bayesspn.cluster import shards as cluster_shards
from bayesspn.cluster.messages import pack_circuit, unpack_circuit
from bayesspn.cluster.ray_workers import RayWorkers, share_cpus
from bayesspn.cluster.shards import WorkerShards
from bayesspn.cluster.tables import RayTable
from bayesspn.cluster.workers import LocalWorkers
from bayesspn.engine.row_sums import Address
from bayesspn.engine.shards import LocalShards
from bayesspn.estimators.training import placed_table
from bayesspn.graphs import RegionGraph
from bayesspn.inference.chains import run_chain, start_chain
from bayesspn.inference.circuits import draw_active_components, draw_parameters
from bayesspn.inference.warm_up import WarmUp, warm_up
from bayesspn.model.generative import Learned, Model
from bayesspn.numerics.random_numbers import Key
from bayesspn.rows.encoded import encode_rows
from bayesspn.tables import infer_schema
from bayesspn.tables.partitions import divide_rows
from bayesspn.tables.sources import ArraySource

X = mixed_table(0, 300)
SCHEMA = infer_schema(X)
LEAVES = mixed_leaves(X)
GRAPH = RegionGraph(2, (3, 1), sums=3, leaves=3, products="shared")
MODELS = {
    "finite": Model(GRAPH, LEAVES),
    "infinite": Model(GRAPH, LEAVES, concentration=Learned(1.0, 1.0)),
}
SWEEPS = 8


def run(model, rows, on_sweep=None):
    chain = start_chain(Key(3, 1), MODELS[model], rows)
    return run_chain(chain, rows, burn_in=2, draws=(SWEEPS - 2) // 2, thin=2, on_sweep=on_sweep)


@pytest.fixture(scope="module")
def undisturbed():
    return {model: run(model, encode_rows(LEAVES, X)) for model in MODELS}


def arrays_of(state):
    hyper = state.hyper
    more = [hyper.concentration] if hyper.concentration is not None else []
    return [
        *state.scope.y,
        *state.edge_counts,
        *state.statistics,
        *hyper[:3],
        *hyper.phi,
        *more,
    ]


def assert_same(one, two):
    assert one.trace == two.trace
    assert len(one.draws) == len(two.draws) > 0
    for state, other in zip((*one.draws, one.state), (*two.draws, two.state), strict=True):
        for a, b in zip(arrays_of(state), arrays_of(other), strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a, b)


def hold(workers, values=X, leaves=LEAVES):
    spans = divide_rows(len(values), len(workers))
    sources = [ArraySource(begin, values[begin:end]) for begin, end in spans]
    workers.call("read", [(source,) for source in sources], keep=True)
    return WorkerShards(workers, leaves, [end for _, end in spans])


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("shards", [1, 2, 7])
def test_draws_in_process_do_not_depend_on_shards(undisturbed, model, shards):
    assert_same(run(model, LocalShards(encode_rows(LEAVES, X), shards)), undisturbed[model])
    assert_same(run(model, hold(LocalWorkers(shards))), undisturbed[model])


def test_samples_of_rows_do_not_depend_on_shards():
    plan = WarmUp(("spread", "clustered"), 2, ((100, 2),))
    whole = LocalShards(encode_rows(LEAVES, X))
    expected = warm_up(Key(4), MODELS["finite"], whole, plan).state
    assert 60 < whole.sampled(100).n_rows < 140
    for shards in (1, 3):
        held = hold(LocalWorkers(shards))
        assert held.sampled(100).n_rows == whole.sampled(100).n_rows
        assert held.n_rows == len(X)
        drawn = (one.sampled(100).draw_ids(np.random.default_rng(0), 20) for one in (held, whole))
        np.testing.assert_array_equal(*drawn)
        found = warm_up(Key(4), MODELS["finite"], held, plan).state
        for a, b in zip(arrays_of(found), arrays_of(expected), strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    "shards", [pytest.param(n, marks=pytest.mark.long) if n != 2 else n for n in (1, 2, 7)]
)
def test_draws_on_ray_do_not_depend_on_shards(ray_cluster, undisturbed, shards):
    with placed_table(SCHEMA, X, "numpy", Engine("ray", shards=shards)) as table:
        rows = table.encode(LEAVES)
        assert len(set(table._workers.pids())) == shards
        for model in MODELS:
            assert_same(run(model, rows), undisturbed[model])


@pytest.mark.long
def test_workers_that_are_killed_between_sweeps_are_replaced(ray_cluster, undisturbed, caplog):
    workers = RayWorkers(2, len(X))
    rows = hold(workers)
    before = workers.pids()

    def kill(sweep, _):
        if sweep == 4:
            os.kill(victims.pop(), signal.SIGKILL)

    victims = list(before)
    for model in MODELS:
        assert_same(run(model, rows, kill), undisturbed[model])
    assert not set(before) & set(workers.pids())
    assert caplog.text.count("died and is replaced") == 2
    workers.close()


def test_a_worker_that_is_killed_during_a_row_pass_is_replaced(ray_cluster, caplog):
    many = np.tile(X, (40, 1))
    many[:, 2] += np.random.default_rng(0).normal(size=len(many))  # no two rows are alike
    leaves = mixed_leaves(many)
    graph = RegionGraph(3, (8, 1, 1), sums=16, leaves=16, products="shared")
    model, key = Model(graph, leaves), Key(0)
    alone = encode_rows(leaves, many)
    expected = run_chain(start_chain(key, model, alone), alone, draws=6)
    workers = RayWorkers(None, len(many))
    assert len(workers) == 2  # as many as there are CPUs
    rows = hold(workers, many, leaves)
    chain = run_chain(start_chain(key, model, rows), rows, draws=1)  # loads compiled code
    begin = time.monotonic()
    chain = run_chain(chain, rows, draws=1)
    seconds = time.monotonic() - begin
    victim = workers.pids()[1]
    # nearly all of a sweep is its row pass
    timer = threading.Timer(1.4 * seconds, os.kill, (victim, signal.SIGKILL))
    timer.start()
    chain = run_chain(chain, rows, draws=4)
    timer.join()
    assert caplog.text.count("the worker of shard 1 died and is replaced") == 1
    assert victim not in workers.pids()
    assert_same(chain, expected)
    workers.close()


@pytest.mark.long
def test_workers_may_die_while_rows_are_encoded(ray_cluster, undisturbed):
    workers = RayWorkers(2, len(X))
    call = workers.call

    def call_after_a_death(method, arguments, keep=False):
        if method in ("digest", "count", "encode"):
            (pid, *_) = call("pid", [()] * 2)
            os.kill(pid, signal.SIGKILL)
        return call(method, arguments, keep)

    workers.call = call_after_a_death
    assert_same(run("finite", hold(workers)), undisturbed["finite"])
    workers.close()


class DeadlySource:
    """Rows that kill whoever reads them."""

    first, n_rows = 0, 10

    def pieces(self):
        os.kill(os.getpid(), signal.SIGKILL)
        yield X


@pytest.mark.long
def test_a_shard_that_kills_all_its_workers_is_given_up(ray_cluster):
    import ray

    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    workers = RayWorkers(1, len(X))
    with pytest.raises(RuntimeError, match="shard 0 and 3 who replaced it died during 'read'"):
        workers.call("read", [(DeadlySource(),)])
    workers.close()
    ray.cloudpickle.unregister_pickle_by_value(sys.modules[__name__])


def test_errors_of_workers_arrive_as_they_are(ray_cluster):
    impossible = X.copy()
    impossible[200, 6] = -1.0  # a log-normal column
    with (
        placed_table(SCHEMA, impossible, "numpy", Engine("ray", shards=1)) as table,
        pytest.raises(ValueError, match="'column 6': value -1 is outside the support") as raised,
    ):
        table.encode(LEAVES)
    assert type(raised.value) is ValueError


def test_a_cluster_that_is_there_is_used_and_stays(ray_cluster):
    import ray

    workers = RayWorkers(None, 1, ray_cluster)
    assert len(workers) == 1  # there are no more rows
    workers.close()
    assert ray.is_initialized()
    with pytest.raises(ValueError, match=r"address is '1\.2\.3\.4:5'.*ray\.shutdown"):
        RayWorkers(1, 1, "1.2.3.4:5")


@pytest.mark.parametrize(
    ("cpus", "workers", "share"),
    [
        ([2], 1, 2.0),
        ([2], 2, 1.0),
        ([2], 3, 0.5),
        ([2], 7, 0.25),
        ([4, 4, 4], 4, 2.0),
        ([4, 4, 4], 17, 0.5),
        ([0, 16], 1, 16.0),
        ([1], 7, 0.1428),
    ],
)
def test_every_worker_finds_a_place(cpus, workers, share):
    assert share_cpus(cpus, workers) == share
    assert sum(int(count / share + 1e-9) for count in cpus) >= workers


def test_a_cluster_without_cpus_is_refused():
    with pytest.raises(RuntimeError, match="has a CPU to offer"):
        share_cpus([0], 1)


def test_bytes_moved_do_not_depend_on_rows():
    moved = []
    for values in (X, np.tile(X, (5, 1))):
        rows = hold(LocalWorkers(2), values)
        run("finite", rows)
        moved.append(rows.bytes_moved)
    assert moved[0] == moved[1] > 0


def test_circuits_travel_whole_and_can_be_written_to(undisturbed):
    model = MODELS["finite"]
    key, state = Key(0), undisturbed["finite"].state
    active = draw_active_components(Key(0), 0, model, state)
    circuit = draw_parameters(key, 1, model, active)
    message = pack_circuit(circuit)
    again = unpack_circuit(message, LEAVES)
    assert again.densities.leaves is LEAVES
    assert all(weights.flags.writeable for weights in again.log_weights)
    for a, b in zip(circuit.log_weights, again.log_weights, strict=True):
        np.testing.assert_array_equal(a, b)
    rows, address = encode_rows(LEAVES, X), Address(key.words(), 1)
    shards = LocalShards(rows)
    for a, b in zip(
        shards.row_pass(circuit, address).statistics,
        shards.row_pass(again, address).statistics,
        strict=True,
    ):
        np.testing.assert_array_equal(a, b)


def test_hashes_of_cells_do_not_depend_on_shards():
    alone = LocalShards(encode_rows(LEAVES, X)).cell_hashes()
    for shards in (1, 2, 7):
        np.testing.assert_array_equal(hold(LocalWorkers(shards)).cell_hashes(), alone)
    in_blocks = LocalShards(encode_rows(LEAVES, X, block_rows=20))
    np.testing.assert_array_equal(in_blocks.cell_hashes(), alone)
    swapped = X[np.r_[1, 0, 2 : len(X)]]
    differs = LocalShards(encode_rows(LEAVES, swapped)).cell_hashes() != alone
    different = [not np.array_equal(X[0, d], X[1, d], equal_nan=True) for d in range(X.shape[1])]
    np.testing.assert_array_equal(differs, different)
    zeros = np.where(X == 0, -0.0, X)
    np.testing.assert_array_equal(LocalShards(encode_rows(LEAVES, zeros)).cell_hashes(), alone)


def test_more_rows_than_can_be_counted_are_refused(monkeypatch):
    monkeypatch.setattr(cluster_shards, "MOST_ROWS", 299)
    with pytest.raises(ValueError, match="has 300 rows, more than the 299 that counts"):
        hold(LocalWorkers(2))


def test_values_come_from_whoever_holds_the_row():
    rows = hold(LocalWorkers(7))
    chosen = np.array([299, 0, 42, 43, 150, 0])
    np.testing.assert_array_equal(rows.values(chosen), X[chosen])


def test_cells_that_cannot_be_are_found_before_rows_are_sent():
    infinite = X.copy()
    infinite[3, 2] = np.inf
    with pytest.raises(ValueError, match="'column 2', row 3: the value is infinite"):
        RayTable(SCHEMA, infinite, "numpy", Engine("ray")).encode(LEAVES)


def test_without_ray_the_message_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ImportError, match=r'needs the package ray: pip install "bayesspn\[ray\]"'):
        RayWorkers(1, 1)
