"""What a name or an expression can be known to be."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from patchset.analysis.modules import Module
from patchset.analysis.scope import FunctionNode


@dataclass(frozen=True, slots=True)
class ModuleRef:
    """A module of a package that can be read."""

    module: Module


@dataclass(frozen=True, slots=True)
class ClassRef:
    """A class, by its definition."""

    module: Module
    node: ast.ClassDef
    qualname: str

    @property
    def dotted(self) -> str:
        """Module and qualified name of the definition."""
        return f"{self.module.name}.{self.qualname}"

    @property
    def place(self) -> str:
        """`path:line` of the definition."""
        return self.module.place(self.node)


@dataclass(frozen=True, slots=True)
class FunctionRef:
    """A function or method, by its definition."""

    module: Module
    node: FunctionNode
    owner: ClassRef | None = None

    @property
    def place(self) -> str:
        """`path:line` of the definition."""
        return self.module.place(self.node)


@dataclass(frozen=True, slots=True)
class ValueRef:
    """What an assignment in a module or class body leaves; None: not written down."""

    module: Module
    value: ast.expr | None
    annotation: ast.expr | None = None
    owner: ClassRef | None = None


@dataclass(frozen=True, slots=True)
class External:
    """A name of a package that is not read."""

    dotted: str


@dataclass(frozen=True, slots=True)
class Missing:
    """A name that is not there; `found` is the part that is not."""

    dotted: str
    found: str
    is_module: bool
    wanted: str = ""


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nothing can be said."""


UNKNOWN = Unknown()

Target: TypeAlias = (
    ModuleRef | ClassRef | FunctionRef | ValueRef | External | Missing | Unknown
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Thing:
    """A target, and how an expression has come by it."""

    target: Target
    symbol: str = ""
    """The name as the client uses it."""
    instance: bool = False
    """An instance of the class, not the class."""
    declared: bool = False
    """Known from an annotation: a subclass may be what is really there."""
    bound: bool = False
    """Of a function: the first parameter is given already."""
    receiver: ClassRef | None = field(default=None)
    """Of a method: the class on which it was looked up."""

    def as_instance(self, *, declared: bool) -> Thing:
        """Return what calling this class gives."""
        return replace(self, instance=True, declared=declared)


NOTHING = Thing(target=UNKNOWN)
