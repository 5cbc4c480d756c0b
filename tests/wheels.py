"""Published wheels, fetched by name and version and kept outside the tree."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import zipfile
from pathlib import Path

_PLATFORMS = ("manylinux_2_28", "manylinux_2_31", "manylinux_2_35", "manylinux_2_17")
_MACHINES = ("x86_64", "aarch64")


def cache() -> Path:
    """Where fetched wheels stay between runs."""
    root = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    path = Path(root, "patchset", "wheels")
    path.mkdir(parents=True, exist_ok=True)
    return path


def fetch(name: str, version: str, *, python: str = "3.12") -> Path:
    """The wheel of one release, as the index publishes it; downloaded once."""
    folder = cache() / f"{name}-{version}"
    folder.mkdir(exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        found = sorted(folder.glob("*.whl"))
        if not found:
            _download(name, version, folder, python)
            found = sorted(folder.glob("*.whl"))
    (wheel,) = found
    return wheel


def _download(name: str, version: str, folder: Path, python: str) -> None:
    # Unpacked and read only, never run: the wheel of any machine will do.
    tags = [f"--platform={p}_{m}" for m in _MACHINES for p in _PLATFORMS]
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"),
            *("--disable-pip-version-check", "--only-binary=:all:"),
            *(f"--python-version={python}", *tags, "--platform=any"),
            *("--dest", str(folder), f"{name}=={version}"),
        ],
        check=True,
    )


def read(wheel: Path, path: str) -> bytes:
    """One file of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return archive.read(path)
