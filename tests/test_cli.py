"""Each verb and each exit code, end to end, on a small package."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.catalogues import write_patch
from tests.environments import Environment, Result, install, uninstall

FILES = {
    "pkg/__init__.py": b"",
    "pkg/m.py": b"a = 0\nb = 1\n",
    "pkg/n.py": b"b = 1\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A catalogue `team` with one patch on pkg/m.py."""
    folder = tmp_path / "team"
    write_patch(folder, target="pkg/m.py", needs={"pkg": ">=1,<2"})
    return folder


@pytest.fixture
def pkg(environment: Environment) -> Environment:
    install(environment.site, "pkg", "1.0", FILES)
    return environment


def run(pkg: Environment, folder: Path, *arguments: str) -> Result:
    return pkg.run("--patches", str(folder), *arguments)


def test_pending_exits_1_and_names_the_next_command(
    pkg: Environment, folder: Path
) -> None:
    result = run(pkg, folder, "status")
    assert result.code == 1
    assert "not as wanted: 1 pending" in result.out
    command = f"next: patchset --python {pkg.root} --patches {folder} apply"
    assert command in result.out.splitlines()
    assert str(pkg.site) in result.err


def test_apply_then_status_exit_0(pkg: Environment, folder: Path) -> None:
    assert run(pkg, folder, "apply").code == 0
    assert pkg.path("pkg/m.py").read_bytes() == b"a = 0\nb = 2\n"
    result = run(pkg, folder, "status")
    assert result.code == 0
    assert result.out.startswith("as wanted: 1 applied")


def test_the_json_of_status_has_the_keys_of_the_contract(
    pkg: Environment, folder: Path
) -> None:
    run(pkg, folder, "apply")
    document = run(pkg, folder, "status", "--json").document
    assert list(document) == [
        "schema", "environment", "ok", "fingerprint", "patches", "files", "errors",
    ]  # fmt: skip
    assert document["environment"]["distributions"] == {
        "pkg": {"name": "pkg", "version": "1.0"}
    }
    (patch,) = [one for one in document["patches"] if one["state"] != "absent"]
    assert patch == {
        "id": "team:pkg/number",
        "variant": None,
        "catalogue": "team",
        "group": "numbers",
        "title": "b is 2",
        "path": "pkg/m.py",
        "state": "applied",
        "reason": None,
        "upstream": None,
    }
    (file,) = document["files"]
    assert file["sha256"] == file["wanted"] != file["pristine"]
    assert file["patches"] == ["team:pkg/number"]


def test_a_dry_run_says_what_it_would_write_and_writes_nothing(
    pkg: Environment, folder: Path
) -> None:
    before = pkg.digests()
    result = run(pkg, folder, "apply", "--dry-run", "--diff")
    assert result.code == 1
    assert "+b = 2" in result.out
    assert "would patch pkg/m.py" in result.out
    assert pkg.digests() == before
    assert not pkg.path(".patchset").exists()
    run(pkg, folder, "apply")
    assert run(pkg, folder, "apply", "--dry-run").code == 0


def test_apply_json_lists_what_was_changed(pkg: Environment, folder: Path) -> None:
    document = run(pkg, folder, "apply", "--json").document
    assert list(document) == ["schema", "ok", "changed", "patches", "files", "errors"]
    assert document["changed"] == ["pkg/m.py"]
    assert document["ok"] is True


def test_reapply_is_apply(pkg: Environment, folder: Path) -> None:
    assert run(pkg, folder, "reapply").code == 0
    assert run(pkg, folder, "status").code == 0


def test_revert_says_what_it_put_back(pkg: Environment, folder: Path) -> None:
    run(pkg, folder, "apply")
    result = run(pkg, folder, "revert", "--json")
    assert result.code == 0
    assert result.document["changed"] == ["pkg/m.py"]
    assert pkg.path("pkg/m.py").read_bytes() == FILES["pkg/m.py"]
    assert not pkg.path(".patchset").exists()


