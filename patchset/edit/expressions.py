"""Replacing expressions, and adding and dropping the arguments of calls."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial
from typing import cast

import libcst as cst

from patchset.definitions import Scope
from patchset.edit.change import Change, Context, expect, shown
from patchset.edit.rows import row_of, with_row
from patchset.edit.shapes import anchor, expression_fits
from patchset.errors import Mismatch
from patchset.pattern import matches


def replace_expression(pattern: str, text: str, *, times: int = 1) -> Change:
    """Put the expression in `text` in the place of each expression of that shape.

    It gets parentheses where it had them, and where it could need them.
    """
    new = cst.parse_expression(text)
    return on_expressions(pattern, times, lambda old: _fitted(new, old))


def add_argument(
    call: str, argument: str, *, after: str | None = None, times: int = 1
) -> Change:
    """Add `name=value` to each call of that shape, last or after the keyword `after`.

    Raises Mismatch where the call has the argument already, or lacks `after`.
    """
    new = cst.ensure_type(cst.parse_expression(f"f({argument})"), cst.Call).args[0]
    name = _keyword(new)

    def change(node: cst.Call) -> cst.Call:
        names = [_keyword(arg) for arg in node.args]
        if name in names:
            raise Mismatch(f"{shown(call)} has the argument {name} already")
        if after is not None and after not in names:
            raise Mismatch(f"{shown(call)} has no argument {after}")
        index = None if after is None else names.index(after)
        return with_row(node, row_of(node).add(new, after=index))

    return on_expressions(call, times, lambda node: change(cast("cst.Call", node)))


def drop_argument(call: str, name: str, *, times: int = 1) -> Change:
    """Drop the keyword `name` from each call of that shape.

    Raises Mismatch where the call has no such argument.
    """

    def change(node: cst.Call) -> cst.Call:
        names = [_keyword(arg) for arg in node.args]
        if name not in names:
            raise Mismatch(f"{shown(call)} has no argument {name}")
        return with_row(node, row_of(node).drop(names.index(name)))

    return on_expressions(call, times, lambda node: change(cast("cst.Call", node)))


def on_expressions(
    pattern: str,
    times: int,
    change: Callable[[cst.BaseExpression], cst.BaseExpression],
) -> Change:
    """What `change` gives in the place of each expression of the shape of `pattern`."""
    wanted = anchor(pattern)

    def on_scope(scope: Scope, context: Context) -> Scope:
        visitor = Expressions(scope, wanted, change)
        new = scope.visit(visitor)
        expect(
            context,
            shown(pattern),
            found=visitor.found,
            wanted=times,
            fits=partial(matches, wanted),
        )
        return cast("Scope", new)

    return on_scope


class Expressions(cst.CSTTransformer):
    """Changes the matching expressions of a scope, and of no definition in it."""

    def __init__(
        self,
        scope: Scope,
        wanted: ast.AST,
        change: Callable[[cst.BaseExpression], cst.BaseExpression],
    ) -> None:
        super().__init__()
        self.found = 0
        self._scope = scope
        self._wanted = wanted
        self._change = change

    def on_visit(self, node: cst.CSTNode) -> bool:
        """Not into nested definitions, nor into imports: a module name is no code."""
        return node is self._scope or not isinstance(
            node, cst.FunctionDef | cst.ClassDef | cst.Import | cst.ImportFrom
        )

    def on_leave(  # type: ignore[override]
        self, original_node: cst.CSTNode, updated_node: cst.CSTNode
    ) -> cst.CSTNode:
        """The match is on the text as it was, the change is made to what it became."""
        if isinstance(original_node, cst.BaseExpression) and expression_fits(
            original_node, self._wanted
        ):
            self.found += 1
            return self._change(cast("cst.BaseExpression", updated_node))
        return updated_node


_OPERATIONS = (
    cst.Await,
    cst.BinaryOperation,
    cst.BooleanOperation,
    cst.Comparison,
    cst.IfExp,
    cst.Lambda,
    cst.NamedExpr,
    cst.Tuple,
    cst.UnaryOperation,
    cst.Yield,
)


def _fitted(new: cst.BaseExpression, old: cst.BaseExpression) -> cst.BaseExpression:
    if new.lpar:
        return new
    if old.lpar:
        return new.with_changes(lpar=old.lpar, rpar=old.rpar)
    if not isinstance(new, _OPERATIONS) or _binds_alike(new, old):
        return new
    return new.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])


def _binds_alike(new: cst.BaseExpression, old: cst.BaseExpression) -> bool:
    """Whether what stood without parentheses here can do so as `new`."""
    operator = getattr(new, "operator", None)
    return type(new) is type(old) and (
        type(operator) is type(getattr(old, "operator", None))
        and not isinstance(operator, cst.Power)
    )


def _keyword(arg: cst.Arg) -> str | None:
    return None if arg.keyword is None else arg.keyword.value
