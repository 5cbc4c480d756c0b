"""The fields of dataclasses and structs, and the signature that they make."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from patchset.analysis.classes import ENUMS, TRANSPARENT, Classes
from patchset.analysis.decorators import DataclassOptions, Decorators
from patchset.analysis.modules import Module
from patchset.analysis.scope import Value
from patchset.analysis.signature import KEYWORD_ONLY, POSITIONAL, Parameter, Signature
from patchset.analysis.things import ClassRef, External

STRUCT = frozenset({"msgspec.Struct", "msgspec.structs.Struct"})
NAMED_TUPLE = frozenset({"typing.NamedTuple"})
FIELD = frozenset(
    {"dataclasses.field", "pydantic.Field", "pydantic.fields.Field", "msgspec.field"}
)
PLAIN_BASES = frozenset(TRANSPARENT) - ENUMS - NAMED_TUPLE


@dataclass(frozen=True, kw_only=True, slots=True)
class Field:
    """One field, as far as it matters to a call."""

    name: str
    required: bool
    init: bool = True
    kw_only: bool = False


@dataclass(eq=False, kw_only=True)
class Fields:
    """Reads fields, inherited ones too."""

    classes: Classes
    decorators: Decorators

    def made(self, cls: ClassRef) -> DataclassOptions | None:
        """Return how the class itself was made a dataclass, None where it was not."""
        return self.decorators.dataclass(cls.module, cls.node.decorator_list)

    def signature(
        self, cls: ClassRef, options: DataclassOptions | None
    ) -> list[Signature] | None:
        """Return what the fields of a class and its ancestors make a call take.

        `options` is None for structs and named tuples, whose ancestors all count.
        None where an ancestor is not read.
        """
        fields: dict[str, Field] = {}
        lenient = False
        for each in reversed(self.classes.order(cls)):
            if isinstance(each, External):
                if each.dotted not in PLAIN_BASES | STRUCT | NAMED_TUPLE:
                    return None
                continue
            if not isinstance(each, ClassRef):
                return None
            own = self.made(each)
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

    def _fields(self, cls: ClassRef, *, kw_only: bool) -> list[Field]:
        found: list[Field] = []
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
    ) -> Field:
        if not isinstance(value, ast.Call):
            return Field(name=name, required=value is None, kw_only=kw_only)
        target = self.classes.resolver.expression(module, value.func)[0]
        if not (isinstance(target, External) and target.dotted in FIELD):
            return Field(name=name, required=False, kw_only=kw_only)
        given = {each.arg: each.value for each in value.keywords}
        defaults = [given[k] for k in ("default", "default_factory") if k in given]
        defaults += value.args[:1]
        required = not any(not _is_ellipsis(each) for each in defaults)
        return Field(
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
