"""The report, from made-up lines."""

from pathlib import Path

import numpy as np
import pytest
import report
from gathering import find, find_plain, gather, is_earlier, newest, pool
from report import write_report
from report_studies import ahead, time_to
from results import Case, Result, Store

from bayesspn import RegionGraph
from bayesspn.estimators.plans import FitPlan
from bayesspn.inference.warm_up import WarmUp

RNG = np.random.default_rng(0)
ROWS = RNG.normal(0.0, 1.0, size=300)


def make(experiment, data, method, mean, *, seed=0, error="", checkpoints=(), details=None, **more):
    scores = None if error else (ROWS + mean - ROWS.mean()).astype(np.float32)
    configuration = {"seconds": 2.0, **more}
    case = Case(experiment, data, method, seed, configuration)
    return Result(case, {"fit": 1.0, "score": 0.5}, scores, error, details or {}, list(checkpoints))


PLAN = FitPlan(RegionGraph(2, (4, 1), sums=8, leaves=8), WarmUp(("spread",)), 45, 100, 3, 4, 7)


def call(experiment, data, mean, *, method="ours", seconds=60.0, chains=(-6.5,), **more):
    """A line of the present version."""
    details = {
        "plan": PLAN.to_json(),
        "warned": more.get("seed") == 1,
        "chain_means": list(chains),
        "seconds_per_1000_rows": 0.25,
        "edges": 8960,
        **more.pop("details", {}),
    }
    return make(experiment, data, method, mean, details=details, seconds=seconds, call="a", **more)


@pytest.fixture
def results(tmp_path):
    wine = {"continuous_mean": 1.5, "resolutions": [0.1]}
    lines = [
        make("table1", "nltcs", "paper", -6.02, details={"evidence": {"3": [-9.0, 1.0]}}),
        make("table1", "nltcs", "wide", -5.97, details={"chain_means": [-5.96, -5.99]}),
        make("table1", "nltcs", "infinite", -5.5),
        call("table1", "nltcs", -5.99, method="infinite", seconds=600.0),
        call("table1", "nltcs", -5.94, chains=(-6.1, -6.2)),
        call("table1", "nltcs", -5.96, seed=1, chains=(-6.3, -6.2)),
        call("table1", "nltcs", -5.93, seconds=600.0),
        call("table1", "nltcs", -6.01, method="ours_train"),
        # 0.51 % below the earlier rule, and better than a continuous mixture but not an ensemble
        make("table1", "plants", "wide", -12.0),
        call("table1", "plants", -12.0 * 1.0051),
        make("table1", "nltcs", "expc", -6.5, checkpoints=[(1.0, -6.6), (3.0, -6.5)]),
        make("table1", "nltcs", "lace", 0.0, error="ValueError: a | b"),
        make("table2", "wine", "wide", -7.0, details=wine),
        call("table2", "wine", -2.0, details=wine),
        make("table2", "wine", "abda", -2.5),
        make("table2", "wine", "bgm", 1.0),
        make("table2", "wine", "recorded", -1.0),
        make("table2", "chess", "wide", -7.0, details={"resolutions": []}),
        call("cost", "nltcs", -6.55, seconds=2.0, checkpoints=[(1.0, -6.55)]),
        call("cost", "nltcs", -5.9, seconds=10.0, checkpoints=[(8.0, -5.9)]),
        make("cost", "nltcs", "chains in turn", -5.9, checkpoints=[(0.5, -5.0)]),
        make("cost", "plants", "chains in turn", -12.0, checkpoints=[(1.5, -12.0)]),
    ]
    for seed in range(2):
        for share in (0.2, 0.8):
            for method, loss in (("wide", 1.0), ("learnspn", 4.0)):
                mean = -50.0 - loss * share - 0.1 * seed
                holes = {"kind": "rows", "share": share}
                lines.append(make("figure3", "tmovie", method, mean, seed=seed, **holes))
    lines.append(call("figure3", "tmovie", -49.0, kind="rows", share=0.8))
    for result in lines:
        Store(tmp_path / f"{result.case.experiment}.jsonl").add(result)
    return tmp_path


