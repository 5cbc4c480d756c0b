"""What the loader of a drafter asks of the target, in the branch it would take."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from patchset.analysis.protocol import definition
from patchset.analysis.scope import FunctionNode
from patchset.analysis.things import ClassRef
from patchset.analysis.values import Values

MODULE = "vllm.v1.spec_decode.eagle"
PROPOSER = "EagleProposer"
CONFIG = ("target_model", "config")
LANGUAGE_MODEL = "target_language_model"


@dataclass(frozen=True, kw_only=True, slots=True)
class Read:
    """One attribute path that the loader reads, from the target's config or model."""

    names: tuple[str, ...]
    path: str
    line: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """What the loader's conditions ask about the target."""

    class_name: str
    is_multimodal: bool


def proposer(values: Values) -> ClassRef | None:
    """Return the class that drafts for EAGLE, None where this vLLM has none."""
    found = values.resolver.imported(MODULE, PROPOSER)
    return next((each for each in found if isinstance(each, ClassRef)), None)


def config_reads(values: Values, target: Target) -> list[Read]:
    """Return what `load_model` reads of the target's config, in order.

    Its conditions on the target's class and on whether it is multimodal are decided;
    every other branch is taken for possible, and not read: it may not be met.
    """
    cls = proposer(values)
    found = definition(values.classes, cls, "load_model") if cls is not None else None
    if found is None or found[1] is None:
        return []
    owner, function = found[0], found[1]
    statements = _taken(function.body, target)
    return [
        Read(names=names, path=owner.module.path, line=line)
        for statement in statements
        for names, line in _paths(statement, CONFIG)
    ]


def model_read(values: Values) -> Read | None:
    """Return where the loader needs `model` of the target's language model."""
    cls = proposer(values)
    if cls is None:
        return None
    for name in ("load_model", "_maybe_share_embeddings"):
        found = definition(values.classes, cls, name)
        if found is None or found[1] is None:
            continue
        line = _needs_model(found[1])
        if line is not None:
            return Read(names=("model",), path=found[0].module.path, line=line)
    return None


def _needs_model(function: FunctionNode) -> int | None:
    for node in ast.walk(function):
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr="model"):
                if name == LANGUAGE_MODEL and isinstance(node.ctx, ast.Load):
                    return node.lineno
            case ast.Call(
                func=ast.Name(id="getattr"),
                args=[
                    ast.Name(id=name),
                    ast.Constant(value="model"),
                    ast.Constant(value=None),
                ],
            ) if name == LANGUAGE_MODEL:
                return node.lineno
            case _:
                pass
    return None


def _taken(body: Iterable[ast.stmt], target: Target) -> Iterator[ast.stmt]:
    """Yield the simple statements that are run for sure with this target."""
    for node in body:
        if isinstance(node, ast.If):
            verdict = _decide(node.test, target)
            if verdict is not None:
                yield from _taken(node.body if verdict else node.orelse, target)
        elif isinstance(node, ast.With):
            yield from _taken(node.body, target)
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.Expr):
            yield node


def _decide(test: ast.expr, target: Target) -> bool | None:
    """Return what a condition on the target is, None where it asks something else."""
    match test:
        case ast.Call(func=ast.Name(id="supports_multimodal")):
            return target.is_multimodal
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            if not _asks_name(left):
                return None
            names = [
                each.value for each in ast.walk(right) if isinstance(each, ast.Constant)
            ]
            if isinstance(op, ast.In | ast.Eq):
                return target.class_name in names
            if isinstance(op, ast.NotIn | ast.NotEq):
                return target.class_name not in names
            return None
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            inner = _decide(operand, target)
            return None if inner is None else not inner
        case _:
            return None


def _asks_name(node: ast.expr) -> bool:
    """Whether an expression is the name of the target's class."""
    text = ast.unparse(node)
    return "target_model" in text and ("name" in text or "__class__" in text)


def _paths(
    node: ast.stmt, root: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], int]]:
    """Yield the attribute paths that a statement reads below a dotted root."""
    inner = {
        id(each.value) for each in ast.walk(node) if isinstance(each, ast.Attribute)
    }
    for each in ast.walk(node):
        if not isinstance(each, ast.Attribute) or id(each) in inner:
            continue
        if not isinstance(each.ctx, ast.Load):
            continue
        names = _dotted(each)
        if names[: len(root)] == root and len(names) > len(root):
            yield names[len(root) :], each.lineno


def _dotted(node: ast.expr) -> tuple[str, ...]:
    match node:
        case ast.Name(id=name):
            return (name,)
        case ast.Attribute(value=value, attr=attr):
            left = _dotted(value)
            return (*left, attr) if left else ()
        case _:
            return ()
