"""The other Pythons of this machine: some laws are about more than the one we run."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

_MINORS = ("3.10", "3.11", "3.12", "3.13", "3.14")


def others() -> list[Path]:
    """One interpreter of each supported version that is here and is not our own."""
    own = f"{sys.version_info[0]}.{sys.version_info[1]}"
    found = [_find(minor) for minor in _MINORS if minor != own]
    return [path for path in found if path is not None]


def find_newer_than(minor: str) -> Path | None:
    """An interpreter of this or a later version, not our own; None without one."""
    wanted = [one for one in _MINORS if _MINORS.index(one) >= _MINORS.index(minor)]
    return next((path for path in map(_find, wanted) if path is not None), None)


def _find(minor: str) -> Path | None:
    pyenv = sorted(Path.home().glob(f".pyenv/versions/{minor}.*/bin/python"))
    if pyenv:
        return pyenv[-1]
    found = shutil.which(f"python{minor}")
    return None if found is None or "shims" in found else Path(found)
