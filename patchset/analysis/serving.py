"""Whether a target gives the auxiliary hidden states that the runner asks it for."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from patchset.analysis.delegation import Delegation
from patchset.analysis.protocol import (
    definition,
    has,
    is_known,
    is_stub,
    members,
    standing,
)
from patchset.analysis.scope import FunctionNode
from patchset.analysis.things import ClassRef
from patchset.analysis.values import Values

INTERFACES = "vllm.model_executor.models.interfaces"
PROTOCOL = "SupportsEagle3"
SETTER = "set_aux_hidden_state_layers"
STATE = "aux_hidden_state_layers"
MIXIN = "EagleModelMixin"
CHAIN = 4
"""How many classes may hand on, one to the next."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What one class says to one question; `lacking` is (name, what is there)."""

    question: str
    answer: str
    cls: ClassRef
    lacking: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What is needed to ask."""

    values: Values
    delegation: Delegation


def ask(asked: Asked, cls: ClassRef) -> Iterator[Answer]:
    """Yield the answers of the outermost class and of those that it hands on to.

    The runner asks the outermost class only. What that class does not do itself, it
    must hand on, and the class behind must do it; a wrapper that carries nothing yet
    is asked for both, since a cure of one alone fails one step later.
    """
    protocol = _protocol(asked.values)
    if protocol is None or not is_known(asked.values.classes, cls):
        return
    yield _standing(asked, cls, protocol)
    for _ in range(CHAIN):
        attr, inner = _behind(asked, cls, protocol)
        if attr is None or inner is None:
            break
        yield _handed(asked, cls, attr, inner, protocol)
        cls = inner
    yield from _states(asked, cls, protocol)


def _protocol(values: Values) -> ClassRef | None:
    found = values.resolver.imported(INTERFACES, PROTOCOL)
    return next((each for each in found if isinstance(each, ClassRef)), None)


def _standing(asked: Asked, cls: ClassRef, protocol: ClassRef) -> Answer:
    """Return the answer of the outermost class, which must carry the protocol."""
    found = standing(asked.values, cls, protocol)
    lacking: tuple[tuple[str, str], ...] = ()
    if not found.carries:
        missing = ", ".join(found.lacking)
        bases = ", ".join(ast.unparse(base) for base in cls.node.bases)
        lacking = ((PROTOCOL, f"{cls.qualname}({bases}) lacks {missing}"),)
    else:
        lacking = tuple(
            (
                name,
                f"{cls.qualname} has only what the protocol says, which does nothing",
            )
            for name in found.lacking
        )
    return Answer(
        question=f"does the outermost class carry {PROTOCOL}",
        answer="no" if lacking else "yes",
        cls=cls,
        lacking=lacking,
    )


def _handed(
    asked: Asked, outer: ClassRef, attr: str, inner: ClassRef, protocol: ClassRef
) -> Answer:
    """Return the answer of a class behind, which must have what is handed on to it."""
    classes = asked.values.classes
    methods = [
        name
        for name in members(classes, protocol)
        if (found := definition(classes, protocol, name)) and found[1] is not None
    ]
    wanted = [
        name for name in methods if _hands_on(asked, outer, attr, name)
    ] or methods
    lacks = [name for name in wanted if not has(asked.values, inner, name)]
    bases = ", ".join(ast.unparse(base) for base in inner.node.bases)
    what = f"{inner.qualname}({bases}), behind self.{attr}, lacks {', '.join(lacks)}"
    whole = len(lacks) == len(methods)
    names = [PROTOCOL] if whole else lacks
    return Answer(
        question=f"does {inner.qualname}, behind self.{attr}, do what is asked of it",
        answer="no" if lacks else "yes",
        cls=inner,
        lacking=tuple((name, what) for name in names) if lacks else (),
    )


def _hands_on(asked: Asked, outer: ClassRef, attr: str, name: str) -> bool:
    found = definition(asked.values.classes, outer, name)
    return (
        found is not None
        and found[1] is not None
        and asked.delegation.calls(found[1], name) == attr
    )


def _behind(
    asked: Asked, cls: ClassRef, protocol: ClassRef
) -> tuple[str | None, ClassRef | None]:
    """Return the attribute through which a class hands on, and the class behind it.

    None where it does the work itself, by its own code or the protocol's.
    """
    found = definition(asked.values.classes, cls, SETTER)
    function = found[1] if found is not None else None
    if found is not None and found[0] != protocol and function is not None:
        attr = asked.delegation.calls(function, SETTER)
    elif found is None or is_stub(function):
        attr = asked.delegation.language_model(cls)
    else:
        attr = None
    return attr, asked.delegation.behind(cls, attr) if attr is not None else None


def _states(asked: Asked, cls: ClassRef, protocol: ClassRef) -> Iterator[Answer]:
    """Yield the answer of the class that is to capture the states."""
    found = definition(asked.values.classes, cls, SETTER)
    if found is None or found[1] is None or is_stub(found[1]):
        return
    owner, function = found[0], found[1]
    by_protocol = owner == protocol
    attrs = _default_path(asked, cls) if by_protocol else _written(function)
    base = asked.delegation.path(cls, attrs) if attrs is not None else None
    if base is None or not is_known(asked.values.classes, base):
        return
    if by_protocol:
        there = any(
            isinstance(each, ClassRef) and each.node.name == MIXIN
            for each in asked.values.classes.order(base)
        )
        lacking = (MIXIN, f"{base.qualname} is what {PROTOCOL}.{SETTER} asserts it of")
    else:
        there = _reads(asked, base)
        lacking = (STATE, f"{base.qualname} is given {STATE} and never reads it")
    yield Answer(
        question=f"does {base.qualname} capture the states",
        answer="yes" if there else "no",
        cls=base,
        lacking=() if there else (lacking,),
    )


def _default_path(asked: Asked, cls: ClassRef) -> tuple[str, ...] | None:
    """Return the way that the protocol's own default takes to the layers."""
    if definition(asked.values.classes, cls, "get_language_model") is not None:
        attr = asked.delegation.language_model(cls)
        return (attr, "model") if attr is not None else None
    if asked.values.attributes.given(cls, "language_model"):
        return ("language_model", "model")
    return ("model",)


def _written(function: FunctionNode) -> tuple[str, ...] | None:
    """Return the way to what a setter sets: (model,) for `self.model`."""
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=[ast.Attribute(value=inner, attr=attr)]):
                if attr == STATE:
                    return _below_self(inner)
            case ast.Call(func=ast.Attribute(value=inner, attr=attr)):
                if attr in (SETTER, f"_{SETTER}"):
                    return _below_self(inner)
            case _:
                pass
    return None


def _below_self(node: ast.expr) -> tuple[str, ...] | None:
    match node:
        case ast.Name(id="self"):
            return ()
        case ast.Attribute(value=value, attr=attr):
            left = _below_self(value)
            return None if left is None else (*left, attr)
        case _:
            return None


def _reads(asked: Asked, cls: ClassRef) -> bool:
    """Whether code of the class, not of the mixin, looks at the layers it was given."""
    for each in asked.values.classes.order(cls):
        if not isinstance(each, ClassRef) or each.node.name == MIXIN:
            continue
        for node in ast.walk(each.node):
            match node:
                case ast.Attribute(attr="aux_hidden_state_layers", ctx=ast.Load()):
                    return True
                case ast.Attribute(attr="_maybe_add_hidden_state"):
                    return True
                case _:
                    pass
    return False
