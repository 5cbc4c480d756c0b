"""Where the files of an import package come from: a directory, an overlay, a wheel.

A wheel is `patchset.wheel.Wheel`, which answers as these do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

SKIPPED = frozenset({"__pycache__"})


class Source(Protocol):
    """The files below a site, by their path relative to it, with `/` between names."""

    def read(self, path: str) -> bytes | None:
        """Return the bytes of one file, None where there is no such file."""

    def names(self, folder: str) -> frozenset[str]:
        """Return the names in a folder; empty where there is no such folder."""


@dataclass(frozen=True, kw_only=True)
class Directory:
    """The files of a site on disk, read as they are now; listings are kept."""

    root: Path
    _listed: dict[str, frozenset[str]] = field(default_factory=dict, repr=False)

    def read(self, path: str) -> bytes | None:
        """Return the bytes of one file, None where there is no such file."""
        try:
            return (self.root / path).read_bytes()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None

    def names(self, folder: str) -> frozenset[str]:
        """Return the names in a folder; empty where there is no such folder."""
        found = self._listed.get(folder)
        if found is None:
            try:
                found = frozenset(
                    entry.name for entry in (self.root / folder).iterdir()
                )
            except (FileNotFoundError, NotADirectoryError):
                found = frozenset()
            self._listed[folder] = found
        return found


@dataclass(frozen=True, kw_only=True)
class Overlay:
    """Another source in which some files hold other bytes: what a patch would leave."""

    base: Source
    files: Mapping[str, bytes]

    def read(self, path: str) -> bytes | None:
        """Return the bytes of one file, None where there is no such file."""
        found = self.files.get(path)
        return self.base.read(path) if found is None else found

    def names(self, folder: str) -> frozenset[str]:
        """Return the names in a folder; empty where there is no such folder."""
        prefix = f"{folder}/" if folder else ""
        more = {
            path[len(prefix) :].partition("/")[0]
            for path in self.files
            if path.startswith(prefix)
        }
        return self.base.names(folder) | more


def python_files(source: Source, folder: str) -> Iterator[str]:
    """Yield the paths of the Python files below a folder, in the order of names."""
    for name in sorted(source.names(folder) - SKIPPED):
        path = f"{folder}/{name}"
        if name.endswith(".py"):
            yield path
        elif "." not in name:
            yield from python_files(source, path)
