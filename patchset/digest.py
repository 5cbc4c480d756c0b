"""Digests of bytes and of code."""

from __future__ import annotations

import ast
import base64
import binascii
import hashlib
import re
from collections.abc import Iterable
from typing import TypeGuard

from patchset.model import Digest

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


def of_bytes(content: bytes) -> Digest:
    """The digest by which files are recognised."""
    return Digest(f"sha256:{hashlib.sha256(content).hexdigest()}")


def is_digest(value: object) -> TypeGuard[Digest]:
    """Whether something that was read is a digest as we write them."""
    return isinstance(value, str) and bool(_DIGEST.fullmatch(value))


def from_record(field: str) -> Digest | None:
    """The digest that a RECORD row holds, or None if it holds none that we can use.

    RECORD has `sha256=` and url-safe base64 without padding (the "Recording installed
    projects" specification).
    """
    algorithm, _, encoded = field.partition("=")
    if algorithm != "sha256":
        return None
    padding = "=" * (-len(encoded) % 4)
    try:
        raw = base64.b64decode(encoded + padding, altchars=b"-_", validate=True)
    except (ValueError, binascii.Error):
        return None
    return (
        Digest(f"sha256:{raw.hex()}")
        if len(raw) == hashlib.sha256().digest_size
        else None
    )


def of_code(tree: ast.Module, *, without: frozenset[str] = frozenset()) -> Digest:
    """The digest of what a module does: no comments, no layout, no docstrings.

    `without` names module-level assignments that do not count. The same text gives
    the same digest under every supported Python: `ast.dump` does not promise that,
    since it shows fields that only some versions have.
    """
    body = [node for node in tree.body if not _assigns(node, without)]
    lines = _lines(ast.Module(body=body, type_ignores=[]))
    return of_bytes("\n".join(lines).encode("utf-8", "surrogatepass"))


def fingerprint(files: Iterable[tuple[str, Digest]]) -> Digest | None:
    """One digest over the (path, digest) pairs, in the order of paths; None if none."""
    rows = sorted(files)
    if not rows:
        return None
    return of_bytes("".join(f"{path} {digest}\n" for path, digest in rows).encode())


def _assigns(node: ast.stmt, names: frozenset[str]) -> bool:
    """Whether a statement does nothing but assign to some of these names."""
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AnnAssign):
        targets = [node.target]
    return bool(targets) and all(
        isinstance(target, ast.Name) and target.id in names for target in targets
    )


def _lines(node: ast.AST) -> Iterable[str]:
    yield type(node).__name__
    if isinstance(node, ast.Constant):
        yield repr(node.value)
        return
    for name, value in ast.iter_fields(node):
        if name in {"ctx", "kind", "type_comment"}:
            continue
        values = value if isinstance(value, list) else [value]
        begin = 1 if name == "body" and _has_docstring(node) else 0
        for child in values[begin:]:
            if isinstance(child, ast.AST):
                yield f"{name}("
                yield from _lines(child)
                yield ")"
            elif child is not None or value is values:
                # In a list, None is a place: `{**a, b: c}` is not `{b: a, **c}`.
                yield f"{name}={child!r}"


def _has_docstring(node: ast.AST) -> bool:
    if not isinstance(
        node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    ):
        return False
    first = node.body[0] if node.body else None
    return (
        isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and isinstance(first.value.value, str)
    )
