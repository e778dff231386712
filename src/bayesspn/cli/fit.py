"""``bayesspn fit``: learn a table."""

from __future__ import annotations

import contextlib
import time
import warnings
from collections.abc import Callable, Iterator
from enum import StrEnum
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
    number_or_auto,
    numbers_or_auto,
    read_columns,
    wants_progress,
    whole_or_auto,
)
from bayesspn.cli.output import frame_rows, print_json
from bayesspn.estimators.defaults import BURN_IN, CHAINS, DRAWS, THIN
from bayesspn.questions.wording import count, describe_agreement

if TYPE_CHECKING:
    import pandas as pd

    from bayesspn import BayesianSPN
    from bayesspn.tables import Schema

_NETWORK = "Shape of the network"
_PRIORS = "Priors"


class GraphChoice(StrEnum):
    """How the graph is found."""

    auto = "auto"
    select = "select"


def _whole(name: str, text: str) -> Any:
    return typer.Option(
        name, parser=whole_or_auto, metavar="N", help=text, rich_help_panel=_NETWORK
    )


def _strength(name: str, text: str) -> Any:
    return typer.Option(
        name, parser=number_or_auto, metavar="X", help=text, rich_help_panel=_PRIORS
    )


def fit(
    table: TableArgument,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="MODEL", help="File for the model.")
    ],
    schema: SchemaOption = None,
    columns: ColumnsOption = None,
    drop: DropOption = None,
    time_limit: TimeLimitOption = None,
    chains: ChainsOption = CHAINS,
    burn_in: BurnInOption = BURN_IN,
    draws: DrawsOption = DRAWS,
    thin: ThinOption = THIN,
    graph: Annotated[
        GraphChoice,
        typer.Option(
            help="`select` chooses one by evidence, which takes long.",
            rich_help_panel=_NETWORK,
        ),
    ] = GraphChoice.auto,
    depth: Annotated[str, _whole("--depth", "Levels of partitions; 0 is a mixture.")] = "auto",
    partitions: Annotated[
        str,
        typer.Option(
            parser=numbers_or_auto,
            metavar="N,N",
            help="Partitions per region, one number or one per level.",
            rich_help_panel=_NETWORK,
        ),
    ] = "auto",
    children: Annotated[str, _whole("--children", "Parts of a partition.")] = "auto",
    sums: Annotated[str, _whole("--sums", "Sum nodes per inner region.")] = "auto",
    leaves: Annotated[str, _whole("--leaves", "Leaves per leaf region.")] = "auto",
    products: Annotated[
        str,
        typer.Option(metavar="shared|cross", help="Kind of products.", rich_help_panel=_NETWORK),
    ] = "auto",
    alpha: Annotated[str, _strength("--alpha", "Concentration of sum weights.")] = "auto",
    beta: Annotated[str, _strength("--beta", "Concentration of the split of columns.")] = "auto",
    gamma: Annotated[str, _strength("--gamma", "Strength of the leaf priors.")] = "auto",
    infinite: Annotated[
        bool,
        typer.Option(
            "--infinite",
            help="Mix as many networks as the rows call for.",
            rich_help_panel=_NETWORK,
        ),
    ] = False,
    concentration: Annotated[
        str, _strength("--concentration", "How readily --infinite adds networks.")
    ] = "auto",
    seed: SeedOption = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Cores to use, for so many chains side by side.", show_default="all"
        ),
    ] = None,
    checkpoint: CheckpointOption = None,
    progress: ProgressOption = None,
    quiet: QuietOption = False,
    force: ForceOption = False,
    chosen: FormatOption = None,
    as_json: JsonOption = False,
) -> None:
    """Learn a table and write the model to a file.

    Missing cells are welcome. Ctrl-C ends early and keeps the draws so far.

    For example:

    `bayesspn fit patients.csv -o patients.bspn --drop name --seed 1`

    `zcat big.csv.gz | bayesspn fit - -o big.bspn --jobs -1 --checkpoint big.ckpt`
    """
    check_new_file(output, force)
    if products not in ("auto", "shared", "cross"):
        raise typer.BadParameter(f"{products!r} is not one of shared, cross and auto")
    if graph == GraphChoice.select and infinite:
        raise typer.BadParameter("--graph select and --infinite exclude each other")
    if concentration != "auto" and not infinite:
        raise typer.BadParameter("--concentration needs --infinite")
    more = {"concentration": concentration} if infinite else {}
    described = load_schema(schema)
    data = read_columns(table, chosen, columns, drop, described)
    shape = {
        "depth": depth,
        "partitions": partitions,
        "children": children,
        "sums": sums,
        "leaves": leaves,
        "products": products,
    }
    model = _build(
        described,
        infinite,
        **more,
        graph=_find_graph(graph, shape, data.shape, infinite),
        alpha=alpha,
        beta=beta,
        gamma=gamma,
        time_limit=time_limit,
        chains=chains,
        burn_in=burn_in,
        draws=draws,
        thin=thin,
        n_jobs=jobs,
        random_state=seed,
        checkpoint=None if checkpoint is None else str(checkpoint),
        progress=wants_progress(progress, quiet),
    )
    learn(model, model.fit, data, output, checkpoint, as_json=as_json, quiet=quiet)