def test_revert_of_nothing_is_fine(pkg: Environment, folder: Path) -> None:
    result = run(pkg, folder, "revert")
    assert result.code == 0
    assert "nothing to do" in result.out


def test_an_applied_patch_outlives_a_run_without_its_catalogue(
    pkg: Environment, folder: Path
) -> None:
    """It is judged, and redone, by the text that was kept."""
    run(pkg, folder, "apply")
    assert pkg.run("status").code == 0
    pkg.edit("pkg/m.py", FILES["pkg/m.py"])
    assert pkg.run("status").code == 1
    assert pkg.run("apply").code == 0
    assert pkg.path("pkg/m.py").read_bytes() == b"a = 0\nb = 2\n"


def test_a_patch_that_left_its_catalogue_is_taken_out(
    pkg: Environment, folder: Path
) -> None:
    write_patch(folder, "other", target="pkg/n.py", needs={"pkg": ">=1,<2"})
    run(pkg, folder, "apply")
    (folder / "pkg" / "number.py").unlink()
    status = run(pkg, folder, "status", "--json")
    assert status.code == 1
    states = {one["id"]: one["state"] for one in status.document["patches"]}
    assert states["team:pkg/number"] == "orphaned"
    assert run(pkg, folder, "apply").code == 0
    assert pkg.path("pkg/m.py").read_bytes() == FILES["pkg/m.py"]
    assert pkg.path("pkg/n.py").read_bytes() == b"b = 2\n"


def test_a_changed_patch_is_outdated_and_redone(pkg: Environment, folder: Path) -> None:
    run(pkg, folder, "apply")
    write_patch(folder, target="pkg/m.py", needs={"pkg": ">=1,<2"}, after="b = 3")
    status = run(pkg, folder, "status", "--json")
    assert status.code == 1
    (state,) = {
        one["state"] for one in status.document["patches"] if one["state"] != "absent"
    }
    assert state == "outdated"
    assert run(pkg, folder, "apply").code == 0
    assert pkg.path("pkg/m.py").read_bytes() == b"a = 0\nb = 3\n"


def test_a_corrected_docstring_turns_no_ci_red(pkg: Environment, folder: Path) -> None:
    run(pkg, folder, "apply")
    path = folder / "pkg" / "number.py"
    path.write_text(path.read_text().replace("in prose", "in better prose"))
    assert run(pkg, folder, "status").code == 0


def test_an_upgrade_is_selected_anew(pkg: Environment, folder: Path) -> None:
    write_patch(
        folder, target="pkg/m.py", needs={"pkg": ">=1,<2"}, fixed_in={"pkg": "2"}
    )
    run(pkg, folder, "apply")
    install(pkg.site, "pkg", "2.0", {**FILES, "pkg/m.py": b"b = 2\n"})
    status = run(pkg, folder, "status", "--json")
    assert status.code == 0
    states = {one["id"]: one for one in status.document["patches"]}
    assert states["team:pkg/number"]["state"] == "not-needed"
    assert states["team:pkg/number"]["reason"] == "fixed in pkg 2"
    assert run(pkg, folder, "apply").code == 0
    assert run(pkg, folder, "revert").code == 0
    assert pkg.path("pkg/m.py").read_bytes() == b"b = 2\n"


def test_what_nothing_says_was_fixed_is_untested_loudly(
    pkg: Environment, folder: Path
) -> None:
    install(pkg.site, "pkg", "2.0", FILES)
    status = run(pkg, folder, "status")
    assert status.code == 1
    assert "untested" in status.out
    apply = run(pkg, folder, "apply")
    assert apply.code == 1
    assert pkg.path("pkg/m.py").read_bytes() == FILES["pkg/m.py"]
    assert run(pkg, folder, "apply", "--with", "team:pkg/number").code == 0
    assert pkg.path("pkg/m.py").read_bytes() == b"a = 0\nb = 2\n"


