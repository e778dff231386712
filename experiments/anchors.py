"""Published figures: average test log-likelihoods, to compare with.

``anchors/table1.csv``, ``table2.csv`` and ``figure3.csv`` are of Trapp et al. (NeurIPS 2019): its
tables, and the coordinates plotted in its figure. ``later.csv`` is work after 2019: Liu & Van den
Broeck (2021; means of five logged runs, two of cr52 and c20ng cut short, which the column of best
epochs leaves out) and a preprint of 2026 with HCLTs of 100 states, read in logs or tables. Columns
named ``unverified`` are quoted from memory of Correia et al. (AAAI 2023) and may be off in the last
digit. ``cm_measured_2026`` are such continuous mixtures, rebuilt from that paper's description and
run by us on a GPU: 4 latent dimensions, 1,024 points in training and 8,192 in testing, train rows
for gradients, valid rows for stopping and for the choice between factorised and Chow-Liu leaves,
one seed, 4 to 130 s a set; they bear out the unverified columns to about 0.1 %.
``cm_ensemble_measured_2026`` averages the densities of five of them (three for kosarek, four for
plants and msweb): the counterpart of many chains. ``best_tractable_any`` is the best, to two
decimals, of ``best_to_date_2019`` and all columns here but the ensemble, which nobody published;
plants −11.84, bbc −229.21 and ad −14.00 could not be traced beyond the 2019 paper's own table.
"""

from __future__ import annotations

import csv
from pathlib import Path

_FOLDER = Path(__file__).parent / "anchors"

#: Data set to column to figure.
Figures = dict[str, dict[str, float]]

#: Columns that were not checked against a source.
UNVERIFIED = "unverified"

#: Continuous mixtures, run by us: one, and an ensemble.
MIXTURE, MIXTURES = "cm_measured_2026", "cm_ensemble_measured_2026"

#: Data sets whose best figures are the least certain.
_DOUBTFUL = ("plants", "bbc", "ad")


def _read(name: str) -> list[dict[str, str]]:
    with (_FOLDER / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def read_figures(name: str) -> Figures:
    """Figures of a table with one row per data set: "table1", "table2" or "later"."""
    return {
        row.pop("dataset"): {column: float(text) for column, text in row.items() if text}
        for row in _read(name)
    }


def read_missing() -> dict[tuple[str, str, int], float]:
    """Figures of the missing-value study by data set, method and percentage of rows."""
    return {
        (row["dataset"], row["method"], int(row["percent_rows_with_missing"])): float(
            row["test_loglik"]
        )
        for row in _read("figure3")
    }


def is_unverified(data: str, figure: float) -> bool:
    """Whether a best figure is doubtful, or only in columns that were not checked.

    Examples
    --------
    >>> is_unverified("accidents", -26.55)
    False
    >>> is_unverified("cr52", -81.17)
    True
    """
    columns = read_figures("later")[data] | read_figures("table1")[data]
    sources = [
        name
        for name, value in columns.items()
        if round(value, 2) == figure and name != "best_tractable_any"
    ]
    return data in _DOUBTFUL or all(UNVERIFIED in name for name in sources)


def best_of_paper(data: str) -> float:
    """The better of the paper's finite and infinite mixtures."""
    row = read_figures("table1")[data]
    return max(row["bspn"], row["bspn_infinite"])
