"""Many processes on one environment at once, and readers that never see a torn file."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from tests.environments import (
    Environment,
    clean_environ,
    install,
    make_environment,
)
from tests.torture.conftest import LONG
from tests.torture.runner import Zygote
from tests.torture.small import FILES, PATCHED, write_catalogue

ROOT = Path(__file__).parents[2]
_UNLOCKED = """
import fcntl, sys
fcntl.flock = lambda *_: None
from patchset.cli import main
main(sys.argv[1:])
"""


@pytest.fixture
def catalogue(tmp_path: Path) -> str:
    return str(write_catalogue(tmp_path / "numbers"))


@pytest.fixture
def pkg(environment: Environment) -> Environment:
    install(environment.site, "pkg", "0.16.0", FILES)
    return environment


def _start(
    environment: Environment, *arguments: str, unlocked: bool = False
) -> subprocess.Popen[str]:
    program = ["-c", _UNLOCKED] if unlocked else ["-m", "patchset"]
    return subprocess.Popen(
        [sys.executable, *program, "--python", str(environment.root), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=clean_environ(),
    )


def _results(processes: Sequence[subprocess.Popen[str]]) -> list[tuple[int, str]]:
    found = []
    for process in processes:
        out, err = process.communicate(timeout=300)
        assert "Traceback" not in err, err
        found.append((process.returncode, out + err))
    return found


def test_workers_that_start_at_once(pkg: Environment, catalogue: str) -> None:
    """One applies, the others find it applied; all are content."""
    count = 8 if LONG else 4
    words = ("--patches", catalogue, "apply")
    results = _results([_start(pkg, *words) for _ in range(count)])
    assert [code for code, _ in results] == [0] * count, results
    assert sum("changed 1 file" in said for _, said in results) == 1
    assert sum("nothing to do" in said for _, said in results) == count - 1
    assert pkg.path("pkg/m.py").read_bytes() == PATCHED


def test_apply_revert_and_status_at_once(pkg: Environment, catalogue: str) -> None:
    before = pkg.digests()
    rounds = 4 if LONG else 1
    for _ in range(rounds):
        commands = ["apply", "revert", "status", "apply", "verify", "revert"]
        running = [_start(pkg, "--patches", catalogue, word) for word in commands]
        for word, (code, said) in zip(commands, _results(running), strict=True):
            allowed = {0, 1} if word in {"status", "verify"} else {0}
            assert code in allowed, (word, said)
    assert pkg.run("--patches", catalogue, "apply").code == 0
    assert pkg.path("pkg/m.py").read_bytes() == PATCHED
    assert pkg.run("revert").code == 0
    assert pkg.digests() == before


def test_where_nothing_locks_no_file_is_torn_and_the_next_run_mends(
    pkg: Environment, catalogue: str
) -> None:
    """Two nodes on one file system, each of which locks for itself only."""
    before = pkg.digests()
    pkg.path("pkg/.nfs0001").write_bytes(b"stray")
    words = ("--patches", catalogue, "apply")
    running = [_start(pkg, *words, unlocked=True) for _ in range(4)]
    seen = set()
    while any(one.poll() is None for one in running):
        seen.add(pkg.path("pkg/m.py").read_bytes())
    assert seen <= {FILES["pkg/m.py"], PATCHED}
    for code, said in _results(running):
        assert code in {0, 1, 3}, said  # 1: another run put back what it had found
    assert pkg.run(*words).code == 0
    assert pkg.run("--patches", catalogue, "status").code == 0
    assert pkg.path("pkg/m.py").read_bytes() == PATCHED
    assert pkg.run("revert").code == 0
    pkg.path("pkg/.nfs0001").unlink()
    assert pkg.digests() == before


_READER = """
import importlib, sys, time
sys.dont_write_bytecode = "write" not in sys.argv
end = time.time() + float(sys.argv[1])
seen = {}
while time.time() < end:
    for name in [one for one in sys.modules if one.startswith("pkg")]:
        del sys.modules[name]
    importlib.invalidate_caches()
    value = importlib.import_module("pkg.m").b
    seen[value] = seen.get(value, 0) + 1
