"""Through which attribute a model class hands on, and which class lies behind it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from patchset.analysis.protocol import definition
from patchset.analysis.registry import architecture, causal
from patchset.analysis.scope import FunctionNode, Value
from patchset.analysis.target import TargetModel
from patchset.analysis.things import ClassRef, ValueRef
from patchset.analysis.values import Values

USUAL = "language_model"
"""The attribute that most wrappers use."""


@dataclass(eq=False, kw_only=True)
class Delegation:
    """Follows `self.x` of model classes to the classes that are put there."""

    values: Values
    target: TargetModel

    def language_model(self, cls: ClassRef) -> str | None:
        """Return the attribute that holds the language model of a wrapper.

        What its own `get_language_model` returns, or what it builds inside
        `_mark_language_model`, or `language_model` if it has that.
        """
        found = definition(self.values.classes, cls, "get_language_model")
        if found is None:
            return None
        owner, function = found
        if (
            function is not None
            and owner.module.name.rpartition(".")[2] != "interfaces"
        ):
            for node in ast.walk(function):
                match node:
                    case ast.Return(
                        value=ast.Attribute(value=ast.Name(id="self"), attr=a)
                    ):
                        return a
                    case _:
                        pass
        for each in self.values.classes.order(cls):
            if isinstance(each, ClassRef):
                name = _marked(each.node)
                if name is not None:
                    return name
        return USUAL if self.values.attributes.given(cls, USUAL) else None

    def calls(self, function: FunctionNode, method: str) -> str | None:
        """Return the attribute on which a method calls the method of its own name."""
        for node in ast.walk(function):
            match node:
                case ast.Call(
                    func=ast.Attribute(
                        value=ast.Attribute(value=ast.Name(id="self"), attr=attr),
                        attr=name,
                    )
                ) if name == method:
                    return attr
                case _:
                    pass
        return None

    def behind(self, cls: ClassRef, attr: str) -> ClassRef | None:
        """Return the class of what is put into an attribute; None if that is unsure."""
        found = {
            each
            for given in self.values.attributes.given(cls, attr) or ()
            for each in self._made(cls, given)
        }
        return found.pop() if len(found) == 1 else None

    def path(self, cls: ClassRef, attrs: tuple[str, ...]) -> ClassRef | None:
        """Return the class behind a chain of attributes."""
        inner: ClassRef | None = cls
        for attr in attrs:
            inner = self.behind(inner, attr) if inner is not None else None
        return inner

    def _made(self, cls: ClassRef, given: ValueRef) -> Iterator[ClassRef]:
        if isinstance(given.value, ast.Call):
            yield from self._called(cls, given.owner or cls, given.value)

    def _called(
        self, cls: ClassRef, owner: ClassRef, call: ast.Call
    ) -> Iterator[ClassRef]:
        named = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        if isinstance(call.func, ast.Name) and "registered_model" in call.func.id:
            inner = self._registered(call)
            if inner is not None:
                yield inner
        elif isinstance(call.func, ast.Name):
            for thing in self.values.resolver.expression(owner.module, call.func):
                if isinstance(thing, ClassRef):
                    yield thing
        elif ast.unparse(call.func) == f"self.{named}":
            yield from self._own(cls, named)

    def _own(self, cls: ClassRef, name: str) -> Iterator[ClassRef]:
        """Yield what `self.name(…)` makes: a class kept as attribute, or a factory."""
        found = definition(self.values.classes, cls, name)
        if found is None:
            return
        owner, function = found
        if function is not None:
            for node in ast.walk(function):
                if isinstance(node, ast.Return) and isinstance(node.value, ast.Call):
                    yield from self._called(cls, owner, node.value)
            return
        for binding in self.values.classes.scope(owner).final[name]:
            value = binding.bound.value if isinstance(binding.bound, Value) else None
            if isinstance(value, ast.Name | ast.Attribute):
                for thing in self.values.resolver.expression(owner.module, value):
                    if isinstance(thing, ClassRef):
                        yield thing

    def _registered(self, call: ast.Call) -> ClassRef | None:
        """Return what `init_vllm_registered_model` makes."""
        for keyword in call.keywords:
            match keyword:
                case ast.keyword(
                    arg="architectures",
                    value=ast.List(elts=[ast.Constant(value=str(name))]),
                ):
                    return architecture(self.values, name).cls
                case _:
                    pass
        if not self.target.is_nested:
            return None
        inner = self.target.text_config or {}
        named = inner.get("architectures")
        model_type = str(inner.get("model_type", ""))
        found = str(named[0]) if named else causal(self.values, model_type)
        return architecture(self.values, found).cls if found else None


def _marked(cls: ast.ClassDef) -> str | None:
    for node in ast.walk(cls):
        if not isinstance(node, ast.With):
            continue
        if not any(
            "_mark_language_model" in ast.unparse(i.context_expr) for i in node.items
        ):
            continue
        for each in node.body:
            match each:
                case ast.Assign(
                    targets=[ast.Attribute(value=ast.Name(id="self"), attr=a)]
                ):
                    return a
                case _:
                    pass
    return None
