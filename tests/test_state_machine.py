"""Any order of commands and accidents, on a real small environment."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from patchset.cli import cli
from tests.catalogues import write_patch
from tests.environments import Environment, install, make_environment

M, N = "pkg/m.py", "pkg/n.py"
RELEASES = {
    "1.0": {"pkg/__init__.py": b"", M: b"a = 0\nb = 1\n", N: b"c = 1\n"},
    # The second release has the cure of `letter`, and other bytes around `number`.
    "1.1": {"pkg/__init__.py": b"", M: b"a = 0  # 1.1\nb = 1\n", N: b"c = 2\n"},
}
PATCHES = {"number": (M, "b = 1"), "more": (M, "a = 0"), "letter": (N, "c = 1")}
BY_HAND = b"# by hand\na = 0\nb = 1\nc = 1\n"
FILES = st.sampled_from([M, N])
NAMES = st.sampled_from(sorted(PATCHES))


class Site(RuleBasedStateMachine):
    """The user, the installer and we, at one site, one after the other."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="patchset-"))
        self.patching = pytest.MonkeyPatch()
        self.release = "1.0"
        self.declared: dict[str, str] = {}
        self.by_hand: set[str] = set()
        self.adopted: dict[tuple[str, str], bytes] = {}

    @initialize()
    def begin(self) -> None:
        builtin = self.folder / "builtin"
        write_patch(builtin, target="nothing/m.py")
        self.patching.setattr("patchset.catalogue.builtin_directory", lambda: builtin)
        self.environment: Environment = make_environment(self.folder / "env")
        self.catalogue = self.folder / "team"
        self._install("1.0")
        for name in PATCHES:
            self._declare(name, "2")

    def teardown(self) -> None:
        self.patching.undo()
        shutil.rmtree(self.folder)

    # --- the user ---

    @rule()
    def apply(self) -> None:
        before = self._bytes()
        code = self._run("apply")
        if code == 3:
            assert self._bytes() == before
            return
        assert code == 0
        assert self._run("status") == 0
        for name, number in self.declared.items():
            path, line = PATCHES[name]
            content = self._read(path)
            changed = f"{line[0]} = {number}".encode()
            assert changed in content or line.encode() not in content
        known = self._inodes()
        assert self._run("apply") == 0
        assert self._inodes() == known

    @rule(force=st.booleans())
    def revert(self, *, force: bool) -> None:
        before = self._bytes()
        code = self._run("revert", *["--force"][: int(force)])
        if code == 3:
            assert self._bytes() == before
            return
        assert not self.environment.path(".patchset").exists()
        targets = {PATCHES[name][0] for name in self.declared}
        for path, content in self._bytes().items():
            bases = {RELEASES[self.release][path]}
            if not force:
                bases.add(self.adopted.get((path, self.release), b""))
            assert content in bases or content == before[path]
            assert code == 1 or content in bases or path not in targets
        self.adopted.clear()
        if force:
            self.by_hand -= {p for p in self.by_hand if self._read(p) != BY_HAND}

    @rule(path=FILES)
    def adopt(self, path: str) -> None:
        before = self._bytes()
        code = self._run("apply", "--adopt", path)
        if code != 0:
            assert self._bytes() == before
            return
        self.adopted[path, self.release] = before[path]
        self.by_hand.discard(path)
        assert self._run("status") == 0

    @rule(path=FILES)
    def edit_by_hand(self, path: str) -> None:
        self.environment.edit(path, BY_HAND)
        self.by_hand.add(path)

    @rule(name=NAMES, number=st.sampled_from(["2", "3"]))
    def declare(self, name: str, number: str) -> None:
        self._declare(name, number)

    @rule(name=NAMES)
    @precondition(lambda self: len(self.declared) > 1)
    def declare_no_more(self, name: str) -> None:
        if self.declared.pop(name, None) is not None and self.declared:
            (self.catalogue / "pkg" / f"{name}.py").unlink()
        elif not self.declared:
            self._declare(name, "2")

    @rule()
    def look(self) -> None:
        before = self._inodes()
        assert self._run("status") in {0, 1}
        assert self._run("verify") in {0, 1}
        assert self._run("apply", "--dry-run") in {0, 1, 3}
        assert self._inodes() == before
        # It may remember what it found obsolete, and nothing else.
        assert self._run("diff") in {0, 3}
        ledger = str(self.environment.path(".patchset/ledger.json"))
        after = self._inodes()
        assert {**before, ledger: 0} == {**after, ledger: 0}

    # --- the installer ---

    @rule()
    def reinstall(self) -> None:
        self._install(self.release)

    @rule()
    def upgrade(self) -> None:
        self._install("1.1" if self.release == "1.0" else "1.0")

    @rule(path=FILES)
    def upgrade_cut_short(self, path: str) -> None:
        """The metadata are new, one file is not yet."""
        content = self._read(path)
        by_hand = path in self.by_hand
        self._install("1.1" if self.release == "1.0" else "1.0")
        self.environment.edit(path, content)
        self.by_hand |= {path} if by_hand else set()

    # --- accidents ---

    @rule()
    def lose_the_ledger(self) -> None:
        self.environment.path(".patchset/ledger.json").unlink(missing_ok=True)

    @rule()
    def lose_the_state(self) -> None:
        shutil.rmtree(self.environment.path(".patchset"), ignore_errors=True)
        self.adopted.clear()

    # --- what holds at every time ---

    @invariant()
    def what_was_written_by_hand_is_still_there(self) -> None:
        for path in self.by_hand:
            saved = self.environment.path(".patchset-saved").glob(f"{path}.*")
            assert self._read(path) == BY_HAND or list(saved)

    @invariant()
    def every_file_is_whole(self) -> None:
        for path, content in self._bytes().items():
            compile(content, path, "exec")
        assert not list(self.environment.site.rglob("*.patchset-tmp"))

    @invariant()
    def the_twin_of_every_file_is_untouched(self) -> None:
        for path, content in RELEASES[self.release].items():
            assert (self.folder / "twin" / path).read_bytes() == content

    @invariant()
    def as_wanted_means_that_nothing_would_be_written(self) -> None:
        if self._run("status") == 0:
            assert self._run("apply", "--dry-run") == 0

    @invariant()
    def verified_means_that_every_byte_is_ours(self) -> None:
        if self._run("verify") == 0:
            before = self._bytes()
            assert before != RELEASES[self.release]

    # --- helpers ---

    def _run(self, *arguments: str) -> int:
        options = ["--python", str(self.environment.root)]
        options += ["--patches", str(self.catalogue)]
        result = CliRunner().invoke(
            cli, [*options, *arguments], standalone_mode=False, catch_exceptions=False
        )
        code = result.return_value
        assert isinstance(code, int)
        return code

    def _declare(self, name: str, number: str) -> None:
        path, line = PATCHES[name]
        write_patch(
            self.catalogue,
            name,
            target=path,
            before=line,
            after=f"{line[0]} = {number}",
            needs={"pkg": ">=1,<2"},
        )
        self.declared[name] = number

    def _install(self, release: str) -> None:
        site, twin = self.environment.site, self.folder / "twin"
        install(site, "pkg", release, {})
        shutil.rmtree(site / "pkg", ignore_errors=True)
        install(site, "pkg", release, RELEASES[release])
        shutil.rmtree(twin, ignore_errors=True)
        shutil.copytree(site / "pkg", twin / "pkg", copy_function=os.link)
        self.release = release
        self.by_hand.clear()

    def _read(self, path: str) -> bytes:
        return self.environment.path(path).read_bytes()

    def _bytes(self) -> dict[str, bytes]:
        return {path: self._read(path) for path in RELEASES["1.0"]}

    def _inodes(self) -> dict[str, int]:
        """Every file of the site, ours included, and which one it is."""
        return {
            str(path): path.stat().st_ino
            for path in self.environment.site.rglob("*")
            if path.is_file() and "__pycache__" not in path.parts
        }


TestSite = Site.TestCase
TestSite.settings = settings(
    max_examples=8,
    stateful_step_count=10,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
