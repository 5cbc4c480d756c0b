"""The serving patches of vLLM, and published files before and after them."""

from __future__ import annotations

from functools import cache

import pytest

from tests.releases import releases_of, target_of
from tests.test_patches import LOADED, label, published

BY_NAME = {label(one).removeprefix("vllm/"): one for one in LOADED}


def on_releases(name: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("release", releases_of(BY_NAME[name].patch))


def pristine(name: str, release: str) -> bytes:
    patch = BY_NAME[name].patch
    return target_of(patch.package, release, patch.target)


@cache
def patched(name: str, release: str) -> bytes:
    loaded = BY_NAME[name]
    module = published(loaded.patch.package, release, loaded.patch.target)
    return loaded.rewrite(module).bytes
