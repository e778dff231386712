"""Commands that show what is there: summary, schema, demo."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayesspn.cli.errors import say
from bayesspn.cli.options import (
    ColumnsOption,
    DropOption,
    ForceOption,
    FormatOption,
    JsonOption,
    ModelArgument,
    TableArgument,
    check_new_file,
    find_columns,
    load_model,
    name_input,
    read_columns,
)
from bayesspn.cli.output import STREAM, align, frame_rows, print_json
from bayesspn.questions.wording import count, describe_agreement, show

if TYPE_CHECKING:
    import pandas as pd

    from bayesspn.estimators.joint import JointEstimator


def summary(model: ModelArgument, as_json: JsonOption = False) -> None:
    """Show what a model is: columns, network, chains, and whether the chains agree.

    For example: `bayesspn summary patients.bspn`
    """
    fitted = load_model(model)
    diagnostics = fitted.summary()
    if as_json:
        print_json(_describe(fitted, diagnostics))
        return
    sizes = [len(chain) for chain in fitted.posterior_.draws]
    draws = str(sizes[0]) if len(set(sizes)) == 1 else ", ".join(map(str, sizes))
    print(f"{type(fitted).__name__} of {count(len(fitted.schema_), 'column')}")
    print(
        f"{count(len(sizes), 'chain')} of {count(fitted.trace_.shape[1], 'sweep')}, "
        f"{draws} draws kept of each: {describe_agreement(fitted)}"
    )
    print(f"\n{fitted.schema_}\n\n{fitted.graph_}\n\n{_show_diagnostics(diagnostics)}")


def _describe(model: JointEstimator, diagnostics: pd.DataFrame) -> dict[str, Any]:
    from bayesspn.tables.schema_files import schema_to_json

    graph = model.graph_
    names = ("depth", "partitions", "children", "sums", "leaves", "products")
    rows = diagnostics.rename_axis("quantity").reset_index()
    return {
        "estimator": type(model).__name__,
        "columns": json.loads(schema_to_json(model.schema_))["columns"],
        "graph": {name: getattr(graph, name) for name in names},
        "chains": len(model.posterior_.draws),
        "sweeps": model.trace_.shape[1],
        "draws": [len(chain) for chain in model.posterior_.draws],
        "rhat": model.rhat_,
        "agreement": describe_agreement(model),
        "diagnostics": list(frame_rows(rows)),
    }


def _show_diagnostics(table: pd.DataFrame) -> str:
    header = ("quantity", *map(str, table.columns))
    rows = [
        (str(name), *(show(float(cell)) for cell in cells))
        for name, *cells in table.itertuples(name=None)
    ]
    return align([header, *rows])


def schema(
    table: TableArgument,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FILE", help="File for the schema; `-` prints it."),
    ] = STREAM,
    columns: ColumnsOption = None,
    drop: DropOption = None,
    model_missing: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES", help="Columns whose holes are part of the model; several by commas."
        ),
    ] = None,
    force: ForceOption = False,
    chosen: FormatOption = None,
    as_json: JsonOption = False,
) -> None:
    """Infer what the columns of a table are: a file to edit and to give to `bayesspn fit`.

    For example:

    `bayesspn schema patients.csv -o patients.json`

    `bayesspn fit patients.csv --schema patients.json -o patients.bspn`
    """
    from bayesspn.tables import infer_schema
    from bayesspn.tables.schema_files import schema_to_json

    if output != STREAM:
        check_new_file(output, force)
    data = read_columns(table, chosen, columns, drop)
    found = infer_schema(data, identifiers="drop")
    found = found.model_missing(*find_columns(model_missing or [], found.names, name_input(table)))
    text = schema_to_json(found)
    left = [name for name in data.columns if name not in found]
    if left:
        listed = ", ".join(repr(name) for name in left)
        say(f"left out: {listed}, with nearly as many different values as cells, as identifiers")
    if output == STREAM:
        print(text, end="")  # the file is JSON itself
        return
    found.save(output)
    if as_json:
        print_json({"output": str(output), "left_out": left, **json.loads(text)})
    else:
        print(found)
        say(f"written to {output}")


def demo() -> None:
    """Learn a table with holes, score held-out rows and ask questions (a minute)."""
    from bayesspn.demo import main

    main()
