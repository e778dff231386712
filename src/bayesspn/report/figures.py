"""Plots as pictures inside the page."""

from __future__ import annotations

import base64
import io
import warnings
from collections.abc import Callable
from typing import Any

from bayesspn.report.markup import Markup, element

_DPI = 100


def picture(draw: Callable[..., Any], alt: str, width: float = 6.4, height: float = 3.6) -> Markup:
    """Let a plot be drawn, and make a picture of it.

    Parameters
    ----------
    draw : callable
        A plot that lacks nothing but ``ax``.
    alt : str
        What the picture shows, for those who do not see it.
    width, height : float
        In inches.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    # without pyplot: nothing is left open, and no window appears
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    draw(ax=figure.subplots())
    stream = io.BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph", UserWarning)  # of scripts that no font here has
        warnings.filterwarnings("ignore", "constrained_layout not applied", UserWarning)
        figure.savefig(stream, format="png", dpi=_DPI)
    data = base64.b64encode(_compress(stream.getvalue())).decode()
    return element("img", src=f"data:image/png;base64,{data}", alt=alt, width=round(96 * width))


def _compress(png: bytes) -> bytes:
    """The same picture with at most 256 colours, a third of the size."""
    from PIL import Image  # matplotlib brings it

    stream = io.BytesIO()
    with Image.open(io.BytesIO(png)) as image:
        image.convert("RGB").quantize(256).save(stream, format="png", optimize=True)
    return stream.getvalue()
