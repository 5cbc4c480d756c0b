"""Patches folded over bytes: the only place that runs a codemod."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import libcst as cst

from patchset.definitions import changed_definitions
from patchset.errors import Mismatch, Problem, TooLongError
from patchset.model import Patch
from patchset.nesting import DEEPEST, is_deep

Compiles: TypeAlias = Callable[[bytes, str], str | None]
"""Content and path → why the target's Python does not compile it, or None."""

Guard: TypeAlias = Callable[[], contextlib.AbstractContextManager[object]]
"""Around each call of a patch's code; raises TooLongError in it when it must end."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Folded:
    """What came of folding patches over one file."""

    content: bytes
    applied: tuple[Patch, ...]
    obsolete: tuple[Patch, ...]
    """Wanted by version, but the cure is in the base already."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Refused:
    """Why nothing came of it: every reason, not the first."""

    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class _Loaded:
    patch: Patch
    rewrite: Callable[[cst.Module], object]
    fixed: Callable[[cst.Module], object]
    guard: Guard


class _Refusal(Exception):  # noqa: N818 - it never leaves this module
    def __init__(self, kind: str, found: str, hint: str, patch: Patch) -> None:
        super().__init__(found)
        self.problem = Problem(
            kind=kind,
            message=f"{patch.target}: {patch.id}: {found}",
            hint=hint,
            path=patch.target,
            patch=patch.id,
        )


def fold(
    base: bytes,
    patches: Sequence[Patch],
    *,
    path: str,
    compiles: Compiles,
    guard: Guard = contextlib.nullcontext,
) -> Folded | Refused:
    """The patches in the order of their ids over `base`, or every reason why not.

    Each must declare what it changes, have an effect, and be recognised by its own
    `fixed` afterwards; the result parses, prints as it was parsed, and compiles. A
    patch whose `fixed` is true of the base is left out and reported as obsolete.
    """
    if problem := _unreadable(base, path, compiles):
        return Refused(problems=(problem,))
    module = _parse(base, path)
    if isinstance(module, Problem):
        return Refused(problems=(module,))
    before = module
    applied: list[_Loaded] = []
    obsolete: list[Patch] = []
    problems: list[Problem] = []
    for patch in sorted(patches, key=lambda one: one.id):
        try:
            loaded = _load(patch, guard)
            if _ask(loaded, before):
                obsolete.append(patch)
                continue
            module = _step(loaded, module, before, applied)
            applied.append(loaded)
        except _Refusal as refusal:
            problems.append(refusal.problem)
    if problems:
        return Refused(problems=tuple(problems))
    content = _written(module, path, applied, compiles) if applied else base
    if isinstance(content, Problem):
        return Refused(problems=(content,))
    return Folded(
        content=content,
        applied=tuple(one.patch for one in applied),
        obsolete=tuple(obsolete),
    )


def _unreadable(base: bytes, path: str, compiles: Compiles) -> Problem | None:
    """Compiled before it is parsed: what would crash the native parser fails here."""
    if (error := compiles(base, path)) is None:
        return None
    return Problem(
        kind="does-not-compile",
        message=f"{path}: does not compile before patching: {error}",
        hint="reinstall the distribution: the file was broken already",
        path=path,
    )


def _parse(content: bytes, path: str) -> cst.Module | Problem:
    if is_deep(content):
        return _unparsed(path, f"nested more than {DEEPEST} deep")
    try:
        module = cst.parse_module(content)
        printed = module.bytes
    except (cst.ParserSyntaxError, SyntaxError, ValueError, LookupError) as error:
        return _unparsed(path, str(error).partition("\n")[0] or type(error).__name__)
    except (RecursionError, MemoryError) as error:
        return _unparsed(path, f"too deep for the parser ({type(error).__name__})")
    if printed != content:
        return _unparsed(path, "parsing and printing it does not give the same bytes")
    return module


def _unparsed(path: str, reason: str) -> Problem:
    return Problem(
        kind="cannot-parse",
        message=f"{path}: cannot parse: {reason} (libcst {_libcst_version()})",
        hint="pip install --upgrade libcst",
        path=path,
    )


def _libcst_version() -> str:
    return str(getattr(cst, "LIBCST_VERSION", "of unknown version"))


def _written(
    module: cst.Module, path: str, applied: Sequence[_Loaded], compiles: Compiles
) -> bytes | Problem:
    """A codemod that prints what is no Python would break the whole package."""
    try:
        content = module.bytes
    except Exception as error:  # noqa: BLE001 - a codemod may build any tree
        return _bad_result(path, applied, f"cannot be printed: {_said(error)}")
    again = _parse(content, path)
    why = again.message if isinstance(again, Problem) else compiles(content, path)
    if why is not None:
        return _bad_result(path, applied, f"does not compile: {why}")
    return content


