"""Running one definition of a published file among stand-ins: no torch, no vLLM."""

from __future__ import annotations
import __future__

import ast
import copy
from functools import cache
from typing import Any

_parse = cache(ast.parse)


def definition(content: bytes, path: str) -> ast.FunctionDef | ast.ClassDef:
    """The one definition at a dotted path, for the caller to keep."""
    scope: ast.AST = _parse(content)
    for name in path.split("."):
        (scope,) = (
            node
            for node in ast.iter_child_nodes(scope)
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name
        )
    assert isinstance(scope, ast.FunctionDef | ast.ClassDef)
    return copy.deepcopy(scope)


def execute(content: bytes, path: str, **names: object) -> Any:  # noqa: ANN401 - vLLM's
    """The function or class at `path`, run with `names` in the place of its imports.

    Decorators are left out, annotations are not evaluated.
    """
    node = definition(content, path)
    return run(node, **names)[node.name]


def run(node: ast.stmt, **names: object) -> dict[str, Any]:
    """The names after a statement has run among others."""
    for each in ast.walk(node):
        if isinstance(each, ast.FunctionDef | ast.ClassDef):
            each.decorator_list = []
    module = ast.Module(body=[node], type_ignores=[])
    flags = __future__.annotations.compiler_flag
    namespace = dict(names)
    code = compile(module, "<published>", "exec", flags, dont_inherit=True)
    exec(code, namespace)  # noqa: S102 - published code is what is under test
    return namespace
