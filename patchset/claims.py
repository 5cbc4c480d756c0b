"""What a .dist-info directory says of an import package."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from patchset.metadata import parse_metadata, parse_record
from patchset.model import Digest, Site

INFO = re.compile(r"(?P<name>[A-Za-z0-9][\w.]*?)-(?P<version>[^-]+)\.dist-info")
"""The name of such a directory."""


def is_hint(name: str, package: str) -> bool:
    """Directory names say where to look first, no more."""
    match = INFO.fullmatch(name)
    return match is not None and package in re.split(r"[-_.]", match["name"].lower())


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim:
    """What one .dist-info says of an import package."""

    info: str
    name: str
    version: str
    record: Mapping[str, Digest]
    editable: str | None


def read_claim(site: Site, info: str, package: str) -> Claim:
    """What the .dist-info `info` says of a package, as far as it can be read."""
    directory = Path(site.path, info)
    match = INFO.fullmatch(info)
    metadata = _read_metadata(directory / "METADATA")
    fallback = match["name"] if match else info
    return Claim(
        info=info,
        name=metadata.get("name", fallback),
        version=metadata.get("version", ""),
        record=_read_record(directory / "RECORD", package),
        editable=_editable_source(directory / "direct_url.json"),
    )


def _read_metadata(path: Path) -> Mapping[str, str]:
    try:
        return parse_metadata(path.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return {}


def _read_record(path: Path, package: str) -> Mapping[str, Digest]:
    """The rows of the package that have a digest; none where RECORD is no RECORD."""
    try:
        text = path.read_bytes().decode("utf-8", "surrogateescape")
        return parse_record(text, below=f"{package}/")
    except (OSError, csv.Error):
        return {}


def _editable_source(path: Path) -> str | None:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        editable = data["dir_info"]["editable"]
        return str(data.get("url", "")) if editable is True else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
