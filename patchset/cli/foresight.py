"""`doctor`, `inspect`, `explain`: they know beforehand, and change nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TextIO

import click

from patchset import documents
from patchset.analysis.doctor import diagnose
from patchset.analysis.findings import Finding
from patchset.analysis.model import prognose
from patchset.analysis.modules import Program
from patchset.analysis.source import Directory, Source
from patchset.analysis.target import (
    BadConfigError,
    TargetModel,
    by_architecture,
    by_config,
)
from patchset.cli.options import json_option
from patchset.cli.session import Session, guarded, note, show
from patchset.errors import PatchsetError, Problem, UsageError
from patchset.model import Patch, PatchState
from patchset.site import find_distributions
from patchset.survey import Survey

CLIENT, LIBRARY = "speculators", "vllm"
USELESS = frozenset(
    {
        PatchState.APPLIED,
        PatchState.OBSOLETE,
        PatchState.NOT_NEEDED,
        PatchState.ABSENT,
    }
)
"""The states of a patch that cannot cure what is found on the files as they are."""


@click.command(name="doctor")
@click.option("--client", default=CLIENT, metavar="NAME", help="Who uses.")
@click.option("--library", default=LIBRARY, metavar="NAME", help="Who is used.")
@click.option(
    "--model",
    metavar="CONFIG_JSON_OR_ARCHITECTURE",
    help="A target model, instead of a pair: what the engine will say to it.",
)
@click.option("--method", metavar="METHOD", help="With --model: eagle3, …")
@json_option
@guarded
def doctor_command(
    session: Session,
    *,
    client: str,
    library: str,
    model: str | None,
    method: str | None,
    as_json: bool,
) -> int:
    """Say what cannot work, before anything is loaded; exit 0 if nothing is found."""
    if (model is None) != (method is None):
        raise UsageError(
            Problem(
                kind="usage",
                message="doctor: found one of --model and --method, wanted both",
                hint="patchset doctor --model config.json --method eagle3",
            )
        )
    if model is not None and method is not None:
        return _doctor_model(session, model, method, as_json=as_json)
    user, used = client.replace("-", "_"), library.replace("-", "_")
    sources = _sources(session, [user, used])
    found = diagnose(user, used, sources, _curing(session))
    if as_json:
        _dump(found.findings)
        return 0 if found.ok else 1
    from patchset import forecast  # noqa: PLC0415 - people are spoken to

    pair = _with_version(session, user), _with_version(session, used)
    show(forecast.diagnosis(found, *pair))
    if not found.ok:
        show(forecast.next_step(found.findings, session.prefix))
    return 0 if found.ok else 1


@click.command(name="inspect")
@click.argument("name", metavar="NAME")
@click.option("--callers", is_flag=True, help="Who calls it, and on what.")
@json_option
@guarded
def inspect_command(
    session: Session, *, name: str, callers: bool, as_json: bool
) -> int:
    """Where a class or function is, what it inherits, which protocols it carries."""
    from patchset.analysis.callers import callers as find  # noqa: PLC0415 - one mode
    from patchset.analysis.lookup import class_of, describe  # noqa: PLC0415 - one command

    program = Program(packages=_installed_sources(session))
    found = describe(program, name)
    if not found and not callers:
        raise UsageError(
            Problem(
                kind="unknown-name",
                message=f"{name}: found no class and no function of that name in "
                f"{', '.join(sorted(program.packages))}",
                hint=f"patchset inspect {name.rpartition('.')[2]} --callers",
            )
        )
    from patchset import forecast  # noqa: PLC0415 - people are spoken to

    if callers:
        last = name.rpartition(".")[2]
        calls = find(program, last, class_of(program, name))
        if as_json:
            rows = [each.to_json() for each in calls]
            click.echo(documents.dump({"schema": documents.SCHEMA, "callers": rows}))
        else:
            show(forecast.callers(calls, name))
        return 0
    if as_json:
        rows = [each.to_json() for each in found]
        click.echo(documents.dump({"schema": documents.SCHEMA, "definitions": rows}))
    else:
        show(forecast.descriptions(found))
    return 0


@click.command(name="explain")
@click.argument(
    "log",
    metavar="[LOGFILE]",
    type=click.File(encoding="utf-8", errors="replace"),
    default="-",
)
@json_option
@guarded
def explain_command(session: Session, *, log: TextIO, as_json: bool) -> int:
    """Say what a log or traceback shows, and what to type; 1 if nothing is known."""
    from patchset.analysis.symptoms import nearest, read  # noqa: PLC0415 - one command

    survey = _survey(session)
    patches = _known_patches(session, survey)
    reading = read(log.read(), patches.values())
    findings = _bindings(session)
    foretold = tuple(each for each in findings if reading.explains(each))
    seen = {each.patch for each in reading.sightings}
    seen |= {each.patch for each in foretold if each.patch is not None}
    near = () if seen or foretold else nearest(reading, findings)
    rows = {} if survey is None else {row.id: row for row in survey.patch_rows}
    if as_json:
        click.echo(
            documents.dump(
                {
                    "schema": documents.SCHEMA,
                    "ok": bool(seen or foretold),
                    "patches": [
                        {
                            "id": each,
                            "state": rows[each].state.value if each in rows else None,
                            "reason": rows[each].reason if each in rows else None,
                        }
                        for each in sorted(seen)
                    ],
                    "findings": [each.to_json() for each in foretold or near],
                }
            )
        )
    else:
        from patchset import explanation  # noqa: PLC0415 - people are spoken to

        known = [(patches[each], rows.get(each)) for each in sorted(seen)]
        show(explanation.explained(reading, known, foretold, near, session.prefix))
    return 0 if seen or foretold else 1


# --- the target --------------------------------------------------------------------


def _doctor_model(session: Session, model: str, method: str, *, as_json: bool) -> int:
    target = _target(model)
    found = prognose(target, method, _sources(session, [LIBRARY]), _curing(session))
    if as_json:
        _dump(found.findings)
        return 0 if found.ok else 1
    from patchset import forecast  # noqa: PLC0415 - people are spoken to

    show(forecast.prognosis(found, _with_version(session, LIBRARY)))
    if not found.ok:
        show(forecast.next_step(found.findings, session.prefix))
    return 0 if found.ok else 1


def _target(text: str) -> TargetModel:
    path = Path(text)
    if path.is_dir():
        path /= "config.json"
    if not path.is_file():
        if text.isidentifier():
            return by_architecture(text)
        raise UsageError(
            Problem(
                kind="usage",
                message=f"{text}: found no such file, wanted a config.json or the name "
                "of an architecture",
                hint="patchset doctor --model config.json --method eagle3",
                path=text,
            )
        )
    try:
        return by_config(path.read_text(encoding="utf-8"))
    except (BadConfigError, UnicodeDecodeError) as error:
        raise UsageError(
            Problem(
                kind="usage",
                message=f"{path}: {error}",
                hint="name the config.json of the target model",
                path=str(path),
            )
        ) from error


# --- the environment ---------------------------------------------------------------


def _sources(session: Session, names: Iterable[str]) -> Mapping[str, Source]:
    """Where the files of the packages are: the site that imports would find first."""
    found: dict[str, Source] = {}
    problems: list[Problem] = []
    sites = [Directory(root=Path(site.path)) for site in session.interpreter.sites]
    for site in sites:
        note(f"site: {site.root}")
    for name in names:
        source = next((each for each in sites if name in each.names("")), None)
        if source is None:
            where = ", ".join(str(each.root) for each in sites)
            problems.append(
                Problem(
                    kind="not-installed",
                    message=f"{name}: found no such package in {where}",
                    hint="patchset --python PATH doctor, with the environment that "
                    "has it",
                )
            )
        else:
            found[name] = source
    if problems:
        raise PatchsetError(*problems)
    return found


def _installed_sources(session: Session) -> Mapping[str, Source]:
    """The packages that the catalogue knows and `inspect` looks into."""
    names = {CLIENT, LIBRARY} | {
        name
        for catalogue in session.catalogues
        for patch in catalogue.patches
        for name in (patch.package,)
    }
    sites = [Directory(root=Path(site.path)) for site in session.interpreter.sites]
    found: dict[str, Source] = {}
    for name in sorted(names):
        source = next((each for each in sites if name in each.names("")), None)
        if source is not None:
            found[name] = source
    if not found:
        raise PatchsetError(
            Problem(
                kind="not-installed",
                message=f"found none of {', '.join(sorted(names))} in "
                + ", ".join(site.path for site in session.interpreter.sites),
                hint="patchset --python PATH inspect, with the environment that has it",
            )
        )
    return found


def _with_version(session: Session, package: str) -> str:
    environment = find_distributions(session.interpreter, {package})
    version = environment.versions.get(package)
    return package if version is None else f"{package} {version}"


def _survey(session: Session) -> Survey | None:
    """What is known of the patches here; None where that cannot be told."""
    try:
        with session.lock(exclusive=False):
            return session.take(allow_nothing=True)
    except PatchsetError:
        return None


def _known_patches(session: Session, survey: Survey | None) -> Mapping[str, Patch]:
    every = {one.id: one for c in session.catalogues for one in c.patches}
    if survey is not None:
        every |= {row.id: row.patch for row in survey.patch_rows if row.patch}
    return every


def _curing(session: Session) -> Sequence[Patch]:
    """The patches that could cure what is found on the files as they are."""
    survey = _survey(session)
    if survey is None:
        return [one for c in session.catalogues for one in c.patches]
    return [
        row.patch
        for row in survey.patch_rows
        if row.patch is not None and row.state not in USELESS
    ]


def _bindings(session: Session) -> Sequence[Finding]:
    """What `doctor` says of the usual pair; nothing where it is not installed."""
    sites = [Directory(root=Path(site.path)) for site in session.interpreter.sites]
    found: dict[str, Source] = {}
    for name in (CLIENT, LIBRARY):
        source = next((each for each in sites if name in each.names("")), None)
        if source is None:
            return ()
        found[name] = source
    return diagnose(CLIENT, LIBRARY, found, _curing(session)).findings


def _dump(findings: Sequence[Finding]) -> None:
    click.echo(
        documents.dump(
            {
                "schema": documents.SCHEMA,
                "ok": not findings,
                "findings": [each.to_json() for each in findings],
            }
        )
    )
