"""A path → the Python environment that it means: its version and its sites."""

from __future__ import annotations

import json
import os
import site
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from patchset.errors import PatchsetError, Problem
from patchset.model import Site

_QUESTION_TIMEOUT = 60
"""Seconds; an interpreter that answers later does not answer."""

_QUESTION = """
import json, site, sys
print(json.dumps({
    "python": "%d.%d.%d" % sys.version_info[:3],
    "prefix": sys.prefix,
    "base": sys.base_prefix,
    "sites": site.getsitepackages(),
    "user": site.getusersitepackages(),
}))
"""

_COMPILE = """
import json, sys, warnings
warnings.simplefilter("ignore")
errors = []
for size, path in json.loads(sys.stdin.buffer.readline()):
    source = sys.stdin.buffer.read(size)
    try:
        compile(source, path, "exec", dont_inherit=True)
    except BaseException as error:
        errors.append("%s: %s" % (type(error).__name__, error))
    else:
        errors.append(None)
print(json.dumps(errors))
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Interpreter:
    """The Python of a target environment."""

    python: str
    """Its version: `3.12.1`."""
    executable: str | None
    """None for a bare directory of distributions."""
    prefix: str
    sites: tuple[Site, ...]
    """In the order in which imports look."""

    def compiles(self, content: bytes, path: str) -> str | None:
        """Why this Python does not compile a module, or None if it does.

        Asks the interpreter itself where it is of another version than ours: new
        syntax is good code there, and no syntax error here says otherwise.
        """
        if self.executable is None or _minor(self.python) == sys.version_info[:2]:
            return compile_error(content, path)
        return _ask_to_compile(self.executable, content, path)


def find_interpreter(path: str | None, environ: Mapping[str, str]) -> Interpreter:
    """The environment at `path`: an interpreter, the root of an environment, or a site.

    Without a path: `$VIRTUAL_ENV`, else the Python that runs us. Raises PatchsetError
    where there is no environment.
    """
    chosen = path or environ.get("VIRTUAL_ENV")
    if chosen is None:
        return _own(environ)
    target = Path(os.path.abspath(chosen))  # noqa: PTH100 - links must stay
    if target.is_file() and os.access(target, os.X_OK):
        root = target.parent.parent
        if (root / "pyvenv.cfg").is_file():
            return _virtual(root, target, environ)
        return _asked(target, environ)
    if (target / "pyvenv.cfg").is_file():
        return _virtual(target, target / "bin" / "python", environ)
    for name in ("python3", "python"):
        if os.access(target / "bin" / name, os.X_OK):
            return _asked(target / "bin" / name, environ)
    if target.is_dir() and any(target.glob("*.dist-info")):
        return _bare(target)
    raise _no_environment(str(chosen))


def _own(environ: Mapping[str, str]) -> Interpreter:
    """The environment that patchset itself is installed in."""
    if sys.prefix != sys.base_prefix:
        return _virtual(Path(sys.prefix), Path(sys.executable), environ)
    answer = {
        "python": _version(sys.version_info[:3]),
        "prefix": sys.prefix,
        "base": sys.base_prefix,
        "sites": site.getsitepackages(),
        "user": site.getusersitepackages(),
    }
    return _of_answer(answer, Path(sys.executable), environ)


def _virtual(root: Path, executable: Path, environ: Mapping[str, str]) -> Interpreter:
    """A virtual environment says its version without being asked."""
    config = _read_config(root / "pyvenv.cfg")
    if config.get("include-system-site-packages", "false").lower() == "true":
        return _asked(executable, environ)
    python = config.get("version") or config.get("version_info") or ""
    parts = python.split(".")
    sites = [
        Site(path=str(path), ours=True)
        for path in _library_sites(root, parts)
        if path.is_dir()
    ]
    if not sites:
        raise _no_environment(str(root))
    if len(parts) < len(("major", "minor")):
        python = Path(sites[0].path).parent.name.removeprefix("python")
    return Interpreter(
        python=".".join(python.split(".")[:3]),
        executable=str(executable),
        prefix=str(root),
        sites=(*_path_sites(environ), *sites),
    )


def _library_sites(root: Path, version: list[str]) -> Iterator[Path]:
    name = f"python{'.'.join(version[:2])}" if version[0] else "python3*"
    seen: set[tuple[int, int]] = set()
    for library in ("lib", "lib64"):
        for path in sorted((root / library).glob(f"{name}/site-packages")):
            status = path.stat()
            if (status.st_dev, status.st_ino) not in seen:
                seen.add((status.st_dev, status.st_ino))
                yield path


def _read_config(path: Path) -> dict[str, str]:
    pairs = (
        line.partition("=")
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines()
    )
    return {key.strip().lower(): value.strip() for key, _, value in pairs}


def _asked(executable: Path, environ: Mapping[str, str]) -> Interpreter:
    try:
        done = subprocess.run(
            [str(executable), "-I", "-B", "-c", _QUESTION],
            check=True,
            capture_output=True,
            timeout=_QUESTION_TIMEOUT,
        )
        answer = json.loads(done.stdout)
        return _of_answer(answer, executable, environ)
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise _no_environment(str(executable), error) from error
    except subprocess.SubprocessError as error:
        raise _no_environment(str(executable), error) from error


def _of_answer(
    answer: Mapping[str, Any], executable: Path, environ: Mapping[str, str]
) -> Interpreter:
    prefix, base = answer["prefix"], answer["base"]
    sites = [_judged(path, prefix, base) for path in dict.fromkeys(answer["sites"])]
    own = [one for one in sites if one.ours]
    parents = [one for one in sites if not one.ours]
    user = []
    if not environ.get("PYTHONNOUSERSITE") and Path(answer["user"]).is_dir():
        user = [Site(path=answer["user"], ours=True)]
    # A virtual environment comes before the user site, any other Python after it.
    order = [*own, *user, *parents] if prefix != base else [*user, *own, *parents]
    return Interpreter(
        python=answer["python"],
        executable=str(executable),
        prefix=prefix,
        sites=(
            *_path_sites(environ),
            *(one for one in order if Path(one.path).is_dir()),
        ),
    )


def _judged(path: str, prefix: str, base: str) -> Site:
    """Whether a site is the environment's own to write."""
    if not _is_below(path, prefix):
        return Site(path=path, ours=False, origin=f"the parent environment {base}")
    return _own_site(path)


