"""Commands to look at a model with: report, explore."""

from __future__ import annotations

import contextlib
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
from bayesspn.questions.wording import count

if TYPE_CHECKING:
    import pandas as pd

    from bayesspn.cli.options import Format
    from bayesspn.tables import Schema

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
    data = _read(table, chosen, fitted.schema_)
    from bayesspn.report import write_report

    write_report(
        fitted,
        output,
        data,
        title=title or model.stem,
        announce=lambda section: say(f"{section.lower()} …"),
    )
    if as_json:
        print_json({"output": str(output), "bytes": output.stat().st_size})
    else:
        say(f"report written to {output}")


def explore(
    model: ModelArgument,
    port: Annotated[
        int,
        typer.Option(
            min=0, max=65535, metavar="N", help="Port to listen at.", show_default="a free one"
        ),
    ] = 0,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")
    ] = True,
    table: TableOption = None,
    chosen: FormatOption = None,
) -> None:
    """Explore a model in the browser: set what is known, and see all columns answer.

    The page is served to this machine only. Its address has a random token, without which nothing
    is answered. Ctrl-C ends it.

    For example: `bayesspn explore patients.bspn --table patients.csv`
    """
    fitted = load_model(model)
    data = _read(table, chosen, fitted.schema_)
    from bayesspn.explorer import explore as serve

    def announce(address: str) -> None:
        print(address, flush=True)
        say("ready; Ctrl-C ends it")
        if browser:
            import threading
            import webbrowser

            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

    say(f"preparing {count(len(fitted.schema_), 'column')} …")
    with contextlib.suppress(KeyboardInterrupt):
        serve(fitted, port=port, name=str(model), table=data, announce=announce)


def _read(path: Path | None, chosen: Format | None, schema: Schema) -> pd.DataFrame | None:
    if path is None:
        return None
    from bayesspn.tables import read_table

    return read_table(path, chosen, schema=schema)
