"""Replacing statements, and putting others beside or into them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias, cast

import libcst as cst

from patchset.definitions import Scope, map_statements
from patchset.edit.change import Change, Context, expect, shown
from patchset.edit.nodes import code, lines_above, parse, with_lines_above
from patchset.edit.shapes import anchor, expression_fits, statement_fits
from patchset.errors import Mismatch
from patchset.pattern import matches, parse_pattern

Statements: TypeAlias = Sequence[cst.BaseStatement]


def replace(pattern: str, text: str, *, times: int = 1) -> Change:
    """Put the code in `text` in the place of each statement of that shape.

    A statement `...` in one of its blocks stands for the statements of the block that
    `...` stood for in the pattern. Comments above the statement stay above the code;
    an empty `text` removes the statement and them.
    """

    def change(statement: cst.BaseStatement, context: Context) -> Statements:
        new = [_filled(one, statement) for one in parse(text, context.module)]
        if not new:
            return ()
        return (with_lines_above(new[0], lines_above(statement)), *new[1:])

    return on_statements(pattern, times, change)


def insert_before(pattern: str, text: str, *, times: int = 1) -> Change:
    """Put the code in `text` before each statement of that shape.

    Empty lines above the statement come above the code; comments stay where they are.
    """

    def change(statement: cst.BaseStatement, context: Context) -> Statements:
        lines = lines_above(statement)
        own = [index for index, line in enumerate(lines) if line.comment is not None]
        above = len(lines) if not own else own[0]
        first, *others = parse(text, context.module)
        return (
            with_lines_above(first, lines[:above]),
            *others,
            statement.with_changes(leading_lines=lines[above:]),
        )

    return on_statements(pattern, times, change)


def insert_after(pattern: str, text: str, *, times: int = 1) -> Change:
    """Put the code in `text` after each statement of that shape."""
    return on_statements(
        pattern,
        times,
        lambda statement, context: (statement, *parse(text, context.module)),
    )


def prepend(pattern: str, text: str, *, times: int = 1) -> Change:
    """Put the code in `text` at the start of the block of each statement."""

    def change(statement: cst.BaseStatement, context: Context) -> Statements:
        block = _block(statement)
        body = [*parse(text, context.module), *block.body]
        return (statement.with_changes(body=block.with_changes(body=body)),)

    return on_statements(pattern, times, change)


def append(pattern: str, text: str, *, times: int = 1) -> Change:
    """Put the code in `text` at the end of the block of each statement."""

    def change(statement: cst.BaseStatement, context: Context) -> Statements:
        block = _block(statement)
        body = [*block.body, *parse(text, context.module)]
        return (statement.with_changes(body=block.with_changes(body=body)),)

    return on_statements(pattern, times, change)


def add_branch(after: str, test: str, text: str) -> Change:
    """Add `elif test:`, with the code in `text`, after the branch that tests `after`.

    That branch is an `if` or an `elif`; what follows it follows the new one.
    """
    wanted = parse_pattern(after)

    def on_scope(scope: Scope, context: Context) -> Scope:
        found = 0

        def one(node: cst.CSTNode) -> tuple[cst.CSTNode, ...]:
            nonlocal found
            if not isinstance(node, cst.If) or not expression_fits(node.test, wanted):
                return (node,)
            found += 1
            new = cst.If(
                test=cst.parse_expression(test),
                body=cst.IndentedBlock(parse(text, context.module)),
                orelse=node.orelse,
            )
            return (node.with_changes(orelse=new),)

        new = map_statements(scope, one)
        expect(
            context,
            f"the branch `if {after}`",
            found=found,
            fits=lambda node: isinstance(node, ast.If) and matches(wanted, node.test),
        )
        return new

    return on_scope


def on_statements(
    pattern: str,
    times: int,
    change: Callable[[cst.BaseStatement, Context], Statements],
) -> Change:
    """What `change` gives in the place of each statement of the shape of `pattern`."""
    wanted = anchor(pattern)

    def on_scope(scope: Scope, context: Context) -> Scope:
        found = 0

        def one(node: cst.CSTNode) -> tuple[cst.CSTNode, ...]:
            nonlocal found
            if not statement_fits(node, wanted):
                return (node,)
            found += 1
            return tuple(change(node, context))

        new = map_statements(scope, one)
        expect(
            context,
            shown(pattern),
            found=found,
            wanted=times,
            fits=partial(matches, wanted),
        )
        return new

    return on_scope


def _block(statement: cst.BaseStatement) -> cst.IndentedBlock:
    block = getattr(statement, "body", None)
    return _indented(block if isinstance(block, cst.BaseSuite) else statement)


def _indented(block: cst.CSTNode) -> cst.IndentedBlock:
    if not isinstance(block, cst.IndentedBlock):
        raise Mismatch(f"no indented block: {shown(code(block))}")
    return block


def _filled(
    template: cst.BaseStatement, matched: cst.BaseStatement
) -> cst.BaseStatement:
    """The template with the matched block's statements in the place of its `...`."""
    block = getattr(matched, "body", None)
    if not isinstance(block, cst.BaseSuite):
        return template
    return cast("cst.BaseStatement", template.visit(_Fill(block)))


class _Fill(cst.CSTTransformer):
    def __init__(self, block: cst.BaseSuite) -> None:
        super().__init__()
        self._block = block

    def leave_SimpleStatementSuite(
        self,
        original_node: cst.SimpleStatementSuite,
        updated_node: cst.SimpleStatementSuite,
    ) -> cst.BaseSuite:
        return self._block if code(original_node).strip() == "..." else updated_node

    def leave_IndentedBlock(
        self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock
    ) -> cst.BaseSuite:
        if code(original_node).strip() == "...":
            return self._block
        if not any(map(_is_hole, updated_node.body)):
            return updated_node
        block = _indented(self._block)
        body: list[cst.BaseStatement] = []
        for statement in updated_node.body:
            if _is_hole(statement):
                first, *others = block.body
                body += [with_lines_above(first, lines_above(statement)), *others]
            else:
                body.append(statement)
        return updated_node.with_changes(body=body, footer=block.footer)


def _is_hole(statement: cst.BaseStatement) -> bool:
    return isinstance(statement, cst.SimpleStatementLine) and (
        code(statement.body[0]).strip() == "..."
    )
