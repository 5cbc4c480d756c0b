"""One file put in the place of another: whole, durable, with its mode and its owner."""

from __future__ import annotations

import contextlib
import glob
import os
from pathlib import Path, PurePosixPath

from patchset.model import Attributes

SUFFIX = ".patchset-tmp"
"""Of the temporary files beside the files that they will replace."""


def temporary_name(path: str) -> str:
    """Where the new bytes of a file wait: beside it, so that a rename is atomic."""
    pure = PurePosixPath(path)
    return str(pure.with_name(f".{pure.name}{SUFFIX}"))


def stage(path: Path, content: bytes, attributes: Attributes) -> Path:
    """Write the temporary file of `path`, whole and synced; return where it is.

    Its time differs from that of the file it will replace, by whole seconds: bytecode
    is checked against size and seconds, and must never look fresh.
    """
    temporary = path.with_name(temporary_name(path.name))
    temporary.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(temporary, flags, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            _give(file.fileno(), attributes)
            _copy_extended(path, file.fileno())
            _age(path, file.fileno())
            os.fsync(file.fileno())
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return temporary


def _give(descriptor: int, attributes: Attributes) -> None:
    status = os.fstat(descriptor)
    if (status.st_uid, status.st_gid) != (attributes.uid, attributes.gid):
        os.fchown(descriptor, attributes.uid, attributes.gid)
    os.fchmod(descriptor, attributes.mode)


def _copy_extended(path: Path, descriptor: int) -> None:
    """Labels and access lists, where the file system has them and lets us."""
    if not hasattr(os, "listxattr"):
        return
    with contextlib.suppress(OSError):
        for name in os.listxattr(path):
            with contextlib.suppress(OSError):
                os.setxattr(descriptor, name, os.getxattr(path, name))


def _age(path: Path, descriptor: int) -> None:
    try:
        old = int(path.stat().st_mtime)
    except OSError:
        return
    new = int(os.fstat(descriptor).st_mtime)
    if new <= old:
        os.utime(descriptor, (old + 1, old + 1))


def put_link(path: Path, text: str) -> None:
    """Make `path` the symbolic link that it was."""
    temporary = path.with_name(temporary_name(path.name))
    temporary.unlink(missing_ok=True)
    temporary.symlink_to(text)
    temporary.replace(path)


def remove_bytecode(path: Path) -> None:
    """Remove every cached compilation of a module, of any Python and optimisation."""
    caches = [path.parent / "__pycache__"]
    if prefix := os.environ.get("PYTHONPYCACHEPREFIX"):
        caches.append(Path(prefix, *path.parent.parts[1:]))
    for cache in caches:
        if cache.is_dir():
            for cached in cache.glob(f"{glob.escape(path.stem)}.*.pyc"):
                cached.unlink(missing_ok=True)


def attributes_of(path: Path, mode: int) -> Attributes:
    """The owner of `path` with another mode: ours belongs to the site's owner."""
    status = path.stat()
    if os.geteuid() != 0:
        return Attributes(mode=mode, uid=os.geteuid(), gid=os.getegid())
    return Attributes(mode=mode, uid=status.st_uid, gid=status.st_gid)


def make_directory(path: Path, *, like: Path) -> None:
    """Create a directory and its parents with the owner of `like`."""
    if path.is_dir():
        return
    make_directory(path.parent, like=like)
    path.mkdir(mode=0o755, exist_ok=True)
    if os.geteuid() == 0:
        status = like.stat()
        os.chown(path, status.st_uid, status.st_gid)
    sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Make the names in a directory durable, where the file system can."""
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
