"""Diffs: what other tools make of them is what patchset writes."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patchset.diffs import unified

LINES = st.lists(
    st.sampled_from(
        [b"a = 0", b"b = 1", b"\xb5\r", b"", b"\r", b"x\ry", b"\\ No", b"-a"]
    ),
    max_size=8,
)
CONTENTS = st.builds(
    lambda lines, end: b"\n".join(lines) + end, LINES, st.sampled_from([b"", b"\n"])
)
PATCH = ["patch", "-p1", "--binary", "--silent", "--no-backup-if-mismatch"]
GIT = ["git", "apply", "--whitespace=nowarn", "-"]
TOOLS = [pytest.param(tool, id=tool[0]) for tool in (PATCH, GIT)]


def patched(
    tool: list[str], before: bytes, diff: bytes, path: str = "pkg/m.py"
) -> bytes:
    """The bytes that a tool makes of a file."""
    if shutil.which(tool[0]) is None:
        pytest.skip(f"no {tool[0]} here")
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder, path)
        target.parent.mkdir(parents=True)
        target.write_bytes(before)
        subprocess.run(
            tool, input=diff, cwd=folder, check=True, env={"PATH": "/usr/bin:/bin"}
        )
        return target.read_bytes()


@pytest.mark.parametrize("tool", TOOLS)
@settings(max_examples=25, deadline=None)
@given(before=CONTENTS, after=CONTENTS)
def test_applied_the_diff_gives_the_very_bytes(
    tool: list[str], before: bytes, after: bytes
) -> None:
    diff = unified("pkg/m.py", before, after)
    if before == after:
        assert diff == b""
    else:
        assert patched(tool, before, diff) == after


@given(CONTENTS)
def test_equal_bytes_have_no_diff(content: bytes) -> None:
    assert unified("pkg/m.py", content, content) == b""


def test_a_missing_final_newline_is_said_on_either_side() -> None:
    """A8."""
    mark = b"\\ No newline at end of file\n"
    gone = unified("m.py", b"a\nb\n", b"a\nb")
    assert gone.endswith(b"-b\n+b\n" + mark)
    come = unified("m.py", b"a\nb", b"a\nb\n")
    assert come.endswith(b"-b\n" + mark + b"+b\n")
    assert unified("m.py", b"a\nb", b"c\nb").endswith(b" b\n" + mark)


def test_the_paths_are_those_of_git() -> None:
    assert unified("pkg/m.py", b"a\n", b"b\n").startswith(
        b"--- a/pkg/m.py\n+++ b/pkg/m.py\n@@ -1 +1 @@\n"
    )


def test_a_carriage_return_is_content() -> None:
    assert unified("m.py", b"a\r\nb\rc\n", b"a\r\nb\rd\n").endswith(
        b" a\r\n-b\rc\n+b\rd\n"
    )


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("path", ["pkg/a b.py", "pkg/ü.py"])
def test_odd_names_are_found(tool: list[str], path: str) -> None:
    diff = unified(path, b"b = 1\n", b"b = 2\n")
    assert patched(tool, b"b = 1\n", diff, path) == b"b = 2\n"
