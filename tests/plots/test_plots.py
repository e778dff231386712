"""Plots show what the model says, accept axes, and take any name for text."""

from __future__ import annotations

import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from pictured import HOSTILE_NAMES, IMAGE, LONG, MATHEMATICS, SCRIPT, fit, hostile_schema
from pictured import hostile_table as make_hostile_table

from bayesspn import BayesianSPN, plots
from bayesspn.plots._dependence import cluster
from bayesspn.questions.events import QuestionError

GRAPHS = pd.DataFrame(
    {"evidence": [-512.3, -498.1, -499.0], "standard_error": [1.2, 2.5, 1.0]},
    index=["depth 1", "depth 2", "<b>depth 3</b> $"],
)

ALL = {
    "check_column": lambda m, t, ax=None: plots.check_column(m, t, "income", tables=5, ax=ax),
    "check_pair": lambda m, t, ax=None: plots.check_pair(m, t, "age", "sex", tables=5, ax=ax),
    "conditional_map": lambda m, t, ax=None: plots.conditional_map(
        m, "age", "income", data=t, cells=6, ax=ax
    ),
    "density": lambda m, t, ax=None: plots.density(m, "income", "sex = F", data=t, ax=ax),
    "dependence": lambda m, t, ax=None: plots.dependence(m, ax=ax),
    "evidence": lambda m, t, ax=None: plots.evidence(GRAPHS, ax=ax),
    "filled": lambda m, t, ax=None: plots.filled(m, t, "income", ax=ax),
    "graph": lambda m, t, ax=None: plots.graph(m, ax=ax),
    "missing": lambda m, t, ax=None: plots.missing(m, t, ax=ax),
    "ranks": lambda m, t, ax=None: plots.ranks(m, ax=ax),
    "trace": lambda m, t, ax=None: plots.trace(m, ax=ax),
}


def test_every_plot_is_tested():
    assert set(ALL) == set(plots.__all__)


@pytest.mark.parametrize("name", ALL)
def test_plots_draw_on_axes_given_and_explain_themselves(name, model, table):
    figure, (left, right) = plt.subplots(1, 2)
    assert ALL[name](model, table, right) is right
    assert right.get_title(loc="left")
    reading = [text for text in right.texts if text.get_fontsize() == 8 and text.get_text()]
    assert reading, "no line says how to read the plot"
    assert not left.has_data()
    figure.canvas.draw()  # texts are laid out now, and may fail now
    documented = getattr(plots, name).__doc__
    assert "Reading help:" in documented


def test_density_draws_what_the_model_answers(model, table):
    ax = plots.density(model, "income", {"sex": "F"}, interval=0.8)
    told = model.distributions(["income"], {"sex": "F"}, interval=0.8)["income"].iloc[1:-1]
    width = told["to"] - told["from"]
    band, line = [patch for patch in ax.patches if hasattr(patch, "get_data")]
    np.testing.assert_allclose(line.get_data().values, told["probability"] / width)
    np.testing.assert_allclose(band.get_data().values, told["high"] / width)
    np.testing.assert_allclose(band.get_data().baseline, told["low"] / width)


def test_density_of_categories_has_a_dot_for_each(model):
    ax = plots.density(model, "sex", {"age": (20, 30)}, interval=0.8)
    told = model.distribution("sex", {"age": (20, 30)}, interval=0.8)
    np.testing.assert_allclose(ax.lines[0].get_xdata(), told["probability"])
    assert [text.get_text() for text in ax.get_yticklabels()] == ["F", "M"]


@pytest.mark.parametrize("column", ["age", "visits", "ill", "seen", "stay"])
def test_every_kind_of_column_is_drawn_over_its_histogram(model, table, column):
    ax = plots.density(model, column, data=table)
    ax.figure.canvas.draw()
    known = table[column].notna().sum()
    assert any(f"data, {known} rows" in text.get_text() for text in ax.get_legend().get_texts())
    plots.check_column(model, table, column, tables=3).figure.canvas.draw()


def test_histogram_counts_the_rows_that_agree_with_what_is_given(model, table):
    ax = plots.density(model, "visits", {"sex": "F"}, data=table)
    rows = int((table["sex"] == "F").sum())
    assert any(f"data, {rows} rows" in text.get_text() for text in ax.get_legend().get_texts())


def test_histogram_is_left_out_when_hardly_any_row_agrees(model, table):
    ax = plots.density(model, "visits", {"age": 20}, data=table)
    assert not any("data" in text.get_text() for text in ax.get_legend().get_texts())


def test_strips_of_a_map_are_conditional_distributions(model):
    ax = plots.conditional_map(model, "sex", "ill")
    image = ax.collections[0].get_array().reshape(2, 2)
    for strip, sex in enumerate(("F", "M")):
        told = model.distribution("ill", {"sex": sex})["probability"]
        np.testing.assert_allclose(image[:, strip], told / told.max())


