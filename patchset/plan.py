"""Wanted, installed, ledger and store → what is true, and what is to be done.

The state table is here and nowhere else. C is what lies there, R what RECORD says, B
the base (adopted, else R), W the wanted bytes. In this order: nothing there → forget;
an obstacle, or no R → refuse; C = W → keep; C = R and no patch is wanted → keep; C = B
or C = R → write; C is an output over B → write; C is an output over another base →
refuse, an upgrade was cut short; else drifted → refuse. Only an output is ours to
overwrite.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from patchset.digest import of_bytes
from patchset.errors import Problem
from patchset.model import (
    Applied,
    Attributes,
    Choice,
    Digest,
    FileState,
    Output,
    Patch,
    PatchState,
    Subject,
)
from patchset.refusals import cut_short, drifted, missing, no_pristine

Golden: TypeAlias = Mapping[tuple[str, Digest, frozenset[str]], tuple[Digest, Digest]]
"""(path, base, patch ids) → (recipe that was run, bytes that came out)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PatchRow:
    """One patch with its state: a line of every report."""

    id: str
    patch: Patch | None
    """None for one that is applied and no longer declared anywhere."""
    path: str
    state: PatchState
    reason: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class FileRow:
    """One target of a wanted or applied patch, with its state."""

    subject: Subject
    state: FileState
    wanted: Digest | None
    """None where no table knows it and no codemod was run."""
    patches: tuple[str, ...]
    """The ids of the patches in what lies there, or wanted there."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Keep:
    """All is as wanted; `entry` is the output that lies there, None for the base."""

    subject: Subject
    entry: Digest | None
    patches: tuple[Patch, ...] = ()
    """Folded into what lies there."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Write:
    """Replace what lies there by `digest`: an output, or the base itself."""

    subject: Subject
    digest: Digest
    content: bytes | None
    """None where the store holds it."""
    patches: tuple[Patch, ...]
    """Folded into it; none of them where the base is put back."""
    original: Attributes | None = None
    """Mode, owner and link that the base had, where it is put back."""
    forced: bool = False
    """Over bytes that we do not recognise: they are saved aside first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Forget:
    """There is nothing to patch and nothing to put back."""

    subject: Subject


@dataclass(frozen=True, kw_only=True, slots=True)
class Refuse:
    """Nothing may be done, for this reason."""

    subject: Subject
    problem: Problem


Step: TypeAlias = Keep | Write | Forget | Refuse


@dataclass(frozen=True, kw_only=True, slots=True)
class Bytes:
    """What the wanted patches give over the base of one subject."""

    digest: Digest
    patches: tuple[Patch, ...] = ()
    content: bytes | None = None
    obsolete: tuple[Patch, ...] = field(default=())


# --- what is wanted --------------------------------------------------------------


def recipe(patches: Iterable[Patch], edit: Digest) -> Digest:
    """One digest over all code that makes bytes: the patches' and the codemods'."""
    rows = sorted(f"{one.id} {one.variant} {one.code}" for one in patches)
    return of_bytes("\n".join([*rows, edit]).encode())


def memory(patch: Patch, edit: Digest) -> str:
    """The name under which a ledger remembers that a patch is obsolete on some bytes.

    The answer was the code's, the codemods' included: other code may answer otherwise.
    """
    return f"{patch.id} {recipe((patch,), edit)}"


def expected(subject: Subject, golden: Golden, edit: Digest) -> Bytes | None:
    """The wanted bytes, where a table or the store knows them without a codemod."""
    base, patches = subject.base, subject.effective
    if base is None:
        return None
    if not patches:
        return Bytes(digest=base)
    made = sorted(_made(subject, base, patches, edit))
    if made and subject.file.digest in made:
        # Two libcsts may print the same patches differently: what lies there will do.
        return Bytes(digest=subject.file.digest, patches=patches)
    row = golden.get((subject.file.path, base, frozenset(one.id for one in patches)))
    if row is not None and row[0] == recipe(patches, edit):
        return Bytes(digest=row[1], patches=patches)
    return Bytes(digest=made[0], patches=patches) if made else None


def _made(
    subject: Subject, base: Digest, patches: Sequence[Patch], edit: Digest
) -> Iterator[Digest]:
    """What this very code made of these patches over this base, whenever it was."""
    identities = {(one.id, one.variant, one.code) for one in patches}
    for digest, outputs in subject.outputs.items():
        for output in outputs:
            if (
                output.base == base
                and output.edit == edit
                and {one.identity for one in output.patches} == identities
            ):
                yield digest


# --- what is true ----------------------------------------------------------------


def file_row(subject: Subject, wanted: Bytes | None) -> FileRow:
    """The state of a file, by its bytes alone."""
    output = subject.own_output
    ids = {one.id for one in output.patches} if output else set()
    ids |= {one.patch.id for one in subject.wanted}
    return FileRow(
        subject=subject,
        state=_file_state(subject, wanted),
        wanted=None if wanted is None else wanted.digest,
        patches=tuple(sorted(ids)),
    )


def _file_state(subject: Subject, wanted: Bytes | None) -> FileState:
    found = subject.file.digest
    if found is None:
        return FileState.MISSING
    if subject.interrupted:
        return FileState.INTERRUPTED
    if subject.own_output is not None:
        return FileState.PATCHED
    if found in {subject.base, subject.file.recorded}:
        return FileState.PRISTINE
    if wanted is not None and found == wanted.digest:
        return FileState.PATCHED
    return FileState.DRIFTED


def patch_rows(
    subject: Subject, wanted: Bytes | None, edit: Digest
) -> tuple[PatchRow, ...]:
    """The state of each patch that is wanted in this file or applied to it."""
    output = subject.own_output or _unclaimed_output(subject)
    there = {one.id: one for one in output.patches} if output else {}
    rows = [
        PatchRow(
            id=choice.patch.id,
            patch=choice.patch,
            path=subject.file.path,
            state=state,
            reason=reason,
        )
        for choice in subject.wanted
        for state, reason in [_patch_state(subject, choice, there, wanted, edit)]
    ]
    orphans = there.keys() - {choice.patch.id for choice in subject.wanted}
    rows.extend(
        PatchRow(
            id=name,
            patch=None,
            path=subject.file.path,
            state=PatchState.ORPHANED,
            reason="applied, and no longer declared"
            if subject.file.distribution
            else f"applied in {subject.file.site}, where nothing provides it now",
        )
        for name in sorted(orphans)
    )
    return tuple(rows)


def _patch_state(
    subject: Subject,
    choice: Choice,
    there: Mapping[str, Applied],
    wanted: Bytes | None,
    edit: Digest,
) -> tuple[PatchState, str | None]:
    if (problem := obstacle(subject, wanted)) is not None:
        return PatchState.REFUSED, problem.message
    found, base, patch = subject.file.digest, subject.base, choice.patch
    if _is_cured(subject, patch, there):
        return PatchState.OBSOLETE, "the cure is in the file already"
    if wanted is not None and found == wanted.digest and wanted.patches:
        return PatchState.APPLIED, None
    if patch.id in there:
        return _applied_state(subject, patch, there[patch.id], edit)
    if subject.interrupted:
        return PatchState.PENDING, "a run was interrupted"
    if subject.own_output is None and (subject.entry is not None or found != base):
        return PatchState.PENDING, "the file was reinstalled"
    return PatchState.PENDING, None


def _is_cured(subject: Subject, patch: Patch, there: Mapping[str, Applied]) -> bool:
    """Whether it has nothing to do on the base, and the base or ours lies there.

    Where the user adopted a base and reinstalled, neither does.
    """
    return (
        patch.id in subject.obsolete
        and patch.id not in there
        and (subject.file.digest == subject.base or subject.own_output is not None)
    )


def _applied_state(
    subject: Subject, patch: Patch, applied: Applied, edit: Digest
) -> tuple[PatchState, str | None]:
    """Applied, or outdated, by the code: no table knows the bytes."""
    if applied.identity != (patch.id, patch.variant, patch.code):
        return PatchState.OUTDATED, "the patch has changed since it was applied"
    if patch.id in subject.obsolete:
        return PatchState.OUTDATED, "the cure is in the base itself"
    output = subject.own_output
    if output is not None and output.edit != edit:
        return PatchState.OUTDATED, "the codemods have changed since it was applied"
    return PatchState.APPLIED, None


# --- what is to be done ----------------------------------------------------------


def obstacle(subject: Subject, wanted: Bytes | None) -> Problem | None:
    """Why this file can be neither patched nor put back, or None.

    Bytes that are as wanted are recognised, whoever wrote them.
    """
    file = subject.file
    if file.obstacle is not None:
        return file.obstacle
    distribution = file.distribution
    if distribution is None:
        return None
    if distribution.obstacle is not None:
        return distribution.obstacle
    if file.digest is None:
        return missing(subject) if subject.wanted else None
    if file.recorded is None:
        return Problem(
            kind="no-record",
            message=f"{file.path}: RECORD of {distribution.name} "
            f"{distribution.version} has no digest for it: nothing says what is "
            "pristine",
            hint=f"pip install --force-reinstall --no-deps "
            f"{distribution.name}=={distribution.version}",
            path=file.path,
        )
    if wanted is not None and file.digest == wanted.digest:
        return None
    return _unrecognised(subject)


def _unrecognised(subject: Subject) -> Problem | None:
    found = subject.file.digest
    if found is None or found in {subject.base, subject.file.recorded}:
        return None
    if subject.own_output is not None:
        return None
    return cut_short(subject) if found in subject.outputs else drifted(subject)


def step(subject: Subject, wanted: Bytes | None) -> Step:
    """What the state table says; `wanted` is None where folding was refused."""
    file = subject.file
    if file.digest is None and not subject.wanted:
        return Forget(subject=subject)
    if file.distribution is None:
        return _unclaimed(subject)
    if (problem := obstacle(subject, wanted)) is not None:
        return Refuse(subject=subject, problem=problem)
    if wanted is None:
        raise AssertionError(f"{file.path}: refused patches have no step")
    if file.digest == wanted.digest:
        return Keep(
            subject=subject,
            entry=wanted.digest if wanted.patches else None,
            patches=wanted.patches,
        )
    if not subject.wanted and file.digest == file.recorded:
        # Reinstalled over an adopted base: pristine bytes need no cure.
        return Keep(subject=subject, entry=None)
    if wanted.content is None and wanted.digest not in subject.held:
        return Refuse(subject=subject, problem=no_pristine(subject))
    return Write(
        subject=subject,
        digest=wanted.digest,
        content=wanted.content,
        patches=wanted.patches,
    )


def forced(refused: Refuse) -> Step:
    """The pristine bytes over unrecognised ones, if the store has them."""
    file = refused.subject.file
    if refused.problem.kind not in {"drifted", "cut-short"}:
        return refused
    if file.recorded is None or file.recorded not in refused.subject.held:
        return refused
    return Write(
        subject=refused.subject,
        digest=file.recorded,
        content=None,
        patches=(),
        forced=True,
    )


def _unclaimed(subject: Subject) -> Step:
    """Nothing claims the file any more: put back what we hold, else let it be."""
    output = _unclaimed_output(subject)
    if output is None:
        return Forget(subject=subject)
    return Write(subject=subject, digest=output.base, content=None, patches=())


def _unclaimed_output(subject: Subject) -> Output | None:
    """What we made and nothing claims any more, if its base can be put back."""
    if subject.file.distribution is not None or subject.file.digest is None:
        return None
    made = subject.outputs.get(subject.file.digest, ())
    return next((one for one in made if one.base in subject.held), None)


def needs_folding(subject: Subject, known: Bytes | None) -> bool:
    """Whether a codemod has to run before `step` can tell."""
    if not subject.effective or subject.file.distribution is None:
        return False
    if known is not None and (
        known.digest == subject.file.digest or known.digest in subject.held
    ):
        return False
    return obstacle(subject, known) is None


def outputs_by_digest(
    rows: Sequence[tuple[Digest, Output]],
) -> Mapping[Digest, tuple[Output, ...]]:
    """The outputs of one path under the digests of their bytes."""
    found: dict[Digest, tuple[Output, ...]] = {}
    for digest, output in rows:
        found[digest] = (*found.get(digest, ()), output)
    return found
