"""Folding: every check around a patch, and bytes of every kind."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patchset.interpreter import Interpreter
from patchset.model import Patch
from patchset.nesting import is_deep
from patchset.rewrite import Folded, Refused, fold
from tests.environments import clean_environ
from tests.pythons import find_newer_than
from tests.values import make_patch

ROOT = Path(__file__).resolve().parents[1]
OWN = Interpreter(
    python=f"{sys.version_info[0]}.{sys.version_info[1]}",
    executable=None,
    prefix="/",
    sites=(),
)
MODULE = b"a = 0\nb = 1\n"
_HEAD = "import libcst as cst\nfrom patchset import edit\n"


def patch(
    name: str,
    rewrite: str,
    fixed: str = "return False",
    touches: Sequence[str] = ("<module>",),
) -> Patch:
    """A patch whose two functions have these bodies."""
    body = textwrap.indent(rewrite, "    ")
    test = textwrap.indent(fixed, "    ")
    source = f"{_HEAD}def rewrite(module):\n{body}\ndef fixed(module):\n{test}\n"
    return make_patch(name, source=source, touches=touches)


def replacing(
    name: str, before: str, after: str, where: str = "<module>", count: int = 1
) -> Patch:
    return patch(
        name,
        f"return edit.within(module, {where!r}, edit.replace({before!r}, {after!r}))",
        f"return edit.count(module, {where!r}, {after!r}) == {count}",
        (where,),
    )


ONE = make_patch(
    "one",
    source=_HEAD
    + """
class _Two(cst.CSTTransformer):
    def leave_Assign(self, original_node, updated_node):
        if cst.Module([]).code_for_node(updated_node).startswith("b = 1"):
            return updated_node.with_changes(value=cst.Integer("2"))
        return updated_node


def _count(module, number):
    lines = [x for x in module.body if isinstance(x, cst.SimpleStatementLine)]
    each = [part for line in lines for part in line.body]
    shown = [cst.Module([]).code_for_node(part).rstrip("; ") for part in each]
    return shown.count("b = " + number)


def rewrite(module):
    found = _count(module, "1")
    if found != 1:
        raise edit.Mismatch("expected 1 of b = 1, found " + str(found))
    return module.visit(_Two())


def fixed(module):
    return _count(module, "2") == 1
