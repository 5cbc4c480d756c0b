"""Ledger, roles and journal ⇄ their text on disk."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, TypeVar

from patchset.digest import is_digest
from patchset.model import (
    Adopted,
    Applied,
    Attributes,
    Digest,
    Ledger,
    Output,
    PatchText,
    Pristine,
    Role,
    Selection,
)

SCHEMA = 1
"""Raised when an older patchset could no longer read what a newer one writes."""

_LARGEST = (1 << 32) - 2
"""Of the numbers of users and groups; the next one means "leave it"."""
_Value = TypeVar("_Value")


class FormatError(ValueError):
    """A text of ours that does not say what it should; names the field."""


class NewerSchemaError(FormatError):
    """Written by a newer patchset than this one."""


def dump_ledger(ledger: Ledger) -> str:
    """The text of a ledger: sorted, no clock, no host: equal for equal ledgers."""
    only = ledger.selection.only
    return _dump(
        {
            "schema": SCHEMA,
            "selection": {
                "only": None if only is None else list(only),
                "with": list(ledger.selection.plus),
                "without": list(ledger.selection.without),
            },
            "assumed": dict(ledger.assumed),
            "files": dict(ledger.files),
            "obsolete": dict(ledger.obsolete),
        }
    )


def parse_ledger(text: str) -> Ledger:
    """The ledger in a text; raises FormatError or NewerSchemaError."""
    data = _document(text)
    selection = _member(data, "selection", dict)
    only = selection.get("only")
    return Ledger(
        selection=Selection(
            only=None if only is None else _strings(selection, "only"),
            plus=_strings(selection, "with"),
            without=_strings(selection, "without"),
        ),
        assumed=_mapping(data, "assumed", _text),
        files={
            safe_path(path): digest
            for path, digest in _mapping(data, "files", _digest).items()
        },
        obsolete=_mapping(data, "obsolete", _digest),
    )


def dump_roles(roles: Sequence[Role]) -> str:
    """The text beside an object: all its roles, in an order that does not vary."""
    rows = sorted((_role(one) for one in roles), key=json.dumps)
    return _dump({"schema": SCHEMA, "roles": rows})


def parse_roles(text: str) -> tuple[Role, ...]:
    """The roles in a text; raises FormatError or NewerSchemaError."""
    return tuple(_parse_role(row) for row in _member(_document(text), "roles", list))


def dump_journal(files: Mapping[str, str]) -> str:
    """The text of a journal: path → name of its temporary file."""
    return _dump({"schema": SCHEMA, "files": dict(files)})


def parse_journal(text: str) -> Mapping[str, str]:
    """What a journal names; raises FormatError or NewerSchemaError."""
    files = _mapping(_document(text), "files", _text)
    for path, name in files.items():
        if (
            PurePosixPath(safe_path(path)).parent
            != PurePosixPath(safe_path(name)).parent
        ):
            raise FormatError(f"{name!r} is no neighbour of {path!r}")
    return files


def safe_path(value: str) -> str:
    """A path that stays below its site; raises FormatError for any other."""
    path = PurePosixPath(value)
    if (
        path.is_absolute()
        or ".." in path.parts
        or str(path) != value
        or value == "."
        or not _is_file_name(value)
    ):
        raise FormatError(f"{value!r} is no path below a site")
    return value


def _is_file_name(value: str) -> bool:
    """Whether the operating system takes it: no NUL, no half of a surrogate pair."""
    try:
        return b"\0" not in value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False


def _role(role: Role) -> dict[str, Any]:
    match role:
        case Pristine(path=path, attributes=attributes):
            return {
                "role": "pristine",
                "path": path,
                "mode": attributes.mode,
                "uid": attributes.uid,
                "gid": attributes.gid,
                "link": attributes.link,
            }
        case Adopted(path=path, recorded=recorded):
            return {"role": "adopted", "path": path, "recorded": recorded}
        case Output(path=path, base=base, patches=patches, edit=edit):
            rows = [
                {"id": p.id, "variant": p.variant, "code": p.code, "text": p.text}
                for p in patches
            ]
            return {
                "role": "output",
                "path": path,
                "base": base,
                "edit": edit,
                "patches": rows,
            }
        case PatchText(id=patch_id, variant=variant, checked=checked):
            return {
                "role": "patch",
                "id": patch_id,
                "variant": variant,
                "checked": dict(sorted(checked.items())),
            }


def _parse_role(row: object) -> Role:
    if not isinstance(row, dict):
        raise FormatError("a role is an object")
    kind = row.get("role")
    if kind == "patch":
        return PatchText(
            id=_member(row, "id", str),
            variant=_optional(row, "variant"),
            checked=_mapping(row, "checked", _text),
        )
    path = safe_path(_member(row, "path", str))
    if kind == "pristine":
        attributes = Attributes(
            mode=_number(row, "mode"),
            uid=_number(row, "uid"),
            gid=_number(row, "gid"),
            link=_optional(row, "link"),
        )
        return Pristine(path=path, attributes=attributes)
    if kind == "adopted":
        return Adopted(path=path, recorded=_digest(row.get("recorded")))
    if kind == "output":
        return Output(
            path=path,
            base=_digest(row.get("base")),
            edit=_digest(row.get("edit")),
            patches=tuple(map(_applied, _member(row, "patches", list))),
        )
    raise FormatError(f"unknown role {kind!r}")


def _applied(row: object) -> Applied:
    if not isinstance(row, dict):
        raise FormatError("a patch is an object")
    return Applied(
        id=_member(row, "id", str),
        variant=_optional(row, "variant"),
        code=_digest(row.get("code")),
        text=_digest(row.get("text")),
    )


def _dump(data: Mapping[str, Any]) -> str:
    return json.dumps(data, indent=1, sort_keys=True) + "\n"


def _document(text: str) -> dict[str, Any]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"no JSON: {error}") from error
    if not isinstance(data, dict):
        raise FormatError("no JSON object")
    schema = _member(data, "schema", int)
    if schema > SCHEMA:
        raise NewerSchemaError(f"schema {schema}, this patchset reads {SCHEMA}")
    if schema != SCHEMA:
        raise FormatError(f"schema {schema}, wanted {SCHEMA}")
    return data


def _member(data: Mapping[str, Any], key: str, kind: type[_Value]) -> _Value:
    value = data.get(key)
    if not isinstance(value, kind) or isinstance(value, bool):
        found = type(value).__name__
        raise FormatError(f"{key}: found {found}, wanted {kind.__name__}")
    return value


def _number(data: Mapping[str, Any], key: str) -> int:
    value = _member(data, key, int)
    if not 0 <= value <= _LARGEST:
        raise FormatError(f"{key}: found {value}, wanted 0 to {_LARGEST}")
    return value


def _optional(data: Mapping[str, Any], key: str) -> str | None:
    return None if data.get(key) is None else _member(data, key, str)


def _strings(data: Mapping[str, Any], key: str) -> tuple[str, ...]:
    return tuple(_text(value) for value in _member(data, key, list))


def _mapping(
    data: Mapping[str, Any], key: str, value: Callable[[object], _Value]
) -> dict[str, _Value]:
    return {
        name: value(each) for name, each in sorted(_member(data, key, dict).items())
    }


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise FormatError(f"found {type(value).__name__}, wanted a string")
    return value


def _digest(value: object) -> Digest:
    if not is_digest(value):
        raise FormatError(f"found {value!r}, wanted a sha256 digest")
    return value