@pytest.fixture
def text(results):
    write_report(results, results / "RESULTS.md")
    return (results / "RESULTS.md").read_text()


def cells(text, first):
    """Cells of the first line that begins with these."""
    line = next(line for line in text.splitlines() if line.startswith(first))
    return line.strip("| ").split(" | ")


def test_report_shows_every_limit_and_what_is_of_an_earlier_version(text):
    heads = cells(text, "| data set | paper, finite")
    shown = dict(zip(heads, cells(text, "| nltcs | −6.00 | −6.02"), strict=True))
    pooled = np.log((np.exp(-5.94) + np.exp(-5.96)) / 2)
    assert {name: shown[name] for name in heads[3:-4]} == {
        "paper's system, run by us": "−6.020†",
        "ours, 60 s": "−5.950 ± 0.014 (2)",
        "ours, 60 s, seeds pooled": f"−{-pooled:.3f}",
        "ours, 60 s, first chain alone": "−6.200 ± 0.141 (2)",
        "ours, 600 s": "−5.930",
        "ours, 600 s, first chain alone": "−6.500",
        "ours, train rows only, 60 s": "−6.010",
        "infinite": "−5.990",
        "earlier rule, 2.0 s": "−5.970",
    }
    assert (shown["one continuous mixture"], shown["ensemble of continuous mixtures"]) == (
        "−5.998",
        "–",
    )
    assert "the infinite mixture 10 min 0 s" in text
    assert "1 to 1 of 15 graphs were compared" in text


def test_report_counts_column_by_column(text):
    counted = {
        title: cells(text, f"| {title} | ")[1:]
        for title in ("ours, 60 s", "paper's system, run by us", "earlier rule, 2.0 s")
    }
    assert counted["ours, 60 s"] == ["2 of 2", "1 of 2", "1 of 2", "2 of 2", "1 of 1"]
    assert counted["paper's system, run by us"] == ["0 of 1"] * 4 + ["0 of 0"]
    assert counted["earlier rule, 2.0 s"] == ["2 of 2", "0 of 2", "0 of 2", "2 of 2", "1 of 1"]
    assert "or within 0.5 % of it, on 1 of 2 data sets" in text


def test_report_shows_what_the_plain_call_did(text):
    did = ["nltcs", "4·1 × 8 cross", "45", "100", "3", "1.0", "0.25", "8,960", "1 of 2"]
    assert cells(text, "| nltcs | 4·1") == did


def test_report_shows_rivals_and_studies(results, text):
    assert cells(text, "| nltcs | −5.940 |")[:3] == ["nltcs", "−5.940", "−6.500 ++"]
    assert "ours 2.0 s to 60.0 s, every rival 2.0 s" in text
    assert "| table1 | nltcs | lace | ValueError: a / b |" in text
    assert "| wine | −2.000 | – | −2.500† ++ |" in text
    assert "| chess | −7.000† | – | – |" in text
    assert "| wine | 1.500 | 1.000 |" in text
    assert "| wine | −1.000† | −8.62 | −8.65 | −10.12 | −0.13 |" in text
    assert "| tmovie, 20 % of rows | −50.25 ± 0.07 (2)† | −50.85 ± 0.07 (2) | −51.78 |" in text
    assert "| tmovie, 80 % of rows | −49.00 | −53.25 ± 0.07 (2) | −52.85 |" in text
    # the paper's own graph was not run: no column; nats for a tenth of the rows
    assert "| tmovie | 0.21 | −0.40 | −0.18 |" in text
    # behind from 3 s, when the rival reports, until 8 s, when ours does
    assert "- nltcs: E-XPC (deeprob-kit), from 3.0 s to 8.0 s" in text
    assert cells(text, "| nltcs | ours | −6.00 |")[3:] == ["8.0", "−5.900", "8.0"]
    assert cells(text, "| plants | ours† |")[3:] == ["1.5", "−12.000", "1.5"]
    for name in ("missing-rows.svg", "cost.svg"):
        assert f"figures/{name}" in text
        assert "</svg>" in (results / "figures" / name).read_text()


