"""Every order of events on one file, breadth first, over the real decisions.

What lies on the disk and in the store is a model; what is read out of it, decided and
remembered is the real code: subjects, plan, ledgers, states. Only the codemods (a name
for the bytes) and the writing (the order of effects, cut anywhere) are played.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from patchset import documents
from patchset import survey as surveys
from patchset.after import next_ledgers
from patchset.cli.change import _unwanted
from patchset.errors import PatchsetError
from patchset.execute import Plan, make_plan
from patchset.interpreter import Interpreter
from patchset.model import (
    Adopted,
    Digest,
    Distribution,
    Environment,
    InstalledFile,
    Ledger,
    Output,
    Patch,
    Pristine,
    Role,
    Selection,
    Site,
    State,
    Subject,
)
from patchset.plan import Bytes, Keep, Write
from patchset.select import choose
from patchset.survey import Survey
from tests.values import PATH, PLAIN, applied, digest, make_patch

SITE = "/site"
HAND = "X"
"""Bytes of the user's own; they happen to hold the cure of `a`."""
CURED = frozenset({HAND, "R2"})
NEEDS = [{"pkg": "<9"}]
A = make_patch("a", needs=NEEDS)
A2 = make_patch("a", needs=NEEDS, code="revision 2")
B = make_patch("b", needs=NEEDS)
DECLARED: dict[str, tuple[Patch, ...]] = {
    "none": (), "a": (A,), "ab": (A, B), "a2b": (A2, B),
}  # fmt: skip
VERSIONS = {"R1": "1.0", "R2": "2.0"}
STOPS = ("saved", "renamed", "recorded")
"""Where a run is killed: before its first rename, before the ledger, before the end."""
DEPTH = 5


@dataclass(frozen=True)
class World:
    """One file, its RECORD, the catalogue, and our own state, all by names."""

    disk: str | None = "R1"
    release: str | None = "R1"
    declared: str = "ab"
    edit: str = "1"
    exists: bool = False
    roles: frozenset[tuple[str, Role]] = frozenset()
    entry: str | None = None
    obsolete: frozenset[tuple[str, Digest]] = frozenset()
    interrupted: bool = False

    def state(self) -> State:
        names = sorted({name for name, _ in self.roles})
        return State(
            exists=self.exists,
            ledger=Ledger(
                files={} if self.entry is None else {PATH: digest(self.entry)},
                obsolete=dict(self.obsolete),
            ),
            roles={
                digest(name): tuple(r for n, r in self.roles if n == name)
                for name in names
            },
            interrupted=(PATH,) if self.interrupted else None,
        )

    def held(self) -> set[str]:
        return {name for name, _ in self.roles}


