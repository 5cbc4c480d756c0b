"""One file put in the place of another: whole, durable, with its mode and its owner."""

from __future__ import annotations

import contextlib
import errno
import glob
import os
import secrets
import stat
from pathlib import Path, PurePosixPath

from patchset.model import Attributes

SUFFIX = ".patchset-tmp"
"""Of the temporary files beside the files that they will replace."""

_FATAL = frozenset({errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EROFS})


def temporary_name(path: str) -> str:
    """A free name beside a file, so that a rename is atomic.

    It is another one each time: where a file system does not lock, two runs at once
    must not write the same temporary file.
    """
    pure = PurePosixPath(path)
    return str(pure.with_name(f".{pure.name}.{secrets.token_hex(4)}{SUFFIX}"))


def copy_name(temporary: str) -> str:
    """Beside a temporary file: where the copy of the file that it replaces waits."""
    return f"{temporary.removesuffix(SUFFIX)}.old{SUFFIX}"


def is_temporary(name: str, path: str) -> bool:
    """Whether a name is one that `temporary_name` gives for a path."""
    pure = PurePosixPath(name)
    return (
        pure.parent == PurePosixPath(path).parent
        and pure.name.startswith(f".{PurePosixPath(path).name}.")
        and pure.name.endswith(SUFFIX)
    )


def stage(
    path: Path,
    content: bytes,
    attributes: Attributes,
    *,
    temporary: Path | None = None,
    keep_time: bool = False,
) -> Path:
    """Write a file that will replace `path`, whole and synced; return where it is.

    Its time differs from that of the file it will replace, by whole seconds: bytecode
    is checked against size and seconds, and must never look fresh. With `keep_time`
    it is that of the file, for a copy that may have to be put back.
    """
    temporary = temporary or path.with_name(temporary_name(path.name))
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(temporary, flags, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            _give(file.fileno(), attributes)
            _copy_extended(path, file.fileno())
            _set_time(path, file.fileno(), keep=keep_time)
            os.fsync(file.fileno())
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    return temporary


def _give(descriptor: int, attributes: Attributes) -> None:
    status = os.fstat(descriptor)
    if (status.st_uid, status.st_gid) != (attributes.uid, attributes.gid):
        os.fchown(descriptor, attributes.uid, attributes.gid)
    os.fchmod(descriptor, stat.S_IMODE(attributes.mode))


def _copy_extended(path: Path, descriptor: int) -> None:
    """Labels and access lists, where the file system has them and lets us."""
    if not hasattr(os, "listxattr"):
        return
    with contextlib.suppress(OSError):
        for name in os.listxattr(path):
            with contextlib.suppress(OSError):
                os.setxattr(descriptor, name, os.getxattr(path, name))


def _set_time(path: Path, descriptor: int, *, keep: bool) -> None:
    try:
        old = path.stat()
    except OSError:
        return
    if keep:
        os.utime(descriptor, ns=(old.st_atime_ns, old.st_mtime_ns))
    else:
        # Not the clock alone: it may run backwards, or twice in one second.
        new = max(os.fstat(descriptor).st_mtime, int(old.st_mtime) + 1)
        os.utime(descriptor, (new, new))


def linked_directory(site: Path, path: str) -> Path | None:
    """The first symbolic link on the way to a file: it would lead out of the site."""
    directory = site
    for part in PurePosixPath(path).parts[:-1]:
        directory /= part
        if directory.is_symlink():
            return directory
    return None


def bytecode_of(path: Path) -> list[Path]:
    """Every cached compilation of a module, of any Python and optimisation."""
    caches = [path.parent / "__pycache__"]
    if prefix := os.environ.get("PYTHONPYCACHEPREFIX"):
        caches.append(Path(prefix, *path.parent.parts[1:]))
    return [
        cached
        for cache in caches
        if cache.is_dir() and not cache.is_symlink()
        for cached in sorted(cache.glob(f"{glob.escape(path.stem)}.*.pyc"))
    ]


def remove_bytecode(path: Path) -> None:
    """Let no interpreter run what a module was before."""
    for cached in bytecode_of(path):
        cached.unlink(missing_ok=True)


def attributes_of(path: Path, mode: int) -> Attributes:
    """The owner of `path` with another mode: ours belongs to the site's owner."""
    status = path.stat()
    if os.geteuid() != 0:
        return Attributes(mode=mode, uid=os.geteuid(), gid=os.getegid())
    return Attributes(mode=mode, uid=status.st_uid, gid=status.st_gid)


def make_directory(path: Path, *, like: Path) -> None:
    """Create a directory and its parents with the owner of `like`.

    Raises OSError where one of them is a symbolic link, or something else.
    """
    if path == like:
        return
    make_directory(path.parent, like=like)
    if path.is_dir() and not path.is_symlink():
        return
    try:
        path.mkdir(mode=0o755)
    except FileExistsError:
        if path.is_symlink() or not path.is_dir():
            raise
        return  # another run was faster
    if os.geteuid() == 0:
        status = like.stat()
        os.chown(path, status.st_uid, status.st_gid)
    sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Make the names in a directory durable, where the file system can."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        if error.errno in _FATAL:
            raise
