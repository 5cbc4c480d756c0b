"""One look at an environment: all that `plan` needs, gathered once, under the lock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from patchset.catalogue import Catalogue, edit_digest
from patchset.errors import PatchsetError, Problem, UsageError
from patchset.installed import read_installed
from patchset.interpreter import Interpreter
from patchset.kept import kept_patches
from patchset.model import (
    FINE,
    Adopted,
    Choice,
    Digest,
    Distribution,
    Environment,
    Output,
    Patch,
    PatchState,
    Place,
    Selection,
    Site,
    State,
    Subject,
)
from patchset.plan import (
    Bytes,
    FileRow,
    Golden,
    PatchRow,
    expected,
    file_row,
    memory,
    outputs_by_digest,
    patch_rows,
)
from patchset.select import choose
from patchset.site import find_distributions
from patchset.store import Store
from patchset.versions import is_version


@dataclass(frozen=True)
class Survey:
    """What is known of an environment at one instant."""

    interpreter: Interpreter
    environment: Environment
    patches: tuple[Patch, ...]
    """The catalogues that were given, and the kept texts of those that were not."""
    choices: tuple[Choice, ...]
    subjects: tuple[Subject, ...]
    states: Mapping[str, State]
    selection: Selection
    golden: Golden
    assumed: Mapping[str, str]
    """`<import package> <own version>` → the version that the user says it is."""

    @cached_property
    def edit(self) -> Digest:
        """Of the codemods' code; read only where something is patched."""
        return edit_digest()

    @cached_property
    def known(self) -> Mapping[Place, Bytes | None]:
        """Site and path → the wanted bytes, where no codemod has to run for them."""
        return {one.place: self.known_of(one) for one in self.subjects}

    def known_of(self, subject: Subject) -> Bytes | None:
        """The wanted bytes of one subject, where no codemod has to run for them."""
        if not subject.effective:
            return None if subject.base is None else Bytes(digest=subject.base)
        return expected(subject, self.golden, self.edit)

    @cached_property
    def file_rows(self) -> tuple[FileRow, ...]:
        """Every target of a wanted or applied patch, in the order of paths."""
        rows = [
            file_row(one, self.known[one.place])
            for one in self.subjects
            if one.file.distribution is not None
        ]
        return tuple(row for row in rows if row.patches or row.subject.entry)

    @cached_property
    def patch_rows(self) -> tuple[PatchRow, ...]:
        """Every patch with its state, in the order of ids; the totals add up."""
        chosen: dict[str, PatchRow] = {
            choice.patch.id: PatchRow(
                id=choice.patch.id,
                patch=choice.patch,
                path=choice.patch.target,
                state=choice.state,
                reason=choice.reason,
            )
            for choice in self.choices
        }
        found: dict[str, PatchRow] = {}
        for subject in self.subjects:
            edit = self.edit if subject.own_output is not None else Digest("")
            for row in patch_rows(subject, self.known[subject.place], edit):
                # A patch may be in two files, when its target has moved: what is
                # fine in one of them does not hide what is not in the other.
                if row.id not in found or found[row.id].state in FINE:
                    found[row.id] = self._described(row, chosen.get(row.id))
        rows = {**chosen, **found}
        return tuple(rows[name] for name in sorted(rows))

    @property
    def is_interrupted(self) -> bool:
        """Whether a run was cut short and no other has finished it."""
        return any(one.interrupted is not None for one in self.states.values())

    def _described(self, row: PatchRow, choice: PatchRow | None) -> PatchRow:
        """An orphan is told apart by what versions and selection say of it."""
        if row.state is not PatchState.ORPHANED or choice is None:
            return row
        now = f"{choice.state.value} now: {choice.reason}"
        if choice.state is PatchState.PENDING and choice.path == row.path:
            return replace(row, patch=choice.patch)
        if choice.state is PatchState.PENDING:
            now = f"declared for {choice.path} now"
        return replace(row, patch=choice.patch, reason=f"applied, and {now}")


