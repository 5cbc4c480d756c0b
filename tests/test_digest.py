"""Digests: of bytes, of RECORD's fields, of code, of a set of files."""

from __future__ import annotations

import ast
import base64
import hashlib
import json
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchset.digest import fingerprint, from_record, of_bytes, of_code
from patchset.model import Digest
from tests.environments import clean_environ
from tests.pythons import others

ROOT = Path(__file__).resolve().parents[1]
NO_DIGEST = ("", "sha256=", "md5=AAAA", "sha256=!!", "sha256=AAAA", "sha256=é", "a")


def code(text: str, *without: str) -> Digest:
    return of_code(ast.parse(text), without=frozenset(without))


@given(st.binary())
def test_a_record_field_gives_the_digest_of_the_bytes(content: bytes) -> None:
    raw = hashlib.sha256(content).digest()
    field = f"sha256={base64.urlsafe_b64encode(raw).rstrip(b'=').decode()}"
    assert from_record(field) == of_bytes(content)


@pytest.mark.parametrize("field", NO_DIGEST)
def test_what_is_no_sha256_is_no_digest(field: str) -> None:
    assert from_record(field) is None


@given(st.text(max_size=60))
def test_no_field_is_too_odd(text: str) -> None:
    assert from_record(f"sha256={text}") is None or len(text) >= 43


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x = 1", "x  =  1  # why"),
        ("'''a'''\nx = 1", "'''b'''\nx = 1"),
        ("def f():\n    '''a'''\n    g()", "def f():\n\n    g()"),
        ("async def f():\n    'a'\n    g()", "async def f():\n    g()"),
        ("class A:\n    'a'\n    x = 1", "class A:\n    'b'\n    x = 1"),
        ("x = 'a'", 'x = u"a"'),
        ("x = (1)", "x = 1"),
    ],
)
def test_layout_comments_and_docstrings_are_no_code(one: str, other: str) -> None:
    assert code(one) == code(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x = 1", "x = 2"),
        ("x = 1", "x = '1'"),
        ("x = 1", "x = 1.0"),
        ("x = True", "x = 1"),
        ("'a'\nx = 1", "x = 1\n'a'"),
        ("x = {**a, 'b': c}", "x = {'b': a, **c}"),
        ("def f(*, a, b=1): ...", "def f(*, a=1, b): ..."),
        ("match x:\n case None: ...", "match x:\n case True: ..."),
        ("from a import b", "from .a import b"),
        ("def f(a): ...", "async def f(a): ..."),
        ("x = a if b else c", "x = b if a else c"),
        ("if a: b()\nc()", "if a:\n    b()\n    c()"),
        ("x = f'{a!r}'", "x = f'{a}'"),
    ],
)
def test_what_does_something_else_has_another_digest(one: str, other: str) -> None:
    assert code(one) != code(other)


@pytest.mark.parametrize("text", ["TARGET = 'a'\n", "TARGET: str = 'a'\n"])
def test_named_assignments_do_not_count(text: str) -> None:
    assert code(f"{text}x = 1", "TARGET") == code("x = 1")


def test_an_assignment_to_another_name_as_well_counts() -> None:
    assert code("_A = TARGET = 1", "TARGET") != code("_A = TARGET = 2", "TARGET")
    assert code("a.TARGET = 1", "TARGET") != code("a.TARGET = 2", "TARGET")


@pytest.mark.parametrize("python", others())
def test_every_python_gives_our_own_code_the_same_digest(python: Path) -> None:
    """A codemod's digest is kept in ledgers and tables that outlive an interpreter."""
    paths = sorted([*ROOT.glob("patchset/edit/*.py"), *ROOT.glob("patches/*/*.py")])
    program = (
        "import ast, json, sys; from patchset.digest import of_code; "
        "print(json.dumps([of_code(ast.parse(open(path, 'rb').read())) "
        "for path in sys.argv[1:]]))"
    )
    done = subprocess.run(
        [str(python), "-B", "-c", program, *map(str, paths)],
        capture_output=True,
        check=True,
        cwd=ROOT,
        env=clean_environ(),
    )
    assert json.loads(done.stdout) == [
        of_code(ast.parse(path.read_bytes())) for path in paths
    ]


def test_the_fingerprint_is_of_paths_and_digests_in_any_order() -> None:
    rows = [("a.py", of_bytes(b"1")), ("b.py", of_bytes(b"2"))]
    assert fingerprint(rows) == fingerprint(reversed(rows))
    assert fingerprint(rows) != fingerprint(rows[:1])
    assert fingerprint(rows) != fingerprint(
        [("a.py", rows[1][1]), ("b.py", rows[0][1])]
    )
    assert fingerprint([]) is None
