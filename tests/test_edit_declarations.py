from __future__ import annotations

import libcst as cst
import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchset import edit
from tests.editing import block, edited

# --- bases -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "change", "reason"),
    [
        ("class A(B): pass\n", edit.add_base("B"), "A has the base B already"),
        ("class A(x.B): pass\n", edit.add_base("x.B"), "A has the base x.B already"),
        ("class A(B): pass\n", edit.add_base("C", after="D"), "A has no base D"),
        ("class A: pass\n", edit.add_base("C", after="D"), "A has no base D"),
        ("def A(): pass\n", edit.add_base("C"), "A is no class"),
        ("def A(): pass\n", edit.add_members("x = 1"), "A is no class"),
        ("class B: pass\n", edit.add_base("C"), "no definition of A"),
        ("class A: pass\nclass A: pass\n", edit.add_base("C"), "ambiguous"),
    ],
)
def test_a_base_is_not_added_where_it_cannot_be(
    source: str, change: edit.Change, reason: str
) -> None:
    with pytest.raises(edit.Mismatch, match=reason):
        edited(source, change, path="A")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("class A:", "class A(New):"),
        ("class A():", "class A(New):"),
        ("class A(B):", "class A(B, New):"),
        ("class A(B, C):", "class A(B, C, New):"),
        ("class A(B[int], x.C,):", "class A(B[int], x.C, New,):"),
        ("class A(B, metaclass=M):", "class A(B, New, metaclass=M):"),
        ("class A(metaclass=M):", "class A(New, metaclass=M):"),
        ("class A(\n    B,\n    C,\n):", "class A(\n    B,\n    C,\n    New,\n):"),
        ("class A(\n    B, C\n):", "class A(\n    B, C, New\n):"),
        ("class A(B,\n        C):", "class A(B,\n        C,\n        New):"),
        ("class A(\n    B,  # of B\n):", "class A(\n    B,  # of B\n    New,\n):"),
        ("class A(\n    B  # of B\n):", "class A(\n    B,  # of B\n    New\n):"),
        ("@d(B)\nclass A(B):", "@d(B)\nclass A(B, New):"),
    ],
)
def test_add_base(before: str, after: str) -> None:
    body = "\n    x = 1\n"
    assert edited(before + body, edit.add_base("New"), path="A") == after + body


@pytest.mark.parametrize(
    "head",
    [
        "class A[T = int](Base):",
        "class A[T](Base):",
        "class A[T: int, *Ts, **P](Base):",
    ],
)
def test_type_parameters_are_kept(head: str) -> None:
    # Python 3.12's syntax: asked of the text, since this Python may be older.
    module = cst.parse_module(f"{head}\n    b = 1\n")
    after = edit.within(module, "A", edit.add_base("New")).code
    assert after == f"{head[:-2]}, New):\n    b = 1\n"


def test_add_base_after_another() -> None:
    change = edit.add_base("New", after="B")
    assert edited("class A(B, C): x = 1\n", change, path="A") == (
        "class A(B, New, C): x = 1\n"
    )


@given(st.lists(st.sampled_from(["B", "x.C", "D[int]"]), unique=True))
def test_has_base_is_what_add_base_does(bases: list[str]) -> None:
    module = cst.parse_module(f"class A({', '.join(bases)}):\n    x = 1\n")
    assert not edit.has_base(module, "A", "New")
    after = edit.within(module, "A", edit.add_base("New"))
    assert all(edit.has_base(after, "A", name) for name in [*bases, "New"])


# --- decorators ------------------------------------------------------------------


def test_a_decorator_is_not_added_where_it_cannot_be() -> None:
    with pytest.raises(edit.Mismatch, match=r"A has the decorator d\(1\) already"):
        edited("@d(1)\nclass A: pass\n", edit.add_decorator("d(1)"), path="A")
    with pytest.raises(edit.Mismatch, match="<module> is no definition"):
        edited("x = 1\n", edit.add_decorator("d"))


