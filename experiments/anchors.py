"""Published figures: average test log-likelihoods, to compare with.

``anchors/table1.csv``, ``table2.csv`` and ``figure3.csv`` are of Trapp et al. (NeurIPS 2019): its
tables, and the coordinates plotted in its figure. ``later.csv`` is work after 2019: Liu & Van den
Broeck (2021) and a preprint of 2026 with HCLTs of 100 states, read in logs or tables; columns named
``unverified`` are quoted from memory of Correia et al. (AAAI 2023) and may be off in the last
digit. ``best_tractable_any`` is the best of all columns here and of ``best_to_date_2019``; it
inherits that doubt, and its plants and bbc entries are the least certain.
"""

from __future__ import annotations

import csv
from pathlib import Path

_FOLDER = Path(__file__).parent / "anchors"

#: Data set to column to figure.
Figures = dict[str, dict[str, float]]

#: Columns that were not checked against a source.
UNVERIFIED = "unverified"

#: Data sets whose best figures are the least certain.
_DOUBTFUL = ("plants", "bbc")


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
    >>> is_unverified("tmovie", -48.69)
    True
    """
    columns = read_figures("later")[data] | read_figures("table1")[data]
    sources = [
        name for name, value in columns.items() if value == figure and name != "best_tractable_any"
    ]
    return data in _DOUBTFUL or all(UNVERIFIED in name for name in sources)


def best_of_paper(data: str) -> float:
    """The better of the paper's finite and infinite mixtures."""
    row = read_figures("table1")[data]
    return max(row["bspn"], row["bspn_infinite"])
