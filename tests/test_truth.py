"""Where `status` could say what is not so, or `apply` do what nobody asked for."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from patchset.cli import cli
from tests.catalogues import write_patch
from tests.environments import Environment, install

M, N, Q = "pkg/m.py", "pkg/n.py", "other/q.py"
FILES = {"pkg/__init__.py": b"", M: b"a = 0\nb = 1\n", N: b"b = 1\n"}
OTHER = {"other/__init__.py": b"", Q: b"b = 1\n"}
CURED = b"a = 0\nb = 2  # mine\n"


class Desk:
    """One environment, one catalogue, and the commands in this very process."""

    def __init__(self, environment: Environment, folder: Path) -> None:
        self.environment = environment
        self.folder = folder

    def run(self, *arguments: str) -> int:
        options = ["--python", str(self.environment.root)]
        options += ["--patches", str(self.folder)]
        result = CliRunner().invoke(
            cli, [*options, *arguments], standalone_mode=False, catch_exceptions=False
        )
        assert isinstance(result.return_value, int)
        return result.return_value

    def states(self) -> dict[str, str]:
        result = self.environment.run("--patches", str(self.folder), "status", "--json")
        found: dict[str, str] = {
            one["id"]: one["state"]
            for one in json.loads(result.out)["patches"]
            if one["catalogue"] == "team"
        }
        return {name.rpartition("/")[2]: state for name, state in found.items()}

    def read(self, path: str) -> bytes:
        return self.environment.path(path).read_bytes()

    def declare(
        self,
        name: str,
        target: str = M,
        *,
        before: str = "b = 1",
        after: str = "b = 2",
    ) -> Path:
        return write_patch(
            self.folder,
            name,
            target=target,
            before=before,
            after=after,
            needs={target.partition("/")[0]: ">=1,<2"},
        )

    def reinstall(self) -> None:
        install(self.environment.site, "pkg", "1.0", FILES)

    def inodes(self) -> dict[Path, int]:
        paths = self.environment.site.rglob("*")
        return {path: path.stat().st_ino for path in paths if path.is_file()}


@pytest.fixture
def desk(environment: Environment, tmp_path: Path) -> Desk:
    install(environment.site, "pkg", "1.0", FILES)
    install(environment.site, "other", "1.0", OTHER)
    desk = Desk(environment, tmp_path / "team")
    desk.declare("number")
    return desk


def test_an_orphan_in_a_package_that_no_patch_names_any_more_is_seen(
    desk: Desk,
) -> None:
    orphan = desk.declare("elsewhere", Q)
    assert desk.run("apply") == 0
    orphan.unlink()
    assert desk.run("status") == 1
    assert desk.states() == {"number": "applied", "elsewhere": "orphaned"}
    assert desk.run("apply") == 0
    assert desk.read(Q) == OTHER[Q]


def test_a_patch_whose_target_has_moved_is_not_fine_where_it_was(desk: Desk) -> None:
    assert desk.run("apply") == 0
    kept = desk.read(M)
    desk.declare("number", N)
    assert desk.states() == {"number": "orphaned"}
    assert desk.run("apply") == 0
    assert (desk.read(M), desk.read(N)) == (FILES[M], b"b = 2\n")
    desk.environment.edit(M, kept)
    assert desk.run("status") == 1
    assert desk.states() == {"number": "orphaned"}


def test_an_adopted_cure_that_a_reinstall_took_away_is_missed(desk: Desk) -> None:
    desk.environment.edit(M, CURED)
    assert desk.run("apply") == 3
    assert desk.run("apply", "--adopt", M) == 0
    assert desk.states() == {"number": "obsolete"}
    assert desk.run("status") == 0
    desk.reinstall()
    assert desk.states() == {"number": "pending"}
    assert desk.run("status") == 1
    assert desk.run("apply") == 0
    assert desk.read(M) == CURED


def test_a_patch_found_obsolete_again_is_not_kept_as_applied(desk: Desk) -> None:
    """A lost ledger forgets what is obsolete; what is applied is known all the same."""
    desk.environment.edit(M, CURED)
    desk.declare("more", before="a = 0", after="a = 9")
    assert desk.run("apply", "--adopt", M) == 0
    assert desk.states() == {"number": "obsolete", "more": "applied"}
    desk.environment.path(".patchset/ledger.json").unlink()
    assert desk.run("apply") == 0
    assert desk.states() == {"number": "obsolete", "more": "applied"}
    before = desk.inodes()
    assert desk.run("apply") == 0
    assert desk.inodes() == before


def test_other_codemods_may_find_otherwise_what_is_obsolete(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.environment.edit(M, CURED)
    assert desk.run("apply", "--adopt", M) == 0
    assert desk.run("status") == 0
    digest = "sha256:" + "0" * 64
    monkeypatch.setattr("patchset.survey.edit_digest", lambda: digest)
    assert desk.run("status") == 1
    assert desk.run("apply") == 0
    assert desk.run("status") == 0


def test_a_forced_revert_of_one_patch_ends_the_adoption_and_keeps_a_copy(
    desk: Desk,
) -> None:
    assert desk.run("apply") == 0
    desk.environment.edit(M, b"b = 1\nmine = 1\n")
    assert desk.run("apply", "--adopt", M) == 0
    assert desk.run("revert", "--force", "team:pkg/number") == 0
    assert desk.read(M) == FILES[M]
    saved = sorted(desk.environment.path(".patchset-saved/pkg").iterdir())
    assert {path.read_bytes() for path in saved} == {
        b"b = 1\nmine = 1\n", b"b = 2\nmine = 1\n",
    }  # fmt: skip
    assert desk.run("apply", "--default") == 0
    assert desk.read(M) == b"a = 0\nb = 2\n"


def test_a_forced_revert_keeps_a_copy_of_what_was_adopted(desk: Desk) -> None:
    assert desk.run("apply") == 0
    desk.environment.edit(M, b"b = 1\nmine = 1\n")
    assert desk.run("apply", "--adopt", M) == 0
    assert desk.run("revert", "--force") == 0
    assert desk.read(M) == FILES[M]
    assert not desk.environment.path(".patchset").exists()
    saved = desk.environment.path(".patchset-saved/pkg").iterdir()
    assert b"b = 1\nmine = 1\n" in {path.read_bytes() for path in saved}


def test_reinstalled_bytes_that_an_adopted_base_replaces_can_be_had_back(
    desk: Desk,
) -> None:
    desk.environment.edit(M, CURED)
    assert desk.run("apply", "--adopt", M) == 0
    desk.reinstall()
    assert desk.run("apply") == 0
    assert desk.read(M) == CURED
    assert desk.run("revert", "--force") == 0
    assert desk.read(M) == FILES[M]


def test_metadata_that_the_code_reads_make_it_outdated(desk: Desk) -> None:
    path = desk.folder / "pkg" / "number.py"
    path.write_text(path.read_text().replace('"b = 2"', "_after()"))
    text = path.read_text() + "\n\ndef _after():\n    return SYMPTOMS[0]\n"
    path.write_text(text.replace('["b is 1"]', '["b = 2"]'))
    assert desk.run("apply") == 0
    path.write_text(path.read_text().replace('["b = 2"]', '["b = 3"]'))
    assert desk.states() == {"number": "outdated"}
    assert desk.run("apply") == 0
    assert desk.read(M) == b"a = 0\nb = 3\n"


def test_a_removed_state_makes_our_bytes_drift_and_nothing_is_lost(desk: Desk) -> None:
    """B1: without a table that knows them, they are nobody's."""
    assert desk.run("apply") == 0
    patched = desk.read(M)
    shutil.rmtree(desk.environment.path(".patchset"))
    assert desk.states() == {"number": "refused"}
    assert desk.run("apply") == 3
    assert desk.read(M) == patched


