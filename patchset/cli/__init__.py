"""The command line: parse, wire, call, exit; only it knows all the edges."""

from __future__ import annotations

import importlib
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import click

from patchset import __version__
from patchset.cli.session import Session

_COMMANDS = {
    "apply": "patchset.cli.change",
    "reapply": "patchset.cli.change",
    "revert": "patchset.cli.change",
    "status": "patchset.cli.look",
    "verify": "patchset.cli.look",
    "diff": "patchset.cli.difference",
    "list": "patchset.cli.look",
    "show": "patchset.cli.difference",
    "doctor": "patchset.cli.foresight",
    "inspect": "patchset.cli.foresight",
    "explain": "patchset.cli.foresight",
    "check": "patchset.cli.check",
}
"""Command → module; a command that only hashes never imports what rewrites."""


class _Commands(click.Group):
    """Commands by name, imported when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(_COMMANDS[cmd_name])
        command = getattr(module, f"{cmd_name}_command")
        return command if isinstance(command, click.Command) else None


@click.command(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="patchset")
@click.option(
    "--python",
    metavar="PATH",
    help="The target: an interpreter, or the root of an environment "
    "[default: $VIRTUAL_ENV, else the Python that runs patchset].",
)
@click.option(
    "--patches",
    multiple=True,
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="A catalogue to use beside the built-in one; may be given more than once.",
)
@click.pass_context
def cli(ctx: click.Context, python: str | None, patches: tuple[Path, ...]) -> None:
    """Patch the source of installed packages: apply, verify, revert."""
    ctx.obj = Session(python=python, patches=patches)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run patchset; the exit code is of the table in the README."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
            signal.signal(number, _interrupted)
    try:
        code: Any = cli.main(
            args=None if arguments is None else list(arguments),
            prog_name="patchset",
            standalone_mode=False,
        )
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except click.exceptions.Exit as error:
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted; nothing half-done remains", err=True)
        sys.exit(130)
    except BrokenPipeError:
        # Who reads our output has gone: not our failure, and no traceback.
        sys.stdout = None
        sys.exit(141)
    sys.exit(code if isinstance(code, int) else 0)


def _interrupted(*_: object) -> NoReturn:
    raise KeyboardInterrupt
