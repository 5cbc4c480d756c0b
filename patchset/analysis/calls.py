"""What is wrong with one call of one known thing."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from patchset.analysis.decorators import Binds
from patchset.analysis.findings import Kind
from patchset.analysis.signature import Arguments, Misfit, Signature, fit, of_function
from patchset.analysis.things import ClassRef, FunctionRef, Thing
from patchset.analysis.values import Values


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault:
    """What a finding says, before it is known where."""

    kind: Kind
    symbol: str
    found: str
    wanted: str


def judge(values: Values, thing: Thing, arguments: Arguments) -> tuple[Fault, ...]:
    """Return what is wrong with calling the thing; nothing where it is not known.

    Only what the library defines is judged: calls of the client's own functions are
    the client's business.
    """
    symbol = thing.symbol.removesuffix(".__init__")
    faults: list[Fault] = []
    for signature in _signatures(values, thing):
        if values.client == signature.place.partition("/")[0]:
            continue
        faults += _faults(symbol, signature, fit(arguments, signature))
    return tuple(dict.fromkeys(faults))


def _signatures(values: Values, thing: Thing) -> Iterator[Signature]:
    match thing.target:
        case ClassRef() as cls if not thing.instance:
            if not _may_be_subclass(values, thing, cls):
                yield from values.constructors.signatures(cls) or ()
        case ClassRef() as cls:
            for member in values.members.member(thing, "__call__"):
                if isinstance(member.target, FunctionRef):
                    yield from _signatures(values, member)
        case FunctionRef(node=node) as ref:
            how = values.decorators.of_function(ref)
            if how.known and not how.is_property and not how.is_overload:
                whole = of_function(node, ref.place)
                given = thing.bound and how.binds is not Binds.NOTHING
                yield whole.without_first() if given else whole
        case _:
            return


def _may_be_subclass(values: Values, thing: Thing, cls: ClassRef) -> bool:
    """Whether a class that is only declared leaves open which one is called."""
    return thing.declared and values.constructors.is_abstract(cls)


def _faults(symbol: str, signature: Signature, misfit: Misfit) -> Iterator[Fault]:
    wanted = f"{symbol.rpartition('.')[2]}{signature} at {signature.place}"
    for name in misfit.unexpected:
        yield Fault(
            kind=Kind.UNEXPECTED_KEYWORD, symbol=symbol, found=name, wanted=wanted
        )
    for name in misfit.missing:
        yield Fault(
            kind=Kind.MISSING_ARGUMENT, symbol=symbol, found=name, wanted=wanted
        )
    if misfit.surplus:
        word = "argument" if misfit.surplus == 1 else "arguments"
        yield Fault(
            kind=Kind.TOO_MANY_ARGUMENTS,
            symbol=symbol,
            found=f"{misfit.surplus} positional {word} too many",
            wanted=wanted,
        )


def is_partial(thing: Thing, node: ast.Call) -> bool:
    """Whether the call is `functools.partial(thing, …)`."""
    dotted = getattr(thing.target, "dotted", "")
    return dotted == "functools.partial" and bool(node.args)
