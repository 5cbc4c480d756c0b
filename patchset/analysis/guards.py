"""Which failures the code around a use already expects."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from patchset.analysis.scope import target_names

IMPORT_ERRORS = frozenset(
    {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"}
)
ASKING = frozenset({"find_spec", "signature", "getfullargspec", "import_module"})
LEAVING = (ast.Return, ast.Raise, ast.Continue, ast.Break)


@dataclass(frozen=True, kw_only=True, slots=True)
class Guards:
    """What need not be reported where a use stands."""

    imports: bool = False
    """A failing import is caught."""
    branch: bool = False
    """Another branch may bring the name that an import does not."""
    attributes: bool = False
    arguments: bool = False
    everything: bool = False
    """The code runs for some versions of the library only, and asks for them itself."""


FREE = Guards()


def caught(handlers: Iterable[ast.ExceptHandler]) -> frozenset[str]:
    """Return the names of the exceptions that the handlers catch and do not pass on."""
    names: set[str] = set()
    for handler in handlers:
        if isinstance(handler.body[-1], ast.Raise):
            continue
        kinds = (
            handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
        )
        for kind in kinds:
            match kind:
                case None:
                    names.add("BaseException")
                case ast.Name(id=name) | ast.Attribute(attr=name):
                    names.add(name)
                case _:
                    pass
    return frozenset(names)


def suppressed(node: ast.With | ast.AsyncWith) -> frozenset[str]:
    """Return the names of the exceptions that `with suppress(…)` catches."""
    names: set[str] = set()
    for item in node.items:
        match item.context_expr:
            case ast.Call(
                func=ast.Name(id="suppress") | ast.Attribute(attr="suppress"), args=args
            ):
                for each in args:
                    if isinstance(each, ast.Name):
                        names.add(each.id)
            case _:
                pass
    return frozenset(names)


def is_version_test(
    test: ast.expr, flags: frozenset[str], is_library: Callable[[ast.expr], bool]
) -> bool:
    """Whether a condition asks which version, or which shape, of the library is there.

    It does if it speaks of a version, asks a library's thing for an attribute, looks
    at a signature, or reads a flag that such a question has set.
    """
    for node in ast.walk(test):
        match node:
            case ast.Name(id=name) if "version" in name.lower() or name in flags:
                return True
            case ast.Attribute(attr=name) if (
                "version" in name.lower() or name in ASKING
            ):
                return True
            case ast.Call(func=ast.Name(id="hasattr" | "getattr"), args=[one, *_]):
                if is_library(one):
                    return True
            case ast.Name(id=name) if name in ASKING:
                return True
            case _:
                pass
    return False


def flags(body: Iterable[ast.stmt]) -> frozenset[str]:
    """Return the names that tell whether an import or a question has succeeded."""
    names: set[str] = set()
    for node in body:
        match node:
            case ast.Try(handlers=handlers) if IMPORT_ERRORS & caught(handlers):
                for each in ast.walk(node):
                    if isinstance(each, ast.Assign) and isinstance(
                        each.value, ast.Constant
                    ):
                        names.update(*(target_names(one) for one in each.targets))
            case ast.Assign(targets=targets, value=value):
                if not isinstance(value, ast.Constant) and is_version_test(
                    value, frozenset(names), lambda _: True
                ):
                    names.update(*(target_names(one) for one in targets))
            case _:
                pass
    return frozenset(names)


def leaves(body: list[ast.stmt]) -> bool:
    """Whether nothing after the block runs once the block has run."""
    return bool(body) and isinstance(body[-1], LEAVING)