def take(
    interpreter: Interpreter,
    catalogues: Sequence[Catalogue],
    *,
    selection: Selection | None = None,
    adopt: Sequence[str] = (),
    assume: Mapping[str, str] | None = None,
    ignore_adopted: bool = False,
    allow_nothing: bool = False,
    only_files: bool = False,
) -> Survey:
    """Look at an environment; `selection` and `assume` are what the user says now.

    `ignore_adopted` makes RECORD's bytes the base again, whatever was adopted;
    `allow_nothing` accepts an environment without anything for us; `only_files` does
    without the kept texts of patches, where they are not to be run again anyway.

    Raises PatchsetError where none of the packages is installed and we keep nothing,
    where the state cannot be read, and for paths to adopt that are not drifted.
    """
    states = {site.path: Store(Path(site.path)).read() for site in _own(interpreter)}
    chosen = selection if selection is not None else _stored_selection(states)
    kept = () if only_files else kept_patches(states, catalogues)
    patches = (*(p for c in catalogues for p in c.patches), *kept)
    packages = {name for one in patches for n in one.needs for name in n}
    packages |= {one.package for one in patches}
    packages |= {_package_of(path) for one in states.values() for path in _touched(one)}
    environment = find_distributions(interpreter, packages)
    assumed = _assumed(environment, states, assume or {})
    environment = _with_versions(environment, assumed)
    is_empty = not _known(environment, patches)
    if is_empty and not allow_nothing and not any(s.exists for s in states.values()):
        raise _nothing_to_patch(interpreter, patches)
    unusable = {
        name: one.obstacle.message
        for name, one in environment.distributions.items()
        if one.obstacle is not None and not is_version(one.version)
    }
    versions = {k: v for k, v in environment.versions.items() if k not in unusable}
    choices = choose(patches, versions, chosen, unusable)
    subjects = _subjects(environment, states, choices)
    if ignore_adopted:
        subjects = tuple(replace(one, adopted=None) for one in subjects)
    return Survey(
        interpreter=interpreter,
        environment=environment,
        patches=patches,
        choices=choices,
        subjects=_adopting(subjects, adopt),
        states=states,
        selection=chosen,
        golden={k: v for c in catalogues for k, v in c.golden.items()},
        assumed=assumed,
    )


def take_ledger(interpreter: Interpreter) -> Survey:
    """A look at what the ledgers name, for `verify`: no catalogue, no patch text."""
    states = {site.path: Store(Path(site.path)).read() for site in _own(interpreter)}
    paths = {path for state in states.values() for path in state.ledger.files}
    packages = {_package_of(path) for path in paths}
    environment = find_distributions(interpreter, packages)
    return Survey(
        interpreter=interpreter,
        environment=environment,
        patches=(),
        choices=(),
        subjects=_subjects(environment, states, ()),
        states=states,
        selection=_stored_selection(states),
        golden={},
        assumed={},
    )


def _package_of(path: str) -> str:
    """The import package that a file belongs to."""
    return path.partition("/")[0]


def _own(interpreter: Interpreter) -> tuple[Site, ...]:
    return tuple(site for site in interpreter.sites if site.ours)


def _known(environment: Environment, patches: Sequence[Patch]) -> bool:
    return any(one.package in environment.distributions for one in patches)


def _stored_selection(states: Mapping[str, State]) -> Selection:
    """The selection belongs to the environment; every site's ledger has it."""
    for state in states.values():
        if not state.ledger.selection.is_default:
            return state.ledger.selection
    return Selection()


def _assumed(
    environment: Environment, states: Mapping[str, State], stated: Mapping[str, str]
) -> Mapping[str, str]:
    """`<import package> <own version>` → what stands for it, then or now."""
    assumed = {k: v for one in states.values() for k, v in one.ledger.assumed.items()}
    for name, found in environment.distributions.items():
        if name in stated:
            assumed[f"{name} {found.version}"] = stated[name]
    return dict(sorted(assumed.items()))


def _with_versions(environment: Environment, assumed: Mapping[str, str]) -> Environment:
    found = {
        name: _with_version(one, assumed.get(f"{name} {one.version}"))
        for name, one in environment.distributions.items()
    }
    return replace(environment, distributions=found)


def _with_version(distribution: Distribution, assumed: str | None) -> Distribution:
    if assumed is not None:
        return replace(distribution, version=assumed)
    if distribution.obstacle is not None or is_version(distribution.version):
        return distribution
    problem = Problem(
        kind="no-version",
        message=f"{distribution.name} says version {distribution.version!r}: "
        "found no version that can be compared",
        hint=f"patchset apply --{distribution.package} V --assume-version",
    )
    return replace(distribution, obstacle=problem)


