"""`check`: an upgrade rehearsed on the wheels themselves; nothing is installed."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import click

from patchset import documents
from patchset.analysis.candidates import near_definitions, near_files
from patchset.analysis.doctor import Diagnosis, diagnose
from patchset.analysis.source import Directory, Overlay, Source
from patchset.cli.options import json_option
from patchset.cli.session import Session, guarded, note, show
from patchset.digest import fingerprint
from patchset.download import download
from patchset.errors import Problem, UsageError
from patchset.execute import read_base
from patchset.limits import time_limit
from patchset.model import Patch, PatchState
from patchset.plan import PatchRow
from patchset.rehearse import Rehearsal, Release, Row, Verdict, rehearse
from patchset.rewrite import Folded, Refused, fold
from patchset.survey import Survey
from patchset.wheel import Wheel

CLIENT, LIBRARY = "speculators", "vllm"
STATES = {
    Verdict.APPLIES: PatchState.PENDING,
    Verdict.OBSOLETE: PatchState.OBSOLETE,
    Verdict.NOT_NEEDED: PatchState.NOT_NEEDED,
    Verdict.UNSELECTED: PatchState.UNSELECTED,
    Verdict.UNTESTED: PatchState.UNTESTED,
    Verdict.ABSENT: PatchState.ABSENT,
}
"""What `status` would say after that upgrade; refused for what is not listed."""


@dataclass(frozen=True, kw_only=True)
class Installed:
    """A release that stays as it is, with the bytes that patches are folded over."""

    name: str
    version: str
    site: Path
    bases: Mapping[str, bytes] = field(default_factory=dict)

    def read(self, path: str) -> bytes | None:
        """The pristine bytes of one file, or None if it has none of that name."""
        found = self.bases.get(path)
        return Directory(root=self.site).read(path) if found is None else found


@click.command(name="check")
@click.argument("requirements", nargs=-1, metavar="REQUIREMENT...")
@click.option(
    "--wheel",
    "files",
    multiple=True,
    metavar="FILE",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A wheel that you have; may be given more than once.",
)
@json_option
@guarded
def check_command(
    session: Session,
    *,
    requirements: tuple[str, ...],
    files: tuple[Path, ...],
    as_json: bool,
) -> int:
    """Rehearse an upgrade: each patch's verdict there, and what doctor says of it."""
    if not requirements and not files:
        raise UsageError(
            Problem(
                kind="usage",
                message="check: found no requirement and no --wheel, wanted either",
                hint="patchset check vllm==0.17.1 speculators==0.4.0.1",
            )
        )
    with tempfile.TemporaryDirectory(prefix="patchset-") as folder:
        fetched = download(
            requirements,
            Path(folder),
            executable=session.interpreter.executable,
            quiet=as_json,
        )
        wheels = [Wheel(path) for path in (*files, *fetched)]
        return _check(session, wheels, as_json=as_json)


def _check(session: Session, wheels: Sequence[Wheel], *, as_json: bool) -> int:
    survey = _survey(session)
    patches = survey.patches
    releases, sources = _releases(survey, patches, wheels)
    for name, release in sorted(releases.items()):
        where = (
            "stays as installed" if isinstance(release, Installed) else "read in place"
        )
        note(f"{name}: {release.name} {release.version}, {where}")

    def folding(content: bytes, group: Sequence[Patch], path: str) -> Folded | Refused:
        return fold(
            content,
            group,
            path=path,
            compiles=session.interpreter.compiles,
            guard=time_limit,
        )

    rehearsed = rehearse(releases, patches, selection=survey.selection, folding=folding)
    rows = tuple(_with_candidates(row, sources) for row in rehearsed.rows)
    before, after = _diagnoses(rehearsed, rows, sources)
    ok = rehearsed.is_well and (after is None or after.ok)
    if as_json:
        click.echo(
            documents.dump(_document(session, releases, rehearsed, rows, before, ok=ok))
        )
    else:
        from patchset import outlook  # noqa: PLC0415 - people are spoken to

        show(
            outlook.rehearsal(
                rows,
                {name: one.version for name, one in releases.items()},
                before=() if before is None else before.findings,
                after=() if after is None else after.findings,
                ok=ok,
            )
        )
    return 0 if ok else 1


def _survey(session: Session) -> Survey:
    with session.lock(exclusive=False):
        return session.take(allow_nothing=True)


