"""What is true → what a person reads: one glance, and what to type next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.padding import Padding
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from patchset.documents import is_verified, is_well
from patchset.errors import Problem
from patchset.model import FileState, Patch, PatchState
from patchset.plan import FileRow, PatchRow
from patchset.survey import Survey

_MARKS: Mapping[PatchState, tuple[str, str]] = {
    PatchState.APPLIED: ("+", "green"),
    PatchState.PENDING: ("!", "yellow"),
    PatchState.OUTDATED: ("!", "yellow"),
    PatchState.ORPHANED: ("!", "yellow"),
    PatchState.OBSOLETE: ("-", "dim"),
    PatchState.NOT_NEEDED: ("-", "dim"),
    PatchState.UNTESTED: ("?", "magenta"),
    PatchState.ABSENT: ("-", "dim"),
    PatchState.UNSELECTED: ("-", "dim"),
    PatchState.REFUSED: ("x", "red"),
}
_FILE_STYLES: Mapping[FileState, str] = {
    FileState.PRISTINE: "default",
    FileState.PATCHED: "green",
    FileState.DRIFTED: "red",
    FileState.MISSING: "red",
    FileState.INTERRUPTED: "red",
}


def make_console(*, stderr: bool = False, width: int | None = None) -> Console:
    """Where people read; colour only on a terminal, and never with NO_COLOR."""
    return Console(stderr=stderr, highlight=False, width=width)


def status(survey: Survey, command: str) -> RenderableType:
    """All patches and files with their states; `command` is what to type next."""
    parts: list[RenderableType] = [_verdict(survey), Text(_versions(survey), "dim")]
    parts.extend(_groups(survey.patch_rows))
    if survey.file_rows:
        parts.extend([Text(), _files(survey.file_rows)])
    if not is_well(survey) and command:
        parts.append(_next(command))
    return Group(*parts)


def outcome(survey: Survey, changed: int) -> RenderableType:
    """One line: what was done, and what is true now."""
    files = "1 file" if changed == 1 else f"{changed} files"
    done = f"changed {files}; " if changed else "nothing to do; "
    return Text.assemble(done, _verdict(survey))


def verification(survey: Survey) -> RenderableType:
    """The files that a run left patched, and whether they still are."""
    well = is_verified(survey)
    count = len(survey.file_rows)
    verdict = (
        Text(f"verified: {count} patched files are as the last run left them", "green")
        if well
        else Text("not verified", "bold red")
    )
    return Group(verdict, *([_files(survey.file_rows)] if survey.file_rows else []))


def patches(rows: Iterable[tuple[Patch, PatchRow | None]]) -> RenderableType:
    """The catalogue as a table: id, state or versions, title."""
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, overflow="fold")
    table.add_column(overflow="fold")
    for patch, row in rows:
        name = patch.id if patch.variant is None else f"{patch.id} ({patch.variant})"
        if row is None:
            detail = Text(versions_of(patch), "cyan")
        else:
            detail = Text(row.state.value, _MARKS[row.state][1])
            if row.reason:
                detail.append(f" · {row.reason}", "dim")
        table.add_row(Text(name, "bold"), Group(detail, Text(patch.title)))
    return table


def patch(one: Patch, row: PatchRow | None, diff: str) -> RenderableType:
    """One patch as a report: symptom, cause, versions, link, and its diff."""
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="dim", no_wrap=True)
    facts.add_column(overflow="fold")
    facts.add_row("file", one.target)
    facts.add_row("changes", ", ".join(one.touches))
    facts.add_row("group", one.group or "none")
    facts.add_row("versions", versions_of(one))
    if row is not None:
        reason = f": {row.reason}" if row.reason else ""
        facts.add_row("state", f"{row.state.value}{reason}")
    for symptom in one.symptoms:
        facts.add_row("symptom", symptom)
    if one.silent:
        facts.add_row("silent", one.silent)
    facts.add_row("upstream", one.upstream or f"none: {one.no_upstream}")
    name = one.id if one.variant is None else f"{one.id} ({one.variant})"
    parts: list[RenderableType] = [Text(name, "bold"), Text(one.title), facts]
    parts.append(Padding(Text(one.description), (1, 0), expand=False))
    if diff:
        parts.append(coloured(diff))
    return Group(*parts)


def coloured(diff: str) -> RenderableType:
    """A diff for a terminal."""
    return Syntax(diff, "diff", background_color="default", word_wrap=False)


def errors(problems: Sequence[Problem]) -> RenderableType:
    """Each failure: what was found, what was wanted, what to type."""
    parts: list[RenderableType] = []
    for problem in problems:
        message = Text("error: ", "bold red")
        message.append(problem.message, "default")
        parts.append(message)
        parts.append(_next(problem.hint))
    return Group(*parts)


def versions_of(one: Patch) -> str:
    """Where the defect is, and where it was fixed: `vllm >=0.15.0,<0.18.0`."""
    ranges = " or ".join(
        ", ".join(f"{name} {specifier}" for name, specifier in needs.items())
        for needs in one.needs
    )
    fixed = ", ".join(f"{name} {version}" for name, version in one.fixed_in.items())
    return f"{ranges}; fixed in {fixed}" if fixed else ranges


def _verdict(survey: Survey) -> Text:
    counts = Counter(row.state for row in survey.patch_rows)
    parts = [f"{counts[state]} {state.value}" for state in PatchState if counts[state]]
    summary = ", ".join(parts)
    if survey.is_interrupted:
        return Text(f"interrupted: a run did not finish ({summary})", "bold red")
    if is_well(survey):
        return Text(f"as wanted: {summary}", "bold green")
    return Text(f"not as wanted: {summary}", "bold red")


def _versions(survey: Survey) -> str:
    environment = survey.environment
    parts = [
        f"{name} {found.version}" + (f" ({found.name})" if found.name != name else "")
        for name, found in environment.distributions.items()
    ]
    return " · ".join([*parts, f"Python {environment.python}"])


def _groups(rows: Sequence[PatchRow]) -> Iterable[RenderableType]:
    groups: dict[str, list[PatchRow]] = {}
    for row in rows:
        group = row.patch.group if row.patch is not None else None
        groups.setdefault(group or "other patches", []).append(row)
    for name, members in groups.items():
        yield Text(f"\n{name}", "bold")
        for row in members:
            mark, style = _MARKS[row.state]
            yield _line(f" {mark} {row.state.value}", style, row.id, row.reason)


def _files(rows: Sequence[FileRow]) -> RenderableType:
    lines: list[RenderableType] = [Text("files", "bold")]
    for row in rows:
        note = "base adopted" if row.subject.adopted else None
        style = _FILE_STYLES[row.state]
        path = row.subject.file.path
        lines.append(_line(f"   {row.state.value}", style, path, note))
    return Group(*lines)


_STATE_WIDTH = len(" ! interrupted ")


def _line(state: str, style: str, name: str, reason: str | None) -> RenderableType:
    """State and name; the reason beside them where it fits, else below them."""
    text = Text.assemble((state.ljust(_STATE_WIDTH), style), name)
    return text if not reason else _WithReason(text, Text(reason, "dim"))


class _WithReason:
    """A line and its reason, laid out for the width that there is."""

    def __init__(self, line: Text, reason: Text) -> None:
        self._line = line
        self._reason = reason

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterable[RenderableType]:
        del console
        gap = "  "
        width = self._line.cell_len + len(gap) + self._reason.cell_len
        if width <= options.max_width:
            yield Text.assemble(self._line, gap, self._reason)
        else:
            yield self._line
            yield Padding(self._reason, (0, 0, 0, _STATE_WIDTH), expand=False)


def _next(command: str) -> Text:
    """What to type, on one line however long: it is there to be copied."""
    text = Text("next: ", "dim", no_wrap=True, overflow="ignore")
    text.append(command, "default")
    return text
