"""Runs with faults in them, and the environments in which they happen."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.catalogues import write_patch
from tests.environments import clean_environ, install

Tree = Mapping[str, tuple[int, bytes]]
"""Path → mode and bytes, or the text of a link."""

SITES = ("lib/one", "lib/two")
TARGETS = ("lib/one/pkg/m.py", "lib/one/pkg/linked.py", "lib/two/other/k.py")


@dataclass(frozen=True)
class Run:
    """How one run ended."""

    code: int
    """The exit code, or minus the signal that killed it."""
    out: str
    err: str
    effects: Sequence[str]

    @property
    def document(self) -> dict[str, Any]:
        data = json.loads(self.out)
        assert isinstance(data, dict)
        return data

    @property
    def kinds(self) -> set[str]:
        return {error["kind"] for error in self.document["errors"]}


@dataclass
class Zygote:
    """The process that forks the runs."""

    process: subprocess.Popen[str]

    def run(
        self,
        root: Path,
        *arguments: str,
        fault: Mapping[str, Any] | None = None,
        environ: Mapping[str, str] | None = None,
        uid: int | None = None,
    ) -> Run:
        """One run of patchset; with a fault, its effects below `root` are counted."""
        request = {
            "arguments": ["--python", str(root), *arguments],
            "root": str(root),
            "fault": fault,
            "environ": dict(environ or {}),
            "uid": uid,
        }
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        assert answer, f"the zygote died: {self.process.wait()}"
        run = Run(**json.loads(answer))
        assert run.code != 70, run.err
        return run


@contextlib.contextmanager
def started() -> Iterator[Zygote]:
    """A zygote, for as long as it is needed."""
    root = Path(__file__).parents[2]
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.torture.zygote"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=clean_environ(),
        cwd=root,
    )
    try:
        yield Zygote(process)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        process.wait(timeout=60)
        assert process.stdout is not None
        process.stdout.close()


def tree(root: Path, *, state: bool = True) -> Tree:
    """All files and links below a directory, without caches of bytecode."""
    found: dict[str, tuple[int, bytes]] = {}
    for path in sorted(root.rglob("*")):
        parts = path.relative_to(root).parts
        if "__pycache__" in parts or (not state and ".patchset" in parts):
            continue
        if path.is_symlink():
            found["/".join(parts)] = (0, os.fsencode(path.readlink()))
        elif path.is_file():
            found["/".join(parts)] = (path.stat().st_mode, path.read_bytes())
        else:
            found["/".join(parts)] = (path.stat().st_mode, b"")
    return found


# --- an environment of two sites -------------------------------------------------

_PYTHON = """#!/bin/sh
root=${{0%/bin/*}}
cat <<.
{{"python": "{version}", "prefix": "$root", "base": "$root",
 "sites": ["$root/lib/one", "$root/lib/two"], "user": "/nowhere"}}
.
"""


def make_two_sites(root: Path) -> Path:
    """An environment with two sites of its own, and one target that is a link."""
    (root / "bin").mkdir(parents=True)
    python = root / "bin" / "python3"
    version = ".".join(map(str, sys.version_info[:3]))
    python.write_text(_PYTHON.format(version=version))
    python.chmod(0o755)
    put_release(root, "0.16.0")
    return root


def put_release(root: Path, version: str) -> None:
    """Install both packages; other bytes for another version."""
    note = f"# {version}\n".encode()
    one, two = (root / site for site in SITES)
    files = {
        "pkg/__init__.py": b"",
        "pkg/m.py": note + b"b = 1\n",
        "pkg/linked.py": note + b"c = 1\n",
    }
    install(one, "pkg", version, files)
    install(two, "other", version, {"other/__init__.py": b"", "other/k.py": b"k = 1\n"})
    cached = root / f"cache/{version}/linked.py"
    cached.parent.mkdir(parents=True)
    linked = root / TARGETS[1]
    linked.rename(cached)
    linked.symlink_to(f"../../../cache/{version}/linked.py")
    (root / TARGETS[0]).chmod(0o640)


def write_numbers(folder: Path) -> Path:
    """Patches for all three targets, two of them for one file."""
    write_patch(folder, "b", target="pkg/m.py", before="b = 1", after="b = 2")
    write_patch(folder, "c", target="pkg/linked.py", before="c = 1", after="c = 2")
    write_patch(folder, "k", target="other/k.py", before="k = 1", after="k = 2")
    return folder


@dataclass
class Scenario:
    """A command on an environment in a state, and what comes of it undisturbed."""

    name: str
    command: Sequence[str]
    start: Path
    zygote: Zygote
    patches: Path
    scratch: Path
    before: Tree = field(init=False)
    after: Tree = field(init=False)
    effects: Sequence[str] = field(init=False)

    def __post_init__(self) -> None:
        with self.copy() as root:
            self.before = tree(root)
            run = self.run(root, fault={"kind": "count"})
            assert run.code == 0, run.err
            self.effects = run.effects
            self.after = tree(root)

    @contextlib.contextmanager
    def copy(self) -> Iterator[Path]:
        """The environment as it is before the command; always at the same path."""
        root = self.scratch / "env"
        shutil.copytree(self.start, root, symlinks=True)
        try:
            yield root
        finally:
            shutil.rmtree(root)

    def run(self, root: Path, *, fault: Mapping[str, Any] | None = None) -> Run:
        return self.on(root, *self.command, fault=fault)

    def on(
        self, root: Path, *words: str, fault: Mapping[str, Any] | None = None
    ) -> Run:
        """Another command on the same environment."""
        return self.zygote.run(
            root, "--patches", str(self.patches), *words, fault=fault
        )


def targets(root: Path) -> Tree:
    """The targets as they lie there: links by their text, files by mode and bytes."""
    return {path: one for path, one in tree(root).items() if path in TARGETS}