def _bad_result(path: str, applied: Sequence[_Loaded], why: str) -> Problem:
    names = ", ".join(one.patch.id for one in applied)
    return Problem(
        kind="bad-result",
        message=f"{path}: what {names} would write {why}",
        hint=f"correct {applied[0].patch.origin}",
        path=path,
        patch=applied[0].patch.id if len(applied) == 1 else None,
    )


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def _load(patch: Patch, guard: Guard) -> _Loaded:
    """The two functions of a patch; runs its module body."""
    namespace: dict[str, object] = {"__name__": f"patchset_patch_{patch.defect}"}
    try:
        code = compile(patch.source, patch.origin, "exec", dont_inherit=True)
        with _quiet(guard):
            exec(code, namespace)  # noqa: S102 - a patch is code, that is its point
    except (Exception, SystemExit, TooLongError) as error:
        raise _broken(patch, "loading it", error) from error
    rewrite, fixed = namespace.get("rewrite"), namespace.get("fixed")
    if not callable(rewrite) or not callable(fixed):
        raise _Refusal("patch-failed", "no rewrite and fixed", _correct(patch), patch)
    return _Loaded(patch, rewrite, fixed, guard)


def _step(
    loaded: _Loaded,
    module: cst.Module,
    base: cst.Module,
    applied: Sequence[_Loaded],
) -> cst.Module:
    try:
        return _apply(loaded, module)
    except _Refusal:
        if applied:
            _raise_conflict(loaded, base, applied)
        raise


def _apply(loaded: _Loaded, module: cst.Module) -> cst.Module:
    """One patch over one tree, with every promise of the patch checked."""
    patch = loaded.patch
    if _ask(loaded, module):
        raise _Refusal("conflict", "its cure is there already", _correct(patch), patch)
    new = _call(loaded, module)
    try:
        changed = changed_definitions(module, new)
    except Exception as error:
        raise _broken(patch, "printing what rewrite made", error) from error
    if not changed:
        raise _Refusal("no-effect", "changes nothing", _correct(patch), patch)
    if changed != frozenset(patch.touches):
        found = ", ".join(sorted(changed))
        wanted = ", ".join(sorted(patch.touches))
        message = f"changes {found}, and declares {wanted}"
        raise _Refusal("touches", message, _correct(patch), patch)
    if not _ask(loaded, new):
        message = "its own `fixed` does not recognise what `rewrite` made"
        raise _Refusal("not-recognised", message, _correct(patch), patch)
    return new


def _raise_conflict(
    loaded: _Loaded, base: cst.Module, applied: Sequence[_Loaded]
) -> None:
    """Name the other patch, if this one applies alone and not after that one."""
    try:
        _apply(loaded, base)
    except _Refusal:
        return
    for other in applied:
        try:
            after = _apply(other, base)
        except _Refusal:
            continue
        try:
            _apply(loaded, after)
        except _Refusal as refusal:
            message = f"conflicts with {other.patch.id}: {refusal}"
            hint = f"patchset apply --only {loaded.patch.id} or --only {other.patch.id}"
            raise _Refusal("conflict", message, hint, loaded.patch) from refusal


def _call(loaded: _Loaded, module: cst.Module) -> cst.Module:
    patch = loaded.patch
    try:
        with _quiet(loaded.guard):
            new = loaded.rewrite(module)
    except Mismatch as error:
        raise _moved(patch, error) from error
    except (Exception, SystemExit, TooLongError) as error:
        raise _broken(patch, "rewrite", error) from error
    if not isinstance(new, cst.Module):
        found = f"rewrite returned {type(new).__name__}, not a module"
        raise _Refusal("patch-failed", found, _correct(patch), patch)
    return new


def _ask(loaded: _Loaded, module: cst.Module) -> bool:
    try:
        with _quiet(loaded.guard):
            answer = loaded.fixed(module)
    except Mismatch as error:
        raise _moved(loaded.patch, error) from error
    except (Exception, SystemExit, TooLongError) as error:
        raise _broken(loaded.patch, "fixed", error) from error
    if not isinstance(answer, bool):
        found = f"fixed returned {type(answer).__name__}, not a bool"
        raise _Refusal("patch-failed", found, _correct(loaded.patch), loaded.patch)
    return answer


@contextlib.contextmanager
def _quiet(guard: Guard) -> Iterator[None]:
    """What a patch prints goes to standard error: standard output is a document.

    And it ends: a patch that loops is a patch that failed.
    """
    with contextlib.redirect_stdout(sys.stderr), guard():
        yield


def _moved(patch: Patch, error: Mismatch) -> _Refusal:
    hint = f"patchset show {patch.id}"
    return _Refusal("anchor-moved", f"anchor moved: {error}", hint, patch)


def _broken(patch: Patch, what: str, error: BaseException) -> _Refusal:
    found = f"{what} raised {_said(error)}"
    return _Refusal("patch-failed", found, _correct(patch), patch)


def _correct(patch: Patch) -> str:
    return f"correct {patch.origin}, or leave it out: patchset revert {patch.id}"
