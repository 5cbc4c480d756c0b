"""Versions and specifiers, compared as patchset means them everywhere."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

_UPPER = frozenset({"<", "<=", "==", "===", "~="})


def holds(specifier: str, version: str) -> bool:
    """Whether a version lies in a range.

    Pre-releases count as themselves: packaging's own default differs between its
    releases, and the same command would choose other patches on another machine.
    """
    return SpecifierSet(specifier).contains(Version(version), prereleases=True)


def is_version(text: str) -> bool:
    """Whether a text is a version that can be compared."""
    try:
        Version(text)
    except InvalidVersion:
        return False
    return True


def is_unspecific(text: str) -> bool:
    """Whether a version says nothing of the release that it was built from."""
    return not is_version(text) or Version(text).is_devrelease


def is_bounded(specifier: str) -> bool:
    """Whether a range has an upper end."""
    return any(part.operator in _UPPER for part in SpecifierSet(specifier))


def public(version: str) -> str:
    """The version without its local part: `0.16.0+cu129` is `0.16.0`."""
    return Version(version).public


def same_public(one: str, other: str) -> bool:
    """Whether two versions are the same release, whatever their builds."""
    return Version(public(one)) == Version(public(other))


def is_newer(version: str, than: str) -> bool:
    """Whether a release comes after another; builds of one release are equal."""
    return Version(public(version)) > Version(public(than))


def is_at_least(version: str, first: str) -> bool:
    """Whether a release is `first` or comes after it; builds count as their release."""
    return Version(public(version)) >= Version(first)


def lowest(specifier: str) -> str | None:
    """The lower end of a range as a version, None where it is open below."""
    ends = [end for end, _ in _lower_ends(specifier)]
    return str(max(ends)) if ends else None


def is_below(version: str, specifier: str) -> bool:
    """Whether a release comes before a range begins; builds count as their release."""
    found = Version(public(version))
    return any(
        found < Version(end.public) or (found == end and not is_inside)
        for end, is_inside in _lower_ends(specifier)
    )


def _lower_ends(specifier: str) -> Iterator[tuple[Version, bool]]:
    """Each lower end, and whether it lies in the range itself."""
    for part in SpecifierSet(specifier):
        if part.operator in {">=", ">", "==", "~="}:
            end = part.version.removesuffix(".*")
            yield Version(end), part.operator != ">"
