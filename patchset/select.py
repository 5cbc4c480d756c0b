"""Catalogues, versions, selection → what is wanted, and why the rest is not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from packaging.version import Version

from patchset.errors import Problem, UsageError
from patchset.model import Choice, Patch, PatchState, Selection
from patchset.versions import holds, is_at_least, is_below, is_newer, lowest

_SELECTABLE = frozenset({PatchState.PENDING, PatchState.UNTESTED, PatchState.REFUSED})
"""The states of what would be applied, or is in the way, if the user wants it."""


def choose(
    patches: Iterable[Patch],
    versions: Mapping[str, str],
    selection: Selection,
    unusable: Mapping[str, str] | None = None,
) -> tuple[Choice, ...]:
    """One choice for each defect, in the order of ids.

    `versions` holds the import packages that are installed, `unusable` those whose
    version nothing says, with the reason. Raises UsageError, with all of them, where
    two variants of one defect claim the same versions.
    """
    ordered = sorted(patches, key=lambda one: (one.id, one.variant or ""))
    choices: list[Choice] = []
    problems: list[Problem] = []
    for _, variants in groupby(ordered, key=lambda one: one.id):
        try:
            choice = _by_versions(tuple(variants), versions, unusable or {})
        except UsageError as error:
            problems.extend(error.problems)
        else:
            choices.append(_selected(choice, selection))
    if problems:
        raise UsageError(*problems)
    return tuple(choices)


def is_named(patch: Patch, names: Sequence[str]) -> bool:
    """Whether one of the names is the patch's id or its group."""
    return patch.id in names or (patch.group is not None and patch.group in names)


def _by_versions(
    variants: Sequence[Patch],
    versions: Mapping[str, str],
    unusable: Mapping[str, str],
) -> Choice:
    """In this order: installed, in range, fixed, too old; else nobody knows."""
    nearest = variants[-1]
    package = nearest.package
    if package not in versions and package not in unusable:
        return Choice(
            patch=nearest, state=PatchState.ABSENT, reason=f"{package} is not installed"
        )
    for name in sorted({package, *(n for p in variants for x in p.needs for n in x)}):
        if name in unusable:
            reason = unusable[name]
            return Choice(patch=nearest, state=PatchState.REFUSED, reason=reason)
    lacking = {
        name
        for patch in variants
        for needs in patch.needs
        for name in needs
        if name not in versions
    }
    judged = [
        (patch, needs)
        for patch in variants
        for needs in patch.needs
        if needs.keys() <= versions.keys()
    ]
    if not judged:
        reason = f"requires {', '.join(sorted(lacking))}"
        return Choice(patch=nearest, state=PatchState.NOT_NEEDED, reason=reason)
    matching = {
        patch.variant: (patch, needs)
        for patch, needs in judged
        if all(holds(specifier, versions[name]) for name, specifier in needs.items())
    }
    if len(matching) > 1:
        raise UsageError(_ambiguous([patch for patch, _ in matching.values()]))
    if matching:
        ((patch, needs),) = matching.values()
        return _wanted(patch, needs, versions)
    return _outside(variants, judged, versions)


def _wanted(
    patch: Patch, needs: Mapping[str, str], versions: Mapping[str, str]
) -> Choice:
    for name in needs:
        newest = patch.checked.get(name)
        if newest is not None and is_newer(versions[name], newest):
            reason = f"{name} {versions[name]} is newer than {newest}, the last checked"
            return Choice(patch=patch, state=PatchState.UNTESTED, reason=reason)
    return Choice(patch=patch, state=PatchState.PENDING)


def _outside(
    variants: Sequence[Patch],
    judged: Sequence[tuple[Patch, Mapping[str, str]]],
    versions: Mapping[str, str],
) -> Choice:
    nearest = variants[-1]
    for patch in variants:
        for name, first in patch.fixed_in.items():
            if name in versions and is_at_least(versions[name], first):
                reason = f"fixed in {name} {first}"
                return Choice(patch=patch, state=PatchState.NOT_NEEDED, reason=reason)
    if all(_is_below(needs, versions) for _, needs in judged):
        reason = f"from {_first(judged, versions)} on"
        return Choice(patch=variants[0], state=PatchState.NOT_NEEDED, reason=reason)
    ranges = " or ".join(
        ", ".join(f"{name} {specifier}" for name, specifier in needs.items())
        for _, needs in judged
    )
    found = ", ".join(
        f"{name} {versions[name]}" for name in sorted({n for _, x in judged for n in x})
    )
    reason = f"written for {ranges}; nothing says what {found} needs"
    return Choice(patch=nearest, state=PatchState.UNTESTED, reason=reason)


def _is_below(needs: Mapping[str, str], versions: Mapping[str, str]) -> bool:
    """Whether an installed package is older than this range begins."""
    return any(is_below(versions[name], one) for name, one in needs.items())


def _first(
    judged: Sequence[tuple[Patch, Mapping[str, str]]], versions: Mapping[str, str]
) -> str:
    """The nearest beginning: `vllm 0.15.0`."""
    ends = [
        (Version(first), name)
        for _, needs in judged
        for name, specifier in needs.items()
        if is_below(versions[name], specifier)
        and (first := lowest(specifier)) is not None
    ]
    version, name = min(ends)
    return f"{name} {version}"


def _ambiguous(patches: Sequence[Patch]) -> Problem:
    origins = " and ".join(patch.origin for patch in patches)
    return Problem(
        kind="patch-file",
        message=f"{patches[0].id}: two variants for these versions: {origins}",
        hint="make their NEEDS exclude each other",
        patch=patches[0].id,
    )


def _selected(choice: Choice, selection: Selection) -> Choice:
    """What the user's selection makes of it."""
    patch = choice.patch
    if choice.state not in _SELECTABLE:
        return choice
    added = is_named(patch, selection.plus)
    restricted = selection.only is not None and not is_named(patch, selection.only)
    if is_named(patch, selection.without):
        return _unselected(patch, "left out: revert was asked for")
    if restricted and not added:
        return _unselected(patch, f"only {', '.join(selection.only or ())}")
    if patch.opt_in and not added:
        return _unselected(patch, f"opt-in: patchset apply --with {patch.id}")
    if choice.state is PatchState.UNTESTED and added:
        return Choice(patch=patch, state=PatchState.PENDING)
    return choice


def _unselected(patch: Patch, reason: str) -> Choice:
    return Choice(patch=patch, state=PatchState.UNSELECTED, reason=reason)