class Bench:
    """Looks at worlds, and plays what runs do to them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.world = World()
        self.names: dict[Digest, str] = {
            digest(name): name for name in ("R1", "R2", HAND)
        }
        monkeypatch.setattr(surveys, "read_installed", self._read)
        monkeypatch.setattr(surveys, "edit_digest", lambda: digest(self.world.edit))
        monkeypatch.setattr("patchset.execute._fold", self._fold)
        # The objects of this world are names: the store holds what has a role.
        monkeypatch.setattr("patchset.execute.Store.read_object", lambda *_: b"")

    def _read(
        self, path: str, package: str, site: str, distribution: Distribution | None
    ) -> InstalledFile:
        found = self.world.disk
        return InstalledFile(
            path=path,
            site=site,
            package=package,
            distribution=distribution,
            content=None if found is None else found.encode(),
            digest=None if found is None else digest(found),
            attributes=None if found is None else PLAIN,
        )

    def _fold(self, survey: Survey, subject: Subject) -> Bytes:
        del survey
        assert subject.base is not None
        base = self.names[subject.base]
        assert base in {self.world.disk, *self.world.held()}, "no base to fold over"
        cured = tuple(p for p in subject.effective if p.id == A.id and base in CURED)
        patches = tuple(p for p in subject.effective if p not in cured)
        codes = {A.code: "a", A2.code: "a2", B.code: "b"}
        name = "|".join([base, *(codes[one.code] for one in patches)])
        self.names[digest(name)] = name
        return Bytes(digest=digest(name), patches=patches, content=b"", obsolete=cured)

    def survey(self, world: World) -> Survey:
        """What `take` sees, of this world."""
        self.world = world
        distributions = {}
        if world.release is not None:
            distributions["pkg"] = Distribution(
                package="pkg",
                name="pkg",
                version=VERSIONS[world.release],
                site=SITE,
                record={PATH: digest(world.release)},
            )
        environment = Environment(
            python="3.12.1",
            executable=None,
            sites=(Site(path=SITE, ours=True),),
            distributions=distributions,
        )
        patches = DECLARED[world.declared]
        choices = choose(patches, environment.versions, Selection())
        states = {SITE: world.state()}
        return Survey(
            interpreter=Interpreter(
                python="3.12.1", executable=None, prefix="/", sites=environment.sites
            ),
            environment=environment,
            patches=patches,
            choices=choices,
            subjects=surveys._subjects(environment, states, choices),
            states=states,
            selection=Selection(),
            golden={},
            assumed={},
        )

    def is_well(self, world: World) -> bool:
        return documents.is_well(self.survey(world))

    # --- commands ---

    def apply(self, world: World, stop: str | None = None) -> World | None:
        """None where it is refused."""
        survey = self.survey(world)
        return self._carry_out(world, survey, make_plan(survey), stop)

    def adopt(self, world: World) -> World | None:
        survey = self.survey(world)
        if not survey.subjects:
            return None
        try:
            subjects = surveys._adopting(survey.subjects, [PATH])
        except PatchsetError:
            return None
        survey = replace(survey, subjects=subjects)
        return self._carry_out(world, survey, make_plan(survey), None)

    def revert(
        self, world: World, stop: str | None = None, *, force: bool = False
    ) -> World | None:
        survey = self.survey(world)
        if force:
            subjects = tuple(replace(one, adopted=None) for one in survey.subjects)
            survey = replace(survey, subjects=subjects)
        survey = _unwanted(survey)
        done = self._carry_out(world, survey, make_plan(survey, force=force), stop)
        if done is None or stop is not None:
            return done
        return replace(
            done, exists=False, roles=frozenset(), entry=None, obsolete=frozenset()
        )

    def _carry_out(
        self, world: World, survey: Survey, plan: Plan, stop: str | None
    ) -> World | None:
        if plan.problems:
            return None
        saved: set[str] = set()
        roles = set(world.roles)
        for decided in plan.steps:
            if isinstance(decided, Write | Keep):
                self._save(roles, saved, decided, world)
        after = replace(
            world, roles=frozenset(roles), exists=world.exists or bool(roles)
        )
        for write in plan.writes:
            _check_write(after, saved, write)
            after = replace(after, exists=True, interrupted=True)
        if plan.writes and stop == "saved":
            return after
        for write in plan.writes:
            after = replace(after, disk=self.names[write.digest])
        if plan.writes and stop == "renamed":
            return after
        ledger = next_ledgers(survey, plan).get(SITE)
        if ledger is not None:
            entry = ledger.files.get(PATH)
            after = replace(
                after,
                exists=True,
                entry=None if entry is None else self.names[entry],
                obsolete=frozenset(ledger.obsolete.items()),
            )
        if plan.writes and stop == "recorded":
            return after
        return replace(after, interrupted=False)

    def _save(
        self,
        roles: set[tuple[str, Role]],
        saved: set[str],
        decided: Write | Keep,
        world: World,
    ) -> None:
        """What a run keeps before it touches the file."""
        subject, disk = decided.subject, world.disk
        assert disk is not None
        file = subject.file
        if subject.adopted is not None and file.digest == subject.adopted:
            role = Adopted(path=PATH, recorded=file.recorded or Digest(""))
            roles -= {one for one in roles if one[1] == role}
            roles.add((disk, role))
        if isinstance(decided, Write):
            if decided.forced:
                saved.add(disk)
            if file.digest in {subject.base, file.recorded}:
                roles.add((disk, Pristine(path=PATH, attributes=PLAIN)))
        if decided.patches and subject.base is not None:
            name = self.names[decided.digest] if isinstance(decided, Write) else disk
            made = Output(
                path=PATH,
                base=subject.base,
                patches=tuple(map(applied, decided.patches)),
                edit=digest(world.edit),
            )
            roles -= {one for one in roles if _is_replaced(one, name, made)}
            roles.add((name, made))


def _is_replaced(old: tuple[str, Role], name: str, new: Output) -> bool:
    return old[0] == name and isinstance(old[1], Output) and old[1].base == new.base


def _check_write(after: World, saved: set[str], write: Write) -> None:
    """Promise 1: only what is recognised is replaced, and it can be put back."""
    old = after.disk
    assert old is not None
    assert old in after.held() | saved
    if old == HAND:
        is_adopted = write.subject.adopted == digest(HAND)
        assert is_adopted or (write.forced and HAND in saved)
    assert write.forced == (old in saved)


# --- what may happen -------------------------------------------------------------


def _events(bench: Bench, world: World) -> Iterator[tuple[str, World | None]]:
    for name in DECLARED:
        yield f"declare {name}", replace(world, declared=name)
    yield "other codemods", replace(world, edit="2" if world.edit == "1" else "1")
    yield "reinstall", replace(world, disk=world.release)
    other = "R2" if world.release == "R1" else "R1"
    yield "upgrade", replace(world, disk=other, release=other)
    if world.disk is not None:
        yield "upgrade cut short: metadata first", replace(world, release=other)
        yield "upgrade cut short: files first", replace(world, disk=other)
        yield "edit by hand", replace(world, disk=HAND)
        yield "delete", replace(world, disk=None)
        yield "adopt", bench.adopt(world)
    yield "uninstall", replace(world, disk=None, release=None)
    yield (
        "lose the state",
        replace(
            world,
            exists=False,
            roles=frozenset(),
            entry=None,
            obsolete=frozenset(),
            interrupted=False,
        ),
    )
    is_ours = (world.disk or "", Output) in {(n, type(r)) for n, r in world.roles}
    yield (
        "lose the ledger",
        replace(world, entry=world.disk if is_ours else None, obsolete=frozenset()),
    )
    yield "apply", bench.apply(world)
    yield "revert", bench.revert(world)
    yield "revert --force", bench.revert(world, force=True)
    for stop in STOPS:
        yield f"apply, killed when {stop}", bench.apply(world, stop)
        yield f"revert, killed when {stop}", bench.revert(world, stop)


# --- what must hold --------------------------------------------------------------


def _base(world: World) -> str | None:
    """The bytes that patches are folded over, by the words of the contract."""
    for name, role in world.roles:
        if isinstance(role, Adopted) and role.recorded == digest(world.release or ""):
            return name
    return world.release


def _is_ours(world: World) -> bool:
    """Whether the file is more to us than one among many in the site."""
    if world.interrupted or world.entry is not None:
        return True
    adopted = Adopted(path=PATH, recorded=digest(world.release or ""))
    return any(
        name == world.disk and (isinstance(role, Output) or role == adopted)
        for name, role in world.roles
    )


def _check(bench: Bench, world: World) -> None:
    done = bench.apply(world)
    if bench.is_well(world):
        assert done is not None, "well, and refused"
        assert done.disk == world.disk, "well, and not as wanted"
    if done is not None:
        assert bench.is_well(done), "applied, and not well"
        assert bench.apply(done) == done, "a second apply does something"
        undone = bench.revert(done)
        assert undone is not None, "applied, and cannot be reverted"
        assert not undone.exists
        kept = {done.disk} if not _is_ours(done) else {_base(done)}
        assert undone.disk in kept | {done.release}, "reverted to no base"
    for stop in STOPS:
        for run in (bench.apply, bench.revert):
            killed = run(world, stop)
            if killed is None or not killed.interrupted:
                continue
            assert not bench.is_well(killed), "interrupted, and said to be well"
            assert (whole := run(world)) is not None
            assert (finished := run(killed)) is not None, "cannot be finished"
            assert finished.disk == whole.disk, "finished otherwise"
            assert bench.revert(killed) is not None, "cannot be taken back"
    forced = bench.revert(world, force=True)
    if forced is not None:
        is_there = _is_ours(world) and world.disk is not None
        wanted = world.release if is_there else world.disk
        assert forced.disk == wanted, "forced, and not pristine"


def test_no_order_of_events_breaks_a_promise(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(monkeypatch)
    seen = {World(): ""}
    queue = deque([(World(), 0)])
    while queue:
        world, depth = queue.popleft()
        try:
            _check(bench, world)
        except AssertionError as error:
            pytest.fail(f"after{seen[world]}: {error}\n{world}")
        if depth == DEPTH:
            continue
        for name, after in _events(bench, world):
            if after is not None and after not in seen:
                seen[after] = f"{seen[world]} → {name}"
                queue.append((after, depth + 1))
    assert len(seen) > 1000
