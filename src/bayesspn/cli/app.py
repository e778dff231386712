"""The commands and what they share: version, debugging, help."""

from __future__ import annotations

from typing import Annotated

import typer

from bayesspn import __version__
from bayesspn.cli.ask import AskCommand, ask
from bayesspn.cli.errors import GuardedGroup
from bayesspn.cli.fit import fit
from bayesspn.cli.inspect import demo, schema, summary
from bayesspn.cli.pages import explore, report
from bayesspn.cli.predict import predict
from bayesspn.cli.refit import refit
from bayesspn.cli.rows import impute, sample, score
from bayesspn.cli.select import select

app = typer.Typer(
    cls=GuardedGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"bayesspn {__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show where in the code an error comes from.")
    ] = False,
) -> None:
    """Learn the joint distribution of a table, and ask questions about it.

    `bayesspn fit patients.csv -o patients.bspn` learns a table;
    `bayesspn ask patients.bspn "ill | age > 60"` asks.

    Tables are CSV, TSV (also compressed) or Parquet by the ending of their name; `-` is standard
    input or output.
    """


app.command()(fit)
app.command()(refit)
app.command()(select)
app.command()(score)
app.command()(predict)
app.command()(sample)
app.command()(impute)
app.command(cls=AskCommand)(ask)
app.command()(summary)
app.command()(schema)
app.command()(report)
app.command()(explore)
app.command()(demo)