def test_what_is_cured_upstream_is_reported_and_not_ours(
    environment: Environment, folder: Path
) -> None:
    cured = {**FILES, "pkg/m.py": b"b = 2\n"}
    install(environment.site, "pkg", "1.0", cured)
    assert run(environment, folder, "status").code == 1
    result = run(environment, folder, "apply")
    assert result.code == 0
    assert "obsolete: team:pkg/number" in result.err
    assert run(environment, folder, "status").code == 0
    run(environment, folder, "revert")
    assert environment.path("pkg/m.py").read_bytes() == b"b = 2\n"


def test_an_edited_file_is_refused_with_the_way_out(
    pkg: Environment, folder: Path
) -> None:
    pkg.edit("pkg/m.py", b"b = 1  # mine\n")
    result = run(pkg, folder, "apply")
    assert result.code == 3
    assert "RECORD says" in result.err
    assert "--adopt pkg/m.py" in " ".join(result.err.split())
    assert pkg.path("pkg/m.py").read_bytes() == b"b = 1  # mine\n"
    assert run(pkg, folder, "status").code == 1


def test_adopted_bytes_are_the_base_from_then_on(
    pkg: Environment, folder: Path
) -> None:
    mine = b"# mine\nb = 1\n"
    pkg.edit("pkg/m.py", mine)
    assert run(pkg, folder, "apply", "--adopt", "pkg/m.py").code == 0
    assert pkg.path("pkg/m.py").read_bytes() == b"# mine\nb = 2\n"
    assert run(pkg, folder, "status").code == 0
    result = run(pkg, folder, "revert")
    assert result.code == 0
    assert "the base that you adopted" in result.err
    assert pkg.path("pkg/m.py").read_bytes() == mine


def test_a_hand_edit_after_apply_is_kept_aside_when_forced(
    pkg: Environment, folder: Path
) -> None:
    run(pkg, folder, "apply")
    mine = b"a = 0\nb = 2\nprint(b)\n"
    pkg.edit("pkg/m.py", mine)
    refused = run(pkg, folder, "revert")
    assert refused.code == 3
    assert pkg.path("pkg/m.py").read_bytes() == mine
    assert run(pkg, folder, "revert", "--force").code == 0
    assert pkg.path("pkg/m.py").read_bytes() == FILES["pkg/m.py"]
    (saved,) = pkg.path(".patchset-saved").rglob("m.py.*")
    assert saved.read_bytes() == mine


def test_all_failures_are_shown_and_nothing_is_written(
    pkg: Environment, folder: Path
) -> None:
    for name, target, before in (
        ("one", "pkg/n.py", "b = 1"),
        ("two", "pkg/n.py", "c = 1"),
        ("three", "pkg/gone.py", "b = 1"),
    ):
        needs = {"pkg": ">=1,<2"}
        write_patch(folder, name, target=target, before=before, needs=needs)
    before_run = pkg.digests()
    result = run(pkg, folder, "apply")
    assert result.code == 3
    assert "team:pkg/two" in result.err
    assert "pkg/gone.py" in result.err
    assert pkg.digests() == before_run
    assert not pkg.path(".patchset").exists()


def test_an_unknown_id_is_a_usage_error_with_near_names(
    pkg: Environment, folder: Path
) -> None:
    for command in ("revert", "diff", "show"):
        result = run(pkg, folder, command, "team:pkg/numbr")
        assert result.code == 2, command
        assert "team:pkg/number" in result.err
    result = run(pkg, folder, "apply", "--only", "nothing")
    assert result.code == 2


def test_a_bad_patch_file_is_a_usage_error(pkg: Environment, folder: Path) -> None:
    (folder / "pkg" / "bad.py").write_text('TARGET = "../x.py"\n')
    result = run(pkg, folder, "apply")
    assert result.code == 2
    for field in ("docstring", "TARGET", "NEEDS", "TOUCHES", "rewrite", "UPSTREAM"):
        assert field in result.err
    assert not pkg.path(".patchset").exists()


