from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchset.pattern import is_wildcard, matches, parse_pattern


def fits(pattern: str, found: str) -> bool:
    return matches(parse_pattern(pattern), parse_pattern(found))


@pytest.mark.parametrize("source", ["", "a\nb", "a = 1; b = 2", "# only a comment"])
def test_a_pattern_is_one_statement(source: str) -> None:
    with pytest.raises(ValueError, match="a pattern is one statement"):
        parse_pattern(source)


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        # names and structure count
        ("a", "b"),
        ("a.b", "b"),
        ("a", "a.b"),
        ("f(x)", "g(x)"),
        ("f(x)", "f(x, y)"),
        ("f(x, y)", "f(x)"),
        ("f(a=1)", "f(b=1)"),
        ("f(a=1, b=2)", "f(b=2, a=1)"),
        ("x = 1", "y = 1"),
        ("x = 1", "x: int = 1"),
        ("x = 1", "x += 1"),
        ("return x", "return"),
        ("x + y", "x - y"),
        ("'x'", "b'x'"),
        ("1", "True"),
        ("1", "1.0"),
        ("a and b", "a or b"),
        ("x[0]", "x[1]"),
        ("not x", "x"),
        ("lambda a: a", "lambda b: a"),
        # what the pattern does not say is not there
        ("if x: ...", "if x:\n    pass\nelse:\n    pass"),
        ("def f(): ...", "def f(a):\n    pass"),
        ("def f(): ...", "@decorated\ndef f():\n    pass"),
        ("for x in y: ...", "async for x in y:\n    pass"),
        ("[1, 2]", "[1, 2, 3]"),
        ("{'a': 1}", "{'a': 1, 'b': 2}"),
        ("print(a)", "print(a, end='')"),
        # `...` stands for one expression, unless it is all there is in a row
        ("f(..., x)", "f(a, b, x)"),
        ("f(...)", "f"),
        ("f(..., k=1)", "f(a, k=2)"),
        ("f(..., k=1)", "f(a)"),
        ("f(a, ...)", "f(b)"),
        ("f(a, ...)", "f()"),
        ("[..., 1]", "[1]"),
        ("(...)", "pass"),
        # a block that is more than `...` is taken at its word
        ("if x:\n    a\n    ...", "if x:\n    a\n    b\n    c"),
    ],
)
def test_does_not_match(pattern: str, found: str) -> None:
    assert not fits(pattern, found)


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("f( x,y )", "f(\n    x,  # first\n    y,\n)"),
        ("'x'", '"x"'),
        ("'ab'", "'a' 'b'"),
        ("'x'", "u'x'"),
        ("x", "(x)"),
        ("a + b * c", "a + (b * c)"),
        ("x = 1", "x = 1  # why"),
        ("...", "any(thing, at=all)"),
        ("a.b(...)", "a.b()"),
        ("a.b(...)", "a.b(1, *c, d=2, **e)"),
        ("f(a, ...)", "f(a)"),
        ("f(a, ...)", "f(a, b, c=1)"),
        ("f(..., k=1)", "f(a, b, j=2, k=1, l=3)"),
        ("f(..., k=...)", "f(k=g(x))"),
        ("f(k=...)", "f(k=1)"),
        ("x = [...]", "x = []"),
        ("x = [...]", "x = [1, 2, 3]"),
        ("x = (...,)", "x = (1, 2)"),
        ("x = {...}", "x = {1, 2}"),
        ("x[...] = 1", "x[a] = 1"),
        ("if x: ...", "if x:\n    a\n    b"),
        ("for a in b: ...", "for a in b:\n    pass"),
        ("if a: ...\nelse: ...", "if a:\n    b\n    c\nelse:\n    d"),
        ("try: ...\nfinally: ...", "try:\n    a\nfinally:\n    b"),
        ("def f(a): ...", "def f(a):\n    return 1"),
        ("global x, y", "global x, y"),
        ("from a import b", "from a import (\n    b\n)"),
        ("return ...", "return f(x)"),
        ("    x = 1", "x = 1"),
        ("f'{x}'", 'f"{x}"'),
        ("a < ... < c", "a < b < c"),
        ("x.y = x", "x.y = x"),
    ],
)
def test_matches(pattern: str, found: str) -> None:
    assert fits(pattern, found)


def test_the_wildcard_stands_for_an_expression_and_for_nothing_else() -> None:
    wildcard = parse_pattern("...")
    assert is_wildcard(wildcard)
    assert not is_wildcard(parse_pattern("x"))
    assert not matches(wildcard, ast.parse("pass").body[0])
    assert not matches(wildcard, ast.alias("x"))


def test_lists_of_other_things_than_nodes_are_compared_too() -> None:
    assert not fits("global x", "global y")
    assert not fits("from a import b", "from a import b, c")


NAMES = st.sampled_from(["a", "bc", "self.x", "d[0]"])
EXPRESSIONS = st.recursive(
    NAMES | st.sampled_from(["1", "'s'", "None"]),
    lambda inner: st.one_of(
        st.builds("f({}, k={})".format, inner, inner),
        st.builds("({} + {})".format, inner, inner),
        st.builds("[{}, {}]".format, inner, inner),
        st.builds("({} if {} else {})".format, inner, inner, inner),
    ),
    max_leaves=8,
)


def _spread(source: str) -> str:
    """The same expression with every comma and bracket on its own line."""
    for mark in "([,":
        source = source.replace(mark, f"{mark}  # c\n   ")
    return f"({source}\n)"


@given(EXPRESSIONS)
def test_layout_comments_and_parentheses_do_not_count(source: str) -> None:
    assert fits(source, _spread(source))
    assert fits(source, ast.unparse(ast.parse(source)))


@given(EXPRESSIONS, EXPRESSIONS)
def test_without_wildcards_a_match_is_equality_of_trees(one: str, other: str) -> None:
    same = ast.dump(ast.parse(one)) == ast.dump(ast.parse(other))
    assert fits(one, other) == same


@given(EXPRESSIONS)
def test_a_wildcard_in_the_place_of_a_part_still_matches(source: str) -> None:
    assert fits("g(..., k=...)", f"g({source}, k={source})")
    assert fits("x = ...", f"x = {source}")
