"""How long the code of a patch may run."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator

from patchset.errors import TooLongError

LIMIT = 120.0
"""Seconds for one call; the slowest of ours takes one, on the largest file of vLLM."""

_AGAIN = 1.0
"""Seconds after which code that caught the first interruption gets the next."""


@contextlib.contextmanager
def time_limit() -> Iterator[None]:
    """Raise TooLongError in the block when its time is over (in the main thread)."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGALRM, _stop)
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, LIMIT)
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except TooLongError:
        # It may have come in the very moment in which the block ended by itself: then
        # the line above was not reached, and the next one would strike anywhere.
        signal.setitimer(signal.ITIMER_REAL, 0)
        raise
    finally:
        signal.signal(signal.SIGALRM, before)


def _stop(*_: object) -> None:
    # One alarm at a time: the next must not interrupt the way out of this one.
    signal.setitimer(signal.ITIMER_REAL, _AGAIN)
    raise TooLongError(f"it had not ended after {LIMIT:g} seconds")
