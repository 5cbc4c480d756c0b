"""Patterns over Python source: text with `...` as the wildcard, compared as trees.

Layout, comments, quotes and parentheses do not count, names and structure do. `...`
stands for any expression; as the last positional argument of a call, for all that the
pattern does not name; as the only element of a display, for any elements; as the only
statement of a block, for any block.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Sequence
from functools import lru_cache

_IGNORED = frozenset({"ctx", "kind", "type_comment"})
_ELEMENTS = frozenset({"elts"})
_BLOCKS = frozenset({"body", "orelse", "finalbody"})


@lru_cache(maxsize=256)
def parse_pattern(source: str) -> ast.expr | ast.stmt:
    """One expression or one statement.

    Raises ValueError if the text holds another number of statements.
    """
    body = ast.parse(textwrap.dedent(source).strip()).body
    if len(body) != 1:
        raise ValueError(f"a pattern is one statement, this has {len(body)}: {source}")
    return body[0].value if isinstance(body[0], ast.Expr) else body[0]


def matches(pattern: ast.AST, found: ast.AST) -> bool:
    """Whether `found` has the shape of `pattern`."""
    if is_wildcard(pattern):
        return isinstance(found, ast.expr)
    if type(pattern) is not type(found):
        return False
    if isinstance(pattern, ast.Call) and isinstance(found, ast.Call):
        return _call_matches(pattern, found)
    return all(
        _field_matches(name, getattr(pattern, name, None), getattr(found, name, None))
        for name in pattern._fields
        if name not in _IGNORED
    )


def is_wildcard(node: object) -> bool:
    """Whether a node of a pattern stands for anything."""
    return isinstance(node, ast.Constant) and node.value is Ellipsis


def _field_matches(name: str, pattern: object, found: object) -> bool:
    if isinstance(pattern, ast.AST):
        return isinstance(found, ast.AST) and matches(pattern, found)
    if not isinstance(pattern, list) or not isinstance(found, list):
        return type(pattern) is type(found) and pattern == found
    if name in _ELEMENTS and len(pattern) == 1 and is_wildcard(pattern[0]):
        return True
    if name in _BLOCKS and found and _is_any_block(pattern):
        return True
    return _all_match(pattern, found)


def _is_any_block(block: Sequence[object]) -> bool:
    return (
        len(block) == 1
        and isinstance(block[0], ast.Expr)
        and is_wildcard(block[0].value)
    )


def _all_match(patterns: Sequence[object], found: Sequence[object]) -> bool:
    return len(patterns) == len(found) and all(
        matches(one, other)
        if isinstance(one, ast.AST) and isinstance(other, ast.AST)
        else one == other
        for one, other in zip(patterns, found, strict=True)
    )


def _call_matches(pattern: ast.Call, found: ast.Call) -> bool:
    if not matches(pattern.func, found.func):
        return False
    if not pattern.args or not is_wildcard(pattern.args[-1]):
        return _all_match(pattern.args, found.args) and _all_match(
            pattern.keywords, found.keywords
        )
    named = pattern.args[:-1]
    given = {keyword.arg: keyword.value for keyword in found.keywords}
    return _all_match(named, found.args[: len(named)]) and all(
        keyword.arg in given and matches(keyword.value, given[keyword.arg])
        for keyword in pattern.keywords
    )
