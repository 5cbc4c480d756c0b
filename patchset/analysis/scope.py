"""Which names a body of statements binds, and to what, without running it."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

FunctionNode: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Import:
    """`import module`, or `from module import name`; the module may be relative."""

    module: str
    name: str | None
    level: int
    node: ast.Import | ast.ImportFrom


@dataclass(frozen=True, slots=True)
class Value:
    """An assignment; `value` is None where what is assigned is not written down."""

    value: ast.expr | None
    annotation: ast.expr | None = None
    node: ast.AST | None = None


Bound: TypeAlias = Import | Value | ast.ClassDef | FunctionNode


@dataclass(frozen=True, slots=True)
class Binding:
    """One way in which a name gets its value."""

    bound: Bound
    typing: bool = False
    """Whether only a type checker comes here."""


@dataclass(slots=True)
class Scope:
    """The names of a module, a class or a function.

    `final` holds what a name may be at the end: one binding, or several where
    branches disagree. `every` holds all that it is anywhere on the way.
    """

    final: dict[str, list[Binding]] = field(default_factory=dict)
    every: dict[str, list[Binding]] = field(default_factory=dict)
    stars: list[Import] = field(default_factory=list)
    deleted: set[str] = field(default_factory=set)


def scan(body: Iterable[ast.stmt]) -> Scope:
    """Return the names that the statements bind, nested bodies left out."""
    scan_ = _Scan()
    scan_.block(body)
    return scan_.scope


def is_typing_test(test: ast.expr) -> bool:
    """Whether the test is `TYPE_CHECKING`, true for type checkers only."""
    name = test.attr if isinstance(test, ast.Attribute) else getattr(test, "id", None)
    return name == "TYPE_CHECKING"


def _is_not_typing_test(test: ast.expr) -> bool:
    return (
        isinstance(test, ast.UnaryOp)
        and isinstance(test.op, ast.Not)
        and is_typing_test(test.operand)
    )


def target_names(target: ast.expr) -> list[str]:
    """Return the plain names that an assignment to the target binds."""
    if isinstance(target, ast.Name):
        return [target.id]
    if isinstance(target, ast.Starred):
        return target_names(target.value)
    if isinstance(target, ast.Tuple | ast.List):
        return [name for each in target.elts for name in target_names(each)]
    return []


class _Scan:
    """Walks statements in order; branches are walked from copies and joined."""

    def __init__(self) -> None:
        self.scope = Scope()
        self.typing = False

    def block(self, body: Iterable[ast.stmt]) -> None:
        for node in body:
            self.statement(node)

    def bind(self, name: str, bound: Bound) -> None:
        binding = Binding(bound, self.typing)
        self.scope.every.setdefault(name, []).append(binding)
        if self.typing:
            self.scope.final.setdefault(name, []).append(binding)
        else:
            kept = [old for old in self.scope.final.get(name, ()) if old.typing]
            self.scope.final[name] = [*kept, binding]

    def branches(self, bodies: list[list[ast.stmt]], *, may_skip: bool) -> None:
        before = self.scope.final
        after: dict[str, list[Binding]] = {}
        for body in bodies:
            self.scope.final = {name: list(found) for name, found in before.items()}
            self.block(body)
            _join(after, self.scope.final)
        if may_skip:
            _join(after, before)
        self.scope.final = after

    def statement(self, node: ast.stmt) -> None:  # noqa: C901, PLR0912 - one case a line
        match node:
            case ast.Import():
                for alias in node.names:
                    self.imported(alias, node)
            case ast.ImportFrom():
                self.imported_from(node)
            case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                self.bind(node.name, node)
            case ast.Assign():
                for target in node.targets:
                    self.assigned(target, node.value, node)
            case ast.AnnAssign(target=ast.Name(id=name)):
                # A bare annotation binds nothing at run time, but names a field.
                self.bind(name, Value(node.value, node.annotation, node))
            case ast.AugAssign(target=ast.Name(id=name)):
                if name not in self.scope.final:
                    self.bind(name, Value(None, node=node))
            case ast.If():
                self.condition(node)
            case ast.Try():
                self.attempt(node)
            case ast.For() | ast.AsyncFor():
                self.assigned(node.target, None, node)
                self.branches([node.body], may_skip=True)
                self.branches([node.orelse], may_skip=True)
            case ast.While():
                self.branches([node.body, node.orelse], may_skip=True)
            case ast.With() | ast.AsyncWith():
                for item in node.items:
                    if item.optional_vars is not None:
                        self.assigned(item.optional_vars, None, node)
                self.block(node.body)
            case ast.Match():
                self.branches([case.body for case in node.cases], may_skip=True)
            case ast.Delete():
                for target in node.targets:
                    self.scope.deleted.update(target_names(target))
            case _ if hasattr(node, "handlers"):  # `except*`, from 3.11 on
                self.attempt(node)  # type: ignore[arg-type]
            case _:
                type_alias = getattr(node, "name", None)  # `type X = …`, from 3.12 on
                if isinstance(type_alias, ast.Name):
                    self.bind(type_alias.id, Value(None, node=node))

    def imported(self, alias: ast.alias, node: ast.Import) -> None:
        if alias.asname is not None:
            self.bind(alias.asname, Import(alias.name, None, 0, node))
        else:
            root = alias.name.partition(".")[0]
            self.bind(root, Import(root, None, 0, node))

    def imported_from(self, node: ast.ImportFrom) -> None:
        module = node.module or ""
        for alias in node.names:
            bound = Import(module, alias.name, node.level, node)
            if alias.name == "*":
                self.scope.stars.append(bound)
            else:
                self.bind(alias.asname or alias.name, bound)

    def assigned(self, target: ast.expr, value: ast.expr | None, node: ast.AST) -> None:
        plain = value if isinstance(target, ast.Name) else None
        pairs: list[tuple[str, ast.expr | None]] = []
        if (
            isinstance(target, ast.Tuple)
            and isinstance(value, ast.Tuple)
            and len(target.elts) == len(value.elts)
            and all(isinstance(each, ast.Name) for each in target.elts)
        ):
            pairs = [
                (name, each)
                for one, each in zip(target.elts, value.elts, strict=True)
                for name in target_names(one)
            ]
        else:
            pairs = [(name, plain) for name in target_names(target)]
        for name, each in pairs:
            self.bind(name, Value(each, node=node))

    def condition(self, node: ast.If) -> None:
        if is_typing_test(node.test):
            outer, self.typing = self.typing, True
            self.block(node.body)
            self.typing = outer
            self.block(node.orelse)
        elif _is_not_typing_test(node.test):
            self.block(node.body)
        else:
            self.branches([node.body, node.orelse], may_skip=False)

    def attempt(self, node: ast.Try) -> None:
        whole = [*node.body, *node.orelse]
        # A handler starts from anything between "nothing of it ran" and "all did".
        self.branches([whole, *(each.body for each in node.handlers)], may_skip=False)
        for handler in node.handlers:
            if handler.name is not None:
                self.scope.every.setdefault(handler.name, []).append(
                    Binding(Value(None, node=handler), self.typing)
                )
        self.block(node.finalbody)


def _join(into: dict[str, list[Binding]], more: dict[str, list[Binding]]) -> None:
    for name, found in more.items():
        known = into.setdefault(name, [])
        known.extend(each for each in found if each not in known)
