"""Environments as the real tools make them; what cannot be patched is refused."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.environments import (
    MINOR,
    Environment,
    Result,
    copy_environment,
    digest_of,
    install,
    make_environment,
    uninstall,
)
from tests.torture.conftest import LONG
from tests.torture.small import (
    FILES,
    PATCHED,
    ask,
    build_wheel,
    hints,
    kinds,
    pip,
    uv,
    write_catalogue,
)


@pytest.fixture
def catalogue(tmp_path: Path) -> str:
    return str(write_catalogue(tmp_path / "numbers"))


@pytest.fixture
def wheel(tmp_path: Path) -> str:
    return str(build_wheel(tmp_path / "wheels"))


def _contents(root: Path) -> Mapping[str, tuple[int, bytes]]:
    """Every file below a directory: mode and bytes."""
    return {
        str(path.relative_to(root)): (path.lstat().st_mode, path.read_bytes())
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def _refused(
    environment: Environment, catalogue: str, kind: str, **environ: str
) -> Result:
    """Both commands refuse, with this reason, and write nothing."""
    before = _contents(environment.root)
    applied = environment.run("--patches", catalogue, "apply", "--json", **environ)
    status = environment.run("--patches", catalogue, "status", "--json", **environ)
    assert applied.code == 3, applied.err
    assert status.code in {1, 3}, status.err
    assert kind in kinds(applied)
    assert kind in kinds(status)
    assert _contents(environment.root) == before
    return applied


# --- installers ------------------------------------------------------------------


def test_pip_installs_and_reinstalls_around_us(
    environment: Environment, wheel: str, catalogue: str
) -> None:
    pip(environment, "install", "--no-index", wheel)
    assert environment.run("--patches", catalogue, "apply").code == 0
    assert ask(environment) == "2"
    pip(environment, "install", "--no-index", "--force-reinstall", wheel)
    assert environment.run("--patches", catalogue, "status").code == 1
    assert ask(environment) == "1"
    assert environment.run("--patches", catalogue, "apply").code == 0
    assert ask(environment) == "2"
    pip(environment, "uninstall", "--yes", "pkg")
    assert not environment.path("pkg").exists()
    assert environment.run("--patches", catalogue, "revert").code == 0
    assert not environment.path(".patchset").exists()


@pytest.mark.parametrize("mode", ["clone", "copy", "hardlink", "symlink"])
def test_uv_in_every_link_mode(
    tmp_path: Path, wheel: str, catalogue: str, mode: str
) -> None:
    cache = tmp_path / "cache"
    ours, theirs = (make_environment(tmp_path / name) for name in ("ours", "theirs"))
    for each in (ours, theirs):
        uv(each, cache, "install", "--link-mode", mode, "--offline", wheel)
    cached, neighbour = _contents(cache), theirs.digests()
    before = ours.path("pkg/m.py").lstat()
    applied = ours.run("--patches", catalogue, "apply")
    assert applied.code == 0, applied.err
    assert ours.path("pkg/m.py").read_bytes() == PATCHED
    assert not ours.path("pkg/m.py").is_symlink()
    assert (_contents(cache), theirs.digests()) == (cached, neighbour)
    reverted = ours.run("--patches", catalogue, "revert")
    assert reverted.code == 0, reverted.err
    after = ours.path("pkg/m.py").lstat()
    assert ours.path("pkg/m.py").read_bytes() == FILES["pkg/m.py"]
    assert (after.st_mode, after.st_uid) == (before.st_mode, before.st_uid)
    assert stat.S_ISLNK(after.st_mode) == (mode == "symlink")
    assert (_contents(cache), theirs.digests()) == (cached, neighbour)
    assert ours.run("--patches", catalogue, "apply").code == 0
    reinstall = ("install", "--link-mode", mode, "--offline", "--reinstall", wheel)
    uv(ours, cache, *reinstall)
    assert ours.path("pkg/m.py").read_bytes() == FILES["pkg/m.py"]


def test_a_twin_by_hard_link_never_changes(
    environment: Environment, tmp_path: Path, catalogue: str
) -> None:
    install(environment.site, "pkg", "0.16.0", FILES)
    twin = copy_environment(environment, tmp_path / "twin")
    before = _contents(twin.root)
    assert environment.run("--patches", catalogue, "apply").code == 0
    assert environment.run("--patches", catalogue, "revert").code == 0
    assert environment.run("--patches", catalogue, "apply").code == 0
    assert _contents(twin.root) == before


@pytest.mark.parametrize("tool", ["pip", "uv"])
def test_a_directory_filled_by_target(
    tmp_path: Path, wheel: str, catalogue: str, tool: str
) -> None:
    target = tmp_path / "bundle"
    words = ["install", "--no-index", "--target", str(target), wheel]
    if tool == "pip":
        pip(make_environment(tmp_path / "any"), *words)
    else:
        uv(make_environment(tmp_path / "any"), tmp_path / "cache", *words)
    bundle = _Bare(target)
    assert bundle.run("--patches", catalogue, "apply").code == 0
    assert (target / "pkg/m.py").read_bytes() == PATCHED
    assert bundle.run("--patches", catalogue, "status").code == 0
    assert bundle.run("--patches", catalogue, "revert").code == 0
    assert (target / "pkg/m.py").read_bytes() == FILES["pkg/m.py"]


class _Bare(Environment):
    """An environment whose root is its site, or that has no site at all."""

    @property
    def site(self) -> Path:
        return self.root


# --- parents, user site, distribution --------------------------------------------


def _venv(root: Path, parent: Path | None = None) -> Environment:
    """A real virtual environment, over the system's Python or another's."""
    words = [sys.executable, "-m", "venv", "--without-pip", "--system-site-packages"]
    subprocess.run([*words, str(root)], check=True)
    environment = Environment(root)
    if parent is not None:
        (environment.site / "parent.pth").write_text(f"{parent}\n")
    return environment


def test_a_parent_below_is_refused_with_the_command_that_names_it(
    tmp_path: Path, catalogue: str
) -> None:
    parent = _fake_python(tmp_path / "parent", sites=["lib/python3/site-packages"])
    install(parent / "lib/python3/site-packages", "pkg", "0.16.0", FILES)
    child = tmp_path / "child"
    own = child / "lib/python3/site-packages"
    own.mkdir(parents=True)
    _fake_python(
        child,
        sites=[str(own), str(parent / "lib/python3/site-packages")],
        base=str(parent),
    )
    (child / "pyvenv.cfg").write_text("include-system-site-packages = true\n")
    before = _contents(parent)
    refused = _refused(_Bare(child), catalogue, "foreign-site")
    assert _contents(parent) == before
    assert f"patchset --python {parent}" in hints(refused)
    assert _Bare(parent).run("--patches", catalogue, "apply").code == 0


def test_the_hint_for_a_parent_works_when_it_is_pasted(
    tmp_path: Path, catalogue: str
) -> None:
    parent = _fake_python(tmp_path / "parent", sites=["lib/python3/site-packages"])
    install(parent / "lib/python3/site-packages", "pkg", "0.16.0", FILES)
    child = _fake_python(
        tmp_path / "child",
        sites=[str(parent / "lib/python3/site-packages")],
        base=str(parent),
    )
    refused = _Bare(child).run("--patches", catalogue, "apply", "--json")
    words = hints(refused).split()
    assert words[0] == "patchset"
    assert words.count("--python") == 1, words
    assert words[words.index("--python") + 1] == str(parent)


def test_a_real_environment_with_system_site_packages_has_its_own_copy(
    tmp_path: Path, catalogue: str
) -> None:
    environment = _venv(tmp_path / "env")
    install(environment.site, "pkg", "0.16.0", FILES)
    assert environment.run("--patches", catalogue, "apply").code == 0
    assert ask(environment) == "2"


def test_a_path_file_to_another_site_is_refused(tmp_path: Path, catalogue: str) -> None:
    other = make_environment(tmp_path / "other")
    install(other.site, "pkg", "0.16.0", FILES)
    environment = make_environment(tmp_path / "env")
    (environment.site / "parent.pth").write_text(f"{other.site}\n")
    before = _contents(other.root)
    refused = _refused(environment, catalogue, "foreign-site")
    assert str(other.site) in refused.err.replace("\n", "")
    assert _contents(other.root) == before


def test_the_user_site_is_ours(tmp_path: Path, catalogue: str) -> None:
    environment = _venv(tmp_path / "env")
    base = tmp_path / "user"
    site = base / "lib" / f"python{MINOR}" / "site-packages"
    install(site, "pkg", "0.16.0", FILES)
    applied = environment.run("--patches", catalogue, "apply", PYTHONUSERBASE=str(base))
    assert applied.code == 0, applied.err
    assert (site / "pkg/m.py").read_bytes() == PATCHED
    options = {"PYTHONUSERBASE": str(base)}
    assert ask(environment, **options) == "2"
    assert environment.run("--patches", catalogue, "revert", **options).code == 0
    assert (site / "pkg/m.py").read_bytes() == FILES["pkg/m.py"]


def _fake_python(root: Path, *, sites: list[str], base: str | None = None) -> Path:
    """An interpreter that answers as one of another layout would."""
    (root / "bin").mkdir(parents=True, exist_ok=True)
    for site in sites:
        (root / site).mkdir(parents=True, exist_ok=True)
    answer = {
        "python": ".".join(map(str, sys.version_info[:3])),
        "prefix": str(root),
        "base": base or str(root),
        "sites": [str(root / site) for site in sites],
        "user": str(root / "nowhere"),
    }
    for name in ("python", "python3"):
        path = root / "bin" / name
        path.write_text(f"#!/bin/sh\ncat <<'.'\n{json.dumps(answer)}\n.\n")
        path.chmod(0o755)
    return root


def test_debian_keeps_its_own_and_gives_us_the_local_one(
    tmp_path: Path, catalogue: str
) -> None:
    local, system = "local/lib/python3.12/dist-packages", "lib/python3/dist-packages"
    root = _fake_python(tmp_path / "usr", sites=[local, system])
    install(root / system, "pkg", "0.16.0", FILES)
    refused = _refused(_Bare(root), catalogue, "foreign-site")
    assert "package manager" in refused.err.replace("\n", " ")
    install(root / local, "pkg", "0.16.0", FILES)
    assert _Bare(root).run("--patches", catalogue, "apply").code == 0
    assert (root / local / "pkg/m.py").read_bytes() == PATCHED
    assert (root / system / "pkg/m.py").read_bytes() == FILES["pkg/m.py"]


def test_debian_s_own_directory_is_refused_when_it_is_named_itself(
    tmp_path: Path, catalogue: str
) -> None:
    site = tmp_path / "usr/lib/python3/dist-packages"
    install(site, "pkg", "0.16.0", FILES)
    _refused(_Bare(site), catalogue, "foreign-site")


# --- editable installs and archives ----------------------------------------------


LATER = pytest.mark.skipif(not LONG, reason="builds anew: make torture")


def _checkout(root: Path, backend: str) -> Path:
    (root / "pkg").mkdir(parents=True)
    for path, content in FILES.items():
        (root / path).write_bytes(content)
    modules = {
        "setuptools": '[tool.setuptools]\npackages = ["pkg"]\n',
        "hatchling": '[tool.hatch.build.targets.wheel]\npackages = ["pkg"]\n',
    }
    builder = {"setuptools": "setuptools.build_meta", "hatchling": "hatchling.build"}
    (root / "pyproject.toml").write_text(
        f'[build-system]\nrequires = ["{backend}"]\n'
        f'build-backend = "{builder[backend]}"\n'
        f'[project]\nname = "pkg"\nversion = "0.16.0"\n{modules[backend]}'
    )
    return root


@pytest.mark.real
@pytest.mark.parametrize(
    ("tool", "backend", "options"),
    [
        pytest.param("pip", "setuptools", [], marks=LATER),
        ("pip", "setuptools", ["--config-settings", "editable_mode=strict"]),
        pytest.param("pip", "hatchling", [], marks=LATER),
        pytest.param("uv", "setuptools", [], marks=LATER),
        ("uv", "hatchling", []),
    ],
)
def test_an_editable_install_is_refused_and_its_checkout_named(
    tmp_path: Path, catalogue: str, tool: str, backend: str, options: list[str]
) -> None:
    checkout = _checkout(tmp_path / "checkout", backend)
    environment = _venv(tmp_path / "env")
    words = ["install", "--no-deps", *options, "--editable", str(checkout)]
    if tool == "pip":
        pip(environment, "--quiet", *words)
    else:
        uv(environment, tmp_path / "cache", *words)
    source = (checkout / "pkg/m.py").read_bytes()
    refused = _refused(environment, catalogue, "editable")
    assert str(checkout) in hints(refused)
    assert (checkout / "pkg/m.py").read_bytes() == source


def test_an_archive_on_the_path_is_refused(
    environment: Environment, tmp_path: Path, catalogue: str
) -> None:
    install(environment.site, "pkg", "0.16.0", FILES)
    archive = shutil.make_archive(
        str(tmp_path / "pack"), "zip", environment.site, "pkg"
    )
    _refused(environment, catalogue, "archive", PYTHONPATH=archive)


def test_a_broken_archive_on_the_path_is_passed_over(
    environment: Environment, tmp_path: Path, catalogue: str
) -> None:
    install(environment.site, "pkg", "0.16.0", FILES)
    archive = tmp_path / "broken.zip"
    archive.write_bytes(b"PK\x05\x06" + b"\xff" * 18)
    result = environment.run("--patches", catalogue, "apply", PYTHONPATH=str(archive))
    assert result.code == 0, result.err


def test_a_package_on_the_path_is_not_of_the_environment(
    environment: Environment, tmp_path: Path, catalogue: str
) -> None:
    install(environment.site, "pkg", "0.16.0", FILES)
    install(tmp_path / "first", "pkg", "0.16.0", FILES)
    first = str(tmp_path / "first")
    _refused(environment, catalogue, "foreign-site", PYTHONPATH=first)


# --- who owns the files ----------------------------------------------------------


def test_leftovers_of_pip_are_ignored_and_mentioned_once(
    environment: Environment, catalogue: str
) -> None:
    install(environment.site, "pkg", "0.16.0", FILES)
    install(environment.site, "~kg", "0.15.1", {"~kg/m.py": b"b = 0\n"})
    applied = environment.run("--patches", catalogue, "apply")
    assert applied.code == 0, applied.err
    assert applied.err.count("interrupted pip") == 1
    assert environment.path("~kg/m.py").read_bytes() == b"b = 0\n"


def test_pkg_cpu_provides_pkg(environment: Environment, catalogue: str) -> None:
    install(environment.site, "pkg-cpu", "0.16.0", FILES)
    status = environment.run("--patches", catalogue, "status", "--json")
    found = status.document["environment"]["distributions"]["pkg"]
    assert found == {"name": "pkg-cpu", "version": "0.16.0"}
    assert environment.run("--patches", catalogue, "apply").code == 0


def test_the_information_that_pkg_cpu_writes_at_import_confuses_nobody(
    environment: Environment, catalogue: str
) -> None:
    install(environment.site, "pkg-cpu", "0.16.0", FILES)
    info = environment.path("pkg-0.0.0.dist-info")
    info.mkdir()
    (info / "METADATA").write_text("Name: pkg\nVersion: 0.16.0+cpu\n")
    (info / "RECORD").write_text("pkg-0.0.0.dist-info/METADATA,,\n")
    applied = environment.run("--patches", catalogue, "apply", "--json")
    assert applied.code == 0, applied.err
    assert "pkg-0.0.0.dist-info" in applied.err
    assert environment.run("--patches", catalogue, "status").code == 0
    shutil.rmtree(info)
    assert environment.run("--patches", catalogue, "status").code == 0
    assert environment.run("--patches", catalogue, "revert").code == 0
    assert environment.path("pkg/m.py").read_bytes() == FILES["pkg/m.py"]


def test_a_copied_information_that_agrees_is_mentioned(
    environment: Environment, catalogue: str
) -> None:
    install(environment.site, "pkg-cpu", "0.16.0", FILES)
    shutil.copytree(
        environment.path("pkg_cpu-0.16.0.dist-info"),
        environment.path("pkg-0.16.0.dist-info"),
    )
    applied = environment.run("--patches", catalogue, "apply")
    assert applied.code == 0, applied.err
    said = applied.err.replace("\n", " ")
    assert "pkg-0.16.0.dist-info" in said
    assert "pkg_cpu-0.16.0.dist-info" in said


def test_two_owners_that_differ_are_refused_and_both_named(
    environment: Environment, catalogue: str
) -> None:
    install(environment.site, "pkg-cpu", "0.16.0", FILES)
    other = {**FILES, "pkg/m.py": b"b = 7\n"}
    install(environment.site, "pkg", "0.16.0", other)
    refused = _refused(environment, catalogue, "two-owners")
    said = json.dumps(refused.document)
    assert "pkg-0.16.0.dist-info" in said
    assert "pkg_cpu-0.16.0.dist-info" in said


def test_names_with_commas_in_record_are_read(
    environment: Environment, catalogue: str
) -> None:
    """As vLLM's tuning files have them; the rows are quoted."""
    tuning = {"pkg/configs/E=8,N=14336,device=H100.json": b"{}", 'pkg/a"b.json': b"{}"}
    info = install(environment.site, "pkg", "0.16.0", {**tuning, **FILES})
    record = (info / "RECORD").read_text()
    (info / "RECORD").write_text(f"{record}pkg/__pycache__/m.cpython-312.pyc,,\n")
    assert environment.run("--patches", catalogue, "apply").code == 0
    assert (info / "RECORD").read_text().startswith(record)


