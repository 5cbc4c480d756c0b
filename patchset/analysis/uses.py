"""The uses that an expression makes of a library: calls, and names of known things."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from patchset.analysis.calls import Fault, is_partial, judge
from patchset.analysis.findings import Finding, Kind
from patchset.analysis.frames import Frame, inner_frame
from patchset.analysis.guards import Guards
from patchset.analysis.modules import Module
from patchset.analysis.signature import of_call
from patchset.analysis.things import ClassRef, Missing, Thing
from patchset.analysis.values import Values, is_super

INNER = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
"""Expressions with names of their own."""


@dataclass(eq=False, kw_only=True)
class Uses:
    """Judges expressions of one module of the client, and keeps what it finds."""

    values: Values
    module: Module
    found: list[Finding] = field(default_factory=list)

    def expression(self, node: ast.expr, frame: Frame, guards: Guards) -> None:
        """Judge an expression and all that is in it."""
        called: set[int] = set()
        if isinstance(node, INNER):
            frame = inner_frame(frame, node)
        for each in _walk(node):
            if isinstance(each, ast.Call):
                called.add(id(each.func))
                self._call(each, frame, guards)
            elif isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Load):
                self._attribute(each, frame, guards, is_called=id(each) in called)
            elif isinstance(each, INNER) and each is not node:
                self.expression(each, frame, guards)

    def _call(self, node: ast.Call, frame: Frame, guards: Guards) -> None:
        if guards.arguments or guards.everything:
            return
        things = self.values.infer(node.func, frame)
        if len(things) == 1 and is_partial(things[0], node):
            things = self.values.infer(node.args[0], frame)
            arguments = replace(of_call(node, skip=1), partial=True)
        else:
            arguments = of_call(node)
        verdicts = [judge(self.values, thing, arguments) for thing in things]
        if verdicts and all(verdicts) and not any(map(self._is_overridden, things)):
            for fault in verdicts[0]:
                self.note(node, fault)

    def _attribute(
        self, node: ast.Attribute, frame: Frame, guards: Guards, *, is_called: bool
    ) -> None:
        if guards.attributes or guards.everything or is_super(node.value):
            return
        things = self.values.infer(node, frame)
        if not things or not all(isinstance(t.target, Missing) for t in things):
            return
        base = self.values.infer(node.value, frame)
        if any(isinstance(each.target, Missing) for each in base):
            return  # said where it was imported
        missing = things[0].target
        if not isinstance(missing, Missing):
            return
        of_instance = any(each.instance for each in base)
        if of_instance and not is_called:
            return  # it may be given from outside
        if self._is_asked_for(node, frame) or any(
            isinstance(each.target, ClassRef)
            and each.declared
            and self.values.members.may_override(each.target, node.attr)
            for each in base
        ):
            return
        of_class = any(isinstance(each.target, ClassRef) for each in base)
        kind = Kind.MISSING_METHOD if of_class and is_called else Kind.MISSING_NAME
        if missing.is_module:
            kind = Kind.MISSING_MODULE
        fault = Fault(
            kind=kind, symbol=missing.dotted, found=missing.found, wanted=missing.wanted
        )
        self.note(node, fault)

    def _is_overridden(self, thing: Thing) -> bool:
        cls = thing.receiver
        if cls is None or not thing.declared:
            return False
        return self.values.members.may_override(cls, thing.symbol.rpartition(".")[2])

    def _is_asked_for(self, node: ast.Attribute, frame: Frame) -> bool:
        """Whether the client gives the attribute, or asks `hasattr` for just it."""
        given = (
            rf"\.{node.attr}\s*(:[^=\n]+)?=[^=]|setattr\([^\n]*['\"]{node.attr}['\"]"
        )
        if re.search(given, self.module.text):
            return True
        if frame.function is None:
            return False
        text = ast.unparse(node.value)
        return any(
            isinstance(each, ast.Call)
            and isinstance(each.func, ast.Name)
            and each.func.id in ("hasattr", "getattr")
            and len(each.args) > 1
            and isinstance(each.args[1], ast.Constant)
            and each.args[1].value == node.attr
            and ast.unparse(each.args[0]) == text
            for each in ast.walk(frame.function)
        )

    def note(self, node: ast.AST, fault: Fault) -> None:
        """Keep a fault as a finding at a node."""
        self.found.append(
            Finding(
                kind=fault.kind,
                client=self.values.client,
                path=self.module.path,
                line=getattr(node, "lineno", 1),
                symbol=fault.symbol,
                found=fault.found,
                wanted=fault.wanted,
            )
        )


def _walk(node: ast.expr) -> Iterator[ast.AST]:
    """Yield the nodes of an expression, a call before what it calls.

    What lies inside one of `INNER` is left out.
    """
    pending: list[ast.AST] = [node]
    while pending:
        each = pending.pop()
        yield each
        if isinstance(each, INNER) and each is not node:
            continue
        pending.extend(reversed(list(ast.iter_child_nodes(each))))
