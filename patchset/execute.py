"""A survey → a plan, and a plan → the disk: all of it, or nothing.

The order of effects is the promise: everything is rewritten in memory, every obstacle
is looked for, objects are saved and the journal is written before the first rename;
when something fails half way, what was replaced is put back.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from patchset.digest import of_bytes
from patchset.errors import PatchsetError, Problem
from patchset.files import (
    put_link,
    remove_bytecode,
    stage,
    sync_directory,
    temporary_name,
)
from patchset.model import (
    Adopted,
    Applied,
    Attributes,
    Digest,
    Ledger,
    Output,
    Patch,
    PatchState,
    PatchText,
    Place,
    Pristine,
    Subject,
)
from patchset.plan import (
    Bytes,
    Forget,
    Keep,
    Refuse,
    Step,
    Write,
    forced,
    memory,
    needs_folding,
    step,
)
from patchset.store import Store
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
    try:
        _save(survey, plan, contents)
        _replace_all(plan.writes, contents, ledgers)
    except OSError as error:
        raise PatchsetError(_failed(error)) from error


def _preflight(writes: Sequence[Write]) -> Iterator[Problem]:
    """What would stop us half way, looked for before the first write."""
    directories = {one.subject.file.site for one in writes}
    for write in writes:
        file = write.subject.file
        directories.add(str(Path(file.site, file.path).parent))
        if file.attributes is not None and not _may_own(file.attributes):
            yield Problem(
                kind="owner",
                message=f"{file.path}: belongs to user {file.attributes.uid}, group "
                f"{file.attributes.gid}, which we could not restore",
                hint="run the command again as its owner, or as root",
                path=file.path,
            )
    for directory in sorted(directories):
        if not os.access(directory, os.W_OK | os.X_OK):
            yield Problem(
                kind="not-writable",
                message=f"{directory}: cannot be written by user {os.geteuid()}",
                hint="run the command again as the owner of the environment",
                path=directory,
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


def _save(survey: Survey, plan: Plan, contents: Mapping[Place, bytes]) -> None:
    """Keep every byte that will be replaced, and what will be made of it."""
    for decided in plan.steps:
        subject = decided.subject
        store = Store(Path(subject.file.site))
        _save_adopted(store, survey, subject)
        if isinstance(decided, Write) and decided.forced:
            store.save_aside(subject.file.path, subject.file.content or b"")
        if isinstance(decided, Write):
            _save_base(store, subject)
        if not isinstance(decided, Write) or not decided.patches:
            continue
        store.write_object(
            contents[subject.place],
            Output(
                path=subject.file.path,
                base=subject.base or Digest(""),
                edit=survey.edit,
                patches=tuple(_save_patch(store, one) for one in decided.patches),
            ),
        )
    for decided in plan.steps:
        if isinstance(decided, Keep) and decided.entry is not None:
            _heal(survey, decided)


def _save_adopted(store: Store, survey: Survey, subject: Subject) -> None:
    file = subject.file
    if subject.adopted is None or file.digest != subject.adopted:
        return
    state = survey.states.get(file.site)
    adopted = Adopted(path=file.path, recorded=file.recorded or Digest(""))
    if state is None or adopted not in state.roles.get(subject.adopted, ()):
        store.adopt(file.content or b"", adopted)


def _save_base(store: Store, subject: Subject) -> None:
    """Pristine bytes as they lie there, with mode, owner and link."""
    file = subject.file
    if (
        file.content is not None
        and file.attributes is not None
        and file.digest in {subject.base, file.recorded}
    ):
        pristine = Pristine(path=file.path, attributes=file.attributes)
        store.write_object(file.content, pristine)


def _save_patch(store: Store, patch: Patch) -> Applied:
    text = store.write_object(
        patch.source.encode("utf-8"),
        PatchText(id=patch.id, variant=patch.variant, checked=patch.checked),
    )
    return Applied(id=patch.id, variant=patch.variant, code=patch.code, text=text)


def _heal(survey: Survey, kept: Keep) -> None:
    """The bytes are as wanted: let the store say of which patches, as they are now."""
    subject = kept.subject
    output = subject.own_output
    wanted = {(one.id, one.variant, one.code) for one in kept.patches}
    if (
        output is not None
        and output.edit == survey.edit
        and {one.identity for one in output.patches} == wanted
    ):
        return
    store = Store(Path(subject.file.site))
    store.write_object(
        subject.file.content or b"",
        Output(
            path=subject.file.path,
            base=subject.base or Digest(""),
            edit=survey.edit,
            patches=tuple(_save_patch(store, one) for one in kept.patches),
        ),
    )


def _replace_all(
    writes: Sequence[Write],
    contents: Mapping[Place, bytes],
    ledgers: Mapping[str, Ledger],
) -> None:
    """Journals, temporary files, renames, ledgers; or everything as it was."""
    stores = {site: Store(Path(site)) for site in ledgers}
    for site, store in stores.items():
        paths = [
            one.subject.file.path for one in writes if one.subject.file.site == site
        ]
        if paths:
            store.write_journal({path: temporary_name(path) for path in paths})
    try:
        for write in writes:
            _stage(write, contents[write.subject.place])
        with _undisturbed():
            _commit(writes, contents)
            for site, store in sorted(stores.items()):
                store.write_ledger(ledgers[site])
    except BaseException:
        for write in writes:
            with contextlib.suppress(OSError):
                _temporary(write.subject).unlink()
        for store in stores.values():
            store.drop_journal()
        raise
    for store in stores.values():
        store.drop_journal()


def _commit(writes: Sequence[Write], contents: Mapping[Place, bytes]) -> None:
    done: list[Write] = []
    try:
        for write in writes:
            _rename(write)
            done.append(write)
        for write in writes:
            _check(write, contents[write.subject.place])
    except BaseException:
        for write in reversed(done):
            _put_back(write.subject)
        raise
    for directory in sorted({_path(one.subject).parent for one in writes}):
        sync_directory(directory)


def _stage(write: Write, content: bytes) -> None:
    file = write.subject.file
    attributes = file.attributes
    if attributes is None:
        raise AssertionError(f"{file.path}: nothing there to replace")
    stage(_path(write.subject), content, write.original or attributes)


def _rename(write: Write) -> None:
    """The one instant at which a file changes."""
    path = _path(write.subject)
    if of_bytes(path.read_bytes()) != write.subject.file.digest:
        raise PatchsetError(
            Problem(
                kind="changed-meanwhile",
                message=f"{write.subject.file.path}: changed while we were at work",
                hint="patchset status, then the same command again",
                path=write.subject.file.path,
            )
        )
    original = write.original
    temporary = _temporary(write.subject)
    if original is not None and original.link is not None:
        target = path.parent / original.link
        if target.is_file() and of_bytes(target.read_bytes()) == write.digest:
            temporary.unlink()
            put_link(path, original.link)
            remove_bytecode(path)
            return
    temporary.replace(path)
    remove_bytecode(path)


def _check(write: Write, content: bytes) -> None:
    if _path(write.subject).read_bytes() != content:
        path = write.subject.file.path
        raise OSError(None, "what was written does not read back", path)


def _put_back(subject: Subject) -> None:
    """Undo one rename: the bytes that lay there are still in memory."""
    file = subject.file
    path = _path(subject)
    if file.content is None or file.attributes is None:
        raise AssertionError(f"{file.path}: nothing was replaced")
    if file.attributes.link is not None:
        put_link(path, file.attributes.link)
    else:
        stage(path, file.content, file.attributes).replace(path)
    remove_bytecode(path)


def _path(subject: Subject) -> Path:
    return Path(subject.file.site, subject.file.path)


def _temporary(subject: Subject) -> Path:
    return Path(subject.file.site, temporary_name(subject.file.path))


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Hold SIGINT and SIGTERM back for the milliseconds in which files change names."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    signals = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _failed(error: OSError) -> Problem:
    path = error.filename or "a file"
    return Problem(
        kind="io",
        message=f"{path}: {error.strerror or error}; everything was put back",
        hint="mend that, then run the same command again",
        path=None if error.filename is None else str(error.filename),
    )


# --- ledgers ---------------------------------------------------------------------


def next_ledgers(survey: Survey, plan: Plan) -> Mapping[str, Ledger]:
    """What each site's ledger says after the plan; only sites that need one."""
    ledgers: dict[str, Ledger] = {}
    sites = {one.subject.file.site for one in plan.steps}
    sites |= {site for site, state in survey.states.items() if state.exists}
    home = _home(survey)
    for site in sorted(sites | ({home} if home else set())):
        state = survey.states.get(site)
        old = state.ledger if state is not None else Ledger()
        new = replace(
            old,
            selection=survey.selection,
            assumed=survey.assumed,
            files=dict(sorted(_entries(plan.steps, site))),
            obsolete=_obsolete(survey, plan, site, old),
        )
        if (state is not None and state.exists) or new != Ledger():
            ledgers[site] = new
    return ledgers


