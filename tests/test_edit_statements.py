from __future__ import annotations

import libcst as cst
import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchset import edit
from tests.editing import block, edited

STATEMENT_CHANGES = [
    edit.replace("b = 1", "b = 2"),
    edit.insert_before("b = 1", "c = 3"),
    edit.insert_after("b = 1", "c = 3"),
    edit.replace("b = 1", ""),
]
BLOCK_CHANGES = [
    edit.prepend("for a in x: ...", "c = 3"),
    edit.append("for a in x: ...", "c = 3"),
    edit.replace("for a in x: ...", "while a:\n    ..."),
    edit.add_branch("a", "c", "d = 1"),
]


# --- what must not be touched ----------------------------------------------------


@pytest.mark.parametrize("change", [*STATEMENT_CHANGES, *BLOCK_CHANGES])
@pytest.mark.parametrize(
    "source",
    [
        "",
        "b = 2\n",
        "b: int = 1\n",
        "# b = 1\n",
        "'b = 1'\n",
        "a.b = 1\n",
        "def f():\n    b = 1\n    for a in x:\n        pass\n    if a:\n        pass\n",
        "class A:\n    b = 1\n    for a in x:\n        pass\n    if a:\n        pass\n",
        "for a in y:\n    pass\n",
        "async def f():\n    async for a in x:\n        pass\n",
        "if not a:\n    pass\n",
        "while a:\n    pass\n",
    ],
)
def test_a_change_without_its_anchor_is_refused(
    change: edit.Change, source: str
) -> None:
    with pytest.raises(edit.Mismatch, match=r"expected 1 of .* in <module>, found 0"):
        edited(source, change)


@pytest.mark.parametrize("change", [*STATEMENT_CHANGES, *BLOCK_CHANGES])
def test_two_anchors_are_ambiguous_and_shown_with_their_lines(
    change: edit.Change,
) -> None:
    source = block("""
        class A:
            def f(self):
                b = 1
                for a in x:
                    pass
                if a:
                    pass
                def g():
                    b = 1
                if c:
                    b = 1
                    for a in x:
                        pass
                    if a:
                        pass
    """)
    with pytest.raises(edit.Mismatch, match=r"expected 1 of .*, found 2") as error:
        edited(source, change, path="A.f")
    assert "in A.f" in str(error.value)
    assert str(error.value).endswith(
        ("(lines 3, 11)", "(lines 4, 12)", "(lines 6, 14)")
    )


def test_a_look_alike_in_another_definition_is_left_alone() -> None:
    loop = "    def f(self):\n        for a in self.x:\n            b(a)\n"
    source = f"class A:\n{loop}\nclass B:\n{loop}"
    after = edited(source, edit.prepend("for a in self.x: ...", "c(a)"), path="A.f")
    head, tail = after.split("class B:")
    assert tail == source.split("class B:")[1]
    assert head.count("c(a)") == 1


def test_some_of_several_is_not_enough() -> None:
    source = "b = 1\nb = int(1)\nif a:\n    b = 1\n"
    change = edit.replace("b = 1", "b = 2", times=3)
    with pytest.raises(edit.Mismatch, match=r"expected 3 .*, found 2 \(lines 1, 4\)"):
        edited(source, change)


@pytest.mark.parametrize("source", ["a; b = 1\n", "b = 1; a\n", "if a: b = 1\n"])
def test_a_statement_that_shares_its_line_is_no_anchor(source: str) -> None:
    with pytest.raises(edit.Mismatch, match="found 0"):
        edited(source, edit.replace("b = 1", "b = 2"))


@pytest.mark.parametrize("pattern", ["b", "...", "(b)"])
def test_a_name_or_a_wildcard_is_no_anchor(pattern: str) -> None:
    with pytest.raises(ValueError, match="too little to look for"):
        edit.replace(pattern, "c = 1")


@pytest.mark.parametrize("change", [edit.prepend, edit.append])
def test_a_block_on_the_line_of_its_head_has_no_place(
    change: object,
) -> None:
    assert callable(change)
    with pytest.raises(edit.Mismatch, match=r"no indented block: `b`"):
        edited("for a in x: b\n", change("for a in x: ...", "c"))


def test_neither_has_what_is_no_block_at_all() -> None:
    with pytest.raises(edit.Mismatch, match="no indented block"):
        edited("b = 1\n", edit.append("b = 1", "c"))


def test_an_elif_has_no_place_for_statements_beside_it() -> None:
    source = "if a:\n    pass\nelif b == 1:\n    pass\n"
    for change in (edit.insert_before, edit.insert_after):
        with pytest.raises(edit.Mismatch, match="elif"):
            edited(source, change("if b == 1: ...", "c = 3"))


def test_a_comment_that_belongs_to_no_statement_is_refused() -> None:
    for text in ("# only this", "c = 3\n# and this"):
        with pytest.raises(ValueError, match="a comment with no statement below"):
            edited("b = 1\n", edit.insert_after("b = 1", text))


