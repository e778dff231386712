"""Ctrl-C at moments when it does no harm.

An exception that is raised while compiled code hands back its results can end the interpreter, or
be lost. While interrupts are put off, the signal is only noted, and whoever runs for long asks,
between two sweeps, whether it has come: threads as well, which signals never reach.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

_noted = threading.Event()


@contextlib.contextmanager
def put_off_interrupts() -> Iterator[None]:
    """Note Ctrl-C until `raise_interrupt` is called; a second one is raised at once.

    Only in the main thread, which gets the signals, and only if nobody else handles them.
    """
    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    ):
        yield
        return

    def note(number: int, frame: FrameType | None) -> None:
        if _noted.is_set():
            raise KeyboardInterrupt
        _noted.set()

    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _noted.clear()


def raise_interrupt() -> None:
    """Raise KeyboardInterrupt if Ctrl-C was noted."""
    if _noted.is_set():
        raise KeyboardInterrupt
