"""One installed file as it lies on disk: its bytes, its attributes, or an obstacle."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from patchset.digest import of_bytes
from patchset.errors import Problem
from patchset.files import linked_directory
from patchset.model import Attributes, Distribution, InstalledFile

_LARGEST = 1 << 26
"""Bytes; the largest module of vLLM has 300 KB."""


def read_installed(
    path: str, package: str, site: str, distribution: Distribution | None
) -> InstalledFile:
    """One target as it lies on disk, with its bytes; never follows a linked directory.

    A file that is itself a symbolic link (uv's symlink mode) is read through it.
    """
    content: bytes | None = None
    attributes: Attributes | None = None
    obstacle = _linked_directory(site, path)
    if obstacle is None:
        try:
            content, attributes = _read(Path(site, path))
        except (FileNotFoundError, NotADirectoryError):
            pass
        except OSError as error:
            obstacle = _unreadable(path, error)
    return InstalledFile(
        path=path,
        site=site,
        package=package,
        distribution=distribution,
        content=content,
        digest=None if content is None else of_bytes(content),
        attributes=attributes,
        obstacle=obstacle,
    )


def _read(path: Path) -> tuple[bytes, Attributes]:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError("no regular file")
        if status.st_size > _LARGEST:
            raise OSError(f"{status.st_size} bytes are too many for a module")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            content = file.read()
    finally:
        os.close(descriptor)
    link = os.readlink(path) if path.is_symlink() else None  # noqa: PTH115 - the text
    return content, Attributes(
        mode=stat.S_IMODE(status.st_mode),
        uid=status.st_uid,
        gid=status.st_gid,
        link=link,
    )


def _linked_directory(site: str, path: str) -> Problem | None:
    """A symbolic link on the way would lead our writing out of the site."""
    directory = linked_directory(Path(site), path)
    if directory is None:
        return None
    return Problem(
        kind="linked-directory",
        message=f"{path}: {directory} is a symbolic link, "
        "wanted a directory of the site itself",
        hint="patch the environment that the link leads to",
        path=path,
    )


def _unreadable(path: str, error: OSError) -> Problem:
    return Problem(
        kind="unreadable",
        message=f"{path}: cannot be read: {error.strerror or error}",
        hint=f"ls -l {path}",
        path=path,
    )
