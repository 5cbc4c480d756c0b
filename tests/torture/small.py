"""A small package: its files, its wheel for real installers, and a patch for it."""

from __future__ import annotations

import csv
import io
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

from tests.catalogues import write_patch
from tests.environments import Environment, Result, clean_environ, record_digest

FILES: Mapping[str, bytes] = {
    "pkg/__init__.py": b"",
    "pkg/m.py": b"b = 1\n",
    "pkg/n.py": b"# coding: utf-8\nb = 1  # \xc2\xb5s",
}
PATCHED = b"b = 2\n"
UV = str(Path(sys.executable).with_name("uv"))


def write_catalogue(folder: Path, *names: str) -> Path:
    """A catalogue that turns `b = 1` into `b = 2` in the named modules."""
    for name in names or ("m",):
        write_patch(folder, f"number_{name}", target=f"pkg/{name}.py")
    return folder


def build_wheel(
    folder: Path,
    name: str = "pkg",
    version: str = "0.16.0",
    files: Mapping[str, bytes] = FILES,
) -> Path:
    """A wheel that any installer takes."""
    plain = name.replace("-", "_")
    info = f"{plain}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    tags = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    contents: dict[str, bytes] = {
        **files,
        f"{info}/METADATA": metadata.encode(),
        f"{info}/WHEEL": tags.encode(),
    }
    record = io.StringIO()
    writer = csv.writer(record, lineterminator="\n")
    for path, data in contents.items():
        writer.writerow([path, record_digest(data), len(data)])
    writer.writerow([f"{info}/RECORD", "", ""])
    contents[f"{info}/RECORD"] = record.getvalue().encode()
    wheel = folder / f"{plain}-{version}-py3-none-any.whl"
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, data in contents.items():
            archive.writestr(path, data)
    return wheel


def pip(environment: Environment, *arguments: str) -> None:
    """Run pip on an environment, as a user does."""
    _run(sys.executable, "-m", "pip", "--python", str(environment.root), *arguments)


def uv(environment: Environment, cache: Path, *arguments: str) -> None:
    """Run uv's pip on an environment, with a cache of its own."""
    python = str(environment.root / "bin" / "python")
    _run(UV, "pip", *arguments, "--python", python, "--cache-dir", str(cache))


def _run(*words: str) -> None:
    done = subprocess.run(
        words, capture_output=True, text=True, check=False, env=clean_environ()
    )
    assert done.returncode == 0, done.stdout + done.stderr


def ask(environment: Environment, *options: str, **environ: str) -> str:
    """What `pkg.m.b` is for a new interpreter of the environment."""
    done = subprocess.run(
        [str(environment.root / "bin" / "python"), *options, "-c", _QUESTION],
        capture_output=True,
        text=True,
        check=True,
        env={**clean_environ(), **environ},
        cwd="/",
    )
    return done.stdout.strip()


_QUESTION = "import pkg.m; print(pkg.m.b)"


def kinds(result: Result) -> set[str]:
    """The kinds of the errors in a document."""
    errors = result.document["errors"]
    assert isinstance(errors, list)
    return {error["kind"] for error in errors}


def hints(result: Result) -> str:
    """The hints of all errors in a document."""
    errors = result.document["errors"]
    assert isinstance(errors, list)
    return "\n".join(error["hint"] for error in errors)
