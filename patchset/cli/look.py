"""`status`, `verify`, `list`: they look, and change nothing."""

from __future__ import annotations

import click

from patchset import documents
from patchset.cli.options import check_versions, json_option, version_options
from patchset.cli.session import Session, guarded, show, show_errors
from patchset.model import Patch
from patchset.plan import PatchRow
from patchset.survey import Survey


@click.command(name="status")
@version_options
@json_option
@guarded
def status_command(
    session: Session, *, vllm: str | None, speculators: str | None, as_json: bool
) -> int:
    """Every patch and every file with its state; exit 0 only if all is as wanted."""
    with session.lock(exclusive=False):
        survey = session.take()
    session.introduce(survey)
    check_versions(survey, {"vllm": vllm, "speculators": speculators}, assume=False)
    if as_json:
        click.echo(documents.dump(documents.status(survey)))
    else:
        from patchset import report  # noqa: PLC0415 - people are spoken to

        show(report.status(survey, _next_command(session, survey)))
        show_errors(session, documents.problems(survey))
    session.mention_opt_in(survey)
    return 0 if documents.is_well(survey) else 1


@click.command(name="verify")
@json_option
@guarded
def verify_command(session: Session, *, as_json: bool) -> int:
    """Digests only, against ledger and store; for the start of a container."""
    with session.lock(exclusive=False):
        survey = session.take_ledger()
    session.introduce(survey)
    if as_json:
        click.echo(documents.dump(documents.status(survey, verifying=True)))
    else:
        from patchset import report  # noqa: PLC0415 - people are spoken to

        show(report.verification(survey))
        show_errors(session, documents.verification_problems(survey))
    return 0 if documents.is_verified(survey) else 1


@click.command(name="list")
@click.option("--all", "every", is_flag=True, help="Every variant, for all versions.")
@json_option
@guarded
def list_command(session: Session, *, every: bool, as_json: bool) -> int:
    """The catalogue for these versions, or all of it."""
    rows: list[tuple[Patch, PatchRow | None]]
    if every:
        rows = [(one, None) for c in session.catalogues for one in c.patches]
    else:
        with session.lock(exclusive=False):
            survey = session.take()
        session.introduce(survey)
        rows = [(row.patch, row) for row in survey.patch_rows if row.patch is not None]
    if as_json:
        click.echo(documents.dump(documents.catalogue(rows)))
    else:
        from patchset import report  # noqa: PLC0415 - people are spoken to

        show(report.patches(rows))
    return 0


def _next_command(session: Session, survey: Survey) -> str:
    versions = survey.environment.versions
    words = [
        f"--{name} {versions[name].partition('+')[0]}"
        for name in ("vllm", "speculators")
        if name in versions
    ]
    return " ".join([f"{session.prefix}apply", *words])
