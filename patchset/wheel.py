"""A wheel, read in place: name, version, RECORD, and its files; never unpacked."""

from __future__ import annotations

import csv
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

from patchset.errors import PatchsetError, Problem
from patchset.metadata import parse_metadata, parse_record
from patchset.model import Digest


@dataclass(frozen=True)
class Wheel:
    """One wheel file; every property is read when it is asked for."""

    path: Path

    @cached_property
    def name(self) -> str:
        """The distribution's name, as METADATA has it."""
        return self._metadata["name"]

    @cached_property
    def version(self) -> str:
        """The distribution's version."""
        return self._metadata["version"]

    @cached_property
    def record(self) -> Mapping[str, Digest]:
        """Path → digest, for every file that RECORD has one for."""
        text = self._read(f"{self._info}/RECORD").decode("utf-8", "surrogateescape")
        try:
            return parse_record(text)
        except csv.Error as error:
            raise self._broken(f"its RECORD is no CSV: {error}") from error

    @cached_property
    def packages(self) -> frozenset[str]:
        """The import packages in it."""
        return frozenset(
            PurePosixPath(path).parts[0]
            for path in self.record
            if PurePosixPath(path).name == "__init__.py"
        )

    def read(self, path: str) -> bytes | None:
        """The bytes of one file, or None if the wheel has none of that name."""
        try:
            return self._read(path)
        except KeyError:
            return None

    def names(self, folder: str) -> frozenset[str]:
        """The names in a folder; empty where there is no such folder."""
        return frozenset(self._folders.get(folder, ()))

    @cached_property
    def _folders(self) -> Mapping[str, set[str]]:
        folders: dict[str, set[str]] = {}
        for name in self._archive.namelist():
            path = name.rstrip("/")
            while path:
                parent, _, last = path.rpartition("/")
                known = folders.setdefault(parent, set())
                if last in known:
                    break
                known.add(last)
                path = parent
        return folders

    @cached_property
    def _archive(self) -> zipfile.ZipFile:
        try:
            return zipfile.ZipFile(self.path)
        except (OSError, zipfile.BadZipFile) as error:
            raise self._broken(str(error)) from error

    @cached_property
    def _info(self) -> str:
        for name in self._archive.namelist():
            directory, _, rest = name.partition("/")
            if directory.endswith(".dist-info") and rest == "RECORD":
                return directory
        raise self._broken("it has no .dist-info/RECORD")

    @cached_property
    def _metadata(self) -> Mapping[str, str]:
        text = self._read(f"{self._info}/METADATA").decode("utf-8", "replace")
        fields = parse_metadata(text)
        if not {"name", "version"} <= fields.keys():
            raise self._broken("its METADATA lacks Name or Version")
        return fields

    def _read(self, path: str) -> bytes:
        try:
            return self._archive.read(path)
        except (OSError, zipfile.BadZipFile) as error:
            raise self._broken(str(error)) from error

    def _broken(self, reason: str) -> PatchsetError:
        return PatchsetError(
            Problem(
                kind="wheel",
                message=f"{self.path}: no wheel that can be read: {reason}",
                hint=f"remove {self.path} and download it again",
                path=str(self.path),
            )
        )
