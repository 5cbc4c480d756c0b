from __future__ import annotations

import ast

import libcst as cst
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from patchset import edit
from tests.editing import block, edited

# --- what must not be touched ----------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        edit.replace_expression("f(x)", "g(x)"),
        edit.add_argument("f(x)", "k=1"),
        edit.drop_argument("f(x)", "k"),
    ],
)
@pytest.mark.parametrize(
    "source",
    [
        "f(y)\n",
        "f\n",
        "g(f)\n",
        "'f(x)'  # f(x)\n",
        "def g():\n    return f(x)\n",
        "class A:\n    y = f(x)\n",
        "@f(x)\ndef g(): pass\n",
    ],
)
def test_a_change_without_its_anchor_is_refused(
    change: edit.Change, source: str
) -> None:
    with pytest.raises(edit.Mismatch, match=r"expected 1 of `f\(x\)` in <module>"):
        edited(source, change)


def test_two_anchors_are_ambiguous_and_shown_with_their_lines() -> None:
    with pytest.raises(edit.Mismatch, match=r"found 2 \(lines 1, 3\)"):
        edited("a = f(x)\n\nb = [f(x)]\n", edit.replace_expression("f(x)", "y"))


def test_the_names_of_modules_are_no_expressions() -> None:
    source = "import a.b\nfrom a.b import c\n"
    with pytest.raises(edit.Mismatch, match="found 0"):
        edited(source, edit.replace_expression("a.b", "d"))


def test_what_this_python_cannot_read_does_not_match_and_does_not_crash() -> None:
    module = cst.parse_module("x = f(y)\nf(z)\n")
    assign = cst.ensure_type(module.body[0], cst.SimpleStatementLine).body[0]
    call = cst.ensure_type(cst.ensure_type(assign, cst.Assign).value, cst.Call)
    newer = module.with_deep_changes(call.args[0].value, value="class")
    assert edit.count(newer, edit.MODULE, "f(...)") == 1


@pytest.mark.parametrize("pattern", ["f", "..."])
def test_a_name_or_a_wildcard_is_no_anchor(pattern: str) -> None:
    with pytest.raises(ValueError, match="too little to look for"):
        edit.replace_expression(pattern, "g")


def test_a_starred_element_is_entered_and_is_no_expression_itself() -> None:
    after = edited("x = [*f(a), 1 + 2]\n", edit.replace_expression("1 + 2", "3"))
    assert after == "x = [*f(a), 3]\n"
    after = edited("x = [*f(a)]\n", edit.replace_expression("f(a)", "g"))
    assert after == "x = [*g]\n"


@pytest.mark.parametrize(
    ("source", "change", "reason"),
    [
        (
            "f(x, k=1)\n",
            edit.add_argument("f(...)", "k=2"),
            "has the argument k already",
        ),
        ("f(x)\n", edit.add_argument("f(...)", "k=2", after="j"), "has no argument j"),
        ("f(x)\n", edit.drop_argument("f(...)", "k"), "has no argument k"),
        ("f(k)\n", edit.drop_argument("f(...)", "k"), "has no argument k"),
    ],
)
def test_an_argument_that_is_there_or_not_there(
    source: str, change: edit.Change, reason: str
) -> None:
    with pytest.raises(edit.Mismatch, match=reason):
        edited(source, change)


# --- what they do ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "pattern", "code", "wanted"),
    [
        ("x = f(a)\n", "f(...)", "g(b)", "x = g(b)\n"),
        ("x = (\n    f(a)  # why\n)\n", "f(a)", "g", "x = (\n    g  # why\n)\n"),
        ("x = a.b * c\n", "a.b", "d + e", "x = (d + e) * c\n"),
        ("x = (a.b) * c\n", "a.b", "d + e", "x = (d + e) * c\n"),
        ("x = a.b * c\n", "a.b", "(d + e)", "x = (d + e) * c\n"),
        ("x = a | b\n", "a | b", "a | b | c", "x = a | b | c\n"),
        ("x = a * b + 1\n", "a * b", "a - b", "x = (a - b) + 1\n"),
        ("x = 2 ** a ** b\n", "a ** b", "c ** d", "x = 2 ** (c ** d)\n"),
        ("x = not a.b\n", "a.b", "c or d", "x = not (c or d)\n"),
        ("x = f(a.b)\n", "a.b", "c, d", "x = f((c, d))\n"),
        ("x = a.b.c\n", "a.b", "lambda: 0", "x = (lambda: 0).c\n"),
        (
            "x = a.b if c else 1\n",
            "a.b",
            "c if d else e",
            "x = (c if d else e) if c else 1\n",
        ),
        ("def f(a) -> b.c: ...\n", "b.c", "d", "def f(a) -> d: ...\n"),
        ("@f(x)\ndef g(): ...\n", "f(x)", "h", "@h\ndef g(): ...\n"),
    ],
)
def test_replace_expression(source: str, pattern: str, code: str, wanted: str) -> None:
    path = source.split()[1].partition("(")[0] if "def f" in source else edit.MODULE
    path = "g" if source.startswith("@") else path
    assert edited(source, edit.replace_expression(pattern, code), path=path) == wanted


def test_a_match_within_a_match_counts_and_both_are_changed() -> None:
    change = edit.replace_expression("f(...)", "g", times=2)
    assert edited("f(f(x))\n", change) == "g\n"
    change = edit.add_argument("f(...)", "k=1", times=2)
    assert edited("f(f(x))\n", change) == "f(f(x, k=1), k=1)\n"


