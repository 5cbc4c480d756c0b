"""One thing that cannot work, as a value: a row of the report and of the JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from fnmatch import fnmatchcase
from typing import Protocol


class Kind(str, Enum):
    """What is wrong, in the words of the JSON."""

    MISSING_NAME = "missing-name"
    MISSING_MODULE = "missing-module"
    MISSING_ARGUMENT = "missing-argument"
    UNEXPECTED_KEYWORD = "unexpected-keyword"
    TOO_MANY_ARGUMENTS = "too-many-arguments"
    MISSING_METHOD = "missing-method"
    PROTOCOL = "protocol"
    WHITELIST = "whitelist"
    CONFIG_FIELD = "config-field"


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One use of a library that the library, as it is on disk, does not allow."""

    kind: Kind
    client: str
    """The import package that makes the use."""
    path: str
    """The file of the use, relative to its site."""
    line: int
    symbol: str
    """The name as used: the class for a constructor, as it was imported."""
    found: str
    """The offending keyword or name."""
    wanted: str
    """What the library has instead, with the place where it has it."""
    patch: str | None = None
    """The id of the patch that cures it."""

    def to_json(self) -> dict[str, object]:
        """Return the object of `findings` in the JSON output."""
        return {
            "kind": self.kind.value,
            "client": self.client,
            "path": self.path,
            "line": self.line,
            "symbol": self.symbol,
            "found": self.found,
            "wanted": self.wanted,
            "patch": self.patch,
        }


class Cure(Protocol):
    """What must be known of a patch to say which findings it cures."""

    @property
    def id(self) -> str:
        """The patch's id."""

    @property
    def target(self) -> str:
        """The file that it changes."""

    @property
    def cures(self) -> tuple[str, ...]:
        """Patterns `kind symbol found`, each part a shell-style pattern."""


def cured_by(finding: Finding, patches: Iterable[Cure]) -> str | None:
    """Return the id of the patch that declares to cure the finding.

    A patch declares it: no overlap of files or of definitions is taken for a cure,
    as several patches may touch one definition. A patch of the file in which the
    finding lies comes first, then the order of ids decides.
    """
    matching = sorted(
        (patch.target != finding.path, patch.id)
        for patch in patches
        if any(_matches(finding, pattern) for pattern in patch.cures)
    )
    return matching[0][1] if matching else None


def with_cures(
    findings: Iterable[Finding], patches: Sequence[Cure]
) -> tuple[Finding, ...]:
    """Return the findings, each with the patch that cures it."""
    return tuple(replace(each, patch=cured_by(each, patches)) for each in findings)


def _matches(finding: Finding, pattern: str) -> bool:
    parts = pattern.split()
    values = (finding.kind.value, finding.symbol, finding.found)
    return len(parts) == len(values) and all(
        fnmatchcase(value, part) for value, part in zip(values, parts, strict=True)
    )
