"""Where a name is defined, what it inherits, and which protocols it carries."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from patchset.analysis.modules import Module, Program, module_name
from patchset.analysis.protocol import Standing, is_protocol, protocols, standing
from patchset.analysis.signature import of_function
from patchset.analysis.source import python_files
from patchset.analysis.things import (
    ClassRef,
    External,
    FunctionRef,
    ModuleRef,
    Target,
)
from patchset.analysis.values import Values


@dataclass(frozen=True, kw_only=True, slots=True)
class Ancestor:
    """One class of a resolution order; `place` is None where it is not read."""

    name: str
    place: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Description:
    """One definition, as its source has it."""

    name: str
    """Module and qualified name."""
    kind: str
    """`class`, `function` or `method`."""
    place: str
    """`path:line`."""
    signature: str | None
    """What a call takes; None where it could not be told."""
    ancestors: tuple[Ancestor, ...] = ()
    """The resolution order of a class, itself first."""
    standings: tuple[Standing, ...] = ()
    """How it stands to the protocols it inherits, and to those declared beside them."""

    def to_json(self) -> dict[str, object]:
        """Return the definition as an object for JSON output."""
        return {
            "name": self.name,
            "kind": self.kind,
            "place": self.place,
            "signature": self.signature,
            "mro": [{"name": a.name, "place": a.place} for a in self.ancestors],
            "protocols": [
                {
                    "name": each.protocol.dotted,
                    "inherits": each.inherits,
                    "carries": each.carries,
                    "lacking": list(each.lacking),
                }
                for each in self.standings
            ],
        }


def describe(program: Program, name: str) -> tuple[Description, ...]:
    """Return every definition that a name may mean, in the order of their places.

    The name is dotted from a package on (`vllm.config.VllmConfig`, a re-export too),
    or bare (`VllmConfig`, `Scheduler.schedule`): then it is looked for everywhere.
    """
    values = Values.over(program, next(iter(program.packages), ""))
    found = _dotted(values, name) or _everywhere(values, name)
    return tuple(_describe(values, each) for each in dict.fromkeys(found))


def _dotted(values: Values, name: str) -> list[Target]:
    root, *rest = name.split(".")
    if not rest or root not in values.program.packages:
        return []
    module = values.program.module(root)
    found: Iterable[Target] = () if module is None else (ModuleRef(module),)
    for part in rest:
        found = [
            inner for each in found for inner in values.resolver.member(each, part)
        ]
    return [each for each in found if isinstance(each, ClassRef | FunctionRef)]


def _everywhere(values: Values, name: str) -> list[Target]:
    first, *rest = name.split(".")
    statement = re.compile(
        rf"^[ \t]*(?:class|(?:async\s+)?def)\s+{re.escape(first)}\b".encode(),
        re.MULTILINE,
    )
    found: list[Target] = []
    for package, source in values.program.packages.items():
        for path in python_files(source, package):
            if statement.search(source.read(path) or b""):
                module = values.program.module(module_name(path))
                if module is not None and module.tree is not None:
                    found += _in_body(module, module.tree.body, first, None)
    for part in rest:
        found = [
            inner
            for each in found
            if isinstance(each, ClassRef)
            for inner in values.classes.members(each, part)
        ]
    return [each for each in found if isinstance(each, ClassRef | FunctionRef)]


def _in_body(
    module: Module, body: Iterable[ast.AST], name: str, owner: ClassRef | None
) -> Iterator[Target]:
    for node in body:
        match node:
            case ast.ClassDef():
                prefix = f"{owner.qualname}." if owner else ""
                cls = ClassRef(module, node, prefix + node.name)
                if node.name == name:
                    yield cls
                yield from _in_body(module, node.body, name, cls)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                if node.name == name:
                    yield FunctionRef(module, node, owner)
            case ast.If() | ast.Try() | ast.With() | ast.ExceptHandler():
                yield from _in_body(module, ast.iter_child_nodes(node), name, owner)
            case _:
                pass


def _describe(values: Values, target: Target) -> Description:
    if isinstance(target, ClassRef):
        return _class(values, target)
    if not isinstance(target, FunctionRef):
        raise TypeError(f"{target} is neither class nor function")
    owner = target.owner
    prefix = owner.dotted if owner is not None else target.module.name
    known = values.decorators.of_function(target).known
    signature = str(of_function(target.node, target.place)) if known else None
    return Description(
        name=f"{prefix}.{target.node.name}",
        kind="function" if owner is None else "method",
        place=target.place,
        signature=signature,
    )


def _class(values: Values, cls: ClassRef) -> Description:
    taken = values.constructors.signatures(cls)
    beside = {each.module.name: each.module for each in protocols(values.classes, cls)}
    asked = [
        each
        for module in beside.values()
        for each in _declared(values, module)
        if each != cls
    ]
    return Description(
        name=cls.dotted,
        kind="class",
        place=cls.place,
        signature=str(taken[-1]) if taken else None,
        ancestors=tuple(_ancestor(each) for each in values.classes.order(cls)),
        standings=tuple(standing(values, cls, each) for each in asked),
    )


def _declared(values: Values, module: Module) -> list[ClassRef]:
    body = module.tree.body if module.tree is not None else []
    found = [
        ClassRef(module, node, node.name)
        for node in body
        if isinstance(node, ast.ClassDef)
    ]
    return [each for each in found if is_protocol(values.classes, each)]


def _ancestor(target: object) -> Ancestor:
    if isinstance(target, ClassRef):
        return Ancestor(name=target.dotted, place=target.place)
    if isinstance(target, External):
        return Ancestor(name=target.dotted, place=None)
    return Ancestor(name="?", place=None)


def class_of(program: Program, name: str) -> ClassRef | None:
    """Return the class in `Class.method`, None where the name has no class in it."""
    values = Values.over(program, next(iter(program.packages), ""))
    head = name.rpartition(".")[0]
    if not head:
        return None
    found = _dotted(values, head) or _everywhere(values, head)
    return next((each for each in found if isinstance(each, ClassRef)), None)
