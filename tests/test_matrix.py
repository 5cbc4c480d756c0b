"""The tables in `patches/` are of these patches, on a part that has all of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from patchset.catalogue import builtin_directory, edit_digest, read_catalogue
from patchset.model import Patch, Selection
from patchset.plan import recipe
from patchset.select import choose
from tests.matrix.releases import TRANSFORMERS
from tests.matrix.table import render
from tests.matrix.trial import Trials

FOLDER = builtin_directory()


def table(name: str) -> dict[str, Any]:
    data = json.loads((FOLDER / name).read_text())
    assert isinstance(data, dict)
    return data


MATRIX = table("matrix.json")
PATCHES = read_catalogue(FOLDER, None).patches


def wanted(pair: Mapping[str, Any]) -> set[tuple[str, str | None]]:
    """The patches, with their variants, that a pair calls for; opt-in ones too."""
    versions = {name: pair[name] for name in ("speculators", "vllm")}
    versions["transformers"] = TRANSFORMERS
    every = Selection(plus=tuple(one.id for one in PATCHES if one.opt_in))
    chosen = choose(PATCHES, versions, every)
    return {(one.patch.id, one.patch.variant) for one in chosen if one.wanted}


def covering() -> list[dict[str, Any]]:
    """Few pairs in which every patch, in every variant, is wanted: oldest vLLM first.

    The older a vLLM is, the smaller its wheel.
    """
    left = {(one.id, one.variant) for one in PATCHES}
    calls = [(pair, wanted(pair)) for pair in MATRIX["pairs"]]
    pairs: list[dict[str, Any]] = []
    while left:
        best, found = max(calls, key=lambda call: len(call[1] & left))
        assert found & left, f"no published pair calls for {left}"
        pairs.append(best)
        left -= found
    return pairs


def test_the_page_is_the_table() -> None:
    assert (FOLDER / "MATRIX.md").read_text() == render(MATRIX)


def test_every_pair_is_well() -> None:
    assert all(pair["ok"] for pair in MATRIX["pairs"])
    pairs = {(one["vllm"], one["speculators"]) for one in MATRIX["pairs"]}
    assert len(pairs) == len(MATRIX["vllm"]) * len(MATRIX["speculators"])


def test_the_newest_releases_of_the_table_are_the_checked_ones() -> None:
    newest = {name: MATRIX[name][-1] for name in ("speculators", "vllm")}
    assert table("checked.json")["newest"] == newest


def test_every_verdict_is_of_a_patch_that_there_is() -> None:
    ids = {one.id for one in PATCHES}
    assert {name for pair in MATRIX["pairs"] for name in pair["verdicts"]} == ids


def test_the_golden_digests_are_of_this_code() -> None:
    """`make matrix` writes them anew."""
    edit = edit_digest()
    for row in table("golden.json")["rows"]:
        recipes = {recipe(patches, edit) for patches in in_variants(row["patches"])}
        assert row["recipe"] in recipes, f"{row['path']} {row['version']}: make matrix"


def in_variants(names: Sequence[str]) -> list[list[Patch]]:
    """The patches of these ids, in each choice of variants."""
    choices: list[list[Patch]] = [[]]
    for name in names:
        found = [one for one in PATCHES if one.id == name]
        choices = [[*head, one] for head in choices for one in found]
    return choices


@pytest.mark.real
@pytest.mark.parametrize(
    "pair", covering(), ids=lambda pair: f"{pair['vllm']}-{pair['speculators']}"
)
def test_a_part_that_has_every_patch_comes_out_as_written(
    pair: dict[str, Any],
) -> None:
    checked = table("checked.json")["newest"]
    versions = {"speculators": pair["speculators"], "vllm": pair["vllm"]}
    row, golden = Trials.of_catalogue(checked).run(versions)
    assert row == pair
    known = {
        (one["path"], one["pristine"], tuple(one["patches"])): one["patched"]
        for one in table("golden.json")["rows"]
    }
    for one in golden:
        key = (one["path"], one["pristine"], tuple(one["patches"]))
        assert known[key] == one["patched"]
