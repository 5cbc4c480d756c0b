"""The kernel's own view: killed by strace at system calls of a real process."""

from __future__ import annotations

import collections
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.environments import (
    Environment,
    clean_environ,
    copy_environment,
    install,
)
from tests.torture.conftest import LONG
from tests.torture.small import FILES, PATCHED, write_catalogue

ROOT = Path(__file__).parents[2]
CALLS = (
    "rename",
    "unlink",
    "unlinkat",
    "mkdir",
    "rmdir",
    "symlink",
    "fsync",
    "fchmod",
    "utimensat",
    "write",
)

pytestmark = pytest.mark.skipif(
    not LONG or shutil.which("strace") is None, reason="slow, and needs strace"
)


@pytest.fixture
def catalogue(tmp_path: Path) -> str:
    return str(write_catalogue(tmp_path / "numbers", "m", "n"))


@pytest.fixture
def pkg(environment: Environment) -> Environment:
    install(environment.site, "pkg", "0.16.0", FILES)
    return environment


def _traced(
    pkg: Environment, catalogue: str, command: str, *options: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            *("strace", "-qq", "-e", f"trace={','.join(CALLS)}", *options),
            *(sys.executable, "-m", "patchset", "--python", str(pkg.root)),
            *("--patches", catalogue, command),
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**clean_environ(), "PYTHONDONTWRITEBYTECODE": "1"},
    )


def _counts(trace: str) -> Iterator[tuple[str, int]]:
    found = collections.Counter(re.findall(r"^(\w+)\(", trace, re.MULTILINE))
    for name, total in sorted(found.items()):
        yield from ((name, number) for number in range(1, total + 1))


@pytest.mark.parametrize("command", ["apply", "revert"])
def test_killed_at_each_system_call(
    pkg: Environment,
    catalogue: str,
    tmp_path: Path,
    command: str,
    record_property: Callable[[str, object], None],
) -> None:
    pristine = pkg.digests()
    if command == "revert":
        assert pkg.run("--patches", catalogue, "apply").code == 0
    trial = copy_environment(pkg, tmp_path / "count")
    counted = _traced(trial, catalogue, command)
    assert counted.returncode == 0, counted.stderr
    survived = 0
    for name, number in _counts(counted.stderr):
        copy = copy_environment(pkg, tmp_path / "killed")
        inject = f"inject={name}:signal=SIGKILL:when={number}"
        killed = _traced(copy, catalogue, command, "-e", inject)
        if killed.returncode == 0:
            shutil.rmtree(copy.root)
            continue  # the last calls of that name were counted on another road
        for path in ("pkg/m.py", "pkg/n.py"):
            known = {one.path(path).read_bytes() for one in (pkg, trial)}
            assert copy.path(path).read_bytes() in known, (name, number)
        status = copy.run("--patches", catalogue, "status", "--json")
        if copy.path(".patchset/journal").exists():
            assert status.code == 1
            assert "interrupted" in status.out
        assert copy.run("--patches", catalogue, "apply").code == 0
        assert copy.path("pkg/m.py").read_bytes() == PATCHED
        assert copy.run("--patches", catalogue, "revert").code == 0
        assert copy.digests() == pristine, (name, number)
        assert not copy.path(".patchset").exists()
        shutil.rmtree(copy.root)
        survived += 1
    assert survived
    record_property("figure", f"system calls survived in {command}: {survived}")
