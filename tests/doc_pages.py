"""Run the python blocks of a page: those with prompts show what comes out, and are checked."""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from typing import Any

_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.S | re.M)
_NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w]|\.\d)")


class CloseNumbers(doctest.OutputChecker):
    """Words must be equal, numbers close: other processors round differently, and chains part."""

    def check_output(self, want: str, got: str, flags: int) -> bool:
        if super().check_output(want, got, flags):
            return True
        want, got = (text.replace("...", "") for text in (want, got))
        if _words(want) != _words(got):
            return False
        wanted, found = (list(map(float, _NUMBER.findall(text))) for text in (want, got))
        return len(wanted) == len(found) and all(
            abs(a - b) <= 0.1 + 0.25 * abs(a) for a, b in zip(wanted, found, strict=True)
        )


def _words(text: str) -> list[str]:
    return _NUMBER.sub(" # ", text).split()


def run_page(page: Path) -> list[str]:
    """Run all blocks with one namespace; what went wrong."""
    text = page.read_text(encoding="utf-8")
    names: dict[str, Any] = {"__name__": "__main__"}
    parser, complaints = doctest.DocTestParser(), []
    for match in _BLOCK.finditer(text):
        code, line = match[1], text[: match.start()].count("\n") + 1
        if not code.startswith(">>>"):
            exec(compile("\n" * line + code, str(page), "exec"), names)
            continue
        example = parser.get_doctest(code, names, page.name, str(page), line)
        example.globs = names
        flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
        runner = doctest.DocTestRunner(CloseNumbers(), verbose=False, optionflags=flags)
        runner.run(example, out=complaints.append, clear_globs=False)
    return complaints


def count_blocks(page: Path) -> int:
    return len(_BLOCK.findall(page.read_text(encoding="utf-8")))
