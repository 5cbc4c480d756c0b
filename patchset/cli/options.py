"""What the options of several commands mean: versions that are meant, names, JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from patchset import documents
from patchset.errors import PatchsetError, Problem, UsageError
from patchset.survey import Survey
from patchset.versions import is_unspecific, is_version, same_public


def check_versions(
    survey: Survey, stated: Mapping[str, str | None], *, assume: bool
) -> None:
    """Refuse to go on where what the user means to patch is not what is installed.

    Compared by public version: `0.16.0` accepts `0.16.0+cu129`. `assume` accepts a
    stated version for a build whose own says nothing of its release.
    """
    problems: list[Problem] = []
    for package, version in stated.items():
        if version is None:
            continue
        if not is_version(version):
            raise UsageError(_no_version(package, version))
        found = survey.environment.distributions.get(package)
        if found is None:
            problems.append(_not_installed(survey, package, version))
        elif not is_version(found.version):
            problems.append(_undecided(package, found.version, version))
        elif not same_public(found.version, version):
            problems.append(_other_version(package, found.name, found.version, version))
    if assume and not any(stated.values()):
        raise UsageError(
            Problem(
                kind="usage",
                message="--assume-version: found no version to assume",
                hint="patchset apply --vllm V --assume-version",
            )
        )
    if problems:
        raise PatchsetError(*problems)


def assumable(survey: Survey, stated: Mapping[str, str | None]) -> dict[str, str]:
    """The stated versions that may stand for what is installed.

    Only for a build whose own version says nothing of a release: a release that says
    another one is another one.
    """
    return {
        package: version
        for package, version in stated.items()
        if version is not None
        and is_version(version)
        and package in survey.environment.distributions
        and is_unspecific(survey.environment.distributions[package].version)
    }


def version_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--vllm V` and `--speculators V`: this is what I mean to be patching."""
    for package in ("speculators", "vllm"):
        command = click.option(
            f"--{package}",
            metavar="V",
            help=f"The release of {package} that you mean; refuses any other.",
        )(command)
    return command


json_option = click.option(
    "--json", "as_json", is_flag=True, help="One JSON document on standard output."
)


def check_names(survey: Survey, names: Sequence[str]) -> None:
    """Raise UsageError for the names that are neither a patch nor a group."""
    known = {one.id for one in survey.patches} | {row.id for row in survey.patch_rows}
    known |= {one.group for one in survey.patches if one.group is not None}
    unknown = sorted(set(names) - known)
    if unknown:
        raise UsageError(*(documents.unknown_patch(one, known) for one in unknown))


def _no_version(package: str, version: str) -> Problem:
    return Problem(
        kind="usage",
        message=f"--{package}: found {version!r}, wanted a version like 0.16.0",
        hint=f"patchset status --{package} 0.16.0",
    )


def _not_installed(survey: Survey, package: str, version: str) -> Problem:
    sites = ", ".join(site.path for site in survey.environment.sites)
    return Problem(
        kind="version",
        message=f"{package} {version} was asked for, and {package} is not installed "
        f"in {sites}",
        hint="patchset --python PATH status, with the environment that has it",
    )


def _undecided(package: str, found: str, wanted: str) -> Problem:
    return Problem(
        kind="version",
        message=f"{package} {wanted} was asked for, and the installed one says "
        f"{found!r}",
        hint=f"patchset apply --{package} {wanted} --assume-version",
    )


def _other_version(package: str, name: str, found: str, wanted: str) -> Problem:
    hint = f"patchset apply --{package} {found}"
    if is_unspecific(found):
        hint += f", or patchset apply --{package} {wanted} --assume-version"
    return Problem(
        kind="version",
        message=f"{package} {wanted} was asked for, and {name} {found} is installed; "
        "nothing was changed",
        hint=hint,
    )
