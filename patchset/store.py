"""`<site>/.patchset/`: lock, objects with their roles, ledger, journal, atomic replace.

Nothing here decides anything: `plan` does. Every write goes to a temporary file in the
directory of its target, is synced, and takes its name with one rename; no file that
others may share by hard link is ever opened for writing.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from patchset import ledger as text_of
from patchset.digest import of_bytes
from patchset.errors import PatchsetError, Problem
from patchset.files import (
    SUFFIX,
    attributes_of,
    copy_name,
    is_temporary,
    linked_directory,
    make_directory,
    remove_bytecode,
    stage,
    sync_directory,
)
from patchset.ledger import FormatError, NewerSchemaError
from patchset.model import Adopted, Digest, Ledger, Output, Role, State
from patchset.trust import distrust

DIRECTORY = ".patchset"
SAVED = ".patchset-saved"
_Parsed = TypeVar("_Parsed")


@dataclass(frozen=True, slots=True)
class Store:
    """The state that patchset keeps in one site."""

    site: Path

    @property
    def root(self) -> Path:
        """The directory of ours in the site."""
        return self.site / DIRECTORY

    # --- reading ---

    def exists(self) -> bool:
        """Whether patchset keeps anything in this site."""
        return self.root.is_dir() or self.root.is_symlink()

    def read(self) -> State:
        """All of the state; raises PatchsetError where it cannot be trusted."""
        if not self.exists():
            return State()
        self._check_trust()
        roles: dict[Digest, tuple[Role, ...]] = {}
        for path in sorted((self.root / "objects").glob("*.json")):
            digest = Digest(f"sha256:{path.stem}")
            if path.with_suffix("").is_file():
                roles[digest] = self._parse(path, text_of.parse_roles)
        journal = self.read_journal()
        return State(
            exists=True,
            ledger=self._read_ledger(roles),
            roles=roles,
            interrupted=None if journal is None else tuple(sorted(journal)),
        )

    def read_object(self, digest: Digest) -> bytes | None:
        """The bytes of an object; None where they are not what their name says."""
        try:
            content = self._object(digest).read_bytes()
        except OSError:
            return None
        return content if of_bytes(content) == digest else None

    def read_journal(self) -> Mapping[str, str] | None:
        """Path → temporary name, of a run that did not finish."""
        path = self.root / "journal"
        return self._parse(path, text_of.parse_journal) if path.exists() else None

    def _read_ledger(self, roles: Mapping[Digest, tuple[Role, ...]]) -> Ledger:
        path = self.root / "ledger.json"
        if path.exists():
            return self._parse(path, text_of.parse_ledger)
        return Ledger(files=dict(sorted(self._outputs_in_place(roles))))

    def _outputs_in_place(
        self, roles: Mapping[Digest, tuple[Role, ...]]
    ) -> Iterator[tuple[str, Digest]]:
        """What a lost ledger would say: the outputs that lie where they belong."""
        for digest, held in roles.items():
            for role in held:
                if isinstance(role, Output):
                    with contextlib.suppress(OSError):
                        if of_bytes((self.site / role.path).read_bytes()) == digest:
                            yield role.path, digest

    def _parse(self, path: Path, parse: Callable[[str], _Parsed]) -> _Parsed:
        try:
            return parse(path.read_text(encoding="utf-8"))
        except NewerSchemaError as error:
            raise PatchsetError(
                Problem(
                    kind="newer-state",
                    message=f"{path}: written by a newer patchset: {error}",
                    hint="pip install --upgrade patchset",
                    path=str(path),
                )
            ) from error
        except (FormatError, UnicodeDecodeError, OSError) as error:
            raise PatchsetError(
                Problem(
                    kind="corrupt-state",
                    message=f"{path}: cannot be read: {error}",
                    hint=f"mv {path} {path}.corrupt && patchset status "
                    "(the ledger is rebuilt from the store; a selection has to be "
                    "asked for again)",
                    path=str(path),
                )
            ) from error

    # --- writing ---

    def write_object(self, content: bytes, *roles: Role) -> Digest:
        """Keep bytes and what they are; an older role of the same sort is replaced."""
        digest = of_bytes(content)
        path = self._object(digest)
        make_directory(path.parent, like=self.site)
        if self.read_object(digest) is None:
            self._write_own(path, content)
        described = path.with_suffix(".json")
        held: tuple[Role, ...] = ()
        if described.exists():
            held = self._parse(described, text_of.parse_roles)
        kept = [one for one in held if not any(_replaces(new, one) for new in roles)]
        text = text_of.dump_roles([*kept, *roles]).encode()
        if not described.exists() or described.read_bytes() != text:
            self._write_own(described, text)
        return digest

    def adopt(self, content: bytes, adopted: Adopted) -> None:
        """Keep bytes as the base of a path; what was adopted before is base no more."""
        digest = self.write_object(content, adopted)
        self.disown(adopted, besides=digest)

    def disown(self, adopted: Adopted, *, besides: Digest | None = None) -> None:
        """Make bytes that were adopted a base no more, save those of one digest."""
        for path in sorted((self.root / "objects").glob("*.json")):
            roles = self._parse(path, text_of.parse_roles)
            if adopted in roles and f"sha256:{path.stem}" != besides:
                kept = [one for one in roles if one != adopted]
                self._write_own(path, text_of.dump_roles(kept).encode())

    def write_ledger(self, ledger: Ledger) -> None:
        """Write the ledger, unless it says the same already."""
        path = self.root / "ledger.json"
        content = text_of.dump_ledger(ledger).encode()
        if not path.exists() or path.read_bytes() != content:
            make_directory(self.root, like=self.site)
            self._write_own(path, content)

    def ledger_bytes(self) -> bytes | None:
        """The ledger as it lies there, for a run that may have to put it back."""
        try:
            return (self.root / "ledger.json").read_bytes()
        except FileNotFoundError:
            return None

    def restore_ledger(self, content: bytes | None) -> None:
        """Put back what `ledger_bytes` gave."""
        path = self.root / "ledger.json"
        if content is None:
            path.unlink(missing_ok=True)
        elif self.ledger_bytes() != content:
            self._write_own(path, content)

    def write_journal(self, files: Mapping[str, str]) -> None:
        """Say which files a run is about to replace, before it does."""
        make_directory(self.root, like=self.site)
        self._write_own(self.root / "journal", text_of.dump_journal(files).encode())
        sync_directory(self.root)

    def drop_journal(self) -> None:
        """The run is over; where there is no journal, nothing is touched."""
        path = self.root / "journal"
        if path.exists():
            path.unlink()
            sync_directory(self.root)

    def sweep(self) -> None:
        """Remove what a killed run left behind: temporary files and old bytecode.

        Raises PatchsetError where that cannot be done; the journal stays.
        """
        if not self.exists():
            return
        self._check_trust()
        try:
            for path, temporary in sorted((self.read_journal() or {}).items()):
                self._sweep_one(path, temporary)
            for directory in (self.root, self.root / "objects"):
                for leftover in sorted(directory.glob(f".*{SUFFIX}")):
                    leftover.unlink(missing_ok=True)
            for leftover in sorted((self.site / SAVED).rglob(f".*{SUFFIX}")):
                leftover.unlink(missing_ok=True)
        except OSError as error:
            raise PatchsetError(self._stuck(error)) from error

    def _sweep_one(self, path: str, temporary: str) -> None:
        if linked_directory(self.site, path) or not is_temporary(temporary, path):
            return  # no journal of ours says this
        for name in (temporary, copy_name(temporary)):
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                (self.site / name).unlink()
        remove_bytecode(self.site / path)

    def _stuck(self, error: OSError) -> Problem:
        return Problem(
            kind="io",
            message=f"{error.filename}: a run was interrupted, and what it left cannot "
            f"be removed: {error.strerror}",
            hint="mend that, then patchset apply",
            path=None if error.filename is None else str(error.filename),
        )

    def _check_trust(self) -> None:
        if problem := distrust(self.site, self.root):
            raise PatchsetError(problem)

    def remove(self) -> None:
        """Leave nothing of ours in the site."""
        if self.exists():
            self._check_trust()
            shutil.rmtree(self.root)
            sync_directory(self.site)

    def save_aside(self, path: str, content: bytes) -> Path:
        """Keep bytes that a forced run replaces where no command of ours looks."""
        target = self.saved_path(path, of_bytes(content))
        make_directory(target.parent, like=self.site)
        if not target.exists():
            self._write_own(target, content)
        return target

    def saved_path(self, path: str, digest: Digest) -> Path:
        """Where `save_aside` keeps these bytes of that file."""
        return self.site / SAVED / f"{path}.{digest.removeprefix('sha256:')}"

    def _object(self, digest: Digest) -> Path:
        return self.root / "objects" / digest.removeprefix("sha256:")

    def _write_own(self, path: Path, content: bytes) -> None:
        temporary = stage(path, content, attributes_of(self.site, mode=0o644))
        try:
            temporary.replace(path)
        except OSError:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise
        sync_directory(path.parent)


def _replaces(new: Role, old: Role) -> bool:
    """Whether a role supersedes another: the same kind, of the same things."""
    return type(new) is type(old) and all(
        getattr(new, name, None) == getattr(old, name, None)
        for name in ("path", "base", "recorded", "id", "variant")
    )
