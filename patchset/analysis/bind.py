"""Every use that a client makes of a library, bound against what is really there."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from patchset.analysis.calls import Fault
from patchset.analysis.findings import Finding, Kind
from patchset.analysis.frames import Frame, class_frame, function_frame
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
from patchset.analysis.scope import FunctionNode, Import, is_typing_test
from patchset.analysis.things import (
    ClassRef,
    External,
    FunctionRef,
    Missing,
    ModuleRef,
    Thing,
)
from patchset.analysis.uses import Uses


@dataclass(eq=False, kw_only=True)
class Binder:
    """Walks one module of the client and notes what does not bind."""

    uses: Uses
    libraries: frozenset[str]
    subclassed: frozenset[str] = frozenset()
    """Names of classes that the client itself inherits from."""
    _flags: frozenset[str] = frozenset()

    def run(self) -> list[Finding]:
        """Return the findings of the module, in the order of the text."""
        if self.uses.module.tree is not None:
            body = self.uses.module.tree.body
            self._flags = flags(body)
            self._block(body, self.uses.values.frame(self.uses.module), FREE)
        unique = dict.fromkeys(self.uses.found)
        return sorted(unique, key=lambda each: each.line)

    # --- statements --------------------------------------------------------------

    def _block(self, body: Iterable[ast.stmt], frame: Frame, guards: Guards) -> None:
        for node in body:
            self._statement(node, frame, guards)
            if (
                isinstance(node, ast.If)
                and (leaves(node.body) or leaves(node.orelse))
                and self._asks_version(node.test, frame)
            ):
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
                    self.uses.expression(item.context_expr, frame, guards)
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
                self.uses.expression(each, frame, guards)
            else:
                self._others(each, frame, guards)

    def _function(
        self, node: FunctionNode, frame: Frame, guards: Guards, owner: ClassRef | None
    ) -> None:
        defaults = [*node.args.defaults, *(d for d in node.args.kw_defaults if d)]
        for each in [*node.decorator_list, *defaults]:
            self.uses.expression(each, frame, guards)
        outer = frame.outer if owner is not None and frame.outer is not None else frame
        inside = replace(guards, branch=False)
        self._block(node.body, function_frame(outer, node, owner), inside)

    def _class(self, node: ast.ClassDef, frame: Frame, guards: Guards) -> None:
        keywords = [each.value for each in node.keywords]
        for each in [*node.decorator_list, *node.bases, *keywords]:
            self.uses.expression(each, frame, guards)
        ref = ClassRef(self.uses.module, node, node.name)
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
        self.uses.expression(node.test, frame, guards)
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
            return any(
                self._is_library(one) for one in self.uses.values.infer(node, frame)
            )

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
            self.uses.note(node, fault)

    def _imports(
        self, node: ast.Import | ast.ImportFrom, frame: Frame
    ) -> Iterator[tuple[str, Thing]]:
        """Yield each name that the statement brings from a library, and what it is."""
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] in self.libraries:
                    things = self.uses.values.imported(alias.name, None)
                    yield alias.asname or alias.name, things[0]
            return
        module = frame.module.absolute(node.module or "", node.level)
        if module.partition(".")[0] not in self.libraries:
            return
        for alias in node.names:
            name = None if alias.name == "*" else alias.name
            yield (
                alias.asname or alias.name,
                self.uses.values.imported(module, name)[0],
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
            for thing in self.uses.values.imported(
                frame.module.absolute(each.bound.module, each.bound.level),
                each.bound.name,
            )
        )

    def _abstract(self, ref: ClassRef, node: ast.ClassDef, guards: Guards) -> None:
        """Note the abstract methods that a concrete class of the client lacks."""
        values = self.uses.values
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
            self.uses.note(
                node,
                Fault(
                    kind=Kind.MISSING_METHOD, symbol=symbol, found=name, wanted=wanted
                ),
            )


def _within(guards: Guards, names: frozenset[str]) -> Guards:
    """Return the guards inside a block whose failures of these names are caught."""
    return replace(
        guards,
        imports=guards.imports or bool(IMPORT_ERRORS & names),
        attributes=guards.attributes or "AttributeError" in names,
        arguments=guards.arguments or "TypeError" in names,
    )
