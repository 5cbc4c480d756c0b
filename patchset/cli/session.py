"""One run of one command: its target, its catalogues, its lock, and its last words."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Concatenate, ParamSpec

import click

from patchset import documents
from patchset.catalogue import Catalogue, read_catalogues
from patchset.errors import PatchsetError, Problem
from patchset.interpreter import Interpreter, find_interpreter
from patchset.lock import locked
from patchset.model import PatchState, Selection
from patchset.store import Store
from patchset.survey import Survey, take, take_ledger

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
        return f"{shlex.join(words)} "

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
        only_files: bool = False,
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
            only_files=only_files,
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
            command = f"{self.prefix}apply --default"
            note(f"selection: {_describe(selection)} ({command} ends it)")
        for name, version in survey.assumed.items():
            note(f"assumed: {name} is taken for {version}, as you said")

    def mention_opt_in(self, survey: Survey) -> None:
        """One line for all patches that are never applied unasked."""
        names = [
            row.id
            for row in survey.patch_rows
            if row.state is PatchState.UNSELECTED and row.patch and row.patch.opt_in
        ]
        if names:
            command = f"{self.prefix}apply --with ID"
            note(f"opt-in, not applied: {', '.join(names)} ({command})")

    def hinted(self, problem: Problem) -> Problem:
        """The problem with a hint that means this target when it is pasted."""
        return replace(problem, hint=_OURS.sub(lambda _: self.prefix, problem.hint))


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
        message=f"{path or 'a file'}: {error.strerror or error}",
        hint="patchset status, when that is mended",
        path=path,
    )


def _command() -> str:
    return click.get_current_context().info_name or ""


def _describe(selection: Selection) -> str:
    parts = []
    if selection.only is not None:
        parts.append(f"only {', '.join(selection.only)}")
    if selection.plus:
        parts.append(f"with {', '.join(selection.plus)}")
    if selection.without:
        parts.append(f"without {', '.join(selection.without)}")
    return "; ".join(parts)
