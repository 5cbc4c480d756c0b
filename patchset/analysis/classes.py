"""The static method resolution order of a class, and what its members are."""

from __future__ import annotations

import abc
import ast
import enum
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from patchset.analysis.resolve import Resolver
from patchset.analysis.scope import Scope, Value, scan
from patchset.analysis.things import (
    UNKNOWN,
    ClassRef,
    External,
    Target,
    Unknown,
    ValueRef,
)

Ancestor: TypeAlias = ClassRef | External | Unknown

TRANSPARENT: dict[str, type] = {
    "builtins.object": object,
    "abc.ABC": abc.ABC,
    "enum.Enum": enum.Enum,
    "enum.IntEnum": enum.IntEnum,
    "enum.Flag": enum.Flag,
    "enum.IntFlag": enum.IntFlag,
    "enum.StrEnum": enum.Enum,
    "typing.Generic": object,
    "typing.Protocol": object,
    "typing_extensions.Protocol": object,
    "typing_extensions.Generic": object,
    "typing.NamedTuple": tuple,
    "builtins.Exception": Exception,
    "builtins.str": str,
    "builtins.int": int,
    "builtins.dict": dict,
    "builtins.list": list,
    "builtins.tuple": tuple,
}
"""Bases outside the packages whose members are known without reading them."""

ENUMS = frozenset(name for name in TRANSPARENT if name.startswith("enum."))
METACLASSES = frozenset({"abc.ABCMeta", "enum.EnumMeta", "enum.EnumType"})


@dataclass(eq=False, kw_only=True)
class Classes:
    """Answers questions about classes of a program; answers are kept."""

    resolver: Resolver
    _scopes: dict[ClassRef, Scope] = field(default_factory=dict)
    _orders: dict[ClassRef, tuple[Ancestor, ...]] = field(default_factory=dict)
    _attributes: dict[ClassRef, dict[str, list[ValueRef]] | None] = field(
        default_factory=dict
    )

    def scope(self, cls: ClassRef) -> Scope:
        """Return the names that the class body binds."""
        if cls not in self._scopes:
            self._scopes[cls] = scan(cls.node.body)
        return self._scopes[cls]

    def bases(self, cls: ClassRef) -> tuple[Ancestor, ...]:
        """Return the direct bases; `UNKNOWN` for one that cannot be told."""
        return tuple(self._base(cls, node) for node in cls.node.bases)

    def _base(self, cls: ClassRef, node: ast.expr) -> Ancestor:
        found: tuple[Target, ...] = self.resolver.expression(cls.module, node)
        if len(found) == 1 and isinstance(found[0], ClassRef | External):
            return found[0]
        return UNKNOWN

    def order(self, cls: ClassRef) -> tuple[Ancestor, ...]:
        """Return the method resolution order, the class first, without `object`.

        Bases outside the packages stand for themselves, whatever they inherit.
        Where the bases cannot be put into one order, everything is unknown.
        """
        if cls not in self._orders:
            self._orders[cls] = (cls, UNKNOWN)  # for a class that inherits from itself
            self._orders[cls] = self._linearise(cls)
        return self._orders[cls]

    def _linearise(self, cls: ClassRef) -> tuple[Ancestor, ...]:
        bases = [
            each for each in self.bases(cls) if each != External("builtins.object")
        ]
        rows: list[list[Ancestor]] = [
            list(self.order(each)) if isinstance(each, ClassRef) else [each]
            for each in bases
        ]
        # Several unknown bases are several classes, not one that comes twice.
        rows.append([each for each in bases if not isinstance(each, Unknown)])
        found: list[Ancestor] = [cls]
        while rows := [row for row in rows if row]:
            head = next(
                (r[0] for r in rows if not any(r[0] in o[1:] for o in rows)), None
            )
            if head is None:
                if not any(isinstance(row[0], Unknown) for row in rows):
                    return (cls, UNKNOWN)
                head = UNKNOWN
            found.append(head)
            rows = [row[1:] if row[0] == head else row for row in rows]
        return tuple(found)

    def is_complete(self, cls: ClassRef) -> bool:
        """Whether every ancestor is known, so that what is not found is not there."""
        return all(
            isinstance(each, ClassRef)
            or (isinstance(each, External) and each.dotted in TRANSPARENT)
            for each in self.order(cls)
        ) and self.has_plain_metaclass(cls)

    def has_plain_metaclass(self, cls: ClassRef) -> bool:
        """Whether calling the class does what calling a class does."""
        for each in self.order(cls):
            if not isinstance(each, ClassRef):
                continue
            for keyword in each.node.keywords:
                if keyword.arg != "metaclass":
                    continue
                found = self.resolver.expression(each.module, keyword.value)
                if not all(
                    isinstance(one, External) and one.dotted in METACLASSES
                    for one in found
                ):
                    return False
        return True

    def inherits(self, cls: ClassRef, names: frozenset[str]) -> bool:
        """Whether an ancestor is one of the external names."""
        return any(
            isinstance(each, External) and each.dotted in names
            for each in self.order(cls)
        )

    def members(
        self, cls: ClassRef, name: str, *, after: ClassRef | None = None
    ) -> tuple[Target, ...]:
        """Return what `cls.name` may be: the first class in the order that has it.

        Nothing is returned where it is surely not there; `UNKNOWN` where an unknown
        ancestor comes first. `after` starts behind that class, as `super()` does.
        """
        order = self.order(cls)
        if after is not None:
            order = order[order.index(after) + 1 :] if after in order else (UNKNOWN,)
        for each in order:
            if isinstance(each, ClassRef):
                found = self._own(each, name)
                if found:
                    return found
            elif isinstance(each, External) and each.dotted in TRANSPARENT:
                if name not in vars(object) and hasattr(TRANSPARENT[each.dotted], name):
                    return (External(f"{each.dotted}.{name}"),)
            else:
                return (UNKNOWN,)
        return (External(f"builtins.object.{name}"),) if hasattr(object, name) else ()

    def _own(self, cls: ClassRef, name: str) -> tuple[Target, ...]:
        bindings = [
            each
            for each in self.scope(cls).final.get(name, ())
            if not each.typing and not _is_bare(each.bound)
        ]
        if not bindings:
            return ()
        return self.resolver.bindings(cls.module, bindings, owner=cls)

    def attributes(self, cls: ClassRef, name: str) -> tuple[ValueRef, ...] | None:
        """Return what instances of the class are given as `name`, in any ancestor.

        From annotations in class bodies and from `self.name = …` in methods. None
        where an ancestor makes attributes in a way that cannot be read.
        """
        found: list[ValueRef] = []
        for each in self.order(cls):
            if not isinstance(each, ClassRef):
                continue
            own = self._own_attributes(each)
            if own is None:
                return None
            found.extend(own.get(name, ()))
        return tuple(found)

    def _own_attributes(self, cls: ClassRef) -> dict[str, list[ValueRef]] | None:
        if cls not in self._attributes:
            self._attributes[cls] = self._collect(cls)
        return self._attributes[cls]

    def _collect(self, cls: ClassRef) -> dict[str, list[ValueRef]] | None:
        scope = self.scope(cls)
        if {"__getattr__", "__getattribute__"} & scope.final.keys():
            return None
        found: dict[str, list[ValueRef]] = {}
        for name, bindings in scope.final.items():
            for each in bindings:
                if isinstance(each.bound, Value) and each.bound.annotation is not None:
                    value = ValueRef(cls.module, None, each.bound.annotation, cls)
                    found.setdefault(name, []).append(value)
                elif _is_bare(each.bound):
                    found.setdefault(name, []).append(ValueRef(cls.module, None))
        for method in methods(cls.node):
            if not _assigned_to_self(cls, method, found):
                return None
        return found