def test_no_digest_is_refused(environment: Environment, catalogue: str) -> None:
    install(environment.site, "pkg", "0.16.0", FILES, digests=False)
    _refused(environment, catalogue, "no-record")


def test_no_information_at_all_is_refused(
    environment: Environment, catalogue: str
) -> None:
    info = install(environment.site, "pkg", "0.16.0", FILES)
    shutil.rmtree(info)
    _refused(environment, catalogue, "no-record")


def test_a_file_that_record_does_not_list_is_refused(
    environment: Environment, catalogue: str
) -> None:
    rest = {name: data for name, data in FILES.items() if name != "pkg/m.py"}
    install(environment.site, "pkg", "0.16.0", rest)
    environment.path("pkg/m.py").write_bytes(FILES["pkg/m.py"])
    refused = _refused(environment, catalogue, "no-record")
    assert "pkg/m.py" in json.dumps(refused.document)


def test_a_drifted_file_is_refused(environment: Environment, catalogue: str) -> None:
    install(environment.site, "pkg", "0.16.0", FILES)
    environment.edit("pkg/m.py", b"b = 1  # mine\n")
    _refused(environment, catalogue, "drifted")


# --- where the environment is ----------------------------------------------------


def test_a_moved_environment_keeps_its_state(
    environment: Environment, tmp_path: Path, catalogue: str
) -> None:
    install(environment.site, "pkg", "0.16.0", FILES)
    assert environment.run("--patches", catalogue, "apply").code == 0
    moved = Environment(environment.root.rename(tmp_path / "moved"))
    assert moved.run("--patches", catalogue, "status").code == 0
    assert moved.run("verify").code == 0
    assert moved.run("revert").code == 0
    assert moved.path("pkg/m.py").read_bytes() == FILES["pkg/m.py"]


