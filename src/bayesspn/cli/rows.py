"""Commands that go through the rows of a table, or make new ones: score, impute, sample."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Hashable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayesspn.cli.errors import CommandError, say
from bayesspn.cli.options import (
    DropOption,
    FormatOption,
    GivenOption,
    JsonOption,
    ModelArgument,
    OutputOption,
    SeedOption,
    TableArgument,
    find_columns,
    load_model,
    name_input,
)
from bayesspn.cli.output import STREAM, deliver, print_json

if TYPE_CHECKING:
    import pandas as pd

    from bayesspn.estimators.joint import JointEstimator
    from bayesspn.tables import Schema

#: Rows that are read, worked on and written together, which bounds memory.
ROWS_TOGETHER = 16_384

_NUMBER_COLUMN = "imputation"

KeepOption = Annotated[
    list[str] | None,
    typer.Option(
        "--keep",
        metavar="A,B",
        help="Columns of TABLE to copy to the output, such as names. May be repeated.",
        show_default=False,
    ),
]


def score(
    model: ModelArgument,
    table: TableArgument,
    output: OutputOption = STREAM,
    mean: Annotated[bool, typer.Option("--mean", help="Print only the mean.")] = False,
    surprise: Annotated[
        bool, typer.Option("--surprise", help="How unusual every cell is given its row.")
    ] = False,
    anomaly: Annotated[
        bool, typer.Option("--anomaly", help="How unusual every row is; above 3 is rare.")
    ] = False,
    keep: KeepOption = None,
    drop: DropOption = None,
    chosen: FormatOption = None,
    as_json: JsonOption = False,
) -> None:
    """Give every row its log density; missing cells are summed out.

    Rows are read and written as they come, so tables may be larger than memory.

    For example:

    `bayesspn score patients.bspn new.csv -o scores.csv --keep name`

    `bayesspn score patients.bspn new.parquet --mean`

    `zcat big.csv.gz | bayesspn score patients.bspn - --anomaly | sort -g | tail`
    """
    if mean + surprise + anomaly > 1:
        raise typer.BadParameter("--mean, --surprise and --anomaly exclude each other")
    fitted = load_model(model)
    ask = _choose_score(fitted, surprise=surprise, anomaly=anomaly)
    pieces = work_on_pieces(table, chosen, fitted.schema_, keep or [], drop or [], ask)
    if mean:
        _print_mean(table, pieces, as_json)
    else:
        deliver(pieces, output, chosen, as_json=as_json)


def _choose_score(
    model: JointEstimator, *, surprise: bool, anomaly: bool
) -> Callable[[pd.DataFrame], pd.DataFrame]:
    import numpy as np
    import pandas as pd

    joint = model.joint_
    if surprise:
        return lambda rows: pd.DataFrame(
            np.asarray(joint.surprise(rows)), columns=list(model.schema_.names)
        )
    if anomaly:
        return lambda rows: pd.DataFrame({"anomaly": joint.anomaly_score(rows)})
    return lambda rows: pd.DataFrame({"log_density": joint.log_prob(rows)})


def _print_mean(table: Path, pieces: Iterator[pd.DataFrame], as_json: bool) -> None:
    total, rows = 0.0, 0
    for piece in pieces:
        total += float(piece["log_density"].sum())
        rows += len(piece)
    if not rows:
        raise CommandError(f"{name_input(table)}: has no rows, so there is no mean")
    if as_json:
        print_json({"mean_log_density": total / rows, "rows": rows})
    else:
        print(total / rows)


def impute(
    model: ModelArgument,
    table: TableArgument,
    output: OutputOption = STREAM,
    draws: Annotated[
        int | None,
        typer.Option(
            metavar="M",
            min=1,
            help="Draw the missing cells M times instead of filling in the best guess; the column "
            "`imputation` numbers the tables.",
            show_default=False,
        ),
    ] = None,
    seed: SeedOption = None,
    keep: KeepOption = None,
    drop: DropOption = None,
    chosen: FormatOption = None,
    as_json: JsonOption = False,
) -> None:
    """Fill in the missing cells of a table; columns that it lacks are added.

    Without --draws, numbers get their expected value and categories the most probable one.

    For example:

    `bayesspn impute patients.bspn holes.csv -o filled.csv`

    `bayesspn impute patients.bspn holes.csv --draws 5 --seed 1 -o five.parquet`
    """
    from bayesspn.estimators.imputation import fill_best, give_back
    from bayesspn.tables.encoding import encode_some

    fitted = load_model(model)
    posterior, schema = fitted.posterior_, fitted.schema_
    kept, dropped = keep or [], drop or []
    if draws is not None:
        pieces = _draw(fitted, table, chosen, (kept, dropped), draws, seed)
        deliver(pieces, output, chosen, as_json=as_json)
        return

    def fill(rows: pd.DataFrame) -> pd.DataFrame:
        values = encode_some(rows, schema, fitted.handle_unknown)
        return give_back(fill_best(posterior, values), values, schema, "pandas")

    pieces = work_on_pieces(table, chosen, schema, kept, dropped, fill)
    deliver(pieces, output, chosen, as_json=as_json)


def _draw(
    model: JointEstimator,
    path: Path,
    chosen: Any,
    keep_and_drop: tuple[list[str], list[str]],
    m: int,
    seed: int | None,
) -> Iterator[pd.DataFrame]:
    """Filled tables one after the other; all of them need the whole table."""
    from bayesspn.estimators.imputation import fill_several, give_back
    from bayesspn.tables import read_table
    from bayesspn.tables.encoding import encode_some

    schema = model.schema_
    table = read_table(path, chosen, schema=schema)
    if m > 1 and _NUMBER_COLUMN in schema:
        raise CommandError(
            f"the model has a column {_NUMBER_COLUMN!r}, which is to number the tables; draw them "
            "one at a time with --draws 1"
        )
    kept, known = _split(table, schema, *keep_and_drop, path)
    _tell_left_out(table, schema, [*keep_and_drop[0], *keep_and_drop[1]], path)
    _tell_absent(known, schema, path)
    with _located(path, 0):
        values = encode_some(known, schema, model.handle_unknown)
        for number, filled in enumerate(fill_several(model.posterior_, values, m, seed)):
            result = _join(kept, give_back(filled, values, schema, "pandas"))
            if m > 1:
                result.insert(0, _NUMBER_COLUMN, number + 1)
            yield result


def sample(
    model: ModelArgument,
    rows: Annotated[
        int, typer.Option("--rows", "-n", metavar="N", min=1, help="Number of rows.")
    ] = 100,
    given: GivenOption = None,
    seed: SeedOption = None,
    output: OutputOption = STREAM,
    chosen: FormatOption = None,
    as_json: JsonOption = False,
) -> None:
    """Draw new rows.

    For example:

    `bayesspn sample patients.bspn -n 1000 --seed 1 -o synthetic.csv`

    `bayesspn sample patients.bspn -n 5 --given "age > 30, sex = F"`
    """
    import pandas as pd

    fitted = load_model(model)
    drawn = fitted.joint_.sample(rows, given, random_state=seed)
    if not hasattr(drawn, "columns"):  # an array
        drawn = pd.DataFrame(drawn, columns=list(fitted.schema_.recorded))
    deliver([drawn], output, chosen, as_json=as_json)


def work_on_pieces(
    path: Path,
    chosen: Any,
    schema: Schema,
    keep: list[str],
    drop: list[str],
    work: Callable[[pd.DataFrame], pd.DataFrame],
    asked: Sequence[Hashable] = (),
) -> Iterator[pd.DataFrame]:
    """What becomes of the pieces of a table, one after the other.

    Columns that are asked about need not be there, and are not told of.
    """
    from bayesspn.tables import read_table_chunks

    start = 0
    for piece in read_table_chunks(path, ROWS_TOGETHER, chosen, schema=schema):
        kept, known = _split(piece, schema, keep, drop, path)
        if not start:
            _tell_left_out(piece, schema, [*keep, *drop], path)
            _tell_absent(known, schema, path, asked)
        with _located(path, start):
            result = _join(kept, work(known))
        yield result
        start += len(piece)


def _split(
    table: pd.DataFrame, schema: Schema, keep: list[str], drop: list[str], path: Path
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Columns to copy to the output, and those that the model is to see."""
    names = table.columns.tolist()
    kept = find_columns(keep, names, name_input(path))
    # what the model was not learned from was left out then, and need not be named again
    unseen = find_columns(drop, names, name_input(path)) + [
        name for name in names if name not in schema
    ]
    if len(set(unseen)) == len(names):
        unseen = []  # it is another table: an error says which columns the model has
    return table[kept], table.drop(columns=list(set(unseen)))


