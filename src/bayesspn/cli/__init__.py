"""The command line: ``bayesspn fit``, ``score``, ``sample``, ``impute``, ``ask`` and more.

Results go to standard output, messages and progress to standard error. Whatever takes long to
import is imported by the command that needs it, so that help and completion answer at once.
"""

from __future__ import annotations

from bayesspn.cli.app import app

__all__ = ["app", "main"]


def main() -> None:
    """Run the command that the arguments of the process name."""
    app(prog_name="bayesspn")
