"""Definitions in a module by their dotted path: finding them, and rebuilding one.

A definition's own text is what is inside it and in no definition nested in it. No
scope analysis and no metadata: LibCST's providers cost seconds on a large module, a
walk over the blocks costs milliseconds, and untouched nodes keep their identity.
"""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias, TypeVar, cast

import libcst as cst

from patchset.errors import Mismatch

MODULE = "<module>"
"""The path of what is in no definition, imports included."""

Definition: TypeAlias = cst.FunctionDef | cst.ClassDef
Scope: TypeAlias = Definition | cst.Module
StatementChange: TypeAlias = Callable[[cst.CSTNode], tuple[cst.CSTNode, ...]]
_Node = TypeVar("_Node", bound=cst.CSTNode)

BLOCKS = ("body", "handlers", "cases", "orelse", "finalbody")
"""The attributes under which LibCST's compound statements hold others, in order."""


@dataclass(frozen=True, slots=True)
class _Step:
    parent: cst.CSTNode
    attribute: str
    index: int | None

    def put(self, child: cst.CSTNode) -> cst.CSTNode:
        """The parent with `child` in this place; all else keeps its identity."""
        if self.index is None:
            return self.parent.with_changes(**{self.attribute: child})
        children = list(getattr(self.parent, self.attribute))
        children[self.index] = child
        return self.parent.with_changes(**{self.attribute: children})


@dataclass(frozen=True, slots=True)
class Place:
    """A definition, where it stands, and how to get there."""

    path: str
    node: Definition
    steps: tuple[_Step, ...]

    def put(self, node: cst.CSTNode) -> cst.Module:
        """The module with `node` in this place."""
        for step in reversed(self.steps):
            node = step.put(node)
        return cast("cst.Module", node)


def block_children(node: cst.CSTNode) -> Iterator[tuple[str, int | None, cst.CSTNode]]:
    """The statements and blocks directly below a statement or a block."""
    for attribute in BLOCKS:
        value = getattr(node, attribute, None)
        if isinstance(value, cst.CSTNode):
            yield attribute, None, value
        elif value is not None:
            for index, child in enumerate(value):
                yield attribute, index, child


def places(module: cst.Module) -> Iterator[Place]:
    """Every definition of a module, outer before inner, in the order of the text."""
    yield from _places(module, (), "")


def _places(
    node: cst.CSTNode, steps: tuple[_Step, ...], prefix: str
) -> Iterator[Place]:
    for attribute, index, child in block_children(node):
        below = (*steps, _Step(node, attribute, index))
        if isinstance(child, cst.FunctionDef | cst.ClassDef):
            path = f"{prefix}{child.name.value}"
            yield Place(path, child, below)
            yield from _places(child, below, f"{path}.")
        elif not isinstance(child, cst.SimpleStatementLine):
            yield from _places(child, below, prefix)


def find(module: cst.Module, path: str) -> Place:
    """The one definition at `path`.

    Raises Mismatch where there is none or more than one: overloads and conditional
    definitions are nobody's anchor.
    """
    found = [place for place in places(module) if place.path == path]
    if len(found) == 1:
        return found[0]
    if found:
        lines = ", ".join(map(str, definition_lines(module, path)))
        where = f", lines {lines}" if lines else ""
        raise Mismatch(f"ambiguous: {len(found)} definitions of {path}{where}")
    raise Mismatch(f"no definition of {path}")


def definition_nodes(
    module: cst.Module, path: str
) -> list[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    """The definitions at `path` as `ast` has them: with line numbers, for messages.

    None where the file is newer than the Python that runs patchset.
    """
    found: list[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef] = []

    def walk(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                if prefix + child.name == path:
                    found.append(child)
                walk(child, f"{prefix}{child.name}.")
            else:
                walk(child, prefix)

    with contextlib.suppress(SyntaxError):
        walk(ast.parse(module.bytes), "")
    return found


def definition_lines(module: cst.Module, path: str) -> list[int]:
    """The lines on which the definitions at `path` begin."""
    return [node.lineno for node in definition_nodes(module, path)]


def changed_definitions(before: cst.Module, after: cst.Module) -> frozenset[str]:
    """The paths whose own text differs; an added or removed definition is one.

    Compares by identity first: a codemod leaves the nodes that it does not touch.
    """
    old, new = _own(before), _own(after)
    return frozenset(
        path
        for path in old.keys() | new.keys()
        if not _same_text(old.get(path, []), new.get(path, []))
    )


def _own(module: cst.Module) -> dict[str, list[Scope]]:
    index: dict[str, list[Scope]] = {MODULE: [module]}
    for place in places(module):
        index.setdefault(place.path, []).append(place.node)
    return index


def _same_text(before: list[Scope], after: list[Scope]) -> bool:
    return len(before) == len(after) and all(
        one is other or _own_code(one) == _own_code(other)
        for one, other in zip(before, after, strict=True)
    )


def _own_code(scope: Scope) -> str:
    """The text without nested definitions; comments above one of them are its own."""
    hollow = map_statements(scope, _without_definitions)
    if isinstance(hollow, cst.Module):
        return hollow.code
    return cst.Module(body=[]).code_for_node(hollow)


def _without_definitions(statement: cst.CSTNode) -> tuple[cst.CSTNode, ...]:
    if isinstance(statement, cst.FunctionDef | cst.ClassDef):
        return ()
    return (statement,)


def map_statements(scope: _Node, change: StatementChange) -> _Node:
    """`scope` with each of its own statements replaced by what `change` gives for it.

    A statement that `change` gives back as it is, is entered where it is compound; a
    nested definition is handed to `change`, never entered. What does not change keeps
    its identity.
    """
    updates: dict[str, object] = {}
    for attribute in BLOCKS:
        value = getattr(scope, attribute, None)
        if isinstance(value, cst.CSTNode):
            new = _map_one(value, change)
            if new is not value:
                updates[attribute] = new
        elif value is not None:
            children = [each for child in value for each in _map_many(child, change)]
            if len(children) != len(value) or any(
                one is not other for one, other in zip(children, value, strict=True)
            ):
                updates[attribute] = children
    return scope.with_changes(**updates) if updates else scope


def _map_one(node: cst.CSTNode, change: StatementChange) -> cst.CSTNode:
    """A block, an `else`, or the `if` of an `elif`: none of them can be dropped."""
    if not isinstance(node, cst.If):
        return map_statements(node, change)
    new = change(node)
    if len(new) != 1 or not isinstance(new[0], cst.If):
        raise Mismatch("an `elif` has no place for other statements beside it")
    return new[0] if new[0] is not node else map_statements(node, change)


def _map_many(node: cst.CSTNode, change: StatementChange) -> tuple[cst.CSTNode, ...]:
    if isinstance(node, cst.ExceptHandler | cst.ExceptStarHandler | cst.MatchCase):
        return (map_statements(node, change),)
    new = change(node)
    if len(new) != 1 or new[0] is not node:
        return new
    if isinstance(node, cst.FunctionDef | cst.ClassDef | cst.SimpleStatementLine):
        return new
    return (map_statements(node, change),)
