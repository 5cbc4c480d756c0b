"""The main job, on the really installed founding pair."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.environments import Environment, copy_environment

pytestmark = pytest.mark.real


@pytest.fixture
def copy(founding: Environment, tmp_path: Path) -> Environment:
    return copy_environment(founding, tmp_path / "env")


def test_apply_patches_what_status_says_is_pending(copy: Environment) -> None:
    before = copy.run("status", "--json")
    assert before.code == 1
    applied = copy.run("apply", "--vllm", "0.16.0", "--json")
    assert applied.code == 0, applied.err
    assert copy.run("status").code == 0


def test_another_version_is_refused_and_changes_nothing(
    copy: Environment, founding: Environment
) -> None:
    result = copy.run("apply", "--vllm", "0.17.0")
    assert result.code == 3
    assert "0.17.0" in result.err
    assert "0.16.0" in result.err
    assert copy.digests() == founding.digests()


def test_revert_gives_back_every_byte(copy: Environment, founding: Environment) -> None:
    assert copy.run("apply").code == 0
    assert copy.digests() != founding.digests()
    assert copy.run("revert").code == 0
    assert copy.digests() == founding.digests()
    assert not copy.path(".patchset").exists()
