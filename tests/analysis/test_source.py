"""Directories, wheels and overlays give the same answers."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from patchset.analysis.modules import Program
from patchset.analysis.source import (
    Directory,
    Overlay,
    Source,
    python_files,
)
from patchset.wheel import Wheel

FILES = {
    "pkg/__init__.py": b"x = 1\n",
    "pkg/sub/mod.py": b"y = 2\n",
    "pkg/data.json": b"{}",
    "pkg-1.dist-info/RECORD": b"",
}


@pytest.fixture(params=["directory", "wheel", "overlay"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Source:
    for path, content in FILES.items():
        target = tmp_path / "site" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    directory = Directory(root=tmp_path / "site")
    if request.param == "directory":
        return directory
    if request.param == "overlay":
        return Overlay(base=Directory(root=tmp_path / "none"), files=FILES)
    with zipfile.ZipFile(tmp_path / "pkg-1-py3-none-any.whl", "w") as archive:
        for path, content in FILES.items():
            archive.writestr(path, content)
    return Wheel(tmp_path / "pkg-1-py3-none-any.whl")


def test_files_are_read_by_path(source: Source) -> None:
    assert source.read("pkg/sub/mod.py") == b"y = 2\n"
    assert source.read("pkg/none.py") is None
    assert source.read("pkg/sub") is None
    assert source.read("pkg/data.json/x") is None


def test_folders_are_listed(source: Source) -> None:
    assert source.names("") == {"pkg", "pkg-1.dist-info"}
    assert source.names("pkg") == {"__init__.py", "sub", "data.json"}
    assert source.names("pkg/none") == frozenset()
    assert source.names("pkg/data.json") == frozenset()
    assert list(python_files(source, "pkg")) == ["pkg/__init__.py", "pkg/sub/mod.py"]


def test_modules_are_found_in_packages_and_name_spaces(source: Source) -> None:
    program = Program(packages={"pkg": source})
    found = {name: program.module(name) for name in ("pkg", "pkg.sub", "pkg.sub.mod")}
    assert {name: module.path for name, module in found.items() if module} == {
        "pkg": "pkg/__init__.py",
        "pkg.sub": "pkg/sub",
        "pkg.sub.mod": "pkg/sub/mod.py",
    }
    assert program.module("pkg.none") is None


def test_what_an_overlay_holds_comes_before_its_base(tmp_path: Path) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg/__init__.py").write_bytes(b"old")
    over = Overlay(base=Directory(root=tmp_path), files={"pkg/__init__.py": b"new"})
    assert over.read("pkg/__init__.py") == b"new"
    assert over.names("pkg") == {"__init__.py"}


def test_a_file_that_does_not_parse_is_said_and_not_judged(tmp_path: Path) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg/__init__.py").write_bytes(b"def (:\n")
    program = Program(packages={"pkg": Directory(root=tmp_path)})
    module = program.module("pkg")
    assert module is not None
    assert module.tree is None
    assert list(program.unread) == ["pkg/__init__.py"]
