"""The lock of a site: held while it is read, alone while it is written."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

_LOCK_FILE = ".patchset.lock"
_NO_LOCKS = frozenset(
    {
        errno.ENOLCK,
        errno.EOPNOTSUPP,
        errno.ENOSYS,
        errno.EINVAL,
        errno.EISDIR,
        errno.EBADF,  # NFS, where an exclusive lock needs a file open for writing
    }
)


@contextlib.contextmanager
def locked(
    sites: Iterable[str], *, exclusive: bool, waiting: Callable[[str], None]
) -> Iterator[None]:
    """Hold the lock of every site, in the order of their names; `waiting` says so.

    The lock is the site directory itself, opened for reading: it works where nothing
    may be written, leaves nothing to remove, and the kernel frees it when we die.
    """
    with contextlib.ExitStack() as stack:
        for site in sorted(set(sites)):
            descriptor = _lock(Path(site), exclusive=exclusive, waiting=waiting)
            if descriptor is not None:
                stack.callback(os.close, descriptor)
        yield


def _lock(site: Path, *, exclusive: bool, waiting: Callable[[str], None]) -> int | None:
    kind = fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH
    descriptor = os.open(site, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _flock(descriptor, kind, site, waiting)
    except OSError as error:
        os.close(descriptor)
        if error.errno not in _NO_LOCKS:
            raise
        return _lock_file(site, kind, waiting)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _lock_file(site: Path, kind: int, waiting: Callable[[str], None]) -> int | None:
    """For file systems that lock files but not directories; never removed."""
    try:
        descriptor = os.open(
            site / _LOCK_FILE,
            os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW,
            0o644,
        )
    except OSError:
        return None
    with contextlib.suppress(OSError):
        _flock(descriptor, kind, site, waiting)
    return descriptor


def _flock(
    descriptor: int, kind: int, site: Path, waiting: Callable[[str], None]
) -> None:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        waiting(f"waiting for another patchset that works on {site}")
        fcntl.flock(descriptor, kind)