def test_a_copied_environment_has_a_state_of_its_own(
    environment: Environment, tmp_path: Path, catalogue: str
) -> None:
    install(environment.site, "pkg", "0.16.0", FILES)
    assert environment.run("--patches", catalogue, "apply").code == 0
    copy = Environment(tmp_path / "copy")
    shutil.copytree(environment.root, copy.root, symlinks=True)
    assert copy.run("revert").code == 0
    assert copy.path("pkg/m.py").read_bytes() == FILES["pkg/m.py"]
    assert environment.run("--patches", catalogue, "status").code == 0


def test_the_target_may_be_named_in_many_ways(tmp_path: Path, catalogue: str) -> None:
    environment = _venv(tmp_path / "env")
    install(environment.site, "pkg", "0.16.0", FILES)
    link = tmp_path / "link"
    link.symlink_to(environment.root)
    names = [
        environment.root,
        environment.root / "bin" / "python",
        environment.root / "bin" / "python3",
        link,
        link / "bin" / "python",
        environment.site,
    ]
    assert environment.run("--patches", catalogue, "apply").code == 0
    for name in names:
        status = _Bare(name).run("--patches", catalogue, "status")
        assert status.code == 0, (name, status.err)


def test_a_pyenv_shim_is_asked(tmp_path: Path, catalogue: str) -> None:
    root = _fake_python(tmp_path / "versions/3.12.1", sites=["lib/site-packages"])
    install(root / "lib/site-packages", "pkg", "0.16.0", FILES)
    shim = tmp_path / "shims" / "python"
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/sh\nexec "{root}/bin/python" "$@"\n')
    shim.chmod(0o755)
    applied = _Bare(shim).run("--patches", catalogue, "apply")
    assert applied.code == 0, applied.err
    assert (root / "lib/site-packages/pkg/m.py").read_bytes() == PATCHED