def _releases(
    survey: Survey, patches: Sequence[Patch], wheels: Sequence[Wheel]
) -> tuple[dict[str, Release], dict[str, Source]]:
    """Import package → what there would be, and where to read it."""
    known = {one.package for one in patches} | {CLIENT, LIBRARY}
    known |= {name for one in patches for needs in one.needs for name in needs}
    releases: dict[str, Release] = {}
    sources: dict[str, Source] = {}
    for name, found in survey.environment.distributions.items():
        bases = {
            one.file.path: base
            for one in survey.subjects
            if one.file.path.partition("/")[0] == name
            and (base := read_base(one)) is not None
        }
        site = Path(found.site)
        releases[name] = Installed(
            name=found.name, version=found.version, site=site, bases=bases
        )
        sources[name] = Overlay(base=Directory(root=site), files=bases)
    for wheel in wheels:
        packages = wheel.packages & known
        if not packages:
            raise UsageError(_unknown(wheel, known))
        for name in packages:
            releases[name] = wheel
            sources[name] = wheel
    return releases, sources


def _unknown(wheel: Wheel, known: set[str]) -> Problem:
    return Problem(
        kind="usage",
        message=f"{wheel.name}: found {', '.join(sorted(wheel.packages))}, "
        f"wanted one of {', '.join(sorted(known))}",
        hint="patchset list --all",
        path=str(wheel.path),
    )


def _with_candidates(row: Row, sources: Mapping[str, Source]) -> Row:
    """The row, with where its code may have gone."""
    source = sources.get(row.patch.package)
    if source is None:
        return row
    near: list[str] = []
    if row.verdict is Verdict.GONE:
        near = near_files(source, row.patch.target, row.patch.touches)
    elif row.verdict is Verdict.MOVED:
        content = source.read(row.patch.target) or b""
        near = near_definitions(content, row.patch.touches)
    if not near:
        return row
    reason = row.reason or row.verdict.value
    return replace(row, reason=f"{reason}; nearest: {', '.join(near)}")


def _diagnoses(
    rehearsed: Rehearsal, rows: Sequence[Row], sources: Mapping[str, Source]
) -> tuple[Diagnosis | None, Diagnosis | None]:
    """What doctor says of the pair as published, and with the patches; None for one."""
    if not {CLIENT, LIBRARY} <= sources.keys():
        return None, None
    pair = {name: sources[name] for name in (CLIENT, LIBRARY)}
    there = {Verdict.APPLIES, Verdict.UNTESTED}
    curing = [row.patch for row in rows if row.verdict in there]
    contents = {one.path: one.content for one in rehearsed.files}
    patched = {name: Overlay(base=one, files=contents) for name, one in pair.items()}
    return (
        diagnose(CLIENT, LIBRARY, pair, curing),
        diagnose(CLIENT, LIBRARY, patched),
    )


def _document(
    session: Session,
    releases: Mapping[str, Release],
    rehearsed: Rehearsal,
    rows: Sequence[Row],
    found: Diagnosis | None,
    *,
    ok: bool,
) -> dict[str, Any]:
    interpreter = session.interpreter
    return {
        "schema": documents.SCHEMA,
        "environment": {
            "python": interpreter.python,
            "sites": [site.path for site in interpreter.sites],
            "distributions": {
                name: {"name": one.name, "version": one.version}
                for name, one in sorted(releases.items())
            },
        },
        "ok": ok,
        "fingerprint": fingerprint((one.path, one.patched) for one in rehearsed.files),
        "patches": [
            documents.of_patch(_patch_row(row)) | {"verdict": row.verdict.value}
            for row in rows
        ],
        "files": [
            {
                "path": one.path,
                "distribution": releases[one.package].name,
                "state": "pristine",
                "sha256": one.pristine,
                "pristine": one.pristine,
                "wanted": one.patched,
                "patches": [each.id for each in one.patches],
            }
            for one in rehearsed.files
        ],
        "errors": [asdict(_problem(row)) for row in rows if row.verdict not in STATES],
        "findings": [] if found is None else [one.to_json() for one in found.findings],
    }


def _patch_row(row: Row) -> PatchRow:
    return PatchRow(
        id=row.patch.id,
        patch=row.patch,
        path=row.patch.target,
        state=STATES.get(row.verdict, PatchState.REFUSED),
        reason=row.reason,
    )


def _problem(row: Row) -> Problem:
    return Problem(
        kind=row.verdict.value.replace(" ", "-"),
        message=f"{row.patch.id}: {row.reason or row.verdict.value}",
        hint=f"patchset show {row.patch.id}",
        path=row.patch.target,
        patch=row.patch.id,
    )
