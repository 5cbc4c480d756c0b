"""Lists of names: string literals in a list, names in a `from … import …`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import libcst as cst

from patchset.definitions import Scope, map_statements
from patchset.edit.change import Change, Context, expect
from patchset.edit.nodes import code
from patchset.edit.rows import row_of, with_row
from patchset.edit.statements import Statements, on_statements
from patchset.errors import Mismatch


def extend_list(name: str, *values: str) -> Change:
    """Add string literals to the list that is assigned to `name`.

    Raises Mismatch where it holds one of them already.
    """

    def change(statement: cst.BaseStatement, context: Context) -> Statements:
        old = assigned_list(statement)
        row = row_of(old)
        for value in values:
            if value in strings_in(old):
                raise Mismatch(f"{name} in {context.path} holds {value!r} already")
            row = row.add(cst.Element(cst.SimpleString(f'"{value}"')))
        new = statement.deep_replace(old, with_row(old, row))
        return (cast("cst.BaseStatement", new),)

    return on_statements(f"{name} = [...]", 1, change)


def assigned_list(statement: cst.CSTNode) -> cst.List:
    """The list in a statement of the shape `name = [...]`."""
    line = cst.ensure_type(statement, cst.SimpleStatementLine)
    return cst.ensure_type(cst.ensure_type(line.body[0], cst.Assign).value, cst.List)


def strings_in(literal: cst.List) -> set[str]:
    """The string literals that a list holds; what else it holds does not count."""
    values = {
        element.value.evaluated_value
        for element in literal.elements
        if isinstance(element.value, cst.SimpleString | cst.ConcatenatedString)
    }
    return {value for value in values if isinstance(value, str)}


def extend_import(source: str, *names: str) -> Change:
    """Add names to the one `from source import …` outside definitions.

    `source` is spelt as it is there, dots included. For `<module>` only. Raises
    Mismatch where a name is imported already.
    """

    def change(scope: Scope, context: Context) -> Scope:
        found = 0

        def one(node: cst.CSTNode) -> tuple[cst.CSTNode, ...]:
            nonlocal found
            statement = import_from(node, source)
            if statement is None:
                return (node,)
            found += 1
            row = row_of(statement)
            for name in names:
                if name in names_in(statement):
                    raise Mismatch(f"{name} is imported from {source} already")
                row = row.add(cst.ImportAlias(cst.Name(name)))
            return (node.with_changes(body=[with_row(statement, row)]),)

        new = map_statements(scope, one)
        expect(context, f"`from {source} import …`", found=found)
        return new

    return change


def import_from(node: cst.CSTNode, source: str) -> cst.ImportFrom | None:
    """The `from source import …`, names in it, that a line consists of."""
    if not isinstance(node, cst.SimpleStatementLine) or len(node.body) != 1:
        return None
    statement = node.body[0]
    if not isinstance(statement, cst.ImportFrom) or isinstance(
        statement.names, cst.ImportStar
    ):
        return None
    module = code(statement.module) if statement.module else ""
    return statement if "." * len(statement.relative) + module == source else None


def names_in(statement: cst.ImportFrom) -> set[str]:
    """The names that an import gives under their own name."""
    aliases = cast("Sequence[cst.ImportAlias]", statement.names)
    return {
        alias.evaluated_name
        for alias in aliases
        if alias.evaluated_alias in {None, alias.evaluated_name}
    }
