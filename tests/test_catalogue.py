"""Catalogues: ours, other people's, and tables that cannot be trusted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from patchset.catalogue import (
    builtin_directory,
    edit_digest,
    read_catalogue,
    read_catalogues,
)
from patchset.errors import PatchsetError, UsageError
from tests.catalogues import write_patch
from tests.values import digest

ROOT = Path(__file__).resolve().parents[1]
ROW = {
    "path": "pkg/m.py",
    "pristine": digest("R"),
    "patches": ["pkg/number"],
    "recipe": digest("recipe"),
    "patched": digest("O"),
}


def write_table(folder: Path, name: str, **rows: object) -> None:
    (folder / name).write_text(json.dumps({"schema": 1, **rows}))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "team"
    write_patch(folder, target="pkg/m.py")
    return folder


def messages(folder: Path) -> list[str]:
    with pytest.raises(UsageError) as caught:
        read_catalogue(folder, "team")
    return [one.message for one in caught.value.problems]


def test_a_checkout_finds_its_own_patches() -> None:
    assert builtin_directory() == ROOT / "patches"
    assert all(one.catalogue is None for one in read_catalogues([])[0].patches)


def test_without_any_patches_the_installation_is_broken(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("patchset.catalogue.__file__", str(tmp_path / "a" / "b.py"))
    with pytest.raises(PatchsetError, match="no built-in patches"):
        builtin_directory()


def test_another_catalogue_has_its_name_in_its_ids(folder: Path) -> None:
    _, team = read_catalogues([folder])
    assert [one.id for one in team.patches] == ["team:pkg/number"]
    assert team.golden == {}


def test_variants_share_an_id_and_private_files_are_no_patches(folder: Path) -> None:
    write_patch(folder, "number__old", target="pkg/m.py")
    (folder / "pkg" / "_shared.py").write_text("syntax error")
    (folder / "no-package").mkdir()
    (folder / "no-package" / "x.py").write_text("syntax error")
    (folder / "top.py").write_text("syntax error")
    patches = read_catalogue(folder, "team").patches
    assert [(one.id, one.variant) for one in patches] == [
        ("team:pkg/number", None),
        ("team:pkg/number", "old"),
    ]


def test_two_catalogues_of_one_name_are_refused(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other" / "team"
    write_patch(other, target="pkg/m.py")
    with pytest.raises(UsageError, match="a second catalogue called team"):
        read_catalogues([folder, other])


def test_no_folder_and_an_empty_folder_are_refused(tmp_path: Path) -> None:
    assert "no directory of patches" in messages(tmp_path / "none")[0]
    assert "found no <import package>/<defect>.py" in messages(tmp_path)[0]


def test_the_problems_of_every_file_and_folder_are_shown(
    folder: Path, tmp_path: Path
) -> None:
    (folder / "pkg" / "bad.py").write_text("def f(:")
    (folder / "pkg" / "bytes.py").write_bytes(b"\xff")
    with pytest.raises(UsageError) as caught:
        read_catalogues([folder, tmp_path / "none"])
    found = " ".join(one.message for one in caught.value.problems)
    assert "bad.py: syntax" in found
    assert "bytes.py: cannot be read" in found
    assert "none: no directory" in found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{", "cannot be read"),
        ("[]", "found no `schema: 1`"),
        ('{"schema": 2, "newest": {}}', "found no `schema: 1`"),
        ('{"schema": 1}', "found no `newest`"),
        ('{"schema": 1, "newest": []}', "found no `newest`"),
        ('{"schema": 1, "newest": {"pkg": "one"}}', "'one' is no version"),
        ('{"schema": 1, "newest": {"pkg": 1}}', "1 is no version"),
    ],
)
def test_a_bad_checked_table_is_refused(folder: Path, text: str, expected: str) -> None:
    (folder / "checked.json").write_text(text)
    (message,) = messages(folder)
    assert "checked.json" in message
    assert expected in message


def test_the_checked_table_bounds_what_is_open_above(folder: Path) -> None:
    write_patch(folder, target="pkg/m.py", needs={"pkg": ">=1"})
    assert "open above" in messages(folder)[0]
    write_table(folder, "checked.json", newest={"pkg": "1.5"})
    (patch,) = read_catalogue(folder, "team").patches
    assert patch.checked == {"pkg": "1.5"}


def test_a_golden_row_is_found_by_path_base_and_patches(folder: Path) -> None:
    write_table(folder, "golden.json", rows=[ROW])
    golden = read_catalogue(folder, "team").golden
    key = ("pkg/m.py", digest("R"), frozenset({"team:pkg/number"}))
    assert golden == {key: (digest("recipe"), digest("O"))}
    own = read_catalogue(folder, None).golden
    assert [names for _, _, names in own] == [frozenset({"pkg/number"})]


@pytest.mark.parametrize(
    "rows",
    [
        None,
        1,
        [1],
        [{key: value for key, value in ROW.items() if key != "recipe"}],
        [{**ROW, "patches": None}],
        [{**ROW, "path": []}],
        [{**ROW, "patched": "not a digest"}],
        [{**ROW, "patches": "pkg/number"}],
        [{**ROW, "patches": [1]}],
    ],
)
def test_a_bad_golden_table_is_refused(folder: Path, rows: object) -> None:
    write_table(folder, "golden.json", rows=rows)
    (message,) = messages(folder)
    assert "golden.json" in message


def test_a_golden_table_without_rows_is_refused(folder: Path) -> None:
    write_table(folder, "golden.json")
    assert "golden.json" in messages(folder)[0]


def test_the_codemods_have_one_digest() -> None:
    assert edit_digest() == edit_digest()
    assert edit_digest().startswith("sha256:")
