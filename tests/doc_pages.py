"""Run the python blocks of a page: those with prompts show what comes out, and are checked.

    python tests/doc_pages.py docs/guides/*.md

writes pages anew, where what comes out is not what they show, however close it is.
"""

from __future__ import annotations

import argparse
import doctest
import os
import re
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.S | re.M)
_LONG = re.compile(r"(\d\.\d{3})\d{5,}")
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


class _Runner(doctest.DocTestRunner):
    """Keeps what came out where it is not what was wanted."""

    def __init__(self, checker: doctest.OutputChecker) -> None:
        flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
        super().__init__(checker, verbose=False, optionflags=flags)
        self.outputs: list[tuple[str, str]] = []

    def report_failure(self, out: Any, test: Any, example: Any, got: str) -> None:
        self.outputs.append((example.want, got))
        super().report_failure(out, test, example, got)


def _run_blocks(
    page: Path, checker: doctest.OutputChecker
) -> Iterator[tuple[str, list[str], list[tuple[str, str]]]]:
    """Run all blocks with one namespace: each, its complaints, and what was wanted and came out."""
    text = page.read_text(encoding="utf-8")
    names: dict[str, Any] = {"__name__": "__main__"}
    parser = doctest.DocTestParser()
    for match in _BLOCK.finditer(text):
        code, line = match[1], text[: match.start()].count("\n") + 1
        if not code.startswith(">>>"):
            exec(compile("\n" * line + code, str(page), "exec"), names)
            continue
        example = parser.get_doctest(code, names, page.name, str(page), line)
        example.globs = names
        runner, complaints = _Runner(checker), []
        runner.run(example, out=complaints.append, clear_globs=False)
        yield code, complaints, runner.outputs


def run_page(page: Path) -> list[str]:
    """Run all blocks; what went wrong."""
    blocks = _run_blocks(page, CloseNumbers())
    return [complaint for _, complaints, _ in blocks for complaint in complaints]


def rewrite_page(page: Path) -> int:
    """Put what comes out in place of what a page shows; the number of places."""
    text, places = page.read_text(encoding="utf-8"), 0
    for code, _, outputs in _run_blocks(page, doctest.OutputChecker()):
        written = code
        for want, got in outputs:
            assert want in written, f"{page}: cannot find\n{want}"
            written = written.replace(want, _LONG.sub(r"\1...", got), 1)
            places += 1
        text = text.replace(code, written, 1)
    page.write_text(text, encoding="utf-8")
    return places


def count_blocks(page: Path) -> int:
    return len(_BLOCK.findall(page.read_text(encoding="utf-8")))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", nargs="+", type=Path)
    pages = [page.resolve() for page in parser.parse_args().pages]
    warnings.simplefilter("ignore")
    for page in pages:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            print(f"{page.name}: {rewrite_page(page)} places")
            os.chdir(page.parent)


if __name__ == "__main__":
    main()
