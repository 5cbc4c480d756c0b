"""Real environments in temporary directories: small ones by hand, real ones by pip."""

from __future__ import annotations

import base64
import contextlib
import csv
import hashlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from patchset.cli import main
from patchset.model import Digest

_SIGNALS = (signal.SIGTERM, signal.SIGHUP)
MINOR = f"{sys.version_info[0]}.{sys.version_info[1]}"


@dataclass(frozen=True)
class Result:
    """What one run of the command line gave."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """The JSON on standard output: one document, and nothing else."""
        data = json.loads(self.out)
        assert isinstance(data, dict)
        return data


@dataclass(frozen=True)
class Environment:
    """A virtual environment with distributions in its site."""

    root: Path

    @property
    def site(self) -> Path:
        return self.root / "lib" / f"python{MINOR}" / "site-packages"

    def path(self, name: str) -> Path:
        return self.site / name

    def run(self, *arguments: str, **environ: str) -> Result:
        """Run patchset on this environment, in this process: it costs milliseconds."""
        out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
        before = {each: signal.getsignal(each) for each in _SIGNALS}
        with (
            mock.patch.dict(os.environ, {**clean_environ(), **environ}, clear=True),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            try:
                main(["--python", str(self.root), *arguments])
            except SystemExit as done:
                code = done.code
            finally:
                for each, handler in before.items():
                    signal.signal(each, handler)
        assert isinstance(code, int)
        return Result(code, *(_text(stream) for stream in (out, err)))

    def run_process(self, *arguments: str, **environ: str) -> Result:
        """The same in a process of its own."""
        done = subprocess.run(
            [sys.executable, "-m", "patchset", "--python", str(self.root), *arguments],
            capture_output=True,
            text=True,
            check=False,
            env={**clean_environ(), **environ},
        )
        return Result(done.returncode, done.stdout, done.stderr)

    def digests(self) -> dict[str, Digest]:
        """Every file of the site below no directory of ours, with its digest."""
        return {
            str(path.relative_to(self.site)): digest_of(path)
            for path in sorted(self.site.rglob("*"))
            if path.is_file() and ".patchset" not in path.parts
        }

    def edit(self, name: str, content: bytes) -> None:
        """Replace a file as an editor does: no twin that shares its inode changes."""
        path = self.path(name)
        temporary = path.with_name("edited")
        temporary.write_bytes(content)
        temporary.replace(path)


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode("utf-8", "surrogateescape")


def clean_environ() -> dict[str, str]:
    """The environment variables without those that steer patchset or Python."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "PATCHSET_")) and name != "VIRTUAL_ENV"
    }
    return {**kept, "COLUMNS": "80"}


def digest_of(path: Path) -> Digest:
    return Digest(f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}")


def make_environment(root: Path) -> Environment:
    """An empty virtual environment; its Python is the one that runs the tests."""
    environment = Environment(root)
    environment.site.mkdir(parents=True)
    (root / "bin").mkdir()
    (root / "bin" / "python").symlink_to(sys.executable)
    version = ".".join(map(str, sys.version_info[:3]))
    home = Path(sys.executable).resolve().parent
    (root / "pyvenv.cfg").write_text(f"home = {home}\nversion = {version}\n")
    return environment


def install(
    site: Path,
    name: str,
    version: str,
    files: Mapping[str, bytes],
    *,
    digests: bool = True,
) -> Path:
    """Install a distribution as pip does: files, METADATA, RECORD. Its .dist-info."""
    uninstall(site, name)
    info = f"{name.replace('-', '_')}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    contents = {**files, f"{info}/METADATA": metadata.encode()}
    for path, content in contents.items():
        target = site / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    with (site / info / "RECORD").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        for path, content in sorted(contents.items()):
            digest = record_digest(content) if digests else ""
            writer.writerow([path, digest, len(content) if digests else ""])
        writer.writerow([f"{info}/RECORD", "", ""])
    return site / info


def uninstall(site: Path, name: str) -> None:
    """Remove what RECORD lists, as pip does, and its directories if they are empty."""
    for info in site.glob(f"{name.replace('-', '_')}-*.dist-info"):
        with (info / "RECORD").open(newline="") as file:
            paths = [site / row[0] for row in csv.reader(file) if row]
        for path in paths:
            path.unlink(missing_ok=True)
            for cached in path.parent.glob(f"__pycache__/{path.stem}.*.pyc"):
                cached.unlink()
        shutil.rmtree(info, ignore_errors=True)
        parents = {parent for path in paths for parent in path.parents}
        for parent in sorted(parents, reverse=True):
            if site in parent.parents and parent.is_dir() and not any(parent.iterdir()):
                parent.rmdir()


def record_digest(content: bytes) -> str:
    raw = base64.urlsafe_b64encode(hashlib.sha256(content).digest())
    return f"sha256={raw.rstrip(b'=').decode()}"


def copy_environment(source: Environment, root: Path) -> Environment:
    """A copy whose files are hard links to the source's: twins that must not change."""
    shutil.copytree(source.root, root, symlinks=True, copy_function=os.link)
    return Environment(root)
