"""A dotted name → its definition, through re-exports, branches, stars and lazies."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches

from patchset.analysis.lazy import Lazies, lazies
from patchset.analysis.modules import Module, Program
from patchset.analysis.scope import Binding, Import, Value, scan
from patchset.analysis.things import (
    UNKNOWN,
    ClassRef,
    External,
    FunctionRef,
    Missing,
    ModuleRef,
    Target,
    Unknown,
    ValueRef,
)

Seen = frozenset[tuple[str, str]]
NOWHERE: Seen = frozenset()
BUILTINS = frozenset(dir(builtins))
SPECIAL = frozenset(
    {
        "__name__",
        "__file__",
        "__doc__",
        "__path__",
        "__spec__",
        "__package__",
        "__loader__",
        "__dict__",
        "__builtins__",
        "__cached__",
        "__annotations__",
    }
)
"""Names that every module has."""


@dataclass(eq=False, kw_only=True)
class Resolver:
    """Answers what names are, from the bindings of the modules of a program."""

    program: Program
    _lazies: dict[str, Lazies | None] = field(default_factory=dict)

    def imported(
        self,
        module: str,
        name: str | None,
        *,
        typing: bool = False,
        seen: Seen = NOWHERE,
    ) -> tuple[Target, ...]:
        """Return what `import module` or `from module import name` brings."""
        dotted = module if name is None else f"{module}.{name}"
        if not self.program.holds(module):
            return (External(dotted),)
        found = self.program.module(module)
        if found is None:
            return (self._no_module(module, dotted),)
        if name is None:
            return (ModuleRef(found),)
        return self.attribute(found, name, typing=typing, seen=seen)

    def attribute(
        self, module: Module, name: str, *, typing: bool = False, seen: Seen = NOWHERE
    ) -> tuple[Target, ...]:
        """Return what `module.name` may be at run time, one for each branch.

        `typing` also counts what only a type checker sees. A name that no branch
        binds is `Missing`; one that cannot be followed is `UNKNOWN`.
        """
        key = (module.name, name)
        if key in seen:
            return self._submodule(module, name) or (UNKNOWN,)
        seen = seen | {key}
        bindings = module.scope.final.get(name, ())
        live = [each for each in bindings if typing or not each.typing]
        if live:
            return self.bindings(module, live, typing=typing, seen=seen)
        return (
            self._starred(module, name, typing=typing, seen=seen)
            or self._submodule(module, name)
            or self._lazy(module, name, typing=typing, seen=seen)
            or (self._no_name(module, name),)
        )

    def bindings(
        self,
        module: Module,
        bindings: Iterable[Binding],
        *,
        owner: ClassRef | None = None,
        typing: bool = False,
        seen: Seen = NOWHERE,
    ) -> tuple[Target, ...]:
        """Return what the bindings, made in a module or class body, may leave."""
        found: list[Target] = []
        for each in bindings:
            for target in self._binding(module, each, owner, typing=typing, seen=seen):
                if target not in found:
                    found.append(target)
        there = [each for each in found if not isinstance(each, Missing)]
        return tuple(there or found)

    def expression(
        self,
        module: Module,
        node: ast.expr,
        *,
        typing: bool = False,
        seen: Seen = NOWHERE,
    ) -> tuple[Target, ...]:
        """Return what a dotted name, written at a module's top level, is."""
        match node:
            case ast.Name(id=name):
                found = self.attribute(module, name, typing=typing, seen=seen)
                if name in BUILTINS and isinstance(found[0], Missing | Unknown):
                    return (External(f"builtins.{name}"),)
                return found
            case ast.Attribute(value=value, attr=name):
                return tuple(
                    part
                    for each in self.expression(module, value, typing=typing, seen=seen)
                    for part in self.member(each, name, typing=typing, seen=seen)
                )
            case ast.Subscript(value=value):
                return self.expression(module, value, typing=typing, seen=seen)
            case ast.Constant(value=str(text)):
                return self.text(module, text, typing=typing, seen=seen)
            case _:
                return (UNKNOWN,)

    def text(
        self, module: Module, text: str, *, typing: bool = True, seen: Seen = NOWHERE
    ) -> tuple[Target, ...]:
        """Return what a name in quotes is."""
        try:
            node = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError):
            return (UNKNOWN,)
        if isinstance(node, ast.Constant):
            return (UNKNOWN,)
        return self.expression(module, node, typing=typing, seen=seen)

    def member(
        self, target: Target, name: str, *, typing: bool = False, seen: Seen = NOWHERE
    ) -> tuple[Target, ...]:
        """Return what `target.name` is, for modules, external names and classes."""
        match target:
            case ModuleRef(module=module):
                return self.attribute(module, name, typing=typing, seen=seen)
            case External(dotted=dotted):
                return (External(f"{dotted}.{name}"),)
            case ClassRef(module=module, node=node):
                inner = scan(node.body).final.get(name, ())
                return self.bindings(module, inner, owner=target) or (UNKNOWN,)
            case _:
                return (UNKNOWN,)

    def _binding(
        self,
        module: Module,
        binding: Binding,
        owner: ClassRef | None,
        *,
        typing: bool,
        seen: Seen,
    ) -> tuple[Target, ...]:
        match binding.bound:
            case Import(module=name, name=what, level=level):
                full = module.absolute(name, level)
                typing = typing or binding.typing
                return self.imported(full, what, typing=typing, seen=seen)
            case ast.ClassDef() as node:
                prefix = f"{owner.qualname}." if owner else ""
                return (ClassRef(module, node, prefix + node.name),)
            case ast.FunctionDef() | ast.AsyncFunctionDef() as node:
                return (FunctionRef(module, node, owner),)
            case Value(value=ast.Name() | ast.Attribute() as value, annotation=None):
                found = self.expression(module, value, typing=typing, seen=seen)
                if not any(isinstance(each, Unknown | Missing) for each in found):
                    return found
                return (ValueRef(module, value, None, owner),)
            case Value(value=value, annotation=annotation):
                return (ValueRef(module, value, annotation, owner),)

    def _starred(
        self, module: Module, name: str, *, typing: bool, seen: Seen
    ) -> tuple[Target, ...]:
        for star in reversed(module.scope.stars):
            full = module.absolute(star.module, star.level)
            if not self.program.holds(full):
                if not full.partition(".")[0] or not name.startswith("_"):
                    return (UNKNOWN,)
                continue
            other = self.program.module(full)
            if other is None:
                continue
            if other.tree is None:
                return (UNKNOWN,)
            listed = exports(other)
            if name not in listed if listed is not None else name.startswith("_"):
                continue
            found = self.attribute(other, name, typing=typing, seen=seen)
            if not all(isinstance(each, Missing) for each in found):
                return found
        return ()

    def _submodule(self, module: Module, name: str) -> tuple[Target, ...]:
        if not module.is_package:
            return ()
        found = self.program.module(f"{module.name}.{name}")
        return () if found is None else (ModuleRef(found),)

    def _lazy(
        self, module: Module, name: str, *, typing: bool, seen: Seen
    ) -> tuple[Target, ...]:
        if "__getattr__" not in module.scope.final:
            return ()
        if module.name not in self._lazies:
            self._lazies[module.name] = lazies(module)
        known = self._lazies[module.name]
        if known is None:
            return (UNKNOWN,)
        if name not in known.names:
            return () if known.closed else (UNKNOWN,)
        place = known.names[name]
        if place is None:
            return (UNKNOWN,)
        full = module.absolute(
            place[0].lstrip("."), len(place[0]) - len(place[0].lstrip("."))
        )
        found = self.imported(full, place[1], typing=typing, seen=seen)
        return (UNKNOWN,) if isinstance(found[0], Missing) else found

    def _no_module(self, module: str, dotted: str) -> Target:
        parts = module.split(".")
        count = next(
            end
            for end in range(1, len(parts) + 1)
            if self.program.module(".".join(parts[:end])) is None
        )
        gone = ".".join(parts[:count])
        above = self.program.module(".".join(parts[: count - 1])) if count > 1 else None
        if above is not None and (above.tree is None or f'"{gone}"' in above.text):
            return UNKNOWN  # compiled, or put into sys.modules by hand
        return Missing(dotted, gone, is_module=True, wanted=self._near_module(gone))

    def _near_module(self, gone: str) -> str:
        parent, _, last = gone.rpartition(".")
        package = gone.partition(".")[0]
        names = self.program.packages[package].names(parent.replace(".", "/"))
        known = {name.split(".")[0] for name in names if not name.startswith("_")}
        near = get_close_matches(last, sorted(known), n=3)
        where = f"{parent.replace('.', '/')}/" if parent else "the site"
        return f"no such module in {where}" + (
            f"; near: {', '.join(near)}" if near else ""
        )

    def _no_name(self, module: Module, name: str) -> Target:
        if (
            module.tree is None
            or name in SPECIAL
            or name in module.scope.deleted
            or module.is_dynamic
            or module.declares_global(name)
        ):
            return UNKNOWN
        near = get_close_matches(name, sorted(module.scope.final), n=3)
        wanted = f"{module.path} has no such name"
        return Missing(
            f"{module.name}.{name}",
            name,
            is_module=False,
            wanted=wanted + (f"; near: {', '.join(near)}" if near else ""),
        )


def exports(module: Module) -> frozenset[str] | None:
    """Return the names of a literal `__all__`, None where there is none to read."""
    found = module.scope.every.get("__all__")
    if not found:
        return None
    names: set[str] = set()
    for each in found:
        if not isinstance(each.bound, Value) or each.bound.value is None:
            return None
        try:
            names.update(ast.literal_eval(each.bound.value))
        except (ValueError, TypeError):
            return None
    return frozenset(names)
