"""What we keep and its text: there and back, and every text that is not ours."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchset import ledger as texts
from patchset.digest import of_bytes
from patchset.model import (
    Adopted,
    Applied,
    Attributes,
    Ledger,
    Output,
    PatchText,
    Pristine,
    Role,
    Selection,
)
from tests.values import digest

DIGESTS = st.integers(0, 9).map(lambda number: of_bytes(bytes([number])))
NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
PARTS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="/\0"), min_size=1
).filter(lambda part: part not in {".", ".."})
PATHS = st.lists(PARTS, min_size=1, max_size=3).map("/".join)
TUPLES = st.lists(NAMES, max_size=3).map(tuple)
SELECTIONS = st.builds(Selection, only=st.none() | TUPLES, plus=TUPLES, without=TUPLES)
LEDGERS = st.builds(
    Ledger,
    selection=SELECTIONS,
    assumed=st.dictionaries(NAMES, NAMES, max_size=3),
    files=st.dictionaries(PATHS, DIGESTS, max_size=3),
    obsolete=st.dictionaries(NAMES, DIGESTS, max_size=3),
)
NUMBERS = st.integers(0, 2**31)
ATTRIBUTES = st.builds(
    Attributes, mode=NUMBERS, uid=NUMBERS, gid=NUMBERS, link=st.none() | NAMES
)
APPLIED = st.builds(
    Applied, id=NAMES, variant=st.none() | NAMES, code=DIGESTS, text=DIGESTS
)
ROLES: st.SearchStrategy[Role] = st.one_of(
    st.builds(Pristine, path=PATHS, attributes=ATTRIBUTES),
    st.builds(Adopted, path=PATHS, recorded=DIGESTS),
    st.builds(
        Output,
        path=PATHS,
        base=DIGESTS,
        edit=DIGESTS,
        patches=st.lists(APPLIED, max_size=2).map(tuple),
    ),
    st.builds(
        PatchText,
        id=NAMES,
        variant=st.none() | NAMES,
        checked=st.dictionaries(NAMES, NAMES, max_size=2),
    ),
)
ESCAPES = (
    "", ".", "..", "/", "/etc/passwd", "../x", "a/../b", "a/..", "./a", "a/", "a//b",
    "a/./b", "a\0b", "\ud800",
)  # fmt: skip


@given(LEDGERS)
def test_a_ledger_survives_its_text(ledger: Ledger) -> None:
    text = texts.dump_ledger(ledger)
    assert texts.parse_ledger(text) == ledger
    assert texts.dump_ledger(texts.parse_ledger(text)) == text


@given(st.lists(ROLES, max_size=4))
def test_roles_survive_their_text_in_one_order(roles: list[Role]) -> None:
    text = texts.dump_roles(roles)
    parsed = texts.parse_roles(text)
    assert len(parsed) == len(roles)
    assert all(one in roles for one in parsed)
    assert all(one in parsed for one in roles)
    assert texts.dump_roles(parsed) == texts.dump_roles(roles[::-1]) == text


@given(st.dictionaries(PATHS, st.text("abc", min_size=1), max_size=3))
def test_a_journal_survives_its_text(names: dict[str, str]) -> None:
    files = {
        path: "/".join([*path.split("/")[:-1], name]) for path, name in names.items()
    }
    assert texts.parse_journal(texts.dump_journal(files)) == files


def test_equal_ledgers_have_equal_texts_whatever_the_order() -> None:
    """Promise 7."""
    rows = {"b": digest("1"), "a": digest("2")}
    other = dict(reversed(rows.items()))
    one = texts.dump_ledger(Ledger(files=rows, obsolete=rows))
    assert one == texts.dump_ledger(Ledger(files=other, obsolete=other))


PARSERS: list[Callable[[str], object]] = [
    texts.parse_ledger, texts.parse_roles, texts.parse_journal,
]  # fmt: skip


@pytest.mark.parametrize("parse", PARSERS)
@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", "{}", '{"schema": 0}', '{"schema": "1"}',
     '{"schema": true}', '{"schema": 1}', "[" * 100_000,
     '{"schema": 1, "files": 1, "roles": 1}',
     '{"schema": ' + "9" * 5000 + "}x"],
)  # fmt: skip
def test_a_torn_text_is_refused(parse: Callable[[str], object], text: str) -> None:
    """E11."""
    with pytest.raises(texts.FormatError):
        parse(text)


@pytest.mark.parametrize("parse", PARSERS)
def test_a_newer_text_is_told_apart(parse: Callable[[str], object]) -> None:
    """E11."""
    with pytest.raises(texts.NewerSchemaError, match="99, this patchset reads 1"):
        parse('{"schema": 99, "anything": []}')


def changed(**members: object) -> str:
    whole = json.loads(texts.dump_ledger(Ledger()))
    return json.dumps({**whole, **members})


@pytest.mark.parametrize(
    "members",
    [
        {"selection": None},
        {"selection": {"only": 1, "with": [], "without": []}},
        {"selection": {"only": [1], "with": [], "without": []}},
        {"selection": {"only": None, "without": []}},
        {"assumed": {"vllm": 1}},
        {"files": {"a": "md5:1"}},
        {"files": {"a": None}},
        {"files": {"a": "sha256:" + "G" * 64}},
        {"files": []},
        {"obsolete": {"a": "b"}},
        *({"files": {path: digest("1")}} for path in ESCAPES),
    ],
)
def test_a_ledger_that_says_nonsense_is_refused(members: dict[str, object]) -> None:
    with pytest.raises(texts.FormatError):
        texts.parse_ledger(changed(**members))


@pytest.mark.parametrize(
    "row",
    [
        1,
        {},
        {"role": "other", "path": "a"},
        {"role": "pristine", "path": "a"},
        {"role": "pristine", "path": "a", "mode": True, "uid": 0, "gid": 0},
        {"role": "pristine", "path": "a", "mode": 1, "uid": 0, "gid": 0, "link": 1},
        {"role": "adopted", "path": "a"},
        {"role": "output", "path": "a", "base": digest("1"), "edit": digest("1")},
        {"role": "output", "path": "a", "base": digest("1"), "edit": digest("1"),
         "patches": [1]},
        {"role": "output", "path": "a", "base": digest("1"), "edit": digest("1"),
         "patches": [{"id": "a", "code": digest("1")}]},
        {"role": "patch", "id": "a", "checked": {"a": 1}},
        *({"role": "adopted", "path": path, "recorded": digest("1")}
          for path in ESCAPES),
    ],
)  # fmt: skip
def test_a_role_that_says_nonsense_is_refused(row: object) -> None:
    with pytest.raises(texts.FormatError):
        texts.parse_roles(json.dumps({"schema": 1, "roles": [row]}))


@pytest.mark.parametrize(
    "files",
    [{"pkg/m.py": "other/.m.py"}, {"pkg/m.py": "../x"}, {"/m.py": "/.m.py"}, {"a": 1}],
)
def test_a_journal_names_neighbours_only(files: dict[str, object]) -> None:
    with pytest.raises(texts.FormatError):
        texts.parse_journal(json.dumps({"schema": 1, "files": files}))
