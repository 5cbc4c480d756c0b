"""The analysis on published wheels, held against what is known of them."""

from __future__ import annotations

import ast
import time
from collections.abc import Iterator, Mapping
from functools import cache

import pytest

from patchset.analysis.doctor import Diagnosis, diagnose
from patchset.analysis.source import Overlay, Source, python_files
from tests.analysis.crossproduct import DECLARED, ROWS, actual, expected, wheel

pytestmark = pytest.mark.real

FAIR = ("0.11.1", "0.12.0", "0.15.1", "0.16.0", "0.17.1")
"""Releases of vLLM with a wheel below 60 MB, one for each way in which clients fail."""


@pytest.mark.parametrize("vllm", FAIR)
@pytest.mark.parametrize("client", ROWS, ids=" ".join)
def test_every_mismatch_is_found_and_no_other(
    client: tuple[str, str], vllm: str
) -> None:
    assert actual(client, vllm) == expected(client, vllm)


def test_no_mismatch_is_expected_where_a_release_declares_that_it_works() -> None:
    for client, versions in DECLARED.items():
        for vllm in versions:
            assert expected(client, vllm) == set()


# --- a bogus keyword, put into each call in turn -------------------------------------


def calls_into_vllm(tree: ast.Module) -> Iterator[ast.Call]:
    """Yield the calls of imported names and of methods of what they make.

    Told by a rule of thumb that shares nothing with the code under test.
    """
    names: set[str] = set()
    attributes: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("vllm"):
            names |= {alias.asname or alias.name for alias in node.names}
    for node in ast.walk(tree):
        match node:
            case ast.Assign(
                targets=[ast.Attribute(attr=attr)],
                value=ast.Call(func=ast.Name(id=name)),
            ) if name in names:
                attributes.add(attr)
            case _:
                pass
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in names:
                yield node
            case ast.Call(func=ast.Attribute(value=ast.Attribute(attr=attr))) if (
                attr in attributes
            ):
                yield node
            case _:
                pass


def sources(client: tuple[str, str], vllm: str) -> dict[str, Source]:
    return {"speculators": wheel(*client), "vllm": wheel("vllm", vllm)}


@cache
def places(client: tuple[str, str]) -> tuple[tuple[str, int], ...]:
    """Return file and number of every call of a release into vLLM."""
    source = wheel(*client)
    return tuple(
        (path, number)
        for path in python_files(source, "speculators")
        if "vllm" in (text := (source.read(path) or b"").decode())
        for number, _ in enumerate(calls_into_vllm(ast.parse(text)))
    )


def with_bogus_keyword(source: Source, path: str, number: int) -> bytes:
    tree = ast.parse(source.read(path) or b"")
    call = list(calls_into_vllm(tree))[number]
    call.keywords.append(ast.keyword(arg="bogus", value=ast.Constant(1)))
    return ast.unparse(tree).encode()


@pytest.mark.parametrize(
    ("client", "vllm", "count"),
    [
        (("speculators", "0.3.0"), "0.16.0", 30),
        (("speculators", "0.4.0.1"), "0.16.0", 34),
    ],
    ids=str,
)
def test_a_bogus_keyword_is_found_in_whichever_call_it_is(
    client: tuple[str, str], vllm: str, count: int
) -> None:
    pair = sources(client, vllm)
    missed = []
    for path, number in places(client):
        spoilt = with_bogus_keyword(pair["speculators"], path, number)
        over = Overlay(base=pair["speculators"], files={path: spoilt})
        found = diagnose("speculators", "vllm", {**pair, "speculators": over})
        if not any(
            (f.kind.value, f.found) == ("unexpected-keyword", "bogus")
            for f in found.findings
        ):
            missed.append((path, number))
    assert missed == []
    assert len(places(client)) == count


# --- the cost -------------------------------------------------------------------------


def parse_seconds(found: Diagnosis, pair: Mapping[str, Source]) -> float:
    texts = [pair[path.partition("/")[0]].read(path) or b"" for path in found.read]
    start = time.process_time()
    for text in texts:
        ast.parse(text)
    return time.process_time() - start


def test_the_founding_pair_costs_a_few_times_what_parsing_its_files_costs() -> None:
    pair = sources(("speculators", "0.3.0"), "0.16.0")
    ratios = []
    for _ in range(3):
        start = time.process_time()
        found = diagnose("speculators", "vllm", pair)
        spent = time.process_time() - start
        ratios.append(spent / parse_seconds(found, pair))
        assert len(found.read) < 60
    assert min(ratios) < 5
