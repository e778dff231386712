"""Commands to look at a model with: report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bayesspn.cli.errors import say
from bayesspn.cli.options import (
    ForceOption,
    FormatOption,
    JsonOption,
    ModelArgument,
    check_new_file,
    load_model,
)
from bayesspn.cli.output import print_json

if TYPE_CHECKING:
    import pandas as pd

    from bayesspn.cli.options import Format

TableOption = Annotated[
    Path | None,
    typer.Option(
        "--table",
        "-t",
        metavar="TABLE",
        help="Table to compare with, as a rule the one that was learned; models do not keep it.",
        show_default=False,
    ),
]


def report(
    model: ModelArgument,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="File for the report.")
    ],
    table: TableOption = None,
    title: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Title.", show_default="name of the model's file"),
    ] = None,
    force: ForceOption = False,
    chosen: FormatOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write a report: one HTML file with pictures, which needs no network.

    It tells about the columns, whether the chains agree, how well every column fits, which columns
    depend on each other, what is surprising, and answers some questions.

    For example: `bayesspn report patients.bspn --table patients.csv -o patients.html`
    """
    check_new_file(output, force)
    fitted = load_model(model)
    data = _read(table, chosen)
    from bayesspn.report import write_report

    write_report(fitted, output, data, title=title or model.stem)
    if as_json:
        print_json({"output": str(output), "bytes": output.stat().st_size})
    else:
        say(f"report written to {output}")


def _read(path: Path | None, chosen: Format | None) -> pd.DataFrame | None:
    if path is None:
        return None
    from bayesspn.tables import read_table

    return read_table(path, chosen)
