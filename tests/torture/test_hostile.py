"""Input that means harm, or is merely broken: refused, and nothing outside touched."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import stat
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from patchset import limits
from patchset.errors import TooLongError
from tests.environments import (
    Environment,
    Result,
    digest_of,
    install,
    make_environment,
)
from tests.torture.conftest import LONG
from tests.torture.runner import Zygote, tree
from tests.torture.small import FILES, PATCHED, kinds, write_catalogue


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_catalogue(tmp_path / "numbers")


@pytest.fixture
def pkg(environment: Environment) -> Environment:
    install(environment.site, "pkg", "0.16.0", FILES)
    return environment


@pytest.fixture
def applied(pkg: Environment, folder: Path) -> Environment:
    assert pkg.run("--patches", str(folder), "apply").code == 0
    return pkg


def _object(pkg: Environment, content: bytes) -> Path:
    """The object of the store that holds these bytes."""
    for path in pkg.path(".patchset/objects").iterdir():
        if path.suffix != ".json" and path.read_bytes() == content:
            return path
    raise AssertionError(content)


def _everywhere(pkg: Environment, folder: Path) -> Mapping[str, Result]:
    commands = ("status", "verify", "apply", "revert")
    return {
        word: pkg.run("--patches", str(folder), word, "--json") for word in commands
    }


def _no_tracebacks(results: Mapping[str, Result]) -> None:
    for word, result in results.items():
        assert "Traceback" not in result.err, (word, result.err)
        assert result.code in {0, 1, 2, 3}, word
        assert result.document["schema"] == 1


# --- patch files -----------------------------------------------------------------


@pytest.mark.parametrize(
    "target",
    [
        "../x.py",
        "/etc/x.py",
        "pkg/../../x.py",
        "pkg/./m.py",
        "other/m.py",
        "pkg\\\\..\\\\m.py",
        "pkg/m.py\\0",
        "pkg/m.pyc",
        "pkg",
        "",
    ],
)
def test_a_target_outside_its_package_is_a_usage_error(
    pkg: Environment, folder: Path, target: str
) -> None:
    path = folder / "pkg" / "number_m.py"
    path.write_text(path.read_text().replace('"pkg/m.py"', f'"{target}"'))
    before = tree(pkg.root)
    for word in ("apply", "status"):
        refused = pkg.run("--patches", str(folder), word, "--json")
        assert refused.code == 2, refused.err
        assert kinds(refused) == {"patch-file"}
    assert tree(pkg.root) == before


def _with_body(folder: Path, body: str, name: str = "rewrite") -> None:
    """The patch with another body in one of its two functions."""
    path = folder / "pkg" / "number_m.py"
    head, _, tail = path.read_text().partition(f"def {name}(")
    rest = tail.partition("\n\n\n")[2]
    path.write_text(f"{head}def {name}(module):\n    {body}\n\n\n{rest}")


@pytest.mark.parametrize("name", ["rewrite", "fixed"])
@pytest.mark.parametrize(
    "body",
    [
        "raise ValueError('no')",
        "raise SystemExit(0)",
        "raise RecursionError",
        "raise MemoryError",
        "return rewrite(module)",
        "return None",
        "return 'text'",
        "return 1 / 0",
        "return [module]",
        "return __import__('os').no_such_thing",
    ],
)
def test_a_patch_that_raises_or_returns_nonsense(
    pkg: Environment, folder: Path, body: str, name: str
) -> None:
    _with_body(folder, body.replace("rewrite(module)", f"{name}(module)"), name)
    before = tree(pkg.root)
    refused = pkg.run("--patches", str(folder), "apply", "--json")
    assert refused.code == 3, refused.err
    assert kinds(refused) == {"patch-failed"}
    assert "Traceback" not in refused.err
    assert tree(pkg.root) == before


def test_what_a_patch_prints_is_not_in_the_document(
    pkg: Environment, folder: Path
) -> None:
    path = folder / "pkg" / "number_m.py"
    path.write_text(
        path.read_text().replace("    return", "    print('hi')\n    return")
    )
    done = pkg.run("--patches", str(folder), "apply", "--json")
    assert done.code == 0, done.err
    assert done.document["changed"] == ["pkg/m.py"]
    assert "hi" in done.err


@pytest.mark.parametrize(
    "body",
    [
        "while True: pass",
        "__import__('time').sleep(600)",
        (
            "while True:\n"
            "        try:\n"
            "            while True: pass\n"
            "        except Exception: pass"
        ),
        (
            "for _ in range(3):\n"
            "        try:\n"
            "            while True: pass\n"
            "        except BaseException: pass\n"
            "    while True: pass"
        ),
    ],
)
@pytest.mark.parametrize("name", ["rewrite", "fixed"])
def test_a_patch_that_does_not_end(
    pkg: Environment,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    body: str,
    name: str,
) -> None:
    monkeypatch.setattr(limits, "LIMIT", 0.2)
    monkeypatch.setattr(limits, "_AGAIN", 0.5)
    _with_body(folder, body, name)
    before = tree(pkg.root)
    refused = pkg.run("--patches", str(folder), "apply", "--json")
    assert refused.code == 3, refused.err
    assert kinds(refused) == {"patch-failed"}
    assert "had not ended" in json.dumps(refused.document)
    assert tree(pkg.root) == before


def test_no_alarm_is_left_behind() -> None:
    for seconds in (0.0, 0.002):
        for _ in range(50):
            with (
                mock.patch.object(limits, "LIMIT", 0.002),
                contextlib.suppress(TooLongError),
                limits.time_limit(),
            ):
                time.sleep(seconds)
            assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
            assert signal.getsignal(signal.SIGALRM) is signal.SIG_DFL


def test_commands_that_look_run_no_code_of_a_patch(
    pkg: Environment, folder: Path, tmp_path: Path
) -> None:
    marker = tmp_path / "it-ran"
    path = folder / "pkg" / "number_m.py"
    spy = f"open({str(marker)!r}, 'a').close()"
    text = path.read_text().replace("    return", f"    {spy}\n    return")
    path.write_text(f"{text}\n\n{spy}\n")
    (tmp_path / "log").write_text("ValueError: b is 1\n")
    commands = [
        ["status"],
        ["status", "--json"],
        ["verify"],
        ["list"],
        ["list", "--all"],
        ["show", "numbers:pkg/number_m"],
        ["explain", "--log", str(tmp_path / "log")],
        ["explain", "b is 1"],
    ]
    for words in commands:
        result = pkg.run("--patches", str(folder), *words)
        assert "Traceback" not in result.err, (words, result.err)
        assert not marker.exists(), words
    assert pkg.run("--patches", str(folder), "apply").code == 0
    assert marker.exists()
    marker.unlink()
    for words in commands:
        pkg.run("--patches", str(folder), *words)
        pkg.run(*words)
        assert not marker.exists(), words


# --- targets ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "what", ["directory", "fifo", "device", "dangling", "loop", "huge"]
)
def test_a_target_that_is_no_module(
    pkg: Environment, folder: Path, what: str, tmp_path: Path
) -> None:
    path = pkg.path("pkg/m.py")
    path.unlink()
    if what == "directory":
        path.mkdir()
    if what == "fifo":
        os.mkfifo(path)
    if what == "device":
        path.symlink_to("/dev/zero")
    if what == "dangling":
        path.symlink_to(tmp_path / "nowhere")
    if what == "loop":
        path.symlink_to(path)
    if what == "huge":
        with path.open("wb") as file:
            file.truncate(1 << 40)
    opened = len(list(Path("/proc/self/fd").iterdir()))
    results = _everywhere(pkg, folder)
    _no_tracebacks(results)
    assert len(list(Path("/proc/self/fd").iterdir())) == opened
    assert results["apply"].code == 3
    assert kinds(results["apply"]) <= {"unreadable", "missing"}
    assert results["status"].code == 1
    assert not (tmp_path / "nowhere").exists()


DEEP: Mapping[str, Callable[[int], str]] = {
    "parentheses": lambda n: "x = " + "(" * n + "1" + ")" * n,
    "brackets": lambda n: "x = " + "[" * n + "]" * n,
    "calls": lambda n: "x = " + "f(" * n + ")" * n,
    "terms": lambda n: "x = " + "+".join(["1"] * n),
    "attributes": lambda n: "x = a" + ".b" * n,
    "subscripts": lambda n: "x = a" + "[0]" * n,
    "negations": lambda n: "x = " + "-" * n + "1",
    "nots": lambda n: "x = " + "not " * n + "1",
    "lambdas": lambda n: "x = " + "lambda: " * n + "1",
    "conditionals": lambda n: "x = " + "1 if a else " * n + "1",
    "ands": lambda n: "x = " + " and ".join(["a"] * n),
    "comparisons": lambda n: "x = " + "<".join(["1"] * n),
    "strings": lambda n: "x = (" + "'a'\n" * n + ")",
    "powers": lambda n: "x = " + "**".join(["1"] * n),
    "elifs": lambda n: "if a: pass\n" + "elif a: pass\n" * n,
    "indents": lambda n: "".join(" " * i + "if a:\n" for i in range(n))
    + " " * n
    + "pass",
}  # fmt: skip


@pytest.mark.parametrize("shape", sorted(DEEP))
def test_nesting_is_patched_or_refused_and_kills_nobody(
    tmp_path: Path,
    folder: Path,
    zygote: Zygote,
    shape: str,
    record_property: Callable[[str, object], None],
) -> None:
    """Each depth in a process of its own: the native parser would take it along."""
    deepest = 0
    depths = (90, 190, 500, 1200, 2900, 20000) if LONG else (190, 2900)
    for depth in [*depths, *([20000] if shape == "ands" else [])]:
        if shape == "indents" and depth > 2000:
            continue  # a file of 200 MB, which is refused for its size
        source = f"{DEEP[shape](depth)}\nb = 1\n".encode()
        environment = make_environment(tmp_path / f"{shape}{depth}")
        install(environment.site, "pkg", "0.16.0", {**FILES, "pkg/m.py": source})
        before = tree(environment.root)
        run = zygote.run(environment.root, "--patches", str(folder), "apply", "--json")
        assert run.code in {0, 3}, (depth, run.code, run.err[-300:])
        if run.code == 0:
            assert environment.path("pkg/m.py").read_bytes() == source.replace(
                b"\nb = 1", b"\nb = 2"
            )
            deepest = depth
        else:
            assert run.kinds <= {"does-not-compile", "cannot-parse"}, run.out
            assert "pkg/m.py" in run.out
            assert tree(environment.root) == before
    record_property("figure", f"deepest {shape} that were patched: {deepest}")


# --- state that was edited by hand -----------------------------------------------


@pytest.mark.parametrize(
    "path", ["../outside.py", "/etc/passwd", "pkg/../../x", "a\0b"]
)
@pytest.mark.parametrize("where", ["ledger", "roles", "journal", "temporary"])
def test_state_that_points_elsewhere_is_refused(
    applied: Environment, folder: Path, path: str, where: str
) -> None:
    outside = applied.site.parent / "outside.py"
    outside.write_bytes(b"not ours\n")
    output = _object(applied, PATCHED)
    roles = output.with_name(f"{output.name}.json")
    journal = applied.path(".patchset/journal")
    digest = str(digest_of(output))
    if where == "ledger":
        _change(
            applied.path(".patchset/ledger.json"),
            lambda data: data["files"].update({path: digest}),
        )
    if where == "roles":
        _change(roles, lambda data: data["roles"][0].update(path=path))
    if where == "journal":
        files = {path: f"{path}.patchset-tmp"}
        journal.write_text(json.dumps({"schema": 1, "files": files}))
    if where == "temporary":
        journal.write_text(json.dumps({"schema": 1, "files": {"pkg/m.py": path}}))
    results = _everywhere(applied, folder)
    _no_tracebacks(results)
    for word, result in results.items():
        assert result.code == 3, (word, result.err)
        assert kinds(result) == {"corrupt-state"}
    assert outside.read_bytes() == b"not ours\n"
    assert applied.path("pkg/m.py").read_bytes() == PATCHED


def _change(path: Path, change: Callable[[Any], object]) -> None:
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        "1" * 5000,
        "[" * 100_000,
        '{"schema": 99}',
        '{"schema": "1"}',
        '{"schema": true}',
        '{"schema": 1}',
        '{"schema": 1, "files": [], "roles": {}}',
        '{"schema": 1, "files": {"pkg/m.py": "\\ud800"}}',
        '{"schema": 1, "files": {"\\ud800": "x"}, "roles": [{"role": "\\ud800"}]}',
    ],
)
@pytest.mark.parametrize("name", ["ledger.json", "journal", "roles"])
def test_state_that_is_nonsense_is_refused_with_what_to_do(
    applied: Environment, folder: Path, name: str, text: str
) -> None:
    output = _object(applied, PATCHED)
    path = applied.path(".patchset") / name
    if name == "roles":
        path = output.with_name(f"{output.name}.json")
    path.write_text(text)
    results = _everywhere(applied, folder)
    _no_tracebacks(results)
    for word, result in results.items():
        assert result.code == 3, (word, result.out)
        assert kinds(result) <= {"corrupt-state", "newer-state"}
    assert applied.path("pkg/m.py").read_bytes() == PATCHED


@pytest.mark.parametrize(
    "fields",
    [
        {"mode": -1},
        {"mode": 1 << 70},
        {"uid": -1},
        {"gid": 1 << 70},
        {"mode": "0o644"},
        {"mode": None},
        {"link": 7},
    ],
)
def test_roles_with_impossible_attributes_are_refused(
    applied: Environment, folder: Path, fields: dict[str, object]
) -> None:
    base = _object(applied, FILES["pkg/m.py"])
    _change(
        base.with_name(f"{base.name}.json"),
        lambda data: data["roles"][0].update(fields),
    )
    results = _everywhere(applied, folder)
    _no_tracebacks(results)
    assert results["revert"].code == 3
    assert kinds(results["revert"]) == {"corrupt-state"}


@pytest.mark.parametrize("what", ["base", "output", "text"])
def test_an_object_that_is_not_what_its_name_says(
    applied: Environment, folder: Path, what: str
) -> None:
    text = (folder / "pkg/number_m.py").read_bytes()
    contents = {"base": FILES["pkg/m.py"], "output": PATCHED, "text": text}
    _object(applied, contents[what]).write_bytes(b"b = 666\n")
    reverted = applied.run("--patches", str(folder), "revert", "--json")
    if what == "base":
        assert reverted.code == 3, reverted.out
        assert kinds(reverted) <= {"no-pristine", "corrupt-state"}
        assert applied.path("pkg/m.py").read_bytes() == PATCHED
        applied.edit("pkg/m.py", FILES["pkg/m.py"])
    else:
        assert reverted.code == 0, reverted.err
    assert b"666" not in applied.path("pkg/m.py").read_bytes()
    assert applied.run("--patches", str(folder), "apply").code == 0
    assert applied.path("pkg/m.py").read_bytes() == PATCHED
    assert applied.run("revert").code == 0
    assert applied.path("pkg/m.py").read_bytes() == FILES["pkg/m.py"]


def test_everything_can_be_put_back_without_the_texts_of_the_patches(
    applied: Environment, folder: Path
) -> None:
    _object(applied, (folder / "pkg/number_m.py").read_bytes()).write_bytes(b"gone")
    assert applied.run("status", "--json").code == 3
    done = applied.run("revert")
    assert done.code == 0, done.err
    assert applied.path("pkg/m.py").read_bytes() == FILES["pkg/m.py"]
    assert not applied.path(".patchset").exists()


def test_a_damaged_output_is_made_again(applied: Environment, folder: Path) -> None:
    """Reinstalled, and the object that would have been used is damaged."""
    applied.edit("pkg/m.py", FILES["pkg/m.py"])
    _object(applied, PATCHED).write_bytes(b"b = 666\n")
    done = applied.run("--patches", str(folder), "apply")
    assert done.code == 0, done.err
    assert applied.path("pkg/m.py").read_bytes() == PATCHED


def test_a_journal_through_a_linked_directory_deletes_nothing(
    applied: Environment, folder: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    (outside / "__pycache__").mkdir(parents=True)
    names = [".x.py.00.patchset-tmp", "__pycache__/x.cpython-312.pyc", "x.py"]
    for name in names:
        (outside / name).write_bytes(b"not ours")
    applied.path("pkg/link").symlink_to(outside)
    files = {"pkg/link/x.py": "pkg/link/.x.py.00.patchset-tmp"}
    journal = applied.path(".patchset/journal")
    journal.write_text(json.dumps({"schema": 1, "files": files}))
    _no_tracebacks(_everywhere(applied, folder))
    for name in names:
        assert (outside / name).read_bytes() == b"not ours"


def test_a_journal_names_temporary_files_only(
    applied: Environment, folder: Path
) -> None:
    files = {"pkg/m.py": "pkg/n.py"}
    journal = applied.path(".patchset/journal")
    journal.write_text(json.dumps({"schema": 1, "files": files}))
    _no_tracebacks(_everywhere(applied, folder))
    assert applied.path("pkg/n.py").read_bytes() == FILES["pkg/n.py"]


# --- whose state it is -----------------------------------------------------------


def _is_untrusted(applied: Environment, folder: Path) -> None:
    before = tree(applied.root)
    results = _everywhere(applied, folder)
    _no_tracebacks(results)
    for word, result in results.items():
        assert result.code == 3, (word, result.err)
        assert kinds(result) == {"untrusted-state"}, word
        assert ".patchset" in json.dumps(result.document)
    assert tree(applied.root) == before


@pytest.mark.parametrize(
    "name", ["", "objects", "ledger.json", "objects/base", "objects/base.json"]
)
@pytest.mark.parametrize("mode", [0o020, 0o002])
def test_state_that_others_may_write_is_not_believed(
    applied: Environment, folder: Path, name: str, mode: int
) -> None:
    base = _object(applied, FILES["pkg/m.py"])
    path = applied.path(".patchset") / name.replace("base", base.name)
    path.chmod(stat.S_IMODE(path.stat().st_mode) | mode)
    _is_untrusted(applied, folder)


@pytest.mark.parametrize("name", ["", "objects", "ledger.json"])
def test_state_of_a_stranger_is_not_believed(
    applied: Environment, folder: Path, name: str
) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root gives files away")
    os.chown(applied.path(".patchset") / name, 4321, 4321)
    _is_untrusted(applied, folder)


def test_a_site_that_a_group_shares_shares_its_state(
    applied: Environment, folder: Path
) -> None:
    for path in [applied.site, *applied.path(".patchset").rglob("*")]:
        path.chmod(path.stat().st_mode | 0o020)
    applied.path(".patchset").chmod(0o775)
    assert applied.run("--patches", str(folder), "status").code == 0
    assert applied.run("revert").code == 0


@pytest.mark.parametrize("name", ["", "objects", "ledger.json"])
def test_state_behind_a_link_is_not_believed(
    applied: Environment, folder: Path, tmp_path: Path, name: str
) -> None:
    path = applied.path(".patchset") / name
    elsewhere = tmp_path / "elsewhere"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)
    _is_untrusted(applied, folder)
    assert elsewhere.exists()


def test_a_first_run_does_not_follow_a_link_to_its_store(
    pkg: Environment, folder: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    pkg.path(".patchset").symlink_to(elsewhere)
    _is_untrusted(pkg, folder)
    assert not any(elsewhere.iterdir())


def test_what_is_saved_aside_follows_no_link(
    applied: Environment, folder: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    applied.path(".patchset-saved").symlink_to(elsewhere)
    applied.edit("pkg/m.py", b"b = 3  # mine\n")
    refused = applied.run("--patches", str(folder), "revert", "--force", "--json")
    assert refused.code == 3, refused.err
    assert not any(elsewhere.iterdir())
    assert applied.path("pkg/m.py").read_bytes() == b"b = 3  # mine\n"


def test_temporary_files_are_private_and_new(
    pkg: Environment, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is created by us alone, for us alone, whatever the mask says."""
    opened: list[tuple[int, int]] = []
    real = os.open

    def spy(
        path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None
    ) -> int:
        if str(path).endswith(".patchset-tmp"):
            opened.append((flags, mode))
        return real(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", spy)
    assert pkg.run("--patches", str(folder), "apply").code == 0
    assert opened
    for flags, mode in opened:
        assert flags & os.O_EXCL
        assert flags & os.O_NOFOLLOW
        assert mode == 0o600


# --- RECORD and friends ----------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("RECORD", b"\xff\xfe\x00"),
        ("RECORD", b'"unclosed'),
        ("RECORD", b"pkg/m.py,sha256=!!!,1\n"),
        ("RECORD", b"pkg/m.py,md5=abc,1\n"),
        ("RECORD", b"x" * 300_000 + b",,\n"),
        ("METADATA", b"\xff" * 100),
        ("METADATA", b"Name: pkg\nVersion: nonsense\n"),
        ("METADATA", b""),
        ("direct_url.json", b"[" * 100_000),
        ("direct_url.json", b'{"dir_info": 3}'),
    ],
)
def test_broken_information_of_a_distribution(
    pkg: Environment, folder: Path, name: str, content: bytes
) -> None:
    pkg.path(f"pkg-0.16.0.dist-info/{name}").write_bytes(content)
    results = _everywhere(pkg, folder)
    _no_tracebacks(results)
    if name != "direct_url.json":
        assert results["apply"].code == 3
    assert pkg.path("pkg/m.py").read_bytes() == FILES["pkg/m.py"]


def test_a_missing_state_directory_is_no_state(pkg: Environment, folder: Path) -> None:
    assert pkg.run("--patches", str(folder), "apply").code == 0
    shutil.rmtree(pkg.path(".patchset"))
    refused = pkg.run("--patches", str(folder), "revert", "--json")
    assert "Traceback" not in refused.err
    assert pkg.path("pkg/m.py").read_bytes() == PATCHED
