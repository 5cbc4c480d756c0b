"""What an expression of a client is known to be, by following names and types."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace

from patchset.analysis.annotations import Annotations
from patchset.analysis.attributes import Attributes
from patchset.analysis.classes import Classes
from patchset.analysis.constructors import Constructors
from patchset.analysis.decorators import Decorators
from patchset.analysis.fields import Fields
from patchset.analysis.frames import Frame, function_frame, module_frame
from patchset.analysis.members import Members
from patchset.analysis.modules import Module, Program
from patchset.analysis.resolve import BUILTINS, Resolver
from patchset.analysis.scope import Binding, FunctionNode, Import, Value
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
    attributes: Attributes
    decorators: Decorators
    constructors: Constructors
    annotations: Annotations
    members: Members = field(init=False)
    _frames: dict[str, Frame] = field(default_factory=dict)
    _methods: dict[int, Frame] = field(default_factory=dict)
    _inferred: dict[tuple[ast.expr, Frame], list[Thing]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.members = Members(values=self)

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
            attributes=Attributes(classes=classes),
            constructors=Constructors(
                classes=classes,
                decorators=decorators,
                fields=Fields(classes=classes, decorators=decorators),
            ),
            annotations=Annotations(resolver=resolver),
        )

    def frame(self, module: Module) -> Frame:
        """Return the frame of a module of the client."""
        if module.name not in self._frames:
            self._frames[module.name] = module_frame(module)
        return self._frames[module.name]

    def function_frame(
        self, module: Module, node: FunctionNode, owner: ClassRef
    ) -> Frame:
        """Return the frame of a method, made once."""
        if id(node) not in self._methods:
            frame = function_frame(self.frame(module), node, owner)
            self._methods[id(node)] = frame
        return self._methods[id(node)]

    def is_client(self, module: Module) -> bool:
        """Whether the module is the client's own."""
        return module.name.partition(".")[0] == self.client

    # --- expressions -------------------------------------------------------------

    def infer(self, node: ast.expr, frame: Frame, depth: int = 0) -> list[Thing]:
        """Return what the expression may be, one thing for each alternative.

        The value None is no alternative: nothing is asked of it.
        """
        if depth > DEPTH:
            return [NOTHING]
        key = (node, frame)
        if key not in self._inferred:
            self._inferred[key] = [NOTHING]  # for a value that is made of itself
            self._inferred[key] = self._infer(node, frame, depth)
        return self._inferred[key]

    def _infer(  # noqa: C901 - one line a kind of expression
        self, node: ast.expr, frame: Frame, depth: int
    ) -> list[Thing]:
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
            case ast.Subscript(value=value):
                found = self.infer(value, frame, depth + 1)
                return [each if _is_class(each) else NOTHING for each in found]
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
        if depth > DEPTH:
            return [NOTHING]
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
            found += self._annotated(annotation, frame.outer or frame, depth)
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
                return self._annotated(annotation, frame, depth)
            case Value(value=ast.expr() as value):
                return self.infer(value, frame, depth)
            case _:
                return [NOTHING]

    def _annotated(self, annotation: ast.expr, frame: Frame, depth: int) -> list[Thing]:
        # With the symbols that this frame uses, where the annotation is a plain name.
        if isinstance(annotation, ast.Name):
            found = self.name(annotation.id, frame, depth + 1)
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
        return [one for each in targets for one in self.settled(each, symbol, depth)]

    def settled(self, target: Target, symbol: str, depth: int) -> list[Thing]:
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

    def _attribute(
        self, value: ast.expr, attr: str, frame: Frame, depth: int
    ) -> list[Thing]:
        if is_super(value):
            return self.members.inherited(attr, frame)
        found: list[Thing] = []
        for each in self.infer(value, frame, depth):
            found += self.members.member(each, attr, depth)
        return found or [NOTHING]

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
                return self._annotated(node.args[0], frame, depth)
            case _:
                return [NOTHING]


def is_super(node: ast.expr) -> bool:
    """Whether the expression is `super()`, or `super(Class, self)` as of old."""
    match node:
        case ast.Call(func=ast.Name(id="super"), args=[] | [_, ast.Name()]):
            return True
        case _:
            return False


def _is_class(thing: Thing) -> bool:
    return isinstance(thing.target, ClassRef) and not thing.instance


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
