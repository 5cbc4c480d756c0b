"""What an expression of a client is known to be, by following names and types."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field, replace
from difflib import get_close_matches

from patchset.analysis.annotations import Annotations
from patchset.analysis.classes import Classes
from patchset.analysis.constructors import Constructors
from patchset.analysis.decorators import Binds, Decorators
from patchset.analysis.frames import Frame, function_frame, module_frame
from patchset.analysis.modules import Module, Program
from patchset.analysis.resolve import BUILTINS, Resolver
from patchset.analysis.scope import Binding, FunctionNode, Import, Value
from patchset.analysis.source import python_files
from patchset.analysis.things import (
    NOTHING,
    ClassRef,
    External,
    FunctionRef,
    Missing,
    ModuleRef,
    Target,
    Thing,
    ValueRef,
)

DEPTH = 24
"""How many steps an expression is followed: enough for any code that people write."""
SAME = frozenset({"copy.copy", "copy.deepcopy", "dataclasses.replace"})


@dataclass(eq=False, kw_only=True)
class Values:
    """Infers what expressions are; everything that it cannot follow is `NOTHING`."""

    program: Program
    client: str
    resolver: Resolver
    classes: Classes
    decorators: Decorators
    constructors: Constructors
    annotations: Annotations
    _frames: dict[str, Frame] = field(default_factory=dict)

    @staticmethod
    def over(program: Program, client: str) -> Values:
        """Return an inference over a program, for one of its packages."""
        resolver = Resolver(program=program)
        classes = Classes(resolver=resolver)
        decorators = Decorators(resolver=resolver)
        return Values(
            program=program,
            client=client,
            resolver=resolver,
            classes=classes,
            decorators=decorators,
            constructors=Constructors(classes=classes, decorators=decorators),
            annotations=Annotations(resolver=resolver),
        )

    def frame(self, module: Module) -> Frame:
        """Return the frame of a module of the client."""
        if module.name not in self._frames:
            self._frames[module.name] = module_frame(module)
        return self._frames[module.name]

    def is_client(self, module: Module) -> bool:
        """Whether the module is the client's own."""
        return module.name.partition(".")[0] == self.client

    # --- expressions -------------------------------------------------------------

    def infer(self, node: ast.expr, frame: Frame, depth: int = 0) -> list[Thing]:  # noqa: PLR0911 - one return a case
        """Return what the expression may be, one thing for each alternative.

        The value None is no alternative: nothing is asked of it.
        """
        if depth > DEPTH:
            return [NOTHING]
        if isinstance(node, ast.Name | ast.Attribute) and self._is_narrowed(
            node, frame
        ):
            return [NOTHING]
        match node:
            case ast.Constant(value=None):
                return []
            case ast.Name(id=name):
                return self.name(name, frame, depth + 1)
            case ast.Attribute(value=value, attr=attr):
                return self._attribute(value, attr, frame, depth + 1)
            case ast.Call():
                return self._call(node, frame, depth + 1)
            case ast.Await(value=ast.Call() as value):
                return self._call(value, frame, depth + 1, awaited=True)
            case ast.NamedExpr(value=value):
                return self.infer(value, frame, depth + 1)
            case ast.IfExp(body=body, orelse=orelse):
                return self._all([body, orelse], frame, depth + 1)
            case ast.BoolOp(op=ast.Or(), values=values):
                return self._all(values, frame, depth + 1)
            case _:
                return [NOTHING]

    def _all(self, nodes: list[ast.expr], frame: Frame, depth: int) -> list[Thing]:
        return [thing for each in nodes for thing in self.infer(each, frame, depth)]

    def _is_narrowed(self, node: ast.expr, frame: Frame) -> bool:
        inside: Frame | None = frame
        while inside is not None and inside.outer is not None:
            if inside.narrowed and ast.unparse(node) in inside.narrowed:
                return True
            inside = inside.outer
        return False

    # --- names -------------------------------------------------------------------

    def name(self, name: str, frame: Frame, depth: int = 0) -> list[Thing]:
        """Return what a name is in a frame."""
        inside: Frame | None = frame
        while inside is not None:
            if name in inside.opaque:
                return [NOTHING]
            if name == inside.self_name and inside.owner is not None:
                return [self._self(inside)]
            bindings = inside.bindings(name)
            if bindings or name in inside.parameters:
                return self._bound(name, bindings, inside, depth)
            inside = inside.outer
        if name in BUILTINS:
            return [Thing(target=External(f"builtins.{name}"))]
        targets = self.resolver.attribute(frame.module, name)
        return [Thing(target=each, symbol=_symbol(each)) for each in targets]

    def _self(self, frame: Frame) -> Thing:
        owner = frame.owner
        if owner is None or frame.bindings(frame.self_name or ""):
            return NOTHING
        return Thing(
            target=owner,
            symbol=owner.dotted,
            instance=not frame.self_is_class,
            declared=True,
        )

    def _bound(
        self, name: str, bindings: list[Binding], frame: Frame, depth: int
    ) -> list[Thing]:
        found: list[Thing] = []
        if name in frame.parameters:
            annotation = frame.parameters[name]
            if annotation is None:
                return [NOTHING]
            found += self._annotated(annotation, frame)
        for each in bindings:
            found += self._binding(each, frame, depth)
        there = [each for each in found if not isinstance(each.target, Missing)]
        return there or found or [NOTHING]

    def _binding(self, binding: Binding, frame: Frame, depth: int) -> list[Thing]:
        match binding.bound:
            case Import(module=module, name=what, level=level):
                full = frame.module.absolute(module, level)
                return self.imported(full, what, typing=binding.typing, depth=depth)
            case ast.ClassDef() as node:
                prefix = f"{frame.owner.qualname}." if frame.owner else ""
                ref = ClassRef(frame.module, node, prefix + node.name)
                return [Thing(target=ref, symbol=ref.dotted)]
            case ast.FunctionDef() | ast.AsyncFunctionDef() as node:
                return [Thing(target=FunctionRef(frame.module, node))]
            case Value(annotation=ast.expr() as annotation, value=value):
                if value is not None:
                    exact = self.infer(value, frame, depth)
                    if exact and all(each != NOTHING for each in exact):
                        return exact
                return self._annotated(annotation, frame)
            case Value(value=ast.expr() as value):
                return self.infer(value, frame, depth)
            case _:
                return [NOTHING]

    def _annotated(self, annotation: ast.expr, frame: Frame) -> list[Thing]:
        # With the symbols that this frame uses, where the annotation is a plain name.
        if isinstance(annotation, ast.Name):
            found = self.name(annotation.id, frame, DEPTH - 4)
            if all(isinstance(t.target, ClassRef) and not t.instance for t in found):
                return [each.as_instance(declared=True) for each in found]
        return self.annotations.read(frame.module, annotation)

    def imported(
        self, module: str, name: str | None, *, typing: bool = False, depth: int = 0
    ) -> list[Thing]:
        """Return what an import of the client brings, under the name it uses."""
        symbol = module if name is None else f"{module}.{name}"
        if (
            module.partition(".")[0] == self.client
            and name is not None
            and depth < DEPTH
        ):
            other = self.program.module(module)
            if other is not None and other.scope.every.get(name):
                return self.name(name, self.frame(other), depth + 4)
        targets = self.resolver.imported(module, name, typing=typing)
        return [one for each in targets for one in self._thing(each, symbol, depth)]

    def _thing(self, target: Target, symbol: str, depth: int) -> list[Thing]:
        """Return what a target is, a value of a module by what it is given there."""
        if not isinstance(target, ValueRef):
            return [Thing(target=target, symbol=symbol)]
        names = [
            name
            for name, bindings in target.module.scope.final.items()
            for each in bindings
            if isinstance(each.bound, Value) and each.bound.value is target.value
        ]
        if any(target.module.declares_global(name) for name in names):
            return [NOTHING]
        if target.annotation is not None:
            found = self.annotations.read(target.module, target.annotation)
        elif target.value is not None:
            found = self.infer(target.value, self.frame(target.module), depth + 4)
        else:
            found = []
        return [replace(each, symbol=symbol) for each in found] or [NOTHING]

    # --- members -----------------------------------------------------------------

    def _attribute(
        self, value: ast.expr, attr: str, frame: Frame, depth: int
    ) -> list[Thing]:
        if is_super(value):
            return self.inherited(attr, frame)
        found: list[Thing] = []
        for each in self.infer(value, frame, depth):
            found += self.member(each, attr, depth)
        return found or [NOTHING]

    def member(self, thing: Thing, attr: str, depth: int = 0) -> list[Thing]:
        """Return what `thing.attr` may be; a `Missing` where it is surely not there."""
        symbol = f"{thing.symbol}.{attr}"
        match thing.target:
            case ModuleRef(module=module):
                if self.is_client(module) and module.scope.every.get(attr):
                    return self.name(attr, self.frame(module), depth + 4)
                targets = self.resolver.attribute(module, attr)
                return [
                    one for each in targets for one in self._thing(each, symbol, depth)
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
        for each in self.classes.members(cls, attr):
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
        given = self.classes.attributes(cls, attr)
        if given is None:
            return [NOTHING]
        if given and thing.instance:
            return [one for each in given for one in self._given(each, cls, depth)]
        if given or vague or not self._is_judged(cls):
            return [NOTHING]
        return [Thing(target=self._no_member(cls, attr, symbol), instance=True)]

    def _is_open(self, cls: ClassRef) -> bool:
        """Whether a subclass must be what is really there."""
        return not self.is_client(cls.module) and self.constructors.is_abstract(cls)

    def _is_judged(self, cls: ClassRef) -> bool:
        order = self.classes.order(cls)
        library = any(
            isinstance(each, ClassRef) and not self.is_client(each.module)
            for each in order
        )
        decorated = any(
            isinstance(each, ClassRef) and self.constructors.has_unknown_decorator(each)
            for each in order
        )
        return library and self.classes.is_complete(cls) and not decorated

    def may_override(self, cls: ClassRef, attr: str) -> bool:
        """Whether a subclass of its package may have its own `attr`, by the text.

        Asked only where a use of a value is about to be reported whose class is
        known from an annotation.
        """
        package = cls.module.name.partition(".")[0]
        source = self.program.packages[package]
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
        how = self.decorators.of_function(ref)
        if how.is_property:
            if not thing.instance or ref.node.returns is None:
                return [NOTHING]
            return self.annotations.read(ref.module, ref.node.returns, receiver=cls)
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
        return self.annotations.read(value.module, value.annotation, receiver=cls)

    def _given(self, value: ValueRef, cls: ClassRef, depth: int) -> list[Thing]:
        """Return what an attribute is given in one place."""
        owner = value.owner
        if value.value is not None and owner is not None:
            method = self._enclosing(owner, value.value)
            if method is not None:
                outer = self.frame(value.module)
                inside = function_frame(outer, method, owner)
                exact = self.infer(value.value, inside, depth + 4)
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
            for each in self.classes.order(cls)
            if isinstance(each, ClassRef)
            for name in self.classes.scope(each).final
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
            return [self._next_init(owner, frame)]
        found = self.classes.members(owner, attr, after=owner)
        return [
            Thing(
                target=each,
                symbol=f"{self._base_symbol(each.owner, owner)}.{attr}",
                bound=self.decorators.of_function(each).binds is not Binds.NOTHING,
                receiver=owner,
            )
            if isinstance(each, FunctionRef) and each.owner is not None
            else NOTHING
            for each in found
        ] or [NOTHING]

    def _next_init(self, owner: ClassRef, frame: Frame) -> Thing:
        del frame
        order = self.classes.order(owner)
        for each in order[1:]:
            if not isinstance(each, ClassRef):
                if each in (External("abc.ABC"), External("typing.Generic")):
                    continue
                return NOTHING
            symbol = self._base_symbol(each, owner)
            bindings = self.classes.scope(each).final.get("__init__", [])
            made = self.decorators.dataclass(each.module, each.node.decorator_list)
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
            for each in self.infer(node, self.frame(owner.module), DEPTH - 6):
                if each.target == base:
                    return each.symbol
        return base.dotted

    # --- calls -------------------------------------------------------------------

    def _call(
        self, node: ast.Call, frame: Frame, depth: int, *, awaited: bool = False
    ) -> list[Thing]:
        found: list[Thing] = []
        for thing in self.infer(node.func, frame, depth):
            found += self.result(thing, node, frame, depth, awaited=awaited)
        return found or [NOTHING]

    def result(
        self, thing: Thing, node: ast.Call, frame: Frame, depth: int, *, awaited: bool
    ) -> list[Thing]:
        """Return what calling the thing gives."""
        match thing.target:
            case ClassRef() if not thing.instance:
                return [thing.as_instance(declared=thing.declared)]
            case FunctionRef(node=function, module=module) as ref:
                is_async = isinstance(function, ast.AsyncFunctionDef)
                how = self.decorators.of_function(ref)
                if (
                    function.returns is None
                    or is_async != awaited
                    or not how.keeps_result
                ):
                    return [NOTHING]
                receiver = thing.receiver
                return self.annotations.read(
                    module, function.returns, receiver=receiver
                )
            case External(dotted=dotted) if dotted in SAME and node.args:
                return self.infer(node.args[0], frame, depth)
            case External(dotted="typing.cast") if node.args:
                return self._annotated(node.args[0], frame)
            case _:
                return [NOTHING]


def is_super(node: ast.expr) -> bool:
    """Whether the expression is `super()` without arguments."""
    match node:
        case ast.Call(func=ast.Name(id="super"), args=[], keywords=[]):
            return True
        case _:
            return False


def _method_owner(frame: Frame) -> ClassRef | None:
    inside: Frame | None = frame
    while inside is not None:
        if inside.self_name is not None:
            return inside.owner
        inside = inside.outer
    return None


def _symbol(target: Target) -> str:
    match target:
        case ClassRef() as ref:
            return ref.dotted
        case FunctionRef(module=module, node=node):
            return f"{module.name}.{node.name}"
        case ModuleRef(module=module):
            return module.name
        case External(dotted=dotted):
            return dotted
        case _:
            return ""
