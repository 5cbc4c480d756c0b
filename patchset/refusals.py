"""Why one file can be neither patched nor put back: found, wanted, what to type."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import PurePosixPath

from patchset.errors import Problem
from patchset.model import Digest, Distribution, Subject


def drifted(subject: Subject) -> Problem:
    """The refusal of a file that is neither base nor ours."""
    file = subject.file
    ours = f", ours {_short(subject.entry)}" if subject.entry else ""
    keep = f"patchset apply --adopt {file.path} makes these bytes the base"
    base = subject.base
    if base is not None and base in subject.held:
        hint = f"patchset revert --force puts pristine bytes back, with a copy; {keep}"
    else:
        name = file.distribution.name if file.distribution else file.package
        hint = f"pip install --force-reinstall --no-deps {name}; {keep}"
    return Problem(
        kind="drifted",
        message=f"{file.path}: found {_short(file.digest)}, neither pristine "
        f"(RECORD says {_short(file.recorded)}{ours}): edited by hand?",
        hint=hint,
        path=file.path,
    )


def cut_short(subject: Subject) -> Problem:
    """The refusal of our own bytes for another release."""
    file = subject.file
    name = file.distribution.name if file.distribution else file.package
    version = file.distribution.version if file.distribution else ""
    return Problem(
        kind="cut-short",
        message=f"{file.path}: found what was patched for another release, while "
        f"RECORD is of {name} {version}: an upgrade was cut short",
        hint=f"pip install --force-reinstall --no-deps {name}=={version}",
        path=file.path,
    )


def no_pristine(subject: Subject) -> Problem:
    """The refusal of a file whose base nobody has any more."""
    file = subject.file
    name = file.distribution.name if file.distribution else file.package
    return Problem(
        kind="no-pristine",
        message=f"{file.path}: the base {_short(subject.base)} is neither on disk nor "
        "in the store",
        hint=f"pip install --force-reinstall --no-deps {name}",
        path=file.path,
    )


def missing(subject: Subject) -> Problem:
    """The refusal of a patch whose file is not there, with names that are near."""
    file = subject.file
    distribution = file.distribution
    assert distribution is not None  # noqa: S101 - `plan` has looked
    name = f"{distribution.name} {distribution.version}"
    if file.recorded is not None:
        return Problem(
            kind="missing",
            message=f"{file.path}: not there, while RECORD of {name} lists it",
            hint=f"pip install --force-reinstall --no-deps "
            f"{distribution.name}=={distribution.version}",
            path=file.path,
        )
    near = ", ".join(_near_names(file.path, distribution))
    return Problem(
        kind="missing",
        message=f"{file.path}: no such file in {name}"
        + (f"; there is {near}" if near else ""),
        hint=f"patchset show {subject.wanted[0].patch.id}",
        path=file.path,
        patch=subject.wanted[0].patch.id,
    )


def _near_names(path: str, distribution: Distribution) -> Sequence[str]:
    """Files of the distribution whose names are like that of a missing one."""
    pure = PurePosixPath(path)
    there = {
        PurePosixPath(name).name: name
        for name in distribution.record
        if PurePosixPath(name).parent == pure.parent
    }
    return [there[name] for name in get_close_matches(pure.name, sorted(there), n=3)]


def _short(digest: Digest | None) -> str:
    return "nothing" if digest is None else digest.removeprefix("sha256:")[:12]
