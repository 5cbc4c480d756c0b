from __future__ import annotations

from typing import cast

import libcst as cst
import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchset.definitions import (
    MODULE,
    changed_definitions,
    definition_lines,
    find,
    map_statements,
    places,
)
from patchset.errors import Mismatch

SOURCE = """\
import a

if a:
    def conditional():
        pass
else:
    def conditional():
        pass


class Outer:
    x = 1

    def method(self):
        def inner():
            return 1
        if self.x:
            return inner
        elif self.y:
            return 2
        return 3

    class Nested:
        async def method(self):
            pass


def last(): return 1
"""


def parse(source: str) -> cst.Module:
    return cst.parse_module(source)


def test_places_are_in_the_order_of_the_text() -> None:
    assert [place.path for place in places(parse(SOURCE))] == [
        "conditional",
        "conditional",
        "Outer",
        "Outer.method",
        "Outer.method.inner",
        "Outer.Nested",
        "Outer.Nested.method",
        "last",
    ]


@pytest.mark.parametrize("path", ["method", "Outer.inner", "outer", "Outer.x", ""])
def test_what_is_not_there_is_not_found(path: str) -> None:
    with pytest.raises(Mismatch, match="no definition of"):
        find(parse(SOURCE), path)


def test_two_of_one_path_are_ambiguous_and_shown_with_their_lines() -> None:
    with pytest.raises(Mismatch, match=r"2 definitions of conditional, lines 4, 7"):
        find(parse(SOURCE), "conditional")


def test_lines_are_left_out_where_this_python_is_too_old_for_the_file() -> None:
    module = parse("x = 1\ndef f(): pass\ndef f(): pass\n")
    target = cst.ensure_type(module.body[0], cst.SimpleStatementLine).body[0]
    newer = module.with_deep_changes(
        cst.ensure_type(target, cst.Assign).targets[0].target, value="class"
    )
    assert definition_lines(newer, "f") == []
    with pytest.raises(Mismatch, match=r"ambiguous: 2 definitions of f$"):
        find(newer, "f")


def test_putting_a_definition_back_gives_the_same_bytes() -> None:
    module = parse(SOURCE)
    for place in places(module):
        assert place.put(place.node).code == SOURCE


def test_putting_another_in_its_place_changes_nothing_else() -> None:
    place = find(parse(SOURCE), "Outer.Nested.method")
    other = cst.parse_statement("def method(self):\n    return 4\n")
    after = place.put(other.with_changes(leading_lines=place.node.leading_lines)).code
    assert after == SOURCE.replace(
        "async def method(self):\n            pass",
        "def method(self):\n            return 4",
    )


# --- changed_definitions ---------------------------------------------------------


def changed(before: str, after: str) -> set[str]:
    return set(changed_definitions(parse(before), parse(after)))


def test_the_same_text_has_no_changed_definitions() -> None:
    module = parse(SOURCE)
    assert changed_definitions(module, module) == frozenset()
    assert changed(SOURCE, SOURCE) == set()


@pytest.mark.parametrize(
    ("old", "new", "paths"),
    [
        ("import a", "import b", {MODULE}),
        ("if a:", "if b:", {MODULE}),
        ("x = 1", "x = 2", {"Outer"}),
        ("class Outer:", "class Outer(Base):", {"Outer"}),
        ("return inner", "return 5", {"Outer.method"}),
        ("return 2", "return 6", {"Outer.method"}),
        ("            return 1\n", "            return 2\n", {"Outer.method.inner"}),
        ("async def method", "async def other", None),
        ("def last()", "@a\ndef last()", {"last"}),
        ("def last(): return 1", "def last(): return 2", {"last"}),
        ("        pass\nelse", "        a\nelse", {"conditional"}),
        ("def last", "# why\ndef last", {"last"}),
        ("import a\n", "import a  # why\n", {MODULE}),
    ],
)
def test_the_own_text_of_a_definition(
    old: str, new: str, paths: set[str] | None
) -> None:
    assert SOURCE.count(old) == 1
    expected = paths or {"Outer.Nested.method", "Outer.Nested.other"}
    assert changed(SOURCE, SOURCE.replace(old, new)) == expected


def test_added_and_removed_definitions_are_named() -> None:
    method = "    def method(self):\n        pass\n"
    before = f"class A:\n    x = 1\n\n{method}"
    assert changed(before, before + method.replace("method", "b")) == {"A.b"}
    assert changed(before + method.replace("method", "b"), before) == {"A.b"}
    assert changed(before, before + method) == {"A.method"}
    assert changed("a\n", "a\ndef f(): pass\n") == {"f"}
    assert changed("a\n", "a\nclass A:\n    def f(self): pass\n") == {"A", "A.f"}


