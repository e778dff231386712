"""``bayesspn predict``: an answer for every row of a table, given the row's other cells."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayesspn.cli.options import (
    AtOption,
    DropOption,
    FormatOption,
    JsonOption,
    ModelArgument,
    OutputOption,
    TableArgument,
    find_column,
    load_model,
)
from bayesspn.cli.output import STREAM, deliver
from bayesspn.cli.rows import KeepOption, work_on_pieces

if TYPE_CHECKING:
    import pandas as pd

    from bayesspn import Conditional
    from bayesspn.tables import Schema


def predict(
    model: ModelArgument,
    table: TableArgument,
    event: Annotated[
        str | None,
        typer.Argument(
            metavar="[EVENT]",
            help="An event whose probability is wanted: `income > 50`.",
            show_default=False,
        ),
    ] = None,
    expectation: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Expected value of a column.", show_default=False),
    ] = None,
    quantile: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Quantiles of a column, see --at.", show_default=False),
    ] = None,
    at: AtOption = None,
    interval: Annotated[
        float | None,
        typer.Option(
            metavar="P", help="Probability of a credible interval.", show_default="without"
        ),
    ] = None,
    output: OutputOption = STREAM,
    keep: KeepOption = None,
    drop: DropOption = None,
    chosen: FormatOption = None,
    as_json: JsonOption = False,
) -> None:
    """Answer a question for every row of a table, given all its other cells.

    Missing cells are summed out, and cells of the column that is asked about are ignored. Rows are
    read and written as they come, so tables may be larger than memory.

    For example:

    `bayesspn predict patients.bspn new.csv "ill" --interval 0.9 -o risks.csv --keep name`

    `bayesspn predict patients.bspn new.csv --expectation weight`

    `bayesspn predict patients.bspn new.csv --quantile weight --at 0.05 --at 0.95`
    """
    if sum(one is not None for one in (event, expectation, quantile)) != 1:
        raise typer.BadParameter(
            "write an event, such as 'age > 30', or one of --expectation and --quantile"
        )
    if at and quantile is None:
        raise typer.BadParameter("--at belongs to --quantile")
    fitted = load_model(model)
    joint, schema = fitted.joint_, fitted.schema_
    if event is not None:
        ask, asked = _ask_probability(joint, event, interval), _columns_of(event, schema)
    elif expectation is not None:
        asked = (find_column(expectation, schema),)
        ask = _ask_expectation(joint, asked[0], interval)
    else:
        assert quantile is not None
        asked = (find_column(quantile, schema),)
        ask = _ask_quantiles(joint, asked[0], at or [0.5], interval)
    pieces = work_on_pieces(table, chosen, schema, keep or [], drop or [], ask, asked)
    deliver(pieces, output, chosen, as_json=as_json)


Ask = Callable[["pd.DataFrame"], "pd.DataFrame"]


def _columns_of(event: str, schema: Schema) -> tuple[Hashable, ...]:
    """Columns that an event, or what it gives for all rows, is about."""
    from bayesspn.questions.events import read_any

    events, given = read_any(event, schema)
    parts: list[Mapping[int, object]] = [*events, given]
    columns = [schema.columns[place] for part in parts for place in part]
    return tuple(c.name if c.indicates is None else c.indicates for c in columns)


def _ask_probability(joint: Conditional, event: str, interval: float | None) -> Ask:
    def ask(rows: pd.DataFrame) -> pd.DataFrame:
        return _tabulate("probability", joint.probability(event, rows, interval=interval))

    return ask


def _ask_expectation(joint: Conditional, column: Hashable, interval: float | None) -> Ask:
    def ask(rows: pd.DataFrame) -> pd.DataFrame:
        return _tabulate("expectation", joint.expectation(column, rows, interval=interval))

    return ask


def _ask_quantiles(
    joint: Conditional, column: Hashable, levels: list[float], interval: float | None
) -> Ask:
    def ask(rows: pd.DataFrame) -> pd.DataFrame:
        import pandas as pd

        parts = [
            _tabulate(
                "quantile" if len(levels) == 1 else f"quantile_{level:g}",
                joint.quantile(column, level, rows, interval=interval),
                "" if len(levels) == 1 else f"_{level:g}",
            )
            for level in levels
        ]
        return pd.concat(parts, axis=1)

    return ask


def _tabulate(name: str, answer: Any, ending: str = "") -> pd.DataFrame:
    """A column of answers, and the ends of their intervals if there are any."""
    import pandas as pd

    if not hasattr(answer, "low"):
        return pd.DataFrame({name: answer})
    parts = {name: answer.value, f"low{ending}": answer.low, f"high{ending}": answer.high}
    return pd.DataFrame(parts)