def test_synthetic_tables_of_the_model_pass_the_checks_and_others_do_not(model):
    drawn = model.replicates(300, 30, random_state=1)
    mine, others = drawn[0], drawn[1:]
    strange = mine.assign(sex="F")
    shares = {}
    for name, data in (("mine", mine), ("strange", strange)):
        ax = plots.check_pair(model, data, "sex", "ill", replicates=others)
        shares[name] = np.abs(ax.collections[0].get_array()).max()
    assert shares["mine"] < 4 < shares["strange"]


def test_dotted_parts_are_those_without_columns_or_rows(model):
    ax = plots.graph(model, chain=1, draw=0)
    scope = model.posterior_.draws[1][0].scope
    leaf_scopes = scope.region_scopes[-1]
    texts = [text.get_text() for text in ax.texts]
    assert texts.count("no column") == (~leaf_scopes.any(axis=1)).sum()
    dotted = [line for line in ax.lines if line.get_linestyle() == ":"]
    assert len(dotted) >= texts.count("no column")


def test_names_stand_together_that_go_together():
    strength = pd.DataFrame(np.eye(4), index=list("abcd"), columns=list("abcd"))
    for one, other in ("ac", "bd"):
        strength.loc[one, other] = strength.loc[other, one] = 0.9
    order = [list("abcd")[k] for k in cluster(strength)]
    assert {frozenset(order[:2]), frozenset(order[2:])} == {frozenset("ac"), frozenset("bd")}


def test_graphs_as_good_as_the_best_are_told_apart_from_worse_ones():
    ax = plots.evidence(GRAPHS)
    assert [text.get_text() for text in ax.get_yticklabels()] == [
        "depth 2",
        "<b>depth 3</b> $",
        "depth 1",
    ]
    assert [len(line.get_xdata()) for line in (c.lines[0] for c in ax.containers)] == [2, 1]


def test_hostile_names_are_drawn_as_text(model):
    table = make_hostile_table()
    hostile = fit(table, hostile_schema(), chains=1)
    axes = [
        plots.density(hostile, SCRIPT, {MATHEMATICS: MATHEMATICS}, data=table),
        plots.density(hostile, IMAGE, {SCRIPT: [SCRIPT, LONG]}, data=table),
        plots.conditional_map(hostile, SCRIPT, IMAGE, data=table, cells=5),
        plots.check_column(hostile, table, SCRIPT, tables=3),
        plots.check_pair(hostile, table, MATHEMATICS, SCRIPT, tables=3),
        plots.dependence(hostile),
        plots.graph(hostile),
        plots.missing(hostile, table),
        plots.filled(hostile, table, SCRIPT),
    ]
    for ax in axes:
        ax.figure.canvas.draw()
        for text in ax.findobj(plt.Text):
            assert len(text.get_text()) < 300
            if any(name[:8] in text.get_text() for name in HOSTILE_NAMES):
                assert not text.get_parse_math()
    ticks = [text.get_text() for text in axes[0].get_yticklabels()]
    assert ticks[0] == SCRIPT[:23] + "…"
    assert ticks[3] == MATHEMATICS


@pytest.mark.parametrize(
    ("ask", "error", "words"),
    [
        (lambda m, t: plots.density(m, "agee"), ValueError, "agee"),
        (lambda m, t: plots.density(t, "age"), TypeError, "fitted model"),
        (lambda m, t: plots.density(m, "age", data=t[["sex"]]), ValueError, "no column 'age'"),
        (lambda m, t: plots.conditional_map(m, "age", "age"), QuestionError, "twice"),
        (lambda m, t: plots.check_pair(m, t, "age", "age"), QuestionError, "twice"),
        (lambda m, t: plots.filled(m, t, "visits"), ValueError, "no missing cells"),
        (lambda m, t: plots.ranks(m, "gamma"), ValueError, "log_likelihood"),
        (lambda m, t: plots.graph(m, chain=5), ValueError, "chain is 5"),
        (lambda m, t: plots.dependence(m, measure="x"), ValueError, "measure must be"),
        (lambda m, t: plots.evidence(t), ValueError, "lacks the column 'evidence'"),
        (lambda m, t: plots.check_column(m, t[:0], "age"), ValueError, "no rows"),
        (lambda m, t: plots.missing(m, t[:0]), ValueError, "no rows"),
    ],
)
def test_bad_input_is_refused_in_words(model, table, ask, error, words):
    with pytest.raises(error, match=words):
        ask(model, table)


def test_plots_take_arrays_and_other_libraries(model, table):
    polars = pytest.importorskip("polars")
    other = polars.from_pandas(table)
    ax = plots.density(model, "visits", data=other)
    assert any("120 rows" in text.get_text() for text in ax.get_legend().get_texts())


def test_without_matplotlib_plots_say_what_to_install():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "try:\n    from bayesspn import plots\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'bayesspn[plots]'" in done.stdout


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_traces_of_fits_of_open_length_show_their_burn_in(people_table):
    model = BayesianSPN(chains=2, draws=3, time_limit=2, random_state=0).fit(people_table)
    ax = plots.trace(model)
    assert ax.patches[0].get_width() == pytest.approx(model.plan_.burn_in)
