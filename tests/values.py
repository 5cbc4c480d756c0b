"""Values of the core, made up from as little as a test has to say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from patchset.digest import of_bytes
from patchset.model import (
    Applied,
    Attributes,
    Choice,
    Digest,
    Distribution,
    InstalledFile,
    Output,
    Patch,
    PatchState,
    Subject,
)

EDIT = of_bytes(b"the codemods")
PLAIN = Attributes(mode=0o644, uid=0, gid=0)
PATH = "pkg/m.py"


def digest(name: str) -> Digest:
    """A digest that stands for bytes of that name."""
    return of_bytes(name.encode())


def make_patch(
    name: str = "number",
    *,
    variant: str | None = None,
    needs: Sequence[Mapping[str, str]] = ({"pkg": ">=1,<2"},),
    fixed_in: Mapping[str, str] | None = None,
    checked: Mapping[str, str] | None = None,
    target: str = PATH,
    group: str | None = None,
    opt_in: bool = False,
    code: str | None = None,
    source: str = "",
    touches: Sequence[str] = ("<module>",),
) -> Patch:
    package = target.partition("/")[0]
    return Patch(
        id=f"{package}/{name}",
        variant=variant,
        catalogue=None,
        title=name,
        description="For a test.",
        target=target,
        group=group,
        needs=tuple(needs),
        fixed_in=fixed_in or {},
        symptoms=("b is 1",),
        silent=None,
        upstream=None,
        no_upstream="a patch for tests",
        touches=tuple(touches),
        opt_in=opt_in,
        example=None,
        cures=(),
        source=source,
        origin=f"{name}.py",
        code=digest(code or f"code of {name}"),
        checked=checked or {},
    )


def fill(folder: Path, files: Mapping[str, str]) -> Path:
    """A folder with these files."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def applied(patch: Patch) -> Applied:
    return Applied(
        id=patch.id, variant=patch.variant, code=patch.code, text=digest(patch.source)
    )


def output(
    *patches: Patch, base: str | None = "R", edit: Digest = EDIT, path: str = PATH
) -> Output:
    return Output(
        path=path,
        base=digest(base) if base is not None else Digest(""),
        patches=tuple(map(applied, patches)),
        edit=edit,
    )


def make_distribution(
    record: str | None = "R",
    *,
    version: str = "1.0",
    path: str = PATH,
    others: Sequence[str] = (),
) -> Distribution:
    rows = {name: digest("other") for name in others}
    if record is not None:
        rows[path] = digest(record)
    return Distribution(
        package="pkg", name="pkg-cpu", version=version, site="/site", record=rows
    )


def make_file(
    found: str | None = "R", *, distribution: Distribution | None, path: str = PATH
) -> InstalledFile:
    content = None if found is None else found.encode()
    return InstalledFile(
        path=path,
        site="/site",
        package="pkg",
        distribution=distribution,
        content=content,
        digest=None if content is None else of_bytes(content),
        attributes=None if content is None else PLAIN,
    )


def make_subject(
    found: str | None = "R",
    *wanted: Patch,
    record: str | None = "R",
    adopted: str | None = None,
    outputs: Mapping[str, Sequence[Output]] | None = None,
    held: Sequence[str] = (),
    entry: str | None = None,
    obsolete: Sequence[str] = (),
    interrupted: bool = False,
    claimed: bool = True,
) -> Subject:
    """A file whose bytes are called `found`, under a RECORD that says `record`."""
    made = outputs or {}
    return Subject(
        file=make_file(found, distribution=make_distribution(record))
        if claimed
        else make_file(found, distribution=None),
        wanted=tuple(Choice(patch=one, state=PatchState.PENDING) for one in wanted),
        adopted=None if adopted is None else digest(adopted),
        outputs={digest(name): tuple(roles) for name, roles in made.items()},
        held=frozenset(digest(name) for name in (*held, *made)),
        entry=None if entry is None else digest(entry),
        obsolete=frozenset(obsolete),
        interrupted=interrupted,
    )
