"""The names that a module-level `__getattr__` serves, where they can be read."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass

from patchset.analysis.modules import Module
from patchset.analysis.scope import Value


@dataclass(frozen=True, kw_only=True, slots=True)
class Lazies:
    """Name → (module, attribute) where that could be read, else None."""

    names: Mapping[str, tuple[str, str | None] | None]
    closed: bool
    """Whether any other name is an error for sure."""


def lazies(module: Module) -> Lazies | None:
    """Return what a module's `__getattr__` serves; None where it cannot be told.

    It is told by the literals that the function asks: tables of the module that it
    names, and constants that it compares its argument with. It is closed if it asks
    its argument nothing else and ends by raising.
    """
    bound = [each.bound for each in module.scope.final["__getattr__"]]
    if len(bound) != 1 or not isinstance(bound[0], ast.FunctionDef):
        return None
    function = bound[0]
    parameters = [*function.args.posonlyargs, *function.args.args]
    if len(parameters) != 1:
        return None
    names: dict[str, tuple[str, str | None] | None] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Compare):
            for part in ast.walk(node):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    names.setdefault(part.value, None)
        elif isinstance(node, ast.Name):
            names.update(_table(module, node.id))
    closed = (
        _ends_by_raising(function.body)
        and _asks_only(function, parameters[0].arg)
        and not _grows(module, function)
    )
    return Lazies(names=names, closed=closed)


def _table(module: Module, name: str) -> dict[str, tuple[str, str | None] | None]:
    table: dict[str, tuple[str, str | None] | None] = {}
    for each in module.scope.every.get(name, ()):
        value = each.bound.value if isinstance(each.bound, Value) else None
        match value:
            case ast.Dict(keys=keys, values=values):
                for key, item in zip(keys, values, strict=True):
                    if isinstance(key, ast.Constant) and isinstance(key.value, str):
                        table[key.value] = _place(key.value, item)
            case ast.List(elts=elts) | ast.Tuple(elts=elts) | ast.Set(elts=elts):
                for item in elts:
                    if isinstance(item, ast.Constant) and isinstance(item.value, str):
                        table[item.value] = None
            case _:
                pass
    return table


def _place(name: str, item: ast.expr) -> tuple[str, str | None] | None:
    match item:
        case ast.Constant(value=str(text)):
            path, colon, attribute = text.partition(":")
            if colon:
                return path, attribute
            return (path, name) if path.startswith(".") or "." in path else None
        case ast.Tuple(
            elts=[ast.Constant(value=str(path)), ast.Constant(value=str(what))]
        ):
            return path, what
        case _:
            return None


def _grows(module: Module, function: ast.FunctionDef) -> bool:
    """Whether a table that the function names gets entries from elsewhere."""
    for node in ast.walk(function):
        if not isinstance(node, ast.Name):
            continue
        name = re.escape(node.id)
        if re.search(
            rf"\b{name}(\.(update|setdefault|append|add)\(|\[[^\]\n]+\]\s*=[^=])",
            module.text,
        ):
            return True
        for each in module.scope.every.get(node.id, ()):
            value = each.bound.value if isinstance(each.bound, Value) else None
            if isinstance(value, ast.Dict) and None in value.keys:
                return True
    return False


def _ends_by_raising(body: list[ast.stmt]) -> bool:
    last = body[-1]
    if isinstance(last, ast.If):
        return bool(last.orelse) and _ends_by_raising(last.orelse)
    return isinstance(last, ast.Raise)


def _asks_only(function: ast.FunctionDef, name: str) -> bool:
    """Whether the argument is used in comparisons, look-ups and messages only."""
    fine: set[int] = set()
    for node in ast.walk(function):
        harmless = isinstance(
            node, ast.Compare | ast.Subscript | ast.FormattedValue
        ) or (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "get"
        )
        if harmless:
            fine.update(
                id(each)
                for each in ast.iter_child_nodes(node)
                if isinstance(each, ast.Name)
            )
    return all(
        id(node) in fine
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and node.id == name
    )