""",
)
"""Changes the one byte and nothing else of the file."""


def folded(base: bytes, *patches: Patch) -> Folded:
    result = fold(base, patches, path="pkg/m.py", compiles=OWN.compiles)
    assert isinstance(result, Folded), result
    return result


def kinds(base: bytes, *patches: Patch) -> list[str]:
    return [kind for kind, _ in refused(base, *patches)]


def refused(base: bytes, *patches: Patch) -> list[tuple[str, str]]:
    result = fold(base, patches, path="pkg/m.py", compiles=OWN.compiles)
    assert isinstance(result, Refused)
    assert all(one.path == "pkg/m.py" for one in result.problems)
    assert all(one.hint for one in result.problems)
    return [(one.kind, one.message) for one in result.problems]


# --- the checks around a patch ---------------------------------------------------


def test_a_patch_is_folded_over_the_base() -> None:
    result = folded(MODULE, ONE)
    assert result == Folded(content=b"a = 0\nb = 2\n", applied=(ONE,), obsolete=())


def test_without_patches_the_base_comes_back() -> None:
    assert folded(MODULE).content is MODULE


def test_what_is_fixed_already_is_obsolete_and_never_rewritten() -> None:
    """B15."""
    loud = patch("loud", "raise OSError", "return True")
    result = folded(MODULE, loud)
    assert result == Folded(content=MODULE, applied=(), obsolete=(loud,))
    both = folded(b"a = 0\nb = 2\n", ONE, replacing("two", "a = 0", "a = 9"))
    assert both.content == b"a = 9\nb = 2\n"
    assert [one.id for one in both.obsolete] == ["pkg/one"]


def test_a_comment_that_looks_like_the_cure_is_none() -> None:
    """B14."""
    assert folded(b"b = 1  # b = 2\n", ONE).content == b"b = 2  # b = 2\n"


def test_a_comment_between_is_kept() -> None:
    """B8."""
    assert folded(b"a = 0\n# new\nb = 1\n", ONE).content == b"a = 0\n# new\nb = 2\n"


@pytest.mark.parametrize("body", ["return module", "return module.with_changes()"])
def test_a_patch_without_effect_is_refused(body: str) -> None:
    assert kinds(MODULE, patch("idle", body)) == ["no-effect"]


_CLASSES = (
    b"class A:\n    def f(self):\n        b = 1\n    def g(self):\n        b = 1\n"
)


@pytest.mark.parametrize(
    ("touches", "expected"),
    [
        (["A.f", "A.g"], "changes A.f, and declares A.f, A.g"),
        (["A"], "changes A.f, and declares A"),
        (["A.g"], "changes A.f, and declares A.g"),
    ],
)
def test_what_it_changes_is_what_it_declares(
    touches: Sequence[str], expected: str
) -> None:
    one = replacing("one", "b = 1", "b = 2", "A.f")
    wrong = make_patch("one", source=one.source, touches=touches)
    ((kind, message),) = refused(_CLASSES, wrong)
    assert kind == "touches"
    assert expected in message


def test_changing_more_than_declared_is_refused() -> None:
    body = (
        "module = edit.within(module, 'A.f', edit.replace('b = 1', 'b = 2'))\n"
        "return edit.within(module, 'A.g', edit.replace('b = 1', 'b = 2'))"
    )
    more = patch("more", body, touches=["A.f"])
    ((kind, message),) = refused(_CLASSES, more)
    assert kind == "touches"
    assert "changes A.f, A.g, and declares A.f" in message


def test_what_its_own_test_does_not_recognise_is_refused() -> None:
    bad = make_patch("bad", source=ONE.source.replace("== 1", "== 5"))
    assert kinds(MODULE, bad) == ["not-recognised"]


def test_a_result_that_is_no_python_is_refused() -> None:
    """B18: LibCST prints whatever name it is given."""
    body = "return edit.within(module, '<module>', edit.replace('b = 1', 'b = q'))"
    renamed = patch(
        "bad",
        f"module = {body.removeprefix('return ')}\n"
        "return module.with_deep_changes(\n"
        "    module.body[1].body[0].value, value='class')",
        "return 'class' in module.code",
    )
    ((kind, message),) = refused(MODULE, renamed)
    assert kind == "bad-result"
    assert "pkg/bad would write does not compile" in message


def test_a_result_that_the_encoding_lacks_is_refused() -> None:
    base = b"# coding: latin-1\nb = 1  # \xb5\n"
    ((kind, message),) = refused(base, replacing("arrow", "b = 1", "b = '\u2192'"))
    assert kind == "bad-result"
    assert "cannot be printed: UnicodeEncodeError" in message


def test_a_tree_that_cannot_be_printed_is_refused() -> None:
    odd = patch("odd", "return module.with_changes(body=['no statement'])")
    ((kind, message),) = refused(MODULE, odd)
    assert kind == "patch-failed"
    assert "printing what rewrite made raised" in message
    nested = patch(
        "odd",
        "return module.with_changes(header=[1])",
        "return module.header == [1]",
    )
    assert set(kinds(MODULE, nested)) <= {"patch-failed", "bad-result"}


@pytest.mark.parametrize("value", ["None", "'b = 2'", "(module,)", "module.body[0]"])
def test_a_rewrite_that_returns_no_module_is_refused(value: str) -> None:
    ((kind, message),) = refused(MODULE, patch("odd", f"return {value}"))
    assert kind == "patch-failed"
    assert "not a module" in message


@pytest.mark.parametrize("value", ["None", "1", "'yes'"])
def test_a_fixed_that_returns_no_bool_is_refused(value: str) -> None:
    ((kind, message),) = refused(
        MODULE, patch("odd", "return module", f"return {value}")
    )
    assert kind == "patch-failed"
    assert "not a bool" in message


@pytest.mark.parametrize(
    "line", ["raise OSError('oh')", "raise SystemExit(3)", "1 / 0", "import nowhere"]
)
def test_a_patch_that_raises_is_refused(line: str) -> None:
    name = {"raise OSError('oh')": "OSError: oh", "1 / 0": "ZeroDivisionError"}
    for bad, what in (
        (patch("odd", line), "rewrite raised"),
        (patch("odd", "return module", line), "fixed raised"),
        (make_patch("odd", source=line), "loading it raised"),
    ):
        ((kind, message),) = refused(MODULE, bad)
        assert kind == "patch-failed"
        assert what in message
        assert name.get(line, "") in message


@pytest.mark.parametrize("source", ["", "rewrite = fixed = 1\n"])
def test_a_patch_without_its_functions_is_refused(source: str) -> None:
    ((kind, message),) = refused(MODULE, make_patch("odd", source=source))
    assert (kind, "no rewrite and fixed" in message) == ("patch-failed", True)


def test_a_moved_anchor_is_refused_never_obsolete() -> None:
    """F15, B9: which of the two it is, the user has to be told."""
    gone = replacing("gone", "b = 1", "b = 2", "A.f")
    ((kind, message),) = refused(MODULE, gone)
    assert kind == "anchor-moved"
    assert "no definition of A.f" in message
    assert kinds(b"b = int(1)\n", ONE) == ["anchor-moved"]
    assert kinds(b"b = 1\nb = 1\n", ONE) == ["anchor-moved"]


def test_what_a_patch_prints_is_no_part_of_standard_output(
    capsys: pytest.CaptureFixture[str],
) -> None:
    source = f"print('one')\n{ONE.source}"
    source = source.replace("return module.v", "print('two'); return module.v")
    loud = make_patch("loud", source=source)
    folded(MODULE, loud)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "one\ntwo\n"


def test_every_failure_is_shown() -> None:
    """F13."""
    bad = [patch(name, "raise OSError") for name in ("a", "c")]
    assert [m for _, m in refused(MODULE, *bad, ONE)] == [
        "pkg/m.py: pkg/a: rewrite raised OSError: ",
        "pkg/m.py: pkg/c: rewrite raised OSError: ",
    ]


# --- several patches -------------------------------------------------------------


def test_patches_are_folded_in_the_order_of_ids_whatever_order_they_come_in() -> None:
    two = replacing("two", "a = 0", "a = 9")
    assert folded(MODULE, two, ONE) == folded(MODULE, ONE, two)
    assert folded(MODULE, two, ONE).applied == (ONE, two)


def test_two_patches_on_one_statement_are_both_named() -> None:
    """B17."""
    other = replacing("other", "b = 1", "b = 3")
    ((kind, message),) = refused(MODULE, ONE, other)
    assert kind == "conflict"
    assert "pkg/other: conflicts with pkg/one" in message


def test_the_same_cure_twice_is_a_conflict() -> None:
    twin = replacing("twin", "b = 1", "b = 2")
    ((kind, message),) = refused(MODULE, ONE, twin)
    assert kind == "conflict"
    assert "its cure is there already" in message


def test_a_conflict_names_the_one_that_is_in_the_way() -> None:
    bystander = replacing("a", "a = 0", "a = 9")
    other = replacing("z", "b = 1", "b = 3")
    ((_, message),) = refused(MODULE, bystander, ONE, other)
    assert "conflicts with pkg/one" in message


def test_a_conflict_with_two_together_is_the_refusal_itself() -> None:
    second = replacing("p", "a = 0", "a = 9")
    third = patch(
        "z",
        "if 'b = 2' in module.code and 'a = 9' in module.code:\n"
        "    raise OSError('both')\n"
        "return edit.within(module, '<module>', edit.replace('c = 1', 'c = 2'))",
        "return 'c = 2' in module.code",
    )
    ((kind, message),) = refused(MODULE + b"c = 1\n", ONE, second, third)
    assert kind == "patch-failed"
    assert "both" in message


def test_a_patch_that_fails_alone_is_nobody_s_conflict() -> None:
    first = replacing("a", "a = 0", "a = 9")
    dependent = patch(
        "p",
        "edit.within(module, '<module>', edit.replace('a = 9', 'a = 9'))\n"
        "return edit.within(module, '<module>', edit.replace('b = 1', 'b = 2'))",
        "return 'b = 2' in module.code",
    )
    last = replacing("z", "b = 1", "b = 3")
    ((kind, message),) = refused(MODULE, first, dependent, last)
    assert kind == "anchor-moved"
    assert "pkg/z" in message


# --- bytes -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "base",
    [
        b"# coding=utf-8\nb = 1  # \xc2\xb5s\n",  # A1
        b"\xef\xbb\xbfb = 1\n",  # A4
        b"a = 0\r\nb = 1\r\n",
        b"a = 0\nb = 1\r\nc = 2\n",
        b"# coding: latin-1\nb = 1  # \xb5\n",
        b"b = 1",  # A8
        b"a = 0\nb = 1",
        b"if a:\n\tpass\nb = 1\n",
        b"match = 1\ntype(match)\nmatch match:\n    case [1, *_] if a: pass\nb = 1\n",
        b"assert(a)\nb = 1\nc = 1if a else 2\n",  # A17
        b"# @" + b"generated\nb = 1\n",  # A18
        b"b = 1;c = 2\n",
    ],
)
def test_only_the_one_byte_differs(base: bytes) -> None:
    assert folded(base, ONE).content == base.replace(b"b = 1", b"b = 2")


def test_a_statement_in_front_leaves_the_mark_in_front() -> None:
    """A4: the BOM stays the first three bytes, once."""
    first = patch(
        "first",
        "line = cst.parse_statement('import x\\n')\n"
        "return module.with_changes(body=[line, *module.body])",
        "return 'import x' in module.code",
    )
    assert folded(b"\xef\xbb\xbfb = 1\n", first).content == (
        b"\xef\xbb\xbfimport x\nb = 1\n"
    )


@pytest.mark.parametrize(
    ("base", "kind"),
    [
        (b"a = 0\rb = 1\r", "cannot-parse"),  # A6
        (b"b = 1 #\x80\n", "does-not-compile cannot-parse"),  # A3
        (b"b = 1\n\x1a", "does-not-compile"),  # A20
        (b"b = 1\x00\n", "does-not-compile"),
        (b"def f():\n    if x:\n\treturn 1\n", "does-not-compile"),
        (b"# coding: nowhere\nb = 1\n", "does-not-compile"),
        (b"b = (\n", "does-not-compile"),
        (b"\x0cb = 1\n", "cannot-parse"),
        (b"b = 1  # a backslash \\\n", "cannot-parse"),
        (b"b = 1\n\n\n   \n", "cannot-parse"),
        (b"x = (" + b"'a'\n" * 900 + b")\nb = 1\n", "cannot-parse"),  # A11
        (b"x = " + b"+".join([b"1"] * 400) + b"\nb = 1\n", "cannot-parse patch-failed"),
    ],
)
def test_what_cannot_be_printed_as_it_was_is_refused(base: bytes, kind: str) -> None:
    (found,) = kinds(base, ONE)
    assert found in kind.split()


def test_a_mixed_ending_that_libcst_keeps_is_patched() -> None:
    assert folded(b"a = 0\rb = 1\r\n", ONE).content == b"a = 0\rb = 2\r\n"


@settings(max_examples=60, deadline=None)
@given(
    st.binary(max_size=40), st.sampled_from([b"", b"b = 1\n", b"\xef\xbb\xbfb = 1\r"])
)
def test_no_bytes_are_too_odd(tail: bytes, head: bytes) -> None:
    result = fold(head + tail, [ONE], path="pkg/m.py", compiles=OWN.compiles)
    assert isinstance(result, Folded | Refused)
    if isinstance(result, Folded):
        assert OWN.compiles(result.content, "pkg/m.py") is None


DEEP = {
    "terms": "x = " + "+".join(["1"] * 20_000),  # A10
    "parentheses": "x = " + "(" * 20_000 + ")" * 20_000,
    "calls": "x = " + "f(" * 20_000 + ")" * 20_000,
    "conditions": "x = " + " and ".join(["1"] * 20_000),
    "strings": "x = (" + "'a'\n" * 20_000 + ")",
    "branches": "if a: pass\n" + "elif b: pass\n" * 20_000,
}


@pytest.mark.parametrize("name", sorted(DEEP))
def test_what_would_kill_the_parser_is_refused_and_kills_nothing(
    name: str, tmp_path: Path
) -> None:
    """A10: a crash in native code could not be caught here, hence the process."""
    (tmp_path / "m.py").write_text(DEEP[name] + "\nb = 1\n")
    program = (
        "import sys; from pathlib import Path; sys.path.insert(0, '.');"
        "from tests.test_rewrite import ONE, kinds;"
        "print(*kinds(Path(sys.argv[1]).read_bytes(), ONE))"
    )
    done = subprocess.run(
        [sys.executable, "-B", "-c", program, str(tmp_path / "m.py")],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env=clean_environ(),
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-500:]
    assert done.stdout.strip() in {"does-not-compile", "cannot-parse"}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x = " + " and ".join(["a"] * 1000), True),
        ("x = " + "+".join(["1"] * 600), True),
        ("x = (" + "+\n".join(["1"] * 600) + ")", True),
        ("x = [" + "1, " * 5000 + "]", False),
        ("x = " + " < ".join(["a"] * 900), False),
        ("if a:\n    b\n" * 2000, False),
        ("x = " + "(" * 5000, False),
        ("x = f'{d['a']}' if (", False),
        ("x = " + "1 if a else " * 700 + "2", True),
    ],
)
def test_depth_is_told_from_length(source: str, *, expected: bool) -> None:
    assert is_deep(source.encode()) is expected


@pytest.mark.parametrize("depth", [1000, 200_000])
def test_what_is_too_deep_is_refused_before_it_is_parsed(depth: int) -> None:
    base = b"x = " + b" and ".join([b"a"] * 1000) + b"\n"
    ((kind, message),) = refused(base, ONE)
    assert kind == "cannot-parse"
    assert "nested more than 500 deep" in message
    assert is_deep(b"x = " + b"-" * depth + b"1")


def test_a_list_of_fifty_thousand_is_no_trouble_to_look_at() -> None:
    """A19."""
    assert not is_deep(b"x = [\n" + b"1,\n" * 50_000 + b"]\n")


def test_newer_syntax_is_judged_by_the_target() -> None:
    """A13: quotes nested in an f-string are good code from 3.12 on."""
    python = find_newer_than("3.12")
    if python is None:
        pytest.skip("no Python 3.12 or newer here")
    target = Interpreter(python="3.12.1", executable=str(python), prefix="/", sites=())
    base = b"b = 1\nx = f'{d['a']}'\n"
    result = fold(base, [ONE], path="pkg/m.py", compiles=target.compiles)
    assert isinstance(result, Folded), result
    assert result.content == b"b = 2\nx = f'{d['a']}'\n"


def test_a_type_parameter_is_kept() -> None:
    """A14."""
    python = find_newer_than("3.12")
    if python is None:
        pytest.skip("no Python 3.12 or newer here")
    target = Interpreter(python="3.12.1", executable=str(python), prefix="/", sites=())
    inner = replacing("inner", "b = 1", "b = 2", "A")
    base = b"class A[T](Base):\n    b = 1\ntype X[T] = list[T]\n"
    result = fold(base, [inner], path="pkg/m.py", compiles=target.compiles)
    assert isinstance(result, Folded), result
    assert result.content == base.replace(b"b = 1", b"b = 2")


def test_it_changes_in_the_loop_of_a_patched_function() -> None:
    base = b"def f():\n    while(True):\n        assert(x)\n        b = 1\n"
    inner = replacing("inner", "b = 1", "b = 2", "f")
    assert folded(base, inner).content == base.replace(b"b = 1", b"b = 2")
