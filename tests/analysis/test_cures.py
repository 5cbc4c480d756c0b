"""A patch that is named as a cure does cure: doctor is asked again after it."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from patchset.analysis.doctor import diagnose
from patchset.analysis.source import Overlay, Source
from patchset.catalogue import read_catalogues
from patchset.model import Patch, PatchState, Selection
from patchset.rewrite import Folded, fold
from patchset.select import choose
from tests.analysis.crossproduct import wheel

pytestmark = pytest.mark.real
FITTING = {PatchState.PENDING, PatchState.UNTESTED}


def fitting(vllm: str, speculators: str) -> list[Patch]:
    """Return the patches for a pair, those too that no release was checked with."""
    every = [one for catalogue in read_catalogues(()) for one in catalogue.patches]
    versions = {"vllm": vllm, "speculators": speculators}
    chosen = choose(every, versions, Selection())
    return [one.patch for one in chosen if one.state in FITTING]


def patched(source: Source, patches: Iterable[Patch], package: str) -> Overlay:
    files: dict[str, bytes] = {}
    for one in sorted(patches, key=lambda patch: patch.id):
        if one.package != package:
            continue
        base = files.get(one.target) or source.read(one.target) or b""
        folded = fold(base, [one], path=one.target, compiles=lambda *_: None)
        assert isinstance(folded, Folded), folded
        files[one.target] = folded.content
    return Overlay(base=source, files=files)


@pytest.mark.parametrize(
    ("vllm", "speculators", "count"),
    [("0.16.0", "0.3.0", 3), ("0.17.1", "0.3.0", 4), ("0.17.1", "0.4.0.1", 1)],
)
def test_what_has_a_patch_is_gone_with_it(
    vllm: str, speculators: str, count: int
) -> None:
    patches = fitting(vllm, speculators)
    pair: dict[str, Source] = {
        "vllm": wheel("vllm", vllm),
        "speculators": wheel("speculators", speculators),
    }
    before = diagnose("speculators", "vllm", pair, patches).findings
    assert len(before) == count
    assert all(each.patch is not None for each in before)
    after = {name: patched(one, patches, name) for name, one in pair.items()}
    assert diagnose("speculators", "vllm", after, patches).findings == ()


@pytest.mark.parametrize(
    "left_out", ["kv_cache_config", "scheduler_block_size", "encoder_decoder_flag"]
)
def test_only_the_patch_that_is_left_out_is_named(left_out: str) -> None:
    every = fitting("0.16.0", "0.3.0")
    chosen = [one for one in every if one.id != f"speculators/{left_out}"]
    pair: dict[str, Source] = {
        "vllm": wheel("vllm", "0.16.0"),
        "speculators": wheel("speculators", "0.3.0"),
    }
    after = {name: patched(one, chosen, name) for name, one in pair.items()}
    found = diagnose("speculators", "vllm", after, every).findings
    assert [each.patch for each in found] == [f"speculators/{left_out}"]
