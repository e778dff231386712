"""The page: sections one after the other, styled and closed against anything from outside."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from bayesspn import __version__
from bayesspn.files.atomic import replaced_file
from bayesspn.report.markup import Markup, datum, element, join
from bayesspn.report.subject import Subject

if TYPE_CHECKING:
    from bayesspn.estimators.joint import JointEstimator

#: Pictures and styles are in the file; nothing may be loaded or run.
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"

_STYLE = Markup("""
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff;
  max-width: 62rem; margin: 0 auto; padding: 1rem; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; } h2 { margin-top: 2.5rem; border-bottom: 2px solid #0072b2; }
nav ul { display: flex; flex-wrap: wrap; gap: .3rem 1.2rem; padding: 0; list-style: none; }
a { color: #005a8d; }
table { border-collapse: collapse; font-size: .9rem; }
th, td { text-align: left; vertical-align: top; padding: .25rem .6rem;
  border-bottom: 1px solid #ddd; max-width: 22rem; overflow-wrap: break-word; }
.scroll { overflow-x: auto; margin: 1rem 0; }
img { max-width: 100%; height: auto; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr));
  gap: 1rem; }
figure { margin: 0; } figcaption { font-size: .85rem; color: #555; }
.surprising { background: #ffe3c2; border-left: 4px solid #d55e00; }
.note { color: #555; } pre { background: #f5f5f5; padding: .5rem; overflow-x: auto; }
.answer { font-weight: 600; }
""")


def write_report(
    model: JointEstimator,
    path: str | os.PathLike[str],
    data: Any = None,
    *,
    title: str = "Report",
    announce: Callable[[str], Any] | None = None,
) -> None:
    """Write a report on a fitted model: one HTML file that needs nothing else.

    Parameters
    ----------
    model : fitted estimator
    path : str or path
        The file is written whole or not at all.
    data : table, default=None
        As a rule the table that was learned from, which models do not keep. Without it there is
        nothing to compare with, and no row to be surprised by.
    title : str, default="Report"
    announce : callable, default=None
        Is told the name of every section when it is begun: large models take a while.
    """
    page = build_report(model, data, title=title, announce=announce)
    with replaced_file(path) as file:
        file.write(page.encode("utf-8"))


def build_report(
    model: JointEstimator,
    data: Any = None,
    *,
    title: str = "Report",
    announce: Callable[[str], Any] | None = None,
) -> str:
    """Build the page that `write_report` writes.

    Parameters
    ----------
    model : fitted estimator
    data : table, default=None
    title : str, default="Report"
    announce : callable, default=None
        As in `write_report`.

    Returns
    -------
    str
        A whole HTML document.
    """
    from bayesspn.report.sections import SECTIONS

    subject = Subject.of(model, data)
    parts = []
    for name, build in SECTIONS.items():
        if announce is not None:
            announce(name)
        parts.append((name, build(subject)))
    links = [
        element("li", element("a", name, href=f"#{_anchor(name)}"))
        for name, part in parts
        if part is not None
    ]
    sections = [
        element("section", element("h2", name), part, id=_anchor(name))
        for name, part in parts
        if part is not None
    ]
    head = join(
        [
            element("meta", charset="utf-8"),
            Markup(f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'),
            element("meta", name="viewport", content="width=device-width, initial-scale=1"),
            element("title", title[:200]),
            element("style", _STYLE),
        ]
    )
    body = join(
        [
            element("header", element("h1", datum(title)), element("p", subject.overview())),
            element("nav", element("ul", *links), **{"aria-label": "Contents"}),
            element("main", *sections),
            element("footer", element("p", f"bayesspn {__version__}", class_="note")),
        ]
    )
    page = element("html", element("head", head), element("body", body), lang="en")
    return f"<!DOCTYPE html>\n{page}\n"


def _anchor(name: str) -> str:
    return name.lower().replace(" ", "-")
