"""``bayesspn refit``: let a model learn a table that has changed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bayesspn.cli.errors import CommandError
from bayesspn.cli.fit import learn
from bayesspn.cli.options import (
    BurnInOption,
    ColumnsOption,
    DrawsOption,
    DropOption,
    ForceOption,
    FormatOption,
    JsonOption,
    ModelArgument,
    ProgressOption,
    QuietOption,
    SeedOption,
    TableArgument,
    ThinOption,
    TimeLimitOption,
    check_new_file,
    compare_columns,
    load_model,
    read_columns,
    wants_progress,
)
from bayesspn.estimators.defaults import BURN_IN, DRAWS, THIN


def refit(
    model: ModelArgument,
    table: TableArgument,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="MODEL", help="File for the new model.")
    ],
    columns: ColumnsOption = None,
    drop: DropOption = None,
    time_limit: TimeLimitOption = None,
    burn_in: BurnInOption = BURN_IN,
    draws: DrawsOption = DRAWS,
    thin: ThinOption = THIN,
    seed: SeedOption = None,
    progress: ProgressOption = None,
    quiet: QuietOption = False,
    force: ForceOption = False,
    chosen: FormatOption = None,
    as_json: JsonOption = False,
) -> None:
    """Learn a table that has changed, going on from where the chains of a model stand.

    Rows and columns may have come and gone, cells may have been edited. The result is that of
    fitting the table afresh, sooner. Columns that the model did not have are left out unless
    `--columns` names those to learn; a note names those that the table lacks.

    For example:

    `bayesspn refit patients.bspn patients-2027.csv -o patients-2027.bspn --time-limit 60`
    """
    from bayesspn import BayesianSPN

    check_new_file(output, force)
    fitted = load_model(model)
    if not isinstance(fitted, BayesianSPN):
        raise CommandError(
            f"{model} holds a {type(fitted).__name__}; refit goes on with what `bayesspn fit` wrote"
        )
    fitted.set_params(
        time_limit=time_limit,
        burn_in=burn_in,
        draws=draws,
        thin=thin,
        random_state=seed,
        progress=wants_progress(progress, quiet),
    )
    data = read_columns(table, chosen, columns, drop, fitted.schema_)
    compare_columns(table, data.columns.tolist(), fitted.schema_, bool(columns), drop)
    learn(fitted, fitted.refit, data, output, None, as_json=as_json, quiet=quiet)
