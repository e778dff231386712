"""The sections of a report, each a function of its subject."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from bayesspn import plots
from bayesspn.plots._checks import compare_column
from bayesspn.questions.wording import describe_agreement, show
from bayesspn.report.figures import picture
from bayesspn.report.markup import Markup, datum, element, join, table
from bayesspn.report.questions import ask_examples
from bayesspn.report.subject import Subject
from bayesspn.report.surprises import show_surprising
from bayesspn.tables.encoding import encode_some
from bayesspn.tables.schema import ColumnSchema

#: Columns that get a picture; wide tables would make endless pages.
_MOST_PICTURES = 40

_MAPS = 3
_LISTED_PAIRS = 10


def show_table(subject: Subject) -> Markup:
    """Show what the columns are, and where cells are missing."""
    schema, data = subject.model.schema_, subject.data
    header = ["column", "kind", "values", "modelled by"]
    rows: list[list[Any]] = [
        [datum(c.name), c.kind, _describe_values(c), ", ".join(c.families)] for c in schema
    ]
    parts = []
    if data is None:
        parts.append(_note("The table itself was not given, so nothing is compared with it."))
    else:
        encoded = encode_some(data, schema)
        holes = np.isnan(encoded)
        header += ["missing", "seen"]
        for position, row in enumerate(rows):
            cells = encoded[~holes[:, position], position]
            seen = _describe_seen(schema.columns[position], data, cells)
            row += [f"{100 * holes[:, position].mean():.1f} %", seen]
        if subject.unknown:
            names = join([datum(name) for name in subject.unknown[:20]], ", ")
            parts.append(
                element("p", "Columns that the model does not know: ", names, class_="note")
            )
        if holes.any():
            width = max(5.0, min(2.0 + 0.35 * len(schema), 11.0))
            parts.append(
                picture(
                    partial(plots.missing, subject.model, data),
                    "Where cells of the table are missing",
                    width,
                    4.2,
                )
            )
    return join([table(header, rows), *parts])


def _describe_values(column: ColumnSchema) -> Markup:
    if column.categories:
        shown = join([datum(c, 40) for c in column.categories[:6]], ", ")
        more = len(column.categories) - 6
        return join([shown, f" and {more} more" if more > 0 else ""])
    if column.resolution:
        unit = " s" if column.timed else ""
        return join([f"recorded to {column.resolution:g}{unit}"])
    return join(["true, false" if column.kind == "binary" else ""])


def _describe_seen(column: ColumnSchema, data: pd.DataFrame, cells: Any) -> Markup:
    """The range of a column, or its most common category."""
    if column.name not in data or not len(cells):
        return join(["nothing"])
    if column.coded:
        names = column.categories or (False, True)
        code, times = np.unique(cells, return_counts=True)
        best = int(times.argmax())
        return join(
            [
                "mostly ",
                datum(names[int(code[best])], 40),
                f", {100 * times[best] / len(cells):.0f} %",
            ]
        )
    known = data[column.name].dropna()
    return join([datum(_plain(known.min()), 30), " to ", datum(_plain(known.max()), 30)])


def _plain(value: Any) -> str:
    return show(float(value)) if isinstance(value, int | float | np.number) else str(value)


def show_convergence(subject: Subject) -> Markup:
    """Tell in words whether the draws can be trusted, with traces and ranks."""
    model = subject.model
    words = describe_agreement(model)
    parts = [element("p", words[:1].upper() + words[1:] + ".", class_="answer")]
    parts.append(
        element(
            "p",
            "Chains start at different networks and should forget where. If they tell different "
            "things, averages are still fair predictions, but intervals depend on what was found: "
            "read them with care.",
        )
    )
    pictures = []
    if np.asarray(model.trace_).size:
        pictures.append(picture(partial(plots.trace, model), "Trace of every chain"))
    summary = model.summary()
    if "log_likelihood" in summary.index and len(model.posterior_.draws) > 1:
        pictures.append(picture(partial(plots.ranks, model), "Ranks of the draws"))
    parts.append(element("div", *(element("figure", one) for one in pictures), class_="figures"))
    rows = [
        [str(name), *(show(float(cell)) for cell in cells)]
        for name, *cells in summary.itertuples(name=None)
    ]
    parts.append(
        element(
            "details",
            element("summary", "The numbers"),
            table(["quantity", *map(str, summary.columns)], rows),
            _note("r_hat near 1: chains agree. ess: how many independent draws these are worth."),
        )
    )
    return join(parts)


def show_fit(subject: Subject) -> Markup:
    """Compare every column of the data with synthetic ones."""
    model, data = subject.model, subject.data
    names = [n for n in model.schema_.names if data is None or n in data]
    pictures = []
    for name in names[:_MOST_PICTURES]:
        height = _height(model.schema_[name])
        if data is None:
            told = picture(
                partial(plots.density, model, name),
                f"Distribution of {str(name)[:80]}",
                height=height,
            )
            pictures.append(element("figure", told))
            continue
        told = picture(
            partial(plots.check_column, model, data, name, replicates=subject.replicates),
            f"{str(name)[:80]}: data and synthetic tables",
            height=height,
        )
        _, seen, low, high = compare_column(model, data, name, subject.replicates)
        outside = int(((seen < low) | (seen > high)).sum())
        verdict = f"{outside} of {len(seen)} parts of the data outside the band"
        pictures.append(element("figure", told, element("figcaption", verdict)))
    about = (
        "What the model holds each column to be like, with its 90 % band."
        if data is None
        else "Would the model have made such data? Bands hold nine of ten synthetic tables, so "
        "about one part in ten lies outside of a good one."
    )
    parts = [element("p", about), element("div", *pictures, class_="figures")]
    if len(names) > _MOST_PICTURES:
        parts.append(_note(f"The first {_MOST_PICTURES} of {len(names)} columns are shown."))
    return join(parts)


def _height(column: ColumnSchema) -> float:
    return 1.8 + 0.17 * min(len(column.categories), 25) if len(column.categories) > 9 else 3.4


def show_dependence(subject: Subject) -> Markup | None:
    """Show which columns tell about each other."""
    names = list(subject.model.schema_.names)
    if len(names) < 2:
        return None
    size = min(2.4 + 0.4 * len(names), 10.0)
    heat = picture(
        partial(plots.dependence, subject.model, table=subject.strength),
        "How strongly columns depend on each other",
        size + 1.0,
        size,
    )
    rows = [
        [datum(a), datum(b), f"{strength:.2f}"]
        for a, b, strength in subject.strongest_pairs[:_LISTED_PAIRS]
    ]
    maps = [
        element(
            "figure",
            picture(
                partial(plots.conditional_map, subject.model, x, y, data=subject.rows, cells=20),
                f"{str(y)[:80]} for every value of {str(x)[:80]}",
                height=4.4,
            ),
        )
        for x, y, _ in subject.strongest_pairs[:_MAPS]
    ]
    return join(
        [
            element(
                "p",
                "Strength of dependence on the scale of correlations, of any form, averaged over "
                "the posterior: 0 tells nothing, 1 everything.",
            ),
            heat,
            table(["column", "column", "strength"], rows),
            element("div", *maps, class_="figures"),
        ]
    )


def _note(text: str) -> Markup:
    return element("p", text, class_="note")


#: Titles and what is under them; a section without content is left out.
SECTIONS: dict[str, Callable[[Subject], Markup | None]] = {
    "The table": show_table,
    "Convergence": show_convergence,
    "Fit of the columns": show_fit,
    "Dependence": show_dependence,
    "Surprising rows and cells": show_surprising,
    "Questions and answers": ask_examples,
}