def learn(
    model: BayesianSPN,
    work: Callable[[pd.DataFrame], object],
    data: pd.DataFrame,
    output: Path,
    checkpoint: Path | None,
    *,
    as_json: bool,
    quiet: bool,
) -> None:
    """Let a model learn a table, write it to a file, and say what was done."""
    begin = time.perf_counter()
    told = not (as_json or quiet)  # whether chains agree is part of what is printed
    try:
        with _without_convergence_warnings() if told else contextlib.nullcontext():
            work(data)
    except KeyboardInterrupt:
        again = "" if checkpoint is None else f"; the same command goes on from {checkpoint}"
        say(f"interrupted before the first draw: no model was written{again}")
        raise typer.Exit(INTERRUPTED) from None
    model.save(output)
    report = _report(model, data, output) | {"seconds": round(time.perf_counter() - begin, 3)}
    if as_json:
        print_json(report)
    elif not quiet:
        _show(report, model)
    if report["interrupted"]:
        again = "" if checkpoint is None else "; the same command with --force goes on"
        say(
            f"interrupted: {output} holds {count(report['draws'], 'draw')}, fewer than were "
            f"wanted{again}"
        )
        raise typer.Exit(INTERRUPTED)


@contextlib.contextmanager
def _without_convergence_warnings() -> Iterator[None]:
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def _find_graph(
    graph: GraphChoice, shape: dict[str, Any], table: tuple[int, ...], infinite: bool
) -> Any:
    """What the estimator is told: a word, or a graph if any of its numbers was given."""
    if all(value == "auto" for value in shape.values()):
        return graph.value
    if graph == GraphChoice.select:
        given = " and ".join(f"--{name}" for name, value in shape.items() if value != "auto")
        raise typer.BadParameter(
            f"--graph select and {given} exclude each other; `bayesspn select --grid` chooses "
            "among graphs of your own"
        )
    from bayesspn.selection.defaults import choose_graph

    return choose_graph(*table, **shape, infinite=infinite)


def _build(schema: Schema | None, infinite: bool, **parameters: Any) -> BayesianSPN:
    from bayesspn import BayesianSPN, InfiniteSPN

    return (InfiniteSPN if infinite else BayesianSPN)(schema=schema, **parameters)


def _report(model: BayesianSPN, data: pd.DataFrame, output: Path) -> dict[str, Any]:
    report = {
        "model": str(output),
        "rows": len(data),
        "columns": len(model.schema_),
        "chains": len(model.posterior_.draws),
        "sweeps": model.trace_.shape[1],
        "draws": model.posterior_.n_draws,
        "rhat": model.rhat_,
        "interrupted": model.interrupted_,
    }
    if hasattr(model, "selection_"):
        report["graphs"] = list(frame_rows(model.selection_.reset_index()))
    return report


def _show(report: dict[str, Any], model: BayesianSPN) -> None:
    print(
        f"{report['model']}: learned {count(report['rows'], 'row')} of "
        f"{count(report['columns'], 'column')} in {report['seconds']:.0f} s; "
        f"{count(report['chains'], 'chain')} of {count(report['sweeps'], 'sweep')}, "
        f"{count(report['draws'], 'draw')} kept"
    )
    if "graphs" in report:
        best = report["graphs"][0]
        print(
            f"graph: {best['graph']}, the best of {count(len(report['graphs']), 'graph')} "
            f"(probability {best['weight']:.0%})"
        )
    print(describe_agreement(model))