print(seen)
"""


@pytest.mark.parametrize("caches", ["write", "read"])
def test_a_reader_never_sees_a_torn_module(
    pkg: Environment,
    catalogue: str,
    caches: str,
    record_property: Callable[[str, object], None],
) -> None:
    seconds = 20 if LONG else 2
    python = str(pkg.root / "bin" / "python")
    reader = subprocess.Popen(
        [python, "-c", _READER, str(seconds), caches],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd="/",
        env=clean_environ(),
    )
    changes = 0
    while reader.poll() is None:
        assert pkg.run("--patches", catalogue, "apply").code == 0
        assert pkg.run("--patches", catalogue, "revert").code == 0
        changes += 2
    out, err = reader.communicate()
    assert reader.returncode == 0, err
    assert set(out.strip(" {}\n").replace(":", ",").split(", ")[::2]) <= {"1", "2"}
    record_property("figure", f"imports beside {changes} changes: {out.strip()}")


# --- locks -----------------------------------------------------------------------


def test_a_second_writer_waits_and_says_so(pkg: Environment, catalogue: str) -> None:
    descriptor = os.open(pkg.site, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        waiting = _start(pkg, "--patches", catalogue, "apply")
        assert waiting.stderr is not None
        said = waiting.stderr.readline()
        assert "waiting for another patchset" in said
        assert str(pkg.site) in said
        assert waiting.poll() is None
        assert pkg.path("pkg/m.py").read_bytes() == FILES["pkg/m.py"]
    finally:
        os.close(descriptor)
    out, err = waiting.communicate(timeout=120)
    assert waiting.returncode == 0, err
    assert "changed 1 file" in out


_HOLDER = """
import fcntl, os, sys, time
fcntl.flock(os.open(sys.argv[1], os.O_RDONLY), fcntl.LOCK_EX)
print("held", flush=True)
time.sleep(600)
"""


def test_a_dead_process_holds_no_lock(pkg: Environment, catalogue: str) -> None:
    holder = subprocess.Popen(
        [
            *(sys.executable, "-c", _HOLDER),
            str(pkg.site),
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    holder.kill()
    holder.wait()
    holder.stdout.close()
    pkg.path(".patchset.lock").write_text(f"{holder.pid}\n")
    assert pkg.run("--patches", catalogue, "apply").code == 0


def test_a_file_system_that_locks_no_directory(
    pkg: Environment, catalogue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    flock = fcntl.flock

    def refusing(descriptor: int, kind: int) -> None:
        if os.path.isdir(f"/proc/self/fd/{descriptor}"):  # noqa: PTH112 - a descriptor
            raise OSError(95, "not supported")
        flock(descriptor, kind)

    monkeypatch.setattr(fcntl, "flock", refusing)
    assert pkg.run("--patches", catalogue, "apply").code == 0
    assert pkg.run("--patches", catalogue, "status").code == 0
    assert pkg.path(".patchset.lock").is_file()
    assert pkg.run("revert").code == 0
    assert not pkg.path(".patchset").exists()


# --- installs that cannot be written ---------------------------------------------


@pytest.fixture
def sealed(
    tmp_path: Path,
) -> Iterator[Callable[[Environment], Environment]]:
    """Mounts an environment where nothing can be written."""
    mounted: list[Path] = []

    def seal(environment: Environment) -> Environment:
        target = tmp_path / "sealed"
        target.mkdir()
        steps = [
            ["mount", "--bind", str(environment.root), str(target)],
            ["mount", "-o", "remount,ro,bind", str(target)],
        ]
        for words in steps:
            if subprocess.run(words, capture_output=True, check=False).returncode:
                pytest.skip("this machine mounts nothing for us")
            if not mounted:
                mounted.append(target)
        return Environment(target)

    yield seal
    for target in mounted:
        subprocess.run(["umount", str(target)], check=True)


def test_a_read_only_install_that_is_patched_is_fine(
    pkg: Environment,
    catalogue: str,
    sealed: Callable[[Environment], Environment],
) -> None:
    assert pkg.run("--patches", catalogue, "apply").code == 0
    image = sealed(pkg)
    for command in ("apply", "status", "verify", "apply"):
        result = image.run("--patches", catalogue, command)
        assert result.code == 0, (command, result.err)
    refused = image.run("revert", "--json")
    assert refused.code == 3, refused.err
    assert "Traceback" not in refused.err
    assert pkg.path("pkg/m.py").read_bytes() == PATCHED


def test_a_read_only_install_that_is_not_patched_is_refused(
    pkg: Environment,
    catalogue: str,
    sealed: Callable[[Environment], Environment],
) -> None:
    image = sealed(pkg)
    refused = image.run("--patches", catalogue, "apply", "--json")
    assert refused.code == 3, refused.err
    assert {one["kind"] for one in refused.document["errors"]} == {"not-writable"}
    assert image.run("--patches", catalogue, "status").code == 1


@pytest.fixture
def reachable() -> Iterator[Environment]:
    """An environment of root's that another user can reach, and read."""
    if os.geteuid() != 0:
        pytest.skip("only root can become somebody else")
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        root.chmod(0o755)
        environment = make_environment(root / "env")
        install(environment.site, "pkg", "0.16.0", FILES)
        yield environment


def test_another_user_may_look_and_is_told_why_he_may_not_write(
    reachable: Environment, zygote: Zygote
) -> None:
    words = ("--patches", str(write_catalogue(reachable.root.parent / "numbers")))
    refused = zygote.run(reachable.root, *words, "apply", "--json", uid=4321)
    assert refused.code == 3, refused.err
    assert refused.kinds == {"owner", "not-writable"}
    assert not reachable.path(".patchset").exists()
    assert reachable.run(*words, "apply").code == 0
    for command in ("apply", "status", "verify"):
        looked = zygote.run(reachable.root, *words, command, uid=4321)
        assert looked.code == 0, looked.err
    refused = zygote.run(reachable.root, "revert", "--json", uid=4321)
    assert refused.code == 3, refused.err
    assert reachable.path("pkg/m.py").read_bytes() == PATCHED


def test_the_lock_is_taken_before_anything_is_read(
    pkg: Environment, catalogue: str
) -> None:
    """What another run changes while we wait is what we then find."""
    descriptor = os.open(pkg.site, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        waiting = _start(pkg, "--patches", catalogue, "apply", "--json")
        assert waiting.stderr is not None
        waiting.stderr.readline()
        pkg.edit("pkg/m.py", b"b = 1  # mine\n")
        time.sleep(0.1)
    finally:
        os.close(descriptor)
    out, _ = waiting.communicate(timeout=120)
    assert waiting.returncode == 3
    assert '"drifted"' in out
