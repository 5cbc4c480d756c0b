"""The codemods that patch authors compose.

`within(module, "Class.method", change, …)` hands one definition to one or more
changes and rebuilds the module around the result. Every change says how often its
anchor must match and raises `Mismatch` otherwise: a codemod that changes nothing is
never a success. Anchors are patterns (see `pattern`); matching is by tree, so that a
comment or a line break upstream does not turn a patch off. Only the own text of the
definition is searched, never a definition nested in it.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar, cast

import libcst as cst

from patchset.definitions import (
    MODULE,
    Scope,
    definition_nodes,
    find,
    map_statements,
    places,
)
from patchset.errors import Mismatch
from patchset.pattern import matches, parse_pattern

__all__ = [
    "MODULE",
    "Mismatch",
    "add_argument",
    "add_base",
    "add_branch",
    "add_members",
    "append",
    "count",
    "defines",
    "drop_argument",
    "extend_import",
    "extend_list",
    "has_base",
    "imports",
    "insert_after",
    "insert_before",
    "prepend",
    "replace",
    "replace_expression",
    "within",
]


@dataclass(frozen=True, slots=True)
class Context:
    """One definition under change, and the module as it was before."""

    module: cst.Module
    path: str


Change: TypeAlias = Callable[[Scope, Context], Scope]
_Node = TypeVar("_Node", bound=cst.CSTNode)
_Element = TypeVar("_Element", bound=cst.Arg | cst.ImportAlias | cst.BaseElement)


def within(module: cst.Module, path: str, *changes: Change) -> cst.Module:
    """The module with `changes` made, in order, to the definition at `path`.

    `<module>` stands for the statements outside definitions. Raises Mismatch where
    the definition is missing or ambiguous, or a change does not match.
    """
    context = Context(module, path)
    if path == MODULE:
        scope: Scope = module
        for change in changes:
            scope = change(scope, context)
        return cast("cst.Module", scope)
    place = find(module, path)
    scope = place.node
    for change in changes:
        scope = change(scope, context)
    return place.put(scope)


# --- statements ------------------------------------------------------------------


def replace(pattern: str, code: str, *, times: int = 1) -> Change:
    """Put `code` in the place of each statement of the shape of `pattern`.

    A block `...` in `code` is the block that `...` stood for in the pattern. Comments
    above the statement stay. An empty `code` removes the statement.
    """

    def change(statement: cst.BaseStatement, context: Context) -> Sequence[_Statement]:
        new = _parse(code, context.module)
        return _with_leading_lines(_fill(new, statement), statement)

    return _on_statements(pattern, times, change)


def insert_before(pattern: str, code: str, *, times: int = 1) -> Change:
    """Put `code` before each statement of the shape of `pattern`."""
    return _on_statements(
        pattern,
        times,
        lambda statement, context: (*_parse(code, context.module), statement),
    )


def insert_after(pattern: str, code: str, *, times: int = 1) -> Change:
    """Put `code` after each statement of the shape of `pattern`."""
    return _on_statements(
        pattern,
        times,
        lambda statement, context: (statement, *_parse(code, context.module)),
    )


def prepend(pattern: str, code: str, *, times: int = 1) -> Change:
    """Put `code` at the start of the block of each statement of that shape."""
    return _on_statements(
        pattern,
        times,
        lambda statement, context: (
            _with_block(statement, before=_parse(code, context.module)),
        ),
    )


def append(pattern: str, code: str, *, times: int = 1) -> Change:
    """Put `code` at the end of the block of each statement of that shape."""
    return _on_statements(
        pattern,
        times,
        lambda statement, context: (
            _with_block(statement, after=_parse(code, context.module)),
        ),
    )


def add_branch(test: str, code: str) -> Change:
    """Put the `if` statement in `code` as an `elif` after the branch that tests `test`.

    The branch is an `if` or an `elif`; what follows it follows the new one.
    """
    wanted = parse_pattern(test)

    def change(scope: Scope, context: Context) -> Scope:
        found = 0

        def one(node: cst.CSTNode) -> tuple[cst.CSTNode, ...]:
            nonlocal found
            if not isinstance(node, cst.If) or not matches(wanted, _as_ast(node.test)):
                return (node,)
            found += 1
            (branch,) = _parse(code, context.module)
            if not isinstance(branch, cst.If) or branch.orelse is not None:
                raise ValueError(f"one `if` without `else` was wanted, not: {code}")
            return (node.with_changes(orelse=branch.with_changes(orelse=node.orelse)),)

        new = map_statements(scope, one)
        _expect(context, f"a branch `if {test}`", found, 1, f"if {test}: ...")
        return new

    return change


def _on_statements(
    pattern: str,
    times: int,
    change: Callable[[cst.BaseStatement, Context], Sequence[_Statement]],
) -> Change:
    wanted = parse_pattern(pattern)

    def on_scope(scope: Scope, context: Context) -> Scope:
        found = 0

        def one(node: cst.CSTNode) -> tuple[cst.CSTNode, ...]:
            nonlocal found
            if not isinstance(node, cst.BaseStatement) or not matches(
                wanted, _as_ast(node)
            ):
                return (node,)
            found += 1
            return tuple(change(node, context))

        new = map_statements(scope, one)
        _expect(context, f"`{_short(pattern)}`", found, times, pattern)
        return new

    return on_scope


# --- expressions -----------------------------------------------------------------


def replace_expression(pattern: str, code: str, *, times: int = 1) -> Change:
    """Put `code` in the place of each expression of the shape of `pattern`."""
    new = cst.parse_expression(code)
    return _on_expressions(pattern, times, lambda _: new)


def add_argument(
    call: str, argument: str, *, after: str | None = None, times: int = 1
) -> Change:
    """Add `name=value` to each call of that shape, after the keyword `after`.

    Raises Mismatch where the call has the argument already, or lacks `after`.
    """
    parsed = cst.ensure_type(cst.parse_expression(f"f({argument})"), cst.Call).args[0]
    name = _name(parsed.keyword)

    def change(node: cst.Call) -> cst.Call:
        names = [_name(arg.keyword) for arg in node.args]
        if name in names:
            raise Mismatch(f"`{call}` has the argument {name} already")
        if after is not None and after not in names:
            raise Mismatch(f"`{call}` has no argument {after} to put {name} after")
        index = len(names) if after is None else names.index(after) + 1
        new = parsed
        if node.args and parsed.keyword is not None:
            new = parsed.with_changes(equal=_equal_sign(node.args))
        return node.with_changes(args=_insert(node.args, index, new))

    return _on_expressions(call, times, lambda node: change(cast("cst.Call", node)))


def drop_argument(call: str, name: str, *, times: int = 1) -> Change:
    """Drop the keyword `name` from each call of that shape.

    Raises Mismatch where the call has no such argument.
    """

    def change(node: cst.Call) -> cst.Call:
        kept = [arg for arg in node.args if _name(arg.keyword) != name]
        if len(kept) != len(node.args) - 1:
            raise Mismatch(f"`{call}` has no argument {name}")
        if kept and node.args[-1] not in kept:
            last = node.args[-1]
            kept[-1] = kept[-1].with_changes(
                comma=last.comma, whitespace_after_arg=last.whitespace_after_arg
            )
        return node.with_changes(args=kept)

    return _on_expressions(call, times, lambda node: change(cast("cst.Call", node)))


def extend_list(name: str, *values: str) -> Change:
    """Add string literals to the list that is assigned to `name`.

    Raises Mismatch where it holds one of them already.
    """

    def change(statement: cst.BaseStatement, _: Context) -> Sequence[_Statement]:
        line = cst.ensure_type(statement, cst.SimpleStatementLine)
        assign = cst.ensure_type(line.body[0], cst.Assign)
        literal = cst.ensure_type(assign.value, cst.List)
        held = ast.literal_eval(cst.Module(body=[]).code_for_node(literal))
        elements: Sequence[cst.BaseElement] = literal.elements
        for value in values:
            if value in held:
                raise Mismatch(f"{name} holds {value!r} already")
            element = cst.Element(cst.SimpleString(f'"{value}"'))
            elements = _insert(elements, len(elements), element)
        new = assign.with_changes(value=literal.with_changes(elements=elements))
        return (line.with_changes(body=[new]),)

    return _on_statements(f"{name} = [...]", 1, change)


def _on_expressions(
    pattern: str,
    times: int,
    change: Callable[[cst.BaseExpression], cst.BaseExpression],
) -> Change:
    wanted = parse_pattern(pattern)

    def on_scope(scope: Scope, context: Context) -> Scope:
        visitor = _Expressions(scope, wanted, change)
        new = scope.visit(visitor)
        _expect(context, f"`{_short(pattern)}`", visitor.found, times, pattern)
        return cast("Scope", new)

    return on_scope


class _Expressions(cst.CSTTransformer):
    """Changes the matching expressions of a scope, and of no definition in it."""

    def __init__(
        self,
        scope: Scope,
        wanted: ast.AST,
        change: Callable[[cst.BaseExpression], cst.BaseExpression],
    ) -> None:
        super().__init__()
        self.found = 0
        self._scope = scope
        self._wanted = wanted
        self._change = change

    def on_visit(self, node: cst.CSTNode) -> bool:
        return node is self._scope or not isinstance(
            node, cst.FunctionDef | cst.ClassDef
        )

    def on_leave(  # type: ignore[override]
        self, original_node: cst.CSTNode, updated_node: cst.CSTNode
    ) -> cst.CSTNode:
        if isinstance(original_node, cst.BaseExpression) and _may_match(
            self._wanted, original_node
        ):
            parsed = _as_ast(original_node)
            if matches(self._wanted, parsed):
                self.found += 1
                return self._change(cast("cst.BaseExpression", updated_node))
        return updated_node


_KINDS: dict[type[ast.AST], type[cst.BaseExpression]] = {
    ast.Call: cst.Call,
    ast.Attribute: cst.Attribute,
    ast.Name: cst.Name,
    ast.Subscript: cst.Subscript,
    ast.Compare: cst.Comparison,
    ast.List: cst.List,
}


def _may_match(wanted: ast.AST, node: cst.BaseExpression) -> bool:
    """A cheap first look: most expressions are of another kind."""
    return isinstance(node, _KINDS.get(type(wanted), cst.BaseExpression))


# --- classes and imports ---------------------------------------------------------


def add_base(name: str, *, after: str | None = None) -> Change:
    """Add a base to a class, after the base `after` or after the last one.

    Raises Mismatch where the class has it already: a base named twice compiles, and
    fails at import.
    """

    def change(scope: Scope, context: Context) -> Scope:
        if not isinstance(scope, cst.ClassDef):
            raise Mismatch(f"{context.path} is no class")
        names = [_code(arg.value) for arg in scope.bases]
        if name in names:
            raise Mismatch(f"{context.path} has the base {name} already")
        if after is not None and after not in names:
            raise Mismatch(f"{context.path} has no base {after}")
        index = len(names) if after is None else names.index(after) + 1
        bases = _insert(scope.bases, index, cst.Arg(cst.parse_expression(name)))
        parens = (
            {}
            if scope.bases or not isinstance(scope.lpar, cst.MaybeSentinel)
            else {"lpar": cst.LeftParen(), "rpar": cst.RightParen()}
        )
        return scope.with_changes(bases=bases, **parens)

    return change


def add_members(code: str, *, after: str | None = None) -> Change:
    """Add methods or attributes at the end of a class, or after the method `after`.

    Raises Mismatch where the class defines one of the methods already.
    """

    def change(scope: Scope, context: Context) -> Scope:
        if not isinstance(scope, cst.ClassDef):
            raise Mismatch(f"{context.path} is no class")
        new = [_spaced(statement) for statement in _parse(code, context.module)]
        names = [_defined(statement) for statement in scope.body.body]
        for statement in new:
            if (name := _defined(statement)) and name in names:
                raise Mismatch(f"{context.path} defines {name} already")
        if after is not None and names.count(after) != 1:
            raise Mismatch(f"{context.path} has no one method {after}")
        index = len(names) if after is None else names.index(after) + 1
        body = [*scope.body.body[:index], *new, *scope.body.body[index:]]
        return scope.with_changes(body=scope.body.with_changes(body=body))

    return change


def extend_import(source: str, *names: str) -> Change:
    """Add names to the one `from source import …` outside definitions.

    `source` is spelt as it is there, dots included. For `<module>` only. Raises
    Mismatch where a name is imported already.
    """

    def change(scope: Scope, context: Context) -> Scope:
        found = 0

        def one(node: cst.CSTNode) -> tuple[cst.CSTNode, ...]:
            nonlocal found
            statement = _import_from(node, source)
            if statement is None:
                return (node,)
            found += 1
            aliases = cast("Sequence[cst.ImportAlias]", statement.names)
            for name in names:
                if name in {alias.evaluated_name for alias in aliases}:
                    raise Mismatch(f"{name} is imported from {source} already")
                alias = cst.ImportAlias(cst.Name(name))
                aliases = _insert(aliases, len(aliases), alias)
            line = cst.ensure_type(node, cst.SimpleStatementLine)
            return (line.with_changes(body=[statement.with_changes(names=aliases)]),)

        new = map_statements(scope, one)
        _expect(context, f"`from {source} import …`", found, 1, None)
        return new

    return change


def _import_from(node: cst.CSTNode, source: str) -> cst.ImportFrom | None:
    if not isinstance(node, cst.SimpleStatementLine) or len(node.body) != 1:
        return None
    statement = node.body[0]
    if not isinstance(statement, cst.ImportFrom) or isinstance(
        statement.names, cst.ImportStar
    ):
        return None
    module = _code(statement.module) if statement.module is not None else ""
    return statement if "." * len(statement.relative) + module == source else None


# --- questions, for `fixed` ------------------------------------------------------


def defines(module: cst.Module, path: str, name: str) -> bool:
    """Whether the definition at `path` has a definition `name` directly in it.

    Raises Mismatch where `path` is missing or ambiguous.
    """
    if path != MODULE:
        find(module, path)
        name = f"{path}.{name}"
    return any(place.path == name for place in places(module))


def has_base(module: cst.Module, path: str, name: str) -> bool:
    """Whether the class at `path` names `name` as a base of its own.

    Raises Mismatch where the class is missing or ambiguous.
    """
    node = find(module, path).node
    if not isinstance(node, cst.ClassDef):
        raise Mismatch(f"{path} is no class")
    return name in [_code(arg.value) for arg in node.bases]


def imports(module: cst.Module, source: str, name: str) -> bool:
    """Whether `from source import name` stands outside definitions."""
    found = False

    def look(node: cst.CSTNode) -> tuple[cst.CSTNode, ...]:
        nonlocal found
        if (statement := _import_from(node, source)) is not None:
            aliases = cast("Sequence[cst.ImportAlias]", statement.names)
            found = found or name in {alias.evaluated_name for alias in aliases}
        return (node,)

    map_statements(module, look)
    return found


def count(module: cst.Module, path: str, pattern: str) -> int:
    """How many statements or expressions of that shape the definition's own text has.

    Raises Mismatch where the definition is missing or ambiguous.
    """
    wanted = parse_pattern(pattern)
    scope: Scope = module if path == MODULE else find(module, path).node
    if isinstance(wanted, ast.expr):
        visitor = _Expressions(scope, wanted, lambda node: node)
        scope.visit(visitor)
        return visitor.found
    return sum(matches(wanted, _as_ast(node)) for node in _own_statements(scope))


def _own_statements(scope: Scope) -> Iterator[cst.BaseStatement]:
    found: list[cst.BaseStatement] = []

    def look(node: cst.CSTNode) -> tuple[cst.CSTNode, ...]:
        if isinstance(node, cst.BaseStatement):
            found.append(node)
        return (node,)

    map_statements(scope, look)
    return iter(found)


# --- nodes -----------------------------------------------------------------------

_Statement: TypeAlias = cst.BaseStatement


def _parse(code: str, module: cst.Module) -> list[cst.BaseStatement]:
    """Statements in the newline style and the indentation of `module`."""
    lines = textwrap.dedent(code).strip("\n").splitlines()
    text = module.default_newline.join(lines) + module.default_newline
    config = cst.PartialParserConfig(default_newline=module.default_newline)
    parsed = cst.parse_module(text, config).visit(_BareEmptyLines())
    return cast("list[cst.BaseStatement]", list(parsed.body))


class _BareEmptyLines(cst.CSTTransformer):
    """Without it, an empty line in a template prints its indentation."""

    def leave_EmptyLine(
        self, original_node: cst.EmptyLine, updated_node: cst.EmptyLine
    ) -> cst.EmptyLine:
        return (
            updated_node
            if original_node.comment is not None
            else updated_node.with_changes(indent=False)
        )


def _code(node: cst.CSTNode) -> str:
    return cst.Module(body=[]).code_for_node(node)


def _as_ast(node: cst.CSTNode) -> ast.AST:
    if isinstance(node, cst.BaseExpression):
        return ast.parse(f"({_code(node)}\n)", mode="eval").body
    if isinstance(node, cst.If):
        # An `elif` is an `If` that prints as `elif`: it is asked for by its test.
        node = cst.If(test=node.test, body=node.body, orelse=node.orelse)
    (statement,) = ast.parse(textwrap.dedent(_code(node))).body or [ast.Pass()]
    return statement.value if isinstance(statement, ast.Expr) else statement


def _name(node: cst.Name | None) -> str | None:
    return None if node is None else node.value


def _defined(statement: cst.CSTNode) -> str | None:
    if isinstance(statement, cst.FunctionDef | cst.ClassDef):
        return statement.name.value
    return None


def _equal_sign(args: Sequence[cst.Arg]) -> cst.AssignEqual:
    """Calls are written `name=value`; a generated node would print ` = `."""
    for arg in args:
        if isinstance(arg.equal, cst.AssignEqual):
            return arg.equal
    bare = cst.SimpleWhitespace("")
    return cst.AssignEqual(whitespace_before=bare, whitespace_after=bare)


def _insert(elements: Sequence[_Element], index: int, new: _Element) -> list[_Element]:
    """`elements` with one more, separated as its neighbours are.

    Inserted last, it takes over what followed the old last one: a trailing comma, or
    the line break before the closing parenthesis.
    """
    if not elements:
        return [new]
    separator = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
    if len(elements) > 1 and isinstance(elements[0].comma, cst.Comma):
        separator = elements[0].comma
    if index < len(elements):
        return [
            *elements[:index],
            _with(new, comma=separator),
            *elements[index:],
        ]
    last = elements[-1]
    moved: dict[str, object] = {"comma": last.comma}
    bare: dict[str, object] = {"comma": separator}
    if isinstance(last, cst.Arg):
        moved["whitespace_after_arg"] = last.whitespace_after_arg
        bare["whitespace_after_arg"] = cst.SimpleWhitespace("")
    return [*elements[:-1], _with(last, **bare), _with(new, **moved)]


def _with(node: _Node, **changes: object) -> _Node:
    return node.with_changes(**changes)


def _spaced(statement: _Statement) -> _Statement:
    """The statement with an empty line above it, if it is a definition without one."""
    if not isinstance(statement, cst.FunctionDef | cst.ClassDef):
        return statement
    lines = statement.leading_lines
    if lines and lines[0].comment is None:
        return statement
    blank = cst.EmptyLine(indent=False)
    return statement.with_changes(leading_lines=[blank, *lines])


def _with_leading_lines(
    new: Sequence[_Statement], old: cst.BaseStatement
) -> Sequence[_Statement]:
    lines = getattr(old, "leading_lines", ())
    if not new or not lines:
        return new
    first = new[0]
    own = getattr(first, "leading_lines", ())
    return [
        _with(first, leading_lines=[*lines, *own]),
        *new[1:],
    ]


def _with_block(
    statement: cst.BaseStatement,
    *,
    before: Sequence[_Statement] = (),
    after: Sequence[_Statement] = (),
) -> cst.BaseStatement:
    block = getattr(statement, "body", None)
    if not isinstance(block, cst.IndentedBlock):
        raise Mismatch(f"no indented block in `{_short(_code(statement))}`")
    new = block.with_changes(body=[*before, *block.body, *after])
    return _with(statement, body=new)


def _fill(
    template: Sequence[_Statement], matched: cst.BaseStatement
) -> Sequence[_Statement]:
    """The template with the matched block in the place of a block `...`."""
    block = getattr(matched, "body", None)
    if not isinstance(block, cst.BaseSuite):
        return template
    return [
        cast("_Statement", statement.visit(_FillBlock(block))) for statement in template
    ]


class _FillBlock(cst.CSTTransformer):
    def __init__(self, block: cst.BaseSuite) -> None:
        super().__init__()
        self._block = block

    def leave_IndentedBlock(
        self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock
    ) -> cst.BaseSuite:
        return self._block if _is_ellipsis(original_node) else updated_node

    def leave_SimpleStatementSuite(
        self,
        original_node: cst.SimpleStatementSuite,
        updated_node: cst.SimpleStatementSuite,
    ) -> cst.BaseSuite:
        return self._block if _is_ellipsis(original_node) else updated_node


def _is_ellipsis(block: cst.BaseSuite) -> bool:
    return _code(block).strip() == "..."


def _short(text: str) -> str:
    """One line of an anchor, for a message."""
    lines = textwrap.dedent(text).strip().splitlines()
    return lines[0] if len(lines) == 1 else f"{lines[0]} …"


def _expect(
    context: Context, what: str, found: int, wanted: int, pattern: str | None
) -> None:
    if found == wanted:
        return
    where = "" if not found or pattern is None else _lines(context, pattern)
    raise Mismatch(
        f"expected {wanted} of {what} in {context.path}, found {found}{where}"
    )


def _lines(context: Context, pattern: str) -> str:
    """Where the pattern matches in the module as it was, for a message."""
    wanted = parse_pattern(pattern)
    roots: Sequence[ast.AST] = (
        [ast.parse(context.module.bytes)]
        if context.path == MODULE
        else definition_nodes(context.module, context.path)
    )
    lines = {
        node.lineno
        for root in roots
        for node in ast.walk(root)
        if isinstance(node, ast.stmt | ast.expr) and matches(wanted, node)
    }
    return f" (lines {', '.join(map(str, sorted(lines)))})" if lines else ""
