"""What a class or a function declares: bases, members, what it returns."""

from __future__ import annotations

from typing import TypeGuard

import libcst as cst

from patchset.definitions import Scope
from patchset.edit.change import Change, Context
from patchset.edit.nodes import code, lines_above, name_of, parse, with_lines_above
from patchset.edit.rows import row_of, with_row
from patchset.errors import Mismatch


def add_base(name: str, *, after: str | None = None) -> Change:
    """Add a base to a class, after the base `after` or after the last one.

    Raises Mismatch where the class has it already: a base named twice compiles, and
    fails at import.
    """

    def change(scope: Scope, context: Context) -> Scope:
        node = _class(scope, context)
        names = [code(arg.value) for arg in node.bases]
        if name in names:
            raise Mismatch(f"{context.path} has the base {name} already")
        if after is not None and after not in names:
            raise Mismatch(f"{context.path} has no base {after}")
        index = None if after is None else names.index(after)
        base = cst.Arg(cst.parse_expression(name))
        return with_row(node, row_of(node).add(base, after=index))

    return change


def add_members(text: str, *, after: str | None = None) -> Change:
    """Add methods or attributes at the end of a class, or after the method `after`.

    Raises Mismatch where the class defines one of the methods already.
    """

    def change(scope: Scope, context: Context) -> Scope:
        node = _class(scope, context)
        if not isinstance(node.body, cst.IndentedBlock):
            raise Mismatch(f"{context.path} is a class on one line")
        new = [_set_off(statement) for statement in parse(text, context.module)]
        names = [name_of(statement) for statement in node.body.body]
        for name in filter(None, map(name_of, new)):
            if name in names:
                raise Mismatch(f"{context.path} defines {name} already")
        if after is not None and names.count(after) != 1:
            raise Mismatch(f"{context.path} has no one method {after}")
        index = len(names) if after is None else names.index(after) + 1
        body = [*node.body.body[:index], *new, *node.body.body[index:]]
        return node.with_changes(body=node.body.with_changes(body=body))

    return change


def add_decorator(text: str) -> Change:
    """Put a decorator, written without its `@`, outermost on the definition.

    Raises Mismatch where the definition has it already.
    """

    def change(scope: Scope, context: Context) -> Scope:
        if isinstance(scope, cst.Module):
            raise Mismatch(f"{context.path} is no definition")
        if text in [code(each.decorator) for each in scope.decorators]:
            raise Mismatch(f"{context.path} has the decorator {text} already")
        new = cst.Decorator(cst.parse_expression(text))
        return scope.with_changes(decorators=[new, *scope.decorators])

    return change


def widen_return(kind: str) -> Change:
    """Add `kind` to the union of types that a function says it returns.

    Spelt as the union is there: `A | B`, or `Union[A, B]`. Raises Mismatch where the
    function says nothing, or says it already.
    """
    added = cst.parse_expression(kind)

    def change(scope: Scope, context: Context) -> Scope:
        annotation = scope.returns if isinstance(scope, cst.FunctionDef) else None
        if annotation is None:
            raise Mismatch(f"{context.path} does not say what it returns")
        old = annotation.annotation
        if is_in_union(kind, old):
            raise Mismatch(f"{context.path} says already that it returns {kind}")
        new: cst.BaseExpression = cst.BinaryOperation(old, cst.BitOr(), added)
        if _is_spelt_union(old):
            element = cst.SubscriptElement(cst.Index(added))
            new = with_row(old, row_of(old).add(element))
        return scope.with_changes(returns=annotation.with_changes(annotation=new))

    return change


def is_in_union(kind: str, annotation: cst.BaseExpression) -> bool:
    """Whether an annotation is `kind`, or a union with `kind` in it."""
    if isinstance(annotation, cst.BinaryOperation):
        sides = (annotation.left, annotation.right)
        return any(is_in_union(kind, side) for side in sides)
    if _is_spelt_union(annotation):
        return any(code(one.slice) == kind for one in annotation.slice)
    return code(annotation) == kind


def _is_spelt_union(annotation: cst.BaseExpression) -> TypeGuard[cst.Subscript]:
    return isinstance(annotation, cst.Subscript) and code(annotation.value) in {
        "Union",
        "typing.Union",
    }


def _class(scope: Scope, context: Context) -> cst.ClassDef:
    if not isinstance(scope, cst.ClassDef):
        raise Mismatch(f"{context.path} is no class")
    return scope


def _set_off(statement: cst.BaseStatement) -> cst.BaseStatement:
    """The statement, with an empty line above it if it is a definition without one."""
    lines = lines_above(statement)
    if name_of(statement) is None or (lines and lines[0].comment is None):
        return statement
    return with_lines_above(statement, [cst.EmptyLine(indent=False)])
