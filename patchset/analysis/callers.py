"""Who calls a method or a function, and on what."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from patchset.analysis.frames import Frame, class_frame, function_frame
from patchset.analysis.modules import Module, Program, module_name
from patchset.analysis.source import python_files
from patchset.analysis.things import ClassRef
from patchset.analysis.values import Values


@dataclass(frozen=True, kw_only=True, slots=True)
class Caller:
    """One call."""

    path: str
    line: int
    within: str
    """The definition that makes the call; empty at the top of a module."""
    on: str
    """The expression before the last dot; empty for a plain name."""
    of: str | None
    """The class of what it is called on; None where that could not be told."""

    def to_json(self) -> dict[str, object]:
        """Return the call as an object for JSON output."""
        return {
            "path": self.path,
            "line": self.line,
            "within": self.within,
            "on": self.on,
            "class": self.of,
        }


def callers(
    program: Program, name: str, cls: ClassRef | None = None
) -> tuple[Caller, ...]:
    """Return the calls of a name, in the order of paths and lines.

    With a class, those on values that are surely of an unrelated one are left out.
    Only files whose text has the name before a parenthesis are parsed.
    """
    text = re.compile(rf"\b{re.escape(name)}\s*\(".encode())
    found: list[Caller] = []
    for package, source in program.packages.items():
        values = Values.over(program, package)
        for path in python_files(source, package):
            if text.search(source.read(path) or b""):
                module = program.module(module_name(path))
                if module is not None:
                    found += _in_module(values, module, name, cls)
    return tuple(found)


def _in_module(
    values: Values, module: Module, name: str, cls: ClassRef | None
) -> Iterator[Caller]:
    if module.tree is None:
        return
    for call, frame, within in _calls(values.frame(module), module.tree.body, ""):
        match call.func:
            case ast.Attribute(value=value, attr=attr) if attr == name:
                classes = _classes(values, value, frame)
                if (
                    cls is None
                    or not classes
                    or any(_related(values, each, cls) for each in classes)
                ):
                    yield Caller(
                        path=module.path,
                        line=call.lineno,
                        within=within,
                        on=ast.unparse(value),
                        of=" | ".join(sorted(each.dotted for each in classes)) or None,
                    )
            case ast.Name(id=plain) if plain == name and cls is None:
                yield Caller(
                    path=module.path, line=call.lineno, within=within, on="", of=None
                )
            case _:
                pass


def _classes(values: Values, node: ast.expr, frame: Frame) -> set[ClassRef]:
    """Return the classes that a value may be of; none where any is unknown."""
    things = values.infer(node, frame)
    targets = [each.target for each in things]
    classes = {each for each in targets if isinstance(each, ClassRef)}
    return classes if all(isinstance(each, ClassRef) for each in targets) else set()


def _related(values: Values, one: ClassRef, other: ClassRef) -> bool:
    return one in values.classes.order(other) or other in values.classes.order(one)


def _calls(
    frame: Frame, body: Iterable[ast.AST], within: str, owner: ClassRef | None = None
) -> Iterator[tuple[ast.Call, Frame, str]]:
    for node in body:
        name = getattr(node, "name", "")
        inner = f"{within}.{name}" if within else name
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                outer = frame.outer if owner is not None and frame.outer else frame
                inside = function_frame(outer, node, owner)
                yield from _calls(frame, node.decorator_list, within)
                yield from _calls(inside, node.body, inner)
            case ast.ClassDef():
                yield from _calls(frame, [*node.decorator_list, *node.bases], within)
                cls = ClassRef(frame.module, node, node.name)
                yield from _calls(class_frame(frame, node), node.body, inner, cls)
            case _:
                if isinstance(node, ast.Call):
                    yield node, frame, within
                yield from _calls(frame, ast.iter_child_nodes(node), within, owner)
