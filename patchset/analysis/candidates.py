"""Where code may have gone that is not where it was: near names, for people."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from difflib import get_close_matches

from patchset.analysis.source import Source, python_files

COUNT = 3
"""How many candidates are worth a look."""


def near_files(source: Source, path: str, definitions: Iterable[str]) -> list[str]:
    """Return the files that a vanished one may have become.

    First those that define what it was wanted for, then those of a near name.
    """
    package = path.partition("/")[0]
    paths = list(python_files(source, package))
    names = {name.partition(".")[0] for name in definitions} - {"<module>"}
    statement = re.compile(
        rb"^(?:class|def)\s+(?:"
        + b"|".join(n.encode() for n in sorted(names))
        + rb")\b",
        re.MULTILINE,
    )
    defining = [
        each for each in paths if names and statement.search(source.read(each) or b"")
    ]
    alike = get_close_matches(path, paths, n=COUNT)
    return list(dict.fromkeys([*defining, *alike]))[:COUNT]


def near_definitions(content: bytes, definitions: Iterable[str]) -> list[str]:
    """Return what a file defines that is near to what it no longer has.

    Each with its line. What is still there is not named: then it is the code inside
    that has changed, and the definition itself is the candidate.
    """
    try:
        lines = dict(_definitions(ast.parse(content).body, ""))
    except (SyntaxError, ValueError):
        return []
    found: dict[str, None] = {}
    for name in definitions:
        if name in lines:
            found[f"{name}:{lines[name]}"] = None
            continue
        for near in get_close_matches(name, sorted(lines), n=COUNT):
            found[f"{near}:{lines[near]}"] = None
    return list(found)[:COUNT]


def _definitions(body: Iterable[ast.AST], prefix: str) -> Iterable[tuple[str, int]]:
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            name = f"{prefix}{node.name}"
            yield name, node.lineno
            if isinstance(node, ast.ClassDef):
                yield from _definitions(node.body, f"{name}.")
