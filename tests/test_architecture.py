"""Which module may know which: read from the imports, and from running processes."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.catalogues import write_patch
from tests.environments import Environment, clean_environ, install

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "patchset"
CORE = {
    "model", "errors", "digest", "versions", "patchfile", "select", "plan", "ledger",
    "rewrite", "nesting", "diffs", "definitions", "pattern", "refusals", "metadata",
}  # fmt: skip
ALLOWED = {
    "__future__", "ast", "base64", "binascii", "collections", "contextlib", "csv", "io",
    "dataclasses", "difflib", "enum", "functools", "hashlib", "itertools", "json", "re",
    "sys", "textwrap", "typing", "packaging", "libcst",
}  # fmt: skip
TREES = {"definitions", "rewrite"}
"""With `edit`, the modules that know LibCST."""


def modules() -> list[str]:
    return sorted(
        path.relative_to(PACKAGE).with_suffix("").as_posix()
        for path in PACKAGE.rglob("*.py")
    )


def tree(module: str) -> ast.Module:
    return ast.parse((PACKAGE / f"{module}.py").read_text(encoding="utf-8"))


def imports(module: str) -> Iterator[tuple[str, str]]:
    """(module, name) of each import, wherever it stands."""
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, ""
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield node.module or "", alias.name


def is_core(module: str) -> bool:
    return module in CORE or module.startswith("edit/")


@pytest.mark.parametrize("module", [one for one in modules() if is_core(one)])
def test_the_core_knows_no_edge_and_no_machine(module: str) -> None:
    for name, member in imports(module):
        root, _, rest = name.partition(".")
        if root == "patchset":
            known = (rest or member).replace(".", "/")
            assert is_core(known) or is_core(f"{known}/"), f"{name}.{member}"
        elif root == "pathlib":
            assert member == "PurePosixPath"
        else:
            assert root in ALLOWED, name


@pytest.mark.parametrize("module", modules())
def test_libcst_is_known_to_those_that_change_trees_alone(module: str) -> None:
    if module in TREES or module.startswith("edit/"):
        return
    assert "libcst" not in {name.partition(".")[0] for name, _ in imports(module)}


def test_every_core_module_is_there() -> None:
    assert set(modules()) >= CORE


@pytest.mark.parametrize("module", [one for one in modules() if is_core(one)])
def test_a_core_module_reads_no_file(module: str) -> None:
    called = {
        node.func.id
        for node in ast.walk(tree(module))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert not called & {"open", "input", "print", "eval", "__import__"}


@pytest.mark.parametrize("module", modules())
def test_a_module_says_in_one_sentence_what_it_knows(module: str) -> None:
    text = ast.get_docstring(tree(module))
    if module.endswith("__init__") and text is None:
        return
    assert text is not None
    first = " ".join(text.partition("\n\n")[0].split())
    assert first.endswith("."), first
    assert re.search(r"\. [A-Z]", first) is None, first


# --- in processes ----------------------------------------------------------------


@pytest.fixture
def applied(environment: Environment, tmp_path: Path) -> tuple[Environment, Path]:
    """An environment with one patch applied, and its catalogue."""
    folder = tmp_path / "team"
    write_patch(folder, target="pkg/m.py", needs={"pkg": ">=1,<2"})
    files = {"pkg/__init__.py": b"", "pkg/m.py": b"b = 1\n"}
    install(environment.site, "pkg", "1.0", files)
    assert environment.run("--patches", str(folder), "apply").code == 0
    return environment, folder


def imported(environment: Environment, *arguments: str) -> set[str]:
    """The modules that one command imports; it must exit 0."""
    program = (
        "import json, sys\n"
        "from patchset.cli import main\n"
        "try:\n"
        "    main(sys.argv[1:])\n"
        "except SystemExit as done:\n"
        "    assert not done.code, done.code\n"
        "print(json.dumps(sorted(sys.modules)), file=sys.stderr)\n"
    )
    python = ["--python", str(environment.root)]
    done = subprocess.run(
        [sys.executable, "-c", program, *python, *arguments],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env=clean_environ(),
    )
    json.loads(done.stdout)
    names = json.loads(done.stderr.splitlines()[-1])
    return {name.partition(".")[0] for name in names} | set(names)


def test_status_and_verify_import_neither_libcst_nor_rich(
    applied: tuple[Environment, Path],
) -> None:
    environment, folder = applied
    status = imported(environment, "--patches", str(folder), "status", "--json")
    verify = imported(environment, "verify", "--json")
    assert "patchset.survey" in status & verify
    assert not {"libcst", "rich", "patchset.rewrite"} & (status | verify)


def test_verify_needs_no_patches(applied: tuple[Environment, Path]) -> None:
    environment, folder = applied
    for path in folder.rglob("*.py"):
        path.unlink()
    assert environment.run("verify").code == 0
    assert environment.run("--patches", str(folder), "verify").code == 0
