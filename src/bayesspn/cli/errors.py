"""Errors as people want to see them: one sentence and an exit code, no traceback.

==== ==============================================================
code meaning
==== ==============================================================
0    all went well, or whoever read the output had enough of it
1    something is wrong with a table, a model, a question or a file
2    the command was not written as it has to be
130  Ctrl-C
==== ==============================================================
"""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

import typer
from typer.core import TyperGroup

BAD_INPUT = 1
INTERRUPTED = 130

_PACKAGE = Path(__file__).parent.parent


class CommandError(ValueError):
    """Something that a command cannot do; the message says what to do instead."""


class GuardedGroup(TyperGroup):
    """Commands whose errors are shown as one sentence."""

    def invoke(self, ctx: Any) -> Any:
        with _guarded(debug=bool(ctx.params.get("debug"))), _plain_warnings():
            result = super().invoke(ctx)
            sys.stdout.flush()  # a full disk or a closed pipe is noticed now
            return result


def say(message: str) -> None:
    """Tell the user something, on one line of standard error."""
    print(_one_line(message), file=sys.stderr, flush=True)


@contextlib.contextmanager
def _guarded(debug: bool) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        say("interrupted")
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        _discard_output()
        raise typer.Exit(0) from None
    except Exception as error:
        if _is_of_typer(error):
            raise
        if debug:
            traceback.print_exc()
        elif _is_expected(error):
            say(f"error: {_describe(error)}")
        else:
            say(
                f"error: something unexpected happened ({type(error).__name__}: {error}); "
                "`bayesspn --debug` before the command shows where"
            )
        raise typer.Exit(BAD_INPUT) from None


def _is_of_typer(error: Exception) -> bool:
    """Whether an exception is typer's way to end a command or to refuse its arguments."""
    return type(error).__module__.partition(".")[0] in ("typer", "click")


def _is_expected(error: Exception) -> bool:
    """Whether an exception speaks to the user, rather than telling of a bug."""
    if isinstance(error, OSError | MemoryError):
        return True
    if isinstance(error, ImportError):
        return "pip install" in str(error)  # of an extra that is not installed
    if not isinstance(error, ValueError | TypeError):
        return False
    if type(error).__module__.startswith("bayesspn."):
        return True
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    return _PACKAGE in Path(frame.f_code.co_filename).parents


def _describe(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return "there is not enough memory"
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _discard_output() -> None:
    """Nobody reads any more: what is still buffered must not fail again at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


@contextlib.contextmanager
def _plain_warnings() -> Iterator[None]:
    """Show what the package warns of on one line, and nothing of what libraries warn of."""

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if str(message) not in said:  # parts of a table may give rise to the same
            said.add(str(message))
            say(f"warning: {message}")

    said: set[str] = set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # of which scikit-learn's ConvergenceWarning is one
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield
