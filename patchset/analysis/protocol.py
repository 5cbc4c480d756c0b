"""Which protocols a class carries, and which of their members it lacks."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from patchset.analysis.classes import Classes
from patchset.analysis.constructors import PROTOCOLS
from patchset.analysis.scope import FunctionNode, Value
from patchset.analysis.things import ClassRef, External, Unknown
from patchset.analysis.values import Values


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """How a class stands to one protocol."""

    protocol: ClassRef
    inherits: bool
    """Whether the protocol is among its ancestors."""
    lacking: tuple[str, ...]
    """Members that no ancestor defines, but for a body that says nothing."""

    @property
    def carries(self) -> bool:
        """Whether `isinstance` would say so, by ancestry or by members."""
        return self.inherits or not self.lacking


def is_protocol(classes: Classes, cls: ClassRef) -> bool:
    """Whether the class itself is a protocol, not an implementation of one."""
    return any(
        isinstance(base, External) and base.dotted in PROTOCOLS
        for base in classes.bases(cls)
    )


def protocols(classes: Classes, cls: ClassRef) -> tuple[ClassRef, ...]:
    """Return the protocols among the ancestors of a class, in its order."""
    return tuple(
        each
        for each in classes.order(cls)
        if isinstance(each, ClassRef) and is_protocol(classes, each)
    )


def members(classes: Classes, protocol: ClassRef) -> tuple[str, ...]:
    """Return the names that a protocol and the protocols it extends ask for."""
    found: dict[str, None] = {}
    for each in classes.order(protocol):
        if isinstance(each, ClassRef) and is_protocol(classes, each):
            for name, bindings in classes.scope(each).final.items():
                bound = bindings[-1].bound
                if not name.startswith(("__", "_abc_")) and isinstance(
                    bound, Value | ast.FunctionDef | ast.AsyncFunctionDef
                ):
                    found[name] = None
    return tuple(found)


def standing(values: Values, cls: ClassRef, protocol: ClassRef) -> Standing:
    """Return how a class stands to a protocol.

    A method whose only definition is the protocol's own, and says nothing there, is
    lacking: calling it does nothing.
    """
    classes = values.classes
    inherits = protocol in classes.order(cls)
    lacking = [
        name for name in members(classes, protocol) if not has(values, cls, name)
    ]
    return Standing(protocol=protocol, inherits=inherits, lacking=tuple(lacking))


def has(values: Values, cls: ClassRef, name: str) -> bool:
    """Whether instances of a class have a member that does something."""
    definer = definition(values.classes, cls, name)
    if definer is not None and not is_stub(definer[1]):
        return True
    given = values.attributes.given(cls, name)
    return given is None or bool(given)


def definition(
    classes: Classes, cls: ClassRef, name: str
) -> tuple[ClassRef, FunctionNode | None] | None:
    """Return the first ancestor that defines a name, with the function if it is one.

    Ancestors outside the packages are passed over: they know nothing of the names
    that are asked for here.
    """
    for each in classes.order(cls):
        if isinstance(each, ClassRef):
            bindings = classes.scope(each).final.get(name)
            if bindings:
                bound = bindings[-1].bound
                function = isinstance(bound, ast.FunctionDef | ast.AsyncFunctionDef)
                return each, bound if function else None  # type: ignore[return-value]
    return None


def is_stub(node: FunctionNode | None) -> bool:
    """Whether a function's body says nothing: a docstring, `...`, `pass`, or raises."""
    if node is None:
        return False
    for each in node.body:
        match each:
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                continue
            case ast.Raise(exc=ast.Name(id="NotImplementedError")):
                continue
            case ast.Raise(exc=ast.Call(func=ast.Name(id="NotImplementedError"))):
                continue
            case _:
                return False
    return True


def is_known(classes: Classes, cls: ClassRef) -> bool:
    """Whether every ancestor could be told, those outside the packages by name."""
    return not any(isinstance(each, Unknown) for each in classes.order(cls))
