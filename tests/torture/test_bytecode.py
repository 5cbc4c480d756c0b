"""After every change, every interpreter runs the code that lies there."""

from __future__ import annotations

import os
import py_compile
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.environments import Environment, clean_environ, install
from tests.torture.small import FILES, ask, write_catalogue


@pytest.fixture
def catalogue(tmp_path: Path) -> str:
    return str(write_catalogue(tmp_path / "numbers"))


@pytest.fixture
def pkg(environment: Environment) -> Environment:
    install(environment.site, "pkg", "0.16.0", FILES)
    return environment


def _change(pkg: Environment, catalogue: str, command: str, **environ: str) -> None:
    done = pkg.run("--patches", catalogue, command, **environ)
    assert done.code == 0, done.err


def test_within_one_second_every_import_is_of_what_lies_there(
    pkg: Environment, catalogue: str
) -> None:
    """Same size, same second: what a cache is checked against must differ."""
    values = [ask(pkg)]
    for command in ("apply", "revert", "apply", "revert"):
        _change(pkg, catalogue, command)
        values.append(ask(pkg))
    assert values == ["1", "2", "1", "2", "1"]


def test_the_time_of_a_module_never_comes_twice(
    pkg: Environment, catalogue: str
) -> None:
    """A cache that we cannot see, of two changes ago, must look stale, too."""
    path = pkg.path("pkg/m.py")
    seen = [int(path.stat().st_mtime)]
    for command in ("apply", "revert", "apply", "revert"):
        _change(pkg, catalogue, command)
        seen.append(int(path.stat().st_mtime))
    assert seen == sorted(set(seen))


def test_a_clock_that_runs_backwards(pkg: Environment, catalogue: str) -> None:
    path = pkg.path("pkg/m.py")
    future = int(time.time()) + 86400
    os.utime(path, (future, future))
    assert ask(pkg) == "1"
    _change(pkg, catalogue, "apply")
    assert int(path.stat().st_mtime) > future
    assert ask(pkg) == "2"
    _change(pkg, catalogue, "revert")
    assert ask(pkg) == "1"


@pytest.mark.parametrize("options", [[], ["-O"], ["-OO"]])
def test_every_level_of_optimisation(
    pkg: Environment, catalogue: str, options: list[str]
) -> None:
    assert ask(pkg, *options) == "1"
    _change(pkg, catalogue, "apply")
    assert ask(pkg, *options) == "2"
    _change(pkg, catalogue, "revert")
    assert ask(pkg, *options) == "1"


def test_caches_that_are_never_checked_against_their_source(
    pkg: Environment, catalogue: str
) -> None:
    path = pkg.path("pkg/m.py")
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    for command, value in (("apply", "2"), ("revert", "1")):
        py_compile.compile(str(path), invalidation_mode=mode, doraise=True)
        _change(pkg, catalogue, command)
        assert ask(pkg) == value


def test_caches_of_other_pythons_go_and_those_of_other_modules_stay(
    pkg: Environment, catalogue: str
) -> None:
    cache = pkg.path("pkg/__pycache__")
    cache.mkdir()
    mine = ["m.cpython-39.pyc", "m.cpython-312.opt-1.pyc", "m.pypy310.pyc"]
    others = ["mm.cpython-39.pyc", "n.cpython-312.pyc", "m[1].cpython-39.pyc"]
    for name in (*mine, *others):
        (cache / name).write_bytes(b"stale")
    _change(pkg, catalogue, "apply")
    left = {path.name for path in cache.iterdir()}
    assert left == set(others)


def test_a_cache_with_a_prefix(
    pkg: Environment, catalogue: str, tmp_path: Path
) -> None:
    prefix = {"PYTHONPYCACHEPREFIX": str(tmp_path / "caches")}
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    path = pkg.path("pkg/m.py")
    cached = Path(prefix["PYTHONPYCACHEPREFIX"], *path.parent.parts[1:])
    cached = cached / f"m.{_tag()}.pyc"
    py_compile.compile(
        str(path), cfile=str(cached), invalidation_mode=mode, doraise=True
    )
    assert ask(pkg, **prefix) == "1"
    _change(pkg, catalogue, "apply", **prefix)
    assert ask(pkg, **prefix) == "2"


def _tag() -> str:
    tag = sys.implementation.cache_tag
    assert tag is not None
    return tag


def test_a_linked_cache_is_not_followed(
    pkg: Environment, catalogue: str, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "m.cpython-39.pyc").write_bytes(b"of somebody else")
    pkg.path("pkg/__pycache__").symlink_to(outside)
    _change(pkg, catalogue, "apply")
    assert (outside / "m.cpython-39.pyc").read_bytes() == b"of somebody else"


def test_a_cache_that_cannot_be_removed_stops_the_run_before_it_starts(
    pkg: Environment, catalogue: str
) -> None:
    cache = pkg.path("pkg/__pycache__")
    cache.mkdir()
    (cache / "m.cpython-39.pyc").write_bytes(b"stale")
    words = ["mount", "--bind", "-o", "ro", str(cache), str(cache)]
    first = subprocess.run(words, capture_output=True, check=False, env=clean_environ())
    if first.returncode:
        pytest.skip("this machine mounts nothing for us")
    try:
        refused = pkg.run("--patches", catalogue, "apply", "--json")
    finally:
        subprocess.run(["umount", str(cache)], check=True)
    assert refused.code == 3, refused.err
    assert {one["kind"] for one in refused.document["errors"]} <= {"not-writable", "io"}
    assert pkg.path("pkg/m.py").read_bytes() == FILES["pkg/m.py"]
    assert not pkg.path(".patchset").exists()
