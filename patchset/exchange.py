"""Many files replaced at once, and the ledgers with them: every one, or none."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from patchset.digest import of_bytes
from patchset.errors import PatchsetError, Problem
from patchset.files import (
    copy_name,
    remove_bytecode,
    stage,
    sync_directory,
    temporary_name,
)
from patchset.model import Attributes, Ledger
from patchset.signals import give_way, undisturbed
from patchset.store import Store


@dataclass(frozen=True, kw_only=True, slots=True)
class Replacement:
    """One file: what lies there, and what is to lie there."""

    site: Path
    path: str
    before: bytes
    attributes: Attributes
    """Of what lies there; with a link, it is the link that is replaced."""
    after: bytes
    given: Attributes
    """To the new file; with a link, the link is made if it leads to these bytes."""
    new: str
    """The temporary name of the new file, relative to the site."""
    old: str
    """That of a copy of the old one: putting it back must need no space."""

    @property
    def target(self) -> Path:
        """The file itself."""
        return self.site / self.path


def replacement(
    site: Path,
    path: str,
    *,
    before: bytes,
    attributes: Attributes,
    after: bytes,
    given: Attributes,
) -> Replacement:
    """A replacement with temporary names of its own."""
    new = temporary_name(path)
    return Replacement(
        site=site,
        path=path,
        before=before,
        attributes=attributes,
        after=after,
        given=given,
        new=new,
        old=copy_name(new),
    )


def exchange(
    files: Sequence[Replacement], ledgers: Mapping[Path, Ledger], stores: Sequence[Path]
) -> None:
    """Replace the files and write the ledgers of their sites.

    Journals name the temporary files before there are any, in all of `stores`. Where
    anything fails, what was replaced is put back and the error goes on; PatchsetError
    where even that failed: then the journals stay, and say that a run was cut short.
    Signals wait until there is nothing half-done.
    """
    kept = {site: Store(site).ledger_bytes() for site in ledgers}
    with undisturbed():
        try:
            _prepare(files)
            give_way()
            _commit(files, ledgers)
            _finish(files, stores)
        except BaseException as error:
            left = [*_put_back(files), *_put_ledgers_back(kept)]
            if not left:
                left = _discard(files, stores)
            if left:
                raise PatchsetError(_half_done(error, left)) from error
            raise


def _prepare(files: Sequence[Replacement]) -> None:
    """Everything that needs space or rights happens before the first rename."""
    sites = sorted({one.site for one in files})
    for site in sites:
        names = {one.path: one.new for one in files if one.site == site}
        Store(site).write_journal(names)
    for one in files:
        _stage(one, one.new, one.after, one.given, keep_time=False)
        _stage(one, one.old, one.before, one.attributes, keep_time=True)


def _stage(
    one: Replacement,
    name: str,
    content: bytes,
    attributes: Attributes,
    *,
    keep_time: bool,
) -> None:
    temporary = one.site / name
    if attributes.link is not None and _leads_to(one, attributes.link, content):
        temporary.symlink_to(attributes.link)
        return
    stage(one.target, content, attributes, temporary=temporary, keep_time=keep_time)


def _leads_to(one: Replacement, link: str, content: bytes) -> bool:
    try:
        return (one.target.parent / link).read_bytes() == content
    except OSError:
        return False


def _commit(files: Sequence[Replacement], ledgers: Mapping[Path, Ledger]) -> None:
    for one in files:
        if one.target.read_bytes() != one.before:
            raise PatchsetError(_changed_meanwhile(one.path))
        (one.site / one.new).replace(one.target)
        remove_bytecode(one.target)
    for one in files:
        if of_bytes(one.target.read_bytes()) != of_bytes(one.after):
            raise OSError(None, "what was written does not read back", one.path)
    for directory in sorted({one.target.parent for one in files}):
        sync_directory(directory)
    for site, ledger in sorted(ledgers.items()):
        Store(site).write_ledger(ledger)


def _finish(files: Sequence[Replacement], stores: Sequence[Path]) -> None:
    for one in files:
        (one.site / one.old).unlink(missing_ok=True)
    for site in stores:
        Store(site).drop_journal()


def _put_back(files: Sequence[Replacement]) -> Iterator[str]:
    """Undo the renames that were done; the files that could not be put back."""
    for one in reversed(files):
        try:
            if not _was_replaced(one):
                continue
            old = one.site / one.old
            if not old.exists() and not old.is_symlink():
                _stage(one, one.old, one.before, one.attributes, keep_time=False)
            old.replace(one.target)
        except OSError:
            yield one.path
        with contextlib.suppress(OSError):
            remove_bytecode(one.target)


def _was_replaced(one: Replacement) -> bool:
    """Whether our bytes lie there: anybody else's are not ours to touch."""
    try:
        return one.target.read_bytes() == one.after
    except FileNotFoundError:
        return False


def _put_ledgers_back(kept: Mapping[Path, bytes | None]) -> Iterator[str]:
    for site, content in kept.items():
        store = Store(site)
        try:
            store.restore_ledger(content)
        except OSError:
            yield str(store.root)


def _discard(files: Sequence[Replacement], stores: Sequence[Path]) -> list[str]:
    """Remove what would have been needed; what could not be removed."""
    left = []
    for one in files:
        for name in (one.new, one.old):
            try:
                (one.site / name).unlink(missing_ok=True)
            except OSError:
                left.append(name)
    if not left:
        for site in stores:
            try:
                Store(site).drop_journal()
            except OSError:
                left.append(str(Store(site).root))
    return left


# --- problems --------------------------------------------------------------------


def io_problem(error: OSError) -> Problem:
    """The problem of a run that failed, and left everything as it was."""
    path = os.fsdecode(error.filename) if error.filename else "a file"
    return Problem(
        kind="io",
        message=f"{path}: {error.strerror or error}; everything was put back",
        hint="mend that, then run the same command again",
        path=path if error.filename else None,
    )


def _changed_meanwhile(path: str) -> Problem:
    return Problem(
        kind="changed-meanwhile",
        message=f"{path}: changed while we were at work; everything was put back",
        hint="patchset status, then the same command again",
        path=path,
    )


def _half_done(error: BaseException, left: Sequence[str]) -> Problem:
    return Problem(
        kind="half-done",
        message=f"{error}; and could not be put back: {', '.join(left)}",
        hint="mend that, then patchset apply finishes it, patchset revert undoes it",
    )
