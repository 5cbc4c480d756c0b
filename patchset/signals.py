"""What a signal may interrupt, and when."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator

_SIGNALS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Hold SIGINT, SIGTERM and SIGHUP back while files are written."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def give_way() -> None:
    """The last moment to stop for a signal: nothing has changed its name yet."""
    if signal.sigpending() & _SIGNALS:
        raise KeyboardInterrupt
