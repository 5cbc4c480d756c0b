"""The zygote, fast scratch space, and whether this is the long form."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.torture.runner import (
    Scenario,
    Zygote,
    make_two_sites,
    put_release,
    started,
    write_numbers,
)

LONG = bool(os.environ.get("TORTURE"))
"""Set by `make torture`: everything, not a sample."""


@pytest.fixture(scope="session")
def zygote() -> Iterator[Zygote]:
    with started() as process:
        yield process


@pytest.fixture(scope="session")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A directory in memory, where there is one: thousands of syncs cost nothing."""
    shared = Path("/dev/shm")  # noqa: S108 - the directory is made with a free name
    if os.access(shared, os.W_OK):
        with tempfile.TemporaryDirectory(prefix="patchset-", dir=shared) as name:
            yield Path(name)
    else:
        yield tmp_path_factory.mktemp("scratch")


@pytest.fixture(scope="session")
def pristine(memory: Path) -> Path:
    return make_two_sites(memory / "pristine" / "env")


@dataclass
class Stage:
    """Makes scenarios by name, each once."""

    memory: Path
    pristine: Path
    zygote: Zygote
    made: dict[str, Scenario] = field(default_factory=dict)

    def __call__(self, name: str) -> Scenario:
        if name not in self.made:
            self.made[name] = self._make(name)
        return self.made[name]

    def _make(self, name: str) -> Scenario:
        if name == "apply":
            return self._scenario(name, ["apply"], self.pristine)
        if name in {"revert", "revert one"}:
            words = ["revert", *(["numbers:pkg/b"] if name == "revert one" else [])]
            return self._scenario(name, words, self._kept("applied"))
        if name == "upgrade":
            start = self._kept("upgraded")
            put_release(start, "0.16.1")
            return self._scenario(name, ["apply"], start)
        command = name.removeprefix("recovery by ")
        return self._scenario(name, [command], self._kept(f"half {command}", half=True))

    def _scenario(self, name: str, command: list[str], start: Path) -> Scenario:
        scratch = self.memory / "scratch"
        scratch.mkdir(exist_ok=True)
        patches = self.memory / "numbers"
        return Scenario(name, command, start, self.zygote, patches, scratch)

    def _kept(self, name: str, *, half: bool = False) -> Path:
        """The environment after an apply, or after half of one."""
        if (self.memory / name).exists():
            return self.memory / name
        first = self("apply")
        renames = [i for i, one in enumerate(first.effects) if one == "os.rename"]
        # The last two are of the ledgers, those before them of the targets.
        fault = {"kind": "kill", "at": renames[-3]} if half else None
        with first.copy() as root:
            first.run(root, fault=fault)
            shutil.copytree(root, self.memory / name, symlinks=True)
        return self.memory / name


@pytest.fixture(scope="session")
def scenarios(zygote: Zygote, memory: Path, pristine: Path) -> Stage:
    write_numbers(memory / "numbers")
    return Stage(memory, pristine, zygote)
