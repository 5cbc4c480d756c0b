"""The modules of some import packages, each read and parsed when first asked for."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from patchset.analysis.scope import Scope, scan
from patchset.analysis.source import Source

COMPILED = (".so", ".pyd", ".pyx", ".pyi")


@dataclass(eq=False, kw_only=True)
class Module:
    """One module of a package. Without a tree it is there, but cannot be read."""

    name: str
    path: str
    is_package: bool
    text: str = ""
    tree: ast.Module | None = None

    @cached_property
    def scope(self) -> Scope:
        """The names that it binds; none for a module that cannot be read."""
        return Scope() if self.tree is None else scan(self.tree.body)

    @property
    def package(self) -> str:
        """What relative imports in it start from."""
        return self.name if self.is_package else self.name.rpartition(".")[0]

    def absolute(self, module: str, level: int) -> str:
        """Return the full name of a module that an import in this one names."""
        if level == 0:
            return module
        parts = self.package.split(".")
        kept = parts[: len(parts) - (level - 1)]
        return ".".join([*kept, module] if module else kept)

    def place(self, node: ast.AST) -> str:
        """Return `path:line` of a node of this module."""
        return f"{self.path}:{getattr(node, 'lineno', 1)}"

    @cached_property
    def is_dynamic(self) -> bool:
        """Whether it makes names in a way that only running it would show."""
        return bool(_DYNAMIC.search(self.text))

    def declares_global(self, name: str) -> bool:
        """Whether a function of it declares `name` global, and so may bind it."""
        return bool(
            re.search(rf"^\s+global\s[^#\n]*\b{name}\b", self.text, re.MULTILINE)
        )


_DYNAMIC = re.compile(
    r"\bglobals\(\)|\bvars\(\)|sys\.modules\[__name__\]|^(exec|setattr)\(", re.MULTILINE
)


@dataclass(eq=False, kw_only=True)
class Program:
    """Import packages by name, with where their files come from.

    What is imported from any other package is outside: nothing is said about it.
    """

    packages: Mapping[str, Source]
    modules: dict[str, Module | None] = field(default_factory=dict)
    unread: dict[str, str] = field(default_factory=dict)
    """Path → why it could not be parsed: what is in it is not judged."""

    def holds(self, name: str) -> bool:
        """Whether the module `name` belongs to one of the packages."""
        return name.partition(".")[0] in self.packages

    def module(self, name: str) -> Module | None:
        """Return the module, None where the package has none of that name."""
        if name not in self.modules:
            self.modules[name] = self._find(name)
        return self.modules[name]

    def _find(self, name: str) -> Module | None:
        source = self.packages[name.partition(".")[0]]
        parent, _, last = name.replace(".", "/").rpartition("/")
        if parent and (above := self.module(name.rpartition(".")[0])) is not None:
            if not above.is_package:
                return None
        elif parent:
            return None
        here = source.names(parent)
        folder = f"{parent}/{last}" if parent else last
        inside = source.names(folder) if last in here else frozenset()
        if "__init__.py" in inside:
            return self._parse(name, f"{folder}/__init__.py", is_package=True)
        if f"{last}.py" in here:
            return self._parse(name, f"{folder}.py", is_package=False)
        compiled = {each for each in here if each.split(".")[0] == last}
        if any(each.endswith(COMPILED) for each in compiled):
            return Module(name=name, path=folder, is_package=False)
        if inside:  # a namespace package, or data; its modules are found by name
            return Module(
                name=name, path=folder, is_package=True, tree=ast.Module([], [])
            )
        return None

    def _parse(self, name: str, path: str, *, is_package: bool) -> Module:
        content = self.packages[name.partition(".")[0]].read(path) or b""
        module = Module(name=name, path=path, is_package=is_package)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # theirs: invalid escapes and the like
                module.tree = ast.parse(content, path)
            module.text = content.decode("utf-8", "replace")
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            self.unread[path] = str(error)
        return module


def module_name(path: str) -> str:
    """Return the dotted name of the module in a file, relative to its site."""
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
