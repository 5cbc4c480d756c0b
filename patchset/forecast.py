"""What the analysis found → what a person reads, whether it will work first."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from patchset.analysis.callers import Caller
from patchset.analysis.doctor import Diagnosis
from patchset.analysis.findings import Finding, Kind
from patchset.analysis.lookup import Description
from patchset.analysis.model import Prognosis
from patchset.analysis.protocol import Standing

_WORDS = {
    Kind.MISSING_NAME: "no such name",
    Kind.MISSING_MODULE: "no such module",
    Kind.MISSING_ARGUMENT: "missing argument",
    Kind.UNEXPECTED_KEYWORD: "unexpected keyword",
    Kind.TOO_MANY_ARGUMENTS: "too many arguments",
    Kind.MISSING_METHOD: "no such method",
    Kind.PROTOCOL: "protocol not carried",
    Kind.WHITELIST: "not in the whitelist",
    Kind.CONFIG_FIELD: "no such config field",
}


def diagnosis(found: Diagnosis, client: str, library: str) -> RenderableType:
    """The verdict on a pair, then each finding; both are named with their versions."""
    parts: list[RenderableType] = []
    if found.ok and found.unread:
        text = f"not sure: what could be read of {client} binds to {library}"
        parts.append(Text(text, "bold yellow"))
    elif found.ok:
        text = f"should work: every use that {client} makes of {library} binds"
        parts.append(Text(text, "bold green"))
    else:
        count = len(found.findings)
        uses = "1 use" if count == 1 else f"{count} uses"
        text = f"will not work: {uses} of {library} by {client} cannot bind"
        parts.append(Text(text, "bold red"))
    parts += findings(found.findings)
    for path, reason in sorted(found.unread.items()):
        parts.append(Text(f"not judged: {path}: {reason}", "yellow"))
    return Group(*parts)


def prognosis(found: Prognosis, library: str) -> RenderableType:
    """The verdict on a target, then what fails in the order in which it would."""
    what = f"{found.target} with {found.method} on {library}"
    if found.ok:
        head = Text(f"should work: {what}: nothing was found that fails", "bold green")
    else:
        count = len(found.findings)
        things = "1 thing fails" if count == 1 else f"{count} things fail, in order"
        head = Text(f"will not work: {what}: {things}", "bold red")
    parts: list[RenderableType] = [head]
    for step in found.steps:
        line = Text(
            "x " if step.findings else "+ ", "red" if step.findings else "green"
        )
        line.append(step.question, "default")
        line.append(f": {step.answer}", "bold")
        if step.place is not None and not step.findings:
            line.append(f"  {step.place}", "dim")
        parts.append(line)
        parts += [Padding(each, (0, 0, 0, 2)) for each in findings(step.findings)]
    return Group(*parts)


def findings(rows: Sequence[Finding]) -> list[RenderableType]:
    """Each finding: where, what was found, what there is, and what cures it."""
    return [_finding(each) for each in rows]


def next_step(rows: Sequence[Finding], prefix: str) -> RenderableType:
    """The command that cures what can be cured."""
    cures = sorted({each.patch for each in rows if each.patch is not None})
    if not cures:
        return Text("next: ", "dim").append("no patch here cures this", "default")
    text = Text("next: ", "dim").append(f"{prefix}apply", "default")
    left = sum(each.patch is None for each in rows)
    if left:
        text.append(f"  (cures {len(rows) - left} of {len(rows)})", "dim")
    return text


def descriptions(rows: Sequence[Description]) -> RenderableType:
    """Each definition: where it is, what it inherits, how it stands to protocols."""
    parts: list[RenderableType] = []
    for each in rows:
        head = Text(f"{each.kind} ", "dim").append(each.name, "bold")
        parts += [head.append(f"  {each.place}", "cyan")]
        if each.signature is not None:
            parts.append(Padding(Text(f"takes {each.signature}"), (0, 0, 0, 2)))
        if each.ancestors:
            parts.append(Padding(_ancestors(each), (0, 0, 0, 2)))
        parts += [Padding(row, (0, 0, 0, 2)) for row in _standings(each.standings)]
    return Group(*parts)


def callers(rows: Sequence[Caller], name: str) -> RenderableType:
    """Who calls a name, and on what."""
    if not rows:
        return Text(f"nobody calls {name}", "bold")
    table = Table.grid(padding=(0, 2))
    table.add_column(overflow="fold")
    table.add_column(overflow="fold")
    for each in rows:
        on = Text(each.on or name, "bold")
        on.append(f": {each.of}" if each.of else "", "green")
        where = Text(f"{each.path}:{each.line}", "cyan")
        where.append(f"  in {each.within}" if each.within else "", "dim")
        table.add_row(where, on)
    calls = "1 call" if len(rows) == 1 else f"{len(rows)} calls"
    return Group(Text(f"{calls} of {name}", "bold"), table)


def _finding(one: Finding) -> RenderableType:
    table = Table.grid(padding=(0, 1))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row(_WORDS[one.kind], Text(one.found, "bold red"))
    table.add_row("in", Text(one.symbol))
    table.add_row("there is", Text(one.wanted))
    cure = Text(
        one.patch or "none in the catalogue", "green" if one.patch else "yellow"
    )
    table.add_row("cure", cure)
    head = Text(f"{one.path}:{one.line}", "cyan")
    return Group(head, Padding(table, (0, 0, 0, 2)))


def _ancestors(one: Description) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    for index, each in enumerate(one.ancestors):
        place = Text(each.place or "not read", "cyan" if each.place else "dim")
        table.add_row(str(index), Text(each.name).append("  ").append_text(place))
    return table


def _standings(rows: Sequence[Standing]) -> list[Text]:
    found: list[Text] = []
    others: list[str] = []
    for each in rows:
        name = each.protocol.qualname
        if name.startswith("_"):
            continue
        if not each.carries:
            others.append(name)
            continue
        line = Text("+ ", "green").append(f"carries {name}", "default")
        if each.lacking:
            line.append(
                f", has nothing of its own for {', '.join(each.lacking)}", "yellow"
            )
        found.append(line)
    if others:
        found.append(Text(f"- does not carry {', '.join(others)}", "dim"))
    return found
