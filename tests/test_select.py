"""Which patches are wanted: the order of decisions, row by row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict

import pytest

from patchset.errors import UsageError
from patchset.model import Choice, Patch, PatchState, Selection
from patchset.select import choose, is_named
from tests.values import make_patch

S = PatchState
NIGHTLY = "0.16.1rc1.dev124+g92f5d0f07"
PAIR: Mapping[str, str] = {"speculators": "==0.3.0", "vllm": ">=0.16,<0.17"}


class Wishes(TypedDict, total=False):
    only: tuple[str, ...] | None
    plus: tuple[str, ...]
    without: tuple[str, ...]


def one(
    *patches: Patch,
    installed: Mapping[str, str],
    unusable: Mapping[str, str] | None = None,
    wishes: Wishes | None = None,
) -> Choice:
    selection = Selection(**(wishes or {}))
    (choice,) = choose(patches, installed, selection, unusable)
    return choice


def said(choice: Choice) -> tuple[PatchState, str | None]:
    return choice.state, choice.reason


# --- versions --------------------------------------------------------------------


def test_1_without_its_package_a_patch_is_absent() -> None:
    patch = make_patch(needs=[{"pkg": "<2", "other": "<2"}], fixed_in={"other": "1"})
    choice = one(patch, installed={"other": "1.0"})
    assert said(choice) == (S.ABSENT, "pkg is not installed")
    assert not choice.wanted


def test_1_absent_comes_before_an_unusable_other_package() -> None:
    patch = make_patch(needs=[{"pkg": "<2", "other": "<2"}])
    choice = one(patch, installed={}, unusable={"other": "editable"})
    assert choice.state is S.ABSENT


@pytest.mark.parametrize("name", ["pkg", "other"])
def test_a_version_that_says_nothing_refuses(name: str) -> None:
    patch = make_patch(needs=[{"pkg": "<2", "other": "<2"}])
    installed = {"pkg": "1.0", "other": "1.0"}
    del installed[name]
    choice = one(patch, installed=installed, unusable={name: "no version"})
    assert said(choice) == (S.REFUSED, "no version")


def test_2_without_another_package_of_needs_it_is_not_needed() -> None:
    patch = make_patch(needs=[{"pkg": "<2", "transformers": "<5"}])
    choice = one(patch, installed={"pkg": "1.0"})
    assert said(choice) == (S.NOT_NEEDED, "requires transformers")


def test_2_a_range_whose_packages_are_there_is_enough() -> None:
    patch = make_patch(needs=[{"pkg": "<2", "transformers": "<5"}, {"pkg": "<2"}])
    assert one(patch, installed={"pkg": "1.0"}).wanted


def test_3_in_its_range_it_is_wanted_even_if_it_is_said_to_be_fixed() -> None:
    patch = make_patch(fixed_in={"pkg": "1.0"})
    assert said(one(patch, installed={"pkg": "1.0"})) == (S.PENDING, None)


def test_3_any_of_several_ranges_is_enough() -> None:
    patch = make_patch(needs=[{"pkg": "==1.0"}, {"pkg": "==1.2"}])
    assert one(patch, installed={"pkg": "1.2"}).wanted
    assert one(patch, installed={"pkg": "1.1"}).state is S.UNTESTED


def test_3_newer_than_checked_is_untested() -> None:
    patch = make_patch(needs=[{"pkg": ">=1"}], checked={"pkg": "1.5"})
    choice = one(patch, installed={"pkg": "1.6"})
    assert choice.state is S.UNTESTED
    assert choice.reason == "pkg 1.6 is newer than 1.5, the last checked"
    assert one(patch, installed={"pkg": "1.5+cu129"}).wanted


def test_3_the_variant_that_holds_is_chosen() -> None:
    old = make_patch(variant="old", needs=[{"pkg": "<1"}])
    new = make_patch(variant="new", needs=[{"pkg": ">=1,<2"}])
    assert one(old, new, installed={"pkg": "0.9"}).patch is old
    assert one(new, old, installed={"pkg": "1.1"}).patch is new


def test_3_two_variants_that_hold_are_an_error_and_all_are_shown() -> None:
    patches = [make_patch("a", variant=v) for v in ("x", "y")]
    patches += [make_patch("b", variant=v) for v in ("x", "y")]
    with pytest.raises(UsageError) as caught:
        choose(patches, {"pkg": "1.0"}, Selection())
    assert [p.patch for p in caught.value.problems] == ["pkg/a", "pkg/b"]
    assert "a.py and a.py" in caught.value.problems[0].message


def test_4_at_or_past_fixed_in_it_is_not_needed() -> None:
    patch = make_patch(fixed_in={"absent": "1", "pkg": "2.0"})
    for version in ("2.0", "2.0+cu129", "3.0"):
        choice = one(patch, installed={"pkg": version})
        assert said(choice) == (S.NOT_NEEDED, "fixed in pkg 2.0")
    assert one(patch, installed={"pkg": "2.0rc1"}).state is S.UNTESTED


def test_4_another_package_may_have_the_cure() -> None:
    patch = make_patch(needs=[PAIR, {"pkg": "<1"}], fixed_in={"vllm": "0.18.0"})
    installed = {"pkg": "1.0", "speculators": "0.3.0", "vllm": "0.18.1"}
    assert one(patch, installed=installed).reason == "fixed in vllm 0.18.0"


def test_4_fixed_comes_before_too_old() -> None:
    patch = make_patch(needs=[{"pkg": ">=5,<6"}], fixed_in={"pkg": "2"})
    assert one(patch, installed={"pkg": "3"}).reason == "fixed in pkg 2"


@pytest.mark.parametrize("specifier", [">=1.0,<2", "==1.0.*", "~=1.0", ">0.9,<2"])
def test_5_below_its_range_it_is_not_needed(specifier: str) -> None:
    patch = make_patch(needs=[{"pkg": specifier}])
    choice = one(patch, installed={"pkg": "0.9"})
    assert choice.state is S.NOT_NEEDED
    assert choice.reason is not None
    assert choice.reason.startswith("from pkg ")


def test_5_below_every_variant_the_nearest_beginning_is_named() -> None:
    far = make_patch(variant="far", needs=[{"pkg": ">=3,<4"}])
    near = make_patch(variant="near", needs=[{"pkg": ">=1,<2"}])
    assert one(far, near, installed={"pkg": "0.9"}).reason == "from pkg 1 on"


def test_6_between_and_above_nobody_knows() -> None:
    old = make_patch(variant="old", needs=[{"pkg": "<1"}])
    new = make_patch(variant="new", needs=[{"pkg": ">=2,<3"}])
    between = one(old, new, installed={"pkg": "1.5"})
    assert between.state is S.UNTESTED
    assert between.reason is not None
    assert "nothing says what pkg 1.5 needs" in between.reason
    assert one(new, installed={"pkg": "3.0"}).state is S.UNTESTED


@pytest.mark.parametrize(
    ("specifier", "version", "state"),
    [
        (">=0.16.1.dev0,<0.17", NIGHTLY, S.PENDING),  # C1
        ("==0.16.0", NIGHTLY, S.UNTESTED),  # C1: never a silent 0
        ("==0.16.0", "0.16.0+cu129", S.PENDING),  # C4
        ("==0.16.0+rocm722", "0.16.0+cu129", S.UNTESTED),  # C4
        (">=0.16,<0.17", "0.16.1.dev3+gabc", S.PENDING),  # C5
    ],
)
def test_versions_as_they_are_met(
    specifier: str, version: str, state: PatchState
) -> None:
    patch = make_patch(needs=[{"pkg": specifier}])
    assert one(patch, installed={"pkg": version}).state is state


@pytest.mark.parametrize(
    ("installed", "state", "reason"),
    [
        ({"vllm": "0.11.0"}, S.NOT_NEEDED, "from vllm 0.16 on"),
        ({"vllm": "0.16.0"}, S.PENDING, None),
        ({}, S.NOT_NEEDED, "requires vllm"),
    ],
)
def test_a_patch_keyed_by_a_pair(
    installed: Mapping[str, str], state: PatchState, reason: str | None
) -> None:
    """B12: the same file of speculators, wrong only beside a newer vLLM."""
    patch = make_patch(needs=[PAIR], target="speculators/m.py")
    choice = one(patch, installed={"speculators": "0.3.0", **installed})
    assert said(choice) == (state, reason)


def test_choices_come_in_the_order_of_ids_one_for_each_defect() -> None:
    patches = [make_patch("b"), make_patch("a", variant="x"), make_patch("c")]
    patches.append(make_patch("a", needs=[{"pkg": "<1"}]))
    found = choose(patches, {"pkg": "1.0"}, Selection())
    assert [choice.patch.id for choice in found] == ["pkg/a", "pkg/b", "pkg/c"]
    assert found == choose(reversed(patches), {"pkg": "1.0"}, Selection())


# --- selection -------------------------------------------------------------------


IN = {"pkg": "1.0"}
NEWER = {"pkg": "2.0"}


@pytest.mark.parametrize(
    ("wishes", "state"),
    [
        ({}, S.PENDING),
        ({"only": ("pkg/number",)}, S.PENDING),
        ({"only": ("numbers",)}, S.PENDING),
        ({"only": ("else",)}, S.UNSELECTED),
        ({"only": ()}, S.UNSELECTED),
        ({"only": ("else",), "plus": ("numbers",)}, S.PENDING),
        ({"without": ("numbers",)}, S.UNSELECTED),
        ({"without": ("pkg/number",), "plus": ("pkg/number",)}, S.UNSELECTED),
        ({"without": ("number",)}, S.PENDING),
    ],
)
def test_the_selection_restricts_adds_and_leaves_out(
    wishes: Wishes, state: PatchState
) -> None:
    assert one(make_patch(group="numbers"), installed=IN, wishes=wishes).state is state


def test_an_opt_in_is_applied_only_when_it_is_asked_for() -> None:
    patch = make_patch(opt_in=True)
    choice = one(patch, installed=IN)
    assert said(choice) == (S.UNSELECTED, "opt-in: patchset apply --with pkg/number")
    assert one(patch, installed=IN, wishes={"only": ("pkg/number",)}).wanted is False
    assert one(patch, installed=IN, wishes={"plus": ("pkg/number",)}).wanted


def test_an_opt_in_that_nobody_asked_for_is_not_untested() -> None:
    assert one(make_patch(opt_in=True), installed=NEWER).state is S.UNSELECTED


def test_an_untested_patch_is_applied_when_it_is_asked_for() -> None:
    assert one(make_patch(), installed=NEWER).state is S.UNTESTED
    assert one(make_patch(), installed=NEWER, wishes={"plus": ("pkg/number",)}).wanted
    only: Wishes = {"only": ("pkg/number",)}
    assert one(make_patch(), installed=NEWER, wishes=only).state is S.UNTESTED
    assert one(make_patch(), installed=NEWER, wishes={"only": ()}).state is S.UNSELECTED


def test_a_refusal_is_no_matter_for_a_patch_that_is_left_out() -> None:
    choice = one(
        make_patch(),
        installed={},
        unusable={"pkg": "no version"},
        wishes={"without": ("pkg/number",)},
    )
    assert choice.state is S.UNSELECTED


@pytest.mark.parametrize("wishes", [{}, {"plus": ("pkg/number",)}, {"only": ()}])
def test_no_selection_makes_a_patch_needed(wishes: Wishes) -> None:
    assert one(make_patch(), installed={"pkg": "0.9"}, wishes=wishes).state is (
        S.NOT_NEEDED
    )
    assert one(make_patch(), installed={}, wishes=wishes).state is S.ABSENT


def test_names_are_ids_and_groups() -> None:
    assert is_named(make_patch(group="numbers"), ["numbers"])
    assert is_named(make_patch(), ["pkg/number"])
    assert not is_named(make_patch(), ["numbers"])
