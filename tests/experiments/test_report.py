"""The report, from made-up lines."""

from pathlib import Path

import numpy as np
import pytest
import report
from gathering import newest, pool_seeds
from report import write_report
from report_studies import ahead, time_to
from results import Case, Result, Store

RNG = np.random.default_rng(0)
ROWS = RNG.normal(0.0, 1.0, size=300)


def make(experiment, data, method, mean, *, seed=0, error="", checkpoints=(), details=None, **more):
    scores = None if error else (ROWS + mean - ROWS.mean()).astype(np.float32)
    configuration = {"seconds": 2.0, **more}
    case = Case(experiment, data, method, seed, configuration)
    return Result(case, {"fit": 1.0, "score": 0.5}, scores, error, details or {}, list(checkpoints))


@pytest.fixture
def results(tmp_path):
    lines = [
        make("table1", "nltcs", "paper", -6.02, details={"evidence": {"3": [-9.0, 1.0]}}),
        make("table1", "nltcs", "wide", -5.95, details={"chain_means": [-5.96, -5.99]}),
        make("table1", "nltcs", "infinite", -5.99),
        make("table1", "nltcs", "expc", -6.5, checkpoints=[(1.0, -6.6), (3.0, -6.5)]),
        make("table1", "nltcs", "lace", 0.0, error="ValueError: a | b"),
        make(
            "table2", "wine", "wide", -2.0, details={"continuous_mean": 1.5, "resolutions": [0.1]}
        ),
        make("table2", "wine", "abda", -2.5),
        make("table2", "wine", "bgm", 1.0),
        make("table2", "wine", "recorded", -1.0),
        make("cost", "nltcs", "chains in turn", -5.9, checkpoints=[(1.0, -6.55), (8.0, -5.9)]),
    ]
    for seed in range(2):
        for share in (0.2, 0.8):
            for method, loss in (("wide", 1.0), ("learnspn", 4.0)):
                mean = -50.0 - loss * share - 0.1 * seed
                holes = {"kind": "rows", "share": share}
                lines.append(make("figure3", "tmovie", method, mean, seed=seed, **holes))
    for result in lines:
        Store(tmp_path / f"{result.case.experiment}.jsonl").add(result)
    return tmp_path


def test_report_shows_what_was_measured(results):
    output = results / "RESULTS.md"
    write_report(results, output)
    text = output.read_text()
    row = next(line for line in text.splitlines() if line.startswith("| nltcs | −6.00 | −6.02"))
    assert row.split(" | ")[3:8] == ["−6.020", "−5.960", "−5.950", "2", "−5.990"]
    assert "| wider class | 1 | 1 | 1 | 1 |" in text
    assert "| paper's grid, run by us | 1 | 0 | 0 | 0 |" in text
    assert "1 to 1 of 15 graphs were compared" in text
    assert "−6.500 ++" in text
    assert "| table1 | nltcs | lace | ValueError: a / b |" in text
    assert "| wine | −2.000 | – | −2.500 ++ |" in text
    assert "| wine | 1.500 | 1.000 |" in text
    assert "| wine | −1.000 | −8.62 | −8.65 | −10.12 | −0.13 |" in text
    assert "| tmovie, 20 % of rows | −50.25 ± 0.05 | −50.85 ± 0.05 | −51.78 |" in text
    # the paper's own graph was not run: no column; nats for a tenth of the rows
    assert "| tmovie | −0.10 | −0.40 | −0.18 |" in text
    # behind from 3 s, when the rival reports, until 8 s, when ours does
    assert "- nltcs: E-XPC (deeprob-kit), from 3.0 s to 8.0 s" in text
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


def test_seeds_are_averaged_by_their_chains():
    first = make("table1", "nltcs", "wide", -6.0, details={"chain_means": [-6.1, -6.2, -6.3]})
    second = make("table1", "nltcs", "wide", -5.0, seed=1, details={"chain_means": [-5.0]})
    rival, other = make("table1", "nltcs", "expc", -7.0), make("table1", "nltcs", "expc", -8.0)
    failed = make("table1", "nltcs", "wide", 0.0, seed=2, error="no")
    pooled, *rivals = pool_seeds([second, first, rival, other, failed])
    assert rivals == [rival, other]
    expected = np.log(0.75 * np.exp(-6.0) + 0.25 * np.exp(-5.0))
    assert pooled.mean == pytest.approx(expected, abs=1e-5)
    assert pooled.details["chain_means"] == [-6.1, -6.2, -6.3, -5.0]
    assert pooled.seconds == {"fit": 2.0, "score": 1.0}
    assert pool_seeds([failed]) == [failed]


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
