from __future__ import annotations

import libcst as cst
import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchset import edit
from tests.editing import block, edited

# --- string lists ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ('y = ["a"]\n', "expected 1 of `x = "),
        ('x = ("a",)\n', "expected 1 of `x = "),
        ('x: list[str] = ["a"]\n', "expected 1 of `x = "),
        ('x = ["a"]\nx = []\n', r"found 2 \(lines 1, 2\)"),
        ('def f():\n    x = ["a"]\n', "found 0"),
        ('x = ["a", "new"]\n', "x in <module> holds 'new' already"),
        ("x = ['n' 'ew']\n", "x in <module> holds 'new' already"),
    ],
)
def test_a_list_is_not_extended_where_it_cannot_be(source: str, reason: str) -> None:
    with pytest.raises(edit.Mismatch, match=reason):
        edited(source, edit.extend_list("x", "new"))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("[]", '["new", "two"]'),
        ('["a"]', '["a", "new", "two"]'),
        ('["a",]', '["a", "new", "two",]'),
        (
            '["a", f(b), *c, f"{d}", b"e"]',
            '["a", f(b), *c, f"{d}", b"e", "new", "two"]',
        ),
        ('[\n    "a",\n]', '[\n    "a",\n    "new",\n    "two",\n]'),
        ('[\n    "a"\n]', '[\n    "a",\n    "new",\n    "two"\n]'),
        ('[\n    "a",\n    "b"\n]', '[\n    "a",\n    "b",\n    "new",\n    "two"\n]'),
        (
            '[\n    "a",  # of a\n    "b",  # of b\n]',
            '[\n    "a",  # of a\n    "b",  # of b\n    "new",\n    "two",\n]',
        ),
        ('["a",\n "b"]', '["a",\n "b",\n "new",\n "two"]'),
    ],
)
def test_extend_list(before: str, after: str) -> None:
    change = edit.extend_list("x", "new", "two")
    assert edited(f"x = {before}  # of x\n", change) == f"x = {after}  # of x\n"


def test_a_list_in_a_definition() -> None:
    source = 'def f():\n    if a:\n        x = ["a"]\n'
    after = edited(source, edit.extend_list("x", "new"), path="f")
    assert after == source.replace('"a"', '"a", "new"')


@given(st.lists(st.sampled_from(["a", "b", "ä", "with space"]), unique=True))
def test_holds_is_what_extend_list_does(values: list[str]) -> None:
    module = cst.parse_module(f"x = {values!r}\n")
    assert edit.holds(module, edit.MODULE, "x", *values)
    assert not edit.holds(module, edit.MODULE, "x", *values, "new")
    after = edit.within(module, edit.MODULE, edit.extend_list("x", "new"))
    assert edit.holds(after, edit.MODULE, "x", *values, "new")


# --- imports ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("import a\n", "expected 1 of `from .a import …` in <module>, found 0"),
        ("from a import b\n", "found 0"),
        ("from ..a import b\n", "found 0"),
        ("from .a.b import c\n", "found 0"),
        ("from .a import *\n", "found 0"),
        ("from . import a\n", "found 0"),
        ("from .a import b; c\n", "found 0"),
        ("def f():\n    from .a import b\n", "found 0"),
        ("from .a import b\nfrom .a import c\n", "found 2"),
        ("from .a import b, New\n", "New is imported from .a already"),
        ("from .a import New as New\n", "New is imported from .a already"),
    ],
)
def test_an_import_is_not_extended_where_it_cannot_be(source: str, reason: str) -> None:
    with pytest.raises(edit.Mismatch, match=reason):
        edited(source, edit.extend_import(".a", "New"))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("b", "b, New, Two"),
        ("b, c", "b, c, New, Two"),
        ("b as c", "b as c, New, Two"),
        ("New as n", "New as n, New, Two"),
        ("(b)", "(b, New, Two)"),
        ("(b,)", "(b, New, Two,)"),
        ("(\n    b,\n)", "(\n    b,\n    New,\n    Two,\n)"),
        ("(\n    b\n)", "(\n    b,\n    New,\n    Two\n)"),
        (
            "(\n    b,  # of b\n    c,  # of c\n)",
            "(\n    b,  # of b\n    c,  # of c\n    New,\n    Two,\n)",
        ),
        ("(b,\n    c)", "(b,\n    c,\n    New,\n    Two)"),
        ("b, \\\n    c", "b, \\\n    c, \\\n    New, \\\n    Two"),
    ],
)
def test_extend_import(before: str, after: str) -> None:
    source = "'''doc'''\nfrom __future__ import annotations\nfrom .a import {}  # why\n"
    change = edit.extend_import(".a", "New", "Two")
    assert edited(source.format(before), change) == source.format(after)