def _home(survey: Survey) -> str | None:
    """Where a selection is kept when there is nothing else to keep."""
    for distribution in survey.environment.distributions.values():
        if distribution.site in survey.states:
            return distribution.site
    return None


def _entries(steps: Iterable[Step], site: str) -> Iterator[tuple[str, Digest]]:
    for decided in steps:
        file = decided.subject.file
        if file.site != site:
            continue
        match decided:
            case Keep(entry=entry) if entry is not None:
                yield file.path, entry
            case Write(digest=digest, patches=patches) if patches:
                yield file.path, digest
            case Refuse(subject=subject) if subject.entry is not None:
                yield file.path, subject.entry
            case Keep() | Write() | Refuse() | Forget():
                pass


def _obsolete(
    survey: Survey, plan: Plan, site: str, old: Ledger
) -> Mapping[str, Digest]:
    """What was known and is still about a patch that there is, and what was found."""
    kept: dict[str, Digest] = {}
    if old.obsolete:
        known = {memory(one, survey.edit) for one in survey.patches}
        kept = {name: base for name, base in old.obsolete.items() if name in known}
    for subject in survey.subjects:
        if subject.file.site == site and subject.base is not None:
            for patch in plan.obsolete.get(subject.place, ()):
                kept[memory(patch, survey.edit)] = subject.base
    return dict(sorted(kept.items()))
