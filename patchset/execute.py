"""A survey → a plan, and a plan → the disk: all of it, or nothing.

The order of effects is the promise: everything is rewritten in memory, every obstacle
is looked for, objects are saved and the journal is written before the first rename;
when something fails half way, what was replaced is put back.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from patchset.digest import of_bytes
from patchset.errors import PatchsetError, Problem
from patchset.exchange import Replacement, exchange, io_problem, replacement
from patchset.files import bytecode_of
from patchset.limits import time_limit
from patchset.model import (
    Attributes,
    Digest,
    Ledger,
    Patch,
    PatchState,
    Place,
    Pristine,
    Subject,
)
from patchset.plan import (
    Bytes,
    Refuse,
    Step,
    Write,
    forced,
    needs_folding,
    step,
)
from patchset.saving import save
from patchset.signals import undisturbed
from patchset.store import DIRECTORY, Store
from patchset.survey import Survey


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """What a run would do to an environment."""

    steps: tuple[Step, ...]
    problems: tuple[Problem, ...]
    obsolete: Mapping[Place, tuple[Patch, ...]] = field(default_factory=dict)
    """The patches that were found to have nothing to do, by this very run."""

    @property
    def writes(self) -> tuple[Write, ...]:
        """The files that would be replaced."""
        return tuple(one for one in self.steps if isinstance(one, Write))


def make_plan(
    survey: Survey,
    *,
    force: bool = False,
    progress: Callable[[str], None] | None = None,
) -> Plan:
    """Decide for every subject; runs the codemods that have to run, writes nothing.

    `force` puts pristine bytes in the place of those that we do not recognise.
    """
    steps: list[Step] = []
    problems: list[Problem] = list(_unusable(survey))
    obsolete: dict[Place, tuple[Patch, ...]] = {}
    for subject in survey.subjects:
        wanted = survey.known[subject.place]
        subject = _believed(subject, wanted)  # noqa: PLW2901 - the same, checked
        if needs_folding(subject, wanted):
            if progress is not None:
                progress(subject.file.path)
            folded = _fold(survey, subject)
            if not isinstance(folded, Bytes):
                problems.extend(folded)
                continue
            wanted = folded
            if folded.obsolete:
                obsolete[subject.place] = folded.obsolete
        decided = step(subject, wanted)
        if force and isinstance(decided, Refuse):
            decided = forced(decided)
        if isinstance(decided, Refuse):
            problems.append(decided.problem)
        if isinstance(decided, Write):
            decided = replace(decided, original=_original(survey, decided))
        steps.append(decided)
    return Plan(steps=tuple(steps), problems=tuple(problems), obsolete=obsolete)


def _believed(subject: Subject, wanted: Bytes | None) -> Subject:
    """Without the wanted object, where its bytes are not what its name says.

    Then it is made again of the base, or refused.
    """
    if (
        wanted is None
        or wanted.digest not in subject.held
        or wanted.digest == subject.file.digest
        or Store(Path(subject.file.site)).read_object(wanted.digest) is not None
    ):
        return subject
    return replace(subject, held=subject.held - {wanted.digest})


def _unusable(survey: Survey) -> Iterator[Problem]:
    """What keeps a whole package from being judged, where a patch needs it."""
    needed = {
        name
        for choice in survey.choices
        if choice.state is PatchState.REFUSED
        for needs in choice.patch.needs
        for name in needs
    }
    for name, found in sorted(survey.environment.distributions.items()):
        if name in needed and found.obstacle is not None:
            yield found.obstacle


def _fold(survey: Survey, subject: Subject) -> Bytes | tuple[Problem, ...]:
    # Imported here: a run with nothing to rewrite never pays for libcst.
    from patchset.rewrite import Folded, fold  # noqa: PLC0415

    base = read_base(subject)
    if base is None:
        refused = step(subject, Bytes(digest=Digest("")))
        return (refused.problem,) if isinstance(refused, Refuse) else ()
    result = fold(
        base,
        subject.effective,
        path=subject.file.path,
        compiles=survey.interpreter.compiles,
        guard=time_limit,
    )
    if not isinstance(result, Folded):
        return result.problems
    return Bytes(
        digest=of_bytes(result.content),
        patches=result.applied,
        content=result.content,
        obsolete=result.obsolete,
    )


def _original(survey: Survey, write: Write) -> Attributes | None:
    """The mode and the link that the base had, where the base is put back.

    Its owner is that of the patched file, which has the base's: whoever gave the
    files of an environment away since then has given this one away, too.
    """
    file = write.subject.file
    state = survey.states.get(file.site)
    if write.patches or state is None or file.attributes is None:
        return None
    for role in state.roles.get(write.digest, ()):
        if isinstance(role, Pristine) and role.path == file.path:
            return replace(
                role.attributes, uid=file.attributes.uid, gid=file.attributes.gid
            )
    return None


def read_base(subject: Subject) -> bytes | None:
    """The bytes that the patches of a subject are folded over, if we have them."""
    if subject.file.digest == subject.base:
        return subject.file.content
    if subject.base is None:
        return None
    return Store(Path(subject.file.site)).read_object(subject.base)


# --- carrying it out -------------------------------------------------------------


def carry_out(survey: Survey, plan: Plan, *, ledgers: Mapping[str, Ledger]) -> None:
    """Do what the plan says, in all sites, and write these ledgers.

    Raises PatchsetError, with everything as it was, where one file cannot be replaced.
    """
    if plan.problems:
        raise PatchsetError(*plan.problems)
    if problems := list(_preflight(plan.writes)):
        raise PatchsetError(*problems)
    contents = {one.subject.place: _content(one) for one in plan.writes}
    files = [_replacement(one, contents[one.subject.place]) for one in plan.writes]
    fresh = [Store(Path(site)) for site in ledgers if not Store(Path(site)).exists()]
    with undisturbed():
        try:
            save(survey, plan.steps, contents)
            exchange(
                files,
                {Path(site): ledger for site, ledger in ledgers.items()},
                stores=[Path(site) for site in survey.states],
            )
        except BaseException as error:
            _forget(fresh)
            if isinstance(error, OSError):
                raise PatchsetError(io_problem(error)) from error
            raise


def remove_state(survey: Survey) -> None:
    """Leave nothing of ours in any site; raises PatchsetError where that is refused."""
    try:
        with undisturbed():
            for site in survey.states:
                Store(Path(site)).remove()
    except OSError as error:
        raise PatchsetError(
            Problem(
                kind="io",
                message=f"{error.filename}: {error.strerror}; every file was put back, "
                "and our own state could not be removed",
                hint="mend that, then patchset revert",
                path=None if error.filename is None else str(error.filename),
            )
        ) from error


def _forget(fresh: Sequence[Store]) -> None:
    """After a failed first run nothing of ours stays, unless files are half-done."""
    for store in fresh:
        with contextlib.suppress(OSError, PatchsetError):
            if store.read_journal() is None:
                store.remove()


def _replacement(write: Write, content: bytes) -> Replacement:
    file = write.subject.file
    if file.content is None or file.attributes is None:
        raise AssertionError(f"{file.path}: nothing there to replace")
    return replacement(
        Path(file.site),
        file.path,
        before=file.content,
        attributes=file.attributes,
        after=content,
        given=write.original or replace(file.attributes, link=None),
    )


def _preflight(writes: Sequence[Write]) -> Iterator[Problem]:
    """What would stop us half way, looked for before the first write."""
    directories = {Path(one.subject.file.site) for one in writes}
    directories |= {one / DIRECTORY for one in directories}
    directories |= {one / "objects" for one in directories if one.name == DIRECTORY}
    for write in writes:
        file = write.subject.file
        path = Path(file.site, file.path)
        directories |= {path.parent, *(one.parent for one in bytecode_of(path))}
        if file.attributes is not None and not _may_own(file.attributes):
            yield Problem(
                kind="owner",
                message=f"{file.path}: belongs to user {file.attributes.uid}, group "
                f"{file.attributes.gid}, which we could not restore",
                hint="run the command again as its owner, or as root",
                path=file.path,
            )
    for directory in sorted(directories):
        if directory.exists() and not os.access(directory, os.W_OK | os.X_OK):
            yield Problem(
                kind="not-writable",
                message=f"{directory}: cannot be written by user {os.geteuid()}",
                hint="run the command again as the owner of the environment",
                path=str(directory),
            )


def _may_own(attributes: Attributes) -> bool:
    if os.geteuid() == 0:
        return True
    groups = {os.getegid(), *os.getgroups()}
    return attributes.uid == os.geteuid() and attributes.gid in groups


def _content(write: Write) -> bytes:
    if write.content is not None:
        return write.content
    file = write.subject.file
    content = Store(Path(file.site)).read_object(write.digest)
    if content is None:
        raise PatchsetError(
            Problem(
                kind="corrupt-state",
                message=f"{file.path}: the object {write.digest} in the store is not "
                "what its name says",
                hint=f"pip install --force-reinstall --no-deps {file.package}",
                path=file.path,
            )
        )
    return content
