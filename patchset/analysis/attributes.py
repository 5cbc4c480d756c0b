"""What instances of a class are given as attributes, read off its code."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from patchset.analysis.classes import Classes, first_parameter, is_bare, methods
from patchset.analysis.scope import FunctionNode, Value
from patchset.analysis.things import ClassRef, ValueRef


@dataclass(eq=False, kw_only=True)
class Attributes:
    """Answers what `self` is given in the methods of classes; answers are kept."""

    classes: Classes
    _known: dict[ClassRef, dict[str, list[ValueRef]] | None] = field(
        default_factory=dict
    )

    def given(self, cls: ClassRef, name: str) -> tuple[ValueRef, ...] | None:
        """Return what instances of the class are given as `name`, in any ancestor.

        From annotations in class bodies and from `self.name = …` in methods. None
        where an ancestor makes attributes in a way that cannot be read.
        """
        found: list[ValueRef] = []
        for each in self.classes.order(cls):
            if not isinstance(each, ClassRef):
                continue
            if each not in self._known:
                self._known[each] = self._collect(each)
            own = self._known[each]
            if own is None:
                return None
            found.extend(own.get(name, ()))
        return tuple(found)

    def _collect(self, cls: ClassRef) -> dict[str, list[ValueRef]] | None:
        scope = self.classes.scope(cls)
        if {"__getattr__", "__getattribute__"} & scope.final.keys():
            return None
        found: dict[str, list[ValueRef]] = {}
        for name, bindings in scope.final.items():
            for each in bindings:
                if isinstance(each.bound, Value) and each.bound.annotation is not None:
                    value = ValueRef(cls.module, None, each.bound.annotation, cls)
                    found.setdefault(name, []).append(value)
                elif is_bare(each.bound):
                    found.setdefault(name, []).append(ValueRef(cls.module, None))
        for method in methods(cls.node):
            given = _Given(cls=cls, self_=first_parameter(method), found=found)
            if not given.read(method):
                return None
        return found


@dataclass(eq=False, kw_only=True)
class _Given:
    """Reads one method."""

    cls: ClassRef
    self_: str | None
    found: dict[str, list[ValueRef]]

    def read(self, method: FunctionNode) -> bool:
        """Note what the method gives to `self`; False where that cannot be read."""
        return all(self._node(each) for each in ast.walk(method))

    def _node(self, node: ast.AST) -> bool:
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._note(target, value, None)
            case ast.AnnAssign(target=target, value=value, annotation=annotation):
                self._note(target, value, annotation)
            case ast.For(target=target) | ast.AsyncFor(target=target):
                self._note(target, None, None)
            case ast.withitem(optional_vars=ast.expr() as target):
                self._note(target, None, None)
            case ast.Call():
                return self._call(node)
            case ast.Attribute(value=ast.Name(id=name), attr="__dict__"):
                return name != self.self_ or isinstance(node.ctx, ast.Load)
            case _:
                pass
        return True

    def _call(self, node: ast.Call) -> bool:
        match node:
            case ast.Call(
                func=ast.Name(id="setattr"), args=[ast.Name(id=name), what, *_]
            ):
                if name != self.self_:
                    return True
                if isinstance(what, ast.Constant):
                    self._add(str(what.value), None, None)
                return isinstance(what, ast.Constant)
            case ast.Call(func=ast.Attribute(value=ast.Attribute(attr="__dict__"))):
                return False
            case _:
                return True

    def _note(
        self, target: ast.expr, value: ast.expr | None, annotation: ast.expr | None
    ) -> None:
        match target:
            case ast.Attribute(value=ast.Name(id=name), attr=attr):
                if name == self.self_:
                    self._add(attr, value, annotation)
            case ast.Tuple(elts=elts) | ast.List(elts=elts):
                for each in elts:
                    self._note(each, None, None)
            case ast.Starred(value=inner):
                self._note(inner, None, None)
            case _:
                pass

    def _add(
        self, name: str, value: ast.expr | None, annotation: ast.expr | None
    ) -> None:
        ref = ValueRef(self.cls.module, value, annotation, self.cls)
        self.found.setdefault(name, []).append(ref)
