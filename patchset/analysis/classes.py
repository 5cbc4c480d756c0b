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
            if not each.typing and not is_bare(each.bound)
        ]
        if not bindings:
            return ()
        return self.resolver.bindings(cls.module, bindings, owner=cls)


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


def is_bare(bound: object) -> bool:
    """Whether it is an annotation without a value: no name at run time."""
    return (
        isinstance(bound, Value)
        and bound.value is None
        and bound.annotation is not None
    )
