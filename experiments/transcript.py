"""Run the sessions of `transcript_source.md` and write them with what came out.

    python experiments/transcript.py [--data FOLDER] [--output docs/transcript.md]

FOLDER holds tables as CSV with a header: adult.csv and abalone.csv of the UCI repository. Sections
that need a table that is not there are left out. Python blocks of a section share their names and
show the value of their last line; blocks marked sh run in a shell. Nothing is edited afterwards.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import io
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

from tqdm import tqdm

import bayesspn

_HERE = Path(__file__).parent
_SOURCE = _HERE / "transcript_source.md"
_OUTPUT = _HERE.parent / "docs" / "transcript.md"
_BLOCK = re.compile(r"```(python|sh)\n(.*?)```", re.S)
_NEEDS = re.compile(r"<!-- needs (\S+) -->\n*")
_NOTEWORTHY = 0.05  # seconds


def run_python(code: str, names: dict[str, Any]) -> str:
    """Run a block; what it prints, its warnings and the value of its last line."""
    tree = ast.parse(code)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown), warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        exec(compile(tree, "transcript", "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "transcript", "eval"), names)  # type: ignore[attr-defined]
            if value is not None:
                print(repr(value))
    told = [f"{warning.category.__name__}: {warning.message}" for warning in raised]
    return "\n".join(filter(None, [*told, shown.getvalue().rstrip()]))


def run_shell(code: str) -> str:
    """Run a block in a shell; what it prints, errors included."""
    tools = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    environment = os.environ | {"PATH": tools, "COLUMNS": "100"}
    done = subprocess.run(
        ["sh", "-c", code],
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    return done.stdout.rstrip()


def run_section(text: str) -> str:
    """Run the blocks of a section and insert their output."""
    names: dict[str, Any] = {}
    blocks = iter(tqdm(_BLOCK.findall(text), desc=text.split("\n", 1)[0], file=sys.stderr))

    def with_output(match: re.Match[str]) -> str:
        next(blocks)
        language, code = match.groups()
        begin = time.perf_counter()
        output = run_python(code, names) if language == "python" else run_shell(code)
        seconds = time.perf_counter() - begin
        parts = [match[0]]
        if output:
            parts.append(f"```text\n{output}\n```")
        if seconds >= _NOTEWORTHY:
            parts.append(f"*{seconds:.1f} s*")
        return "\n\n".join(parts)

    done = _BLOCK.sub(with_output, text)
    for _ in blocks:
        pass
    return done


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--data", type=Path, help="folder with adult.csv and abalone.csv")
    parser.add_argument("--output", type=Path, default=_OUTPUT)
    parser.add_argument("--only", help="run only sections whose title has this word")
    arguments = parser.parse_args()
    text = _SOURCE.read_text(encoding="utf-8")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    text = text.replace("$version", bayesspn.__version__)
    text = text.replace("$machine", f"{cores} cores, Python {platform.python_version()}")
    sections = re.split(r"^(?=## )", text, flags=re.M)
    output = arguments.output.resolve()
    written = []
    with tempfile.TemporaryDirectory() as folder:
        if arguments.data is not None:
            for file in arguments.data.glob("*.csv"):
                shutil.copy(file, folder)
        with contextlib.chdir(folder):
            for section in sections:
                needed = _NEEDS.search(section)
                if needed and not Path(needed[1]).exists():
                    continue
                title = section.split("\n", 1)[0]
                if arguments.only and arguments.only.lower() not in title.lower():
                    continue
                written.append(run_section(_NEEDS.sub("", section)))
                output.write_text("".join(written), encoding="utf-8")


if __name__ == "__main__":
    main()