def _subjects(
    environment: Environment,
    states: Mapping[str, State],
    choices: Sequence[Choice],
) -> tuple[Subject, ...]:
    """Every target of a wanted patch, and every file that we have touched."""
    wanted: dict[tuple[str, str], list[Choice]] = {}
    for choice in choices:
        if choice.wanted:
            site = environment.distributions[choice.patch.package].site
            wanted.setdefault((site, choice.patch.target), []).append(choice)
    for site, state in states.items():
        for path in _touched(state):
            wanted.setdefault((site, path), [])
    edit = Digest("")
    if choices and any(state.ledger.obsolete for state in states.values()):
        edit = edit_digest()
    subjects = [
        _subject(
            environment,
            states.get(site, State()),
            (site, path),
            tuple(chosen),
            edit=edit,
        )
        for (site, path), chosen in wanted.items()
    ]
    found = [one for one in subjects if _matters(one)]
    return tuple(sorted(found, key=lambda one: (one.file.path, one.file.site)))


def _touched(state: State) -> set[str]:
    named = {
        role.path
        for roles in state.roles.values()
        for role in roles
        if isinstance(role, Output | Adopted)
    }
    return named | set(state.ledger.files)


def _matters(subject: Subject) -> bool:
    """Not a file whose outputs are all history: pristine, and not in the ledger."""
    return bool(
        subject.wanted
        or subject.entry is not None
        or subject.interrupted
        or subject.file.digest in subject.outputs
        or (subject.adopted is not None and subject.file.digest == subject.adopted)
    )


def _subject(
    environment: Environment,
    state: State,
    place: Place,
    wanted: tuple[Choice, ...],
    *,
    edit: Digest,
) -> Subject:
    site, path = place
    package = _package_of(path)
    distribution = environment.distributions.get(package)
    if distribution is not None and distribution.site != site:
        distribution = None
    file = read_installed(path, package, site, distribution)
    adopted = _adopted(state, path, file.recorded)
    base = adopted or file.recorded
    outputs = [
        (digest, role)
        for digest, roles in sorted(state.roles.items())
        for role in roles
        if isinstance(role, Output) and role.path == path
    ]
    return Subject(
        file=file,
        wanted=wanted,
        adopted=adopted,
        outputs=outputs_by_digest(outputs),
        held=frozenset(state.roles),
        entry=state.ledger.files.get(path),
        obsolete=frozenset(
            one.patch.id
            for one in wanted
            if base is not None
            and state.ledger.obsolete.get(memory(one.patch, edit)) == base
        ),
        interrupted=path in (state.interrupted or ()),
    )


def _adopted(state: State, path: str, recorded: Digest | None) -> Digest | None:
    for digest, roles in sorted(state.roles.items()):
        if Adopted(path=path, recorded=recorded or Digest("")) in roles:
            return digest
    return None


def _adopting(subjects: Sequence[Subject], paths: Sequence[str]) -> tuple[Subject, ...]:
    """The subjects with the bytes on disk as the base of the paths to adopt."""
    wanted = dict.fromkeys(paths)
    adopted = []
    for subject in subjects:
        names = {subject.file.path, str(Path(subject.file.site, subject.file.path))}
        name = next((one for one in wanted if one in names), None)
        if name is None:
            adopted.append(subject)
            continue
        del wanted[name]
        adopted.append(_adopt(subject))
    if wanted:
        raise UsageError(*(_no_target(name) for name in wanted))
    return tuple(adopted)


def _adopt(subject: Subject) -> Subject:
    file = subject.file
    if file.digest is None or file.recorded is None or file.obstacle is not None:
        problem = file.obstacle or _no_target(file.path)
        raise PatchsetError(problem)
    if file.digest in {file.recorded, subject.adopted} or subject.own_output:
        raise PatchsetError(
            Problem(
                kind="not-drifted",
                message=f"{file.path}: its bytes are known, found nothing to adopt",
                hint="patchset apply",
                path=file.path,
            )
        )
    return replace(subject, adopted=file.digest, obsolete=frozenset())


def _no_target(name: str) -> Problem:
    return Problem(
        kind="no-target",
        message=f"--adopt {name}: no target of a wanted patch",
        hint="patchset status (adopt one of the files that it names)",
        path=name,
    )


def _nothing_to_patch(
    interpreter: Interpreter, patches: Sequence[Patch]
) -> PatchsetError:
    names = ", ".join(sorted({one.package for one in patches}))
    where = ", ".join(site.path for site in interpreter.sites) or interpreter.prefix
    return PatchsetError(
        Problem(
            kind="nothing-installed",
            message=f"{where}: found none of {names}",
            hint="patchset --python PATH status, with the environment that has them",
        )
    )
