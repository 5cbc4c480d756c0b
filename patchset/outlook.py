"""A rehearsal → what a person reads: would it work there, and patch by patch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from patchset.analysis.findings import Finding
from patchset.forecast import findings
from patchset.rehearse import WELL, Row, Verdict

_STYLES = {
    Verdict.APPLIES: ("+", "green"),
    Verdict.OBSOLETE: ("-", "dim"),
    Verdict.NOT_NEEDED: ("-", "dim"),
    Verdict.UNSELECTED: ("-", "dim"),
    Verdict.ABSENT: ("-", "dim"),
    Verdict.UNTESTED: ("?", "magenta"),
}
_BAD = ("x", "red")


def rehearsal(
    rows: Sequence[Row],
    versions: Mapping[str, str],
    *,
    before: Sequence[Finding],
    after: Sequence[Finding],
    ok: bool,
) -> RenderableType:
    """The verdict on a combination, each patch's verdict, and what doctor says.

    `before` is what does not bind as published, `after` what does not with patches.
    """
    there = ", ".join(f"{name} {version}" for name, version in sorted(versions.items()))
    parts: list[RenderableType] = [_head(rows, there, after, ok=ok)]
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for row in rows:
        mark, style = _STYLES.get(row.verdict, _BAD)
        text = Text(row.patch.id, "bold").append(f"  {row.verdict.value}", style)
        if row.reason:
            text.append(f": {row.reason}", "dim" if row.verdict in WELL else "default")
        table.add_row(Text(mark, style), text)
    parts.append(table)
    if before:
        cured = len(before) - len(after)
        title = f"as published, {_uses(len(before))} not bind; patches cure {cured}:"
        parts += [Text(title, "bold"), *findings(before)]
    elif versions.keys() >= {"speculators", "vllm"}:
        parts.append(Text("every use of vllm by speculators binds as published"))
    return Group(*parts)


def _head(
    rows: Sequence[Row], there: str, after: Sequence[Finding], *, ok: bool
) -> Text:
    counts = Counter(row.verdict for row in rows)
    parts = [f"{counts[each]} {each.value}" for each in Verdict if counts[each]]
    summary = ", ".join(parts)
    if ok:
        return Text(f"would work: {there} ({summary})", "bold green")
    left = f"; with patches, {_uses(len(after))} not bind" if after else ""
    return Text(f"would not work: {there} ({summary}{left})", "bold red")


def _uses(count: int) -> str:
    return "1 use does" if count == 1 else f"{count} uses do"