def test_a_missing_package_is_refused(environment: Environment) -> None:
    result = environment.run("status")
    assert result.code == 3
    assert "found none of speculators, vllm" in " ".join(result.err.split())


def test_a_target_that_is_no_environment_is_refused(tmp_path: Path) -> None:
    result = Environment(tmp_path).run("apply", "--json")
    assert result.code == 3
    assert result.document["ok"] is False
    assert result.document["errors"][0]["kind"] == "no-environment"


@pytest.mark.parametrize(
    ("text", "kind"),
    [('{"schema": 1, "sel', "corrupt-state"), ('{"schema": 99}', "newer-state")],
)
def test_a_ledger_that_cannot_be_trusted_is_refused(
    pkg: Environment, folder: Path, text: str, kind: str
) -> None:
    run(pkg, folder, "apply")
    ledger = pkg.path(".patchset/ledger.json")
    ledger.write_text(text)
    before = pkg.digests()
    for command in ("status", "verify", "apply", "revert"):
        result = run(pkg, folder, command, "--json")
        assert result.code == 3, command
        assert result.document["errors"][0]["kind"] == kind
    assert pkg.digests() == before


def test_a_lost_ledger_is_rebuilt(pkg: Environment, folder: Path) -> None:
    run(pkg, folder, "apply")
    pkg.path(".patchset/ledger.json").unlink()
    assert run(pkg, folder, "status").code == 0
    assert run(pkg, folder, "apply").code == 0
    assert run(pkg, folder, "revert").code == 0
    assert pkg.path("pkg/m.py").read_bytes() == FILES["pkg/m.py"]


def test_revert_cleans_up_after_an_uninstall(pkg: Environment, folder: Path) -> None:
    run(pkg, folder, "apply")
    uninstall(pkg.site, "pkg")
    assert not pkg.path("pkg").exists()
    assert run(pkg, folder, "revert").code == 0
    assert not pkg.path(".patchset").exists()


def test_a_stated_version_may_stand_for_an_unspecific_build(
    environment: Environment, tmp_path: Path
) -> None:
    install(environment.site, "vllm", "0.1.dev7557+g977180c", {
        "vllm/__init__.py": b"", "vllm/m.py": b"b = 1\n",
    })  # fmt: skip
    write_patch(tmp_path / "team", "number")
    options = ("apply", "--only", "team:vllm/number", "--vllm", "0.16.0")
    assert run(environment, tmp_path / "team", *options).code == 3
    result = run(environment, tmp_path / "team", *options, "--assume-version")
    assert result.code == 0, result.err
    assert environment.path("vllm/m.py").read_bytes() == b"b = 2\n"
    status = run(environment, tmp_path / "team", "status", "--vllm", "0.16.0")
    assert status.code == 0
    assert "as you said" in status.err


def test_a_release_is_never_taken_for_another(environment: Environment) -> None:
    install(environment.site, "vllm", "0.17.0", {"vllm/__init__.py": b""})
    result = environment.run("apply", "--vllm", "0.16.0", "--assume-version")
    assert result.code == 3


def test_a_local_build_is_its_release(environment: Environment, tmp_path: Path) -> None:
    files = {"vllm/__init__.py": b"", "vllm/m.py": b"b = 1\n"}
    install(environment.site, "vllm", "0.16.0+cu129", files)
    write_patch(tmp_path / "team", "number")
    options = ("apply", "--only", "team:vllm/number", "--vllm", "0.16.0")
    assert run(environment, tmp_path / "team", *options).code == 0


def test_show_prints_the_patch_as_a_report(pkg: Environment, folder: Path) -> None:
    result = run(pkg, folder, "show", "team:pkg/number")
    assert result.code == 0
    for text in ("b is 2", "Symptom and cause", "pkg >=1,<2", "+b = 2"):
        assert text in result.out


