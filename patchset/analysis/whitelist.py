"""Which target models a release of vLLM lets speculate, as its config says."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from patchset.analysis.modules import Program
from patchset.analysis.scope import FunctionNode

MODULE = "vllm.config.speculative"


@dataclass(frozen=True, kw_only=True, slots=True)
class Whitelist:
    """The names of which one must occur in the target's model type."""

    name: str
    """The variable: `eagle3_target_supported`, `aux_hidden_states_supported`."""
    names: tuple[str, ...]
    path: str
    line: int
    definition: str

    def allows(self, model_type: str) -> bool:
        """Whether the check lets this model type pass: it looks for substrings."""
        return any(name in model_type for name in self.names)


def whitelist(program: Program, method: str) -> Whitelist | None:
    """Return the whitelist that applies to a method, None where there is none.

    Recognised by what it does, as its name, its place and the methods that it applies
    to have changed: a condition on the model type of the target, with a list of
    strings to look for in it, whose body raises.
    """
    module = program.module(MODULE)
    if module is None or module.tree is None or "model_type" not in module.text:
        return None
    for cls in module.tree.body:
        if not isinstance(cls, ast.ClassDef):
            continue
        for function in cls.body:
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                found = _in_function(function, method)
                if found is not None:
                    name, names, line = found
                    return Whitelist(
                        name=name,
                        names=names,
                        path=module.path,
                        line=line,
                        definition=f"{MODULE}.{cls.name}.{function.name}",
                    )
    return None


def _in_function(
    function: FunctionNode, method: str
) -> tuple[str, tuple[str, ...], int] | None:
    lists = _string_lists(function)
    for node in ast.walk(function):
        if not isinstance(node, ast.If) or not _raises(node):
            continue
        name = _asked(node.test, lists)
        if name is not None and _applies(node.test, method):
            return name, lists[name][0], lists[name][1]
    return None


def _string_lists(function: FunctionNode) -> dict[str, tuple[tuple[str, ...], int]]:
    found: dict[str, tuple[tuple[str, ...], int]] = {}
    for node in ast.walk(function):
        match node:
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.List() | ast.Tuple() | ast.Set() as value,
            ):
                names = tuple(
                    each.value
                    for each in value.elts
                    if isinstance(each, ast.Constant) and isinstance(each.value, str)
                )
                if len(names) == len(value.elts):
                    found[name] = (names, node.lineno)
            case _:
                pass
    return found


def _asked(test: ast.expr, lists: dict[str, tuple[tuple[str, ...], int]]) -> str | None:
    """Return the list whose strings the test looks for in a model type."""
    for node in ast.walk(test):
        match node:
            case ast.GeneratorExp(
                elt=ast.Compare(
                    ops=[ast.In()], comparators=[ast.Attribute(attr="model_type")]
                ),
                generators=[ast.comprehension(iter=ast.Name(id=name))],
            ) if name in lists:
                return name
            case _:
                pass
    return None


def _applies(test: ast.expr, method: str) -> bool:
    """Whether the test is made for this method; it is if it names none."""
    asked = False
    for node in ast.walk(test):
        match node:
            case ast.Compare(left=ast.Attribute(attr="method"), comparators=[right]):
                asked = True
                words = [
                    each.value
                    for each in ast.walk(right)
                    if isinstance(each, ast.Constant)
                ]
                if method in words:
                    return True
            case _:
                pass
    return not asked


def _raises(node: ast.If) -> bool:
    return any(isinstance(each, ast.Raise) for each in node.body)
