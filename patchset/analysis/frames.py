"""The names in sight at a place of a module: of functions, then of the module."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field

from patchset.analysis.classes import first_parameter
from patchset.analysis.modules import Module
from patchset.analysis.scope import (
    Binding,
    FunctionNode,
    Scope,
    Value,
    scan,
    target_names,
)
from patchset.analysis.things import ClassRef


@dataclass(eq=False, kw_only=True)
class Frame:
    """One function, class body or module, and what it lies in."""

    module: Module
    scope: Scope
    outer: Frame | None = None
    function: FunctionNode | None = None
    owner: ClassRef | None = None
    """The class whose method this is."""
    parameters: dict[str, ast.expr | None] = field(default_factory=dict)
    """Name → annotation."""
    self_name: str | None = None
    self_is_class: bool = False
    opaque: frozenset[str] = frozenset()
    """Names that also get values which are not followed: of loops, lambdas, `with`."""
    narrowed: frozenset[str] = frozenset()
    """Expressions whose type the code itself asks for."""

    def bindings(self, name: str) -> list[Binding]:
        """Return all that the name is anywhere in this frame alone."""
        return self.scope.every.get(name, [])


def module_frame(module: Module) -> Frame:
    """Return the frame of a module's top level."""
    return Frame(module=module, scope=module.scope)


def class_frame(outer: Frame, node: ast.ClassDef) -> Frame:
    """Return the frame of the statements of a class body, without its methods."""
    return Frame(module=outer.module, scope=scan(node.body), outer=outer)


def function_frame(outer: Frame, node: FunctionNode, owner: ClassRef | None) -> Frame:
    """Return the frame of a function's body; `owner` if it is a method."""
    arguments = node.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    parameters = {each.arg: each.annotation for each in every}
    stars = [each for each in (arguments.vararg, arguments.kwarg) if each is not None]
    names = {each.id for each in node.decorator_list if isinstance(each, ast.Name)}
    self_name = first_parameter(node) if owner and "staticmethod" not in names else None
    scope, opaque = _scan_function(node)
    return Frame(
        module=outer.module,
        scope=scope,
        outer=outer,
        function=node,
        owner=owner or outer.owner,
        parameters=parameters,
        self_name=self_name,
        self_is_class="classmethod" in names or node.name == "__new__",
        opaque=opaque | {each.arg for each in stars},
        narrowed=_narrowed(node.body),
    )


def inner_frame(outer: Frame, node: ast.expr) -> Frame:
    """Return the frame in a lambda or comprehension, whose names are not followed."""
    names: set[str] = set()
    if isinstance(node, ast.Lambda):
        arguments = node.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        stars = [arguments.vararg, arguments.kwarg]
        names.update(each.arg for each in [*every, *stars] if each is not None)
    for generator in getattr(node, "generators", ()):
        names.update(target_names(generator.target))
    return Frame(
        module=outer.module,
        scope=Scope(),
        outer=outer,
        function=outer.function,
        owner=outer.owner,
        opaque=frozenset(names),
        narrowed=_narrowed([node]),
    )


def _scan_function(node: FunctionNode) -> tuple[Scope, frozenset[str]]:
    """Return the names of a function's body, and those that are not followed."""
    scope = scan(node.body)
    opaque: set[str] = set()
    for each in ast.walk(node):
        match each:
            case ast.NamedExpr(target=ast.Name(id=name), value=value):
                scope.every.setdefault(name, []).append(
                    Binding(Value(value, node=each))
                )
            case ast.Global(names=shared) | ast.Nonlocal(names=shared):
                opaque.update(shared)
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                opaque.add(name)
            case _:
                pass
    return scope, frozenset(opaque)


def _narrowed(body: Iterable[ast.AST]) -> frozenset[str]:
    """Return the expressions that `isinstance` and the like are asked about."""
    found: set[str] = set()
    for statement in body:
        for node in ast.walk(statement):
            match node:
                case ast.Call(
                    func=ast.Name(id="isinstance" | "issubclass"), args=[one, _]
                ):
                    found.add(ast.unparse(one))
                case ast.Match(subject=one):
                    found.add(ast.unparse(one))
                case ast.Compare(left=ast.Call(func=ast.Name(id="type"), args=[one])):
                    found.add(ast.unparse(one))
                case _:
                    pass
    return frozenset(found)
