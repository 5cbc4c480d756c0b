"""Versions and ranges, as they are really met."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchset import versions

FORK = "0.22.1rc1.dev259+g23d65ff98.pr42893pr43950.localfp8.aiter1be6"
NIGHTLY = "0.16.1rc1.dev124+g92f5d0f07"
REAL = ("0.16.0", "0.16.0+cu129", "0.16.0+rocm722", "0.16.0+cpu", NIGHTLY, FORK)


@pytest.mark.parametrize(
    ("specifier", "version", "expected"),
    [
        (">=0.16.1.dev0,<0.17", NIGHTLY, True),  # C1
        (">=0.22.1.dev0,<0.23", FORK, True),  # C1
        ("==0.16.0", NIGHTLY, False),  # C1
        ("==0.16.0", "0.16.0+cu129", True),  # C4
        ("==0.16.0+rocm722", "0.16.0+cu129", False),  # C4
        ("==0.16.0+cu129", "0.16.0+CU129", True),  # C4
        ("===0.16.0", "0.16.0+cu129", False),  # C4
        (">=0.16,<0.17", "0.16.1.dev3+gabc", True),  # C5
        (">=0.16,<0.17", "0.17.0rc1", False),
        ("==0.16.*", "0.16.3", True),
    ],
)
def test_a_range_holds(specifier: str, version: str, *, expected: bool) -> None:
    assert versions.holds(specifier, version) is expected


@pytest.mark.parametrize(
    ("specifier", "version", "expected"),
    [
        (">=0.16", "0.15.9", True),
        (">=0.16", "0.16.0rc1", True),
        (">=0.16", "0.16.0", False),
        (">0.16.0", "0.16.0", True),
        (">0.16.0", "0.16.0+cu129", True),
        (">0.16.0", "0.16.1", False),
        ("==0.16.*", "0.15.1", True),
        ("==0.16.*", "0.17.0", False),
        ("~=0.16.2", "0.16.1", True),
        ("==0.16.0+rocm722", "0.16.0+cu129", False),
        ("==0.16.0+cpu", "0.15.0", True),
        ("<0.17", "0.1", False),
        ("!=0.16", "0.16", False),
        (">=0.16,<0.17,!=0.16.1", "0.16.1", False),
    ],
)
def test_a_release_is_below_a_range(
    specifier: str, version: str, *, expected: bool
) -> None:
    assert versions.is_below(version, specifier) is expected
    assert not (expected and versions.holds(specifier, version))


@pytest.mark.parametrize(
    ("specifier", "end"),
    [
        (">=0.16,<0.17", "0.16"),
        ("==0.16.*", "0.16"),
        (">=0.15,>=0.16", "0.16"),
        ("<0.17", None),
        ("", None),
        ("!=0.16", None),
    ],
)
def test_the_lower_end_of_a_range(specifier: str, end: str | None) -> None:
    assert versions.lowest(specifier) == end


@pytest.mark.parametrize("specifier", ["<2", "<=2", "==2", "==2.*", "===2", "~=2.1"])
def test_a_range_with_an_upper_end_is_bounded(specifier: str) -> None:
    assert versions.is_bounded(f"{specifier},!=1.5")


@pytest.mark.parametrize("specifier", ["", ">=1", ">1", "!=1"])
def test_a_range_without_one_is_not(specifier: str) -> None:
    assert not versions.is_bounded(specifier)


@pytest.mark.parametrize("text", REAL)
def test_a_build_is_its_public_release(text: str) -> None:
    assert versions.is_version(text)
    assert versions.same_public(text, text.partition("+")[0])
    assert not versions.is_newer(text, text.partition("+")[0])
    assert versions.is_at_least(text, text.partition("+")[0])


@pytest.mark.parametrize("text", ["", "dev", "0.1.dev7557.g977180c-dirty!", "v"])
def test_what_is_no_version_says_nothing(text: str) -> None:
    assert not versions.is_version(text)
    assert versions.is_unspecific(text)


def test_a_development_build_says_nothing_of_a_release() -> None:
    assert versions.is_unspecific("0.1.dev7557+g977180c")
    assert not versions.is_unspecific("0.16.0+cu129")
    assert not versions.is_unspecific("0.16.0rc1")


def test_pre_releases_count_as_themselves() -> None:
    assert not versions.is_at_least("0.18.0rc1", "0.18.0")
    assert versions.is_at_least("0.18.0.post1", "0.18.0")
    assert versions.is_newer("0.16.0.post1", "0.16.0")
    assert not versions.is_newer("0.16.0rc2", "0.16.0")
    assert not versions.same_public("0.16.0rc1", "0.16.0")


_NUMBERS = st.lists(st.integers(0, 30), min_size=1, max_size=3)
_VERSIONS = _NUMBERS.map(lambda numbers: ".".join(map(str, numbers)))


@given(_VERSIONS, _VERSIONS)
def test_a_release_is_below_its_range_or_in_it_or_above(one: str, other: str) -> None:
    below = versions.is_below(one, f">={other}")
    assert below is not versions.is_at_least(one, other)
    assert below is not versions.holds(f">={other}", one)
