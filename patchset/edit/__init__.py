"""The codemods that patch authors compose.

`within(module, "Class.method", change, …)` hands one definition to one or more
changes and rebuilds the module around the result. Every change says how often its
anchor must match and raises `Mismatch` otherwise: a codemod that changes nothing is
never a success. Anchors are patterns (see `patchset.pattern`); matching is by tree, so
that a comment or a line break upstream does not turn a patch off. Only the own text of
the definition is searched, never a definition nested in it. Code that a patch adds
takes over the indentation and the line ends of the module.

`defines`, `has_base`, `has_decorator`, `holds`, `returns`, `imports` and `count` are
the questions that a patch's `fixed` asks.
"""

from __future__ import annotations

from patchset.definitions import MODULE
from patchset.edit.change import Change, within
from patchset.edit.declarations import (
    add_base,
    add_decorator,
    add_members,
    widen_return,
)
from patchset.edit.expressions import add_argument, drop_argument, replace_expression
from patchset.edit.listings import extend_import, extend_list
from patchset.edit.questions import (
    count,
    defines,
    has_base,
    has_decorator,
    holds,
    imports,
    returns,
)
from patchset.edit.statements import (
    add_branch,
    append,
    insert_after,
    insert_before,
    prepend,
    replace,
)
from patchset.errors import Mismatch

__all__ = [
    "MODULE",
    "Change",
    "Mismatch",
    "add_argument",
    "add_base",
    "add_branch",
    "add_decorator",
    "add_members",
    "append",
    "count",
    "defines",
    "drop_argument",
    "extend_import",
    "extend_list",
    "has_base",
    "has_decorator",
    "holds",
    "imports",
    "insert_after",
    "insert_before",
    "prepend",
    "replace",
    "replace_expression",
    "returns",
    "widen_return",
    "within",
]
