"""Wheels and a catalogue → what `apply` would do there, without installing anything."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol, TypeAlias

from patchset.digest import of_bytes
from patchset.errors import Problem
from patchset.model import Choice, Digest, Patch, PatchState, Selection
from patchset.rewrite import Folded, Refused
from patchset.select import choose

Folding: TypeAlias = Callable[[bytes, Sequence[Patch], str], Folded | Refused]
"""Base, patches and path → what came of folding them."""


class Release(Protocol):
    """What is asked of a release: a wheel says it, and so may what fetches one late."""

    @property
    def name(self) -> str:
        """The distribution's name."""

    @property
    def version(self) -> str:
        """The distribution's version."""

    def read(self, path: str) -> bytes | None:
        """The bytes of one file, or None if there is none of that name."""


class Verdict(str, Enum):
    """What would become of one patch."""

    APPLIES = "applies"
    OBSOLETE = "obsolete"
    NOT_NEEDED = "not needed"
    UNSELECTED = "unselected"
    UNTESTED = "untested but would apply"
    MOVED = "anchor moved"
    GONE = "file gone"
    CONFLICT = "conflict"
    REFUSED = "refused"
    ABSENT = "absent"


WELL = frozenset(
    {
        Verdict.APPLIES,
        Verdict.OBSOLETE,
        Verdict.NOT_NEEDED,
        Verdict.UNSELECTED,
        Verdict.ABSENT,
    }
)
"""The verdicts with which the environment could be brought to the wanted state."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One patch and its verdict."""

    patch: Patch
    verdict: Verdict
    reason: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Rewritten:
    """One file, as it is in its wheel and as it would be."""

    package: str
    path: str
    pristine: Digest
    patches: tuple[Patch, ...]
    content: bytes

    @property
    def patched(self) -> Digest:
        """The digest of the bytes that would be written."""
        return of_bytes(self.content)


@dataclass(frozen=True, kw_only=True, slots=True)
class Rehearsal:
    """All verdicts, in the order of ids, and every file that would be written."""

    rows: tuple[Row, ...]
    files: tuple[Rewritten, ...]

    @property
    def is_well(self) -> bool:
        """Whether `apply` would succeed, with nothing untested left."""
        return all(row.verdict in WELL for row in self.rows)


def rehearse(
    releases: Mapping[str, Release],
    patches: Sequence[Patch],
    *,
    selection: Selection,
    folding: Folding,
) -> Rehearsal:
    """Select for these releases and fold in memory; `releases` is keyed by package.

    `folding` is `rewrite.fold` with its `compiles`, or what remembers its results.
    """
    versions = {name: one.version for name, one in releases.items()}
    choices = choose(patches, versions, selection)
    rows: dict[str, Row] = {}
    files: list[Rewritten] = []
    by_target: dict[str, list[Choice]] = {}
    for choice in choices:
        if choice.wanted:
            by_target.setdefault(choice.patch.target, []).append(choice)
        else:
            rows[choice.patch.id] = _unwanted(choice, releases, folding)
    for path, wanted in sorted(by_target.items()):
        group = [choice.patch for choice in wanted]
        release = releases[group[0].package]
        for row in _fold(path, group, release, folding, files):
            rows[row.patch.id] = row
    return Rehearsal(
        rows=tuple(rows[name] for name in sorted(rows)), files=tuple(files)
    )


def _fold(
    path: str,
    patches: Sequence[Patch],
    release: Release,
    folding: Folding,
    files: list[Rewritten],
) -> Sequence[Row]:
    base = release.read(path)
    if base is None:
        reason = f"{path}: no such file in {release.name} {release.version}"
        return [Row(patch=p, verdict=Verdict.GONE, reason=reason) for p in patches]
    folded = folding(base, patches, path)
    if not isinstance(folded, Folded):
        return [_refused(patch, folded.problems) for patch in patches]
    if folded.applied:
        files.append(
            Rewritten(
                package=patches[0].package,
                path=path,
                pristine=of_bytes(base),
                patches=folded.applied,
                content=folded.content,
            )
        )
    return [
        Row(
            patch=patch,
            verdict=Verdict.APPLIES if patch in folded.applied else Verdict.OBSOLETE,
        )
        for patch in patches
    ]


def _refused(patch: Patch, problems: Sequence[Problem]) -> Row:
    own = [one for one in problems if one.patch in {patch.id, None}]
    if not own:
        # All or nothing: this one applies, and goes down with its neighbour.
        return Row(patch=patch, verdict=Verdict.APPLIES)
    verdicts = {"anchor-moved": Verdict.MOVED, "conflict": Verdict.CONFLICT}
    verdict = verdicts.get(own[0].kind, Verdict.REFUSED)
    return Row(patch=patch, verdict=verdict, reason=own[0].message)


def _unwanted(choice: Choice, releases: Mapping[str, Release], folding: Folding) -> Row:
    patch = choice.patch
    if choice.state is PatchState.UNTESTED:
        (row,) = _fold(patch.target, [patch], releases[patch.package], folding, [])
        verdict = {Verdict.APPLIES: Verdict.UNTESTED}.get(row.verdict, row.verdict)
        reason = row.reason or choice.reason
        return Row(patch=patch, verdict=verdict, reason=reason)
    verdicts = {
        PatchState.NOT_NEEDED: Verdict.NOT_NEEDED,
        PatchState.UNSELECTED: Verdict.UNSELECTED,
        PatchState.ABSENT: Verdict.ABSENT,
    }
    return Row(patch=patch, verdict=verdicts[choice.state], reason=choice.reason)
