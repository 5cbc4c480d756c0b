"""What decorators do to the call of what they decorate, as far as it can be read."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from patchset.analysis.resolve import Resolver
from patchset.analysis.scope import FunctionNode
from patchset.analysis.things import External, FunctionRef, Target

KEEPS = frozenset(
    {
        "abc.abstractmethod",
        "contextlib.asynccontextmanager",
        "contextlib.contextmanager",
        "dataclasses.dataclass",
        "enum.unique",
        "functools.cache",
        "functools.lru_cache",
        "functools.singledispatch",
        "functools.total_ordering",
        "functools.wraps",
        "torch.compile",
        "torch.inference_mode",
        "torch.no_grad",
        "torch._dynamo.disable",
        "torch.compiler.disable",
        "torch.jit.ignore",
        "torch.jit.unused",
        "typing.final",
        "typing.no_type_check",
        "typing.override",
        "typing.overload",
        "typing.runtime_checkable",
        "typing_extensions.deprecated",
        "typing_extensions.final",
        "typing_extensions.overload",
        "typing_extensions.override",
        "typing_extensions.runtime_checkable",
        "warnings.deprecated",
    }
)
"""Decorators after which the call takes what it took before."""

RESULT_CHANGED = frozenset(
    {"contextlib.contextmanager", "contextlib.asynccontextmanager"}
)
PROPERTIES = frozenset(
    {"builtins.property", "functools.cached_property", "abc.abstractproperty"}
)
DATACLASSES = frozenset({"dataclasses.dataclass", "pydantic.dataclasses.dataclass"})
TRANSFORMS = frozenset(
    {"typing.dataclass_transform", "typing_extensions.dataclass_transform"}
)


class Binds(Enum):
    """What is given as the first argument when a method is called."""

    INSTANCE = "instance"
    CLASS = "class"
    NOTHING = "nothing"


@dataclass(frozen=True, kw_only=True, slots=True)
class Decoration:
    """What the decorators of one definition amount to."""

    known: bool = True
    """Whether the call still takes what the definition says."""
    binds: Binds = Binds.INSTANCE
    is_property: bool = False
    keeps_result: bool = True
    """Whether the call still returns what the definition says."""
    is_overload: bool = False
    is_abstract: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class DataclassOptions:
    """How a class was made a dataclass."""

    init: bool = True
    kw_only: bool = False
    pydantic: bool = False


@dataclass(eq=False, kw_only=True)
class Decorators:
    """Reads decorators; a decorator of the packages is judged by its own code."""

    resolver: Resolver

    def of_function(self, function: FunctionRef) -> Decoration:
        """Return what the decorators of a function or method amount to."""
        known, result, binds = True, True, Binds.INSTANCE
        is_property = is_overload = is_abstract = False
        if function.node.name in ("__new__", "__init_subclass__", "__class_getitem__"):
            binds = Binds.CLASS
        for target in self._targets(function.module, function.node.decorator_list):
            name = target.dotted if isinstance(target, External) else ""
            if name == "builtins.staticmethod":
                binds = Binds.NOTHING
            elif name == "builtins.classmethod":
                binds = Binds.CLASS
            elif name in PROPERTIES or name.endswith(
                (".setter", ".getter", ".deleter")
            ):
                is_property = True
            elif not self._keeps(target):
                known = False
            is_overload = is_overload or name.endswith(".overload")
            is_abstract = is_abstract or name == "abc.abstractmethod"
            result = result and name not in RESULT_CHANGED
        return Decoration(
            known=known,
            binds=binds,
            is_property=is_property,
            keeps_result=result and known,
            is_overload=is_overload,
            is_abstract=is_abstract,
        )

    def keeps_class(self, module_targets: list[Target]) -> bool:
        """Whether calling a class takes the same after these decorators."""
        return all(
            self._keeps(each) or self.transforms(each) for each in module_targets
        )

    def of_class(self, cls_module: object, nodes: list[ast.expr]) -> list[Target]:
        """Return what the decorators of a class are."""
        return list(self._targets(cls_module, nodes))

    def dataclass(
        self, module: object, nodes: list[ast.expr]
    ) -> DataclassOptions | None:
        """Return how the decorators make a dataclass, None where they do not."""
        for node, target in zip(nodes, self._targets(module, nodes), strict=True):
            name = target.dotted if isinstance(target, External) else ""
            if name not in DATACLASSES and not self.transforms(target):
                continue
            options = {"init": True, "kw_only": False}
            for keyword in node.keywords if isinstance(node, ast.Call) else ():
                if keyword.arg in options and isinstance(keyword.value, ast.Constant):
                    options[keyword.arg] = bool(keyword.value.value)
            return DataclassOptions(pydantic=name != "dataclasses.dataclass", **options)
        return None

    def _targets(self, module: object, nodes: list[ast.expr]) -> Iterator[Target]:
        for node in nodes:
            name = node.func if isinstance(node, ast.Call) else node
            yield self.resolver.expression(module, name)[0]  # type: ignore[arg-type]

    def _keeps(self, target: Target) -> bool:
        if isinstance(target, External):
            return target.dotted in KEEPS
        return isinstance(target, FunctionRef) and gives_back(target.node)

    def transforms(self, target: Target) -> bool:
        """Whether it is declared to make dataclasses, by `dataclass_transform`."""
        return isinstance(target, FunctionRef) and any(
            isinstance(each, External) and each.dotted in TRANSFORMS
            for each in self._targets(target.module, target.node.decorator_list)
        )


def gives_back(node: FunctionNode) -> bool:
    """Whether a decorator, or the one that it makes, hands on what it was given.

    It does if it returns its first parameter, or a wrapper that takes anything and
    passes just that on.
    """
    positional = [*node.args.posonlyargs, *node.args.args]
    if positional and _hands_on(node, positional[0].arg):
        return True
    return any(
        gives_back(each)
        for each in node.body
        if isinstance(each, ast.FunctionDef) and _is_returned(node, each.name)
    )


def _hands_on(node: FunctionNode, given: str) -> bool:
    for each in ast.walk(node):
        match each:
            case ast.Return(value=ast.Name(id=name)) if name == given:
                return True
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                if each is not node and _passes_on(each, given):
                    return True
            case _:
                pass
    return False


def _passes_on(wrapper: FunctionNode, given: str) -> bool:
    arguments = wrapper.args
    if arguments.vararg is None or arguments.kwarg is None:
        return False
    named = [each.arg for each in [*arguments.posonlyargs, *arguments.args]]
    if named not in ([], ["self"], ["cls"]) or arguments.kwonlyargs:
        return False
    if _looks_into(wrapper, arguments.kwarg.arg):
        return False  # it may take keywords that it does not pass on
    for each in ast.walk(wrapper):
        match each:
            case ast.Call(
                func=ast.Name(id=name),
                args=[*first, ast.Starred(value=ast.Name(id=star))],
                keywords=[ast.keyword(arg=None, value=ast.Name(id=stars))],
            ) if name == given:
                passed = [one.id for one in first if isinstance(one, ast.Name)]
                if (passed, star, stars) == (
                    named,
                    arguments.vararg.arg,
                    arguments.kwarg.arg,
                ):
                    return True
            case _:
                pass
    return False


def _looks_into(wrapper: FunctionNode, kwargs: str) -> bool:
    """Whether the keywords are used in another way than handed on as a whole."""
    handed = {
        id(each.value)
        for each in ast.walk(wrapper)
        if isinstance(each, ast.keyword) and each.arg is None
    }
    return any(
        isinstance(each, ast.Name) and each.id == kwargs and id(each) not in handed
        for each in ast.walk(wrapper)
    )


def _is_returned(node: FunctionNode, name: str) -> bool:
    return any(
        isinstance(each, ast.Return)
        and isinstance(each.value, ast.Name)
        and each.value.id == name
        for each in ast.walk(node)
    )