ADDED = [
    ("f()", "f(k=1)"),
    ("f(a)", "f(a, k=1)"),
    ("f(a,)", "f(a, k=1,)"),
    ("f(a, b)", "f(a, b, k=1)"),
    ("f(*a, **b)", "f(*a, **b, k=1)"),
    ("f(\n    a\n)", "f(\n    a,\n    k=1\n)"),
    ("f(\n    a,\n)", "f(\n    a,\n    k=1,\n)"),
    ("f(\n    a, b\n)", "f(\n    a, b, k=1\n)"),
    ("f(\n    a, b,\n)", "f(\n    a, b, k=1,\n)"),
    ("f(a,\n  b)", "f(a,\n  b,\n  k=1)"),
    ("f(\n    a)", "f(\n    a,\n    k=1)"),
    ("f(\n    a  # of a\n)", "f(\n    a,  # of a\n    k=1\n)"),
    ("f(\n    a,  # of a\n)", "f(\n    a,  # of a\n    k=1,\n)"),
    ("f(\n    a, b  # of both\n)", "f(\n    a, b, k=1  # of both\n)"),
    ("f(\n    a,  # of a\n    b,\n)", "f(\n    a,  # of a\n    b,\n    k=1,\n)"),
    ("f(\n    a,\n    # end\n)", "f(\n    a,\n    k=1,\n    # end\n)"),
    ("f(  # open\n    a,\n)", "f(  # open\n    a,\n    k=1,\n)"),
    ("f(  # open\n)", "f(k=1  # open\n)"),
    ("f( a )", "f( a, k=1 )"),
    ("f(a , b)", "f(a , b, k=1)"),
]


@pytest.mark.parametrize(("before", "after"), ADDED)
def test_an_argument_is_set_off_as_its_neighbours_are(before: str, after: str) -> None:
    assert edited(f"x = {before}\n", edit.add_argument("f(...)", "k=1")) == (
        f"x = {after}\n"
    )


@pytest.mark.parametrize(("before", "after"), ADDED)
def test_dropping_it_again_gives_the_same_bytes(before: str, after: str) -> None:
    assert edited(f"x = {after}\n", edit.drop_argument("f(...)", "k")) == (
        f"x = {before}\n"
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("f(j=0, l=2)", "f(j=0, k=1, l=2)"),
        ("f(j=0,\n  l=2)", "f(j=0,\n  k=1,\n  l=2)"),
        (
            "f(\n    j=0,  # of j\n    # of l\n    l=2,\n)",
            "f(\n    j=0,  # of j\n    k=1,\n    # of l\n    l=2,\n)",
        ),
    ],
)
def test_after_another_argument(before: str, after: str) -> None:
    add = edit.add_argument("f(...)", "k=1", after="j")
    assert edited(f"{before}\n", add) == f"{after}\n"
    assert edited(f"{after}\n", edit.drop_argument("f(...)", "k")) == f"{before}\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("f(k=1)", "f()"),
        ("f(\n    k=1,\n)", "f(\n)"),
        ("f(\n    k=1)", "f()"),
        ("f(  # open\n    k=1)", "f(  # open\n    )"),
        ("f(k=1, a=2)", "f(a=2)"),
        (
            "f(\n    k=1,  # of k\n    # of a\n    a=2,\n)",
            "f(\n    # of a\n    a=2,\n)",
        ),
        ("f(\n    a=1,  # of a\n    k=2)", "f(\n    a=1  # of a\n    )"),
        ("f(\n    a=1,\n    k=2, b=3)", "f(\n    a=1,\n    b=3)"),
        ("f(a, k=1)", "f(a)"),
        ("f(a, k=1, **b)", "f(a, **b)"),
    ],
)
def test_what_is_dropped_takes_its_own_comment_and_no_other(
    before: str, after: str
) -> None:
    assert edited(f"{before}\n", edit.drop_argument("f(...)", "k")) == f"{after}\n"


def test_in_line_ends_and_indentation_of_the_module() -> None:
    source = block("""
        def g():
            x = f(
                a,
            )
    """)
    for text in (source.replace("    ", "\t"), source.replace("\n", "\r\n")):
        wanted = text.replace("a,", "a,@k=1,").replace(
            "@", text[text.index("f(") + 2 : text.index("a,")]
        )
        assert edited(text, edit.add_argument("f(...)", "k=1"), path="g") == wanted


# --- laws ------------------------------------------------------------------------

GAPS = st.sampled_from(["", " ", "\n    ", "  # c\n    ", "\n    # d\n    "])
ARGUMENTS = st.sampled_from(["a", "b=2", "*c", "**d", "g(h, i)", "(j)"])


@st.composite
def calls(draw: st.DrawFn) -> str:
    """A call with any white space and comments between its arguments."""
    arguments = draw(st.lists(ARGUMENTS, max_size=4))
    text = "f(" + draw(GAPS)
    for index, argument in enumerate(arguments):
        is_last = index == len(arguments) - 1
        comma = "," if not is_last or draw(st.booleans()) else ""
        text += argument + draw(st.sampled_from(["", " "])) * bool(comma)
        text += comma + draw(GAPS)
    source = f"{text})\n"
    try:
        compile(source, "<call>", "exec")
    except SyntaxError:
        assume(condition=False)  # an order that Python refuses
    return source


@given(calls())
def test_drop_undoes_add(source: str) -> None:
    added = edited(source, edit.add_argument("f(...)", "k=1"))
    assert edited(added, edit.drop_argument("f(...)", "k")) == source


@given(calls())
def test_adding_keeps_every_comment_and_argument_in_order(source: str) -> None:
    added = edited(source, edit.add_argument("f(...)", "k=1"))
    assert added.count("#") == source.count("#")
    before = ast.dump(ast.parse(source))
    tree = ast.parse(added)
    call = next(node for node in ast.walk(tree) if isinstance(node, ast.Call))
    (given_k,) = [one for one in call.keywords if one.arg == "k"]
    call.keywords.remove(given_k)
    assert ast.dump(tree) == before
