"""The questions that a patch's `fixed` asks about a definition.

Each raises Mismatch where the definition is missing or ambiguous: a cure is recognised,
never inferred from what cannot be found.
"""

from __future__ import annotations

import ast

import libcst as cst

from patchset.definitions import MODULE, Scope, find, map_statements, places
from patchset.edit.declarations import is_in_union
from patchset.edit.expressions import Expressions
from patchset.edit.listings import (
    assigned_list,
    import_from,
    names_in,
    strings_in,
)
from patchset.edit.nodes import code
from patchset.edit.shapes import anchor, statement_fits
from patchset.errors import Mismatch


def count(module: cst.Module, path: str, pattern: str) -> int:
    """How many statements or expressions of that shape are its own text."""
    scope = _scope(module, path)
    wanted = anchor(pattern)
    if isinstance(wanted, ast.expr):
        visitor = Expressions(scope, wanted, lambda node: node)
        scope.visit(visitor)
        return visitor.found
    return sum(statement_fits(node, wanted) for node in _statements(scope))


def defines(module: cst.Module, path: str, name: str) -> bool:
    """Whether a definition `name` is directly in it."""
    _scope(module, path)
    wanted = name if path == MODULE else f"{path}.{name}"
    return any(place.path == wanted for place in places(module))


def has_base(module: cst.Module, path: str, name: str) -> bool:
    """Whether the class names `name` as a base of its own."""
    node = _scope(module, path)
    if not isinstance(node, cst.ClassDef):
        raise Mismatch(f"{path} is no class")
    return name in {code(arg.value) for arg in node.bases}


def holds(module: cst.Module, path: str, name: str, *values: str) -> bool:
    """Whether the one list that is assigned to `name` in it has all `values`."""
    wanted = anchor(f"{name} = [...]")
    lists = [
        assigned_list(node)
        for node in _statements(_scope(module, path))
        if statement_fits(node, wanted)
    ]
    if len(lists) != 1:
        raise Mismatch(f"expected 1 of `{name} = [...]` in {path}, found {len(lists)}")
    return set(values) <= strings_in(lists[0])


def has_decorator(module: cst.Module, path: str, text: str) -> bool:
    """Whether the definition at `path` has a decorator, written without its `@`.

    Raises Mismatch where the definition is missing or ambiguous.
    """
    node = find(module, path).node
    return text in [code(one.decorator) for one in node.decorators]


def imports(module: cst.Module, source: str, name: str) -> bool:
    """Whether `from source import name` stands outside definitions."""
    return any(
        name in names_in(statement)
        for node in _statements(module)
        if (statement := import_from(node, source)) is not None
    )


def returns(module: cst.Module, path: str, kind: str) -> bool:
    """Whether the function says that it may return `kind`."""
    node = _scope(module, path)
    if not isinstance(node, cst.FunctionDef):
        raise Mismatch(f"{path} is no function")
    return node.returns is not None and is_in_union(kind, node.returns.annotation)


def _scope(module: cst.Module, path: str) -> Scope:
    return module if path == MODULE else find(module, path).node


def _statements(scope: Scope) -> list[cst.CSTNode]:
    found: list[cst.CSTNode] = []

    def look(node: cst.CSTNode) -> tuple[cst.CSTNode, ...]:
        found.append(node)
        return (node,)

    map_statements(scope, look)
    return found
