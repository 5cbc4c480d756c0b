"""What an annotation says that a value is."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

from patchset.analysis.modules import Module
from patchset.analysis.resolve import Resolver
from patchset.analysis.things import NOTHING, ClassRef, External, Missing, Thing

TRANSPARENT = frozenset({"Annotated", "Final", "ClassVar", "InitVar", "Required"})


@dataclass(eq=False, kw_only=True)
class Annotations:
    """Reads annotations, in quotes or not, with what only a type checker imports."""

    resolver: Resolver

    def read(
        self, module: Module, node: ast.expr, *, receiver: ClassRef | None = None
    ) -> list[Thing]:
        """Return what a value so annotated may be, None left out.

        `receiver` is what `Self` stands for.
        """
        match node:
            case ast.Constant(value=None):
                return []
            case ast.Constant(value=str(text)):
                try:
                    return self.read(
                        module,
                        ast.parse(text.strip(), mode="eval").body,
                        receiver=receiver,
                    )
                except (SyntaxError, ValueError):
                    return [NOTHING]
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                return [
                    *self.read(module, left, receiver=receiver),
                    *self.read(module, right, receiver=receiver),
                ]
            case ast.Subscript(value=head, slice=inner):
                return self._subscript(module, head, inner, receiver)
            case ast.Name() | ast.Attribute():
                return self._named(module, node, receiver)
            case _:
                return [NOTHING]

    def _subscript(
        self, module: Module, head: ast.expr, inner: ast.expr, receiver: ClassRef | None
    ) -> list[Thing]:
        name = head.attr if isinstance(head, ast.Attribute) else getattr(head, "id", "")
        parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
        if name == "Optional" or name in TRANSPARENT:
            return self.read(module, parts[0], receiver=receiver)
        if name == "Union":
            return [
                one
                for each in parts
                for one in self.read(module, each, receiver=receiver)
            ]
        if name in ("type", "Type"):
            classes = self.read(module, parts[0], receiver=receiver)
            return [replace(each, instance=False) for each in classes]
        found = self._named(module, head, receiver)
        return (
            found if all(isinstance(t.target, ClassRef) for t in found) else [NOTHING]
        )

    def _named(
        self, module: Module, node: ast.expr, receiver: ClassRef | None
    ) -> list[Thing]:
        found: list[Thing] = []
        for target in self.resolver.expression(module, node, typing=True):
            if isinstance(target, ClassRef):
                thing = Thing(
                    target=target, symbol=target.dotted, instance=True, declared=True
                )
                found.append(thing)
            elif (
                isinstance(target, External)
                and target.dotted.endswith(".Self")
                and receiver is not None
            ):
                found.append(
                    Thing(
                        target=receiver,
                        symbol=receiver.dotted,
                        instance=True,
                        declared=True,
                    )
                )
            elif not isinstance(target, Missing):
                found.append(NOTHING)
        return found or [NOTHING]
