"""Small pairs of packages, with what is expected written beside the line."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from textwrap import dedent

import pytest

from patchset.analysis.doctor import diagnose
from patchset.analysis.findings import Finding
from patchset.analysis.source import Directory

Row = tuple[str, int, str]

EXPECTED = re.compile(r"#! (.+)$")


def lay(root: Path, files: Mapping[str, str]) -> Directory:
    for path, text in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(dedent(text), encoding="utf-8")
    return Directory(root=root)


def expected(client: Mapping[str, str]) -> list[Row]:
    """Return path, line and `kind found` of each mark in the client's text."""
    found = []
    for path, text in client.items():
        for number, line in enumerate(dedent(text).splitlines(), 1):
            mark = EXPECTED.search(line)
            if mark:
                parts = mark[1].split(" & ")
                found += [(path, number, part.strip()) for part in parts]
    return sorted(found)


def actual(found: tuple[Finding, ...]) -> list[Row]:
    return sorted((f.path, f.line, f"{f.kind.value} {f.found}") for f in found)


Judge = Callable[[Mapping[str, str], Mapping[str, str]], tuple[list[Row], list[Row]]]


@pytest.fixture
def write(tmp_path: Path) -> Callable[[Mapping[str, str]], Directory]:
    """Return how to lay files down, by their paths, in a site of their own."""
    return lambda files: lay(tmp_path, files)


@pytest.fixture
def judge(tmp_path: Path) -> Judge:
    """Return what was found and what was expected, for a library and a client."""

    def run(
        library: Mapping[str, str], client: Mapping[str, str]
    ) -> tuple[list[Row], list[Row]]:
        whole = {"lib/__init__.py": "", "app/__init__.py": "", **library, **client}
        source = lay(tmp_path, whole)
        found = diagnose("app", "lib", {"app": source, "lib": source}).findings
        return actual(found), expected(client)

    return run