def test_list_shows_every_variant_without_an_environment(tmp_path: Path) -> None:
    result = Environment(tmp_path).run("list", "--all")
    assert result.code == 0
    assert "vllm/eagle3_target_whitelist" in result.out


def test_output_is_plain_text_that_fits_80_columns(
    pkg: Environment, folder: Path
) -> None:
    result = run(pkg, folder, "status")
    assert "\x1b" not in result.out
    lines = [one for one in result.out.splitlines() if not one.startswith("next: ")]
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("variable", ["CI", "NO_COLOR", "FORCE_COLOR"])
def test_exit_codes_depend_on_the_state_alone(
    pkg: Environment, folder: Path, variable: str
) -> None:
    arguments = ("--patches", str(folder), "status")
    assert pkg.run_process(*arguments, **{variable: "1"}).code == 1


def test_diff_of_one_patch_is_of_the_base_whatever_is_applied(
    pkg: Environment, folder: Path
) -> None:
    write_patch(folder, "other", target="pkg/n.py", needs={"pkg": ">=1,<2"})
    before = run(pkg, folder, "diff", "team:pkg/number")
    assert before.code == 0
    assert "+b = 2" in before.out
    assert "pkg/n.py" not in before.out
    run(pkg, folder, "apply")
    assert run(pkg, folder, "diff", "team:pkg/number").out == before.out
    assert run(pkg, folder, "diff").out == ""


def test_diff_remembers_what_it_found_obsolete(
    environment: Environment, folder: Path
) -> None:
    install(environment.site, "pkg", "1.0", {**FILES, "pkg/m.py": b"b = 2\n"})
    assert run(environment, folder, "status").code == 1
    result = run(environment, folder, "diff")
    assert "obsolete: team:pkg/number" in result.err
    assert run(environment, folder, "status").code == 0


def test_to_show_a_patch_runs_nothing_of_it(pkg: Environment, folder: Path) -> None:
    path = folder / "pkg" / "number.py"
    path.write_text(path.read_text() + "\nraise SystemExit('ran')\n")
    for command in (["show", "team:pkg/number"], ["list"], ["status"]):
        assert "ran" not in run(pkg, folder, *command).err
    assert run(pkg, folder, "apply").code == 3


def test_to_revert_one_patch_applies_no_other(pkg: Environment, folder: Path) -> None:
    write_patch(folder, "other", target="pkg/n.py", needs={"pkg": ">=1,<2"})
    before = pkg.digests()
    run(pkg, folder, "revert", "team:pkg/number")
    assert pkg.digests() == before
    assert run(pkg, folder, "apply", "--default").code == 0
    write_patch(folder, "third", target="pkg/n.py", before="b = 1", after="c = 3",
                needs={"pkg": ">=1,<2"})  # fmt: skip
    result = run(pkg, folder, "revert", "team:pkg/number")
    assert result.code == 0, result.err
    assert pkg.path("pkg/m.py").read_bytes() == FILES["pkg/m.py"]
    assert pkg.path("pkg/n.py").read_bytes() == b"b = 2\n"


def test_a_forced_revert_of_one_patch_says_what_went_with_it(
    pkg: Environment, folder: Path
) -> None:
    needs = {"pkg": ">=1,<2"}
    write_patch(folder, "other", target="pkg/m.py", before="a = 0", after="a = 5",
                needs=needs)  # fmt: skip
    run(pkg, folder, "apply")
    pkg.edit("pkg/m.py", b"a = 5\nb = 2\nmine = 1\n")
    result = run(pkg, folder, "revert", "--force", "team:pkg/number")
    assert result.code == 1
    assert pkg.path("pkg/m.py").read_bytes() == FILES["pkg/m.py"]
    assert run(pkg, folder, "apply").code == 0
    assert pkg.path("pkg/m.py").read_bytes() == b"a = 5\nb = 1\n"
