"""Which nodes of LibCST have the shape of a pattern.

A pattern is compared with `ast`'s tree of the node's own text. Printing and parsing a
node is what costs, so its kind is looked at first.
"""

from __future__ import annotations

import ast
from typing import TypeGuard

import libcst as cst

from patchset.edit.nodes import code
from patchset.pattern import is_wildcard, matches, parse_pattern

_STATEMENTS: dict[type[ast.AST], type[cst.BaseStatement]] = {
    ast.AsyncFor: cst.For,
    ast.AsyncFunctionDef: cst.FunctionDef,
    ast.AsyncWith: cst.With,
    ast.ClassDef: cst.ClassDef,
    ast.For: cst.For,
    ast.FunctionDef: cst.FunctionDef,
    ast.If: cst.If,
    ast.Match: cst.Match,
    ast.Try: cst.Try,
    ast.While: cst.While,
    ast.With: cst.With,
}
_EXPRESSIONS: dict[type[ast.AST], type[cst.BaseExpression]] = {
    ast.Attribute: cst.Attribute,
    ast.Await: cst.Await,
    ast.BinOp: cst.BinaryOperation,
    ast.BoolOp: cst.BooleanOperation,
    ast.Call: cst.Call,
    ast.Compare: cst.Comparison,
    ast.Dict: cst.Dict,
    ast.DictComp: cst.DictComp,
    ast.GeneratorExp: cst.GeneratorExp,
    ast.IfExp: cst.IfExp,
    ast.Lambda: cst.Lambda,
    ast.List: cst.List,
    ast.ListComp: cst.ListComp,
    ast.NamedExpr: cst.NamedExpr,
    ast.Set: cst.Set,
    ast.SetComp: cst.SetComp,
    ast.Subscript: cst.Subscript,
    ast.Tuple: cst.Tuple,
    ast.UnaryOp: cst.UnaryOperation,
}


def anchor(pattern: str) -> ast.AST:
    """A pattern to look for.

    Raises ValueError for one that says too little: a bare name, or the wildcard.
    """
    parsed = parse_pattern(pattern)
    if isinstance(parsed, ast.Name) or is_wildcard(parsed):
        raise ValueError(f"too little to look for: {pattern}")
    return parsed


def statement_fits(
    node: cst.CSTNode, wanted: ast.AST
) -> TypeGuard[cst.SimpleStatementLine | cst.BaseCompoundStatement]:
    """Whether a node is a statement of that shape, alone on its line."""
    kind = _STATEMENTS.get(type(wanted), cst.SimpleStatementLine)
    if not isinstance(node, kind):
        return False
    found = _statement(node)
    return found is not None and matches(wanted, found)


def expression_fits(node: cst.BaseExpression, wanted: ast.AST) -> bool:
    """Whether an expression has that shape."""
    kind = _EXPRESSIONS.get(type(wanted), cst.BaseExpression)
    if not isinstance(node, kind) or isinstance(node, cst.StarredElement):
        return False
    found = _expression(node)
    return found is not None and matches(wanted, found)


def _expression(node: cst.BaseExpression) -> ast.expr | None:
    """None where it is newer than the Python that runs patchset."""
    try:
        return ast.parse(f"({code(node)}\n)", mode="eval").body
    except SyntaxError:
        return None


def _statement(node: cst.BaseStatement) -> ast.AST | None:
    """An expression statement is its expression; None as above, and for `a; b`."""
    try:
        body = ast.parse(code(node)).body
    except SyntaxError:
        return None
    if len(body) != 1:
        return None
    return body[0].value if isinstance(body[0], ast.Expr) else body[0]
