"""Unified diffs of bytes, for `git apply` and `patch -p1`, whatever the encoding."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

_NO_NEWLINE = b"\\ No newline at end of file\n"


def unified(path: str, before: bytes, after: bytes) -> bytes:
    """The diff of one file; empty where the bytes are equal.

    Lines end at line feeds only: a carriage return is content, and stays where it is.
    """
    lines = difflib.diff_bytes(
        difflib.unified_diff,
        _lines(before),
        _lines(after),
        _name(f"a/{path}"),
        _name(f"b/{path}"),
        lineterm=b"\n",
    )
    return b"".join(_marked(lines))


def _name(path: str) -> bytes:
    """A tab ends a name that has spaces, as in the diffs of GNU and of git."""
    return (path + "\t" * (" " in path)).encode()


def _lines(content: bytes) -> list[bytes]:
    parts = content.split(b"\n")
    return [part + b"\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def _marked(lines: Iterator[bytes]) -> Iterator[bytes]:
    for line in lines:
        if line.endswith(b"\n"):
            yield line
        else:
            yield line + b"\n" + _NO_NEWLINE
