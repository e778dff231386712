"""Arguments and options that several commands share, and how their values are read."""

from __future__ import annotations

import sys
from collections.abc import Hashable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayesspn.cli.errors import CommandError, say
from bayesspn.estimators.defaults import LEAST

if TYPE_CHECKING:
    import pandas as pd

    from bayesspn.estimators.joint import JointEstimator
    from bayesspn.tables import Schema


class Format(StrEnum):
    """Formats of tables, for streams and for files whose ending does not tell."""

    csv = "csv"
    tsv = "tsv"
    parquet = "parquet"


ModelArgument = Annotated[
    Path, typer.Argument(metavar="MODEL", help="Model that `bayesspn fit` or `save` wrote.")
]
TableArgument = Annotated[
    Path,
    typer.Argument(metavar="TABLE", help="CSV, TSV or Parquet file; `-` is standard input."),
]
OutputOption = Annotated[
    Path,
    typer.Option(
        "--output", "-o", metavar="FILE", help="File to write to; `-` is standard output."
    ),
]
FormatOption = Annotated[
    Format | None,
    typer.Option(
        "--format",
        help="Format of standard input and output (CSV if not given), and of files whose ending "
        "does not tell.",
        show_default=False,
    ),
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print one JSON document; null stands for what is no number.")
]
SeedOption = Annotated[
    int | None,
    typer.Option(
        "--seed", metavar="N", min=0, help="Makes the result reproducible.", show_default=False
    ),
]
GivenOption = Annotated[
    str | None,
    typer.Option(
        "--given",
        metavar="TEXT",
        help="What is known, such as `age > 30, sex = F`.",
        show_default=False,
    ),
]
#: Panel of the help that says what can be asked for.
ANSWERS = "What to ask for"

AtOption = Annotated[
    list[float] | None,
    typer.Option(
        "--at",
        metavar="Q",
        help="Level of a quantile, between 0 and 1. May be repeated.",
        show_default="0.5",
        rich_help_panel=ANSWERS,
    ),
]
ColumnsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--columns",
        metavar="A,B",
        help="Columns to learn; if not given all, or those of the model. May be repeated.",
        show_default=False,
    ),
]
DropOption = Annotated[
    list[str] | None,
    typer.Option(
        "--drop",
        metavar="A,B",
        help="Columns to leave out, such as names. May be repeated.",
        show_default=False,
    ),
]
ForceOption = Annotated[
    bool, typer.Option("--force", "-f", help="Replace the file if it exists already.")
]

SchemaOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="What the columns are, as `bayesspn schema` writes it; inferred if not given.",
        show_default=False,
    ),
]
CheckpointOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Keeps the work done so far; the same command goes on from there.",
        show_default=False,
    ),
]
ProgressOption = Annotated[
    bool | None,
    typer.Option(
        "--progress/--no-progress",
        help="Show a progress bar.",
        show_default="if standard error is a terminal",
    ),
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Neither progress nor a summary.")]


def _length(name: str, parameter: str, text: str) -> Any:
    def read(given: str) -> Any:
        found = whole_or_auto(given)
        if found != "auto" and found < LEAST[parameter]:
            raise typer.BadParameter(f"{found} is less than {LEAST[parameter]}")
        return found

    return typer.Option(name, parser=read, metavar="N", help=text, rich_help_panel="Sampling")


TimeLimitOption = Annotated[
    float | None,
    typer.Option(
        "--time-limit",
        metavar="SECONDS",
        help="Seconds for the fit: as many chains and sweeps as there is time for.",
        show_default=False,
        rich_help_panel="Sampling",
    ),
]
ChainsOption = Annotated[str, _length("--chains", "chains", "Independent chains, averaged.")]
BurnInOption = Annotated[str, _length("--burn-in", "burn_in", "Sweeps before the first draw.")]
DrawsOption = Annotated[str, _length("--draws", "draws", "Draws that a chain keeps.")]
ThinOption = Annotated[str, _length("--thin", "thin", "Sweeps per draw.")]


def whole_or_auto(text: str) -> Any:
    """Read a whole number or ``auto``."""
    return _number_or_auto(text, int, "a whole number")


def number_or_auto(text: str) -> Any:
    """Read a number or ``auto``."""
    return _number_or_auto(text, float, "a number")


def numbers_or_auto(text: str) -> Any:
    """Read a whole number, several with commas between them, or ``auto``."""
    if "," not in text:
        return whole_or_auto(text)
    return [_number_or_auto(part, int, "a whole number") for part in text.split(",")]


def _number_or_auto(text: str, number: Any, what: str) -> Any:
    if text == "auto":
        return text
    try:
        return number(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is neither {what} nor auto") from None


def find_columns(wanted: Sequence[str], names: Sequence[Hashable], where: str) -> list[Hashable]:
    """Columns by their names; an option may list several with commas between them.

    Examples
    --------
    >>> find_columns(["a,b", "c,d"], ["a", "b", "c,d"], "table.csv")
    ['a', 'b', 'c,d']
    """
    known = {str(name): name for name in names}
    found: list[Hashable] = []
    for text in wanted:
        # a name may hold a comma itself
        for part in [text] if text in known else [part.strip() for part in text.split(",")]:
            if part not in known:
                from bayesspn.tables.cells import suggest
                from bayesspn.tables.schema import list_some

                raise CommandError(
                    f"{where}: there is no column {part!r}; {suggest(part, names)}"
                    f"{list_some(tuple(names))}"
                )
            found.append(known[part])
    return found


def name_input(path: Path) -> str:
    """What messages call a table."""
    return "standard input" if str(path) == "-" else str(path)


def read_columns(
    path: Path,
    chosen: Format | None,
    columns: list[str] | None,
    drop: list[str] | None,
    schema: Schema | None = None,
) -> pd.DataFrame:
    """Read the columns of a table that are to be learned: those of a schema, if there is one."""
    from bayesspn.tables import read_table

    table = read_table(path, chosen, schema=schema)
    names = table.columns.tolist()
    kept = find_columns(columns or [], names, name_input(path)) or names
    dropped = find_columns(drop or [], names, name_input(path))
    kept = [name for name in dict.fromkeys(kept) if name not in dropped]
    if not kept:
        raise CommandError(f"{name_input(path)}: no column is left to learn")
    if schema is not None and not columns:
        unknown = [name for name in kept if name not in schema]
        if unknown and len(unknown) < len(kept):
            listed = ", ".join(repr(name) for name in unknown)
            say(f"note: {listed} of {name_input(path)} left out, as by the schema")
            kept = [name for name in kept if name in schema]
    return table[kept]


def compare_columns(
    path: Path, kept: Sequence[Hashable], schema: Schema, chosen: bool, dropped: list[str] | None
) -> None:
    """Say which columns a model loses by a table, and refuse a table that has none of them.

    Parameters
    ----------
    path : Path
        The table.
    kept : sequence of column names
        What is to be learned of it.
    schema : Schema
        Of the model.
    chosen : bool
        Whether the user named the columns to learn.
    dropped : list of str or None
        Columns that the user named to leave out.
    """
    from bayesspn.tables.schema import list_some

    known = schema.recorded
    if not any(name in known for name in kept):
        raise CommandError(
            f"{name_input(path)}: has none of the model's columns, so there is nothing to go on "
            f"from ({list_some(known)}); rename its columns, or learn it with `bayesspn fit`"
        )
    named = {part.strip() for text in dropped or [] for part in [text, *text.split(",")]}
    lost = tuple(name for name in known if name not in kept and str(name) not in named)
    if lost and not chosen:
        listed = list_some(lost).removeprefix("known are ")
        say(f"note: {name_input(path)} lacks {listed}; the new model is without")


def find_column(name: str, schema: Schema) -> Hashable:
    """A column of a model by its name."""
    from bayesspn.questions.event_text import ColumnFinder

    return schema.names[ColumnFinder(schema).position(name)]


def wants_progress(progress: bool | None, quiet: bool) -> bool:
    """Whether to show progress bars."""
    return not quiet and (sys.stderr.isatty() if progress is None else progress)


def load_schema(path: Path | None) -> Schema | None:
    """Read what the columns are, if the user says."""
    from bayesspn.tables import Schema

    return None if path is None else Schema.load(path)


def load_model(path: Path) -> JointEstimator:
    """Read a fitted model of any kind."""
    with open(path, "rb"):  # the usual words for a file that is not there, at once
        pass
    from bayesspn import load

    model: JointEstimator = load(path)
    return model


def check_new_file(path: Path, force: bool) -> None:
    """Check that a file can be written, before the work that it is for begins."""
    if path.exists() and not force:
        raise CommandError(f"{path} exists already; add --force to replace it, or name another")
    if path.is_dir():
        raise CommandError(f"{path} is a folder; name a file")
    if not path.parent.is_dir():
        raise CommandError(f"{path}: there is no folder {path.parent}; create it first")
