"""`apply` and `revert`: one function with different wanted patches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from patchset import documents
from patchset.after import next_ledgers
from patchset.cli.difference import print_diffs
from patchset.cli.options import (
    assumable,
    check_names,
    check_versions,
    json_option,
    version_options,
)
from patchset.cli.session import Session, guarded, note, show, show_errors
from patchset.errors import Problem, UsageError
from patchset.execute import Plan, carry_out, make_plan, remove_state
from patchset.model import (
    Adopted,
    Choice,
    Digest,
    FileState,
    PatchState,
    Selection,
    Subject,
)
from patchset.saving import end_adoptions, ended_adoptions
from patchset.select import is_named
from patchset.signals import undisturbed
from patchset.store import Store
from patchset.survey import Survey

_NAMES = "ID_OR_GROUP"


def _apply(
    session: Session,
    *,
    vllm: str | None,
    speculators: str | None,
    only: tuple[str, ...],
    plus: tuple[str, ...],
    default: bool,
    dry_run: bool,
    diff: bool,
    adopt: tuple[str, ...],
    assume_version: bool,
    as_json: bool,
) -> int:
    """Bring the environment to the wanted state: all of it, or nothing.

    Applies what is missing, redoes what is outdated, takes out what is no longer
    declared. A second run writes nothing. After an upgrade, the same command selects
    anew for the new versions.
    """
    if default and (only or plus):
        raise UsageError(
            Problem(
                kind="usage",
                message="--default ends a selection, and --only or --with sets one",
                hint="patchset apply --default",
            )
        )
    stated = {"vllm": vllm, "speculators": speculators}
    selection = _selection(only, plus, default=default)
    with session.lock(exclusive=not dry_run):
        survey = session.take(selection=selection)
        check_names(survey, (*only, *plus))
        assume = assumable(survey, stated) if assume_version else {}
        if assume or adopt:
            survey = session.take(selection=selection, adopt=adopt, assume=assume)
        session.introduce(survey)
        check_versions(survey, stated, assume=assume_version)
        plan = make_plan(survey, progress=None if as_json else _progress)
        if diff:
            print_diffs(plan.writes, stderr=as_json)
        if dry_run:
            return _rehearsed(session, survey, plan, as_json=as_json)
        carry_out(survey, plan, ledgers=next_ledgers(survey, plan))
        after = session.take()
    untested = any(row.state is PatchState.UNTESTED for row in after.patch_rows)
    ok = documents.is_well(after)
    _tell(session, after, plan, ok=ok, as_json=as_json)
    return 0 if ok and not untested else 1


def _revert(
    session: Session, *, names: tuple[str, ...], force: bool, as_json: bool
) -> int:
    """Put the base bytes back: all of them, or without the named patches.

    `--force` puts back pristine bytes whatever was done to a file by hand; a copy of
    what it replaces is kept beside the site's packages.
    """
    with session.lock(exclusive=True):
        if names:
            before = session.take()
            check_names(before, names)
            selection = _without(before, names)
            survey = session.take(selection=selection, ignore_adopted=force)
            survey = _without_pending(survey, before)
        else:
            everything = session.take(
                selection=Selection(), ignore_adopted=force, only_files=True
            )
            survey = _unwanted(everything)
        session.introduce(survey)
        plan = make_plan(survey, force=force)
        ledgers = next_ledgers(survey, plan)
        with undisturbed():
            carry_out(survey, plan, ledgers=ledgers)
            if not names:
                remove_state(survey)
            elif force:
                end_adoptions(survey, plan.steps)
        _tell_adopted(survey, plan)
        after = session.take(allow_nothing=True)
    there = {PatchState.APPLIED, PatchState.OUTDATED, PatchState.ORPHANED}
    ok = not any(
        row.state in there
        for row in after.patch_rows
        if not names or row.patch is None or is_named(row.patch, names)
    )
    if names and any(one.forced for one in plan.writes):
        # What else was in a file that was edited by hand is gone with the edit.
        ok = ok and documents.is_well(after)
    if not names:
        # Not ours to put back, since nothing of ours knows them: but not pristine.
        known = {one.subject.place for one in plan.steps}
        ok = ok and not any(
            row.state is FileState.DRIFTED and row.subject.place not in known
            for row in after.file_rows
        )
    _tell(session, after, plan, ok=ok, as_json=as_json)
    return 0 if ok else 1


# --- selection -------------------------------------------------------------------


def _selection(
    only: tuple[str, ...], plus: tuple[str, ...], *, default: bool
) -> Selection | None:
    """What the options say; None where they say nothing, and the old one stays."""
    if default:
        return Selection()
    if not only and not plus:
        return None
    return Selection(
        only=tuple(sorted(set(only))) if only else None, plus=tuple(sorted(set(plus)))
    )


def _without(survey: Survey, names: Sequence[str]) -> Selection:
    old = survey.selection
    return replace(
        old,
        plus=tuple(one for one in old.plus if one not in names),
        without=tuple(sorted({*old.without, *names})),
    )


def _unwanted(survey: Survey) -> Survey:
    """The survey of an environment in which no patch is wanted."""
    choices = tuple(
        Choice(patch=one.patch, state=PatchState.UNSELECTED) for one in survey.choices
    )
    subjects = tuple(
        replace(one, wanted=())
        for one in survey.subjects
        if one.entry is not None or one.interrupted or _is_known(survey, one)
    )
    return replace(survey, choices=choices, subjects=subjects)


def _without_pending(survey: Survey, before: Survey) -> Survey:
    """The survey in which no patch is wanted that was not applied before."""
    applied = {PatchState.APPLIED, PatchState.OUTDATED}
    there = {row.id for row in before.patch_rows if row.state in applied}
    subjects = tuple(
        replace(one, wanted=tuple(c for c in one.wanted if c.patch.id in there))
        for one in survey.subjects
    )
    return replace(survey, subjects=subjects)


def _is_known(survey: Survey, subject: Subject) -> bool:
    """Whether we made what lies there, or the user made it the base."""
    state, digest = survey.states.get(subject.file.site), subject.file.digest
    if state is None or digest is None:
        return False
    return digest in subject.outputs or any(
        isinstance(role, Adopted) and role.path == subject.file.path
        for role in state.roles.get(digest, ())
    )


# --- output ----------------------------------------------------------------------


def _progress(path: str) -> None:
    note(f"rewriting {path}")


def _rehearsed(session: Session, survey: Survey, plan: Plan, *, as_json: bool) -> int:
    """The end of a dry run: 3 where it would be refused, 1 where it would write."""
    changed = [one.subject.file.path for one in plan.writes]
    code = 3 if plan.problems else int(bool(changed) or not documents.is_well(survey))
    problems = [session.hinted(one) for one in plan.problems]
    if as_json:
        document = documents.change(
            survey, ok=code == 0, changed=changed, errors=problems
        )
        click.echo(documents.dump(document))
    else:
        for path in changed:
            click.echo(f"would patch {path}")
        if not changed and not problems:
            click.echo("nothing to do")
    show_errors(session, plan.problems)
    return code


def _tell(
    session: Session,
    after: Survey,
    plan: Plan,
    *,
    ok: bool,
    as_json: bool,
) -> None:
    changed = [one.subject.file.path for one in plan.writes]
    problems = [session.hinted(one) for one in documents.problems(after)]
    if as_json:
        document = documents.change(after, ok=ok, changed=changed, errors=problems)
        click.echo(documents.dump(document))
        return
    from patchset import report  # noqa: PLC0415 - people are spoken to

    for write in plan.writes:
        done = "patched" if write.patches else "put back"
        click.echo(f"{done} {write.subject.file.path}")
        link = write.subject.file.attributes and write.subject.file.attributes.link
        if link and write.patches:
            note(f"note: {write.subject.file.path} was a link to {link}: untouched")
    show(report.outcome(after, len(changed)))
    for row in after.patch_rows:
        if row.state in {PatchState.OBSOLETE, PatchState.UNTESTED}:
            note(f"{row.state.value}: {row.id}: {row.reason}")
    session.mention_opt_in(after)
    show_errors(session, problems)


def _tell_adopted(survey: Survey, plan: Plan) -> None:
    for decided in plan.steps:
        file = decided.subject.file
        for digest in ended_adoptions(survey, decided.subject):
            saved = Store(Path(file.site)).saved_path(file.path, digest)
            note(f"saved: {saved}, the base that you had adopted")
    for write in plan.writes:
        subject = write.subject
        if subject.adopted is not None and write.digest == subject.adopted:
            note(f"note: {subject.file.path}: the base that you adopted, not pristine")
        if write.forced:
            digest = subject.file.digest or Digest("")
            saved = Store(Path(subject.file.site)).saved_path(subject.file.path, digest)
            note(f"saved: {saved}")


# --- commands --------------------------------------------------------------------


def _apply_command(name: str) -> click.Command:
    options = [
        version_options,
        click.option(
            "--only", multiple=True, metavar=_NAMES, help="Only these patches."
        ),
        click.option(
            "--with",
            "plus",
            multiple=True,
            metavar=_NAMES,
            help="Also these opt-in or untested patches.",
        ),
        click.option("--default", is_flag=True, help="End the kept selection."),
        click.option("--dry-run", is_flag=True, help="Say what would be done."),
        click.option("--diff", is_flag=True, help="Print the diff, too."),
        click.option(
            "--adopt",
            multiple=True,
            metavar="PATH",
            help="Make the bytes of this drifted file the base.",
        ),
        click.option(
            "--assume-version",
            is_flag=True,
            help="Take the stated version for a build whose own says nothing.",
        ),
        json_option,
    ]
    command = guarded(_apply)
    for option in reversed(options):
        command = option(command)
    return click.command(name=name, help=_apply.__doc__)(command)


apply_command = _apply_command("apply")
reapply_command = _apply_command("reapply")
revert_command = click.command(name="revert", help=_revert.__doc__)(
    click.argument("names", nargs=-1, metavar=f"[{_NAMES}]...")(
        click.option(
            "--force", is_flag=True, help="Pristine bytes, whatever there is."
        )(json_option(guarded(_revert)))
    )
)