def _join(kept: pd.DataFrame, result: pd.DataFrame) -> pd.DataFrame:
    for position, name in enumerate(kept.columns.tolist()):
        if name in result.columns:
            raise CommandError(
                f"the output has a column {name!r} of its own; leave it out of --keep"
            )
        result.insert(position, name, kept[name].array)
    return result


def _tell_left_out(table: pd.DataFrame, schema: Schema, named: list[str], path: Path) -> None:
    from bayesspn.tables.schema import list_some

    asked = {part.strip() for names in named for part in names.split(",")}
    others = tuple(n for n in table.columns if n not in schema and str(n) not in asked)
    if others and len(others) < len(table.columns):
        listed = list_some(others).removeprefix("known are ")
        say(f"note: the model has no {listed}; {name_input(path)} is read without")


def _tell_absent(
    table: pd.DataFrame, schema: Schema, path: Path, asked: Sequence[Hashable] = ()
) -> None:
    from bayesspn.tables.schema import list_some

    expected = [name for name in schema.recorded if name not in asked]
    absent = tuple(name for name in expected if name not in table.columns)
    if 0 < len(absent) < len(schema):
        listed = list_some(absent).removeprefix("known are ")
        say(f"note: {name_input(path)} lacks {listed}; what it lacks counts as missing")


@contextlib.contextmanager
def _located(path: Path, start: int) -> Iterator[None]:
    """Name the file in an error, and where the rows that the error counts begin."""
    try:
        yield
    except CommandError:
        raise
    except ValueError as error:
        if not type(error).__module__.startswith("bayesspn."):
            raise
        place = f" counting from row {start:,} on:" if start else ""
        raise CommandError(f"{name_input(path)}:{place} {error}") from None
