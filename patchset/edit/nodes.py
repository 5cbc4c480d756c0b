"""From text to nodes and back, and what belongs to a statement."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import cast

import libcst as cst


def code(node: cst.CSTNode) -> str:
    """The text of a node, at no indentation."""
    return cst.Module(body=[]).code_for_node(node)


def parse(text: str, module: cst.Module) -> list[cst.BaseStatement]:
    """Statements in the line ends and the indentation of `module`.

    Empty lines above the first are its own, but for one line break at the start.
    Raises ValueError for a comment that belongs to no statement.
    """
    lines = textwrap.dedent(text).removeprefix("\n").rstrip("\n").splitlines()
    end = module.default_newline
    config = cst.PartialParserConfig(default_newline=end)
    parsed = cst.parse_module(end.join(lines) + end, config).visit(_BareEmptyLines())
    body = cast("list[cst.BaseStatement]", list(parsed.body))
    outside = [*parsed.footer, *([] if body else parsed.header)]
    if any(line.comment is not None for line in outside):
        raise ValueError(f"a comment with no statement below it: {text}")
    return [with_lines_above(body[0], parsed.header), *body[1:]] if body else []


class _BareEmptyLines(cst.CSTTransformer):
    """Without it, an empty line in a template prints its indentation."""

    def leave_EmptyLine(
        self, original_node: cst.EmptyLine, updated_node: cst.EmptyLine
    ) -> cst.EmptyLine:
        if original_node.comment is not None:
            return updated_node
        return updated_node.with_changes(indent=False)


def lines_above(statement: cst.CSTNode) -> Sequence[cst.EmptyLine]:
    """The empty lines and comments that belong to a statement."""
    return cast("Sequence[cst.EmptyLine]", getattr(statement, "leading_lines", ()))


def with_lines_above(
    statement: cst.BaseStatement, lines: Sequence[cst.EmptyLine]
) -> cst.BaseStatement:
    """The statement with `lines` above those that it has."""
    if not lines:
        return statement
    return statement.with_changes(leading_lines=[*lines, *lines_above(statement)])


def name_of(statement: cst.CSTNode) -> str | None:
    """The name that a definition defines; None for any other statement."""
    if isinstance(statement, cst.FunctionDef | cst.ClassDef):
        return statement.name.value
    return None