def test_a_definition_that_is_missing_is_refused() -> None:
    with pytest.raises(edit.Mismatch, match=r"no definition of A\.f"):
        edited("b = 1\n", edit.replace("b = 1", ""), path="A.f")


def test_what_this_python_cannot_read_does_not_match_and_does_not_crash() -> None:
    module = cst.parse_module("x = 1\ny = 2\nx = 1\n")
    line = cst.ensure_type(module.body[1], cst.SimpleStatementLine)
    target = cst.ensure_type(line.body[0], cst.Assign).targets[0].target
    newer = module.with_deep_changes(target, value="class")
    change = edit.replace("x = 1", "x = 2", times=2)
    assert edit.within(newer, edit.MODULE, change).code.count("x = 2") == 2
    with pytest.raises(edit.Mismatch, match=r"found 2$"):
        edit.within(newer, edit.MODULE, edit.replace("x = 1", "x = 2"))


# --- what they do ----------------------------------------------------------------


def test_replace_keeps_the_comments_above() -> None:
    source = "a = 0\n\n# why\nb = 1  # gone with it\nc = 1\n"
    after = edited(source, edit.replace("b = 1", "# new\nb = 2\nd = 3"))
    assert after == "a = 0\n\n# why\n# new\nb = 2\nd = 3\nc = 1\n"


def test_replace_by_nothing_removes_the_statement_and_its_comments() -> None:
    assert edited("a\n\n# why\nb = 1\nc\n", edit.replace("b = 1", "")) == "a\nc\n"


def test_a_hole_in_a_block_is_filled_with_the_matched_block() -> None:
    source = block("""
        def f(self):
            for a in self.x:
                # first
                b = a

                c(b)
                # last
            return c
    """)
    template = """
        for i, a in enumerate(self.x):
            if i:
                then()
                # and
                ...
            end()
    """
    change = edit.replace("for a in self.x: ...", template)
    assert edited(source, change, path="f") == block("""
        def f(self):
            for i, a in enumerate(self.x):
                if i:
                    then()
                    # and
                    # first
                    b = a

                    c(b)
                    # last
                end()
            return c
    """)


@pytest.mark.parametrize("body", ["\n    b\n    c  # c\n    # end\n", " b\n"])
@pytest.mark.parametrize("hole", ["while a:\n    ...", "while a: ..."])
def test_a_whole_block_may_be_the_hole(hole: str, body: str) -> None:
    change = edit.replace("for a in x: ...", hole)
    assert edited(f"for a in x:{body}", change) == f"while a:{body}"


def test_a_hole_among_others_needs_statements_to_be_filled_with() -> None:
    change = edit.replace("for a in x: ...", "while a:\n    d\n    ...")
    with pytest.raises(edit.Mismatch, match="no indented block"):
        edited("for a in x: b\n", change)


def test_dots_that_are_no_hole_are_code() -> None:
    change = edit.replace("b = 1", "def b():\n    ...")
    assert edited("b = 1\n", change) == "def b():\n    ...\n"
    change = edit.replace("for a in x: ...", "for a in f(...):\n    pass")
    assert edited("for a in x:\n    b\n", change) == "for a in f(...):\n    pass\n"


def test_insert_before_leaves_comments_with_their_statement() -> None:
    source = "a\n\n# about b\nb = 1\n"
    after = edited(source, edit.insert_before("b = 1", "# about c\nc = 3\nd = 4"))
    assert after == "a\n\n# about c\nc = 3\nd = 4\n# about b\nb = 1\n"
    assert edited("a\n\nb = 1\n", edit.insert_before("b = 1", "c")) == "a\n\nc\nb = 1\n"


def test_insert_after_leaves_the_rest_of_the_line() -> None:
    source = "b = 1  # about b\n\n# about c\nc\n"
    after = edited(source, edit.insert_after("b = 1", "d"))
    assert after == "b = 1  # about b\nd\n\n# about c\nc\n"


def test_prepend_and_append_stay_in_the_block() -> None:
    source = "for a in x:\n    # first\n    b\n    # last\nc\n"
    change = edit.prepend("for a in x: ...", "d")
    assert (
        edited(source, change)
        == "for a in x:\n    d\n    # first\n    b\n    # last\nc\n"
    )
    change = edit.append("for a in x: ...", "d")
    assert (
        edited(source, change)
        == "for a in x:\n    # first\n    b\n    d\n    # last\nc\n"
    )


@pytest.mark.parametrize("rest", ["", "elif b:\n    y\n", "else:\n    z\n"])
def test_add_branch_comes_before_what_follows(rest: str) -> None:
    change = edit.add_branch("a == 1", "c", "# why\nw = 1\nv = 2")
    new = "elif c:\n    # why\n    w = 1\n    v = 2\n"
    head = "if a == 1:\n    x\n"
    assert edited(f"{head}{rest}", change) == f"{head}{new}{rest}"
    head = "if q:\n    p\nelif a == 1:\n    x\n"
    assert edited(f"{head}{rest}", change) == f"{head}{new}{rest}"


