"""The contract of every patch file, on its own example and on published files."""

from __future__ import annotations

import ast
import itertools
import runpy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TypeVar, cast

import libcst as cst
import pytest

from patchset import edit
from patchset.catalogue import builtin_directory, read_catalogue
from patchset.definitions import (
    MODULE,
    Definition,
    Scope,
    changed_definitions,
    find,
    map_statements,
    places,
)
from patchset.model import Patch
from patchset.versions import holds
from tests.releases import RELEASES, releases_of, target_of

CATALOGUE = read_catalogue(builtin_directory(), None)


@dataclass(frozen=True)
class Loaded:
    """A patch, and what running its file gives."""

    patch: Patch

    @cached_property
    def _names(self) -> dict[str, object]:
        return runpy.run_path(self.patch.origin)

    def rewrite(self, module: cst.Module) -> cst.Module:
        new = _function(self._names, "rewrite")(module)
        assert isinstance(new, cst.Module)
        return new

    def fixed(self, module: cst.Module) -> bool:
        answer = _function(self._names, "fixed")(module)
        assert isinstance(answer, bool)
        return answer


def _function(names: dict[str, object], name: str) -> Callable[[cst.Module], object]:
    function = names[name]
    assert callable(function)
    return function


_Scope = TypeVar("_Scope", bound=Scope)
LOADED = [Loaded(patch) for patch in CATALOGUE.patches]


def label(loaded: Loaded) -> str:
    patch = loaded.patch
    return f"{patch.id}{f'__{patch.variant}' if patch.variant else ''}"


every_patch = pytest.mark.parametrize("loaded", LOADED, ids=label)
every_published = pytest.mark.parametrize(
    ("loaded", "release"),
    [
        pytest.param(one, release, id=f"{label(one)}-{release}")
        for one in LOADED
        for release in releases_of(one.patch)
    ],
)


def example(loaded: Loaded) -> tuple[cst.Module, cst.Module]:
    assert loaded.patch.example is not None, "BEFORE and AFTER are its specification"
    before, after = map(cst.parse_module, loaded.patch.example)
    return before, after


@cache
def published(package: str, release: str, path: str) -> cst.Module:
    return cst.parse_module(target_of(package, release, path))


def put_back(pristine: cst.Module, patched: cst.Module, path: str) -> cst.Module:
    """`patched`, with the pristine own text of one definition; without an added one."""
    if path == MODULE:
        return _own_text_of(pristine, _inside(patched, path))
    place = find(patched, path)
    if all(each.path != path for each in places(pristine)):
        return without(patched, path)
    return place.put(_own_text_of(find(pristine, path).node, _inside(patched, path)))


def without(module: cst.Module, path: str) -> cst.Module:
    """The module without one definition."""
    gone = find(module, path).node
    outer = path.rpartition(".")[0]
    if not outer:
        return map_statements(module, lambda node: () if node is gone else (node,))
    place = find(module, outer)
    new = map_statements(place.node, lambda node: () if node is gone else (node,))
    return place.put(new)


def _inside(module: cst.Module, path: str) -> list[Definition]:
    prefix = "" if path == MODULE else f"{path}."
    return [
        place.node
        for place in places(module)
        if place.path == f"{prefix}{place.node.name.value}"
    ]


def _own_text_of(pristine: _Scope, inside: Sequence[Definition]) -> _Scope:
    """Pristine statements around patched definitions."""
    left = list(inside)

    def change(node: cst.CSTNode) -> tuple[cst.CSTNode, ...]:
        if not isinstance(node, cst.FunctionDef | cst.ClassDef):
            return (node,)
        same = [one for one in left if one.name.value == node.name.value]
        if same:
            left.remove(same[0])
        return (same[0] if same else node,)

    mixed = map_statements(pristine, change)
    if isinstance(mixed, cst.Module):
        return cast("_Scope", mixed.with_changes(body=[*mixed.body, *left]))
    block = cst.ensure_type(mixed.body, cst.IndentedBlock)
    block = block.with_changes(body=[*block.body, *left])
    return cast("_Scope", mixed.with_changes(body=block))