def methods(node: ast.ClassDef) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield the functions of a class body, those in branches too."""
    pending: list[ast.AST] = list(node.body)
    while pending:
        each = pending.pop(0)
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
            yield each
        elif isinstance(each, ast.If | ast.Try | ast.With):
            pending.extend(ast.iter_child_nodes(each))


def first_parameter(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str | None:
    """Return the name of the first positional parameter."""
    parameters = [*node.args.posonlyargs, *node.args.args]
    return parameters[0].arg if parameters else None


def _is_bare(bound: object) -> bool:
    return (
        isinstance(bound, Value)
        and bound.value is None
        and bound.annotation is not None
    )


def _assigned_to_self(
    cls: ClassRef,
    method: ast.FunctionDef | ast.AsyncFunctionDef,
    found: dict[str, list[ValueRef]],
) -> bool:
    """Note what the method gives to its `self`; False where that cannot be read."""
    self_ = first_parameter(method)

    def note(target: ast.expr, value: ast.expr | None, kind: ast.expr | None) -> None:
        match target:
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if name == self_:
                ref = ValueRef(cls.module, value, kind, cls)
                found.setdefault(attr, []).append(ref)
            case ast.Tuple(elts=elts) | ast.List(elts=elts):
                for each in elts:
                    note(each, None, None)
            case ast.Starred(value=inner):
                note(inner, None, None)

    for node in ast.walk(method):
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    note(target, value, None)
            case ast.AnnAssign(target=target, value=value, annotation=annotation):
                note(target, value, annotation)
            case ast.For(target=target) | ast.AsyncFor(target=target):
                note(target, None, None)
            case ast.withitem(optional_vars=ast.expr() as target):
                note(target, None, None)
            case ast.Call(
                func=ast.Name(id="setattr"), args=[ast.Name(id=name), what, *_]
            ):
                if name == self_:
                    if not isinstance(what, ast.Constant):
                        return False
                    found.setdefault(str(what.value), []).append(
                        ValueRef(cls.module, None, None, cls)
                    )
            case ast.Attribute(value=ast.Name(id=name), attr="__dict__"):
                if name == self_ and not isinstance(node.ctx, ast.Load):
                    return False
            case ast.Call(
                func=ast.Attribute(
                    value=ast.Attribute(attr="__dict__"), attr="update" | "setdefault"
                )
            ):
                return False
    return True
