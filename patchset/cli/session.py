"""One run of one command: its target, its catalogues, its lock, and its last words."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec

import click

from patchset import documents
from patchset.catalogue import Catalogue, read_catalogues
from patchset.errors import PatchsetError, Problem, UsageError
from patchset.interpreter import Interpreter, find_interpreter
from patchset.lock import locked
from patchset.model import Selection
from patchset.store import Store
from patchset.survey import Survey, take, take_ledger
from patchset.versions import is_unspecific, is_version, same_public

if TYPE_CHECKING:
    from rich.console import RenderableType

_Arguments = ParamSpec("_Arguments")
_OURS = re.compile(r"\bpatchset (?=[a-z])")


@dataclass(frozen=True)
class Session:
    """What the options before the command say."""

    python: str | None
    patches: tuple[Path, ...]

    @cached_property
    def interpreter(self) -> Interpreter:
        """The target; raises PatchsetError where there is none."""
        return find_interpreter(self.python, os.environ)

    @cached_property
    def catalogues(self) -> tuple[Catalogue, ...]:
        """The built-in patches and those that were given."""
        return read_catalogues(self.patches)

    @property
    def prefix(self) -> str:
        """How a command has to begin that is to mean the same target."""
        words = ["patchset"]
        if self.python is not None:
            words += ["--python", self.python]
        for directory in self.patches:
            words += ["--patches", str(directory)]
        return " ".join(words) + " "

    @contextlib.contextmanager
    def lock(self, *, exclusive: bool) -> Iterator[None]:
        """Hold the sites; a writer first removes what a killed run left behind."""
        sites = [site.path for site in self.interpreter.sites if site.ours]
        with locked(sites, exclusive=exclusive, waiting=note):
            if exclusive:
                for site in sites:
                    Store(Path(site)).sweep()
            yield

    def take(
        self,
        *,
        selection: Selection | None = None,
        adopt: Sequence[str] = (),
        assume: Mapping[str, str] | None = None,
        ignore_adopted: bool = False,
        allow_nothing: bool = False,
    ) -> Survey:
        """A survey of the target with the catalogues of this run."""
        return take(
            self.interpreter,
            self.catalogues,
            selection=selection,
            adopt=adopt,
            assume=assume,
            ignore_adopted=ignore_adopted,
            allow_nothing=allow_nothing,
        )

    def take_ledger(self) -> Survey:
        """A survey of what the ledgers name, without any catalogue."""
        return take_ledger(self.interpreter)

    def introduce(self, survey: Survey) -> None:
        """Say where we work, and what is worth a line; on standard error."""
        for site in survey.environment.sites:
            note(f"site: {site.path}")
        for text in survey.environment.notes:
            note(f"note: {text}")
        selection = survey.selection
        if not selection.is_default:
            note(
                f"selection: {_describe(selection)} (patchset apply --default ends it)"
            )
        for name, version in survey.assumed.items():
            note(f"assumed: {name} is taken for {version}, as you said")

    def hinted(self, problem: Problem) -> Problem:
        """The problem with a hint that means this target when it is pasted."""
        return replace(problem, hint=_OURS.sub(self.prefix, problem.hint))


def note(text: str) -> None:
    """A line for people, beside the result."""
    click.echo(text, err=True)


def show(renderable: RenderableType, *, stderr: bool = False) -> None:
    """Print for people; rich is imported only when they are spoken to."""
    from patchset.report import make_console  # noqa: PLC0415

    make_console(stderr=stderr).print(renderable, crop=False)


def show_errors(session: Session, problems: Sequence[Problem]) -> None:
    """All failures of the run, on standard error."""
    if problems:
        from patchset.report import errors  # noqa: PLC0415

        show(errors([session.hinted(one) for one in problems]), stderr=True)


def guarded(
    function: Callable[Concatenate[Session, _Arguments], int],
) -> Callable[_Arguments, int]:
    """A command whose refusals are told, with their exit code and no traceback."""

    @wraps(function)
    def run(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> int:
        session: Session = click.get_current_context().obj
        try:
            return function(session, *args, **kwargs)
        except PatchsetError as error:
            return _refused(session, error, as_json=bool(kwargs.get("as_json")))
        except BrokenPipeError:
            raise
        except OSError as error:
            refusal = PatchsetError(_unexpected(error))
            return _refused(session, refusal, as_json=bool(kwargs.get("as_json")))

    return run


def _refused(session: Session, error: PatchsetError, *, as_json: bool) -> int:
    problems = [session.hinted(one) for one in error.problems]
    if as_json:
        document = documents.refusal(_command(), problems)
        click.echo(documents.dump(document))
    show_errors(session, problems)
    return error.exit_code


def _unexpected(error: OSError) -> Problem:
    path = None if error.filename is None else str(error.filename)
    return Problem(
        kind="io",
        message=f"{path or 'a file'}: {error.strerror or error}; nothing was changed",
        hint=f"ls -ld {path or '.'}",
        path=path,
    )


def _command() -> str:
    return click.get_current_context().info_name or ""


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


def _describe(selection: Selection) -> str:
    parts = []
    if selection.only is not None:
        parts.append(f"only {', '.join(selection.only)}")
    if selection.plus:
        parts.append(f"with {', '.join(selection.plus)}")
    if selection.without:
        parts.append(f"without {', '.join(selection.without)}")
    return "; ".join(parts)


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
