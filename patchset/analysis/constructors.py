"""What the call of a class takes, for each of the ways in which a class is made."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from patchset.analysis.classes import ENUMS, TRANSPARENT, Classes
from patchset.analysis.decorators import DataclassOptions, Decorators
from patchset.analysis.modules import Module
from patchset.analysis.scope import Value
from patchset.analysis.signature import (
    KEYWORD_ONLY,
    POSITIONAL,
    Parameter,
    Signature,
    of_function,
)
from patchset.analysis.things import ClassRef, External, FunctionRef

STRUCT = frozenset({"msgspec.Struct", "msgspec.structs.Struct"})
FIELD = frozenset(
    {"dataclasses.field", "pydantic.Field", "pydantic.fields.Field", "msgspec.field"}
)
PLAIN_BASES = frozenset(TRANSPARENT) - ENUMS - {"typing.NamedTuple"}
UNJUDGED_BASES = frozenset(
    {
        f"builtins.{name}"
        for name in ("str", "int", "tuple", "dict", "list", "Exception")
    }
)
OPEN_BASES = frozenset({"typing.Protocol", "typing_extensions.Protocol", "abc.ABC"})


@dataclass(frozen=True, kw_only=True, slots=True)
class _Field:
    name: str
    required: bool
    init: bool = True
    kw_only: bool = False


@dataclass(eq=False, kw_only=True)
class Constructors:
    """Answers what classes of a program take when called; answers are kept."""

    classes: Classes
    decorators: Decorators
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
            if isinstance(each, External) and each.dotted in STRUCT:
                return self._fields_signature(cls, None)
            if isinstance(each, External) and each.dotted == "typing.NamedTuple":
                return self._fields_signature(cls, None)
            if not isinstance(each, ClassRef):
                return None
            options = self._dataclass(each)
            bindings = self.classes.scope(each).final.get("__init__")
            if bindings and not (options and options.pydantic):
                return self._functions(each, [one.bound for one in bindings])
            if bindings:
                return None  # pydantic replaces it
            if options is not None and options.init:
                return self._fields_signature(each, options)
        if self._explicit(cls, "__new__"):
            return []  # `object` takes whatever an own `__new__` takes
        return [Signature(parameters=(), place=cls.place)]

    def _dataclass(self, cls: ClassRef) -> DataclassOptions | None:
        return self.decorators.dataclass(cls.module, cls.node.decorator_list)

    def _fields_signature(
        self, cls: ClassRef, options: DataclassOptions | None
    ) -> list[Signature] | None:
        fields: dict[str, _Field] = {}
        lenient = False
        for each in reversed(self.classes.order(cls)):
            if isinstance(each, External):
                if each.dotted not in PLAIN_BASES | STRUCT | {"typing.NamedTuple"}:
                    return None
                continue
            if not isinstance(each, ClassRef):
                return None
            own = self._dataclass(each)
            if own is None and options is not None:
                continue  # an ancestor that is no dataclass gives no fields
            kw_only = own.kw_only if own else _struct_keyword(each.node, "kw_only")
            for one in self._fields(each, kw_only=kw_only):
                fields[one.name] = one
            lenient = lenient or self._fills_in(each)
        taken = [one for one in fields.values() if one.init]
        parameters = [
            Parameter(one.name, POSITIONAL, one.required)
            for one in taken
            if not one.kw_only
        ] + [
            Parameter(one.name, KEYWORD_ONLY, one.required)
            for one in taken
            if one.kw_only
        ]
        return [
            Signature(parameters=tuple(parameters), place=cls.place, lenient=lenient)
        ]

    def _fields(self, cls: ClassRef, *, kw_only: bool) -> list[_Field]:
        found: list[_Field] = []
        for name, bindings in self.classes.scope(cls).final.items():
            bound = bindings[-1].bound
            if not isinstance(bound, Value) or bound.annotation is None:
                continue
            kind = self._annotation(cls.module, bound.annotation)
            if kind == "KW_ONLY":
                kw_only = True
            elif kind != "ClassVar":
                found.append(
                    self._field(cls.module, name, bound.value, kw_only=kw_only)
                )
        return found

    def _annotation(self, module: Module, node: ast.expr) -> str:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value.partition("[")[0].rpartition(".")[2]
            return text if text in ("ClassVar", "KW_ONLY") else ""
        head = node.value if isinstance(node, ast.Subscript) else node
        if not isinstance(head, ast.Name | ast.Attribute):
            return ""
        found = self.classes.resolver.expression(module, head)[0]
        return found.dotted.rpartition(".")[2] if isinstance(found, External) else ""

    def _field(
        self, module: Module, name: str, value: ast.expr | None, *, kw_only: bool
    ) -> _Field:
        if not isinstance(value, ast.Call):
            return _Field(name=name, required=value is None, kw_only=kw_only)
        target = self.classes.resolver.expression(module, value.func)[0]
        if not (isinstance(target, External) and target.dotted in FIELD):
            return _Field(name=name, required=False, kw_only=kw_only)
        given = {each.arg: each.value for each in value.keywords}
        defaults = [given[k] for k in ("default", "default_factory") if k in given]
        defaults += value.args[:1]
        required = not any(not _is_ellipsis(each) for each in defaults)
        return _Field(
            name=name,
            required=required and None not in given,
            init=_flag(given.get("init"), default=True),
            kw_only=_flag(given.get("kw_only"), default=kw_only),
        )

    def _fills_in(self, cls: ClassRef) -> bool:
        """Whether a pydantic validator sees the arguments before they are bound."""
        for node in cls.node.body:
            if not isinstance(node, ast.FunctionDef):
                continue
            for each in node.decorator_list:
                if isinstance(each, ast.Call) and any(
                    isinstance(keyword.value, ast.Constant)
                    and keyword.value.value in ("before", "wrap")
                    and "model_validator" in ast.unparse(each.func)
                    for keyword in each.keywords
                ):
                    return True
        return False


def _struct_keyword(node: ast.ClassDef, name: str) -> bool:
    return any(
        each.arg == name
        and isinstance(each.value, ast.Constant)
        and each.value.value is True
        for each in node.keywords
    )


def _is_ellipsis(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is ...


def _flag(node: ast.expr | None, *, default: bool) -> bool:
    return bool(node.value) if isinstance(node, ast.Constant) else default