@pytest.mark.parametrize("what", ["nothing", "empty", "file", "liar", "loop"])
def test_what_is_no_environment_is_refused(
    tmp_path: Path, catalogue: str, what: str
) -> None:
    target = tmp_path / "target"
    if what == "empty":
        target.mkdir()
    if what == "file":
        target.write_text("no interpreter")
    if what == "liar":
        (target / "bin").mkdir(parents=True)
        (target / "bin/python").write_text("#!/bin/sh\necho '[1]'\n")
        (target / "bin/python").chmod(0o755)
    if what == "loop":
        target.symlink_to(target)
    for command in ("apply", "status", "verify", "revert"):
        result = _Bare(target).run("--patches", catalogue, command, "--json")
        assert result.code == 3, result.err
        assert kinds(result) == {"no-environment"}


def test_an_environment_without_our_packages_is_refused(
    environment: Environment, catalogue: str
) -> None:
    applied = environment.run("--patches", catalogue, "apply", "--json")
    assert applied.code == 3
    assert kinds(applied) == {"nothing-installed"}


def test_docker_s_layers(tmp_path: Path, catalogue: str) -> None:
    """The package in a lower, read-only layer; our files in the upper one."""
    lower, upper, work, merged = (
        tmp_path / name for name in ("lower", "upper", "work", "merged")
    )
    for path in (upper, work, merged):
        path.mkdir()
    below = make_environment(lower / "env")
    install(below.site, "pkg", "0.16.0", FILES)
    options = f"lowerdir={lower},upperdir={upper},workdir={work}"
    mount = ["mount", "-t", "overlay", "overlay", "-o", options, str(merged)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("this machine mounts no overlay")
    before = _contents(lower)
    try:
        environment = Environment(merged / "env")
        assert environment.run("--patches", catalogue, "apply").code == 0
        assert ask(environment, "-B") == "2"
        assert environment.run("--patches", catalogue, "revert").code == 0
        assert environment.digests() == below.digests()
        assert environment.run("--patches", catalogue, "apply").code == 0
    finally:
        subprocess.run(["umount", str(merged)], check=True)
    assert _contents(lower) == before


# --- attributes ------------------------------------------------------------------


def test_a_linked_directory_is_refused(
    environment: Environment, tmp_path: Path, catalogue: str
) -> None:
    outside = tmp_path / "outside"
    files = {name: data for name, data in FILES.items() if "/" in name}
    install(outside, "pkg", "0.16.0", files)
    info = install(environment.site, "pkg", "0.16.0", FILES)
    shutil.rmtree(environment.path("pkg"))
    environment.path("pkg").symlink_to(outside / "pkg")
    assert info.is_dir()
    before = _contents(outside)
    _refused(environment, catalogue, "linked-directory")
    assert _contents(outside) == before


def test_mode_owner_and_extended_attributes_stay(
    environment: Environment, catalogue: str
) -> None:
    install(environment.site, "pkg", "0.16.0", FILES)
    path = environment.path("pkg/m.py")
    path.chmod(0o640)
    if os.geteuid() == 0:
        os.chown(path, 1234, 4321)
    labelled = _label(path)
    before = path.stat()
    for command in ("apply", "revert", "apply"):
        assert environment.run("--patches", catalogue, command).code == 0
        after = path.stat()
        assert (after.st_mode, after.st_uid, after.st_gid) == (
            before.st_mode,
            before.st_uid,
            before.st_gid,
        )
        assert not labelled or os.getxattr(path, "user.x") == b"label"


def _label(path: Path) -> bool:
    try:
        os.setxattr(path, "user.x", b"label")
    except (OSError, AttributeError):
        return False
    return True


def test_revert_by_a_new_owner_leaves_his_files_to_him(
    environment: Environment, catalogue: str
) -> None:
    """An image is built by root, and its files are given away afterwards."""
    if os.geteuid() != 0:
        pytest.skip("only root gives files away")
    install(environment.site, "pkg", "0.16.0", FILES)
    assert environment.run("--patches", catalogue, "apply").code == 0
    for path in (environment.root, *environment.root.rglob("*")):
        os.chown(path, 1234, 1234, follow_symlinks=False)
    assert environment.run("--patches", catalogue, "revert").code == 0
    assert environment.path("pkg/m.py").stat().st_uid == 1234


def test_uninstalling_leaves_nothing_of_ours_in_the_package(
    environment: Environment, catalogue: str
) -> None:
    install(environment.site, "pkg", "0.16.0", FILES)
    assert environment.run("--patches", catalogue, "apply").code == 0
    uninstall(environment.site, "pkg")
    assert not environment.path("pkg").exists()
    assert sorted(path.name for path in environment.site.iterdir()) == [".patchset"]


def test_temporary_files_lie_beside_their_targets(
    environment: Environment, tmp_path: Path, catalogue: str
) -> None:
    """A temporary directory of another file system could not be renamed from."""
    install(environment.site, "pkg", "0.16.0", FILES)
    nowhere = tmp_path / "nowhere"
    environ = {"TMPDIR": str(nowhere), "GIT_DIR": str(nowhere)}
    assert environment.run("--patches", catalogue, "apply", **environ).code == 0
    assert environment.path("pkg/m.py").read_bytes() == PATCHED
    assert digest_of(environment.path("pkg/n.py")) == environment.digests()["pkg/n.py"]