def test_a_kept_text_that_is_torn_is_told_and_takes_nothing_out(desk: Desk) -> None:
    assert desk.run("apply") == 0
    patched = desk.read(M)
    (text,) = [
        path
        for path in desk.environment.path(".patchset/objects").iterdir()
        if path.suffix != ".json" and b"def rewrite" in path.read_bytes()
    ]
    text.write_bytes(b"torn")
    for command in ("status", "apply"):
        result = desk.environment.run(command)
        assert result.code == 3
        assert "with the catalogue of team:pkg/number" in " ".join(result.err.split())
    assert desk.read(M) == patched
    assert desk.run("status") == 0


def test_a_patch_whose_catalogue_is_not_given_is_judged_by_its_text(desk: Desk) -> None:
    assert desk.run("apply") == 0
    assert desk.environment.run("status").code == 0
    desk.reinstall()
    assert desk.environment.run("status").code == 1
    assert desk.environment.run("apply").code == 0
    assert desk.read(M) == b"a = 0\nb = 2\n"


def test_what_is_left_in_a_site_that_provides_nothing_now_is_told(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The package comes from another directory: ours is shadowed, and still patched."""
    assert desk.run("apply") == 0
    install(tmp_path / "first", "pkg", "1.0", FILES)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "first"))
    assert desk.run("status") == 1
    desk.declare("number", N)
    (desk.folder / "pkg" / "number.py").unlink()
    desk.declare("elsewhere", Q)
    assert desk.run("apply", "--only", "team:other/elsewhere") == 0
    assert desk.read(M) == FILES[M]
    assert desk.run("status") == 0


def test_a_revert_that_leaves_bytes_that_nobody_knows_is_no_success(
    desk: Desk,
) -> None:
    assert desk.run("apply") == 0
    patched = desk.read(M)
    shutil.rmtree(desk.environment.path(".patchset"))
    assert desk.run("revert") == 1
    assert desk.read(M) == patched
    desk.reinstall()
    assert desk.run("revert") == 0
