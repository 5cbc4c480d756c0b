"""What a log shows → what a person reads: the defect, its state here, the command."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from patchset.analysis.findings import Finding
from patchset.analysis.symptoms import Reading
from patchset.forecast import findings as finding_rows
from patchset.model import Patch, PatchState
from patchset.plan import PatchRow

_ADVICE = {
    PatchState.APPLIED: "it is applied: the log is older, or the process still runs "
    "the old code: restart it",
    PatchState.OBSOLETE: "the cure is in the file already: restart what runs",
    PatchState.ABSENT: "its package is not installed here",
}


def explained(
    reading: Reading,
    known: Sequence[tuple[Patch, PatchRow | None]],
    foretold: Sequence[Finding],
    near: Sequence[Finding],
    prefix: str,
) -> RenderableType:
    """The defects that a log shows; for an unknown one, what `doctor` has near it."""
    parts: list[RenderableType] = []
    if known or foretold:
        count = len(known) or len(foretold)
        defects = "1 known defect" if count == 1 else f"{count} known defects"
        parts.append(Text(f"recognised: {defects}", "bold"))
    elif reading.shapes:
        parts.append(Text(f"not known: {reading.shapes[0].text}", "bold yellow"))
    else:
        parts.append(Text("not known: no symptom of any patch is in it", "bold yellow"))
    lines = {each.patch: each for each in reading.sightings}
    for patch, row in known:
        seen = lines.get(patch.id)
        parts.append(Text(patch.id, "bold").append(f"  {patch.title}", "default"))
        if seen is not None:
            quoted = Text(f"line {seen.line}: {seen.text[:200]}", "dim")
            parts.append(Padding(quoted, (0, 0, 0, 2)))
        parts.append(Padding(_state(patch, row, prefix), (0, 0, 0, 2)))
    uncured = [each for each in foretold if each.patch is None]
    parts += finding_rows(uncured)
    if near:
        parts.append(Text("nearest of what doctor finds here:", "bold"))
        parts += finding_rows(near)
    if not known and not foretold:
        text = Text("next: ", "dim")
        parts.append(text.append(f"{prefix}doctor", "default"))
    return Group(*parts)


def _state(patch: Patch, row: PatchRow | None, prefix: str) -> Text:
    if row is None:
        return Text(f"next: {prefix}show {patch.id}")
    text = Text(f"{row.state.value}: ", "bold")
    advice = _ADVICE.get(row.state)
    if advice is not None:
        return text.append(advice, "default")
    if row.state is PatchState.NOT_NEEDED:
        return text.append(row.reason or "not for these versions", "default")
    if row.state in {PatchState.UNSELECTED, PatchState.UNTESTED}:
        return text.append(f"{prefix}apply --with {patch.id}", "default")
    return text.append(f"{prefix}apply", "default")
