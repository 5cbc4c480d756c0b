"""Every use that a client makes of a library, bound against what is really there."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from patchset.analysis.calls import Fault, is_partial, judge
from patchset.analysis.findings import Finding, Kind
from patchset.analysis.frames import Frame, class_frame, function_frame, inner_frame
from patchset.analysis.guards import (
    FREE,
    IMPORT_ERRORS,
    Guards,
    caught,
    flags,
    is_version_test,
    leaves,
    suppressed,
)
from patchset.analysis.modules import Module
from patchset.analysis.scope import FunctionNode, Import, is_typing_test
from patchset.analysis.signature import of_call
from patchset.analysis.things import (
    ClassRef,
    External,
    FunctionRef,
    Missing,
    ModuleRef,
    Thing,
)
from patchset.analysis.values import Values, is_super

INNER = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
"""Expressions with names of their own."""


@dataclass(eq=False, kw_only=True)
class Binder:
    """Walks one module of the client and notes what does not bind."""

    values: Values
    module: Module
    libraries: frozenset[str]
    subclassed: frozenset[str] = frozenset()
    """Names of classes that the client itself inherits from."""
    found: list[Finding] = field(default_factory=list)
    _flags: frozenset[str] = frozenset()

    def run(self) -> list[Finding]:
        """Return the findings of the module, in the order of the text."""
        if self.module.tree is not None:
            body = self.module.tree.body
            self._flags = flags(body)
            self._block(body, self.values.frame(self.module), FREE)
        unique = dict.fromkeys(self.found)
        return sorted(unique, key=lambda each: each.line)

    # --- statements --------------------------------------------------------------

    def _block(self, body: Iterable[ast.stmt], frame: Frame, guards: Guards) -> None:
        for node in body:
            self._statement(node, frame, guards)
            if isinstance(node, ast.If) and self._asks_version(node.test, frame):
                if leaves(node.body) or leaves(node.orelse):
                    guards = replace(guards, everything=True)

    def _statement(self, node: ast.stmt, frame: Frame, guards: Guards) -> None:
        match node:
            case ast.Import() | ast.ImportFrom():
                self._import(node, frame, guards)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._function(node, frame, guards, owner=None)
            case ast.ClassDef():
                self._class(node, frame, guards)
            case ast.If():
                self._condition(node, frame, guards)
            case ast.With() | ast.AsyncWith():
                for item in node.items:
                    self._expression(item.context_expr, frame, guards)
                self._block(node.body, frame, _within(guards, suppressed(node)))
            case _ if hasattr(node, "handlers"):
                self._try(node, frame, guards)  # type: ignore[arg-type]
            case _:
                self._others(node, frame, guards)

    def _others(self, node: ast.AST, frame: Frame, guards: Guards) -> None:
        for each in ast.iter_child_nodes(node):
            if isinstance(each, ast.stmt):
                self._statement(each, frame, guards)
            elif isinstance(each, ast.expr):
                self._expression(each, frame, guards)
            else:
                self._others(each, frame, guards)

    def _function(
        self, node: FunctionNode, frame: Frame, guards: Guards, owner: ClassRef | None
    ) -> None:
        defaults = [*node.args.defaults, *(d for d in node.args.kw_defaults if d)]
        for each in [*node.decorator_list, *defaults]:
            self._expression(each, frame, guards)
        outer = frame.outer if owner is not None and frame.outer is not None else frame
        inside = replace(guards, branch=False)
        self._block(node.body, function_frame(outer, node, owner), inside)

    def _class(self, node: ast.ClassDef, frame: Frame, guards: Guards) -> None:
        for each in [*node.decorator_list, *node.bases, *node.keywords]:
            inner = each.value if isinstance(each, ast.keyword) else each
            self._expression(inner, frame, guards)
        ref = ClassRef(self.module, node, node.name)
        self._abstract(ref, node, guards)
        inside = class_frame(frame, node)
        self._class_body(node.body, ref, inside, guards)

    def _class_body(
        self, body: Iterable[ast.stmt], ref: ClassRef, frame: Frame, guards: Guards
    ) -> None:
        for each in body:
            if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
                self._function(each, frame, guards, owner=ref)
            else:
                self._statement(each, frame, guards)

    def _condition(self, node: ast.If, frame: Frame, guards: Guards) -> None:
        self._expression(node.test, frame, guards)
        if is_typing_test(node.test):
            self._block(node.orelse, frame, guards)
            return
        asks = self._asks_version(node.test, frame)
        guards = replace(guards, branch=True, everything=guards.everything or asks)
        self._block(node.body, frame, guards)
        self._block(node.orelse, frame, guards)

    def _try(self, node: ast.Try, frame: Frame, guards: Guards) -> None:
        names = caught(node.handlers)
        guards = replace(guards, branch=True)
        self._block(node.body, frame, _within(guards, names))
        failed = any(
            isinstance(each.target, Missing)
            for statement in node.body
            if isinstance(statement, ast.Import | ast.ImportFrom)
            for _, each in self._imports(statement, frame)
        )
        for handler in node.handlers:
            kinds = caught([handler])
            inside = guards
            if kinds & {"ImportError", "ModuleNotFoundError"}:
                inside = guards if failed else replace(guards, everything=True)
            elif kinds & {"TypeError", "AttributeError"}:
                inside = replace(guards, everything=True)
            self._block(handler.body, frame, inside)
        self._block(node.orelse, frame, guards)
        self._block(node.finalbody, frame, guards)

    def _asks_version(self, test: ast.expr, frame: Frame) -> bool:
        def is_library(node: ast.expr) -> bool:
            return any(self._is_library(one) for one in self.values.infer(node, frame))

        return is_version_test(test, self._flags, is_library)

    def _is_library(self, thing: Thing) -> bool:
        match thing.target:
            case ModuleRef(module=module) | FunctionRef(module=module):
                return module.name.partition(".")[0] in self.libraries
            case ClassRef(module=module):
                return module.name.partition(".")[0] in self.libraries
            case Missing():
                return True
            case _:
                return False

    # --- imports -----------------------------------------------------------------

    def _import(
        self, node: ast.Import | ast.ImportFrom, frame: Frame, guards: Guards
    ) -> None:
        for local, thing in self._imports(node, frame):
            missing = thing.target
            if not isinstance(missing, Missing) or guards.imports or guards.everything:
                continue
            if guards.branch and self._has_other(local, node, frame):
                continue
            kind = Kind.MISSING_MODULE if missing.is_module else Kind.MISSING_NAME
            fault = Fault(
                kind=kind,
                symbol=missing.dotted,
                found=missing.found,
                wanted=missing.wanted,
            )
            self._note(node, fault)

    def _imports(
        self, node: ast.Import | ast.ImportFrom, frame: Frame
    ) -> Iterator[tuple[str, Thing]]:
        """Yield each name that the statement brings from a library, and what it is."""
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] in self.libraries:
                    things = self.values.imported(alias.name, None)
                    yield alias.asname or alias.name, things[0]
            return
        module = frame.module.absolute(node.module or "", node.level)
        if module.partition(".")[0] not in self.libraries:
            return
        for alias in node.names:
            name = None if alias.name == "*" else alias.name
            yield (
                alias.asname or alias.name,
                self.values.imported(module, name)[0],
            )

    def _has_other(self, local: str, node: ast.stmt, frame: Frame) -> bool:
        """Whether another import, elsewhere in the frame, does bring the name."""
        others = [
            each
            for each in frame.bindings(local)
            if isinstance(each.bound, Import)
            and each.bound.node is not node
            and not each.typing
        ]
        return any(
            not isinstance(thing.target, Missing)
            for each in others
            if isinstance(each.bound, Import)
            for thing in self.values.imported(
                frame.module.absolute(each.bound.module, each.bound.level),
                each.bound.name,
            )
        )

    # --- expressions -------------------------------------------------------------

    def _expression(self, node: ast.expr, frame: Frame, guards: Guards) -> None:
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
                self._expression(each, frame, guards)

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
                self._note(node, fault)

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
            and self.values.may_override(each.target, node.attr)
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
        self._note(node, fault)

    def _is_overridden(self, thing: Thing) -> bool:
        cls = thing.receiver
        if cls is None or not thing.declared:
            return False
        return self.values.may_override(cls, thing.symbol.rpartition(".")[2])

    def _is_asked_for(self, node: ast.Attribute, frame: Frame) -> bool:
        """Whether the function asks `hasattr` for just this attribute."""
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

    def _abstract(self, ref: ClassRef, node: ast.ClassDef, guards: Guards) -> None:
        """Note the abstract methods that a concrete class of the client lacks."""
        values = self.values
        if guards.everything or node.name in self.subclassed:
            return
        if not node.bases or not values.classes.is_complete(ref):
            return
        if any(
            isinstance(each, External) and each.dotted == "abc.ABC"
            for each in values.classes.bases(ref)
        ):
            return
        open_ = values.constructors.abstract_methods(ref)
        if any(values.is_client(each.module) for each in open_.values()):
            return
        for name, function in open_.items():
            owner = function.owner
            symbol = f"{owner.dotted if owner else ''}.{name}"
            wanted = f"{symbol} is abstract ({function.place}); {node.name} lacks it"
            self._note(
                node,
                Fault(
                    kind=Kind.MISSING_METHOD, symbol=symbol, found=name, wanted=wanted
                ),
            )

    def _note(self, node: ast.AST, fault: Fault) -> None:
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


def _within(guards: Guards, names: frozenset[str]) -> Guards:
    """Return the guards inside a block whose failures of these names are caught."""
    return replace(
        guards,
        imports=guards.imports or bool(IMPORT_ERRORS & names),
        attributes=guards.attributes or "AttributeError" in names,
        arguments=guards.arguments or "TypeError" in names,
    )


def _walk(node: ast.expr) -> Iterator[ast.AST]:
    """Yield the nodes of an expression, a call before what it calls; not inside `INNER`."""
    pending: list[ast.AST] = [node]
    while pending:
        each = pending.pop()
        yield each
        if isinstance(each, INNER) and each is not node:
            continue
        pending.extend(reversed(list(ast.iter_child_nodes(each))))