def test_changes_to_one_definition_see_each_other() -> None:
    after = edited(
        "def f():\n    a = 1\n",
        edit.replace("a = 1", "b = 2"),
        edit.insert_after("b = 2", "c = 3"),
        path="f",
    )
    assert after == "def f():\n    b = 2\n    c = 3\n"


def test_an_expression_statement_is_asked_for_as_an_expression() -> None:
    source = "self.f(1, k=2)\nx = self.f(1)\n"
    after = edited(source, edit.replace("self.f(...)", "pass"))
    assert after == "pass\nx = self.f(1)\n"


# --- layout ----------------------------------------------------------------------

DEEP = (
    "class A:\n    def f(self):\n        if a:\n            b = 1\n        return b\n"
)
INSERTED = 'if c:\n    d = g(\n        1,\n    )\n\n    # why\n    e = """\n  kept\n"""'


def test_code_takes_over_line_ends_and_indentation() -> None:
    source = DEEP.replace("    ", "\t").replace("\n", "\r\n")
    after = edited(source, edit.insert_after("b = 1", "if c:\n    d"), path="A.f")
    assert after == source.replace(
        "\t\t\tb = 1\r\n", "\t\t\tb = 1\r\n\t\t\tif c:\r\n\t\t\t\td\r\n"
    )


def test_inserted_code_is_indented_and_its_strings_are_not() -> None:
    after = edited(DEEP, edit.insert_after("b = 1", INSERTED), path="A.f")
    assert after == DEEP.replace(
        "            b = 1\n",
        "            b = 1\n"
        "            if c:\n"
        "                d = g(\n"
        "                    1,\n"
        "                )\n"
        "\n"
        "                # why\n"
        '                e = """\n'
        "  kept\n"
        '"""\n',
    )


@pytest.mark.parametrize(
    "source",
    [
        b"\xef\xbb\xbfb = 1\n",
        b"# coding=utf-8\nb = 1  # \xc2\xb5s\n",
        b"# -*- coding: latin-1 -*-\nb = 1  # \xb5s\n",
        b"# @generated\nb = 1\n",
        b"a = 0\nb = 1",
        b"\n\n# a\n\nb = 1\n\n\n",
        b"a = 0\r\nb = 1\r\n",
        b"a = 0\n# new note\nb = 1\n",
        b"match = 1\ntype(match)\nmatch match:\n    case [1, *_] if c: pass\nb = 1\n",
        b"while(True):\n    assert(x)\n    b = 1\n",
        b"x = 1if y else 2\nb = 1 ;\n",
        b"if x :\n  b = 1\n",
    ],
)
def test_all_but_the_target_stays_byte_by_byte(source: bytes) -> None:
    module = cst.parse_module(source)
    after = edit.within(module, edit.MODULE, edit.replace("b = 1", "b = 2")).bytes
    # A rewritten statement loses its own trailing comment and semicolon, only.
    head, _, tail = source.partition(b"b = 1")
    end = tail.partition(b"\n")
    wanted = head + b"b = 2" + (b"\r" if end[0] == b"\r" else b"") + end[1] + end[2]
    assert after == wanted


# --- laws ------------------------------------------------------------------------

OTHER_LINES = st.sampled_from(
    ["a = 0", "# note", "", "if q:\n    r = 1  # s", "f(\n  1,\n)", "x = '''\n  t'''"]
)
SOURCES = st.tuples(st.lists(OTHER_LINES), st.lists(OTHER_LINES)).map(
    lambda parts: "".join(f"{line}\n" for line in [*parts[0], "b = 1", *parts[1]])
)


@given(SOURCES, st.sampled_from(["\n", "\r\n"]), st.sampled_from(["", "\n"]))
def test_inserting_adds_its_lines_and_touches_no_other(
    source: str, end: str, stripped: str
) -> None:
    text = source.rstrip(stripped).replace("\n", end)
    end = end if end in text else "\n"
    after = edited(text, edit.insert_after("b = 1", "c = 3"))
    assert after.replace(f"b = 1{end}c = 3", "b = 1", 1) == text
    assert after != text


@given(SOURCES)
def test_removing_undoes_inserting(source: str) -> None:
    inserted = edited(source, edit.insert_after("b = 1", "c = 3"))
    assert edited(inserted, edit.replace("c = 3", "")) == source


@given(SOURCES)
def test_replacing_and_replacing_back_is_nothing(source: str) -> None:
    there = edited(source, edit.replace("b = 1", "b = 2"))
    assert edited(there, edit.replace("b = 2", "b = 1")) == source
