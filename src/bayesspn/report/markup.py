"""HTML built from text, so that nothing in a table can be taken for markup."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from typing import Any

#: Characters that a page may not hold, or that have no shape.
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")

_EMPTY = ("img", "meta", "br", "col")

_LONGEST = 120


class Markup(str):
    """Text that is HTML already."""


def escape(value: Any) -> Markup:
    """Anything as text in a page; `Markup` stays what it is.

    Examples
    --------
    >>> escape("<b> & 'c'")
    '&lt;b&gt; &amp; &#x27;c&#x27;'
    """
    if isinstance(value, Markup):
        return value
    return Markup(html.escape(_CONTROL.sub("\ufffd", str(value)), quote=True))


def element(name: str, /, *children: Any, **attributes: Any) -> Markup:
    """An element; children and the values of attributes are escaped.

    Examples
    --------
    >>> element("p", "a < b", element("br"), class_="note")
    '<p class="note">a &lt; b<br></p>'
    """
    written = "".join(f' {key.rstrip("_")}="{escape(value)}"' for key, value in attributes.items())
    if name in _EMPTY:
        return Markup(f"<{name}{written}>")
    return Markup(f"<{name}{written}>{join(children)}</{name}>")


def join(children: Iterable[Any], between: str = "") -> Markup:
    """Pieces of a page one after the other."""
    return Markup(escape(between).join(escape(child) for child in children))


def datum(value: Any, longest: int = _LONGEST) -> Markup:
    """A name, a category or a cell of a table: kept apart from the text around it, and short.

    The direction of writing of what is in it cannot spill over.

    Examples
    --------
    >>> datum("x" * 10, 5)
    '<bdi title="xxxxxxxxxx">xxxx…</bdi>'
    """
    text = str(value)
    if not text.strip():
        text = repr(text)
    if len(text) <= longest:
        return element("bdi", text)
    return element("bdi", text[: longest - 1] + "…", title=text[:1000])


def table(header: Iterable[Any], rows: Iterable[Iterable[Any]], **attributes: Any) -> Markup:
    """A table that scrolls by itself on narrow pages."""
    head = element("tr", *(element("th", cell, scope="col") for cell in header))
    body = [element("tr", *(_cell(cell) for cell in row)) for row in rows]
    whole = element("table", element("thead", head), element("tbody", *body), **attributes)
    return element("div", whole, class_="scroll", tabindex="0")


def _cell(value: Any) -> Markup:
    if isinstance(value, Markup) and value.startswith("<td"):
        return value
    return element("td", value)