@pytest.mark.parametrize("source", ["a.b", "..", "...a", "."])
def test_the_source_is_spelt_as_it_is_there(source: str) -> None:
    text = f"if x:\n    from {source} import b\n"
    after = edited(text, edit.extend_import(source, "New"))
    assert after == text.replace("import b", "import b, New")
    assert edit.imports(cst.parse_module(after), source, "New")


def test_a_byte_order_mark_and_line_ends_stay() -> None:
    source = b"\xef\xbb\xbffrom .a import (\r\n    b,\r\n)\r\n"
    module = cst.parse_module(source)
    after = edit.within(module, edit.MODULE, edit.extend_import(".a", "New")).bytes
    assert after == source.replace(b"b,\r\n", b"b,\r\n    New,\r\n")


def test_no_newline_at_the_end_stays() -> None:
    assert edited("from .a import b", edit.extend_import(".a", "New")) == (
        "from .a import b, New"
    )


# --- questions -------------------------------------------------------------------

SOURCE = block("""
    from .a import b, c as d, e as e

    x = ["a", 1]

    def f(self) -> A | B:
        x = ["b"]
        if self.y:
            x.append(1)
            x.append(2)

        def g():
            x = ["c"]
            x.append(3)

    class A(B):
        def f(self): pass
""")
MODULE = cst.parse_module(SOURCE)


@pytest.mark.parametrize(
    ("path", "pattern", "number"),
    [
        ("f", "x.append(...)", 2),
        ("f", "x.append(1)", 1),
        ("f.g", "x.append(...)", 1),
        (edit.MODULE, "x.append(...)", 0),
        (edit.MODULE, "x = [...]", 1),
        ("f", "x = [...]", 1),
        ("f", "if self.y: ...", 1),
        ("f", "A | B", 1),
        ("A", "def f(self): ...", 1),
        ("A", "pass", 0),
    ],
)
def test_count(path: str, pattern: str, number: int) -> None:
    assert edit.count(MODULE, path, pattern) == number


def test_defines() -> None:
    assert edit.defines(MODULE, "f", "g")
    assert edit.defines(MODULE, "A", "f")
    assert edit.defines(MODULE, edit.MODULE, "A")
    assert not edit.defines(MODULE, "A", "g")
    assert not edit.defines(MODULE, edit.MODULE, "g")


def test_imports() -> None:
    assert edit.imports(MODULE, ".a", "b")
    assert edit.imports(MODULE, ".a", "e")
    assert not edit.imports(MODULE, ".a", "c")
    assert not edit.imports(MODULE, ".a", "d")
    assert not edit.imports(MODULE, "a", "b")


def test_returns() -> None:
    assert edit.returns(MODULE, "f", "A")
    assert not edit.returns(MODULE, "f", "C")
    assert not edit.returns(MODULE, "A.f", "A")


def test_a_question_about_what_is_not_there_is_no_answer() -> None:
    with pytest.raises(edit.Mismatch, match="no definition of h"):
        edit.count(MODULE, "h", "x.append(...)")
    with pytest.raises(edit.Mismatch, match="no definition of h"):
        edit.defines(MODULE, "h", "g")
    with pytest.raises(edit.Mismatch, match="no definition of h"):
        edit.holds(MODULE, "h", "x")
    with pytest.raises(edit.Mismatch, match=r"expected 1 of `z = \[...\]`.*found 0"):
        edit.holds(MODULE, "f", "z")
    with pytest.raises(edit.Mismatch, match="f is no class"):
        edit.has_base(MODULE, "f", "B")
    with pytest.raises(edit.Mismatch, match="A is no function"):
        edit.returns(MODULE, "A", "B")