def _own_site(path: str) -> Site:
    """A site that is ours, save for the one that Debian's dpkg owns."""
    if path.endswith("/lib/python3/dist-packages"):
        return Site(path=path, ours=False, origin="the system's package manager")
    return Site(path=path, ours=True)


def _is_below(path: str, prefix: str) -> bool:
    return Path(path).is_relative_to(prefix)


def _path_sites(environ: Mapping[str, str]) -> Iterator[Site]:
    """What `PYTHONPATH` puts before everything else, archives included."""
    for entry in environ.get("PYTHONPATH", "").split(os.pathsep):
        if entry and Path(entry).is_absolute() and Path(entry).exists():
            yield Site(path=entry, ours=False, origin="PYTHONPATH")


def _bare(target: Path) -> Interpreter:
    """A directory that pip filled with `--target`: ours to write, without a Python."""
    return Interpreter(
        python=_version(sys.version_info[:3]),
        executable=None,
        prefix=str(target),
        sites=(_own_site(str(target)),),
    )


def _version(numbers: tuple[int, ...]) -> str:
    return ".".join(map(str, numbers))


def _minor(python: str) -> tuple[int, ...]:
    return tuple(int(part) for part in python.split(".")[:2] if part.isdigit())


def _no_environment(path: str, error: Exception | None = None) -> PatchsetError:
    reason = f" ({type(error).__name__}: {error})" if error else ""
    example = sysconfig.get_path("scripts") + "/python"
    return PatchsetError(
        Problem(
            kind="no-environment",
            message=f"{path}: no Python environment{reason}: found neither an "
            "interpreter nor pyvenv.cfg, bin/python or *.dist-info",
            hint=f"patchset --python PATH status, with PATH like {example}",
            path=path,
        )
    )


def compile_error(content: bytes, path: str) -> str | None:
    """Why the Python that runs us does not compile a module, or None if it does."""
    import warnings  # noqa: PLC0415 - only a run that rewrites comes here

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(content, path, "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            return f"{type(error).__name__}: {error}"
    return None


def _ask_to_compile(executable: str, content: bytes, path: str) -> str | None:
    header = json.dumps([[len(content), path]]).encode() + b"\n"
    try:
        done = subprocess.run(
            [executable, "-I", "-S", "-c", _COMPILE],
            input=header + content,
            check=True,
            capture_output=True,
            timeout=_QUESTION_TIMEOUT,
        )
        (error,) = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError) as failure:
        return f"{executable} did not compile it: {failure}"
    return None if error is None else str(error)
