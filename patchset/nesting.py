"""How deep source is nested, known before a native parser is let near it."""

from __future__ import annotations

import ast

DEEPEST = 500
"""LibCST's printer recurses, and gives up earlier; its parser needs thousands to die.

Python compiles some of what kills that parser: a chain of 20,000 `and`, say.
"""


def is_deep(content: bytes) -> bool:
    """Whether the tree is so deep that the native parser might crash the process."""
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):
        return False  # newer syntax than ours; the target has compiled it
    except (RecursionError, MemoryError):
        return True
    pending: list[tuple[ast.AST, int]] = [(tree, 0)]
    while pending:
        node, depth = pending.pop()
        # LibCST nests a chain that `ast` keeps flat.
        depth += len(node.values) if isinstance(node, ast.BoolOp) else 1
        if depth > DEEPEST:
            return True
        if _room(node) > DEEPEST - depth:
            pending += [(child, depth) for child in ast.iter_child_nodes(node)]
    return False


def _room(node: ast.AST) -> int:
    """How deep the tree below may be at most: a level takes a character or more."""
    if isinstance(node, ast.expr) and node.lineno == node.end_lineno:
        return (node.end_col_offset or 0) - node.col_offset
    return DEEPEST
