"""``experiments/RESULTS.md`` and its figures, made from the lines of results alone.

    python experiments/report.py [--results FOLDER] [--output FILE] [--quick]

Nothing is edited afterwards. What has not been run is a dash, what failed is listed with its error.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import report_figures
from gathering import newest
from report_studies import cost_section, figure3_section
from report_table1 import plain_section, table1_section
from report_tables import failures_section, machine_section, table2_section
from results import Store
from running import HERE

_HEAD = """# Results

Made by `make results` from the lines of results; see `docs/experiments.md` for what is run and how.
Figures are average test log-likelihoods, higher is better. Published figures are quoted, all others
were measured by the commands named.
"""


def write_report(folder: Path, output: Path, suffix: str = "") -> None:
    """Write the report and its figures.

    Parameters
    ----------
    folder : Path
        Of the files of results.
    output : Path
        The report; figures go to a folder ``figures`` beside it.
    suffix : str, default=""
        Of the files' names.
    """
    every = {
        name: newest(Store(folder / f"{name}{suffix}.jsonl"))
        for name in ("table1", "table2", "figure3", "cost")
    }
    figures = output.parent / "figures"
    figures.mkdir(parents=True, exist_ok=True)
    missing = report_figures.draw_missing(every["figure3"], figures)
    cost = report_figures.draw_cost(every["cost"], every["table1"], figures)
    sections = [
        _HEAD.rstrip(),
        table1_section(every["table1"]),
        table2_section(every["table2"]),
        plain_section([*every["table1"], *every["table2"]]),
        figure3_section(every["figure3"], missing),
        cost_section(every["cost"], every["table1"], cost),
        failures_section([result for results in every.values() for result in results]),
        machine_section([result for results in every.values() for result in results]),
    ]
    output.write_text("\n\n".join(filter(None, sections)) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description="Make RESULTS.md.")
    parser.add_argument("--results", type=Path, default=HERE / "results")
    parser.add_argument("--output", type=Path, default=HERE / "RESULTS.md")
    parser.add_argument("--quick", action="store_true", help="from the results of quick runs")
    given = parser.parse_args()
    write_report(given.results, given.output, "-quick" if given.quick else "")
    print(f"wrote {given.output}")


if __name__ == "__main__":
    main()
