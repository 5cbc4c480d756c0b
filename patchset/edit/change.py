"""One change to one definition, and the error of an anchor that does not match."""

from __future__ import annotations

import ast
import contextlib
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias, cast

import libcst as cst

from patchset.definitions import MODULE, Scope, definition_nodes, find
from patchset.errors import Mismatch


@dataclass(frozen=True, slots=True)
class Context:
    """One definition under change, and the module as it was before."""

    module: cst.Module
    path: str


Change: TypeAlias = Callable[[Scope, Context], Scope]


def within(module: cst.Module, path: str, *changes: Change) -> cst.Module:
    """The module with `changes` made, in order, to the definition at `path`.

    `<module>` stands for the statements outside definitions. Raises Mismatch where
    the definition is missing or ambiguous, or a change does not match.
    """
    context = Context(module, path)
    place = None if path == MODULE else find(module, path)
    scope: Scope = module if place is None else place.node
    for change in changes:
        scope = change(scope, context)
    return cast("cst.Module", scope) if place is None else place.put(scope)


def expect(
    context: Context,
    what: str,
    *,
    found: int,
    wanted: int = 1,
    fits: Callable[[ast.AST], bool] | None = None,
) -> None:
    """Raise Mismatch unless as many were found as wanted.

    The message gives the lines of what `fits`: where they are too many or too few.
    """
    if found == wanted:
        return
    lines = [] if fits is None else _lines(context, fits)
    where = f" (lines {', '.join(map(str, lines))})" if lines else ""
    raise Mismatch(
        f"expected {wanted} of {what} in {context.path}, found {found}{where}"
    )


def shown(text: str) -> str:
    """The first line of an anchor, for a message."""
    lines = textwrap.dedent(text).strip().splitlines()
    return f"`{lines[0]}`" if len(lines) == 1 else f"`{lines[0]} …`"


def _lines(context: Context, fits: Callable[[ast.AST], bool]) -> list[int]:
    """Where they are in the module as it was."""
    roots: list[ast.AST] = [*definition_nodes(context.module, context.path)]
    if context.path == MODULE:
        with contextlib.suppress(SyntaxError):  # newer than the Python that runs this
            roots = [ast.parse(context.module.bytes)]
    own = (node for root in roots for node in _own(root))
    lines = {
        node.lineno
        for node in own
        if isinstance(node, ast.stmt | ast.expr) and fits(node)
    }
    return sorted(lines)


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """What is in a definition and in no definition nested in it."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from _own(child)
