"""`diff` and `show`: what patches change, as unified diffs."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import click

from patchset import diffs, documents
from patchset.after import next_ledgers
from patchset.cli.options import check_names, json_option
from patchset.cli.session import Session, guarded, note, show
from patchset.errors import PatchsetError, UsageError
from patchset.execute import Plan, make_plan, read_base
from patchset.model import Patch, Selection, Subject
from patchset.plan import Write
from patchset.store import Store
from patchset.survey import Survey


@click.command(name="diff")
@click.argument("names", nargs=-1, metavar="[ID_OR_GROUP]...")
@click.option("--applied", is_flag=True, help="What apply has made, not would make.")
@json_option
@guarded
def diff_command(
    session: Session, *, names: tuple[str, ...], applied: bool, as_json: bool
) -> int:
    """The unified diff that apply would make, or has made.

    With names: what these patches change in the base, whatever else is applied;
    with --applied: all that was changed in the files that have them.
    """
    with session.lock(exclusive=False):
        survey = session.take()
        check_names(survey, names)
        if names and not applied:
            plus = tuple(sorted({*survey.selection.plus, *names}))
            survey = _at_base(session.take(selection=Selection(only=names, plus=plus)))
        session.introduce(survey)
        pairs = _applied(survey, names) if applied else _planned(survey)
    if as_json:
        click.echo(documents.dump(documents.diff(pairs)))
    else:
        print_pairs(pairs)
    return 0


@click.command(name="show")
@click.argument("name", metavar="ID")
@guarded
def show_command(session: Session, *, name: str) -> int:
    """One patch: symptom, cause, versions, upstream link, when to drop it, its diff.

    The diff is of the patch's own example; `patchset diff ID` shows the file's.
    """
    from patchset import report  # noqa: PLC0415 - people are spoken to

    survey = _survey_or_none(session)
    rows = {} if survey is None else {row.id: row for row in survey.patch_rows}
    every = [one for c in session.catalogues for one in c.patches]
    found = [one for one in every if one.id == name]
    row = rows.get(name)
    if row is not None and row.patch is not None:
        found = [row.patch]
    if not found:
        if survey is not None:
            check_names(survey, [name])
        raise UsageError(documents.unknown_patch(name, [one.id for one in every]))
    for one in found:
        show(report.patch(one, row, _example(one)))
    return 0


# --- diffs -----------------------------------------------------------------------


def print_diffs(writes: Iterable[Write], *, stderr: bool = False) -> None:
    """The diff of what a plan would write, as bytes."""
    print_pairs([_pair(one) for one in writes], stderr=stderr)


def print_pairs(
    pairs: Sequence[tuple[str, bytes, bytes]], *, stderr: bool = False
) -> None:
    """Unified diffs on standard output: bytes for a pipe, colour for a terminal."""
    stream = sys.stderr if stderr else sys.stdout
    for path, before, after in pairs:
        text = diffs.unified(path, before, after)
        if stream.isatty():
            from patchset import report  # noqa: PLC0415 - people are spoken to

            show(report.coloured(text.decode("utf-8", "replace")), stderr=stderr)
        else:
            stream.flush()
            stream.buffer.write(text)
            stream.buffer.flush()


def _pair(write: Write) -> tuple[str, bytes, bytes]:
    file = write.subject.file
    after = write.content
    if after is None:
        after = Store(Path(file.site)).read_object(write.digest)
    return file.path, file.content or b"", after or b""


def _planned(survey: Survey) -> list[tuple[str, bytes, bytes]]:
    plan = make_plan(survey)
    _remember(survey, plan)
    for name in sorted(one.id for found in plan.obsolete.values() for one in found):
        note(f"obsolete: {name}: the cure is in the file already")
    if plan.problems:
        raise PatchsetError(*plan.problems)
    return [_pair(one) for one in plan.writes]


def _remember(survey: Survey, plan: Plan) -> None:
    """Keep what was found obsolete, where it can be kept: `status` runs no codemod."""
    if not plan.obsolete:
        return
    for site, ledger in next_ledgers(survey, plan).items():
        old = survey.states[site].ledger
        with contextlib.suppress(OSError):
            Store(Path(site)).write_ledger(replace(old, obsolete=ledger.obsolete))


def _at_base(survey: Survey) -> Survey:
    """The survey as if nothing were applied, where the base is there to look at."""
    return replace(survey, subjects=tuple(map(_with_base, survey.subjects)))


def _with_base(subject: Subject) -> Subject:
    base = read_base(subject)
    if base is None:
        return subject
    file = replace(subject.file, content=base, digest=subject.base)
    return replace(subject, file=file)


def _applied(survey: Survey, names: Sequence[str]) -> list[tuple[str, bytes, bytes]]:
    found = []
    for subject in survey.subjects:
        output = subject.own_output
        if output is None or (names and not _has(subject, names, survey)):
            continue
        base = Store(Path(subject.file.site)).read_object(output.base)
        if base is not None:
            found.append((subject.file.path, base, subject.file.content or b""))
    return found


def _has(subject: Subject, names: Sequence[str], survey: Survey) -> bool:
    output = subject.own_output
    ids = {one.id for one in output.patches} if output else set()
    groups = {one.group for one in survey.patches if one.id in ids}
    return bool((ids | groups) & set(names))


def _example(patch: Patch) -> str:
    """The diff of the patch's own example: to show a patch runs nothing of it."""
    if patch.example is None:
        return ""
    before, after = (text.encode() for text in patch.example)
    return diffs.unified(patch.target, before, after).decode()


def _survey_or_none(session: Session) -> Survey | None:
    """`show` works without an environment, and says more with one."""
    try:
        with session.lock(exclusive=False):
            return session.take()
    except UsageError:
        raise
    except PatchsetError:
        return None
