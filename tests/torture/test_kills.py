"""Killed at any effect: files are whole, status is honest, the next run finishes."""

from __future__ import annotations

import errno
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from patchset.cli import main
from tests.torture.conftest import LONG
from tests.torture.runner import Run, Scenario, Tree, targets, tree

SCENARIOS = (
    "apply",
    "revert",
    "revert one",
    "upgrade",
    "recovery by apply",
    "recovery by revert",
)


@pytest.fixture(params=SCENARIOS)
def scenario(
    request: pytest.FixtureRequest, scenarios: Callable[[str], Scenario]
) -> Scenario:
    return scenarios(request.param)


def _points(scenario: Scenario, every: int) -> Iterator[int]:
    """The effects at which something happens: all, or a sample with the renames."""
    renames = [i for i, name in enumerate(scenario.effects) if name == "os.rename"]
    # The last renames are of the targets and the ledgers.
    vital = set(renames[-6:])
    for index in range(len(scenario.effects)):
        if LONG or index % every == every // 2 or index in vital:
            yield index


def _whole(scenario: Scenario, root: Path) -> None:
    """Every target is there, and has its old or its new bytes."""
    found = targets(root)
    for path, one in found.items():
        assert one in (scenario.before[path], scenario.after[path]), path
    wanted = {path for path in scenario.before if path in scenario.after}
    assert set(found) == {path for path in wanted if path in found}
    assert len(found) == 3


def _honest(scenario: Scenario, root: Path) -> Run:
    status = scenario.on(root, "status", "--json")
    journals = list(root.rglob(".patchset/journal"))
    interrupted = bool(journals)
    assert ("interrupted" in status.kinds) == interrupted, status.out
    assert status.document["ok"] == (status.code == 0)
    if interrupted:
        assert status.code == 1
    if status.code == 0:
        states = [_targets_of(one) for one in (scenario.before, scenario.after)]
        assert targets(root) in states
    return status


def _targets_of(one: Tree) -> Tree:
    """The targets in a tree that was read before."""
    paths = ("pkg/m.py", "pkg/linked.py", "other/k.py")
    return {path: value for path, value in one.items() if path.endswith(paths)}


def _pristine_after_revert(scenario: Scenario, root: Path) -> None:
    reverted = scenario.on(root, "revert")
    assert reverted.code == 0, reverted.err
    assert scenario.on(root, "status", "--json").code == 1
    assert not [path for path in tree(root) if "patchset" in path]
    for path, (_, content) in targets(root).items():
        assert b"= 2" not in content, path


def test_killed_anywhere(
    scenario: Scenario, record_property: Callable[[str, object], None]
) -> None:
    survived = 0
    for index in _points(scenario, every=19):
        with scenario.copy() as root:
            run = scenario.run(root, fault={"kind": "kill", "at": index})
            assert run.code == -signal.SIGKILL, (index, run)
            _whole(scenario, root)
            _honest(scenario, root)
            if LONG or survived % 2:
                done = scenario.run(root)
                assert done.code == 0, (index, done.err)
                assert tree(root) == scenario.after, index
            _pristine_after_revert(scenario, root)
            survived += 1
    record_property("figure", f"kills survived in {scenario.name}: {survived}")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_nothing_half_done(
    scenario: Scenario,
    number: signal.Signals,
    record_property: Callable[[str, object], None],
) -> None:
    survived = 0
    for index in _points(scenario, every=41):
        with scenario.copy() as root:
            run = scenario.run(
                root, fault={"kind": "signal", "signal": number, "at": index}
            )
            assert run.code == 130, (index, run)
            found = targets(root)
            old, new = _targets_of(scenario.before), _targets_of(scenario.after)
            half_done_before = "recovery" in scenario.name
            assert half_done_before or found in (old, new), index
            if not half_done_before:
                assert not list(root.rglob(".patchset/journal"))
                assert not list(root.rglob(".*.patchset-tmp"))
            done = scenario.run(root)
            assert done.code == 0, (index, done.err)
            assert tree(root) == scenario.after, index
            survived += 1
    record_property("figure", f"{number.name} survived in {scenario.name}: {survived}")


