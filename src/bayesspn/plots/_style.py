"""What all plots share: axes, colours, titles with a reading help, names of any kind as text."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import Any

#: Okabe and Ito's colours, which people with any colour vision tell apart.
ORANGE, SKY, GREEN, YELLOW, BLUE, RED, PURPLE, BLACK = (
    "#E69F00",
    "#56B4E9",
    "#009E73",
    "#F0E442",
    "#0072B2",
    "#D55E00",
    "#CC79A7",
    "#000000",
)
CHAINS = (BLUE, ORANGE, GREEN, PURPLE, SKY, RED, BLACK, YELLOW)
GREY = "#8C8C8C"
PALE = "#D9D9D9"

#: Colour maps that grow evenly lighter, also without colour; and one with two ends.
SHARES = "cividis"
DIFFERENCES = "PuOr_r"

LONGEST_LABEL = 24


def make_axes(ax: Any, width: float = 6.4, height: float = 4.0) -> Any:
    """The axes given, or those of a new figure."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(width, height), layout="constrained")[1]


def explain(ax: Any, title: str, reading: str) -> None:
    """Put a title and, in small letters under it, how to read the plot."""
    ax.set_title(title, loc="left", fontsize=11, fontweight="bold", pad=21, parse_math=False)
    ax.annotate(
        reading,
        xy=(0, 1),
        xycoords="axes fraction",
        xytext=(0, 6),
        textcoords="offset points",
        fontsize=8,
        color="#595959",
        parse_math=False,
    ).set_in_layout(False)  # a long line must not squeeze the plot


def label(name: object, length: int = LONGEST_LABEL) -> str:
    r"""A name or a category as text of one line that is not too long.

    Examples
    --------
    >>> label("a\nb"), label("x" * 100, 5), label(7), label("")
    ('a b', 'xxxx…', '7', "''")
    """
    # characters without a shape of their own, such as line feeds, cannot be drawn
    text = "".join(" " if unicodedata.category(c)[0] in "CZ" else c for c in str(name)[:1000])
    text = text.strip() or repr(str(name)[:1000])
    return text if len(text) <= length else text[: length - 1] + "…"


def labels(names: Iterable[object], length: int = LONGEST_LABEL) -> list[str]:
    """Names as text, see `label`."""
    return [label(name, length) for name in names]


def write_ticks(axis: Any, places: Iterable[float], names: Iterable[object], **style: Any) -> None:
    """Put names at places of an axis; nothing in them is read as mathematics."""
    axis.set_ticks(list(places))
    axis.set_ticklabels(labels(names), parse_math=False, **style)


def add_legend(ax: Any, **options: Any) -> None:
    """A legend whose texts are texts."""
    legend = ax.legend(frameon=False, fontsize=8, **options)
    for text in legend.get_texts():
        text.set_parse_math(False)


def clean(ax: Any) -> None:
    """Take away the lines that say nothing."""
    ax.spines[["top", "right"]].set_visible(False)