@pytest.mark.parametrize("head", ["def f(): pass\n", "class f: pass\n"])
def test_a_decorator_comes_outermost_and_below_comments(head: str) -> None:
    source = f"a = 1\n\n# why\n@e\n{head}"
    after = edited(source, edit.add_decorator("d(1)"), path="f")
    assert after == source.replace("@e", "@d(1)\n@e")
    assert edit.has_decorator(cst.parse_module(after), "f", "d(1)")
    assert not edit.has_decorator(cst.parse_module(source), "f", "d(1)")


def test_only_a_definition_has_decorators() -> None:
    with pytest.raises(edit.Mismatch, match="no definition of <module>"):
        edit.has_decorator(cst.parse_module("x = 1\n"), edit.MODULE, "d")


# --- members ---------------------------------------------------------------------

CLASS = block("""
    class A:
        x = 1

        def f(self):
            pass

        def g(self):
            pass
        # end
    y = 2
""")


@pytest.mark.parametrize(
    ("source", "change", "reason"),
    [
        (CLASS, edit.add_members("def f(self): pass"), "A defines f already"),
        (CLASS, edit.add_members("def h(): pass", after="x"), "no one method x"),
        (CLASS, edit.add_members("def h(): pass", after="q"), "no one method q"),
        (
            "class A:\n    def f(self): pass\n    def f(self): pass\n",
            edit.add_members("def h(): pass", after="f"),
            "no one method f",
        ),
        ("class A: x = 1\n", edit.add_members("y = 2"), "A is a class on one line"),
    ],
)
def test_members_are_not_added_where_they_cannot_be(
    source: str, change: edit.Change, reason: str
) -> None:
    with pytest.raises(edit.Mismatch, match=reason):
        edited(source, change, path="A")


def test_members_come_after_a_method_with_an_empty_line_above_each() -> None:
    new = "def h(self):\n    return 1\n# why\ndef i(self): pass\nz = 3\n"
    after = edited(CLASS, edit.add_members(new, after="f"), path="A")
    inserted = (
        "\n    def h(self):\n        return 1\n\n    # why\n    def i(self): pass\n"
        "    z = 3\n"
    )
    assert after == CLASS.replace("\n    def g", f"{inserted}\n    def g")


def test_members_come_last_and_before_a_closing_comment() -> None:
    after = edited(CLASS, edit.add_members("\n\ndef h(self): pass"), path="A")
    assert after == CLASS.replace("    # end\n", "\n    def h(self): pass\n    # end\n")


def test_empty_lines_of_the_template_are_kept_and_not_doubled() -> None:
    new = "z = 3\n\ndef h(self):\n    a\n\n    b\n"
    after = edited(CLASS, edit.add_members(new, after="g"), path="A")
    inserted = "    z = 3\n\n    def h(self):\n        a\n\n        b\n"
    assert after == CLASS.replace("    # end\n", f"{inserted}    # end\n")


# --- what a function returns -----------------------------------------------------


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("def f(): pass\n", "f does not say what it returns"),
        ("class f: pass\n", "f does not say what it returns"),
        ("def f() -> New: pass\n", "f says already that it returns New"),
        ("def f() -> A | New | B: pass\n", "f says already that it returns New"),
        ("def f() -> Union[A, New]: pass\n", "f says already that it returns New"),
    ],
)
def test_a_return_is_not_widened_where_it_cannot_be(source: str, reason: str) -> None:
    with pytest.raises(edit.Mismatch, match=reason):
        edited(source, edit.widen_return("New"), path="f")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("A", "A | New"),
        ("A | B", "A | B | New"),
        ("list[A]", "list[A] | New"),
        ("Union[A, B]", "Union[A, B, New]"),
        (
            "typing.Union[\n    A,\n    B,\n]",
            "typing.Union[\n    A,\n    B,\n    New,\n]",
        ),
        ("Optional[New]", "Optional[New] | New"),
        ("None", "None | New"),
    ],
)
def test_widen_return(before: str, after: str) -> None:
    source = "def f(a: A | New) -> {}: pass\n"
    change = edit.widen_return("New")
    assert edited(source.format(before), change, path="f") == source.format(after)
