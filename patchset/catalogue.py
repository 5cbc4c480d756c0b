"""Folders of patches: found, and read without running anything in them."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from packaging.version import InvalidVersion, Version

from patchset.digest import is_digest, of_code
from patchset.errors import PatchsetError, Problem, UsageError
from patchset.model import Digest, Patch
from patchset.patchfile import parse_patch
from patchset.plan import Golden

CHECKED = "checked.json"
GOLDEN = "golden.json"


@dataclass(frozen=True, kw_only=True, slots=True)
class Catalogue:
    """The patches of one folder."""

    name: str | None
    """None for the built-in one."""
    directory: Path
    patches: tuple[Patch, ...]
    golden: Golden = field(default_factory=dict)


def builtin_directory() -> Path:
    """Where our own patches lie: in the package of a wheel, beside it in a checkout."""
    package = Path(__file__).resolve().parent
    for directory in (package / "patches", package.parent / "patches"):
        if (directory / CHECKED).is_file():
            return directory
    raise PatchsetError(
        Problem(
            kind="no-catalogue",
            message=f"no built-in patches in {package / 'patches'} or beside {package}",
            hint="pip install --force-reinstall patchset",
        )
    )


def read_catalogues(directories: Sequence[Path]) -> tuple[Catalogue, ...]:
    """The built-in catalogue and those in the directories.

    Raises UsageError with every problem of every file.
    """
    named = [(None, builtin_directory()), *((d.resolve().name, d) for d in directories)]
    problems: list[Problem] = []
    found: list[Catalogue] = []
    for name, directory in named:
        if any(one.name == name for one in found):
            problems.append(_duplicate(name, directory))
            continue
        try:
            found.append(read_catalogue(directory, name))
        except UsageError as error:
            problems.extend(error.problems)
    if problems:
        raise UsageError(*problems)
    return tuple(found)


def read_catalogue(directory: Path, name: str | None) -> Catalogue:
    """The catalogue in one folder: `<import package>/<defect>.py`, and its tables."""
    if not directory.is_dir():
        raise UsageError(
            Problem(
                kind="no-catalogue",
                message=f"{directory}: no directory of patches",
                hint="patchset --patches DIR list, with <import package>/<defect>.py "
                "in DIR",
                path=str(directory),
            )
        )
    checked = _read_checked(directory / CHECKED)
    patches: list[Patch] = []
    problems: list[Problem] = []
    for path in sorted(directory.glob("*/*.py")):
        if path.name.startswith("_") or not path.parent.name.isidentifier():
            continue
        try:
            patches.append(_read_patch(path, name, checked))
        except UsageError as error:
            problems.extend(error.problems)
    if not patches and not problems:
        problems.append(
            Problem(
                kind="no-catalogue",
                message=f"{directory}: found no <import package>/<defect>.py in it",
                hint=f"ls {directory}",
                path=str(directory),
            )
        )
    if problems:
        raise UsageError(*problems)
    golden = _read_golden(directory / GOLDEN, name)
    return Catalogue(
        name=name, directory=directory, patches=tuple(patches), golden=golden
    )


def edit_digest() -> Digest:
    """Of the codemods' own code: with that of the patches, it makes the bytes."""
    package = Path(__file__).resolve().parent
    paths = [package / "definitions.py", package / "pattern.py"]
    paths += sorted((package / "edit").glob("*.py"))
    total = sha256()
    for path in paths:
        total.update(of_code(ast.parse(path.read_bytes())).encode())
    return Digest(f"sha256:{total.hexdigest()}")


def _read_patch(path: Path, name: str | None, checked: Mapping[str, str]) -> Patch:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(_bad(path, f"cannot be read: {error}")) from error
    return parse_patch(
        text,
        package=path.parent.name,
        stem=path.stem,
        catalogue=name,
        origin=str(path),
        checked=checked,
    )


def _read_checked(path: Path) -> Mapping[str, str]:
    """Import package → the newest release on which the catalogue was checked."""
    if not path.exists():
        return {}
    rows = _read_table(path).get("newest")
    if not isinstance(rows, dict):
        raise UsageError(_bad(path, "found no `newest`, wanted package → version"))
    for name, version in rows.items():
        try:
            Version(version)
        except (InvalidVersion, TypeError) as error:
            raise UsageError(
                _bad(path, f"{name}: {version!r} is no version")
            ) from error
    return rows


def _read_golden(path: Path, catalogue: str | None) -> Golden:
    if not path.exists():
        return {}
    prefix = "" if catalogue is None else f"{catalogue}:"
    rows = _read_table(path).get("rows")
    if not isinstance(rows, list) or not all(map(_is_golden, rows)):
        wanted = f"`rows` of objects with {', '.join(_GOLDEN_TEXTS)} and patches"
        raise UsageError(_bad(path, f"found other than {wanted}"))
    return {
        (row["path"], row["pristine"], frozenset(prefix + n for n in row["patches"])): (
            row["recipe"],
            row["patched"],
        )
        for row in rows
    }


_GOLDEN_TEXTS = ("path", "pristine", "recipe", "patched")


def _is_golden(row: object) -> bool:
    return (
        isinstance(row, dict)
        and isinstance(row.get("path"), str)
        and all(is_digest(row.get(name)) for name in _GOLDEN_TEXTS[1:])
        and isinstance(row.get("patches"), list)
        and all(isinstance(name, str) for name in row["patches"])
    )


def _read_table(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(_bad(path, f"cannot be read: {error}")) from error
    if not isinstance(data, dict) or data.get("schema") != 1:
        raise UsageError(_bad(path, "found no `schema: 1`"))
    return data


def _bad(path: Path, found: str) -> Problem:
    return Problem(
        kind="catalogue",
        message=f"{path}: {found}",
        hint=f"correct {path}",
        path=str(path),
    )


def _duplicate(name: str | None, directory: Path) -> Problem:
    return Problem(
        kind="catalogue",
        message=f"{directory}: a second catalogue called {name}: ids would clash",
        hint="rename one of the two directories",
        path=str(directory),
    )
