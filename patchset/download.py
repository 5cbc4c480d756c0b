"""Requirements → wheels, through pip as it is configured."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from patchset.errors import PatchsetError, Problem

_TAGS = (
    *("--platform", "manylinux_2_17_x86_64", "--platform", "manylinux_2_28_x86_64"),
    *("--platform", "manylinux_2_35_x86_64", "--platform", "any"),
)
"""Any machine's wheel will do: it is read, not run."""


def download(
    requirements: Sequence[str], folder: Path, *, executable: str | None, quiet: bool
) -> tuple[Path, ...]:
    """Fetch one wheel for each requirement, without what it depends on.

    pip runs with its own configuration: indexes, proxies, cache. It asks for what the
    target's Python could install; where the index has no such wheel, for that of
    Linux. Its words and its progress bar go to standard error.

    Raises PatchsetError where there is no pip, or where pip finds no wheel.
    """
    command = _pip(executable)
    found: list[Path] = []
    for requirement in requirements:
        into = folder / str(len(found))
        into.mkdir()
        first = _run([*command, *_arguments(requirement, into, quiet=quiet)])
        if first.returncode != 0:
            words = _run(
                [
                    *command,
                    *_arguments(requirement, into, quiet=quiet),
                    *("--python-version", "3.12", *_TAGS),
                ]
            )
            if words.returncode != 0:
                raise PatchsetError(_not_found(requirement, words.stderr))
        found.extend(sorted(into.glob("*.whl"))[:1])
    return tuple(found)


def _arguments(requirement: str, into: Path, *, quiet: bool) -> list[str]:
    silence = ["--quiet"] if quiet else []
    return [
        *("download", "--no-deps", "--disable-pip-version-check", *silence),
        *("--only-binary", ":all:", "--dest", str(into), requirement),
    ]


def _pip(executable: str | None) -> list[str]:
    if importlib.util.find_spec("pip") is not None:
        target = [] if executable is None else ["--python", executable]
        return [sys.executable, "-m", "pip", *target]
    found = shutil.which("pip") or shutil.which("pip3")
    if found is not None:
        return [found]
    raise PatchsetError(
        Problem(
            kind="no-pip",
            message="found no pip to download wheels with",
            hint="patchset check --wheel FILE, with wheels that you have",
        )
    )


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    """Run pip: what it says goes to people, what it complains of is kept."""
    return subprocess.run(
        command,
        stdout=_people(),
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        check=False,
    )


def _people() -> int:
    """Return where people read, as a file descriptor; nowhere if that is no file."""
    try:
        return sys.stderr.fileno()
    except (OSError, ValueError, AttributeError):
        return subprocess.DEVNULL


def _not_found(requirement: str, words: str) -> Problem:
    errors = [line for line in words.splitlines() if line.startswith("ERROR:")]
    reason = errors[-1].removeprefix("ERROR: ") if errors else "pip gave no reason"
    return Problem(
        kind="download",
        message=f"{requirement}: no wheel could be fetched: {reason}",
        hint=f"pip download --no-deps {requirement}, or patchset check --wheel FILE",
    )