def test_a_signal_that_was_ignored_stays_ignored() -> None:
    """As under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with pytest.raises(SystemExit):
            main(["--version"])
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_nothing_takes_its_name_before_it_is_on_the_disk(scenario: Scenario) -> None:
    """What a loss of power may leave: the order of writing, syncing, renaming."""
    unsynced = False
    for name in scenario.effects:
        if name in {"write", "os.chmod", "os.utime"}:
            unsynced = True
        if name == "fsync":
            unsynced = False
        assert not (name == "os.rename" and unsynced)
    renames = [i for i, name in enumerate(scenario.effects) if name == "os.rename"]
    removals = [
        i
        for i, name in enumerate(scenario.effects)
        if name == "os.remove" and i > renames[-1]
    ]
    assert "fsync" in scenario.effects[renames[-1] : removals[0]]


# --- faults ----------------------------------------------------------------------


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES, errno.EIO, errno.EROFS])
def test_a_call_that_fails_once(
    scenario: Scenario,
    number: int,
    record_property: Callable[[str, object], None],
) -> None:
    """All or nothing: exit 3 with everything as it was, or 0 with everything done."""
    tried = 0
    for index in _points(scenario, every=53):
        with scenario.copy() as root:
            fault = {"kind": "error", "errno": number, "at": index}
            run = scenario.run(root, fault=fault)
            _all_or_nothing(scenario, root, run, index)
            tried += 1
    name = errno.errorcode[number]
    record_property("figure", f"{name} survived in {scenario.name}: {tried}")


def test_a_disk_that_stays_full(
    scenario: Scenario, record_property: Callable[[str, object], None]
) -> None:
    """Putting back needs no space."""
    tried = 0
    for index in _points(scenario, every=43):
        with scenario.copy() as root:
            fault = {
                "kind": "error",
                "errno": errno.ENOSPC,
                "at": index,
                "lasting": True,
                "space": True,
            }
            run = scenario.run(root, fault=fault)
            _all_or_nothing(scenario, root, run, index)
            tried += 1
    record_property("figure", f"full disks survived in {scenario.name}: {tried}")


def _all_or_nothing(scenario: Scenario, root: Path, run: Run, index: int) -> None:
    where = (index, scenario.effects[index], run.err)
    assert run.code in {0, 3}, where
    assert "Traceback" not in run.err, where
    if run.code == 0:
        assert tree(root) == scenario.after, where
        return
    if "recovery" in scenario.name or _said_that_something_is_left(run):
        _whole(scenario, root)
        _honest(scenario, root)
    else:
        assert targets(root) == _targets_of(scenario.before), where
        assert not list(root.rglob(".patchset/journal")), where
        assert not list(root.rglob(".*.patchset-tmp")), where
    done = scenario.run(root)
    assert done.code == 0, where
    assert tree(root) == scenario.after, where


def _said_that_something_is_left(run: Run) -> bool:
    said = run.err.replace("\n", " ")
    return "could not be put back" in said or "could not be removed" in said


def test_a_disk_that_becomes_read_only_midway(
    scenario: Scenario, record_property: Callable[[str, object], None]
) -> None:
    """Then nothing can be put back either: status says so, the next run finishes."""
    tried = 0
    for index in _points(scenario, every=43):
        with scenario.copy() as root:
            fault = {
                "kind": "error",
                "errno": errno.EROFS,
                "at": index,
                "lasting": True,
            }
            run = scenario.run(root, fault=fault)
            assert run.code == 3, (index, run)
            assert "Traceback" not in run.err
            _whole(scenario, root)
            _honest(scenario, root)
            done = scenario.run(root)
            assert done.code == 0, (index, done.err)
            assert tree(root) == scenario.after, index
            tried += 1
    record_property("figure", f"read-only disks survived in {scenario.name}: {tried}")


def test_a_file_that_changes_between_reading_and_replacing(
    scenarios: Callable[[str], Scenario],
) -> None:
    scenario = scenarios("apply")
    first = scenario.effects.index("os.rename")
    with scenario.copy() as root:
        path = root / "lib/one/pkg/m.py"
        fault = {"kind": "edit", "path": str(path), "at": first}
        run = scenario.run(root, fault=fault)
        assert run.code == 3, run
        assert "changed while we were at work" in run.err.replace("\n", " ")
        assert path.read_bytes() == b"# mine\n"
        rest = {k: v for k, v in targets(root).items() if not k.endswith("m.py")}
        assert rest == {
            k: v for k, v in _targets_of(scenario.before).items() if k in rest
        }
        assert not list(root.rglob(".patchset"))
