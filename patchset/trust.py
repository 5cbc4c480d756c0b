"""Whether the state in a site is as its owner, and nobody else, wrote it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from patchset.errors import Problem


def distrust(site: Path, root: Path) -> Problem | None:
    """Why what lies in `root` must not be believed, or None.

    The store holds bytes that are put into modules and patches that are run. Whoever
    may write the site itself can do all that without us; nobody else may do it with
    our help. So nothing of ours is a link, belongs to a stranger, or can be written
    by more users than the site can.
    """
    status = site.stat()
    for path in _everything(root):
        if reason := _reason(path.lstat(), status, is_directory=path == root):
            return Problem(
                kind="untrusted-state",
                message=f"{path}: {reason}: what it says is not believed",
                hint=f"look at {root}; then chown -R --reference={site} {root} && "
                f"chmod -R go-w {root}, or remove it and reinstall the packages",
                path=str(path),
            )
    return None


def _everything(root: Path) -> Iterator[Path]:
    yield root
    for directory in (root, root / "objects"):
        if directory.is_dir() and not directory.is_symlink():
            yield from sorted(directory.iterdir())


def _reason(
    found: os.stat_result, site: os.stat_result, *, is_directory: bool
) -> str | None:
    mode = found.st_mode
    if not stat.S_ISDIR(mode) and (is_directory or not stat.S_ISREG(mode)):
        return "no file and no directory of ours"
    shared = site.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    if not shared and found.st_uid not in {site.st_uid, 0, os.geteuid()}:
        return f"belongs to user {found.st_uid}, and the site to user {site.st_uid}"
    if mode & stat.S_IWOTH and not site.st_mode & stat.S_IWOTH:
        return "everybody can write it"
    same_group = found.st_gid == site.st_gid
    if mode & stat.S_IWGRP and not (site.st_mode & stat.S_IWGRP and same_group):
        return f"group {found.st_gid} can write it"
    return None
