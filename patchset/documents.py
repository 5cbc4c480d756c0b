"""What is true → the JSON that machines read; its keys are a contract."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from difflib import get_close_matches
from typing import Any

from patchset.diffs import unified
from patchset.digest import fingerprint as fingerprint_of
from patchset.digest import of_bytes
from patchset.errors import Problem
from patchset.model import FINE, Digest, FileState, Patch, PatchState
from patchset.plan import FileRow, PatchRow, obstacle
from patchset.survey import Survey

SCHEMA = 1


def is_well(survey: Survey) -> bool:
    """Whether all is as wanted: what exit code 0 of `status` means."""
    return (
        not survey.is_interrupted
        and all(row.state in FINE for row in survey.patch_rows)
        and all(
            row.state in {FileState.PRISTINE, FileState.PATCHED}
            for row in survey.file_rows
        )
    )


def is_verified(survey: Survey) -> bool:
    """Whether something is applied, and every byte of it lies there."""
    return (
        bool(survey.file_rows)
        and not survey.is_interrupted
        and all(
            row.state is FileState.PATCHED
            and row.subject.file.digest == row.subject.entry
            for row in survey.file_rows
        )
        and len(survey.file_rows)
        == sum(len(s.ledger.files) for s in survey.states.values())
    )


def fingerprint(survey: Survey) -> Digest | None:
    """Equal on two machines exactly if the same patched bytes are there."""
    return fingerprint_of(
        (row.subject.file.path, row.subject.file.digest)
        for row in survey.file_rows
        if row.state is FileState.PATCHED and row.subject.file.digest is not None
    )


def problems(survey: Survey) -> tuple[Problem, ...]:
    """All that is wrong beyond what an `apply` would mend by itself."""
    found: list[Problem] = []
    obstacles = {
        one.obstacle.message: one.obstacle
        for one in survey.environment.distributions.values()
        if one.obstacle is not None
    }
    for subject in survey.subjects:
        problem = obstacle(subject, survey.known[subject.place])
        if problem is not None and (subject.wanted or subject.entry):
            found.append(problem)
    for row in survey.patch_rows:
        if row.state is PatchState.UNTESTED:
            found.append(_untested(row))
        if row.state is PatchState.REFUSED and not any(
            one.message == row.reason for one in found
        ):
            found.append(obstacles.get(row.reason or "") or _refused(row))
    if survey.is_interrupted:
        found.append(INTERRUPTED)
    return tuple(dict.fromkeys(found))


INTERRUPTED = Problem(
    kind="interrupted",
    message="a run was interrupted; every file is whole, old or new",
    hint="patchset apply finishes it, patchset revert takes it back",
)


def verification_problems(survey: Survey) -> tuple[Problem, ...]:
    """What `verify` found: each file that is not as the last run left it."""
    found: list[Problem] = []
    for subject in survey.subjects:
        file = subject.file
        if subject.entry is None or file.digest == subject.entry:
            continue
        if file.digest is None:
            message = f"{file.path}: not there, patched it was {subject.entry}"
        elif file.digest == file.recorded:
            message = f"{file.path}: pristine, the patches are gone: reinstalled?"
        else:
            message = f"{file.path}: found {file.digest}, wanted {subject.entry}"
        found.append(
            Problem(
                kind="changed", message=message, hint="patchset status", path=file.path
            )
        )
    if survey.is_interrupted:
        found.append(INTERRUPTED)
    if not any(state.ledger.files for state in survey.states.values()):
        found.append(
            Problem(
                kind="nothing-applied",
                message="nothing was ever applied here, so there is nothing to verify",
                hint="patchset apply",
            )
        )
    return tuple(found)


def status(survey: Survey, *, verifying: bool = False) -> dict[str, Any]:
    """The document of `status` and `verify`."""
    errors = verification_problems(survey) if verifying else problems(survey)
    return {
        "schema": SCHEMA,
        "environment": {
            "python": survey.environment.python,
            "sites": [site.path for site in survey.environment.sites],
            "distributions": {
                name: {"name": found.name, "version": found.version}
                for name, found in survey.environment.distributions.items()
            },
        },
        "ok": is_verified(survey) if verifying else is_well(survey),
        "fingerprint": fingerprint(survey),
        "patches": [] if verifying else [of_patch(row) for row in survey.patch_rows],
        "files": [_file(row, verifying=verifying) for row in survey.file_rows],
        "errors": [asdict(one) for one in errors],
    }


def change(
    survey: Survey | None,
    *,
    ok: bool,
    changed: Iterable[str],
    errors: Sequence[Problem],
) -> dict[str, Any]:
    """The document of `apply` and `revert`; without a survey, of a refusal."""
    return {
        "schema": SCHEMA,
        "ok": ok,
        "changed": sorted(changed),
        "patches": [] if survey is None else [of_patch(r) for r in survey.patch_rows],
        "files": [] if survey is None else [_file(row) for row in survey.file_rows],
        "errors": [asdict(one) for one in errors],
    }


def catalogue(rows: Iterable[tuple[Patch, PatchRow | None]]) -> dict[str, Any]:
    """The document of `list`: each patch, with its state where it was asked for."""
    return {
        "schema": SCHEMA,
        "patches": [
            {
                "id": patch.id,
                "variant": patch.variant,
                "catalogue": patch.catalogue,
                "group": patch.group,
                "title": patch.title,
                "path": patch.target,
                "needs": [dict(one) for one in patch.needs],
                "fixed_in": dict(patch.fixed_in),
                "opt_in": patch.opt_in,
                "upstream": patch.upstream,
                "state": None if row is None else row.state.value,
                "reason": None if row is None else row.reason,
            }
            for patch, row in rows
        ],
    }


def diff(pairs: Iterable[tuple[str, bytes, bytes]]) -> dict[str, Any]:
    """The document of `diff`; bytes that are no UTF-8 are escaped."""
    return {
        "schema": SCHEMA,
        "files": [
            {
                "path": path,
                "before": of_bytes(before),
                "after": of_bytes(after),
                "diff": unified(path, before, after).decode(
                    "utf-8", "backslashreplace"
                ),
            }
            for path, before, after in pairs
        ],
    }


def refusal(command: str, errors: Sequence[Problem]) -> dict[str, Any]:
    """The document of a command that was refused before it knew anything."""
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "ok": False,
        "patches": [],
        "files": [],
        "errors": [asdict(one) for one in errors],
    }
    if command in {"apply", "reapply", "revert"}:
        document["changed"] = []
    if command == "doctor":
        return {key: document[key] for key in ("schema", "ok", "errors")} | {
            "findings": []
        }
    if command in {"status", "verify"}:
        document |= {"environment": None, "fingerprint": None}
    return document


def unknown_patch(name: str, known: Iterable[str]) -> Problem:
    """The problem of an id or a group that nothing has."""
    near = get_close_matches(name, sorted(set(known)), n=3, cutoff=0.4)
    return Problem(
        kind="unknown-id",
        message=f"{name}: no patch and no group of that name"
        + (f"; there is {', '.join(near)}" if near else ""),
        hint="patchset list --all",
        patch=name,
    )


def dump(document: dict[str, Any]) -> str:
    """The text of a document, the same for the same document."""
    return json.dumps(document, indent=2, ensure_ascii=True)


def of_patch(row: PatchRow) -> dict[str, Any]:
    """One row of `patches`."""
    patch = row.patch
    catalogue_name, _, _ = row.id.rpartition(":")
    return {
        "id": row.id,
        "variant": None if patch is None else patch.variant,
        "catalogue": catalogue_name or None,
        "group": None if patch is None else patch.group,
        "title": "" if patch is None else patch.title,
        "path": row.path,
        "state": row.state.value,
        "reason": row.reason,
        "upstream": None if patch is None else patch.upstream,
    }


def _file(row: FileRow, *, verifying: bool = False) -> dict[str, Any]:
    file = row.subject.file
    # `verify` knows no catalogue: what the last run left is all that it can want.
    wanted = row.subject.entry if verifying else row.wanted
    return {
        "path": file.path,
        "distribution": None if file.distribution is None else file.distribution.name,
        "state": row.state.value,
        "sha256": file.digest,
        "pristine": file.recorded,
        "wanted": wanted,
        "patches": list(row.patches),
    }


def _untested(row: PatchRow) -> Problem:
    return Problem(
        kind="untested",
        message=f"{row.id}: {row.reason}",
        hint=f"patchset apply --with {row.id}",
        path=row.path,
        patch=row.id,
    )


def _refused(row: PatchRow) -> Problem:
    return Problem(
        kind="refused",
        message=f"{row.id}: {row.reason}",
        hint=f"patchset show {row.id}",
        path=row.path,
        patch=row.id,
    )