def keeps_the_contract(loaded: Loaded, pristine: cst.Module) -> cst.Module:
    """Every promise of a patch, about one file; the patched file."""
    assert not loaded.fixed(pristine)
    patched = loaded.rewrite(pristine)
    assert patched.code != pristine.code
    assert loaded.fixed(patched)
    assert changed_definitions(pristine, patched) == set(loaded.patch.touches)
    assert cst.parse_module(patched.bytes).bytes == patched.bytes
    compile(patched.bytes, loaded.patch.target, "exec", dont_inherit=True)
    for path in loaded.patch.touches:
        partly = put_back(pristine, patched, path)
        assert not _recognises(loaded, partly), f"{path} is pristine, yet it is fixed"
    for path in {place.path for place in places(pristine)} & set(loaded.patch.touches):
        with pytest.raises(edit.Mismatch):
            loaded.fixed(without(pristine, path))
    return patched


def _recognises(loaded: Loaded, module: cst.Module) -> bool:
    try:
        return loaded.fixed(module)
    except edit.Mismatch:
        return False


# --- the file --------------------------------------------------------------------


@every_patch
def test_it_says_what_is_now_true_and_then_why(loaded: Loaded) -> None:
    docstring = ast.get_docstring(ast.parse(loaded.patch.source))
    assert docstring is not None
    title, empty, *prose = docstring.splitlines()
    assert title.endswith(".")
    assert title[0].isupper()
    assert not empty
    paragraphs = "\n".join(prose).split("\n\n")
    assert len(paragraphs) >= 2, "symptom and cause, and when to drop it"


@every_patch
def test_it_says_where_upstream_stands(loaded: Loaded) -> None:
    patch = loaded.patch
    assert (patch.upstream is None) != (patch.no_upstream is None)
    assert patch.upstream is None or patch.upstream.startswith("https://github.com/")
    assert bool(patch.symptoms) != bool(patch.silent)


@every_patch
def test_it_shares_no_release_with_another_variant(loaded: Loaded) -> None:
    patch = loaded.patch
    for other in CATALOGUE.patches:
        if other.id != patch.id or other.variant == patch.variant:
            continue
        assert other.group == patch.group
        for mine, theirs in itertools.product(patch.needs, other.needs):
            both = [
                {r for r in RELEASES[name] if holds(needs[name], r)}
                for name in RELEASES
                for needs in (mine, theirs)
                if name in mine and name in theirs
            ]
            pairs = list(zip(both[::2], both[1::2], strict=True))
            assert any(not one & two for one, two in pairs), other.variant


# --- its own example -------------------------------------------------------------


@every_patch
def test_the_example_is_what_it_does(loaded: Loaded) -> None:
    before, after = example(loaded)
    assert keeps_the_contract(loaded, before).code == after.code


@every_patch
def test_where_there_is_nothing_it_does_nothing(loaded: Loaded) -> None:
    empty = cst.parse_module("")
    assert not _recognises(loaded, empty)
    with pytest.raises(edit.Mismatch):
        loaded.rewrite(empty)


# --- published files -------------------------------------------------------------


@pytest.mark.real
@every_published
def test_a_published_file_is_cured(loaded: Loaded, release: str) -> None:
    patch = loaded.patch
    keeps_the_contract(loaded, published(patch.package, release, patch.target))


def pairs() -> Iterator[tuple[Loaded, Loaded, str]]:
    """Two patches of one file, and the first release on which both work."""
    for one, other in itertools.combinations(LOADED, 2):
        if one.patch.target != other.patch.target or one.patch.id == other.patch.id:
            continue
        shared = [r for r in releases_of(one.patch) if r in releases_of(other.patch)]
        for release in shared[:1]:
            yield one, other, release


@pytest.mark.real
@pytest.mark.parametrize(
    ("one", "other", "release"),
    [
        pytest.param(*three, id=f"{label(three[0])}+{label(three[1])}-{three[2]}")
        for three in pairs()
    ],
)
def test_two_on_one_file_give_the_same_in_both_orders(
    one: Loaded, other: Loaded, release: str
) -> None:
    pristine = published(one.patch.package, release, one.patch.target)
    there = other.rewrite(one.rewrite(pristine))
    back = one.rewrite(other.rewrite(pristine))
    assert there.code == back.code
    assert one.fixed(there)
    assert other.fixed(there)
