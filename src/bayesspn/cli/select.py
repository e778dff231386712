"""``bayesspn select``: choose the graph of a table by evidence."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayesspn.cli.errors import INTERRUPTED, say
from bayesspn.cli.options import (
    BurnInOption,
    ChainsOption,
    CheckpointOption,
    ColumnsOption,
    DrawsOption,
    DropOption,
    ForceOption,
    FormatOption,
    JsonOption,
    ProgressOption,
    QuietOption,
    SchemaOption,
    SeedOption,
    TableArgument,
    ThinOption,
    TimeLimitOption,
    check_new_file,
    load_schema,
    read_columns,
    wants_progress,
)
from bayesspn.cli.output import align, frame_rows, print_json
from bayesspn.estimators.defaults import BURN_IN, CHAINS, DRAWS, THIN
from bayesspn.questions.wording import count, describe_agreement, show

if TYPE_CHECKING:
    import pandas as pd

_SCORES = "Scores"

#: Columns of the table that fit on a screen; the others are in the names, or in --json.
_SHOWN = ("evidence", "standard_error", "weight", "loo", "loo_error", "loo_bad", "rhat", "sweeps")


def read_grid(text: str) -> Any:
    """Read a grid of graphs written as JSON."""
    try:
        grid = json.loads(text)
    except ValueError as error:
        raise typer.BadParameter(f"{text!r} is not JSON ({error})") from None
    if not isinstance(grid, dict | list):
        raise typer.BadParameter(f"{text!r} is no JSON object, such as '{{\"depth\": [0, 1]}}'")
    return grid


def select(
    table: TableArgument,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="MODEL",
            help="File for the model of the best graph; none is written if not given.",
            show_default=False,
        ),
    ] = None,
    grid: Annotated[
        str | None,
        typer.Option(
            parser=read_grid,
            metavar="JSON",
            help='Graphs to choose from, such as `{"depth": [0, 1], "sums": [4, 8]}`; a few that '
            "suit the table if not given.",
            show_default=False,
        ),
    ] = None,
    sweeps: Annotated[
        int,
        typer.Option(metavar="N", min=8, help="Sweeps of the last stage.", rich_help_panel=_SCORES),
    ] = 320,
    runs: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=2,
            help="Independent runs of every estimate.",
            rich_help_panel=_SCORES,
        ),
    ] = 4,
    loo: Annotated[
        bool,
        typer.Option(
            "--loo/--no-loo",
            help="Leave-one-out of all graphs of the last stage; needs ArviZ.",
            rich_help_panel=_SCORES,
        ),
    ] = True,
    schema: SchemaOption = None,
    columns: ColumnsOption = None,
    drop: DropOption = None,
    time_limit: TimeLimitOption = None,
    chains: ChainsOption = CHAINS,
    burn_in: BurnInOption = BURN_IN,
    draws: DrawsOption = DRAWS,
    thin: ThinOption = THIN,
    seed: SeedOption = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Cores to use; -1 means all.", show_default="1 graph at a time"
        ),
    ] = None,
    checkpoint: CheckpointOption = None,
    progress: ProgressOption = None,
    quiet: QuietOption = False,
    force: ForceOption = False,
    chosen: FormatOption = None,
    as_json: JsonOption = False,
) -> None:
    """Choose the graph of a table by evidence, and print what speaks for which.

    Hopeless graphs are stopped early. Ctrl-C ends the scoring and fits the best so far, once every
    graph has been through the first stage.

    For example:

    `bayesspn select patients.csv --drop name --seed 1 --jobs -1 -o patients.bspn`

    `bayesspn select patients.csv --grid '{"depth": [0, 1, 2]}' --checkpoint graphs.jsonl --json`
    """
    from bayesspn import BayesianSPN, select_graph

    if output is not None:
        check_new_file(output, force)
    described = load_schema(schema)
    data = read_columns(table, chosen, columns, drop, described)
    estimator = BayesianSPN(
        time_limit=time_limit,
        chains=chains,
        burn_in=burn_in,
        draws=draws,
        thin=thin,
        schema=described,
    )
    begin = time.perf_counter()
    try:
        selection = select_graph(
            data,
            grid,
            estimator=estimator,
            sweeps=sweeps,
            runs=runs,
            loo=loo,
            n_jobs=jobs,
            random_state=seed,
            progress=wants_progress(progress, quiet),
            checkpoint=checkpoint,
        )
    except KeyboardInterrupt:
        again = "" if checkpoint is None else f"; the same command goes on from {checkpoint}"
        say(f"interrupted before there was a choice{again}")
        raise typer.Exit(INTERRUPTED) from None
    seconds = round(time.perf_counter() - begin, 3)
    if output is not None:
        selection.model.save(output)
    if as_json:
        print_json(
            {
                "model": None if output is None else str(output),
                "rows": len(data),
                "columns": len(selection.model.schema_),
                "graphs": list(frame_rows(selection.table.reset_index())),
                "interrupted": selection.interrupted,
                "seconds": seconds,
            }
        )
    elif not quiet:
        print(_show(selection.table))
        print(f"\n{count(len(selection.table), 'graph')} scored in {seconds:.0f} s")
        if output is not None:
            print(f"{output}: {selection.table.index[0]}; {describe_agreement(selection.model)}")
    if selection.interrupted:
        raise typer.Exit(INTERRUPTED)


def _show(table: pd.DataFrame) -> str:
    shown = [name for name in _SHOWN if name in table.columns]
    rows = []
    for graph, stopped, *cells in table[["stopped_early", *shown]].itertuples(name=None):
        words = [
            f"{cell:.0%}" if name in ("weight", "loo_bad") and cell == cell else _show_cell(cell)
            for name, cell in zip(shown, cells, strict=True)
        ]
        rows.append((str(graph), *words, "stopped early" if stopped else ""))
    return align([("graph", *shown, ""), *rows])


def _show_cell(cell: float) -> str:
    return "" if cell != cell else show(round(cell, 2))
