"""What an attribute of a known thing is: of a module, a class, an instance."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

from patchset.analysis.decorators import Binds
from patchset.analysis.frames import Frame
from patchset.analysis.scope import FunctionNode
from patchset.analysis.source import python_files
from patchset.analysis.things import (
    NOTHING,
    ClassRef,
    External,
    FunctionRef,
    Missing,
    ModuleRef,
    Thing,
    ValueRef,
)

if TYPE_CHECKING:
    from patchset.analysis.values import Values

PLAIN = frozenset({External("abc.ABC"), External("typing.Generic")})
"""Bases that take no argument on."""


@dataclass(eq=False, kw_only=True)
class Members:
    """Looks attributes up; what the attribute is given is for `values` to infer."""

    values: Values

    def member(self, thing: Thing, attr: str, depth: int = 0) -> list[Thing]:
        """Return what `thing.attr` may be; a `Missing` where it is surely not there."""
        symbol = f"{thing.symbol}.{attr}"
        match thing.target:
            case ModuleRef(module=module):
                if self.values.is_client(module) and module.scope.every.get(attr):
                    return self.values.name(attr, self.values.frame(module), depth + 4)
                targets = self.values.resolver.attribute(module, attr)
                return [
                    one
                    for each in targets
                    for one in self.values.settled(each, symbol, depth)
                ]
            case ClassRef() as cls:
                return self._of_class(cls, thing, attr, symbol, depth)
            case External(dotted=dotted) if not thing.instance:
                return [Thing(target=External(f"{dotted}.{attr}"), symbol=symbol)]
            case _:
                return [NOTHING]

    def _of_class(
        self, cls: ClassRef, thing: Thing, attr: str, symbol: str, depth: int
    ) -> list[Thing]:
        vague = thing.instance and thing.declared and self._is_open(cls)
        found: list[Thing] = []
        for each in self.values.classes.members(cls, attr):
            if isinstance(each, FunctionRef):
                found += self._method(each, thing, cls, symbol, vague=vague)
            elif isinstance(each, ValueRef) and each.annotation is not None:
                found += self._declared(each, cls)
            elif isinstance(each, ClassRef):
                found.append(Thing(target=each, symbol=symbol))
            else:
                found.append(NOTHING)
        if found:
            return found
        given = self.values.attributes.given(cls, attr)
        if given is None:
            return [NOTHING]
        if given and thing.instance:
            return [one for each in given for one in self._given(each, cls, depth)]
        if given or vague or not self._is_judged(cls):
            return [NOTHING]
        return [Thing(target=self._no_member(cls, attr, symbol), instance=True)]

    def _is_open(self, cls: ClassRef) -> bool:
        """Whether a subclass must be what is really there."""
        return not self.values.is_client(
            cls.module
        ) and self.values.constructors.is_abstract(cls)

    def _is_judged(self, cls: ClassRef) -> bool:
        order = self.values.classes.order(cls)
        library = any(
            isinstance(each, ClassRef) and not self.values.is_client(each.module)
            for each in order
        )
        decorated = any(
            isinstance(each, ClassRef)
            and self.values.constructors.has_unknown_decorator(each)
            for each in order
        )
        return library and self.values.classes.is_complete(cls) and not decorated

    def may_override(self, cls: ClassRef, attr: str) -> bool:
        """Whether a subclass of its package may have its own `attr`, by the text.

        Asked only where a use of a value is about to be reported whose class is
        known from an annotation.
        """
        package = cls.module.name.partition(".")[0]
        source = self.values.program.packages[package]
        base = re.compile(
            rf"^\s*class\s+\w+\([^)]*\b{cls.node.name}\b".encode(), re.MULTILINE
        )
        own = re.compile(rf"\b(def\s+{attr}\b|self\.{attr}\s*[:=])".encode())
        return any(
            base.search(text) and own.search(text)
            for path in python_files(source, package)
            if (text := source.read(path)) and own.search(text)
        )

    def _method(
        self, ref: FunctionRef, thing: Thing, cls: ClassRef, symbol: str, *, vague: bool
    ) -> list[Thing]:
        how = self.values.decorators.of_function(ref)
        if how.is_property:
            if not thing.instance or ref.node.returns is None:
                return [NOTHING]
            return self.values.annotations.read(
                ref.module, ref.node.returns, receiver=cls
            )
        if vague:
            return [NOTHING]
        bound = how.binds is Binds.CLASS or (
            how.binds is Binds.INSTANCE and thing.instance
        )
        return [
            Thing(
                target=ref,
                symbol=symbol,
                bound=bound,
                receiver=cls,
                declared=thing.declared,
            )
        ]

    def _declared(self, value: ValueRef, cls: ClassRef) -> list[Thing]:
        if value.annotation is None:
            return [NOTHING]
        return self.values.annotations.read(
            value.module, value.annotation, receiver=cls
        )

    def _given(self, value: ValueRef, cls: ClassRef, depth: int) -> list[Thing]:
        """Return what an attribute is given in one place."""
        owner = value.owner
        if value.value is not None and owner is not None:
            method = self._enclosing(owner, value.value)
            if method is not None:
                inside = self.values.function_frame(value.module, method, owner)
                exact = self.values.infer(value.value, inside, depth + 4)
                if value.annotation is None or (exact and NOTHING not in exact):
                    return exact
        return self._declared(value, cls)

    def _enclosing(self, owner: ClassRef, value: ast.expr) -> FunctionNode | None:
        line = getattr(value, "lineno", 0)
        for each in ast.walk(owner.node):
            if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
                end = each.end_lineno or each.lineno
                if each in owner.node.body and each.lineno <= line <= end:
                    return each
        return None

    def _no_member(self, cls: ClassRef, attr: str, symbol: str) -> Missing:
        names = {
            name
            for each in self.values.classes.order(cls)
            if isinstance(each, ClassRef)
            for name in self.values.classes.scope(each).final
        }
        near = get_close_matches(attr, sorted(names), n=3)
        wanted = f"{cls.qualname} ({cls.place}) has no such member"
        return Missing(
            symbol,
            attr,
            is_module=False,
            wanted=wanted + (f"; near: {', '.join(near)}" if near else ""),
        )

    def inherited(self, attr: str, frame: Frame) -> list[Thing]:
        """Return what `super().attr` is in a method."""
        owner = _method_owner(frame)
        if owner is None:
            return [NOTHING]
        if attr == "__init__":
            return [self._next_init(owner)]
        found = self.values.classes.members(owner, attr, after=owner)
        return [
            Thing(
                target=each,
                symbol=f"{self._base_symbol(each.owner, owner)}.{attr}",
                bound=self.values.decorators.of_function(each).binds
                is not Binds.NOTHING,
                receiver=owner,
            )
            if isinstance(each, FunctionRef) and each.owner is not None
            else NOTHING
            for each in found
        ] or [NOTHING]

    def _next_init(self, owner: ClassRef) -> Thing:
        order = self.values.classes.order(owner)
        for each in order[1:]:
            if not isinstance(each, ClassRef):
                if each in PLAIN:
                    continue
                return NOTHING
            symbol = self._base_symbol(each, owner)
            bindings = self.values.classes.scope(each).final.get("__init__", [])
            made = self.values.decorators.dataclass(
                each.module, each.node.decorator_list
            )
            if made is not None and not bindings:
                return Thing(target=each, symbol=symbol)
            if bindings:
                node = bindings[-1].bound
                if len(bindings) > 1 or not isinstance(node, ast.FunctionDef):
                    return NOTHING
                ref = FunctionRef(each.module, node, each)
                return Thing(target=ref, symbol=symbol, bound=True, receiver=owner)
        return NOTHING

    def _base_symbol(self, base: ClassRef | None, owner: ClassRef) -> str:
        """Return the name under which a client's class names its base."""
        if base is None:
            return ""
        for node in owner.node.bases:
            for each in self.values.infer(node, self.values.frame(owner.module), 18):
                if each.target == base:
                    return each.symbol
        return base.dotted


def _method_owner(frame: Frame) -> ClassRef | None:
    inside: Frame | None = frame
    while inside is not None:
        if inside.self_name is not None:
            return inside.owner
        inside = inside.outer
    return None
