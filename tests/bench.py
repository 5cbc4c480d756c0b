"""How long the commands take, as ratios to their floors, in one run."""

from __future__ import annotations

import ast
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import libcst as cst

from tests.conftest import FOUNDING, install_published
from tests.environments import Environment, clean_environ, make_environment

_ROUNDS = 7


def main() -> int:
    """Print each floor, and each command with its ratio to the floor it stands on."""
    with tempfile.TemporaryDirectory() as folder:
        environment = make_environment(Path(folder, "env"))
        install_published(environment, *FOUNDING)
        floors = {
            "python -c pass": _process("-c", "pass"),
            "import click": _process("-c", "import click"),
            "import libcst": _process("-c", "import libcst"),
            "parse and print the targets": _targets(environment, _parse_and_print),
            "ast.parse of the targets": _targets(environment, _parse_ast),
        }
        for name, seconds in floors.items():
            print(f"{name:40} {seconds * 1000:8.0f} ms")
        click, whole = floors["import click"], sum(list(floors.values())[2:4])
        _show("apply (first)", _apply(environment), whole, "libcst + parse + print")
        _command(environment, ("apply",), click, "import click")
        for command in (("status", "--json"), ("verify", "--json"), ("status",)):
            _command(environment, command, click, "import click")
        parsed = floors["ast.parse of the targets"] + click
        _command(environment, ("doctor", "--json"), parsed, "click + ast.parse")
    return 0


def _apply(environment: Environment) -> float:
    samples = []
    for _ in range(3):
        environment.run("revert")
        samples.append(_timed(lambda: _run(environment, "apply")))
    return statistics.median(samples)


def _command(
    environment: Environment, command: tuple[str, ...], floor: float, what: str
) -> None:
    samples = [_timed(lambda: _run(environment, *command)) for _ in range(_ROUNDS)]
    _show(" ".join(command), statistics.median(samples), floor, what)


def _show(name: str, seconds: float, floor: float, what: str) -> None:
    ratio = seconds / floor
    print(f"{name:40} {seconds * 1000:8.0f} ms  {ratio:5.1f} x {what}")


def _process(*arguments: str) -> float:
    command = [sys.executable, *arguments]
    run = [_timed(lambda: subprocess.run(command, check=True)) for _ in range(_ROUNDS)]
    return statistics.median(run)


def _run(environment: Environment, *command: str) -> None:
    subprocess.run(
        [sys.executable, "-m", "patchset", "--python", str(environment.root), *command],
        check=False,
        capture_output=True,
        env=clean_environ(),
    )


def _targets(environment: Environment, work: Callable[[bytes], object]) -> float:
    environment.run("apply")
    rows = environment.run("status", "--json").document["files"]
    sources = [environment.path(row["path"]).read_bytes() for row in rows]
    return _timed(lambda: [work(source) for source in sources])


def _parse_and_print(source: bytes) -> bytes:
    return cst.parse_module(source).bytes


def _parse_ast(source: bytes) -> ast.Module:
    return ast.parse(source)


def _timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


if __name__ == "__main__":
    sys.exit(main())
