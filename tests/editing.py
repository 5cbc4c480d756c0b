"""What the tests of `patchset.edit` share: a change made to source text."""

from __future__ import annotations

import textwrap

import libcst as cst

from patchset import edit


def edited(source: str, *changes: edit.Change, path: str = edit.MODULE) -> str:
    """The text after the changes; it compiles, or the test fails."""
    after = edit.within(cst.parse_module(source), path, *changes).code
    compile(after, "<edited>", "exec", dont_inherit=True)
    return after


def block(source: str) -> str:
    """An indented literal, at no indentation."""
    return textwrap.dedent(source).lstrip("\n")
