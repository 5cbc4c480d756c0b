"""The text of a patch file → its metadata, as a value, without running it."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from patchset.digest import of_code
from patchset.errors import Problem, UsageError
from patchset.model import Patch
from patchset.versions import is_bounded

IMPORTS = frozenset({"__future__", "libcst"})
FUNCTIONS = ("rewrite", "fixed")
_NAME = re.compile(r"[a-z][a-z0-9_]*")


def parse_patch(
    text: str,
    *,
    package: str,
    stem: str,
    catalogue: str | None,
    origin: str,
    checked: Mapping[str, str],
) -> Patch:
    """The patch that lies as `<package>/<stem>.py` in a catalogue.

    `checked` says up to which release the catalogue was checked; a range that it does
    not bound must bound itself. Raises UsageError with every problem of the file.
    """
    reader = _Reader(origin)
    tree = reader.parse(text)
    defect, marker, variant = stem.partition("__")
    if not _NAME.fullmatch(defect) or (marker and not re.fullmatch(r"\w+", variant)):
        reader.fail("file name", stem, "<defect>.py or <defect>__<variant>.py")
    fields = reader.fields(tree)
    title, description = reader.docstring(tree)
    patch_id = f"{package}/{defect}"
    patch = Patch(
        id=patch_id if catalogue is None else f"{catalogue}:{patch_id}",
        variant=variant or None,
        catalogue=catalogue,
        title=title,
        description=description,
        target=reader.target(fields, package),
        group=reader.optional(fields, "GROUP", _is_group, "a name like eagle3-serving"),
        needs=reader.needs(fields, package, checked),
        fixed_in=reader.versions(fields.get("FIXED_IN", {})),
        symptoms=reader.symptoms(fields),
        silent=reader.optional(fields, "SILENT", _is_text, "what goes wrong unseen"),
        upstream=reader.optional(fields, "UPSTREAM", _is_link, "an https:// link"),
        no_upstream=reader.optional(fields, "NO_UPSTREAM", _is_text, "the reason"),
        touches=reader.touches(fields),
        opt_in=bool(
            reader.optional(fields, "OPT_IN", lambda v: isinstance(v, bool), "a bool")
        ),
        example=reader.example(fields),
        cures=reader.strings(fields, "CURES"),
        source=text,
        origin=origin,
        code=of_code(tree, without=FIELDS - _used(tree)),
        checked=dict(checked),
    )
    reader.one_of(fields, "SYMPTOMS", "SILENT")
    reader.one_of(fields, "UPSTREAM", "NO_UPSTREAM")
    reader.finish()
    return patch


FIELDS = frozenset(
    {
        "TARGET",
        "GROUP",
        "NEEDS",
        "FIXED_IN",
        "SYMPTOMS",
        "SILENT",
        "UPSTREAM",
        "NO_UPSTREAM",
        "TOUCHES",
        "OPT_IN",
        "CURES",
        "BEFORE",
        "AFTER",
    }
)
"""The names that a patch file may assign; another one in capitals is a mistake."""


def _used(tree: ast.Module) -> set[str]:
    """The names that code reads: metadata that a codemod uses makes bytes as well."""
    return {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_link(value: object) -> bool:
    return isinstance(value, str) and value.startswith("https://")


def _is_group(value: object) -> bool:
    return isinstance(value, str) and bool(re.fullmatch(r"[a-z][a-z0-9-]*", value))


class _Reader:
    """Collects every problem of one patch file, so that all are shown at once."""

    def __init__(self, origin: str) -> None:
        self._origin = origin
        self._problems: list[Problem] = []

    def fail(self, field: str, found: object, wanted: str) -> None:
        self._problems.append(
            Problem(
                kind="patch-file",
                message=f"{self._origin}: {field}: found {found}, wanted {wanted}",
                hint=f"correct {self._origin}",
                path=self._origin,
            )
        )

    def finish(self) -> None:
        if self._problems:
            raise UsageError(*self._problems)

    def parse(self, text: str) -> ast.Module:
        try:
            return ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            line = getattr(error, "lineno", None)
            where = f"line {line}: " if line else ""
            self.fail("syntax", f"{where}{error}", "Python source")
            self.finish()
            raise AssertionError from error

    def fields(self, tree: ast.Module) -> dict[str, Any]:
        """The literals of the known names; functions and imports are checked too."""
        fields: dict[str, Any] = {}
        functions = set()
        unknown: list[str] = []
        for node in tree.body:
            if isinstance(node, ast.FunctionDef):
                functions.add(node.name)
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                unknown += self._assignment(node, fields)
            elif isinstance(node, ast.AugAssign):
                self._not_twice(ast.unparse(node.target), node.lineno)
        for found in ast.walk(tree):
            if isinstance(found, ast.Import | ast.ImportFrom):
                self._imports(found)
        if unknown:
            wanted = (
                f"{', '.join(sorted(FIELDS))}; a patch's own constants begin with _"
            )
            self.fail("unknown name", ", ".join(unknown), wanted)
        for name in FUNCTIONS:
            if name not in functions:
                self.fail(name, "nothing", f"def {name}(module: cst.Module)")
        return fields

    def _assignment(
        self, node: ast.Assign | ast.AnnAssign, fields: dict[str, Any]
    ) -> list[str]:
        """Keep a literal; give back the names in capitals that mean nothing to us."""
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        names = [one.id for one in targets if isinstance(one, ast.Name)]
        for name in sorted(FIELDS.intersection(names)):
            if name in fields:
                self._not_twice(name, node.lineno)
            try:
                fields[name] = ast.literal_eval(node.value or ast.Constant(None))
            except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
                self.fail(name, f"an expression, line {node.lineno}", "a literal")
        return [
            name
            for name in names
            if name.isupper() and name not in FIELDS and not name.startswith("_")
        ]

    def _not_twice(self, name: str, line: int) -> None:
        if name in FIELDS:
            self.fail(name, f"a second assignment, line {line}", "one literal")

    def _imports(self, node: ast.Import | ast.ImportFrom) -> None:
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif node.level:
            modules = ["."]
        elif node.module == "patchset":
            modules = [f"patchset.{alias.name}" for alias in node.names]
        else:
            modules = [node.module or "."]
        for module in modules:
            if module != "patchset.edit" and module.partition(".")[0] not in IMPORTS:
                self.fail(
                    "import",
                    f"{ast.unparse(node)}, line {node.lineno}",
                    "libcst and patchset.edit only",
                )

    def docstring(self, tree: ast.Module) -> tuple[str, str]:
        text = ast.get_docstring(tree) or ""
        title, _, rest = text.partition("\n")
        if not title.strip() or not rest.strip():
            wanted = "a title, an empty line, and symptom and cause in prose"
            self.fail("docstring", "no title or no prose", wanted)
        return title.strip().removesuffix("."), rest.strip()

    def target(self, fields: Mapping[str, Any], package: str) -> str:
        value = fields.get("TARGET")
        path = PurePosixPath(value) if isinstance(value, str) else PurePosixPath("/")
        if (
            path.is_absolute()
            or str(path) != value
            or ".." in path.parts
            or "\\" in value
            or not value.isprintable()
            or path.suffix != ".py"
            or len(path.parts) < len(("package", "module.py"))
            or path.parts[0] != package
        ):
            self.fail("TARGET", repr(value), f"a file of the package: {package}/….py")
            return f"{package}/?"
        return str(path)

    def needs(
        self, fields: Mapping[str, Any], package: str, checked: Mapping[str, str]
    ) -> tuple[Mapping[str, str], ...]:
        value = fields.get("NEEDS")
        ranges = value if isinstance(value, list) else [value]
        if not ranges or not all(
            isinstance(one, dict)
            and package in one
            and all(isinstance(text, str) for pair in one.items() for text in pair)
            for one in ranges
        ):
            wanted = f"import package → specifier, {package!r} among them"
            self.fail("NEEDS", repr(value), wanted)
            return ()
        good = [one for one in ranges if isinstance(one, dict)]
        for one in good:
            for name, specifier in one.items():
                self._range(name, specifier, checked)
        return tuple(dict(sorted(one.items())) for one in good)

    def _range(self, name: str, specifier: str, checked: Mapping[str, str]) -> None:
        try:
            SpecifierSet(specifier)
        except InvalidSpecifier:
            self.fail("NEEDS", f"{name}: {specifier!r}", "a version specifier")
            return
        if name not in checked and not is_bounded(specifier):
            self.fail(
                "NEEDS",
                f"{name}: {specifier!r}, open above",
                f"an upper bound, or {name} in the catalogue's checked.json",
            )

    def versions(self, value: object) -> Mapping[str, str]:
        if not isinstance(value, dict) or not all(map(_is_text, value)):
            self.fail("FIXED_IN", repr(value), "import package → version")
            return {}
        for name, version in value.items():
            try:
                Version(version)
            except (InvalidVersion, TypeError):
                self.fail("FIXED_IN", f"{name}: {version!r}", "a version")
        return dict(sorted(value.items()))

    def symptoms(self, fields: Mapping[str, Any]) -> tuple[str, ...]:
        values = self.strings(fields, "SYMPTOMS")
        for value in values:
            try:
                re.compile(value)
            except (re.error, OverflowError, RecursionError) as error:
                self.fail("SYMPTOMS", f"{value!r} ({error})", "a regular expression")
        return values

    def touches(self, fields: Mapping[str, Any]) -> tuple[str, ...]:
        values = self.strings(fields, "TOUCHES")
        if not values:
            self.fail("TOUCHES", "nothing", "the definitions that the patch changes")
        return values

    def strings(self, fields: Mapping[str, Any], name: str) -> tuple[str, ...]:
        value = fields.get(name, [])
        if not isinstance(value, list) or not all(map(_is_text, value)):
            self.fail(name, repr(value), "a list of strings")
            return ()
        return tuple(value)

    def example(self, fields: Mapping[str, Any]) -> tuple[str, str] | None:
        pair = fields.get("BEFORE"), fields.get("AFTER")
        if pair == (None, None):
            return None
        if not all(map(_is_text, pair)):
            self.fail("BEFORE, AFTER", "one without the other", "source text, twice")
            return None
        return str(pair[0]), str(pair[1])

    def optional(
        self,
        fields: Mapping[str, Any],
        name: str,
        is_good: Callable[[object], bool],
        wanted: str,
    ) -> Any:  # noqa: ANN401 - the caller knows what `is_good` let through
        value = fields.get(name)
        if name in fields and not is_good(value):
            self.fail(name, repr(value), wanted)
            return None
        return value

    def one_of(self, fields: Mapping[str, Any], *names: str) -> None:
        given: Sequence[str] = [name for name in names if fields.get(name)]
        if len(given) != 1:
            found = " and ".join(given) or "neither"
            self.fail(" / ".join(names), found, "exactly one of them")