def test_report_is_the_same_every_time(results):
    for name in ("b", "c"):
        (results / name).mkdir()
        write_report(results, results / name / "RESULTS.md")
    for name in ("RESULTS.md", "figures/missing-rows.svg", "figures/cost.svg"):
        assert (results / "b" / name).read_bytes() == (results / "c" / name).read_bytes()


def test_empty_folder_gives_an_empty_report(tmp_path):
    write_report(tmp_path, tmp_path / "RESULTS.md")
    assert (tmp_path / "RESULTS.md").read_text().startswith("# Results")


def test_newest_result_counts_and_failures_only_alone():
    first, second = make("table1", "nltcs", "wide", -6.0), make("table1", "nltcs", "wide", -5.0)
    failed = make("table1", "nltcs", "wide", 0.0, error="no")
    assert newest([first, second, failed]) == [second]
    assert newest([failed]) == [failed]


def test_limits_and_versions_stay_apart():
    old = make("table1", "nltcs", "paper", -6.0, seconds=60.0)
    short, long = (call("table1", "nltcs", -5.0, method="paper", seconds=s) for s in (60.0, 600.0))
    again = call("table1", "nltcs", -4.0, method="paper")
    assert newest([old, short, long, again]) == [old, again, long]
    row = gather([old, short, long])["nltcs"]
    assert find(row, "paper") == [long]
    assert find(row, "paper", 60.0) == [short]
    assert find(gather([old])["nltcs"], "paper", 60.0) == [old]
    assert (is_earlier(old), is_earlier(short)) == (True, False)
    assert not is_earlier(make("table1", "nltcs", "expc", -7.0))
    failed = call("table1", "nltcs", 0.0, method="paper", error="no", seed=1)
    assert gather([failed, short])["nltcs"] == {("paper", 60.0): [short]}


def test_seeds_are_averaged_by_their_chains():
    first = make("table1", "nltcs", "wide", -6.0, details={"chain_means": [-6.1, -6.2, -6.3]})
    second = make("table1", "nltcs", "wide", -5.0, seed=1, details={"chain_means": [-5.0]})
    pooled = pool([first, second])
    expected = np.log(0.75 * np.exp(-6.0) + 0.25 * np.exp(-5.0))
    assert pooled.mean == pytest.approx(expected, abs=1e-5)
    assert pooled.details["chain_means"] == [-6.1, -6.2, -6.3, -5.0]
    assert pooled.seconds == {"fit": 2.0, "score": 1.0}
    # what rivals are compared with: of an earlier version all seeds, else the first
    assert find_plain(gather([first, second])["nltcs"]).mean == pytest.approx(expected, abs=1e-5)
    plain = [call("table1", "nltcs", -4.0 - seed, seed=seed) for seed in (0, 1)]
    assert find_plain(gather([first, *plain])["nltcs"]) is plain[0]


def test_time_to_a_figure():
    points = [(1.0, -6.1), (2.0, -6.004), (3.0, -5.9)]
    assert time_to(points, -6.0) == 2.0  # published figures have two decimals
    assert time_to(points, -5.5) is None


def test_ahead_takes_the_last_score_at_every_budget():
    ours = [(1.0, -6.0), (10.0, -5.0)]
    assert ahead(ours, [(0.5, -5.9)]) == "from 2.0 s to 10.0 s"
    assert ahead(ours, [(0.5, -6.1), (20.0, -1.0)]) == ""  # beyond what ours was given
    # a rival that got worse has what it has then
    assert ahead(ours, [(3.0, -5.5), (4.0, -6.5)]) == "from 3.0 s to 4.0 s"


def test_published_report_is_what_the_published_lines_say(tmp_path):
    folder = Path(report.__file__).parent
    write_report(folder / "results", tmp_path / "RESULTS.md")
    assert (tmp_path / "RESULTS.md").read_text() == (folder / "RESULTS.md").read_text()
