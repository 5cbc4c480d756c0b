"""What the call of a class takes, for each of the ways in which a class is made."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from patchset.analysis.classes import ENUMS, Classes
from patchset.analysis.decorators import Decorators
from patchset.analysis.fields import NAMED_TUPLE, PLAIN_BASES, STRUCT, Fields
from patchset.analysis.signature import Signature, of_function
from patchset.analysis.things import ClassRef, External, FunctionRef

UNJUDGED_BASES = frozenset(
    {
        f"builtins.{name}"
        for name in ("str", "int", "tuple", "dict", "list", "Exception")
    }
)
PROTOCOLS = frozenset({"typing.Protocol", "typing_extensions.Protocol"})
OPEN_BASES = PROTOCOLS | {"abc.ABC"}


@dataclass(eq=False, kw_only=True)
class Constructors:
    """Answers what classes of a program take when called; answers are kept."""

    classes: Classes
    decorators: Decorators
    fields: Fields
    _known: dict[ClassRef, tuple[Signature, ...] | None] = field(default_factory=dict)

    def signatures(self, cls: ClassRef) -> tuple[Signature, ...] | None:
        """Return the signatures that a call must all fit, without `self`.

        None where the call is not judged: a metaclass or decorator that is not
        known, an enumeration, a base that is not read before anything takes the
        arguments.
        """
        if cls not in self._known:
            self._known[cls] = self._find(cls)
        return self._known[cls]

    def is_abstract(self, cls: ClassRef) -> bool:
        """Whether the class says that subclasses are what there will be."""
        bases = self.classes.bases(cls)
        direct = any(isinstance(b, External) and b.dotted in OPEN_BASES for b in bases)
        return direct or bool(self.abstract_methods(cls))

    def abstract_methods(self, cls: ClassRef) -> dict[str, FunctionRef]:
        """Return the abstract methods that the class and its ancestors leave open."""
        found: dict[str, FunctionRef] = {}
        seen: set[str] = set()
        for each in self.classes.order(cls):
            if not isinstance(each, ClassRef):
                continue
            for name, bindings in self.classes.scope(each).final.items():
                if name in seen:
                    continue
                seen.add(name)
                node = bindings[-1].bound
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    function = FunctionRef(each.module, node, each)
                    if self.decorators.of_function(function).is_abstract:
                        found[name] = function
        return found

    def _find(self, cls: ClassRef) -> tuple[Signature, ...] | None:
        if not self.classes.has_plain_metaclass(cls) or self.classes.inherits(
            cls, ENUMS
        ):
            return None
        if self.has_unknown_decorator(cls):
            return None
        found: list[Signature] = []
        new = self._explicit(cls, "__new__")
        init = self._init(cls)
        if init is None or new is None:
            return None
        found = [*new, *init]
        return tuple(found)

    def has_unknown_decorator(self, cls: ClassRef) -> bool:
        """Whether a decorator may have made another thing of the class."""
        nodes = cls.node.decorator_list
        targets = self.decorators.of_class(cls.module, nodes)
        return any(not self._is_fine(target) for target in targets)

    def _is_fine(self, target: object) -> bool:
        if isinstance(target, External) and target.dotted in (
            "dataclasses.dataclass",
            "pydantic.dataclasses.dataclass",
        ):
            return True
        return self.decorators.keeps_class([target])  # type: ignore[list-item]

    def _explicit(self, cls: ClassRef, name: str) -> list[Signature] | None:
        """Return the signature of the first `name` that an ancestor writes down."""
        for each in self.classes.order(cls):
            if not isinstance(each, ClassRef):
                if isinstance(each, External) and each.dotted in PLAIN_BASES | STRUCT:
                    continue
                return []
            bindings = self.classes.scope(each).final.get(name)
            if bindings:
                return self._functions(each, [one.bound for one in bindings])
        return []

    def _functions(
        self, owner: ClassRef, bound: list[object]
    ) -> list[Signature] | None:
        if len(bound) != 1:
            return None
        node = bound[0]
        if not isinstance(node, ast.FunctionDef):
            return None
        function = FunctionRef(owner.module, node, owner)
        if not self.decorators.of_function(function).known:
            return None
        return [of_function(node, function.place).without_first()]

    def _init(self, cls: ClassRef) -> list[Signature] | None:
        for each in self.classes.order(cls):
            if (
                isinstance(each, External)
                and each.dotted in PLAIN_BASES - UNJUDGED_BASES
            ):
                continue
            if isinstance(each, External) and each.dotted in STRUCT | NAMED_TUPLE:
                return self.fields.signature(cls, None)
            if not isinstance(each, ClassRef):
                return None
            options = self.fields.made(each)
            bindings = self.classes.scope(each).final.get("__init__")
            if bindings and not (options and options.pydantic):
                return self._functions(each, [one.bound for one in bindings])
            if bindings:
                return None  # pydantic replaces it
            if options is not None and options.init:
                return self.fields.signature(each, options)
        if self._explicit(cls, "__new__"):
            return []  # `object` takes whatever an own `__new__` takes
        return [Signature(parameters=(), place=cls.place)]