# --- map_statements --------------------------------------------------------------


def names(scope: str) -> list[str]:
    """What `map_statements` hands over, by its first line."""
    seen: list[str] = []

    def look(node: cst.CSTNode) -> tuple[cst.CSTNode, ...]:
        text = cst.Module(body=[]).code_for_node(node).strip()
        seen.append(text.splitlines()[0])
        return (node,)

    module = parse(scope)
    assert map_statements(module, look) is module
    return seen


def test_nested_definitions_are_handed_over_and_not_entered() -> None:
    assert names("def f():\n    a\nclass A:\n    b\nc\n") == [
        "def f():",
        "class A:",
        "c",
    ]


def test_every_kind_of_block_is_entered() -> None:
    source = """\
if a:
    b1
elif c:
    b2
else:
    b3
for x in y:
    b4
else:
    b5
while a:
    b6
with a:
    b7
try:
    b8
except E:
    b9
else:
    b10
finally:
    b11
try:
    b12
except* E:
    b13
match a:
    case 1:
        b14
if a: b15
"""
    found = names(source)
    assert [f"b{index}" for index in range(1, 16)] == [
        name for name in found if name.startswith("b")
    ]
    assert "if c:" in found


def replace_a(source: str, *new: str) -> str:
    def change(node: cst.CSTNode) -> tuple[cst.CSTNode, ...]:
        if isinstance(node, cst.SimpleStatementLine) and (
            cst.Module(body=[node]).code.strip() == "a"
        ):
            return tuple(cst.parse_statement(text) for text in new)
        return (node,)

    return map_statements(parse(source), change).code


def test_a_statement_may_become_none_one_or_several() -> None:
    source = "a\nif x:\n    a\n    b\n"
    assert replace_a(source) == "if x:\n    b\n"
    assert replace_a(source, "c") == "c\nif x:\n    c\n    b\n"
    assert replace_a(source, "c", "d") == "c\nd\nif x:\n    c\n    d\n    b\n"


def test_an_emptied_block_still_compiles() -> None:
    after = replace_a("if x:\n    a\n")
    assert after == "if x:\n    pass\n"


ELIF = "if x:\n    a\nelif y:\n    b\n"


def test_an_elif_may_become_another_branch() -> None:
    def change(node: cst.CSTNode) -> tuple[cst.CSTNode, ...]:
        if (
            isinstance(node, cst.If)
            and cst.ensure_type(node.test, cst.Name).value == "y"
        ):
            return (node.with_changes(test=cst.Name("z")),)
        return (node,)

    assert map_statements(parse(ELIF), change).code == ELIF.replace("y", "z")


@pytest.mark.parametrize("new", [[], ["if z: pass", "c"], ["c"]])
def test_nothing_else_can_stand_in_the_place_of_an_elif(new: list[str]) -> None:
    def change(node: cst.CSTNode) -> tuple[cst.CSTNode, ...]:
        if (
            isinstance(node, cst.If)
            and cst.ensure_type(node.test, cst.Name).value == "y"
        ):
            return tuple(map(cst.parse_statement, new))
        return (node,)

    with pytest.raises(Mismatch, match="elif"):
        map_statements(parse(ELIF), change)


# --- laws ------------------------------------------------------------------------

LINES = st.sampled_from(["x = 1", "# note", "", "y = f(1)", "pass"])


def _definition(draw_name: str, body: list[str]) -> str:
    lines = [f"    {line}".rstrip() for line in [*body, "z = 0"]]
    return "\n".join([f"def {draw_name}():", *lines])


CHUNKS = st.lists(st.lists(LINES, max_size=4), min_size=1, max_size=5)


@given(CHUNKS, st.data())
def test_exactly_the_definition_that_was_touched_has_changed(
    chunks: list[list[str]], data: st.DataObject
) -> None:
    module = parse(
        "\n".join(_definition(f"f{index}", body) for index, body in enumerate(chunks))
    )
    index = data.draw(st.integers(0, len(chunks) - 1))
    place = find(module, f"f{index}")
    body = cast("cst.IndentedBlock", place.node.body)
    new = body.with_changes(body=[*body.body, cst.parse_statement("added = 1")])
    after = place.put(place.node.with_changes(body=new))
    assert changed_definitions(module, after) == {f"f{index}"}
    assert changed_definitions(module, parse(after.code)) == {f"f{index}"}
